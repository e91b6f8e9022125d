"""A frame as it was cut out of the stream, before its payload is decoded."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kwire.connection.events import Direction


class Frame:
    """The payload of a frame and its position in the stream.

    ``missing`` is how many of its bytes were not seen; the first ``intact`` bytes of ``data`` precede the first hole.
    ``complete`` is false if the stream broke off within the frame. ``kind`` is its class by its first bytes
    (``kwire.connection.framing``).
    """

    __slots__ = ("complete", "data", "direction", "intact", "kind", "missing", "position", "started", "time")

    def __init__(
        self, time: float, direction: Direction, position: int, started: float, data: bytes, kind: int = 0
    ) -> None:
        self.time = time
        self.direction = direction
        self.position = position
        self.started = started
        self.data = data
        self.kind = kind
        self.missing = 0
        self.intact = len(data)
        self.complete = True

    def within(self, data: bytes) -> Frame:
        """A frame at the same place with the payload of a request or response that this one carries."""
        return Frame(self.time, self.direction, self.position, self.started, data)
