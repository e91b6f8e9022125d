"""The short version of ``frames.py``."""

from __future__ import annotations

import pytest

from kwire_kafka.index import PROTOCOL
from tests.fuzz.frames import all_pairs, check, check_memory, check_paths, run
from tests.support.effort import one_in


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_broken_frames(seed: int) -> None:
    outcomes = run(10_000, seed)
    assert outcomes["refused"] + outcomes["canonical"] + outcomes["accepted"] == 10_000
    assert outcomes["refused"] > 1000, "the mutations break nothing"
    assert outcomes["canonical"] > 1000, "the mutations leave nothing whole"
    assert outcomes["accepted"] > 10, "no mutation is readable but not canonical"
    assert outcomes["both paths"] > 100, "the fast path never runs"


@pytest.mark.slow
@pytest.mark.long
def test_hostile_lengths_cost_no_memory() -> None:
    """Every length of the newest version of every fourth message; the script does all versions and more values."""
    newest = [(cls, version) for cls, version in all_pairs() if version == cls.VALID_VERSIONS[-1]]
    count, worst = check_memory([*one_in(4, newest)], thorough=False)
    assert count > 1_000
    assert worst <= 1


@pytest.mark.parametrize(
    ("name", "version", "data"),
    [
        ("SaslAuthenticateRequest", 2, "8000 00"),  # bytes with a length of zero in two bytes of a varint
        ("InitProducerIdRequest", 2, "8000 00000005 00"),  # a string
        ("MetadataRequest", 9, "8000 00 00 00 00"),  # an array
        ("ConsumerGroupMemberMetadataValue", 0, "01 01 01 01 01 01 ffffffff 01 01 00 05 ffffffff0f"),  # a struct
    ],
)
def test_frames_that_were_once_read_wrongly(name: str, version: int, data: str) -> None:
    cls = PROTOCOL[name]
    check(cls, version, bytes.fromhex(data))
    check_paths(cls, version, bytes.fromhex(data))
