"""One generated package for all tests of a process."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from kwire.protocol import MessageRegistry
from tests.support.newer_kafka import newer_kafka


@pytest.fixture(scope="session")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MessageRegistry]:
    """The messages of a package newer than kwire_kafka: see ``newer_kafka``."""
    folder = tmp_path_factory.mktemp("newer")
    sys.path.insert(0, str(folder))
    yield newer_kafka(folder)
    sys.path.remove(str(folder))
