"""The slow path: reads and writes field by field from ``FIELDS``, knowing at every step where it is.

The emitted codecs carry no bookkeeping. When one of them fails, or when a policy asks for tolerance, the message is
done again here: an independent implementation of the same rules, which either succeeds under the policy or says
which field at which offset is wrong. ``kwire.explain.trace`` shows what it reads, and ``kwire.explain.frame`` does so
with whole frames.
"""

from __future__ import annotations

from typing import TypeVar

from kwire.explain.place import check_version
from kwire.explain.reader import Reader
from kwire.explain.writer import Writer
from kwire.message import Message
from kwire.policy import Policy

M = TypeVar("M", bound=Message)


def decode(cls: type[M], data: bytes, offset: int, version: int, policy: Policy, *, whole: bool) -> tuple[M, int]:
    """The message at ``offset`` and where it ends; with ``whole`` it must fill ``data``."""
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
