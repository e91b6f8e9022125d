"""Columns of records are the records that batches give, in every format; and they can be written again."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.arrow import RECORDS, RecordBuilder, read_records, write_records
from kwire.arrow import records as module
from kwire.arrow.records import TIMESTAMP
from kwire.errors import DecodeError, UnknownColumnError
from kwire.records import Batch, Record, RecordsLimitError, encode_batch, encode_message_set, read_batches
from kwire.records.layout import BATCH_HEADER, OVERHEAD
from kwire.records.loops import HUGE, MAX_OBJECTS
from tests.fuzz.columns import run_fields
from tests.runtime.records.test_record_properties import logs
from tests.runtime.records.test_record_reader import around, headers
from tests.support.effort import examples

Row = tuple[Any, ...]


def text(key: str) -> str:
    return key.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def rows_of(batch: Batch) -> list[Row]:
    """What columns say of a batch."""
    facts: Row = (batch.position, batch.magic, batch.codec.label, batch.timestamp_type, batch.leader_epoch)
    facts += (batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.transactional, batch.control)
    return [
        (
            one.offset,
            None if one.timestamp == -1 else one.timestamp,
            one.key,
            one.value,
            tuple((text(key), value) for key, value in one.headers),
            *facts,
        )
        for one in batch.records()
    ]


def rows_in(table: pa.Table) -> list[Row]:
    table.validate(full=True)
    columns = [
        column.cast(pa.int64()).to_pylist() if column.type == module.TIMESTAMP else column.to_pylist()
        for column in table.columns
    ]
    rows = zip(*columns, strict=True)
    return [(*row[:4], tuple((one["key"], one["value"]) for one in row[4]), *row[5:]) for row in rows]


def check(data: bytes, rows: int = module.ROWS) -> None:
    expected = [row for batch in read_batches(data) for row in rows_of(batch)]
    for source in (data, bytearray(data)):
        assert rows_in(read_records(source, rows=rows).table()) == expected


@examples(0.2)
@given(st.lists(st.tuples(logs(), st.integers(0, 4), st.booleans()), max_size=4), st.integers(1, 20))
def test_batches(batches: list[tuple[list[Record], int, bool]], rows: int) -> None:
    parts = [
        encode_batch(
            records, codec=codec, timestamp_type="append" if append else "create", max_timestamp=append or None
        )
        for records, codec, append in batches
    ]
    check(b"".join(parts), rows)


@examples(0.3)
@given(st.lists(st.tuples(logs(headers=False, times=False), st.integers(0, 1), st.integers(0, 3)), max_size=3))
def test_message_sets_among_batches(sets: list[tuple[list[Record], int, int]]) -> None:
    parts = [
        encode_batch(records) + encode_message_set(records, magic=magic, codec=codec)
        for records, magic, codec in sets
    ]
    check(b"".join(parts))
    check(encode_message_set([Record(b"k", b"v", timestamp=7), Record(timestamp=8)], attributes=0x70))


def batch_of(*values: bytes | None, **settings: Any) -> bytes:
    return encode_batch([Record(b"k", value, timestamp=5) for value in values], **settings)


def test_facts_of_batches_and_labels() -> None:
    data = batch_of(b"a", b"b", producer_id=7, producer_epoch=1, transactional=True, leader_epoch=3)
    table = read_records(data + batch_of(b"c", codec=4, control=True), position=100).table()
    assert table.schema.equals(RECORDS, check_metadata=True)
    assert [str(column.type) for column in table.columns] == [str(field.type) for field in RECORDS]
    assert table.column("position").to_pylist() == [100, 100, 100 + len(data)]
    assert table.column("codec").combine_chunks().type == pa.dictionary(pa.int8(), pa.string())
    assert table.column("codec").to_pylist() == ["none", "none", "zstd"]
    assert table.column("control").to_pylist() == [False, False, True]
    assert table.column("producer_id").to_pylist() == [7, 7, -1]


def test_a_position_in_a_larger_file_changes_no_record() -> None:
    first, second = batch_of(b"a"), batch_of(b"b")
    table = read_records(first + second, ["position", "value"], position=len(first)).table()
    assert table.to_pydict() == {"position": [len(first), len(first + second)], "value": [b"a", b"b"]}


@pytest.mark.parametrize("codec", [0, 1])
def test_a_time_of_the_broker_is_that_of_all_records(codec: int) -> None:
    records = [Record(timestamp=5), Record(timestamp=9)]
    data = encode_batch(records, timestamp_type="append", max_timestamp=77, codec=codec)
    assert [row[1] for row in rows_in(read_records(data).table())] == [77, 77]


@pytest.mark.parametrize("far", [HUGE - 1, HUGE, -HUGE, 1 - HUGE])
def test_numbers_near_the_ends_of_an_int64_are_read_too(far: int) -> None:
    appended: dict[str, Any] = {"base_timestamp": 0, "timestamp_type": "append", "max_timestamp": far}
    for settings, time in (({"base_offset": far}, 5), ({"base_timestamp": far}, far), (appended, 5)):
        data = encode_batch([Record(b"k", timestamp=time), Record(b"l", timestamp=time + 1)], **settings)
        assert RecordBuilder().take(next(read_batches(data)), data) is (abs(far) < HUGE)
        check(data)


@pytest.mark.parametrize("name", RECORDS.names)
def test_each_column_by_itself(name: str) -> None:
    headers = (("h", None), ("g", b"1"))
    data = encode_batch([Record(None, b"v", headers, 9, 3), Record(b"k", None, (), -1, 5)]) + batch_of(None, codec=1)
    assert read_records(data, [name]).table().equals(read_records(data).table().select([name]))


def test_only_minus_one_is_no_time() -> None:
    data = encode_batch([Record(timestamp=time) for time in (-2, -1, 0, 1)], base_timestamp=0)
    times = read_records(data, ["timestamp"]).table().column("timestamp")
    assert times.cast(pa.int64()).to_pylist() == [-2, None, 0, 1]


def test_columns_in_any_order_and_unknown_ones() -> None:
    assert read_records(batch_of(b"v"), ["value", "offset"]).table().to_pylist() == [{"value": b"v", "offset": 0}]
    with pytest.raises(UnknownColumnError, match=r"unknown column 'ofset' of records, did you mean offset\?"):
        read_records(b"", ["ofset"])


def test_no_bytes() -> None:
    for data in (None, b"", batch_of(None)[:-1]):
        reader = read_records(data)
        assert list(reader) == []
        assert reader.truncated == len(data or b"")
        assert reader.table().num_rows == 0


def count_of(data: bytes, count: int) -> bytes:
    """A batch whose header counts other records."""
    return data[: BATCH_HEADER.size - 4] + count.to_bytes(4, "big", signed=True) + data[BATCH_HEADER.size :]


@pytest.mark.parametrize(
    "broken",
    [
        count_of(batch_of(b"a"), 2),
        count_of(batch_of(b"a", b"b"), 1),
        count_of(batch_of(b"a"), -1),
        batch_of(b"a")[:-3] + b"\4a\0",
        batch_of(b"a")[:-3] + b"\3a\0",  # a length of -2
        batch_of(b"a")[:-5] + b"\3k\2a\0",
        encode_batch([Record(headers=(("h", b"1"),))])[:-4] + b"\3h\0021",
        encode_batch([Record(headers=(("h", b"1"),))])[:-4] + b"\2h\0031",
        encode_batch([Record(headers=(("h", b"1"),))])[:-5] + b"\3\2h\0021",
        batch_of(b"value", codec=4)[:-1] + b"?",
    ],
)
def test_broken_batches_raise_or_are_skipped(broken: bytes) -> None:
    data = batch_of(b"1", b"2") + broken + batch_of(b"3")
    reader = read_records(data, verify=False, skip=True)
    assert [row[3] for row in rows_in(reader.table())] == [b"1", b"2", b"3"]
    (error,) = reader.errors
    assert error.position == len(batch_of(b"1", b"2"))
    assert (error.__traceback__, error.__context__, error.__cause__) == (None, None, None)
    strict = read_records(data, verify=False, rows=1)
    assert next(strict).num_rows == 2
    with pytest.raises(type(error)) as caught:
        next(strict)
    assert str(caught.value) == str(error)
    assert next(strict).num_rows == 1


@pytest.mark.parametrize("name", [None, "key", "value", "headers", "timestamp"])
def test_nothing_of_a_broken_batch_stays(name: str | None) -> None:
    """Neither its nulls nor its headers, when its last record turns out to be broken."""
    good = encode_batch([Record(b"a", None, (("x", None), ("y", b"1")), 5), Record(None, b"b", (("z", b"2"),), 6)])
    broken = encode_batch([Record(None, None, (("m", b"3"), ("n", None))), Record(None, None)])[:-1] + b"\2"
    columns = None if name is None else [name]
    whole = read_records(good + broken + good, columns, verify=False, skip=True)
    rows = whole.table().to_pylist()
    for row in rows:
        row.pop("position", None)
    assert len(whole.errors) == 1
    alone = read_records(good, columns).table().to_pylist()
    for row in alone:
        row.pop("position", None)
    assert rows == alone * 2


def test_a_wrong_checksum_is_an_error() -> None:
    data = bytearray(batch_of(b"1") + batch_of(b"2"))
    data[-1] ^= 1
    reader = read_records(bytes(data), skip=True)
    assert reader.table().num_rows == 1
    assert [error.path for error in reader.errors] == ["crc"]


def test_a_batch_of_too_many_records_is_refused() -> None:
    one, most = encode_batch([Record()]), MAX_OBJECTS + 1
    records = one[BATCH_HEADER.size :] * most
    size = (BATCH_HEADER.size - OVERHEAD + len(records)).to_bytes(4, "big")
    data = one[:8] + size + one[OVERHEAD : BATCH_HEADER.size] + records
    with pytest.raises(RecordsLimitError):
        next(read_records(count_of(data, most), verify=False))


def test_batches_become_ready_by_rows_and_by_bytes() -> None:
    data = b"".join(batch_of(bytes(300), codec=codec) for codec in (0, 4, 4, 4, 4, 0, 0))
    expected = [row for batch in read_batches(data) for row in rows_of(batch)]
    builder = RecordBuilder(size=1000)
    for batch in read_batches(data):
        builder.add(batch, data, batch.position)
    builder.flush()
    parts = [*iter(builder.pop, None)]
    assert [part.num_rows for part in parts] == [1, 3, 3]
    assert rows_in(pa.Table.from_batches(parts)) == expected
    assert [part.num_rows for part in read_records(data, rows=2)] == [2, 2, 2, 1]
    for size, codec, ready in ((500, 4, True), (300, 4, False), (500, 0, False)):
        one = RecordBuilder(size=400)
        data = batch_of(bytes(size), codec=codec)
        one.add(next(read_batches(data)), data)
        assert one.ready is ready  # what was decompressed is finished before the next is


@pytest.mark.parametrize("codec", [0, 4])
def test_a_batch_of_large_values_comes_in_parts(codec: int) -> None:
    values = [None, bytes(900), b"", *(bytes([number]) * 700 for number in range(8))]
    values[5] = None
    data = batch_of(*values, codec=codec)
    (batch,) = read_batches(data)
    builder = RecordBuilder(size=1000)
    builder.add(batch, data)
    builder.flush()
    parts = [*iter(builder.pop, None)]
    assert [part.num_rows for part in parts] == [4, 3, 2, 2]
    assert rows_in(pa.Table.from_batches(parts)) == rows_of(batch)


@pytest.mark.parametrize("usual", [True, False])
def test_what_is_larger_than_allowed_is_left_out(usual: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its size is there instead, whichever other columns are."""
    if not usual:
        monkeypatch.setattr(RecordBuilder, "take", lambda *_: False)
    headers = (("h", None), ("löng", bytes(89)))
    contents = [
        (b"k", b"v", headers[:1]),
        (b"k", b"v", headers),
        (None, bytes(100), ()),
        (bytes(99), None, headers[:1]),
    ]
    records = [Record(key, value, pairs, 5) for key, value, pairs in contents]
    (batch,) = read_batches(encode_batch(records * 2))
    for names in (RECORDS.names, ["value"], ["offset"], ["headers"]):
        builder = RecordBuilder(pa.schema([RECORDS.field(name) for name in names]), largest=96)
        builder.add(batch)
        builder.flush()
        (made,) = iter(builder.pop, None)
        assert made.column("left_out").to_pylist() == [None, 97, 100, 100] * 2
        rows = made.to_pylist()
        kept = [Record(timestamp=5) if row["left_out"] else one for row, one in zip(rows, records * 2, strict=True)]
        pairs = [[{"key": key, "value": value} for key, value in record.headers] for record in kept]
        assert "value" not in names or [row["value"] for row in rows] == [record.value for record in kept]
        assert "headers" not in names or [row["headers"] for row in rows] == pairs


