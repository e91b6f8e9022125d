"""Splitting one direction of a connection into frames.

A frame consists of a four-byte size and a payload of this size. Nothing in the stream marks the start of a frame.
After joining a stream in the middle or losing bytes, the splitter has to search for the next frame (``search.py``).
Decisions depend only on the bytes. How the bytes are split on arrival changes neither a decision nor the byte after
which it is made.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final

from librt.strings import read_i32_be

from kwire.connection.detect import MIN_TLS_SIZE, PREFIX_SIZES, sniff_protocol
from kwire.connection.events import Gap, NotKafka, Skipped
from kwire.connection.framing import EXPECTED, IMPOSSIBLE, INCOMPLETE, POSSIBLE
from kwire.connection.search import Search
from kwire.native import mypyc_attr

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire.connection.events import Direction, Event
    from kwire.connection.framing import Framing

MAX_SKIPPED: Final = 65_536
"""Maximum number of bytes in a ``Skipped`` event."""

LARGE: Final = 1 << 16
"""Payload size in bytes above which a payload is copied once instead of twice. Copying once is slower for small
payloads."""

HEAD: Final = 256
"""Number of payload bytes that are kept when the rest of a frame is dropped. This is enough for the header of almost
every frame."""

NOT_SEEN: Final = "not seen"

_SIZE: Final = Struct(">i")


@mypyc_attr(serializable=True)
class Frame:
    """A frame with an undecoded payload, and its position in the stream.

    ``kind`` is its class, as defined in ``kwire.connection.framing``. ``missing`` is the number of missing payload
    bytes, and ``fate`` says why they are missing. ``intact`` is the number of bytes in ``data`` before the first
    hole.
    """

    __slots__ = ("data", "direction", "fate", "intact", "kind", "missing", "position", "started", "time")

    def __init__(
        self, time: float, direction: Direction, position: int, started: float, data: bytes, kind: int = INCOMPLETE
    ) -> None:
        self.time = time
        self.direction = direction
        self.position = position
        self.started = started
        self.data = data
        self.kind = kind
        self.missing = 0
        self.intact = len(data)
        self.fate = NOT_SEEN

    def within(self, data: bytes) -> Frame:
        """Return a frame at the same position with the payload of an inner request or response."""
        return Frame(self.time, self.direction, self.position, self.started, data)


@mypyc_attr(serializable=True)
class FrameSplitter:
    """Splits a stream into frames, and into events for bytes that belong to no frame.

    Process each frame before requesting the next, because its contents affect how the following bytes are classified.
    """

    __slots__ = (
        *(
            "_at",
            "_base",
            "_beginning",
            "_buffer",
            "_direction",
            "_ended",
            "_events",
            "_fate",
            "_framing",
            "_ignored",
        ),
        *("_intact", "_kind", "_max_found", "_max_frame", "_missing", "_search", "_size", "_started", "_synced"),
        *("losses", "ready"),
    )

    def __init__(
        self, framing: Framing, direction: Direction, max_frame: int, max_found: int, *, beginning: bool
    ) -> None:
        if not 0 < max_frame < MIN_TLS_SIZE:
            raise ValueError(f"max_frame must be below {MIN_TLS_SIZE}, not {max_frame}")
        self.losses = 0
        """The number of times that bytes were skipped or were missing."""
        self._framing = framing
        self._direction = direction
        self._max_frame = max_frame
        self._max_found = max_found  # maximum size of frames found by a search
        self._beginning = beginning
        self._synced = beginning  # whether a frame is known to begin where the last one ended
        self._buffer = bytearray()
        self._base = 0  # stream position of the first byte in the buffer
        self._at = 0  # buffer index of the first byte not yet reported
        self._started = 0.0  # time when that byte was seen
        self._kind = INCOMPLETE  # class of the current frame
        self._size = 0  # payload size of the current frame in bytes
        self._missing = 0  # number of bytes of the current frame, or of the ignored bytes, that were not seen
        self._intact = 0  # number of payload bytes before the first hole
        self._fate = NOT_SEEN  # why payload bytes are missing
        self._search: Search | None = None
        self._ended = False
        self._ignored: int | None = None  # number of bytes ignored so far, if the stream is not Kafka
        self._events: list[Event] = []  # events before the next frame
        self.ready = False
        """Whether the bytes of the last ``feed`` may complete a frame or event."""

    def feed(self, data: bytes | bytearray | memoryview, time: float) -> Frame | None:
        """Return ``data`` as a frame if it is exactly one expected frame. Otherwise buffer it and return ``None``.

        ``rest`` then yields the frames and events that the buffered bytes complete.
        """
        if self._ignored is not None:
            self._ignored += len(data)
            return None
        buffer = self._buffer
        if not buffer:
            self._started = time
            if self._synced and self._search is None and type(data) is bytes:
                frame = self._whole(data, time)
                if frame is not None:
                    self.ready = False
                    return frame
        buffer += data
        self.ready = (
            self._kind == INCOMPLETE or self._search is not None or len(buffer) >= 4 + self._size - self._missing
        )
        return None

    def rest(self, time: float) -> Iterator[Frame | Event]:
        """Yield the frames and events that the buffered bytes complete, in order."""
        while (item := self._next(time)) is not None:
            yield item

    def _whole(self, data: bytes, time: float) -> Frame | None:
        """Return a frame if ``data`` is exactly one frame, like most small packets. Otherwise return ``None``."""
        size = len(data) - 4
        if not 0 <= size <= self._max_frame or read_i32_be(data, 0) != size:
            return None
        kind = self._framing.classify(data, 0, size)
        if kind != EXPECTED:
            return None
        frame = Frame(time, self._direction, self._base, time, data[4:], kind)
        self._base += len(data)
        return frame

    def gap(self, size: int, time: float) -> Iterator[Frame | Event]:
        """Yield the frames and events caused by ``size`` bytes that were not seen. A size of 0 means that the number
        is unknown. A gap within one frame damages only that frame.
        """
        self.losses += 1
        position = self._base + len(self._buffer) + self._missing + (self._ignored or 0)
        if self._ignored is not None:
            self._missing += size
        elif size and self._kind != INCOMPLETE and size <= 4 + self._size - self._missing - len(self._buffer):
            if not self._missing:  # the first hole
                self._intact = len(self._buffer) - 4
            self._missing += size
        else:
            yield from self._give_up(time, "the bytes after them are missing")
            self._base += size
            self._synced = self._beginning = False
        yield Gap(time, self._direction, position, size)
        yield from self.rest(time)

    @property
    def held(self) -> int:
        """The number of bytes buffered until more bytes arrive."""
        return len(self._buffer)

    def drop(self, time: float, reason: str, *, secrets: bool = False) -> Iterator[Frame | Event]:
        """Drop the current frame except its first bytes, and yield the resulting frames and events.

        Buffered bytes that are not part of a frame are reported as skipped. With ``secrets``, only bytes that cannot
        be secret are kept.
        """
        if self._ignored is not None:
            return
        keep = HEAD
        if secrets and self._synced and self._search is None:
            seen = self._buffer[: 4 + self._intact] if self._missing else self._buffer
            keep = self._framing.harmless(seen, self._kind)
            if len(self._buffer) <= 4 + keep:
                return
        if self._kind == INCOMPLETE:
            yield from self._give_up(time, f"they were {reason}")
            self._synced = self._beginning = False
            yield from self.rest(time)
        elif (size := len(self._buffer) - 4 - keep) > 0:
            self._intact = min(self._intact, keep) if self._missing else keep
            self._missing += size
            self._fate = reason
            del self._buffer[4 + keep :]

    def close(self, time: float) -> Iterator[Frame | Event]:
        """Yield the remaining frames and events at the end of the stream."""
        if self._ignored is None:
            yield from self._give_up(time, "the stream ends after them")
        if self._ignored:
            yield Skipped(time, self._direction, self._base, self._ignored, b"", "this connection is not Kafka")

    def ignore(self) -> None:
        """Stop splitting. Only count the bytes not yet reported and all further bytes."""
        if self._ignored is None:
            self._ignored = len(self._buffer) - self._at
            self._base += self._at + self._missing
            self._buffer.clear()
            self._at = self._missing = 0

    def _next(self, time: float) -> Frame | Event | None:
        while self._ignored is None and not self._events:
            if self._search is not None:
                if not self._advance_search(self._search, time):
                    break
            elif self._kind != INCOMPLETE:
                if len(self._buffer) < self._at + 4 + self._size - self._missing and not self._ended:
                    break
                return self._frame(time)
            elif not self._classify(time):
                break
        if self._events:
            return self._events.pop(0)
        if self._at:
            del self._buffer[: self._at]
            self._base += self._at
            self._at = 0
        return None

    def _frame(self, time: float) -> Frame:
        """Return the current frame, which may be cut off."""
        at, end = self._at, self._at + 4 + self._size - self._missing
        if end - at > LARGE:
            with memoryview(self._buffer) as view:
                payload = bytes(view[at + 4 : end])
        else:
            payload = bytes(self._buffer[at + 4 : end])
        frame = Frame(time, self._direction, self._base + at, self._started, payload, self._kind)
        if len(payload) < self._size:  # it has holes or is cut off
            frame.missing = self._size - len(payload)
            frame.intact = self._intact if self._missing else len(payload)
            frame.fate, self._fate = self._fate, NOT_SEEN
            self._base += self._missing
            self._missing = 0
        self._at, self._started, self._kind = at + 4 + len(payload), time, INCOMPLETE
        return frame

    def _classify(self, time: float) -> bool:
        """Classify the next frame. Return ``False`` if more bytes are needed.

        Otherwise the next frame becomes the current frame, a search begins, or the stream turns out not to be Kafka.
        """
        buffer, at = self._buffer, self._at
        if len(buffer) < at + 4:
            return False
        size: int = _SIZE.unpack_from(buffer, at)[0]
        kind = IMPOSSIBLE if size < 0 or size > self._max_frame else self._framing.classify(buffer, at, size)
        if kind == INCOMPLETE:
            return False
        if kind == IMPOSSIBLE and self._base + at == 0:
            other = sniff_protocol(buffer)
            if other is False and not self._ended:
                return False
            if other or self._beginning:
                data = bytes(buffer[: PREFIX_SIZES.get(other or "", 4)])
                self._at = len(data)
                self._events.append(NotKafka(time, self._direction, 0, other or "unknown", data))
                return True
        if self._synced and kind not in (IMPOSSIBLE, POSSIBLE):
            self._kind, self._size = kind, size
        else:
            self._search = Search(
                self._framing, self._base + at, self._started, self._max_found, trusted=self._synced
            )
            if kind != IMPOSSIBLE:
                self._search.expect(self._base + at + 4 + size, kind)
        return True

    def _advance_search(self, search: Search, time: float) -> bool:
        """Continue the search, and return whether it found a frame, which becomes the current frame."""
        found = search.advance(self._buffer, self._base, time, ended=self._ended)
        if found is None:
            if len(self._buffer) - self._at >= MAX_SKIPPED:
                self._skip(search.settled, time, search.reason, whole=False)
            return False
        self._skip(found.start, time, search.reason, whole=True)
        self._search, self._synced = None, search.synced
        self._started, self._kind, self._size = found.started, found.kind, found.end - found.start - 4
        return True

    def _skip(self, stop: int, time: float, reason: str, *, whole: bool) -> None:
        """Report the bytes before the position ``stop`` that have not been reported yet. Unless ``whole`` is set,
        report only full pieces of ``MAX_SKIPPED`` bytes."""
        while (left := stop - self._base - self._at) >= (1 if whole else MAX_SKIPPED):
            data = bytes(self._buffer[self._at : self._at + min(left, MAX_SKIPPED)])
            self._events.append(Skipped(time, self._direction, self._base + self._at, len(data), data, reason))
            self._at += len(data)
            self.losses += 1

    def _give_up(self, time: float, reason: str) -> Iterator[Frame | Event]:
        """Yield the frames and events of all buffered bytes, because no more bytes will complete them."""
        self._ended = True
        yield from self.rest(time)
        self._ended, self._search = False, None
        if self._ignored is None:
            self._skip(self._base + len(self._buffer), time, reason, whole=True)
            yield from self.rest(time)
