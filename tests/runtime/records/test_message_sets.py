"""Message sets of magic 0 and 1, held against bytes written by hand."""

from __future__ import annotations

import zlib
from struct import pack
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from kwire import LIKE_KAFKA, EncodeError, is_native
from kwire.compression import Codec, compress
from kwire.records import (
    Batch,
    ChecksumError,
    CorruptRecordError,
    Record,
    RecordsError,
    UnknownMagicError,
    encode_message_set,
    message_sets,
    read_batches,
)


def by_hand(
    offset: int, value: bytes | None, *, key: bytes | None = None, magic: int = 1, attributes: int = 0, time: int = 0
) -> bytes:
    """One message."""
    body = pack(">BB", magic, attributes) + (pack(">q", time) if magic else b"")
    for part in (key, value):
        body += pack(">i", -1) if part is None else pack(">i", len(part)) + part
    return pack(">qiI", offset, 4 + len(body), zlib.crc32(body)) + body


def wrapped(
    offset: int, inner: bytes, *, magic: int = 1, codec: int = Codec.GZIP, bits: int = 0, time: int = 0
) -> bytes:
    """A message that holds a compressed message set."""
    return by_hand(
        offset, compress(codec, inner, magic=magic), magic=magic, attributes=codec | bits, time=time if magic else 0
    )


def only(data: bytes, **options: Any) -> Batch:
    (batch,) = read_batches(data, **options)
    return batch


@pytest.mark.parametrize("magic", [0, 1])
def test_attributes_are_a_signed_byte(magic: int) -> None:
    assert [only(by_hand(0, b"v", magic=magic, attributes=bits)).attributes for bits in (0x80, 0xF8, 0x78)] == [
        -0x80,
        -0x08,
        0x78,
    ]


@pytest.mark.parametrize("magic", [0, 1])
def test_every_message_is_a_batch_of_one_record(magic: int) -> None:
    data = by_hand(10, b"v", key=b"k", magic=magic, time=55) + by_hand(13, None, magic=magic, attributes=0)
    first, second = read_batches(data)
    assert (first.magic, first.position, first.count, first.size) == (magic, 0, 1, second.position)
    assert (first.base_offset, first.last_offset, second.base_offset) == (10, 10, 13)
    assert (first.producer_id, first.producer_epoch, first.base_sequence, first.leader_epoch) == (-1, -1, -1, -1)
    assert (first.transactional, first.control, first.delete_horizon) == (False, False, None)
    assert first.timestamp_type == ("create" if magic else "none")
    assert first.records() == list(first) == [Record(b"k", b"v", (), 55 if magic else -1, 10)]
    assert second.records() == [Record(None, None, (), 0 if magic else -1, 13)]
    assert b"".join(batch.encode() for batch in (first, second)) == data
    assert encode_message_set([*first, *second], magic=magic) == data
    assert (first.payload(), second.payload()) == (b"v", b"")


def test_append_time_of_a_plain_message() -> None:
    data = by_hand(3, b"v", attributes=0x08, time=99)
    batch = only(data)
    assert (batch.timestamp_type, batch.max_timestamp, batch.records()[0].timestamp) == ("append", 99, 99)
    assert batch.encode() == data
    assert encode_message_set([Record(None, b"v", (), 99, 3)], timestamp_type="append") == data


def test_flags_of_magic_2_mean_nothing_before_it() -> None:
    batch = only(by_hand(3, b"v", attributes=0x70, time=99))
    assert (batch.transactional, batch.control, batch.delete_horizon, batch.attributes) == (False, False, None, 0x70)
    assert batch.encode() == batch.data


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
def test_trap_44_wrappers_of_magic_1_have_relative_offsets_inside(codec: int) -> None:
    inner = by_hand(0, b"a", time=5) + by_hand(2, b"b", time=9)
    data = wrapped(107, inner, codec=codec, time=9)
    batch = only(data)
    assert (batch.codec, batch.last_offset, batch.base_offset, batch.count) == (codec, 107, 105, 2)
    assert batch.records() == [Record(None, b"a", (), 5, 105), Record(None, b"b", (), 9, 107)]
    assert batch.payload() == inner
    assert batch.encode() == data
    assert encode_message_set(batch, codec=codec) == data
    last = batch.records()[1:]
    assert batch.encode(last) == encode_message_set(last, codec=codec)


