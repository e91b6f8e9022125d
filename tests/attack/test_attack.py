"""The short version of ``make attack``, and proof that its limits hold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.attack.attack import BrokenError, attack, checked
from tests.attack.limits import TimeLimitError
from tests.attack.targets import Target, targets

RUNS = 300


@pytest.mark.long
@pytest.mark.parametrize("target", targets(), ids=lambda target: target.name)
def test_no_input_does_more_than_be_refused(target: Target, tmp_path: Path) -> None:
    outcomes = attack(target, RUNS, seed=1, folder=tmp_path)
    assert outcomes.total() == RUNS
    assert set(outcomes) >= target.expected, "the mutations break too much, or nothing"


def test_the_shares_are_of_a_thousand() -> None:
    assert sum(target.share for target in targets()) == 1000


def greedy(path: Path) -> str:
    return str(len(bytearray(1 << 40)))


def endless(path: Path) -> str:
    while True:
        pass


def careless(path: Path) -> str:
    return str(1 // len(path.read_bytes()))


@pytest.mark.parametrize(
    ("check", "cause"), [(greedy, MemoryError), (endless, TimeLimitError), (careless, ZeroDivisionError)]
)
def test_broken_promises_are_found(
    check: object, cause: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "input"
    path.write_bytes(b"")
    target = replace(targets()[0], check=check, memory=1 << 24, seconds=0.05)  # type: ignore[arg-type]
    with pytest.raises(BrokenError) as caught:
        checked(target, path)
    assert isinstance(caught.value.__cause__, cause)
    assert len(list(tmp_path.glob("build/attack/definitions-*"))) == 1, "the input is kept"