def test_of_a_batch_that_cannot_be_read_nothing_is_left_in_later_rows() -> None:
    """Neither nulls and headers, nor the size of a record that is too large."""
    begun = [Record(b"k", bytes(97)), Record(None, None, (("h", None), ("i", b"1"))), Record(b"k", b"v")]
    damaged = encode_batch(begun)[:-1] + b"\x09"  # of the last record, the number of headers
    whole = encode_batch([Record(b"a", b"b", (("h", b"2"),), 5), Record(b"c", b"d", (("i", b"3"),), 6)])
    made: list[pa.RecordBatch] = []
    for before in (b"", damaged):
        builder = RecordBuilder(largest=96)
        for batch in read_batches(before, verify=False):
            with pytest.raises(DecodeError):
                builder.add(batch)
        builder.add(next(read_batches(whole)))
        builder.flush()
        made += iter(builder.pop, None)
    assert made[1] == made[0]


def test_facts_of_batches_alone_are_read_from_headers() -> None:
    broken = batch_of(b"value", b"more", codec=4)[:-1] + b"?"
    assert read_records(broken, ["codec"], verify=False).table().to_pydict() == {"codec": ["zstd", "zstd"]}


@pytest.mark.parametrize("count", [-1, -(2**31), 70_000])
def test_a_count_of_records_that_its_batch_cannot_hold_is_not_believed(count: int) -> None:
    data = batch_of(b"1") + count_of(batch_of(b"2"), count) + batch_of(b"3", codec=4)
    with pytest.raises(DecodeError):
        read_records(data, ["codec"], verify=False).table()
    reader = read_records(data, ["codec"], verify=False, skip=True)
    assert reader.table().to_pydict() == {"codec": ["none", "zstd"]}
    assert len(reader.errors) == 1