@pytest.mark.parametrize("magic", [0, 1])
def test_a_wrapper_has_the_offset_of_its_last_record(magic: int) -> None:
    batch = only(encode_message_set([Record(offset=7), Record(offset=-5)], magic=magic, codec=Codec.GZIP))
    assert batch.last_offset == -5
    if magic:
        times = [Record(timestamp=time) for time in (7, 9, 8)]
        assert only(encode_message_set(times, codec=Codec.GZIP)).max_timestamp == 9
    if magic == 0:
        assert [record.offset for record in batch] == [7, -5]


def test_trap_44_inner_offsets_may_start_above_zero_after_compaction() -> None:
    data = wrapped(107, by_hand(4, b"a") + by_hand(7, b"b"), codec=Codec.SNAPPY)
    batch = only(data)
    assert [record.offset for record in batch] == [104, 107]
    assert batch.encode() == data


def test_trap_44_a_wrapper_at_offset_0_leaves_inner_offsets_as_they_are() -> None:
    """As some versions of librdkafka produced."""
    data = wrapped(0, by_hand(0, b"a") + by_hand(1, b"b"), codec=Codec.SNAPPY)
    batch = only(data)
    assert [record.offset for record in batch] == [0, 1]
    assert batch.encode() == data


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
def test_trap_44_wrappers_of_magic_0_have_absolute_offsets_inside(codec: int) -> None:
    inner = by_hand(105, b"a", magic=0) + by_hand(107, b"b", magic=0)
    data = wrapped(107, inner, magic=0, codec=codec)
    batch = only(data)
    assert batch.records() == [Record(None, b"a", (), -1, 105), Record(None, b"b", (), -1, 107)]
    assert batch.encode() == data
    assert encode_message_set(batch, magic=0, codec=codec) == data


@pytest.mark.parametrize("inner_attributes", [0, 0x08])
def test_trap_44_append_time_of_the_wrapper_overrides_that_of_its_messages(inner_attributes: int) -> None:
    inner = by_hand(0, b"a", time=5, attributes=inner_attributes) + by_hand(
        1, b"b", time=9, attributes=inner_attributes
    )
    data = wrapped(1, inner, bits=0x08, time=42)
    batch = only(data)
    assert batch.timestamp_type == "append"
    assert [record.timestamp for record in batch] == [42, 42]
    assert [record.timestamp for record in batch.stored_records()] == [5, 9]
    assert batch.encode() == data
    assert only(batch.encode(batch.stored_records())).max_timestamp == 42
    assert only(batch.encode(timestamp_type="create")).max_timestamp == 9


def test_trap_44_old_messages_inside_a_newer_wrapper_have_no_timestamp() -> None:
    batch = only(wrapped(1, by_hand(0, b"a", magic=0) + by_hand(1, b"b", time=3), bits=0x08, time=42))
    assert [(record.offset, record.timestamp) for record in batch] == [(0, -1), (1, 42)]
    assert message_sets.read(only(wrapped(1, by_hand(0, b"a", attributes=8) + by_hand(1, b"b"))), True)[1:] == (0, 8)


def refused(data: bytes, kind: type[RecordsError] = CorruptRecordError) -> Any:
    batch = only(data)
    for read in (batch.records, lambda: list(batch)):
        with pytest.raises(kind) as caught:
            read()
    assert caught.value.data == data
    assert caught.value.message_name == "MessageSet"
    return caught.value


