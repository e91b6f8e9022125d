"""Every example in a docstring gives what it says."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

from kwire import is_native

ROOT = Path(__file__).parent.parent
MODULES = [
    ".".join(path.relative_to(folder).with_suffix("").parts).removesuffix(".__init__")
    for folder in (ROOT / name for name in ("runtime", "compiler", "guide", "inspect", "spark", "generated"))
    for path in sorted(folder.rglob("*.py"))
    if ">>> " in path.read_text("utf-8")
]


def test_there_are_examples() -> None:
    assert {"kwire.records", "kwire.records.builder", "kwire_inspect.reports.text"} <= set(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.attempted or is_native(), "native modules have no docstrings"
    assert not found.failed
