"""Opens inputs by name, with a class for each type of location.

=====================  ==========================================================================
``captures/a.pcap``    a local file or folder
``-``                  standard input
``a.tar.gz!/b.pcap``   a member of an archive, which may be in any place except another archive
``a.tar.gz!/``         all members of an archive, as a folder
``s3://bucket/a.pcap`` an object, or all objects below a folder: see ``storage.stores``
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
"""Name of standard input, as an argument and in tables."""
PEEK = 1 << 20
"""Number of bytes at the start of standard input that can be read more than once."""
_HIDDEN = re.compile(r"\.(?!\.?$)")
Made = TypeVar("Made")
AT_ONCE = 16
"""Maximum number of concurrent requests to a store."""


class LocalPlace:
    """A local file or folder."""

    def __init__(self, name: str) -> None:
        self.name = name

    def opened(self, peek: bool = False, expected: str = "") -> BinaryIO:
        """Open a file for reading and seeking, at its beginning.

        Raises ``OSError`` if the file cannot be opened, or is a pipe, socket or device. With ``peek``, only the
        beginning of standard input is readable, and the next reader can read it again. If ``expected`` is set, an
        error is raised for an object in a store whose stamp differs.
        """
        return regular(self.name).open("rb")

    def check(self) -> None:
        """Raise ``OSError`` if it is already clear that the file cannot be read."""
        if Path(self.name).is_dir():
            raise OSError(0, "cannot list the folder", self.name)
        regular(self.name)

    def size(self) -> int:
        """Return the size on disk in bytes. Raise ``OSError`` if the file no longer exists."""
        return Path(self.name).stat().st_size

    def stamp(self) -> str:
        """Return a string that changes when the file does. Raise ``OSError`` if the file no longer exists."""
        found = Path(self.name).stat()
        return f"{found.st_size} {found.st_mtime_ns} {found.st_ino}"

    def listed_stamp(self) -> str:
        """Return the stamp that an object had when it was listed. Return an empty string for files, which may grow
        while they are read."""
        return ""

    def is_folder(self) -> bool:
        return Path(self.name).is_dir()

    def absolute(self) -> str:
        """Return the name under which a process with another working directory finds this input."""
        return str(Path(self.name).absolute())

    def files(self) -> Iterator[str]:
        """Yield the name of the file, of each file below a folder, or of each file that matches a pattern.

        Raises ``FileNotFoundError``, with a message for the user, if there is no such file.
        """
        if Path(self.name).exists():
            yield from _within(Path(self.name)) if self.is_folder() else [_unmistakable(Path(self.name), self.name)]
            return
        refuse_secrets(self.name)  # because later messages would contain the secret
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
        """Return the base names of all files in the same folder."""
        return [path.name for path in Path(self.name).parent.iterdir()]


class StandardInputPlace(LocalPlace):
    """The standard input of this process."""

    def opened(self, peek: bool = False, expected: str = "") -> BinaryIO:
        return standard_input().opened(peek)

    def check(self) -> None:
        standard_input()

    def size(self) -> int:
        return 0  # the size is unknown

    def is_folder(self) -> bool:
        return False

    def absolute(self) -> str:
        return self.name

    def files(self) -> Iterator[str]:
        yield self.name


class MemberPlace(LocalPlace):
    """A member of an archive, or the whole archive as a folder if ``member`` is empty."""

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
        """Return a mapping from the input name of each unreadable member to the reason. If the list of members is
        incomplete, include the archive itself."""
        found = self._archive
        reasons = {self._named(member): reason for member, reason in found.skipped.items()}
        return reasons | ({self._outer.name: found.problem} if found.problem else {})

    def siblings(self) -> list[str]:
        folder = self._member.rpartition("/")[0]
        members = (member.rpartition("/") for member in self._archive.members)
        return [name for within, _, name in members if within == folder]

    def _named(self, member: str) -> str:
        """Return the input name of a member."""
        name = f"{self.name}{member}"
        return masked(name) if SCHEME.fullmatch(name) else name

    @property
    def _archive(self) -> Archive:
        return archive(self._outer.absolute(), self._outer.stamp(), self._outer.opened)


Place: TypeAlias = LocalPlace | RemotePlace


def place(name: str) -> Place:
    """Return the location that a name refers to. Raise ``ValueError`` if an address contains a secret, because tables
    show the names of inputs."""
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
    """Return whether this file or folder exists. An archive member's name may be too long for the file system."""
    try:
        return Path(name).exists()
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        return False


def _matches(pattern: str) -> Iterator[Path]:
    """Return the paths that match a pattern. After the first wildcard, names that start with a dot do not match."""
    parts = Path(pattern).parts
    first = next(number for number, part in enumerate(parts) if GLOB.search(part))
    found = Path(*parts[:first]).glob(str(Path(*parts[first:])))
    return (path for path in found if not any(_HIDDEN.match(part) for part in path.parts[first:]))