def test_trap_45_zstd_cannot_be_written_before_magic_2() -> None:
    for magic in (0, 1):
        with pytest.raises(EncodeError):
            encode_message_set([Record()], magic=magic, codec=Codec.ZSTD)


def test_any_negative_length_is_null_as_in_kafka() -> None:
    body = by_hand(0, None)[16:].replace(pack(">i", -1), pack(">i", -7))
    (record,) = only(by_hand(0, None)[:12] + pack(">I", zlib.crc32(body)) + body).records()
    assert (record.key, record.value) == (None, None)


def test_what_kafka_does_not_look_at_is_passed_over_if_the_policy_says_so() -> None:
    body = by_hand(0, b"abc")[16:] + b"more"
    behind = pack(">qiI", 0, len(body) + 4, zlib.crc32(body)) + body
    assert refused(behind).reason == "4 trailing bytes after the value"
    assert only(behind, policy=LIKE_KAFKA).records()[0].value == b"abc"
    message = by_hand(0, b"abc")
    for left in range(1, len(message)):
        cut = wrapped(0, message + message[:left])
        assert refused(cut).path.startswith("records[1]")
        assert [record.value for record in only(cut, policy=LIKE_KAFKA)] == [b"abc"]
    for wrong in (message[:-1], message + sized(2)[:13]):
        with pytest.raises(CorruptRecordError):
            only(wrapped(0, wrong), policy=LIKE_KAFKA).records()


def lying(at: int, number: int, magic: int) -> bytes:
    """A message of key "k" and value "abc" with another number of 32 bits, and the checksum that belongs to it."""
    good = by_hand(0, b"abc", key=b"k", magic=magic)
    body = (good[:at] + pack(">i", number) + good[at + 4 :])[16:]
    return good[:12] + pack(">I", zlib.crc32(body)) + body


def inner(second: bytes, magic: int = 1) -> bytes:
    """A compressed message in which this one follows another."""
    return wrapped(5, by_hand(0, b"a", magic=magic) + second, magic=magic)


def sized(size: int, magic: int = 1) -> bytes:
    """A message of one byte that says to have this size."""
    message = by_hand(1, b"a", magic=magic)
    return message[:8] + pack(">i", size) + message[12:]


