"""Reading what is incomplete, damaged or hostile."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Callable
from struct import pack
from typing import Any
from zlib import crc32

import pytest
from crc32c import crc32c

from kwire import LIKE_KAFKA, STRICT, DecodeError, Policy, is_native
from kwire.compression import Codec, CompressionError, DecompressionLimitError, compress
from kwire.records import (
    Batch,
    ChecksumError,
    CorruptRecordError,
    Record,
    RecordsError,
    RecordsLimitError,
    UnknownMagicError,
    encode_batch,
    encode_message_set,
    interpreted,
    interpreter,
    message_sets,
    read_batches,
)
from kwire.records.loops import MAX_OBJECTS
from kwire.records.writing import varint
from kwire.trace import annotate
from tests.support.effort import peak

HEADERS = (("h", b"1"), ("g", None))
RECORDS = [
    Record(b"key", b"value", HEADERS, 1000, 5),
    Record(None, b"x" * 200, (), 1007, 6),
    Record(b"", None, (), 3, 9),
]
PLAIN = [Record(record.key, record.value, (), record.timestamp, record.offset) for record in RECORDS]
OLD = [Record(record.key, record.value, (), -1, record.offset) for record in RECORDS]
SETS = {
    f"magic {magic}, {Codec(codec).label}": data
    for codec in range(5)
    for magic, data in (
        (0, encode_message_set(OLD, magic=0, codec=codec) if codec < 4 else b""),
        (1, encode_message_set(PLAIN, magic=1, codec=codec) if codec < 4 else b""),
        (2, encode_batch(RECORDS, codec=codec)),
    )
    if data
}
each_format = pytest.mark.parametrize("data", SETS.values(), ids=SETS.keys())


def patched(data: bytes, at: int, text: bytes) -> bytes:
    """A batch of magic 2 with other bytes at ``at`` and the checksum that belongs to them."""
    changed = bytearray(data)
    changed[at : at + len(text)] = text
    changed[17:21] = pack(">I", crc32c(changed[21:]))
    return bytes(changed)


def around(payload: bytes, count: int = 1, codec: int = 0) -> bytes:
    """A batch around a payload that need not be records."""
    frame = encode_batch([], base_offset=0)
    return patched(
        frame[:8] + pack(">i", 49 + len(payload)) + frame[12:] + payload,
        21,
        pack(">h", codec) + frame[23:57] + pack(">i", count),
    )


def refused(data: bytes, kind: type[DecodeError] = CorruptRecordError) -> Any:
    (batch,) = read_batches(data)
    for read in (batch.records, lambda: list(batch)):
        with pytest.raises(kind) as caught:
            read()
    return caught.value


@each_format
def test_trap_44_an_incomplete_batch_at_the_end_stops_the_iteration_quietly(data: bytes) -> None:
    ends = [0]
    for batch in read_batches(data):
        ends.append(ends[-1] + batch.size)
    for cut in range(len(data) + 1):
        reader = read_batches(data[:cut])
        complete = [batch.size for batch in reader]
        whole = max(end for end in ends if end <= cut)
        assert (sum(complete), reader.truncated, reader.position) == (whole, cut - whole, whole)
        assert reader.errors == []
        assert list(reader) == []


@each_format
def test_trap_44_the_magic_is_0_1_or_2(data: bytes) -> None:
    for magic in (3, 127, 128, 255):
        bad = data[:16] + bytes([magic]) + data[17:]
        with pytest.raises(UnknownMagicError) as caught:
            list(read_batches(bad, verify=False, position=500))
        assert (caught.value.position, caught.value.offset, caught.value.path) == (500, 516, "magic")
        assert caught.value.data == bad[: next(read_batches(data)).size]


@each_format
def test_every_changed_byte_is_noticed(data: bytes) -> None:
    """A checksum, a size or a magic: only offset and leader epoch are not covered by any of them."""
    for at in range(len(data)):
        bad = data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :]
        reader = read_batches(bad)
        try:
            for batch in reader:
                batch.records()
        except (RecordsError, DecodeError):
            continue
        uncovered = _position_in_batch(data, at)
        assert reader.truncated or uncovered < 8 or (12 <= uncovered < 16 and bad[16] == 2)


def _position_in_batch(data: bytes, at: int) -> int:
    batch = next(batch for batch in read_batches(data) if at < batch.position + batch.size)
    return at - batch.position


@each_format
def test_a_wrong_checksum(data: bytes) -> None:
    bad = data[:-1] + bytes([data[-1] ^ 1])
    with pytest.raises(ChecksumError) as caught:
        list(read_batches(bad, position=100))
    error = caught.value
    assert error.position is not None
    assert error.data == bad[error.position - 100 :]
    assert error.offset == error.position + (17 if data[16] == 2 else 12)
    place, covered = (17, crc32c(error.data[21:])) if data[16] == 2 else (12, crc32(error.data[16:]))
    stored = error.data[place : place + 4].hex()
    assert error.reason == f"the stored checksum is {stored}, but the computed checksum is {covered:08x}"
    assert (error.path, error.version) == ("crc", data[16])
    assert error.message_name == ("RecordBatch" if data[16] == 2 else "MessageSet")
    assert len(list(read_batches(bad, verify=False))) == len(list(read_batches(data)))


def test_checking_later() -> None:
    data = encode_batch(RECORDS)
    (good,) = read_batches(data, verify=False)
    good.verify()
    (bad,) = read_batches(data[:-1] + b"?", verify=False)
    with pytest.raises(ChecksumError):
        bad.verify()


@pytest.mark.parametrize("size", [-(2**31), -1, 0, 13])
def test_a_size_that_makes_no_sense_ends_it_all(size: int) -> None:
    good = encode_batch(RECORDS)
    bad = good[:8] + pack(">i", size) + good[12:] + bytes(5000)
    with pytest.raises(CorruptRecordError) as caught:
        list(read_batches(good + bad))
    assert (caught.value.position, caught.value.offset) == (len(good), len(good) + 8)
    assert len(caught.value.data) == 1024
    reader = read_batches(good + bad + good, skip=True)
    assert len(list(reader)) == len(reader.errors) == 1
    assert (reader.position, reader.truncated) == (len(good), 0)


@pytest.mark.parametrize(("magic", "least"), [(0, 14), (1, 22), (2, 49)])
def test_a_size_that_is_less_than_the_header(magic: int, least: int) -> None:
    good = encode_batch(RECORDS)
    for size in range(14, least):
        bad = pack(">qiIB", 0, size, 0, magic) + bytes(size - 5)
        reader = read_batches(good + bad + good, position=50, skip=True)
        place = 50 + len(good)
        assert [batch.position for batch in reader] == [50, place + 12 + size]
        (error,) = reader.errors
        assert isinstance(error, CorruptRecordError)
        assert (error.reason, error.data) == (f"the batch size is {size}: expected at least {least}", bad)
        assert (error.position, error.offset, error.path, error.version) == (place, place + 8, "size", magic)
        assert error.message_name == ("RecordBatch" if magic == 2 else "MessageSet")


def test_a_bad_batch_can_be_skipped() -> None:
    good = encode_batch(RECORDS)
    bad = [good[:-1] + b"?", good[:16] + b"\x09" + good[17:], around(b"\x02", 1), around(b"\x00\x00", 1, codec=1)]
    data = good + good.join(bad) + good + good[:50]
    reader = read_batches(data, skip=True)
    found = list(reader.with_records())
    assert [(batch.data, records) for batch, records in found] == [(good, RECORDS)] * 5
    assert [type(error).__name__ for error in reader.errors] == [
        "ChecksumError",
        "UnknownMagicError",
        "CorruptRecordError",
        "CompressionError",
    ]
    assert [error.data for error in reader.errors] == bad
    assert (reader.position, reader.truncated) == (len(data) - 50, 50)


def test_without_skipping_the_next_call_goes_on_behind_the_bad_batch() -> None:
    good = encode_batch(RECORDS)
    reader = read_batches(good[:-1] + b"?" + good)
    with pytest.raises(ChecksumError):
        next(reader)
    assert next(reader).data == good
    with pytest.raises(StopIteration):
        next(reader)
    with pytest.raises(CorruptRecordError):
        list(read_batches(around(b"\x02") + good).with_records())


def test_an_unknown_magic_whose_size_reaches_beyond_the_end_stops() -> None:
    reader = read_batches(encode_batch(RECORDS)[:16] + b"\x05" + bytes(30), skip=True)
    assert list(reader) == []
    assert (type(reader.errors[0]), reader.position) == (UnknownMagicError, 0)
    reader = read_batches((1 << 20).to_bytes(12, "big") + bytes(4) + b"\x05" + bytes(5000), skip=True)
    assert list(reader) == []
    assert len(reader.errors[0].data) == 1024


def record(body: bytes, size: int | None = None) -> bytes:
    length = len(body) if size is None else size
    return bytes([2 * length]) + body


@pytest.mark.parametrize(
    ("payload", "count", "path", "at", "reason"),
    [
        (b"", 1, "records[0]", 0, "the header declares 1 records, but there are only 0"),
        (record(b"\0\0\0\1\1\0"), 2, "records[1]", 7, "the header declares 2 records, but there are only 1"),
        (record(b"\0\0\0\1\1\0"), 0, "records", 0, "7 trailing bytes after the 0 records that the header declares"),
        (record(b"\0\0\0\1\1\0") + b"\0\0", 1, "records", 7, "2 trailing bytes after the 1 records"),
        (record(b"\0\0\0\1\1\0"), -1, "records", 0, "the header declares -1 records"),
        (b"", -1, "records", 0, "the header declares -1 records"),
        (
            record(b"\0\0\0\1\1\0", 5),
            1,
            "records[0]",
            7,
            "the record has length 5, but its fields have 6 bytes",
        ),
        (
            record(b"\0\0\0\1\1\0\0", 7),
            1,
            "records[0]",
            7,
            "the record has length 7, but its fields have 6 bytes",
        ),
        (record(b"\0\0\0\1\1\0", 9), 1, "records[0].length", 0, "length 9, but 6 bytes are left"),
        (b"\x0b\0\0\0\1\1\0", 1, "records[0].length", 0, "invalid length -6"),
        (b"\x0d\0\0\0\1\1\0", 1, "records[0].length", 0, "invalid length -7"),
        (record(b"\0\0\0\x06\1\0"), 1, "records[0].key", 4, "length 3, but 2 bytes are left"),
        (record(b"\0\0\0\1\x04\0"), 1, "records[0].value", 5, "length 2, but 1 bytes are left"),
        (record(b"\0\0\0\1\1\1"), 1, "records[0].headers", 6, "-1 headers, but 0 bytes are left"),
        (record(b"\0\0\0\1\1\2"), 1, "records[0].headers", 6, "1 headers, but 0 bytes are left"),
        (record(b"\0\0\0\1\1\2\1\0"), 1, "records[0].headers[0].key", 7, "invalid length -1"),
        (record(b"\0\0\0\1\1\2\0\x06a", 11), 1, "records[0].length", 0, "length 11, but 9 bytes are left"),
        (record(b"\0\0\0\1\1\2\4a"), 1, "records[0].headers[0].key", 7, "length 2, but 1 bytes are left"),
        (
            record(b"\0\0\0\1\1\x04\0\0"),
            1,
            "records[0].headers[1].key",
            9,
            "expected 1 more bytes, but only 0 are left",
        ),
        (record(b"\0\0\0\1\1\4\0\0\0\4"), 1, "records[0].headers[1].value", 10, "length 2, but 0 bytes are left"),
        (record(b"\0\x80"), 1, "records[0].timestamp", 3, "expected 1 more bytes, but only 0 are left"),
        (b"\xfe\xff\xff\xff\x0f\0", 1, "records[0].length", 0, "length 2147483647, but 1 bytes are left"),
        (b"\x80\x80\x80\x80\x80\0", 1, "records[0].length", 0, "this varint has more than 5 bytes"),
    ],
)
def test_records_that_lie(payload: bytes, count: int, path: str, at: int, reason: str) -> None:
    error = refused(around(payload, count))
    assert error.reason.startswith(reason)
    assert (error.path, error.offset) == (path, 61 + at)
    assert error.data == around(payload, count)
    assert str(error) == f"RecordBatch v2 at byte 0, field {path}, byte {61 + at}: {error.reason}"
    again = pickle.loads(pickle.dumps(error))
    assert again.data in (error.data, bytes(len(error.data)))  # zeros if it looks like cluster metadata
    assert again.__dict__ == error.__dict__ | {"data": again.data}
    if payload:
        inner = refused(around(compress(1, payload), count, codec=1))
        assert inner.reason == f"{error.reason} (byte {at} of {len(payload)} decompressed bytes)"
        assert (inner.path, inner.offset) == (path, 61)


@pytest.mark.parametrize("field", ["key", "value", "header"])
def test_any_negative_length_is_null_as_in_kafka(field: str) -> None:
    lengths = {"key": b"\1", "value": b"\1", "header": b"\1"} | {field: b"\3"}
    payload = record(b"\0\0\0" + lengths["key"] + lengths["value"] + b"\2\2h" + lengths["header"])
    (batch,) = read_batches(around(payload))
    assert batch.records() == list(batch) == [Record(None, None, (("h", None),), -1, 0)]


@pytest.mark.parametrize("codec", range(5))
def test_uncounted_bytes_are_passed_over_if_the_policy_says_so(codec: int) -> None:
    uncounted = around(b"\1\2\3", count=0, codec=codec)
    for policy, ignores in (
        (STRICT, False),
        (Policy(tags="kafka", utf8="replace"), False),
        (Policy(trailing="ignore"), True),
        (LIKE_KAFKA, True),
    ):
        (batch,) = read_batches(uncounted, policy=policy)
        assert batch.lenient is ignores
        if ignores:
            assert batch.records() == list(batch) == []
        else:
            with pytest.raises(DecodeError):
                batch.records()


def test_offsets_of_errors_count_from_the_start_of_the_input() -> None:
    reader = read_batches(encode_batch(RECORDS) + around(b"\x04\0"), position=10_000)
    first, second = reader
    with pytest.raises(CorruptRecordError) as caught:
        second.records()
    assert caught.value.position == second.position == 10_000 + first.size
    assert caught.value.offset == second.position + 61


@pytest.mark.parametrize("magic", [1, 2])
def test_the_error_of_a_decompression_is_that_of_its_batch(magic: int) -> None:
    """The byte is that within the stream, which begins after the header."""
    first = encode_batch(RECORDS)
    if magic == 2:
        data = around(compress(1, SMALLEST)[:-3], codec=1)
    else:
        good = encode_message_set([Record(b"k", timestamp=5)], codec=1)[:-3]
        data = good[:8] + pack(">i", len(good) - 12) + good[12:30] + pack(">i", len(good) - 34) + good[34:]
    *_, batch = read_batches(first + data, position=100, verify=False)
    for read in (batch.records, lambda: list(batch), batch.payload):
        with pytest.raises(CompressionError) as caught:
            read()
        error = caught.value
        assert (error.reason, error.path, error.version) == ("the stream is truncated", "records", magic)
        assert error.message_name == ("RecordBatch" if magic == 2 else "MessageSet")
        place = 100 + len(first)
        assert (error.position, error.offset, error.data) == (place, place + len(data), data)


def test_iterating_gives_the_records_that_precede_a_bad_one() -> None:
    good = record(b"\0\0\0\1\1\0") * 1500
    (batch,) = read_batches(around(good + b"\x02", 1501))
    found: list[Record] = []
    with pytest.raises(CorruptRecordError) as caught:
        found.extend(batch)
    assert len(found) >= 1024
    assert caught.value.path == "records[1500].length"
    with pytest.raises(CorruptRecordError):
        batch.records()
    (batch,) = read_batches(around(good, 1500))
    assert list(batch) == batch.records()


def test_a_count_allocates_nothing() -> None:
    error = refused(around(record(b"\0\0\0\1\1\0"), 2**31 - 1))
    assert error.path == "records[1]"
    assert refused(around(b"\x0c\0\0\0\1\1\xfe\xff\xff\xff\x0f", 1)).path == "records[0].headers"


SMALLEST = record(b"\0\0\0\1\1\0")


def headers(count: int) -> bytes:
    """A record with headers that have no key and no value, two bytes each."""
    body = b"\0\0\0\1\1" + varint(count) + b"\0\1" * count
    return varint(len(body)) + body


@pytest.mark.long
def test_a_small_batch_cannot_make_millions_of_headers() -> None:
    """The first record has one too many, or the records have together."""
    half = MAX_OBJECTS // 2
    assert len(around(compress(4, headers(MAX_OBJECTS)), codec=4)) < 1000
    error = refused(around(headers(MAX_OBJECTS)), RecordsLimitError)
    assert error.reason.endswith(f"headers, but the limit is {MAX_OBJECTS} records and headers")
    (batch,) = read_batches(around(headers(half) * 2, 2))
    with pytest.raises(RecordsLimitError, match=f"headers, but the limit is {MAX_OBJECTS} records and headers"):
        batch.records()
    assert sum(1 for _ in batch) == 2
    (batch,) = read_batches(around(headers(MAX_OBJECTS - 1)))
    assert len(batch.records()[0].headers) == MAX_OBJECTS - 1


def test_the_error_of_a_record_is_told_as_long_as_the_limit_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a record and four headers, of five that are allowed."""
    monkeypatch.setattr("kwire.records.interpreter.MAX_OBJECTS", 5)
    for count, kind in ((4, CorruptRecordError), (5, RecordsLimitError)):
        one = headers(count)
        error = refused(around(varint(len(one)) + one[1:] + b"?"), kind)
        assert ("but its fields have" in error.reason) is (kind is CorruptRecordError)


