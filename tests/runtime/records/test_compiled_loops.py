"""The loops for compiled runs, run as they stand: they read and write what those for interpreted runs do."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from struct import pack
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kwire.wire
from kwire import LIKE_KAFKA, STRICT
from kwire.arrow import RecordBuilder, read_records
from kwire.compression import compress
from kwire.records import Batch, Record, encode_batch, interpreted, interpreter, read_batches
from kwire.records import batch as of_batches
from kwire.records.layout import BATCH_HEADER
from kwire.records.loops import HUGE, MAX_OBJECTS
from kwire.records.writing import varint
from tests.runtime.records.test_record_properties import TIMES, logs
from tests.runtime.records.test_record_reader import SMALLEST, around
from tests.support.effort import examples


@cache
def as_compiled(name: str) -> Any:
    """A module of kwire with what it leaves out where its file ends with ``.py``."""
    path = Path(kwire.__file__).parent / f"{name}.py"
    module = ModuleType(f"kwire.{name.replace('/', '.')}")
    module.__file__ = str(path.with_suffix(".so"))
    exec(compile(path.read_text(), path, "exec"), vars(module))
    return module


LOOPS = as_compiled("records/loops")
WRITING = as_compiled("records/writing")


def fields(record: Any) -> tuple[Any, ...]:
    return record.key, record.value, record.headers, record.timestamp, record.offset


def outcome(read: Callable[[], tuple[list[Any], int]]) -> Any:
    try:
        records, end = read()
    except (IndexError, ValueError, kwire.DecodeError):
        return "given up"
    return [fields(record) for record in records], end


@examples(0.4)
@given(logs(), st.booleans(), st.data())
def test_records_are_read_alike(records: list[Record], whole: bool, data: st.DataObject) -> None:
    """The same records up to the same byte, or both give up: within a larger file, and with bytes that are wrong."""
    written = encode_batch(records, base_timestamp=0)[BATCH_HEADER.size :]
    before = data.draw(st.integers(0, 3))
    changed = bytearray(bytes(before) + written + bytes(2))
    if not whole:
        for _ in range(data.draw(st.integers(1, 3))):
            changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    count = len(records) - (0 if whole else data.draw(st.integers(0, 1)))
    arguments = bytes(changed), before, before + len(written), count, records[0].offset, 0
    found = outcome(lambda: LOOPS.read_records(*arguments))
    assert found == outcome(lambda: interpreted.read_records(*arguments))
    if whole and all(abs(record.timestamp) < 1 << 40 for record in records):
        assert found == ([fields(record) for record in records], before + len(written))


NUMBERS = [b"\0", b"\1", b"\2", b"\3", b"\x7e", b"\x7f"]
NUMBERS += [bytes([first, *[128] * more, last]) for more in range(5) for first in (128, 129, 130) for last in (0, 1)]
NUMBERS += [
    b"\xfe\xff\xff\xff\x0f",
    b"\xfe\xff\xff\xff\x1f",
    b"\xff\xff\xff\xff\x0f",
    b"\xff" * 9 + b"\1",
    b"\x80" * 10 + b"\1",
]
"""Varints at the limits of one, two and more bytes: even ones are positive, odd ones negative; some are longer than
they need be, or than they may be."""


@pytest.mark.parametrize("place", range(8))
@pytest.mark.parametrize("number", NUMBERS, ids=bytes.hex)
def test_every_number_at_every_place_is_read_by_all_or_given_up(number: bytes, place: int) -> None:
    """As the slow reader has it; the fast ones give up some: times, offsets, lengths and counts of headers."""
    parts = [b"\0", b"\0", b"\2", b"k", b"\4", b"vw", b"\2", b"\2", b"h", b"\2", b"1"]
    at = [0, 1, 2, 4, 6, 7, 9][place] if place < 7 else 99
    said = int.from_bytes(number[:1]) & 127 | (int.from_bytes(number[1:2]) << 7)
    if at in (2, 4, 7, 9) and len(number) < 3 and said < 300:
        parts[at + 1] = b"x" * (said >> 1)
    if at == 6:
        parts[7:] = [b"\2h\0021"] * (said >> 1 if len(number) < 3 and said < 300 else 1)
    parts[at : at + 1] = [number] if at < 99 else []
    body = b"\0" + b"".join(parts)
    record = (number if at == 99 else varint(len(body))) + body
    data = around(record * 2, 2)
    (batch,) = read_batches(data)
    slow = outcome(lambda: interpreter.read_records(batch, record * 2, 0, 0, 2))
    fast = [
        outcome(lambda read=read: read(record * 2, 0, 2 * len(record), 2, 0, -1))  # type: ignore[misc]
        for read in (LOOPS.read_records, interpreted.read_records)
    ]
    assert all(found in (slow, "given up") for found in fast)
    whole = slow != "given up" and slow[1] == len(data) - BATCH_HEADER.size
    if whole and number[0] in (0, 2, 126, 128, 130) and len(number) < 3:
        assert fast == [slow, slow]
    expected = slow[0] if whole else []
    table = read_records(data, skip=True).table()
    assert table.column("timestamp").cast(pa.int64()).to_pylist() == [
        None if time == -1 else time for *_, time, _ in expected
    ]
    rows = table.select(["key", "value", "headers", "offset"]).to_pylist()
    pairs = [tuple((one["key"], one["value"]) for one in row["headers"]) for row in rows]
    assert [(row["key"], row["value"], pair, row["offset"]) for row, pair in zip(rows, pairs, strict=True)] == [
        (*one, offset) for *one, _, offset in expected
    ]
    usual = RecordBuilder().take(batch, data)
    assert usual is (whole and (fast[0] == slow))


@pytest.mark.parametrize("place", range(3))
def test_a_length_below_null_is_given_up(place: int) -> None:
    """Of a key, a value and the value of a header, in a record that is right in all else."""
    for code in (1, 3):
        key, value, inner = (bytes([code if at == place else 1]) for at in range(3))
        body = b"\0\0\0" + key + value + b"\2\2h" + inner
        record = varint(len(body)) + body
        expected = ([(None, None, (("h", None),), 0, 0)], len(record)) if code == 1 else "given up"
        for read in (LOOPS.read_records, interpreted.read_records):
            assert outcome(partial(read, record, 0, len(record), 1, 0, 0)) == expected


EDGES = [1 << shift for shift in (6, 13, 14, 20, 21, 27, 28)]
"""Where one more byte is needed for a length, a delta or both."""


def test_numbers_of_every_length_are_read_and_written_alike() -> None:
    sizes = sorted({edge + step for edge in EDGES[:4] for step in (-2, -1, 0, 1)})
    headers = (("ü", None), ("", b""), ("h" * 64, bytes(64)), ("h" * 8200, bytes(8200)))
    records = [Record(bytes(size), None, (), 0, 0) for size in sizes]
    records += [Record(None, bytes(size), (), 0, 0) for size in sizes]
    records += [Record(b"", b"", headers[:count], 0, 0) for count in range(5)] + [Record(headers=headers[:1] * 70)]
    offset = 0
    for edge in EDGES:
        for step in (-2, -1, 0, 1):
            records += [Record(timestamp=sign * (edge + step)) for sign in (1, -1)]
    for number, record in enumerate(records):
        offset += 1 + (EDGES[number % len(EDGES)] if number % 2 else 0)
        record.offset = offset if offset < 1 << 31 else -1
    data = encode_batch(records, base_offset=0, base_timestamp=0)[BATCH_HEADER.size :]
    expected, end = interpreted.read_records(data, 0, len(data), len(records), 0, 0)
    found, also = LOOPS.read_records(data, 0, len(data), len(records), 0, 0)
    assert [fields(record) for record in found] == [fields(record) for record in expected]
    assert [fields(record)[:3] for record in found] == [fields(record)[:3] for record in records]
    assert (end, also) == (len(data), len(data))
    for rows in (records, [Record(offset=edge + step) for edge in EDGES for step in (-2, -1, 0, 1)]):
        written, wanted = (
            (module.write_records(out := module.new_buffer(), rows, 0, 0), bytes(module.view(out)))
            for module in (WRITING, interpreted)
        )
        assert written == wanted


@pytest.mark.parametrize("count", [MAX_OBJECTS + 1, MAX_OBJECTS])
def test_there_are_at_most_so_many_records_and_headers(count: int) -> None:
    """As many records as are allowed leave room for no header."""
    record = encode_batch([Record(headers=(("h", None),))])[BATCH_HEADER.size :]
    for read in (LOOPS.read_records, interpreted.read_records):
        with pytest.raises(ValueError, match="not readable"):
            read(record, 0, len(record), count, 0, 0)


def test_fields_are_copied_when_one_of_them_is_asked_for() -> None:
    """And what is set replaces what was read."""
    headers = (("h", b"1"), ("g", None))
    data = encode_batch([Record(b"k", b"v", headers, 5, 7), Record(None, None, (), 6, 8)])[BATCH_HEADER.size :]

    def read() -> list[Any]:
        return list(LOOPS.read_records(data, 0, len(data), 2, 7, 5)[0])

    whole = [(b"k", b"v", headers, 5, 7), (None, None, (), 6, 8)]
    assert [fields(record) for record in read()] == whole
    for place, name in enumerate(("key", "value", "headers")):
        first, second = read()
        assert (getattr(first, name), getattr(second, name)) == (whole[0][place], whole[1][place])
        assert (first._data, first._fields) == (b"", -1)
        assert [fields(first), fields(second)] == whole
        first, second = read()
        setattr(first, name, "other")
        assert fields(first) == (*whole[0][:place], "other", *whole[0][place + 1 :])
    WRITING.write_records(out := WRITING.new_buffer(), read(), 7, 5)
    assert bytes(WRITING.view(out)) == data
    one, other = read()
    assert one == read()[0] == LOOPS.Record(*whole[0])
    assert one != other
    assert repr(read()[0]) == repr(Record(*whole[0]))
    assert one.__reduce__()[1] == whole[0]


@examples(0.2)
@given(logs(), st.integers(0, 1), st.sampled_from(["create", "append"]), st.booleans(), TIMES)
def test_batches_give_their_records_one_by_one(
    records: list[Record], codec: int, kind: Any, broken: bool, newest: int
) -> None:
    """Those before a record that is wrong as well."""
    data = encode_batch(records, codec=codec, timestamp_type=kind, max_timestamp=newest)
    if broken and not codec:
        data = data[:-1] + bytes([data[-1] ^ 64])
    batch, _ = read_batches(data * 2, verify=False)
    expected, said = gathered(iter(batch))
    found, also = gathered(one_by_one(batch))
    assert ([fields(record) for record in found], also) == ([fields(record) for record in expected], said)
    assert broken or [fields(record) for record in found] == [fields(record) for record in batch.records()]


@pytest.mark.parametrize("count", [-1, 0, 1, 2, 3, 4])
@pytest.mark.parametrize("base", [5, HUGE])
@pytest.mark.parametrize("codec", [0, 1])
def test_unusual_records_and_counts_one_by_one(count: int, base: int, codec: int) -> None:
    """Among other batches. The second of three records has a null of length -2."""
    payload = SMALLEST + bytes([12, 0, 4, 2, 1, 3, 0]) + SMALLEST
    good = encode_batch([Record(b"k")])
    data = around(compress(codec, payload), count, codec)
    for policy in (STRICT, LIKE_KAFKA):
        _, batch, _ = read_batches(good + pack(">q", base) + data[8:] + good, policy=policy)
        found, said = gathered(one_by_one(batch))
        expected = gathered(iter(batch))
        assert ([fields(record) for record in found], said) == (
            [fields(record) for record in expected[0]],
            expected[1],
        )
        assert [record.offset - base for record in found] == [0, 1, 0][: max(0, count)]
        assert bool(said) is (count != 3 and not (policy == LIKE_KAFKA and count == 0))


def one_by_one(batch: Batch) -> Any:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(of_batches, "NATIVE", True)
        patched.setattr(of_batches, "read_record", LOOPS.read_record)
        yield from Batch.__iter__(batch)


def gathered(records: Any) -> tuple[list[Any], str]:
    found = []
    try:
        for record in records:
            found.append(record)
    except kwire.DecodeError as problem:
        return found, str(problem)
    return found, ""


@pytest.mark.parametrize("count", range(7))
def test_arrays_of_numbers_are_read_alike(count: int) -> None:
    compiled = as_compiled("wire")
    for code, size, name in (
        ("b", 1, "read_i8s"),
        ("h", 2, "read_i16s"),
        ("i", 4, "read_i32s"),
        ("q", 8, "read_i64s"),
    ):
        edge = 1 << 8 * size - 1
        numbers = [edge - 1, -edge, -1, 0, 1, edge // 3, -edge // 5][:count]
        data = b"\x55" * 9 + pack(f">{count}{code}", *numbers) + b"\x55" * 9
        assert getattr(compiled, name)(data, 9, count) == getattr(kwire.wire, name)(data, 9, count) == numbers
