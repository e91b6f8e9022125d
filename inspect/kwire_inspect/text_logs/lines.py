"""Reads the lines of log files in bounded memory. Large files are read in parts, and compressed files as a whole.

Paths are converted to ``Split`` objects, and splits to lines. A line belongs to the split in which it begins, so each
line of a file is in exactly one split. Positions are offsets in the uncompressed file.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from kwire_inspect.storage import CHUNK, DamagedStreamError, Window, is_compressed, opened, place, size_of

LONGEST = 4 << 20
"""Default maximum length of a line in bytes. Parsing JSON needs up to 30 times as much memory."""

MAX_PROBLEMS = 1000
"""Maximum number of long lines to report per file."""

Line = tuple[int, bytes]
"""Position of a line in bytes, and the line without its line break."""


@dataclass(frozen=True, slots=True)
class Split:
    """The lines of a file that begin at or after byte ``start``, but before byte ``end``. If ``end`` is ``None``, the
    split extends to the end of the file.

    ``stamp`` identifies the version of an object in a store.
    """

    path: str
    start: int = 0
    end: int | None = None
    stamp: str = ""

    def has(self, position: int) -> bool:
        return self.start <= position and (self.end is None or position < self.end)


def splits(files: Sequence[str], size: int) -> list[Split]:
    """Return splits of at most ``size`` bytes. A file that is compressed or cannot be read is a single split."""
    return [split for path in files for split in _splits(path, size)]


class Lines:
    """Iterator over the lines of a file that begin at or after ``start``, or up to ``near`` bytes before it.

    ``problems`` contains the positions and reasons of errors: the file could not be opened or decompressed, or a line
    of more than ``longest`` bytes was skipped. The position of an error before ``start`` is ``start``, because this
    is where lines are missing. A ``with`` block closes the file even if not all lines were read.
    """

    def __init__(self, path: str, start: int = 0, longest: int = LONGEST, stamp: str = "", *, near: int = 0) -> None:
        self.problems: list[tuple[int, str]] = []
        self._longest, self._start = longest, start
        self._lines = self._read(path, max(start - near, 0), stamp)
        self._back: list[Line] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self._lines.close()

    def __iter__(self) -> Iterator[Line]:
        return self

    def __next__(self) -> Line:
        return self._back.pop() if self._back else next(self._lines)

    def give_back(self, line: Line) -> None:
        """Return a line to the iterator, which will yield it next."""
        self._back.append(line)

    def _read(self, path: str, start: int, stamp: str) -> Generator[Line, None, None]:
        position = max(start - 1, 0)  # the preceding byte shows whether a line begins at start
        rest: list[bytes] = []
        size = 0
        skipping = start > 0
        blocks = _blocks(path, position, stamp)
        try:
            for block in blocks:
                first, *others = block.split(b"\n")
                size += len(first)
                if size <= self._longest:
                    rest.append(first)
                else:
                    rest.clear()
                if not others:
                    continue
                if not skipping:
                    yield from self._whole(position, rest, size)
                skipping = False
                position += size + 1
                for line in others[:-1]:
                    if len(line) <= self._longest:
                        yield position, line
                    else:
                        self._skipped(position, len(line))
                    position += len(line) + 1
                rest = [others[-1]]
                size = len(others[-1])
        except DamagedStreamError as error:
            self.problems.append((max(position + size, self._start), str(error)))
        except OSError as error:
            reason = f"cannot be read: {error.strerror or error}"
            self.problems.append((max(position + size, self._start), reason))
        finally:
            blocks.close()
        if size and not skipping:
            yield from self._whole(position, rest, size)

    def _whole(self, position: int, parts: list[bytes], size: int) -> Iterator[Line]:
        if size <= self._longest:
            yield position, b"".join(parts)
        else:
            self._skipped(position, size)

    def _skipped(self, position: int, size: int) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            reason = f"a line of {size} bytes is skipped: the option maxLine allows {self._longest}"
            self.problems.append((position, reason))


def _splits(path: str, size: int) -> Iterator[Split]:
    try:
        length = size_of(path)
        whole = length <= size or is_compressed(path)
    except OSError:
        whole = True  # reading the file reports the error
    if whole:
        yield Split(path)
        return
    stamp = place(path).listed_stamp()
    for start in range(0, length, size):
        end = start + size
        yield Split(path, start, end if end < length else None, stamp)


def _blocks(path: str, start: int, stamp: str) -> Generator[bytes, None, None]:
    if start or stamp:  # compressed files are never split
        with opened(path, expected=stamp) as file:
            file.seek(start)
            while block := file.read(CHUNK):
                yield block
        return
    window = Window(path)
    try:
        while window.advance(len(window.buffer)):
            for at in range(0, len(window.buffer), CHUNK):
                yield window.buffer[at : at + CHUNK]
    finally:
        window.close()
