"""Objects of stores, and files of cluster file systems: of S3, Google, Azure, Hadoop, and what ``fsspec`` knows.

Parts of objects are requested as they are needed, and nothing is written but a probe of ``--out``.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable
from concurrent.futures import Future, wait
from fnmatch import fnmatchcase
from functools import partial
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Any

from kwire_inspect.storage.answers import REFUSED, WHOLE, StoreError, telling
from kwire_inspect.storage.file_systems import AZURE, GOOGLE, HADOOP, WEB, file_system

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo, FileSystem

SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+)://(?P<authority>[^/]*)/*(?P<path>.*)", re.DOTALL)
_MEANT = re.compile(SCHEME.pattern.replace("://", ":/{1,2}"), re.DOTALL)
"""An address, or one that lacks a slash."""
QUERY = re.compile(r"\?[\w.%-]+=")
HOST = re.compile(r"(?:\[[0-9A-Fa-f:.%]+\]|[^:?]*)(?::\d+)?")
"""A host or bucket, with a port; what else follows a colon may be a password that has a slash."""
GLOB = re.compile(r"[*?\[]")
MASKED = "…"
"""Ends the name of an object whose key may have a secret."""
MAX_LISTED = 1_000_000
"""Objects of which sizes are kept."""
UNNOTICED = GOOGLE | AZURE
"""Arrow's libraries for these take a whole object for the part of it for which they asked."""
MAX_LISTING_SECONDS, MAX_LISTING_BYTES = 300.0, 1 << 30
"""Limits of a listing: its time, and the memory by which the process grows meanwhile."""
LOOKS_EVERY = 0.2
"""Seconds between two looks at these limits."""
ENDLESS = "the list of objects is too long, or does not end: name a folder or a pattern with fewer objects"
CHANGED = "the object changed while it was read: read it again"


def refuse_secrets(name: str) -> None:
    """:class:`ValueError` for an address with what may be a password or token, whose message does not have it.

    A ``?`` in a key of a store may be of a pattern, unless it gives a value.
    """
    found = _MEANT.fullmatch(name)
    if found is None:
        return
    scheme, authority, key = found["scheme"].lower(), found["authority"], found["path"]
    user, _, host = authority.rpartition("@")
    is_host = HOST.fullmatch(host) is not None
    has_port = ":" in host and scheme not in HADOOP
    cut = not is_host or (has_port and "@" in key)  # a password with a slash in it
    web = scheme in WEB and ("?" in key or "@" in authority or "@" in key)
    if cut or web or ":" in user or QUERY.search(key):
        shown = host if is_host and "@" not in key else "…"
        raise ValueError(
            f"{scheme}://{shown}: an address with a password, or with a query that may have a secret, cannot be "
            "given: tables show it"
        )


def masked(name: str) -> str:
    """The name of an object that a store listed, without what may be a secret: whoever wrote the object chose it."""
    try:
        refuse_secrets(name)
    except ValueError:
        found = SCHEME.fullmatch(name)
        assert found is not None
        return f"{name[: found.start('path')]}{re.split('[?@]', found['path'])[0]}{MASKED}"
    return name


_listed: dict[str, FileInfo] = {}
_sends_parts: set[str] = set()
"""The beginnings of addresses for which this is known."""