def test_a_count_is_believed_up_to_a_number_if_no_column_needs_the_records() -> None:
    most = module.BELIEVED
    assert read_records(count_of(batch_of(b"1"), most), ["codec"], verify=False).table().num_rows == most
    with pytest.raises(DecodeError):
        read_records(count_of(batch_of(b"1"), most + 1), ["codec"], verify=False).table()


@pytest.mark.parametrize("usual", [True, False])
def test_a_record_may_be_as_large_as_allowed(usual: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not usual:
        monkeypatch.setattr(RecordBuilder, "take", lambda *_: False)
    records = [Record(b"k", bytes(size), (("h", b"1"),)) for size in (92, 93, 94)]
    builder = RecordBuilder(pa.schema([RECORDS.field("value")]), largest=96)
    builder.add(next(read_batches(encode_batch(records))))
    builder.flush()
    (made,) = iter(builder.pop, None)
    assert made.column("left_out").to_pylist() == [None, None, 97]
    assert made.column("value").to_pylist() == [bytes(92), bytes(93), None]


def test_uncompressed_values_are_not_copied_before_they_are_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Batch, "payload", lambda self: pytest.fail("copied"))
    assert read_records(batch_of(b"a") + batch_of(b"b")).table().num_rows == 2


def test_batches_from_several_sources() -> None:
    builder = RecordBuilder(pa.schema([RECORDS.field("value")]))
    for data in (batch_of(b"a"), batch_of(b"b", codec=1), batch_of(b"c")):
        (batch,) = read_batches(data)
        builder.add(batch, data)
    builder.add_records(batch, [Record(None, b"d")])
    assert (builder.rows, builder.ready) == (4, False)
    builder.flush()
    (made,) = iter(builder.pop, None)
    assert made.column("value").to_pylist() == [b"a", b"b", b"c", b"d"]


