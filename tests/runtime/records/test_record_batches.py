"""Record batches of magic 2, held against bytes written by hand."""

from __future__ import annotations

import pickle
from array import array
from copy import copy
from struct import pack
from typing import Any
from unittest.mock import ANY

import pytest
from crc32c import crc32c
from syrupy.assertion import SnapshotAssertion

from kwire import EncodeError, is_native
from kwire.compression import Codec, DecompressionLimitError
from kwire.records import Batch, BatchBuilder, CorruptRecordError, Record, encode_batch, read_batches
from tests.support.wrong_types import REFUSED


def by_hand(
    payload: bytes,
    count: int,
    *,
    base_offset: int = 0,
    leader_epoch: int = -1,
    attributes: int = 0,
    last_offset_delta: int | None = None,
    base_timestamp: int = 0,
    max_timestamp: int = 0,
    producer: tuple[int, int, int] = (-1, -1, -1),
) -> bytes:
    """A batch around records that are bytes already."""
    delta = max(0, count - 1) if last_offset_delta is None else last_offset_delta
    covered = pack(">hiqqqhii", attributes, delta, base_timestamp, max_timestamp, *producer, count) + payload
    size = len(covered) + 9
    return pack(">qiibI", base_offset, size, leader_epoch, 2, crc32c(covered)) + covered


def raw(text: str) -> bytes:
    """Bytes from hexadecimal digits, with a ``|`` wherever it helps."""
    return bytes.fromhex(text.replace("|", " "))


def only(data: bytes, **options: Any) -> Batch:
    (batch,) = read_batches(data, **options)
    return batch


# length, attributes, timestamp delta, offset delta, key, value, number of headers, headers
PLAIN = raw("12 | 00 | 0a | 00 | 02 6b | 04 7631 | 00") + raw("0c | 00 | 09 | 02 | 01 | 00 | 00")


def test_records_and_header_of_a_batch() -> None:
    payload = raw("12 | 00 | 0a | 00 | 02 6b | 04 7631 | 00") + raw("0c | 00 | 09 | 06 | 01 | 00 | 00")
    data = by_hand(
        payload,
        2,
        base_offset=100,
        leader_epoch=7,
        attributes=0x10,
        last_offset_delta=5,
        base_timestamp=1000,
        max_timestamp=1005,
        producer=(9, 2, 40),
    )
    batch = only(data)
    assert (batch.position, batch.size, batch.magic, batch.data) == (0, len(data), 2, data)
    assert (batch.base_offset, batch.last_offset, batch.count, batch.leader_epoch) == (100, 105, 2, 7)
    assert (batch.base_timestamp, batch.max_timestamp, batch.timestamp_type) == (1000, 1005, "create")
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (9, 2, 40)
    assert (batch.codec, batch.transactional, batch.control, batch.delete_horizon) == (0, True, False, None)
    first, second = batch
    assert (first.offset, first.timestamp, first.key, first.value, first.headers) == (100, 1005, b"k", b"v1", ())
    assert (second.offset, second.timestamp, second.key, second.value) == (103, 995, None, b"")
    assert [batch.sequence(record) for record in (first, second)] == [40, 43]
    assert batch.records() == [first, second] == list(batch)
    assert batch.payload() == payload
    assert batch.encode() == data


def test_records_keep_their_fields_without_the_input() -> None:
    """Natively, fields are copied when they are first asked for, or set: of which one does not matter."""
    rows = [
        Record(b"k" * 200, None, (("h", None), ("i", b"x" * 90)), 5, 7),
        Record(None, b"", (), 4, 9),
        Record(None),
        Record(b"k", b"v", (), 6),
    ]
    data = encode_batch(rows)
    first, second, third, fourth = next(read_batches(data))
    del data
    assert (first.headers, first.key, first.value) == (rows[0].headers, b"k" * 200, None)
    assert repr(second) == "Record(key=None, value=b'', timestamp=4, offset=9)"
    third.value = b"new"
    assert (third.key, third.value, third.headers, third.offset) == (None, b"new", (), 10)
    assert copy(fourth) == pickle.loads(pickle.dumps(fourth)) == Record(b"k", b"v", (), 6, 11)
    fourth.key = None
    fourth.headers = (("h", b""),)
    assert fourth == Record(None, b"v", (("h", b""),), 6, 11)


