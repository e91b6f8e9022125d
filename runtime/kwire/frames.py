"""Frames, the units of all traffic on a Kafka connection. A frame is an int32 size followed by a payload."""

from __future__ import annotations

from librt.strings import read_i32_be

from kwire.errors import DecodeError, EncodeError

__all__ = ["MAX_FRAME", "FrameReader", "frame"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_FRAME = 104_857_600
"""Default maximum frame size (100 MiB), as in Kafka's ``socket.request.max.bytes``."""
MAX_DECODED = 2 << 20
"""Default size, in bytes, above which messages in captures and logs are decoded only if they contain few values."""


def frame(payload: bytes) -> bytes:
    """Return a frame: ``payload`` preceded by its size."""
    if len(payload) > 0x7FFFFFFF:
        raise EncodeError(f"a payload of {len(payload)} bytes is too long: its size must fit in an int32")
    return len(payload).to_bytes(4, "big") + payload


class FrameReader:
    """Splits a stream of bytes into the payloads of its frames.

    Feed the reader bytes as they arrive. It buffers incomplete frames. A size that is negative or above ``max_frame``
    raises ``DecodeError`` before the payload is buffered, because the stream is not Kafka or is out of sync.
    """

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        self._max_frame = max_frame
        self._buffer = bytearray()

    @property
    def pending(self) -> bytes:
        """The bytes received so far of an incomplete frame."""
        return bytes(self._buffer)

    def feed(self, data: bytes | bytearray | memoryview) -> Iterator[bytes]:
        """Return an iterator over the payloads that ``data`` completes, in order.

        ``data`` is buffered even if the iterator is not consumed.
        """
        self._buffer += data
        return self._payloads()

    def _payloads(self) -> Iterator[bytes]:
        while len(self._buffer) >= 4:
            head = bytes(self._buffer[:4])
            size = read_i32_be(head, 0)
            if size < 0 or size > self._max_frame:
                raise DecodeError(
                    f"a frame of {size} bytes, but the limit is {self._max_frame}",
                    message_name="frame",
                    path="size",
                    data=self.pending,
                )
            if len(self._buffer) < 4 + size:
                return
            payload = bytes(self._buffer[4 : 4 + size])
            del self._buffer[: 4 + size]
            yield payload
