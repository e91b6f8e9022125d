"""The short version of ``fuzz.py``."""

from __future__ import annotations

import pytest
from fuzz import all_pairs, check, check_memory, check_paths, run


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_broken_frames(seed: int) -> None:
    outcomes = run(10_000, seed)
    assert outcomes["refused"] + outcomes["canonical"] + outcomes["accepted"] == 10_000
    assert outcomes["refused"] > 1000, "the mutations break nothing"
    assert outcomes["canonical"] > 1000, "the mutations leave nothing whole"
    assert outcomes["accepted"] > 10, "no mutation is readable but not canonical"
    assert outcomes["both paths"] > 100, "the fast path never runs"


def test_hostile_lengths_cost_no_memory() -> None:
    """Every length of the newest version of every third message; the script does all."""
    newest = [(cls, version) for cls, version in all_pairs() if version == cls.VALID_VERSIONS[-1]]
    count, worst = check_memory(newest[::3])
    assert count > 10_000
    assert worst <= 1


def test_the_newest_regressions() -> None:
    """Frames that once were read wrongly."""
    by_name = {(cls.__name__, version): cls for cls, version in all_pairs()}
    for name, version, data in REGRESSIONS:
        cls, raw = by_name[name, version], bytes.fromhex(data)
        check(cls, version, raw)
        check_paths(cls, version, raw)


REGRESSIONS = [
    ("SaslAuthenticateRequest", 2, "800000"),  # a length of zero in two bytes of a varint
    ("AddRaftVoterRequest", 0, "80000000000000000000000000000000000000000000000000000000"),
]