def test_unusual_records_one_by_one() -> None:
    """A null of length -2, and the broker's time for all."""
    payload = PLAIN + raw("0c | 00 | 09 | 04 | 03 | 00 | 00")
    batch = only(by_hand(payload, 3, attributes=8, max_timestamp=77))
    assert list(batch) == batch.records()
    assert [record.timestamp for record in batch] == [77, 77, 77]


def test_records_before_an_invalid_one_are_read() -> None:
    payload = PLAIN + raw("0c | 00 | 09 | 04 | 03 | 00 | 00") * 600
    iterator = iter(only(by_hand(payload, 3)))
    assert [next(iterator).offset for _ in range(3)] == [0, 1, 2]
    with pytest.raises(CorruptRecordError, match="trailing bytes after the 3 records"):
        next(iterator)
    iterator = iter(only(by_hand(PLAIN + raw("0c | 00 | 09"), 3)))
    assert [next(iterator).offset for _ in range(2)] == [0, 1]
    with pytest.raises(CorruptRecordError, match=r"records\[2\]"):
        next(iterator)


def test_a_builder_of_a_large_batch() -> None:
    """Larger than its buffer; settings reach the header; it can be built twice, and more records added."""
    builder = BatchBuilder(base_timestamp=5)
    rows = [Record(b"k", bytes(700), (), 5 + number, 40 + number) for number in range(300)]
    for row in rows:
        builder.append(row.key, row.value, row.headers, row.timestamp, row.offset)
    settings: dict[str, Any] = {"producer_id": 3, "producer_epoch": 1, "base_sequence": 9, "transactional": True}
    data = builder.build(**settings)
    assert data == encode_batch(rows, **settings) == builder.build(**settings)
    assert (len(data), builder.size, builder.count) == (len(data), len(data), 300)
    assert only(builder.build(codec=4)).records() == rows
    builder.append(b"last")
    assert only(builder.build()).records() == [*rows, Record(b"last", None, (), -1, 340)]
    assert BatchBuilder().build() == encode_batch([])
    empty = BatchBuilder(base_offset=5, base_timestamp=7)
    assert empty.build() == encode_batch([], base_offset=5, base_timestamp=7)
    empty.append(b"k", offset=9, timestamp=8)
    one = [Record(b"k", None, (), 8, 9)]
    assert empty.build() == encode_batch(one, base_offset=5, base_timestamp=7)


@pytest.mark.parametrize(
    ("buffer", "headers", "timestamp"),
    [(bytes, (("h", None),), -(2**63)), (bytes, (), 2**63 - 1), (bytearray, (), 5)],
    ids=["oldest", "newest", "other buffers"],
)
def test_a_builder_keeps_records_that_it_writes_slowly(buffer: type, headers: Any, timestamp: int) -> None:
    if is_native() and buffer is bytearray:
        pytest.skip("compiled records take bytes")
    unusual = Record(buffer(b"k"), buffer(b"v"), headers, timestamp)
    rows = [Record(b"a", timestamp=7, offset=3), unusual, Record(b"z", timestamp=8)]
    builder = BatchBuilder()
    for row in rows:
        builder.append(row.key, row.value, row.headers, row.timestamp, row.offset)
    assert builder.build() == encode_batch(rows)
    assert [record.timestamp for record in only(builder.build())] == [7, unusual.timestamp, 8]


