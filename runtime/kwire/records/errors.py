"""Errors of record batches. Those of compression are in ``kwire.compression``."""

from __future__ import annotations

from kwire.errors import DecodeError

NAMES = ("MessageSet", "MessageSet", "RecordBatch")
"""The name of a batch in errors, by magic."""


class RecordsError(DecodeError):
    """A batch that cannot be decoded.

    ``data`` holds the bytes of the batch (the first :data:`MAX_KEPT` of them if its size is invalid), ``position`` is
    where it starts in the input, and ``offset`` where in the input the problem is. In a compressed batch ``offset``
    is where the compressed records start, and the reason gives the byte within the decompressed ones. ``version`` is
    the magic.
    """

    def __init__(
        self, reason: str, *, position: int, offset: int, data: bytes, magic: int | None = None, path: str = ""
    ) -> None:
        name = NAMES[magic] if magic is not None and 0 <= magic < len(NAMES) else "RecordBatch"
        super().__init__(
            reason, message_name=name, version=magic, path=path, offset=offset, data=data, position=position
        )


class ChecksumError(RecordsError):
    """The stored checksum of a batch is wrong."""


class UnknownMagicError(RecordsError):
    """A batch in a format other than 0, 1 or 2."""


class CorruptRecordError(RecordsError):
    """A size, count or length that disagrees with the bytes."""


MAX_KEPT = 1024
"""How many bytes an error keeps of a batch with an invalid size."""
