"""Objects of stores, and files of cluster file systems, by Arrow's file systems: ``s3``, ``gs``, ``abfss``, ``hdfs``;
and what ``fsspec`` knows, such as ``https``, if it is installed.

Credentials come from the chain of each library: the environment, its configuration files, the machine's role. Parts
of objects are requested as they are needed, and nothing is written but a probe of ``--out``.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo, FileSystem

SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):/{1,2}(?P<authority>[^/]*)/*(?P<path>.*)", re.DOTALL)
OF_ARROW = frozenset({"s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs"})
GOOGLE = frozenset({"gs", "gcs"})
S3 = frozenset({"s3", "s3a", "s3n"})
"""The names that Hadoop has for it too."""
HADOOP = frozenset({"hdfs", "viewfs"})
WEB = frozenset({"http", "https"})
QUERY = re.compile(r"\?[\w.%-]+=")
HOST = re.compile(r"(?:\[[0-9A-Fa-f:.%]+\]|[^:?]*)(?::\d+)?")
"""A host or bucket, with a port; what else follows a colon may be a password that has a slash."""
GLOB = re.compile(r"[*?\[]")
MOST_LISTED = 1_000_000
"""Objects of which sizes are kept."""
REFUSED = "Hadoop could not reach it, or refused: what it says is above"

_REASONS = (
    (r"(?i)expired", "the credentials have expired: renew them"),
    (r"ACCESS_DENIED|AccessDenied|INVALID_ACCESS_KEY|SIGNATURE_DOES_NOT|InvalidAccessKey|SignatureDoesNot|\b40[13]\b"
     r"|[Ff]orbidden|PERMISSION_DENIED|[Pp]ermission denied",
     "access is denied: check the credentials and their rights"),
    (r"NO_SUCH_BUCKET|NoSuchBucket|BucketNotFound", "there is no such bucket"),
    (r"NO_SUCH_KEY|NoSuchKey|RESOURCE_NOT_FOUND|does not exist", "the object is gone"),
    (r"Unable to load libjvm", "hdfs needs Java: set JAVA_HOME"),
    (r"Unable to load libhdfs",
     "hdfs needs libhdfs.so of a Hadoop installation: set HADOOP_HOME, or ARROW_LIBHDFS_DIR"),
    (r"HDFS connection failed", "hdfs needs Hadoop's jars: set CLASSPATH to what `hadoop classpath --glob` prints"),
    (r"HDFS.*Unknown error 255", REFUSED),
)  # fmt: skip
"""What stores say, and what to say of it."""
_AWS = re.compile(r"AWS Error .*?\(HTTP status (\d+)\).*? operation:\s*(?:Unable to parse ExceptionName: )?(.*)")


def refuse_secrets(name: str) -> None:
    """:class:`ValueError` for an address with what may be a password or token, whose message does not have it.

    A ``?`` in a key of a store may be of a pattern, unless it gives a value.
    """
    found = SCHEME.fullmatch(name)
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


class StoreError(OSError):
    """What a store answered, in one line without addresses and request ids."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(0, reason, name)


@lru_cache(maxsize=64)
def file_system(scheme: str, authority: str) -> tuple[FileSystem, str]:
    """The file system of names with this beginning, and what its paths begin with."""
    from pyarrow.fs import FSSpecHandler, PyFileSystem

    root = f"{scheme}://{authority}/"
    if scheme in S3:
        return _s3(authority), authority
    if scheme in OF_ARROW:
        found, path = from_uri(f"{root}?retry_limit_seconds=30" if scheme in GOOGLE else root)
        return found, path.rstrip("/")
    try:
        from fsspec.core import url_to_fs  # type: ignore[import-not-found]
    except ImportError:
        raise StoreError(root, f"{scheme}: needs fsspec: pip install fsspec{' aiohttp' * (scheme in WEB)}") from None
    found, path = url_to_fs(root)
    return PyFileSystem(FSSpecHandler(found)), path.rstrip("/")


def _s3(bucket: str) -> FileSystem:
    """With the endpoint of ``AWS_ENDPOINT_URL``, as other clients of S3; else in the bucket's region."""
    from pyarrow.fs import S3FileSystem

    if endpoint := os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL"):
        return S3FileSystem(endpoint_override=endpoint.rstrip("/"))
    if os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"):
        return S3FileSystem()
    return from_uri(f"s3://{bucket}/")[0]