@pytest.mark.skipif(is_native(), reason="native code has its own limit")
def test_more_records_than_fit_are_refused_at_once_and_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (interpreted, interpreter):
        monkeypatch.setattr(module, "MAX_OBJECTS", 3)
    data = encode_batch([Record(b"k")] * 3) + encode_batch([Record(b"k", offset=number) for number in range(4)])
    reader = read_batches(data, skip=True)
    assert [len(records) for _, records in reader.with_records()] == [3]
    (error,) = reader.errors
    assert (type(error), error.reason) == (
        RecordsLimitError,
        "the header declares 4 records, but the limit is 3 records and headers",
    )
    assert [len(list(batch)) for batch in read_batches(data)] == [3, 4]


def test_refused_headers_take_no_memory() -> None:
    payload = headers(10_000_000)
    data = around(compress(4, payload), codec=4)
    (batch,) = read_batches(data)
    for read in (batch.records, lambda: list(batch)):

        def failed(read: Callable[[], object] = read) -> None:
            with pytest.raises(RecordsLimitError):
                read()

        assert peak(failed) < 4 * len(payload)


@pytest.mark.slow
@pytest.mark.long
def test_more_records_than_fit_are_read_in_parts() -> None:
    count = MAX_OBJECTS + 1
    reader = read_batches(around(compress(4, SMALLEST * count), count, codec=4), skip=True)
    assert list(reader.with_records()) == []
    assert [type(error) for error in reader.errors] == [RecordsLimitError]
    (batch,) = read_batches(around(compress(4, SMALLEST * count), count, codec=4))
    read = 0

    def all_of_them() -> None:
        nonlocal read
        read = sum(1 for _ in batch)

    assert peak(all_of_them) < 10 * len(SMALLEST) * count
    assert read == count