@pytest.mark.parametrize("border", [0, 1 << 6, 1 << 13, 1 << 20, 1 << 27, 1 << 40])
def test_times_and_offsets_of_any_distance_are_written(border: int) -> None:
    """Near the borders where their varints get longer; times may go back."""
    for far in (border - 1, border, border + 1):
        for step in {1, min(max(far, 1), (1 << 30) - 1)}:
            places = ((0, 5), (far, 5 + step), (-far, 5 + 2 * step))
            rows = [Record(b"k", b"v", (), (1 << 42) + time, offset) for time, offset in places]
            builder = BatchBuilder()
            for row in rows:
                builder.append(row.key, row.value, timestamp=row.timestamp, offset=row.offset)
            for data in (builder.build(), encode_batch(rows)):
                (batch,) = read_batches(data)
                assert batch.records() == list(batch) == rows


def test_minus_one_is_an_offset_among_exact_ones() -> None:
    rows = [Record(b"k", b"v", (), 5, offset) for offset in (-1, 2, -1)]
    (batch,) = read_batches(encode_batch(rows, base_offset=-1, last_offset=2, exact_offsets=True))
    assert batch.records() == rows


def test_a_builder_refuses_what_cannot_be_written() -> None:
    builder = BatchBuilder()
    builder.append(b"k", offset=7)
    with pytest.raises(EncodeError, match=r"records\[1\]\.offset.*offset 7 must be 8 or more, or -1") as caught:
        builder.append(b"k", offset=7)
    assert (caught.value.message_name, caught.value.version) == ("RecordBatch", 2)
    with pytest.raises(REFUSED):
        builder.append("text")  # type: ignore[arg-type]
    with pytest.raises(EncodeError, match="unknown codec 9"):
        builder.build(codec=9)
    assert builder.build() == encode_batch([Record(b"k", offset=7)])


def test_a_distance_that_overflows_is_refused_where_it_is() -> None:
    base = -(2**62) + 2
    with pytest.raises(EncodeError, match=r"records\[1\]\.offset.*distance from the base offset"):
        encode_batch([Record(), Record(offset=base + 2**63)], base_offset=base, last_offset=base + 1)
    builder = BatchBuilder(base_offset=7)
    with pytest.raises(EncodeError, match=r"records\[0\]\.offset.*distance from the base offset: 2147483648 is not"):
        builder.append(offset=7 + 2**31)
    builder.append(offset=7 + 2**31 - 1)
    assert [record.offset for record in only(builder.build())] == [7 + 2**31 - 1]


def test_what_is_not_given_comes_from_the_records() -> None:
    records = [Record(b"a", timestamp=50, offset=8), Record(b"b", timestamp=70, offset=11), Record(timestamp=60)]
    batch = only(encode_batch(records))
    assert (batch.base_offset, batch.last_offset, batch.count) == (8, 12, 3)
    assert (batch.base_timestamp, batch.max_timestamp) == (50, 70)
    assert (batch.leader_epoch, batch.producer_id, batch.producer_epoch, batch.base_sequence) == (-1, -1, -1, -1)
    assert [record.offset for record in batch] == [8, 11, 12]


def test_records_without_offsets_are_numbered() -> None:
    assert [record.offset for record in only(encode_batch([Record(), Record()]))] == [0, 1]
    assert [record.offset for record in only(encode_batch([Record(), Record()], base_offset=5))] == [5, 6]


@pytest.mark.parametrize(
    ("first", "numbers"), [(-1, [-1, -1]), (0, [0, 2]), (2**31 - 2, [2**31 - 2, 0]), (2**31 - 1, [2**31 - 1, 1])]
)
def test_the_sequence_starts_again_at_zero(first: int, numbers: list[int]) -> None:
    """That of a producer's first batch starts there, and a batch without a producer has none."""
    batch = only(encode_batch([Record(offset=7), Record(offset=9)], producer_id=1, base_sequence=first))
    assert [batch.sequence(record) for record in batch] == numbers


