"""Errors of record batches. Compression errors are in ``kwire.compression``."""

from __future__ import annotations

from kwire.errors import DecodeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kwire.records.batch import Batch

NAMES = ("MessageSet", "MessageSet", "RecordBatch")
"""The name of a batch in error messages, by magic."""


class RecordsError(DecodeError):
    """A batch that cannot be decoded.

    ``data`` holds the bytes of the batch, or the first ``MAX_KEPT`` bytes if its size is invalid. ``position`` is the
    start of the batch in the input, and ``offset`` is the position of the problem in the input. In a compressed
    batch, ``offset`` is the start of the compressed records, and the reason gives the byte within the decompressed
    records. ``version`` is the magic.
    """


class ChecksumError(RecordsError):
    """The stored checksum of a batch is wrong."""


class UnknownMagicError(RecordsError):
    """The magic of a batch is not 0, 1 or 2."""


class CorruptRecordError(RecordsError):
    """A size, count or length does not match the bytes in the batch."""


class RecordsLimitError(RecordsError):
    """A batch contains more than ``kwire.records.loops.MAX_OBJECTS`` records and headers, which are too many to read
    at once. Iterate over the batch to read it in parts."""


MAX_KEPT = 1024
"""Maximum number of bytes kept in an error about a batch with an invalid size."""


def error_in(
    batch: Batch, at: int, path: str, reason: str, kind: type[RecordsError] = CorruptRecordError
) -> RecordsError:
    """Return an error about byte ``at`` of a batch."""
    return kind(
        reason,
        message_name=NAMES[batch.magic],
        version=batch.magic,
        path=path,
        offset=batch.position + at,
        data=batch.data,
        position=batch.position,
    )
