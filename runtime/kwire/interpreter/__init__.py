"""The slow path: reads and writes field by field from ``FIELDS``, and knows path and offset at every step.

Emitted codecs keep no record of where they are. When one of them fails, or when a policy asks for tolerance, the
message is decoded or encoded again here: an independent implementation of the same rules, which either succeeds under
the policy or raises an error with the field and offset. ``kwire.trace`` records what it reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from kwire.interpreter.context import check_version
from kwire.interpreter.reader import Reader
from kwire.interpreter.writer import Writer

if TYPE_CHECKING:
    from kwire.message import Message
    from kwire.policy import Policy

M = TypeVar("M", bound="Message")


def decode(cls: type[M], data: bytes, offset: int, version: int, policy: Policy, *, whole: bool) -> tuple[M, int]:
    """The message at ``offset`` and the offset after it; with ``whole`` it must extend to the end of ``data``."""
    reader = Reader(cls, data, offset, version, policy)
    check_version(cls, version, reader.fail)
    message = reader.struct(cls)
    if whole:
        reader.finish()
    return message, reader.pos


def encode(message: Message, version: int) -> bytes:
    """The bytes of ``message``, or an :class:`EncodeError`."""
    writer = Writer(type(message), version)
    check_version(type(message), version, writer.fail)
    out = bytearray()
    writer.struct(out, message)
    return bytes(out)


__all__ = ["decode", "encode"]