def from_uri(address: str) -> tuple[FileSystem, str]:
    """Arrow's file system for an address, and the path in it."""
    from pyarrow.fs import FileSystem

    found: tuple[FileSystem, str] = FileSystem.from_uri(address)
    return found


@contextmanager
def telling(name: str) -> Iterator[None]:
    """Raise :class:`StoreError` for whatever a library raises about an object."""
    try:
        yield
    except StoreError:
        raise
    except Exception as error:  # libraries of stores raise errors of their own
        raise StoreError(name, reason_of(error)) from error


def reason_of(error: Exception) -> str:
    """An error of a library in a few words."""
    text = " ".join(str(error).split())
    for known, reason in _REASONS:
        if re.search(known, text):
            return reason
    if found := re.search(r"Could ?n[o']t (?:connect|resolve)[^;]*|Timeout was reached", text, re.IGNORECASE):
        return f"the store cannot be reached: {found[0]}"
    if found := _AWS.search(text):
        return f"the store answered {found[1]}: {found[2][:200]}".rstrip(": ")
    return f"{text[:200] or type(error).__name__}"


_listed: dict[str, FileInfo] = {}


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
            return _Requests(self, self._system.open_input_file(self.path()), stamp)

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
            raise FileNotFoundError(f"{self.name}: no such object or folder")
        matches = self._matching()
        if not matches:
            raise FileNotFoundError(f"{self.name}: no object matches this pattern")
        return sorted({name for key, is_file in matches for name in self._taken(key, is_file)})

    def beside(self) -> list[str]:
        """The last parts of the names of all objects in the same folder."""
        return [found.base_name for found in self._list(self.key.rpartition("/")[0])]

    def _present(self) -> FileInfo:
        from pyarrow.fs import FileType

        found = self.info()
        if found.type == FileType.NotFound:
            raise StoreError(self.name, "the object is gone")
        return found

    def _taken(self, key: str, is_file: bool) -> list[str]:
        if not is_file:
            return self._within(key)
        return [] if key.rpartition("/")[2].startswith((".", "_")) else [f"{self.root}/{key}"]

    def _within(self, folder: str) -> list[str]:
        names = []
        for found in self._list(folder, recursive=True):
            key = self._key(found)
            *folders, name = key[len(folder) :].strip("/").split("/")
            if found.is_file and not name.startswith((".", "_")) and not any(one.startswith(".") for one in folders):
                names.append(f"{self.root}/{key}")
        return sorted(names)

    def _matching(self) -> list[tuple[str, bool]]:
        """The keys that match the pattern, level by level, and whether each is an object."""
        found = [("", False)]
        for part in self.key.strip("/").split("/"):
            below: list[tuple[str, bool]] = []
            for key in [key for key, is_file in found if not is_file]:
                if part == "**":
                    inner = self._list(key, recursive=True)
                    below += [(key, False), *((self._key(one), False) for one in inner if not one.is_file)]
                elif GLOB.search(part):
                    inner = self._list(key)
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

    def _list(self, folder: str, *, recursive: bool = False) -> list[FileInfo]:
        from pyarrow.fs import FileSelector

        with telling(f"{self.root}/{folder}"):
            selector = FileSelector(self.path(folder), allow_not_found=True, recursive=recursive)
            listed: list[FileInfo] = self._system.get_file_info(selector)
        for found in listed:
            self._remember(found)
        return listed

    def _remember(self, found: FileInfo) -> None:
        if len(_listed) >= MOST_LISTED:
            _listed.clear()
        if found.is_file:
            _listed[f"{self.root}/{self._key(found)}"] = found

    def _key(self, found: FileInfo) -> str:
        prefix = file_system(self.scheme, self.authority)[1]
        return str(found.path)[len(prefix) :].strip("/")


CHANGED = "the object changed while it was read: read it again"


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


def _stamp(found: FileInfo) -> str:
    """Of whole seconds: what lists objects says more of some stores than what describes one."""
    seconds = None if found.mtime_ns is None else found.mtime_ns // 1_000_000_000
    return f"{found.size} {seconds}"


def _same(listed: str, described: str) -> bool:
    """Whether two stamps are of one state. A store may take the time for its listing a moment after the other one."""
    (size, then), (now_size, now) = listed.split(), described.split()
    apart = abs(int(now) - int(then)) if then.isdecimal() and now.isdecimal() else int(now != then)
    return size == now_size and apart <= 1
