"""The bytes of a file, decompressed if necessary, in a window of bounded size."""

from __future__ import annotations

from collections.abc import Generator

from kwire_inspect.storage.decompression import CHUNK, decompressed
from kwire_inspect.storage.opening import opened


class Window:
    """A part of a stream: ``buffer``, whose first byte is at ``base`` in the uncompressed stream.

    ``peek`` leaves all bytes of the standard input to another reader, and sees only its beginning.
    """

    __slots__ = ("_chunks", "base", "buffer")

    def __init__(self, path: str, *, peek: bool = False) -> None:
        self.buffer = b""
        self.base = 0
        self._chunks = _chunks(path, peek)

    def advance(self, at: int) -> bool:
        """Drop the data before ``at`` and append more; false if there is no more.

        Raises ``OSError``, or ``DamagedStreamError`` if decompression fails; nothing is dropped then.
        """
        chunk = next(self._chunks, None)
        if chunk is None:
            return False
        self.buffer = self.buffer[at:] + chunk
        self.base += at
        return True

    def close(self) -> None:
        self._chunks.close()


def _chunks(path: str, peek: bool) -> Generator[bytes, None, None]:
    with opened(path, peek=peek) as file:
        for chunk in decompressed(file, believe=False):
            for at in range(0, len(chunk), CHUNK):
                yield chunk[at : at + CHUNK]