class RemoteFile:
    """An object or folder with this name, which is split into its parts. Nothing is requested yet."""

    def __init__(self, name: str) -> None:
        found = SCHEME.fullmatch(name)
        assert found is not None
        self.scheme, self.authority = found["scheme"].lower(), found["authority"]
        self.key = found["path"]
        self.root = f"{self.scheme}://{self.authority}"
        self.name = f"{self.root}/{self.key}"
        if not self.authority:
            raise ValueError(f"{name}: which bucket or host? Write {self.scheme}://NAME/PATH")

    @property
    def _system(self) -> FileSystem:
        return file_system(self.scheme, self.authority)[0]

    def path(self, key: str | None = None) -> str:
        """The path of this object, or of one with another key, within its file system."""
        prefix = file_system(self.scheme, self.authority)[1]
        key = (self.key if key is None else key).rstrip("/")
        return f"{prefix}/{key}" if key else prefix or "/"

    def info(self) -> FileInfo:
        """What the store says now: one or two requests."""
        with telling(self.name):
            try:
                found = self._system.get_file_info(self.path())
            except OSError as error:
                if "No response body" in str(error):
                    self._list(self.key)  # whose answer has a reason
                raise
        if self.scheme in HADOOP and not found.type.value and not self._system.get_file_info("/").type.value:
            raise StoreError(self.name, REFUSED)  # nothing is found there, not even the root
        return found

    def size(self) -> int:
        """Bytes when it was last listed; of one that was not, now."""
        known = _listed.get(self.name)
        return int((known or self._present()).size or 0)

    def stamp(self) -> str:
        """Changes if the object does."""
        return _stamp(self._present())

    def listed_stamp(self) -> str:
        """The stamp when it was last listed here; empty if it was not."""
        return _stamp(_listed[self.name]) if self.name in _listed else ""

    def is_folder(self) -> bool:
        from pyarrow.fs import FileType

        return bool(self.info().type == FileType.Directory)

    def opened(self, expected: str = "", *, watched: bool = True) -> io.RawIOBase:
        """A file whose reads are requests. :class:`StoreError` if its stamp is not the ``expected`` one, or changes
        before its end is read, if it is ``watched``."""
        stamp = self.stamp() if watched else ""
        if expected and not _same(expected, stamp):
            raise StoreError(self.name, CHANGED)
        with telling(self.name):
            file = self._system.open_input_file(self.path())
            if self.scheme in UNNOTICED and self.root not in _sends_parts:
                self._check_parts(file)
            return _Requests(self, file, stamp)

    def probe(self) -> None:
        """Write a small object, and remove it. :class:`StoreError` if that is not possible."""
        with telling(self.root):
            with self._system.open_output_stream(self.path()) as made:
                made.write(bytes(1))
            self._system.delete_file(self.path())

    def files(self) -> list[str]:
        """The names of this object, of those below this folder, or of those that match this pattern, sorted.

        Like local ones, names that begin with ``.`` or ``_`` are left out, but not folders that begin with ``_``.
        """
        from pyarrow.fs import FileType

        found = self.info()
        if found.type == FileType.File:
            self._remember(found)
            return [self.name]
        if found.type == FileType.Directory:
            return self._within(self.key.rstrip("/"))
        if not GLOB.search(self.key):
            self._list(self.key)  # whose answer may have a reason, which that to a look at a bucket lacks
            raise FileNotFoundError(f"{self.name}: no such object or folder")
        matches = self._matching()
        if not matches:
            raise FileNotFoundError(f"{self.name}: no object matches this pattern")
        return sorted({name for key, is_file in matches for name in self._taken(key, is_file)})

    def siblings(self) -> list[str]:
        """The last parts of the names of all objects in the same folder."""
        return [found.base_name for found in self._list(self.key.rpartition("/")[0])]

    def _check_parts(self, file: Any) -> None:
        """:class:`StoreError` if the second byte of a file cannot be had without the first."""
        beginning = file.read(64)
        if len(set(beginning)) > 1:
            file.seek(1)
            if file.read(len(beginning) - 1) != beginning[1:]:
                raise StoreError(self.name, WHOLE)
            _sends_parts.add(self.root)
        file.seek(0)

    def _present(self) -> FileInfo:
        from pyarrow.fs import FileType

        found = self.info()
        if found.type == FileType.NotFound:
            raise StoreError(self.name, "the object is gone")
        return found

    def _taken(self, key: str, is_file: bool) -> list[str]:
        if not is_file:
            return self._within(key)
        return [] if key.rpartition("/")[2].startswith((".", "_")) else [masked(f"{self.root}/{key}")]

    def _within(self, folder: str) -> list[str]:
        names = []
        for found in self._list(folder, recursive=True):
            key = self._key(found)
            *folders, name = key[len(folder) :].strip("/").split("/")
            if found.is_file and not name.startswith((".", "_")) and not any(one.startswith(".") for one in folders):
                names.append(masked(f"{self.root}/{key}"))
        return sorted(names)

    def _matching(self) -> list[tuple[str, bool]]:
        """The keys that match the pattern, level by level, and whether each is an object."""
        found = [("", False)]
        for part in self.key.strip("/").split("/"):
            below: list[tuple[str, bool]] = []
            for key in [key for key, is_file in found if not is_file]:
                if part == "**":
                    inner = self._below(key, recursive=True)
                    below += [(key, False), *((self._key(one), False) for one in inner if not one.is_file)]
                elif GLOB.search(part):
                    inner = self._below(key)
                    below += [(self._key(one), one.is_file) for one in inner if fnmatchcase(one.base_name, part)]
                else:
                    below.append((f"{key}/{part}".lstrip("/"), False))
            found = below
        return self._existing(found)

    def _existing(self, found: list[tuple[str, bool]]) -> list[tuple[str, bool]]:
        """Those that there are: a part without a pattern was not looked up."""
        if GLOB.search(self.key.rstrip("/").rpartition("/")[2]):
            return found
        made = [(key, RemoteFile(f"{self.root}/{key}").info()) for key, _ in found]
        return [(key, one.is_file) for key, one in made if one.type.value]

    def _below(self, folder: str, *, recursive: bool = False) -> list[FileInfo]:
        """What is in a folder, with folders: Google's store lists those alone that are objects."""
        from pyarrow.fs import FileInfo, FileType

        if self.scheme not in GOOGLE:
            return self._list(folder, recursive=recursive)
        found = {self._key(one): one for one in self._list(folder, recursive=True)}
        for key in list(found):
            while len(key := key.rpartition("/")[0]) > len(folder):
                found.setdefault(key, FileInfo(self.path(key), FileType.Directory))
        return [one for key, one in found.items() if recursive or key.rpartition("/")[0] == folder]

    def _list(self, folder: str, *, recursive: bool = False) -> list[FileInfo]:
        from pyarrow.fs import FileSelector

        with telling(f"{self.root}/{folder}"):
            selector = FileSelector(self.path(folder), allow_not_found=True, recursive=recursive)
            listed = _ended(partial(self._system.get_file_info, selector), f"{self.root}/{folder}")
        for found in listed:
            self._remember(found)
        return listed

    def _remember(self, found: FileInfo) -> None:
        if len(_listed) >= MAX_LISTED:
            _listed.clear()
        if found.is_file:
            _listed[f"{self.root}/{self._key(found)}"] = found

    def _key(self, found: FileInfo) -> str:
        prefix = file_system(self.scheme, self.authority)[1]
        return str(found.path)[len(prefix) :].strip("/")