def test_a_compressed_message_holds_a_bounded_number_of_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_sets, "MAX_OBJECTS", len(OLD))
    for more in (0, 1):
        (batch,) = read_batches(encode_message_set([Record(b"k", b"v")] * (3 + more), magic=0, codec=1))
        if more:
            with pytest.raises(RecordsLimitError, match="more than 3 messages"):
                batch.records()
        else:
            assert len(batch.records()) == len(OLD)


@pytest.mark.long
def test_the_second_reading_of_bad_records_begins_with_the_memory_of_the_first_released() -> None:
    """Otherwise a batch with one wrong byte would take twice the memory of a good one."""
    count = 20_000
    payload = record(b"\0\0\0\1\4kk\0") * count
    good, bad = around(payload, count), around(payload[:-1] + b"\1", count)
    (whole,), (broken,) = read_batches(good), read_batches(bad)

    def failed() -> None:
        with pytest.raises(CorruptRecordError):
            broken.records()

    def good_and_careful() -> None:
        interpreter.read_records(whole, payload, 0, 0, count)

    assert peak(failed) < 1.5 * peak(good_and_careful)


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_a_bomb_is_refused(codec: int) -> None:
    """What comes out is bounded by the limit that the reader was given."""
    data = around(compress(codec, bytes(1 << 20)), 1, codec=codec)
    (batch,) = read_batches(data, limit=1 << 16, position=3)
    with pytest.raises(DecompressionLimitError) as caught:
        batch.records()
    assert (caught.value.message_name, caught.value.version, caught.value.path) == ("RecordBatch", 2, "records")
    assert caught.value.offset >= 3 + 61
    assert caught.value.data == data
    reader = read_batches(data, limit=1 << 16, skip=True)
    assert list(reader.with_records()) == []
    assert isinstance(reader.errors[0], DecompressionLimitError)


