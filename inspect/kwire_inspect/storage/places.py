"""Opens inputs by their names: one class for each place where an input can be.

=====================  ==========================================================================
``captures/a.pcap``    a file or folder of this machine
``-``                  the standard input
``a.tar.gz!/b.pcap``   a member of an archive, which may itself be anywhere but in another archive
``a.tar.gz!/``         all members of an archive, as a folder
``s3://bucket/a.pcap`` an object, or those below a folder: see ``storage.stores``
=====================  ==========================================================================
"""

from __future__ import annotations

import errno
import io
import re
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, TypeAlias, TypeVar

from kwire_inspect.storage.archives import BETWEEN, Archive, archive
from kwire_inspect.storage.decompression import CHUNK, HEAD, decompressed, is_compressed_head
from kwire_inspect.storage.stores import GLOB, MASKED, SCHEME, MaskedPlace, RemotePlace, masked, refuse_secrets

STDIN = "-"
"""Name of the standard input, as an input and in tables."""
PEEK = 1 << 20
"""Bytes of the standard input that can be read again."""
_HIDDEN = re.compile(r"\.(?!\.?$)")
Made = TypeVar("Made")
AT_ONCE = 16
"""Maximum concurrent requests to a store."""


class LocalPlace:
    """A file or folder of this machine."""

    def __init__(self, name: str) -> None:
        self.name = name

    def opened(self, peek: bool = False, expected: str = "") -> BinaryIO:
        """Open a file to read from its beginning, or from anywhere with ``seek``.

        Raises ``OSError`` if that is not possible, also for pipes, sockets and devices. With ``peek``, the standard
        input ends early and can be read again afterwards. It is an error if the ``listed_stamp`` of an object is
        not ``expected``.
        """
        return regular(self.name).open("rb")

    def check(self) -> None:
        """Raise ``OSError`` if the file is certain to be unreadable."""
        if Path(self.name).is_dir():
            raise OSError(0, "cannot list the folder", self.name)
        regular(self.name)

    def size(self) -> int:
        """Return the stored bytes. Raise ``OSError`` if the file is gone."""
        return Path(self.name).stat().st_size

    def stamp(self) -> str:
        """Return a text that changes if the file does. Raise ``OSError`` if it is gone."""
        found = Path(self.name).stat()
        return f"{found.st_size} {found.st_mtime_ns} {found.st_ino}"

    def listed_stamp(self) -> str:
        """Return the stamp of an object when it was listed, or an empty text for files, which may change during
        reading."""
        return ""

    def is_folder(self) -> bool:
        return Path(self.name).is_dir()

    def absolute(self) -> str:
        """Return the name for processes with another current folder."""
        return str(Path(self.name).absolute())

    def files(self) -> Iterator[str]:
        """Yield the names of the file itself, the files below a folder, or the files that match a pattern.

        Raises ``FileNotFoundError``, with a message for the user, if no file matches.
        """
        if Path(self.name).exists():
            yield from _within(Path(self.name)) if self.is_folder() else [_unmistakable(Path(self.name), self.name)]
            return
        refuse_secrets(self.name)  # the next messages would have the secret
        if not GLOB.search(self.name):
            raise FileNotFoundError(f"{self.name}: no such file or folder")
        matches = sorted(_matches(self.name))
        if not matches:
            raise FileNotFoundError(f"{self.name}: no file matches this pattern")
        for match in matches:
            if match.is_dir():
                yield from _within(match)
            elif not match.name.startswith("_"):
                yield _unmistakable(match)

    def siblings(self) -> list[str]:
        """Return the names, without folders, of the files in the same folder."""
        return [path.name for path in Path(self.name).parent.iterdir()]


class StandardInputPlace(LocalPlace):
    """The standard input of this process."""

    def opened(self, peek: bool = False, expected: str = "") -> BinaryIO:
        return standard_input().opened(peek)

    def check(self) -> None:
        standard_input()

    def size(self) -> int:
        return 0  # its size is unknown

    def is_folder(self) -> bool:
        return False

    def absolute(self) -> str:
        return self.name

    def files(self) -> Iterator[str]:
        yield self.name