def test_all_kinds_of_input_and_a_position() -> None:
    data = encode_batch([Record(b"k", b"v", offset=3)])
    others = [array("b", data), memoryview(data).cast("B", (1, len(data)))]
    for given in (data, bytearray(data), memoryview(data), memoryview(b"xx" + data)[2:], *others):
        assert only(given).records() == [Record(b"k", b"v", offset=3)]  # type: ignore[arg-type]
    reader = read_batches(data + data, position=1000)
    assert [batch.position for batch in reader] == [1000, 1000 + len(data)]
    assert reader.position == 1000 + 2 * len(data)
    assert list(read_batches(None)) == list(read_batches(b"")) == []


def test_a_batch_survives_without_its_reader_and_its_neighbours() -> None:
    reader = read_batches(encode_batch([Record(b"1")]) + encode_batch([Record(b"2")]))
    first = next(reader)
    assert [record.key for record in next(reader)] == [b"2"]
    assert [record.key for record in first] == [b"1"]
    assert list(reader) == []


def test_trap_43_the_checksum_starts_at_the_attributes() -> None:
    data = bytearray(encode_batch([Record(b"k", b"v")], base_offset=0, leader_epoch=3))
    data[0:8] = pack(">q", 77)  # a broker sets offset and leader epoch without touching the rest
    data[12:16] = pack(">i", 9)
    batch = only(bytes(data))
    assert (batch.leader_epoch, [record.offset for record in batch]) == (9, [77])


def test_trap_43_a_compacted_batch_may_have_no_records() -> None:
    data = by_hand(
        b"", 0, base_offset=50, last_offset_delta=4, base_timestamp=-1, max_timestamp=99, producer=(5, 1, 0)
    )
    batch = only(data)
    assert (batch.base_offset, batch.last_offset, batch.count, batch.max_timestamp) == (50, 54, 0, 99)
    assert batch.records() == list(batch) == []
    assert batch.encode() == data
    built = encode_batch(
        [], base_offset=50, last_offset=54, max_timestamp=99, producer_id=5, producer_epoch=1, base_sequence=0
    )
    assert built == data
    assert (only(encode_batch([], base_offset=50)).last_offset, len(encode_batch([], codec=4))) == (50, 61)


def test_trap_43_the_delete_horizon_takes_the_place_of_the_base_timestamp() -> None:
    data = by_hand(raw("0c 00 0f 00 01 01 00"), 1, attributes=0x40, base_timestamp=5000, max_timestamp=4992)
    batch = only(data)
    assert batch.delete_horizon == 5000
    assert [record.timestamp for record in batch] == [4992]
    assert batch.encode() == data
    assert (
        encode_batch(batch, delete_horizon=5000) == encode_batch(batch, delete_horizon=5000, base_timestamp=1) == data
    )
    assert only(encode_batch(batch)).delete_horizon is None


def test_trap_43_append_time_overrides_the_time_of_every_record() -> None:
    data = by_hand(PLAIN, 2, attributes=0x08, base_timestamp=1000, max_timestamp=4242)
    batch = only(data)
    assert batch.timestamp_type == "append"
    assert [record.timestamp for record in batch] == [record.timestamp for record in batch.records()] == [4242, 4242]
    assert [record.timestamp for record in batch.stored_records()] == [1005, 995]
    assert batch.encode() == data, "what the producer wrote is still there"
    built = only(encode_batch([Record(timestamp=1)], timestamp_type="append", max_timestamp=7))
    assert [record.timestamp for record in built] == [7]


def test_trap_43_minus_one_is_null_and_zero_is_empty() -> None:
    payload = raw("0c 00 00 00 | 01 | 01 | 00") + raw("0c 00 00 02 | 00 | 00 | 00")
    null, empty = only(by_hand(payload, 2))
    assert (null.key, null.value) == (None, None)
    assert (empty.key, empty.value) == (b"", b"")
    assert only(by_hand(payload, 2)).encode() == by_hand(payload, 2)


