"""The short versions of ``records.py``, ``connections.py`` and ``logs.py``, and inputs that once broke a promise."""

from __future__ import annotations

from types import ModuleType

import pytest

from kwire.records import Record, encode_batch
from tests.fuzz import connections, logs, records
from tests.fuzz.guided import MEASURED, STEPS, STEPS_PER_BYTE, Broken, counted, guarded, run


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "runs", "expected"),
    [
        (records, 6000, {"canonical", "rewritten", "refused", "truncated", "corrupt"}),
        (connections, 3000, {"RequestEvent and ResponseEvent", "NotKafka and Skipped", "served and answered"}),
        (logs, 10_000, {"read", "unread", "tombstone", "with more inside", "segment", "segment with errors"}),
    ],
    ids=lambda value: value.__name__ if isinstance(value, ModuleType) else "",
)
@pytest.mark.long
def test_broken_input(script: ModuleType, runs: int, expected: set[str]) -> None:
    outcomes = run(script.check, script.seeds(), runs, seed=1, memory=script.MEMORY)
    assert outcomes.total() == runs
    assert {outcome for outcome in expected if outcomes[outcome] > 3} == expected


@pytest.mark.parametrize(
    ("script", "data"),
    [
        (records, "837031ac18"),  # a message of magic 0 lost the bits of its attributes that mean nothing
        (records, "07040300000000000000000000001bc41620360080000000040000000200000009000000000001010100"),  # inside
        (connections, "010000155353482d32"),  # bytes of a connection that turns out to be no Kafka when it is closed
    ],
)
def test_inputs_that_once_broke_a_promise(script: ModuleType, data: str) -> None:
    assert script.check(bytes.fromhex(data))


@pytest.mark.slow
def test_broken_promises_are_found() -> None:
    """What the guard is for: other exceptions, endless work and memory."""
    with pytest.raises(Broken, match=r"raised ZeroDivisionError.*; input 00"):
        guarded(lambda data: str(1 // data[0]), memory=1000)(b"\0")
    guard = guarded(lambda data: str(len(bytearray(1 << 20))), memory=1 << 16)
    for _ in range(MEASURED - 1):
        guard(b"")
    with pytest.raises(Broken, match="bytes of memory"):
        guard(b"")

    def toil(data: bytes) -> str:
        for _ in range(STEPS):
            pass
        return ""

    with pytest.raises(Broken, match=r"it took 2,000,\d+ steps"):
        guarded(toil, memory=1 << 16)(b"")
    assert guarded(toil, memory=1 << 16, max_steps=lambda data: 3 * STEPS)(b"") == ""
    long = bytes(2 * STEPS // STEPS_PER_BYTE)
    assert guarded(toil, memory=1 << 16)(long + bytes(100)) == ""
    with pytest.raises(Broken, match=r"it took 2,000,\d+ steps"):
        guarded(toil, memory=1 << 16)(long)


@pytest.mark.slow
def test_a_small_input_may_take_steps_for_what_it_decompresses_to() -> None:
    batch = bytearray(encode_batch([Record(None, b"", (), 7)] * 520, codec=4))
    batch[27:35] = (2**63 - 1).to_bytes(8, "big")  # timestamps that do not fit into the fast loop
    data = bytes([5]) + batch
    _, steps = counted(records.check, data)
    assert STEPS < steps <= records.max_steps(data) == records.STEPS_PER_BYTE * 4096
    assert records.max_steps(bytes([4]) + bytes(600)) == records.max_steps(b"") == STEPS