class MemberPlace(LocalPlace):
    """A member of an archive, or the archive as a folder if ``member`` is empty."""

    def __init__(self, outer: Place, member: str) -> None:
        super().__init__(f"{outer.name}{BETWEEN}{member}")
        self._outer, self._member = outer, member

    def opened(self, peek: bool = False, expected: str = "") -> BinaryIO:
        return self._archive.opened(self._member)

    def check(self) -> None:
        self._archive.size(self._member)

    def size(self) -> int:
        return self._archive.size(self._member)

    def is_folder(self) -> bool:
        return not self._member

    def absolute(self) -> str:
        return f"{self._outer.absolute()}{BETWEEN}{self._member}"

    def files(self) -> Iterator[str]:
        if self._member:
            self.check()
            yield self.name
        else:
            yield from (self._named(member) for member in self._archive.members)

    def skipped(self) -> dict[str, str]:
        """Return members that cannot be read, and the archive if its list of members is incomplete, each with the
        reason."""
        found = self._archive
        reasons = {self._named(member): reason for member, reason in found.skipped.items()}
        return reasons | ({self._outer.name: found.problem} if found.problem else {})

    def siblings(self) -> list[str]:
        folder = self._member.rpartition("/")[0]
        members = (member.rpartition("/") for member in self._archive.members)
        return [name for within, _, name in members if within == folder]

    def _named(self, member: str) -> str:
        """Return the name of a member as an input."""
        name = f"{self.name}{member}"
        return masked(name) if SCHEME.fullmatch(name) else name

    @property
    def _archive(self) -> Archive:
        return archive(self._outer.absolute(), self._outer.stamp(), self._outer.opened)


Place: TypeAlias = LocalPlace | RemotePlace


def place(name: str) -> Place:
    """Find an input by its name. Raise ``ValueError`` for an address with a secret, since tables show names."""
    if name == STDIN:
        return StandardInputPlace(name)
    if SCHEME.fullmatch(name):
        refuse_secrets(name)
        if name.endswith(MASKED):
            return MaskedPlace(name)
        object_name, between, member = name.partition(BETWEEN)
        return MemberPlace(RemotePlace(object_name), member) if between else RemotePlace(name)
    for found in re.finditer(re.escape(BETWEEN), name):
        if _exists(name):
            break
        if (outer := LocalPlace(name[: found.start()])) and Path(outer.name).is_file():
            return MemberPlace(outer, name[found.end() :])
    return LocalPlace(name)


def _exists(name: str) -> bool:
    """Return whether this file or folder exists. The name of an archive's member may be longer than a file name can
    be."""
    try:
        return Path(name).exists()
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        return False


def _matches(pattern: str) -> Iterator[Path]:
    """Find the matches. From the first wildcard on, names that begin with a dot are left out."""
    parts = Path(pattern).parts
    first = next(number for number, part in enumerate(parts) if GLOB.search(part))
    found = Path(*parts[:first]).glob(str(Path(*parts[first:])))
    return (path for path in found if not any(_HIDDEN.match(part) for part in path.parts[first:]))


def _within(folder: Path, followed: set[Path] | None = None) -> Iterator[str]:
    """Yield the files below a folder. Folders may start with ``_``, since folders of Kafka's internal topics do.

    A folder that cannot be listed is yielded as a file, so that opening it reports the error. A link to a folder is
    not followed if that contains it, or if another link to the folder was ``followed``: links may form circles.
    """
    followed = set() if followed is None else followed
    try:
        paths = sorted(folder.iterdir())
    except OSError:
        yield _unmistakable(folder)
        return
    for path in paths:
        if path.name.startswith("."):
            continue
        if path.is_dir():
            if path.is_symlink():
                target = path.resolve()
                if target in followed or folder.resolve().is_relative_to(target):
                    continue
                followed.add(target)
            yield from _within(path, followed)
        elif not path.name.startswith("_"):
            yield _unmistakable(path)