def test_trap_43_the_value_of_a_header_may_be_null_but_not_its_key() -> None:
    headers = raw("06 | 02 61 01 | 02 61 00 | 00 02 62")  # a twice, null and empty; then an empty key
    record = raw("00 00 00 01 01") + headers
    (read,) = only(by_hand(bytes([2 * len(record)]) + record, 1))
    assert read.headers == (("a", None), ("a", b""), ("", b"b"))
    assert only(by_hand(bytes([2 * len(record)]) + record, 1)).encode()[61:] == bytes([2 * len(record)]) + record
    record = raw("00 00 00 01 01 | 02 | 01 00")
    with pytest.raises(CorruptRecordError) as caught:
        only(by_hand(bytes([2 * len(record)]) + record, 1)).records()
    assert caught.value.path == "records[0].headers[0].key"
    assert caught.value.reason == "invalid length -1"


def test_trap_43_offsets_are_sparse() -> None:
    records = [Record(offset=10), Record(offset=4000), Record(offset=4001), Record(offset=10 + 2**31 - 1)]
    batch = only(encode_batch(records))
    assert [record.offset for record in batch] == [10, 4000, 4001, 10 + 2**31 - 1]
    assert batch.last_offset == 10 + 2**31 - 1


def test_header_keys_that_are_not_utf8_survive() -> None:
    record = raw("00 00 00 01 01 | 02 | 06 61ff62 02 63")
    data = by_hand(bytes([2 * len(record)]) + record, 1)
    (read,) = only(data)
    assert read.headers == (("a\udcffb", b"c"),)
    assert encode_batch([read], base_timestamp=0, max_timestamp=0)[61:] == data[61:]


def test_attributes_of_records_are_ignored_and_unknown_ones_of_batches_kept() -> None:
    (record,) = only(by_hand(raw("0c ff 00 00 01 01 00"), 1))
    assert record == Record(timestamp=0, offset=0)
    data = by_hand(raw("0c 00 00 00 01 01 00"), 1, attributes=0x4000)
    assert only(data).encode() == data
    cases: list[tuple[dict[str, Any], int]] = [
        ({}, 0x7FC0),
        ({"codec": 1, "timestamp_type": "append"}, 0x7FC9),
        ({"transactional": True, "control": True}, 0x7FF0),
    ]
    for settings, attributes in cases:
        (batch,) = read_batches(encode_batch([Record()], attributes=0x7FFF, **settings))
        assert batch.attributes == attributes


def test_the_longest_varints_are_read_as_java_reads_them() -> None:
    """Padded to five and ten bytes, with bits that fall off at the top; one byte more is refused."""
    key, headers = raw("82 80 80 80 00"), raw("80 80 80 80 00")
    time, offset = raw("8a 80 80 80 80 80 80 80 80 7e"), raw("86 80 80 80 00")
    body = raw("00") + time + offset + key + b"k" + raw("01") + headers
    (record,) = only(by_hand(raw(f"{2 * len(body) | 0x80:02x} 80 80 80 70") + body, 1, base_timestamp=100))
    assert record == Record(b"k", None, timestamp=105, offset=3)
    for field, longer in (
        ("timestamp", raw("00 | 8a 80 80 80 80 80 80 80 80 80 00 | 00 01 01 00")),
        ("offset", raw("00 | 00 | 86 80 80 80 80 00 | 01 01 00")),
        ("key", raw("00 | 00 | 00 | 82 80 80 80 80 00 6b | 01 00")),
    ):
        with pytest.raises(CorruptRecordError) as caught:
            only(by_hand(bytes([2 * len(longer)]) + longer, 1)).records()
        assert caught.value.path == f"records[0].{field}"
        assert "this varint has more than" in caught.value.reason


@pytest.mark.parametrize("base_offset", [2**63 - 1, 7, -(2**63)])
@pytest.mark.parametrize("base_timestamp", [2**63 - 1, 7, -(2**63)])
def test_what_overflows_a_java_long_is_read_and_written_alike(base_offset: int, base_timestamp: int) -> None:
    payload = raw("0c 00 04 02 01 01 00")
    data = by_hand(payload, 1, base_offset=base_offset, base_timestamp=base_timestamp, last_offset_delta=0)
    (record,) = only(data)
    assert record.timestamp == (base_timestamp + 2 if base_timestamp < 8 else -(2**63) + 1)
    assert record.offset == (base_offset + 1 if base_offset < 8 else -(2**63))
    assert only(data).encode()[61:] == payload


