"""The standard input, named ``-``: its bytes come once, and those at its beginning can be read again.

A file is opened more than once: to detect its type, for its first time, and for its rows. So the first
:data:`PEEK` bytes are kept until reading goes past them, and all bytes, in a temporary file without a name, after
:meth:`StandardInput.keep`.
"""

from __future__ import annotations

import io
import sys
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO

STDIN = "-"
"""The name of the standard input, as an input and in tables."""
PEEK = 1 << 20
"""How many bytes can be read again."""


class StandardInput:
    """Bytes of ``stream``, for one reader after the other."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self._store: SpooledTemporaryFile[bytes] | None = SpooledTemporaryFile(PEEK)  # noqa: SIM115
        self._size = 0
        self._keeps = self._ended = False

    def keep(self) -> None:
        """Let everything be read again. Call it before reading has gone past the first :data:`PEEK` bytes."""
        self._keeps = True

    def opened(self, peek: bool = False) -> BinaryIO:
        """A file with all bytes, or with ``peek`` with the first, after which others can read from the beginning."""
        return io.BufferedReader(_FromStart(self, PEEK if peek else None), PEEK)

    def read(self, position: int, size: int) -> bytes:
        """Up to ``size`` bytes at ``position``, none at the end. ``OSError`` if they cannot be read again."""
        if position < self._size:
            if self._store is None:
                raise OSError(0, "the standard input can be read only once", STDIN)
            self._store.seek(position)
            return self._store.read(min(size, self._size - position))
        if self._ended:
            return b""
        chunk = self.stream.read1(size)  # type: ignore[attr-defined]
        self._ended = not chunk
        if self._store is not None and not self._keeps and self._size + len(chunk) > PEEK:
            self._store.close()
            self._store = None
        if self._store is not None:
            self._store.seek(self._size)
            self._store.write(chunk)
        self._size += len(chunk)
        return bytes(chunk)


class _FromStart(io.RawIOBase):
    """A reader of its own, up to ``limit`` bytes."""

    def __init__(self, source: StandardInput, limit: int | None) -> None:
        self._source = source
        self._limit = limit
        self._position = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        most = len(view) if self._limit is None else min(len(view), self._limit - self._position)
        data = self._source.read(self._position, most) if most else b""
        view[: len(data)] = data
        self._position += len(data)
        return len(data)


_known: list[StandardInput] = []


def standard_input() -> StandardInput:
    """That of this process. ``OSError`` if it is closed, or a terminal."""
    if sys.stdin is None or sys.stdin.closed:
        raise OSError(0, "the standard input is closed", STDIN)
    if not _known or _known[0].stream is not sys.stdin.buffer:
        if sys.stdin.isatty():
            raise OSError(0, "the standard input is a terminal: pipe a capture or a log into it", STDIN)
        _known[:] = [StandardInput(sys.stdin.buffer)]
    return _known[0]