def test_an_error_of_compression_says_which_batch_it_is() -> None:
    data = around(b"no zstd stream", 1, codec=4)
    (batch,) = read_batches(data, position=5000)
    with pytest.raises(CompressionError) as caught:
        batch.records()
    error = caught.value
    assert (error.position, error.offset, error.data) == (5000, 5061, data)
    assert str(error) == f"RecordBatch v2 at byte 5000, field records, byte 5061: {error.reason}"
    assert "base_offset" in annotate(error)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.__dict__) == (str(error), error.__dict__)


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_trap_45_an_unknown_codec_is_an_error_when_records_are_read(codec: int) -> None:
    data = around(b"??", 1, codec=codec)
    (batch,) = read_batches(data)
    assert batch.codec == codec
    assert f"codec {codec}" in refused(data, DecodeError).reason


def test_an_empty_compressed_batch_may_have_no_stream() -> None:
    (batch,) = read_batches(around(b"", 0, codec=4))
    assert batch.records() == []


@pytest.mark.slow
def test_the_reader_keeps_no_batch_alive() -> None:
    def alive() -> int:
        gc.collect()
        return sum(isinstance(one, Batch) for one in gc.get_objects())

    before = alive()
    reader = read_batches(encode_batch(RECORDS) * 10)
    for _ in range(9):
        next(reader)
    assert alive() == before
    assert len(list(reader)) == 1


def test_only_headers_are_read_until_records_are_wanted() -> None:
    """Not even the codec matters."""
    data = around(b"not a zstd stream", 12, codec=4)
    (batch,) = read_batches(data)
    assert (batch.count, batch.codec, batch.size) == (12, 4, len(data))