def test_records_are_equal_whatever_holds_their_headers() -> None:
    pairs = (("a", b"1"), ("b", None))
    if not is_native():  # compiled records take tuples
        assert Record(headers=list(pairs)) == Record(headers=pairs)  # type: ignore[arg-type]
    assert Record(headers=pairs) == Record(headers=(("a", b"1"), ("b", None)))
    assert Record(headers=pairs) != Record(headers=pairs[:1])
    assert Record() == ANY, "others may know better"


def test_offsets_below_zero_are_offsets() -> None:
    records = [Record(offset=-5), Record(offset=-4)]
    batch = only(encode_batch(records))
    assert (batch.base_offset, batch.last_offset, batch.records()) == (-5, -4, records)


def test_a_distance_of_more_than_an_int32_wraps_as_in_java() -> None:
    """A varint of five bytes may have more bits than those of an int32."""
    (record,) = only(by_hand(raw("14 00 00 | 86 80 80 80 10 | 01 01 00"), 1, last_offset_delta=9))
    assert record == Record(timestamp=0, offset=3)


def test_a_limit_of_nothing_is_a_limit() -> None:
    data = encode_batch([Record(b"k")], codec=Codec.GZIP)
    with pytest.raises(DecompressionLimitError, match="more than the limit of 0 bytes"):
        only(data, limit=0).records()


def test_building_again_with_changes() -> None:
    data = encode_batch([Record(b"a", timestamp=5), Record(b"b", timestamp=6)], base_offset=10, leader_epoch=1)
    batch = only(data)
    kept = only(batch.encode([record for record in batch if record.key == b"b"]))
    assert (kept.base_offset, kept.last_offset, kept.count, kept.max_timestamp) == (10, 11, 1, 6)
    moved = only(batch.encode(leader_epoch=8, producer_id=3, producer_epoch=0, base_sequence=0, transactional=True))
    assert (moved.leader_epoch, moved.producer_id, moved.transactional) == (8, 3, True)
    assert moved.records() == batch.records()


def test_building_again_with_another_type_of_timestamp() -> None:
    """The time of the broker is not one of the records."""
    created = only(encode_batch([Record(timestamp=5), Record(timestamp=3)]))
    appended = only(created.encode(timestamp_type="append", max_timestamp=99))
    assert [record.timestamp for record in appended] == [99, 99]
    assert only(appended.encode([Record(timestamp=7)])).max_timestamp == 99
    assert only(created.encode([Record(timestamp=4)])).max_timestamp == 4
    for again in (appended.encode(timestamp_type="create"), created.encode(timestamp_type="append")):
        assert only(again).max_timestamp == 5
    other = only(appended.encode([Record(timestamp=7)], timestamp_type="create"))
    assert (other.max_timestamp, other.records()[0].timestamp) == (7, 7)


UNWRITABLE: list[tuple[list[Any], dict[str, Any]]] = [  # fields of records, and settings of their batch
    *(([{}, {"key": value}], {}) for value in ("text", 5)),
    ([{"value": 5}], {}),
    *(([{}, {"headers": (("k", b""), header)}], {}) for header in ((None, b""), ("k", 1), "key", ("\ud800", b""))),
    *(([{}, {"timestamp": time}], {}) for time in (2**63, -(2**63) - 1, None)),
    ([{"offset": 0}, {"offset": 2**31}], {}),
    ([{"offset": 5}, {"offset": 5}], {}),
    ([{"offset": 5}, {"offset": -2}], {}),
    *(([{"offset": offset}], {"base_offset": 0}) for offset in (2**31, 2**63)),
    ([5], {}),
    ([{}, None], {}),
    *(([{}], {"producer_epoch": epoch}) for epoch in (2**15, -(2**15) - 1, None)),
    *(([{}], {"base_sequence": number}) for number in (2**31, -(2**31) - 1)),
    *(([{}], {name: 2**63}) for name in ("producer_id", "max_timestamp", "base_timestamp", "last_offset")),
    ([{}], {"leader_epoch": 2**31}),
    *(([{}], {"codec": codec}) for codec in (-1, 5, 7, 8, "lz4")),
    ([{}], {"timestamp_type": "none"}),
]


