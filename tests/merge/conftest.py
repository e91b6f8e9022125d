"""Fixtures of this folder: empty unions to merge into."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.merge.support import Union


@pytest.fixture
def union(tmp_path: Path) -> Union:
    return Union(tmp_path)


@pytest.fixture
def new_union(tmp_path: Path) -> Callable[[str], Union]:
    """``new_union(name)``: as many unions as a test wants."""

    def make(name: str) -> Union:
        (tmp_path / name).mkdir()
        return Union(tmp_path / name)

    return make
