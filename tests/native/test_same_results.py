"""The native build and its sources give the same values, bytes, errors, offsets of errors, and rows of captures, for
random input."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kwire
import kwire_inspect
import kwire_kafka
from tests.support.effort import examples

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of kwire without libraries."""
    folder = tmp_path_factory.mktemp("sources")
    for package in (kwire, kwire_kafka, kwire_inspect):
        ignored = shutil.ignore_patterns("__pycache__", "*.so", "*.pyd")
        shutil.copytree(Path(package.__file__ or "").parent, folder / package.__name__, ignore=ignored)
    return folder


def outcomes(seed: int, path: Path | None = None, *, module: str = "outcomes", count: int = 500) -> list[str]:
    command = [sys.executable, "-m", f"tests.native.{module}", str(seed), str(count)]
    env = os.environ | ({"PYTHONPATH": str(path)} if path else {})
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True).stdout.splitlines()


native_only = pytest.mark.skipif(not kwire.is_native(), reason="kwire is not native: make test-native")


@native_only
@examples(0.1)
@given(seed=st.integers(0, 2**32))
def test_native_and_interpreted_give_the_same(sources: Path, seed: int) -> None:
    native, plain = outcomes(seed), outcomes(seed, sources)
    assert (native.pop(0), plain.pop(0)) == ("native", "interpreted")
    assert len(native) > 2500
    for one, other in zip(native, plain, strict=True):
        assert one == other


@native_only
@examples(0.1)
@given(seed=st.integers(0, 2**32))
def test_native_and_interpreted_read_the_same_of_hostile_captures(sources: Path, seed: int) -> None:
    native, plain = (outcomes(seed, path, module="captures", count=20) for path in (None, sources))
    assert (native.pop(0), plain.pop(0)) == ("native", "interpreted")
    assert len(native) > 100
    for one, other in zip(native, plain, strict=True):
        assert one == other