def test_the_records_of_a_batch_can_be_taken_in_parts() -> None:
    """Nothing is added of a part with a record that is not there."""
    records = [Record(b"a", None, (("h", None),), 5, 3), Record(None, b"v", (), 9, 7), Record(b"c", b"", (), 6, 8)]
    (batch,) = read_batches(encode_batch(records, codec=4, producer_id=5))
    payload, builder = batch.payload(), RecordBuilder()
    end = builder.take_some(batch, payload, 0, 1)
    assert end == 1 + (payload[0] >> 1)
    assert builder.take_some(batch, payload, end, 3) == -1
    assert builder.take_some(batch, payload, end, 2) == len(payload)
    assert builder.rows == 3
    builder.flush()
    assert rows_in(pa.Table.from_batches(iter(builder.pop, None))) == rows_of(batch)


def test_columns_become_a_batch() -> None:
    records = [Record(b"k", None, (("h", b"1"), ("g", None)), -1, 3), Record(None, b"v", (), 9, 7)]
    data = encode_batch(records, codec=4, producer_id=5)
    table = read_records(data).table()
    assert write_records(table, codec=4, producer_id=5) == data
    assert write_records(table.combine_chunks().to_batches()[0].slice(1)) == encode_batch(records[1:])
    assert write_records(table.select(["value"])) == encode_batch([Record(None, None), Record(None, b"v")])
    assert write_records(table.slice(2)) == encode_batch([])
    other = pa.table({"other": [1, 2, 3]})
    assert write_records(other) == encode_batch([Record(), Record(), Record()])


