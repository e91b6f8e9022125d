"""A frame as it was cut out of the stream, before anybody looked into it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kwire.connection.events import Direction


class Frame:
    """The payload of a frame and where it was.

    ``missing`` bytes of it were not seen; the first ``intact`` bytes of ``data`` are those before the first hole.
    ``complete`` is false if the stream broke off before the end. ``verdict`` is what the first bytes looked like.
    """

    __slots__ = ("complete", "data", "direction", "intact", "missing", "position", "started", "time", "verdict")

    def __init__(
        self, time: float, direction: Direction, position: int, started: float, data: bytes, verdict: int = 0
    ) -> None:
        self.time = time
        self.direction = direction
        self.position = position
        self.started = started
        self.data = data
        self.verdict = verdict
        self.missing = 0
        self.intact = len(data)
        self.complete = True

    def within(self, data: bytes) -> Frame:
        """The frame of a request or response that this one carries."""
        return Frame(self.time, self.direction, self.position, self.started, data)
