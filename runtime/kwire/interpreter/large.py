"""Decoding large messages with a limit on the number of values, because a few bytes may become an object of a hundred
bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.interpreter import decode
from kwire.interpreter.reader import Reader

if TYPE_CHECKING:
    from kwire.message import Message
    from kwire.policy import Policy

MAX_VALUES = 100_000
"""Maximum number of values in a large message. Messages that are large because of their records contain fewer
values."""


class TooManyValuesError(Exception):
    """Raised when a message contains more than ``MAX_VALUES`` values."""


class _Counting(Reader):
    left = MAX_VALUES

    def note(self, start: int, kind: str, value: object, *, name: str = "", content: int = 0) -> None:
        self.left -= 1
        if not self.left:
            raise TooManyValuesError


def read_large(
    cls: type[Message], data: bytes, offset: int, version: int, policy: Policy, *, whole: bool
) -> tuple[Message, int]:
    """Return the same values as ``kwire.interpreter.decode``. Raise ``DecodeError`` or ``TooManyValuesError``."""
    return decode(cls, data, offset, version, policy, whole=whole, by=_Counting)
