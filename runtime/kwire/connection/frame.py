"""A frame as it was cut out of the stream, before its payload is decoded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kwire.connection.events import Direction


@dataclass(slots=True, eq=False)
class Frame:
    """The payload of a frame and its position in the stream.

    ``kind`` is its class by its first bytes (``kwire.connection.framing``). ``missing`` is how many of its bytes were
    not seen; the first ``intact`` bytes of ``data`` precede the first hole. ``complete`` is false if the stream broke
    off within the frame.
    """

    time: float
    direction: Direction
    position: int
    started: float
    data: bytes
    kind: int = 0
    missing: int = 0
    complete: bool = True
    intact: int = field(init=False)

    def __post_init__(self) -> None:
        self.intact = len(self.data)

    def within(self, data: bytes) -> Frame:
        """A frame at the same place with the payload of a request or response that this one carries."""
        return Frame(self.time, self.direction, self.position, self.started, data)
