"""The slow path, which reads and writes the ``FIELDS`` of a class one by one and tracks the current path and offset.

Emitted codecs do not track their position. If one of them fails, or if a policy is tolerant, the message is decoded
or encoded again by this independent implementation of the same rules. The second attempt either succeeds under the
policy or raises an error with the field and offset. ``kwire.trace`` records the values that the interpreter reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from librt.strings import BytesWriter

from kwire.interpreter.reader import Reader
from kwire.interpreter.writer import Writer

if TYPE_CHECKING:
    from kwire.message import Message
    from kwire.policy import Policy

M = TypeVar("M", bound="Message")


def decode(
    cls: type[M], data: bytes, offset: int, version: int, policy: Policy, *, whole: bool, by: type[Reader] = Reader
) -> tuple[M, int]:
    """Return the message at ``offset`` and its end offset.

    With ``whole``, the message must extend to the end of ``data``.
    """
    reader = by(cls, data, offset, version, policy)
    reader.check_version(cls)
    message = reader.struct(cls)
    if whole:
        reader.finish()
    return message, reader.pos


def encode(message: Message, version: int) -> bytes:
    """Return the bytes of ``message``. Raise ``EncodeError`` if it cannot be encoded in ``version``."""
    writer = Writer(type(message), version)
    writer.check_version(type(message))
    out = BytesWriter()
    writer.struct(out, message)
    return out.getvalue()


__all__ = ["decode", "encode"]