def test_timestamps_of_any_unit_become_milliseconds() -> None:
    for kind in (pa.timestamp("us"), pa.timestamp("ns", "Europe/Berlin"), pa.timestamp("s", "UTC")):
        times = pa.array([7000, None], TIMESTAMP).cast(kind)
        written = write_records(pa.table({"timestamp": times}))
        assert written == encode_batch([Record(timestamp=7000), Record(timestamp=-1)]), kind


def test_finer_timestamps_are_cut_to_milliseconds() -> None:
    times = pa.array([7_000_999], pa.timestamp("us", "UTC"))
    assert write_records(pa.table({"timestamp": times})) == encode_batch([Record(timestamp=7000)])


@pytest.mark.parametrize("code", [5, 6, 7])
def test_codecs_that_there_are_not_have_their_number(code: int) -> None:
    data = bytearray(batch_of(b"a"))
    data[22] = code
    assert read_records(bytes(data), ["codec"], verify=False).table().to_pydict() == {"codec": [f"unknown {code}"]}


@pytest.mark.slow
def test_headers_have_the_limit_of_all_readers() -> None:
    half = MAX_OBJECTS // 2
    for data in (around(headers(MAX_OBJECTS)), around(headers(half) * 2, 2)):
        with pytest.raises(RecordsLimitError):
            read_records(data, ["headers"], verify=False).table()


def test_keys_of_headers_that_are_not_text_are_replaced() -> None:
    data = encode_batch([Record(headers=(("\udcff", b"1"), ("ü", None)))])
    assert read_records(data).table().column("headers").to_pylist() == [
        [{"key": "\ufffd", "value": b"1"}, {"key": "ü", "value": None}]
    ]


@pytest.mark.long
def test_broken_fields() -> None:
    outcomes = run_fields(3000, 1)
    assert outcomes["refused"] > 500
    assert outcomes["read"] > 500


def test_errors_are_decode_errors() -> None:
    with pytest.raises(DecodeError):
        read_records(b"\0" * 60).table()