@pytest.mark.skipif(is_native(), reason="natively, wrong types are TypeErrors of their own")
def test_what_cannot_be_written_is_told_with_its_place(snapshot: SnapshotAssertion) -> None:
    lines = []
    for rows, settings in UNWRITABLE:
        records = [Record(**row) if isinstance(row, dict) else row for row in rows]
        with pytest.raises(EncodeError) as caught:
            encode_batch(records, **settings)
        lines.append(f"{rows[-1]} {settings or ''}: {str(caught.value).partition(' range: ')[0]}")  # without Python's
    assert lines == snapshot


def test_records_are_compared_printed_and_pickled() -> None:
    record = Record(b"k", b"v", (("h", None),), 5, 7)
    assert record == Record(b"k", b"v", (("h", None),), timestamp=5, offset=7)
    assert record != Record(b"k", b"v", (), 5, 7)
    assert record != (b"k", b"v")
    assert repr(record) == "Record(key=b'k', value=b'v', headers=(('h', None),), timestamp=5, offset=7)"
    assert pickle.loads(pickle.dumps(record)) == record
    with pytest.raises(TypeError):
        hash(record)
    assert repr(only(encode_batch([record]))) == (
        "Batch(position=0, size=73, magic=2, last_offset=7, timestamp_type='create', "
        "transactional=False, control=False, codec='none')"
    )


def test_offsets_have_to_ascend_unless_they_are_what_was_read() -> None:
    def at(*offsets: int) -> list[Record]:
        return [Record(b"k", offset=offset) for offset in offsets]

    for rows, base, wrong in ((at(10, 5), None, 1), (at(3, 3), None, 1), (at(10), 100, 0), (at(-1, -1, 1), None, 2)):
        with pytest.raises(EncodeError, match=rf"field records\[{wrong}\].offset: offset .* or more"):
            encode_batch(rows, base_offset=base)
    with pytest.raises(EncodeError, match=r"records\[0\]: expected a Record, got tuple"):
        encode_batch([(b"k", b"v")])  # type: ignore[list-item]
    assert [record.offset for record in next(read_batches(encode_batch(at(-1, 7, -1, 20))))] == [0, 7, 8, 20]
    odd = encode_batch(at(-1, 5, 2), base_offset=0, exact_offsets=True)
    (batch,) = read_batches(odd)
    assert [record.offset for record in batch] == [-1, 5, 2]
    assert batch.encode() == odd


@pytest.mark.parametrize("buffer", [array("i", [1, 2, 3]), memoryview(array("i", [1, 2, 3])), memoryview(b"abc")])
@pytest.mark.parametrize("name", ["key", "value"])
def test_a_buffer_that_is_no_bytes_is_refused(buffer: Any, name: str) -> None:
    with pytest.raises(REFUSED):
        encode_batch([Record(**{name: buffer})])
    builder = BatchBuilder()
    with pytest.raises(REFUSED):
        builder.append(**{name: buffer})
    assert builder.build() == encode_batch([])


@pytest.mark.parametrize("wrong", [{"timestamp": None}, {"timestamp": "x"}, {"offset": "x"}])
def test_a_first_record_with_a_wrong_number_is_refused(wrong: dict[str, Any]) -> None:
    builder = BatchBuilder()
    with pytest.raises(REFUSED):
        builder.append(b"k", **wrong)
    builder.append(b"k", b"v", timestamp=5)
    assert builder.build() == encode_batch([Record(b"k", b"v", timestamp=5)])