def _within(folder: Path, followed: set[Path] | None = None) -> Iterator[str]:
    """Yield the files below a folder. Folder names may start with ``_``, because Kafka's internal topics have such
    names.

    A folder that cannot be listed is yielded as a file, so that opening it reports the error. To avoid cycles, a link
    is skipped if it leads to a folder that contains the link, or to a folder in ``followed``.
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
    """Return the name of a file. Make the name absolute if it could be mistaken for an address or standard input."""
    first = path.parts[0]
    return str(path.absolute()) if first == STDIN or ":" in first else name or str(path)


def regular(path: str | Path) -> Path:
    """Return the path of a file to open. Raise ``OSError`` for a pipe, socket or device, which might never end."""
    path = Path(path)
    if path.exists() and not path.is_file():
        raise OSError(0, "not a regular file", str(path))
    return path


def opened(path: str, *, peek: bool = False, expected: str = "") -> BinaryIO:
    """Open a file at its beginning. For the arguments, see :meth:`LocalPlace.opened`."""
    return place(path).opened(peek, expected)


def size_of(path: str) -> int:
    """Return the size of a file on disk in bytes, or 0 for standard input. Raise ``OSError`` if the file no longer
    exists."""
    return place(path).size()


def is_compressed(path: str) -> bool:
    """Return whether a file is decompressed while it is read."""
    with opened(path, peek=True) as file:
        return is_compressed_head(file.read(HEAD))


def absolute(path: str) -> str:
    """Return the name under which a process with another working directory finds this input."""
    return place(path).absolute()


def written(path: Path) -> str:
    """Return the input name from which this path was made. ``Path`` merges the two slashes of an address.

    File names that look like an address become absolute, so that a folder is never mistaken for a store.
    """
    scheme, colon, rest = str(path).partition(":/")
    return f"{scheme}://{rest}" if colon and SCHEME.fullmatch(f"{scheme}://{rest}") else str(path)


def is_remote(path: str) -> bool:
    """Return whether a name is the address of a store."""
    return SCHEME.fullmatch(path) is not None


def map_inputs(function: Callable[[str], Made], paths: Sequence[str]) -> list[Made]:
    """Return a function's results for all inputs. Objects in stores are read concurrently, because most of the time
    is spent waiting for the store."""
    if sum(isinstance(place(path), RemotePlace) for path in paths) < 2:
        return [function(path) for path in paths]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        return list(threads.map(function, paths))


class Window:
    """A sliding window over a stream. ``buffer`` starts at offset ``base`` of the decompressed stream.

    With ``peek``, only the beginning of standard input is visible, and the next reader starts at the beginning again.
    """

    __slots__ = ("_chunks", "base", "buffer")

    def __init__(self, path: str, *, peek: bool = False) -> None:
        self.buffer = b""
        self.base = 0
        self._chunks = _chunks(path, peek)

    def advance(self, at: int) -> bool:
        """Drop the data before index ``at`` of the buffer, and append the next chunk. Return false at the end of the
        stream.

        Raises ``OSError`` if reading fails, or ``DamagedStreamError`` if decompression fails. An error leaves the
        buffer unchanged.
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
    """Lets several readers read ``stream`` one after another, although its bytes arrive only once.

    A file is opened several times: to detect its type, to find its first timestamp and to read its rows. The first
    ``PEEK`` bytes are therefore kept until a reader reads past them. After ``keep`` has been called, all bytes are
    stored in an unnamed temporary file.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self._store: SpooledTemporaryFile[bytes] | None = SpooledTemporaryFile(PEEK)  # noqa: SIM115
        self._size = 0
        self._keeps = self._ended = False

    def keep(self) -> None:
        """Keep all bytes for later readers. Call this method before any reader reads past the first ``PEEK``
        bytes."""
        self._keeps = True

    def opened(self, peek: bool = False) -> BinaryIO:
        """Open the stream as a file. With ``peek``, the file contains only the first bytes, and the next reader
        starts at the beginning."""
        return io.BufferedReader(_FromStart(self, PEEK if peek else None), PEEK)

    def read(self, position: int, size: int) -> bytes:
        """Return up to ``size`` bytes at ``position``, or no bytes at the end. Raise ``OSError`` if the bytes are no
        longer available."""
        if position < self._size:
            if self._store is None:
                raise OSError(0, "standard input can be read only once", STDIN)
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
    """A reader of standard input with its own position. If ``limit`` is set, only the first ``limit`` bytes are
    readable."""

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
    """Return the standard input of this process. Raise ``OSError`` if standard input is closed or is a terminal."""
    if sys.stdin is None or sys.stdin.closed:
        raise OSError(0, "standard input is closed", STDIN)
    if not _known or _known[0].stream is not sys.stdin.buffer:
        if sys.stdin.isatty():
            raise OSError(0, "standard input is a terminal: pipe a capture or a log into it", STDIN)
        _known[:] = [StandardInput(sys.stdin.buffer)]
    return _known[0]
