"""Frames: an int32 size and that many bytes, which is how everything travels on a Kafka connection."""

from __future__ import annotations

from librt.strings import read_i32_be

from kwire.errors import DecodeError, EncodeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_FRAME = 104_857_600
"""The default of Kafka's ``socket.request.max.bytes``: 100 MiB."""


def frame(payload: bytes) -> bytes:
    """``payload`` with its size in front."""
    if len(payload) > 0x7FFFFFFF:
        raise EncodeError(f"a frame of {len(payload)} bytes: the size is an int32")
    return len(payload).to_bytes(4, "big") + payload


class FrameReader:
    """Cuts a stream of bytes into the payloads of its frames.

    Feed it whatever arrives; it keeps what is not complete yet. A size below zero or above ``limit`` is a
    ``DecodeError`` before anything is collected: the stream is no Kafka connection, or out of step.
    """

    def __init__(self, limit: int = MAX_FRAME) -> None:
        self._limit = limit
        self._buffer = bytearray()

    @property
    def pending(self) -> bytes:
        """What has arrived of a frame that is not complete."""
        return bytes(self._buffer)

    def feed(self, data: bytes | bytearray | memoryview) -> Iterator[bytes]:
        """The payloads that ``data`` completes, in order. ``data`` is kept even if nobody asks for them yet."""
        self._buffer += data
        return self._payloads()

    def _payloads(self) -> Iterator[bytes]:
        while len(self._buffer) >= 4:
            head = bytes(self._buffer[:4])
            size = read_i32_be(head, 0)
            if size < 0 or size > self._limit:
                raise DecodeError(
                    f"a frame of {size} bytes, the limit is {self._limit}",
                    message="frame",
                    path="size",
                    data=self.pending,
                )
            if len(self._buffer) < 4 + size:
                return
            payload = bytes(self._buffer[4 : 4 + size])
            del self._buffer[: 4 + size]
            yield payload
