"""One generated package for all tests of a process, and the files of TLS connections."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kwire.protocol import MessageRegistry
from tests.support.newer_kafka import newer_kafka
from tests.support.tls_talks import certificate


@pytest.fixture(scope="session")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MessageRegistry]:
    """The messages of a package newer than kwire_kafka: see ``newer_kafka``."""
    folder = tmp_path_factory.mktemp("newer")
    sys.path.insert(0, str(folder))
    yield newer_kafka(folder)
    sys.path.remove(str(folder))


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate and its key."""
    return certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """The place of a key log."""
    return tmp_path / "keys"