def _unmistakable(path: Path, name: str | None = None) -> str:
    """Return the name of a file. It is absolute where a relative name may mean an address, or the standard input."""
    first = path.parts[0]
    return str(path.absolute()) if first == STDIN or ":" in first else name or str(path)


def regular(path: str | Path) -> Path:
    """Return the path of a file to open. Raise ``OSError`` for a pipe, socket or device, which may never end."""
    path = Path(path)
    if path.exists() and not path.is_file():
        raise OSError(0, "not a regular file", str(path))
    return path


def opened(path: str, *, peek: bool = False, expected: str = "") -> BinaryIO:
    """Open a file to read from its beginning. Arguments are as for :meth:`LocalPlace.opened`."""
    return place(path).opened(peek, expected)


def size_of(path: str) -> int:
    """Return the stored bytes of a file, or 0 for the standard input. Raise ``OSError`` if the file is gone."""
    return place(path).size()


def is_compressed(path: str) -> bool:
    """Return whether a file is in a format that is decompressed while it is read."""
    with opened(path, peek=True) as file:
        return is_compressed_head(file.read(HEAD))


def absolute(path: str) -> str:
    """Return the name of an input for other processes, which have another current folder."""
    return place(path).absolute()


def written(path: Path) -> str:
    """Return the name of an input that was made into a path, which has one slash where an address has two.

    Names of files that look like an address are absolute, so that no folder becomes a store.
    """
    scheme, colon, rest = str(path).partition(":/")
    return f"{scheme}://{rest}" if colon and SCHEME.fullmatch(f"{scheme}://{rest}") else str(path)


def is_remote(path: str) -> bool:
    """Return whether a name is an address of a store."""
    return SCHEME.fullmatch(path) is not None


def map_inputs(function: Callable[[str], Made], paths: Sequence[str]) -> list[Made]:
    """Return the results of a function for all inputs. Several objects are read at a time, since each waits for its
    store."""
    if sum(isinstance(place(path), RemotePlace) for path in paths) < 2:
        return [function(path) for path in paths]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        return list(threads.map(function, paths))


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
        """Drop the data before ``at`` and append more. Return false at the end of the stream.

        Raises ``OSError``, or ``DamagedStreamError`` if decompression fails. Then no data is dropped.
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


class StandardInput:
    """Bytes of ``stream``, which come once, for several readers in turn.

    A file is opened several times: for its type, for its first time, and for its rows. So the first ``PEEK``
    bytes are kept until reading goes past them. After ``keep``, a temporary file without a name has all of them.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self._store: SpooledTemporaryFile[bytes] | None = SpooledTemporaryFile(PEEK)  # noqa: SIM115
        self._size = 0
        self._keeps = self._ended = False

    def keep(self) -> None:
        """Let everything be read again. Call it before reading has gone past the first ``PEEK`` bytes."""
        self._keeps = True

    def opened(self, peek: bool = False) -> BinaryIO:
        """Open a file with all bytes. With ``peek``, it has the first bytes, and later readers start at the beginning
        again."""
        return io.BufferedReader(_FromStart(self, PEEK if peek else None), PEEK)

    def read(self, position: int, size: int) -> bytes:
        """Return up to ``size`` bytes at ``position``, none at the end. Raise ``OSError`` if they cannot be read
        again."""
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
    """A reader with its own position, up to ``limit`` bytes."""

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
    """Return the standard input of this process. Raise ``OSError`` if it is closed, or a terminal."""
    if sys.stdin is None or sys.stdin.closed:
        raise OSError(0, "the standard input is closed", STDIN)
    if not _known or _known[0].stream is not sys.stdin.buffer:
        if sys.stdin.isatty():
            raise OSError(0, "the standard input is a terminal: pipe a capture or a log into it", STDIN)
        _known[:] = [StandardInput(sys.stdin.buffer)]
    return _known[0]