DAMAGED = bytes([*by_hand(1, b"a")[:-1], 0x60])
BAD = CorruptRecordError
LIES = {
    **{
        f"magic {magic}, {what}": (data, BAD, path, at + shift, reason)
        for magic, shift in ((0, 0), (1, 8))
        for what, data, path, at, reason in (
            ("long key", lying(18 + shift, 9, magic), "key", 18, "length 9, but 8 bytes are left"),
            ("long value", lying(23 + shift, 4, magic), "value", 23, "length 4, but 3 bytes are left"),
            ("short value", lying(23 + shift, 1, magic), "", 28, "2 trailing bytes after the value"),
            ("no value", lying(18 + shift, 6, magic), "value", 28, "beyond the end of the message"),
            ("set in a set", inner(inner(b"", magic), magic), "records[1].attributes", 26, "a compressed message"),
            ("no messages", wrapped(0, b"", magic=magic), "records", 26, "the compressed message contains"),
            ("cut", inner(by_hand(1, b"a", magic=magic)[:-3], magic), "records[1]", 26, "a message of {size} bytes"),
            ("negative", inner(sized(-1, magic), magic), "records[1]", 26, "a message of 11 bytes, but {size}"),
            ("small", inner(sized(13, magic), magic), "records[1]", 26, "a message of 25 bytes, but {size}"),
            ("huge", inner(sized(1 << 30, magic), magic), "records[1]", 26, "a message of 1073741836 bytes"),
        )
    },
    **{
        f"magic {magic}, {what}": (by_hand(0, value, magic=magic, attributes=codec), BAD, path, at, reason)
        for magic in (0, 1)
        for what, value, codec, path, at, reason in (
            ("compressed null", None, 1, "value", 18, "a compressed message has no value"),
            ("zstd", b"", 4, "attributes", 17, f"codec 4 is not supported by magic {magic}"),
            ("codec 7", b"", 7, "attributes", 17, f"codec 7 is not supported by magic {magic}"),
        )
    },
    "an offset too small": (wrapped(3, by_hand(5, b"a")), BAD, "offset", 0, "the offset 3 is less than 5"),
    "short for magic 1": (inner(sized(21)), BAD, "records[1]", 34, "a message of 33 bytes is too short"),
    "inner magic": (inner(by_hand(1, b"", magic=2)), UnknownMagicError, "records[1]", 34, "magic 2 in a message set"),
    "inner checksum": (inner(DAMAGED), ChecksumError, "records[1]", 34, "wrong checksum"),
    "long inner key": (
        inner(lying(26, 9, 1)),
        *(BAD, "records[1].key", 34, "length 9, but 8 bytes are left (byte 61 of 73 decompressed bytes)"),
    ),
    "trailing inner bytes": (
        inner(lying(31, 2, 1)),
        *(BAD, "records[1]", 34, "1 trailing bytes after the value (byte 72 of 73 decompressed bytes)"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("data", "kind", "path", "at", "reason"), LIES.values(), ids=LIES)
def test_trap_44_what_is_wrong_in_a_message_is_told_with_its_place(
    data: bytes, kind: type[RecordsError], path: str, at: int, reason: str
) -> None:
    """Also where another message precedes it, within a larger file."""
    before = by_hand(4, b"good")
    good, bad = read_batches(before + data, position=100)
    assert [record.value for record in good] == [b"good"]
    with pytest.raises(kind) as caught:
        bad.records()
    error = caught.value
    size = len(by_hand(1, b"a", magic=data[16]))
    assert error.reason.startswith(reason.format(size=size))
    assert (type(error), error.message_name, error.version, error.path) == (kind, "MessageSet", data[16], path)
    assert (error.position, error.offset, error.data) == (100 + len(before), 100 + len(before) + at, data)


def test_a_checksum_within_a_compressed_message_need_not_be_checked() -> None:
    batch = only(inner(DAMAGED), verify=False)
    for read in (batch, batch.records(), batch.stored_records(), only(batch.encode())):
        assert [record.value for record in read] == [b"a", b"`"]


UNWRITABLE: list[tuple[list[Any], dict[str, Any]]] = [  # fields of records, and settings of their messages
    *(([{}], {"magic": magic}) for magic in (-1, 2)),
    ([{}, {"timestamp": 5}], {"magic": 0}),
    *(([{}, {"headers": (("k", b""),)}], {"magic": magic}) for magic in (0, 1)),
    *(([], {"codec": 1, "magic": magic}) for magic in (0, 1)),
    *(([{}], {"codec": codec}) for codec in (4, 8, "lz4")),
    *(([{}, {"key": "text"}], {"codec": codec}) for codec in (0, 1)),
    *(([{}, {name: 2**63}], {}) for name in ("timestamp", "offset")),
    ([{}, {"timestamp": None}], {}),
    *(([{}], {"codec": 1, name: 2**63}) for name in ("last_offset", "max_timestamp")),
    ([{}], {"timestamp_type": "none"}),
]


@pytest.mark.skipif(is_native(), reason="natively, wrong types are TypeErrors of their own")
def test_what_cannot_be_written_is_told_with_its_place(snapshot: SnapshotAssertion) -> None:
    lines = []
    for rows, settings in UNWRITABLE:
        with pytest.raises(EncodeError) as caught:
            encode_message_set([Record(**row) for row in rows], **settings)
        lines.append(
            f"{rows[-1:]} {settings or ''}: {str(caught.value).partition(' range: ')[0]}"
        )  # without Python's
    assert lines == snapshot
