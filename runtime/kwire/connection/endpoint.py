"""How both ends of a connection report violations of the protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from kwire.connection.detect import sniff_protocol
from kwire.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")


class ProtocolViolationError(DecodeError):
    """The peer sent something that is not a frame, or an unexpected response. The connection can no longer be used.

    ``events`` are the events that the same bytes completed before the error.
    """

    events: list[Any]


def take_all(payloads: Iterator[bytes], take: Callable[[bytes], T]) -> list[T]:
    """The result of ``take`` for every payload; :class:`ProtocolViolationError` if the stream or ``take`` fails."""
    events: list[T] = []
    try:
        for payload in payloads:
            events.append(take(payload))
    except DecodeError as error:
        other = sniff_protocol(error.data) if error.message_name == "frame" and error.data else None
        reason = f"{error.reason}; it looks like {other}" if other else error.reason
        violation = ProtocolViolationError(
            reason, message_name=error.message_name, path=error.path, offset=error.offset, data=error.data
        )
        violation.events = events
        raise violation from None
    return events
