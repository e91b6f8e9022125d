"""The slow path: reads and writes field by field from ``FIELDS``, knowing at every step where it is.

The emitted codecs carry no bookkeeping. When one of them fails, or when a policy asks for tolerance, the message is
done again here: an independent implementation of the same rules, which either succeeds under the policy or says
which field at which offset is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

from kwire.explain.reader import Reader
from kwire.explain.writer import Writer
from kwire.message import Message
from kwire.policy import Policy

M = TypeVar("M", bound=Message)


def decode(cls: type[M], data: bytes, offset: int, version: int, policy: Policy, *, whole: bool) -> tuple[M, int]:
    """The message at ``offset`` and where it ends; with ``whole`` it must fill ``data``."""
    reader = Reader(cls, data, offset, version, policy)
    _check_version(cls, version, reader.fail)
    message = reader.struct(cls)
    if whole and reader.pos < len(data) and policy.trailing == "error":
        reader.fail(f"{len(data) - reader.pos} bytes behind the end of the message")
    return message, reader.pos


def encode(message: Message, version: int) -> bytes:
    """The bytes of ``message``, or an :class:`EncodeError`."""
    writer = Writer(type(message), version)
    _check_version(type(message), version, writer.fail)
    out = bytearray()
    writer.struct(out, message)
    return bytes(out)


def _check_version(cls: type[Message], version: int, fail: Callable[[str], NoReturn]) -> None:
    if version not in cls.VALID_VERSIONS:
        valid = cls.VALID_VERSIONS
        known = f"{valid.start} to {valid.stop - 1}" if valid else "none"
        fail(f"there is no version {version}, the valid ones are {known}")