class _Requests(io.RawIOBase):
    """An object, of which each read is a request; at its end it must still be the same."""

    def __init__(self, of: RemoteFile, file: Any, stamp: str) -> None:
        self._of, self._file, self._stamp = of, file, stamp

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        with telling(self._of.name):
            return int(self._file.seek(offset, whence))

    def readinto(self, buffer: Any) -> int:
        with telling(self._of.name):
            try:
                data = self._file.read(len(buffer))
            except OSError:
                self._of.info()  # may have the reason, which the answer to a request for bytes lacks
                raise
        size = len(data)
        buffer[:size] = data
        if not size and len(buffer) and self._stamp:
            now = self._of.info()
            if now.is_file and _stamp(now) != self._stamp and not self._grows(now):
                raise StoreError(self._of.name, CHANGED)
        return size

    def close(self) -> None:
        self._file.close()
        super().close()

    def _grows(self, now: FileInfo) -> bool:
        """Whether it is a file to which somebody appends, which no store has."""
        return self._of.scheme in HADOOP and int(now.size or 0) >= int(self._stamp.split()[0])


def _ended(listing: Callable[[], list[FileInfo]], name: str) -> list[FileInfo]:
    """Return the result of a listing. Raise :class:`StoreError` if it goes past a limit.

    A library asks for more for as long as the store promises it, and cannot be stopped: it goes on in its thread,
    which ends with the process.
    """
    made: Future[list[FileInfo]] = Future()

    def run() -> None:
        try:
            made.set_result(listing())
        except BaseException as error:
            made.set_exception(error)

    Thread(target=run, daemon=True).start()
    until, most = monotonic() + MAX_LISTING_SECONDS, _peak() + MAX_LISTING_BYTES
    while True:
        if wait([made], LOOKS_EVERY).done:
            return made.result()
        if monotonic() > until or _peak() > most:
            raise StoreError(name, ENDLESS)


def _peak() -> int:
    """Bytes of memory that this process had at most; 0 where the system does not say."""
    if sys.platform == "win32":
        return 0
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _stamp(found: FileInfo) -> str:
    """Of whole seconds: what lists objects says more of some stores than what describes one."""
    seconds = None if found.mtime_ns is None else found.mtime_ns // 1_000_000_000
    return f"{found.size} {seconds}"


def _same(listed: str, described: str) -> bool:
    """Whether two stamps are of one state. A store may take the time for its listing a moment after the other one."""
    (size, then), (now_size, now) = listed.split(), described.split()
    apart = abs(int(now) - int(then)) if then.isdecimal() and now.isdecimal() else int(now != then)
    return size == now_size and apart <= 1
