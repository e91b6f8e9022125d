"""Adding the header to the records of a batch of magic 2. This module runs interpreted or compiled by mypyc."""

from __future__ import annotations

from librt.strings import BytesWriter, write_i16_be, write_i32_be, write_i64_be

from kwire.errors import EncodeError
from kwire.records.checksums import crc32c
from kwire.records.layout import APPEND_TIME, CODEC_MASK, CONTROL, HEADER_SIZE, OVERHEAD, TRANSACTIONAL
from kwire.records.writing import new_buffer, view

if __file__.endswith(".py"):
    from kwire.records.interpreted import new_buffer, view

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from kwire.records.batch import TimestampType

KNOWN_ATTRIBUTES: Final = 0x3F
"""Mask of the attribute bits that are set from arguments. The delete horizon bit is copied from ``attributes``."""


def seal(
    out: BytesWriter,
    count: int,
    *,
    base_offset: int,
    last_offset: int,
    base_timestamp: int,
    max_timestamp: int,
    codec: int = 0,
    level: int | None = None,
    timestamp_type: TimestampType = "create",
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
    control: bool = False,
    leader_epoch: int = -1,
    attributes: int = 0,
) -> bytes:
    """Return the bytes of a batch with the ``count`` encoded records in ``out``.

    The records are compressed with ``codec``. Only unassigned bits and the delete horizon bit of ``attributes`` are
    used.
    """
    bits = (attributes & ~KNOWN_ATTRIBUTES) | codec_bits(codec) | append_bit(timestamp_type, 2)
    if transactional:
        bits |= TRANSACTIONAL
    if control:
        bits |= CONTROL
    if codec and count > 0:
        records, out = out.getvalue(), new_buffer()
        out.write(compressed(codec, records, 2, level))
    head = BytesWriter()
    rest = BytesWriter()
    try:
        write_i64_be(head, base_offset)
        write_i32_be(head, HEADER_SIZE - OVERHEAD + len(out))
        write_i32_be(head, leader_epoch)
        head.append(2)
        write_i16_be(rest, bits)
        write_i32_be(rest, last_offset - base_offset)
        write_i64_be(rest, base_timestamp)
        write_i64_be(rest, max_timestamp)
        write_i64_be(rest, producer_id)
        write_i16_be(rest, producer_epoch)
        write_i32_be(rest, base_sequence)
        write_i32_be(rest, count)
    except (OverflowError, TypeError, ValueError) as problem:
        raise invalid(out_of_range(problem)) from problem
    return joined(head.getvalue(), rest.getvalue(), out)


def joined(start: bytes, covered: bytes, out: BytesWriter) -> bytes:
    """Return the bytes of a batch: ``start``, the checksum, ``covered`` (the rest of the header) and the records.

    ``out`` has to outlive its view. Compiled functions free local variables after their last use, but not arguments.
    """
    records = view(out)
    checksum = crc32c(records, crc32c(covered))
    return b"".join((start, checksum.to_bytes(4, "big"), covered, records))


def compressed(codec: int, data: bytes, magic: int, level: int | None) -> bytes:
    """Return the compressed records."""
    from kwire.compression import compress

    return compress(codec, data, magic=magic, level=level)


def codec_bits(codec: int) -> int:
    """Return the attribute bits of a compression codec."""
    if not isinstance(codec, int) or not 0 <= codec <= CODEC_MASK:
        raise EncodeError(f"unknown codec {codec!r}")
    return codec


def append_bit(timestamp_type: TimestampType, magic: int) -> int:
    """Return the attribute bit of a timestamp type."""
    if timestamp_type not in ("create", "append"):
        raise EncodeError(f"the timestamp type must be 'create' or 'append', not {timestamp_type!r}", version=magic)
    return APPEND_TIME if timestamp_type == "append" else 0


def out_of_range(problem: Exception) -> str:
    return f"not a number, or out of range: {problem}"


def invalid(reason: str, magic: int = 2, path: str = "") -> EncodeError:
    name = "RecordBatch" if magic == 2 else "MessageSet"
    return EncodeError(reason, message_name=name, version=magic, path=path)
