"""What both ends of a connection have in common: how they give up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from kwire.connection.foreign import recognise
from kwire.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")


class OutOfStep(DecodeError):
    """What the other end sent is no frame, or answers what was not asked: the connection is of no use any more.

    ``events`` are those of the same bytes that came before.
    """

    events: list[Any]

    def __reduce__(self) -> tuple[object, ...]:
        return *super().__reduce__(), {"events": self.events}


def take_all(payloads: Iterator[bytes], take: Callable[[bytes], T]) -> list[T]:
    """What ``take`` makes of every payload. If one of them is wrong, what comes before is in :class:`OutOfStep`."""
    events: list[T] = []
    try:
        for payload in payloads:
            events.append(take(payload))
    except DecodeError as error:
        other = recognise(error.data) if error.message == "frame" and error.data else None
        reason = f"{error.reason}; it looks like {other}" if other else error.reason
        wrong = OutOfStep(reason, message=error.message, path=error.path, offset=error.offset, data=error.data)
        wrong.events = events
        raise wrong from None
    return events
