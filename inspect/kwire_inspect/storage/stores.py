"""Reads objects in object stores, and files in cluster file systems.

Arrow's libraries read ``s3``, ``gs``, ``abfss`` and ``hdfs``. ``fsspec`` reads other addresses if it is installed.

Objects are requested in parts, as needed. The only object that this module writes is a probe that tests write access
to ``--out``. Each library finds credentials in the usual places: environment variables, configuration files and the
machine's role.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn, TypeAlias
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo, FileSystem

SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+)://(?P<authority>[^/]*)/*(?P<path>.*)", re.DOTALL)
_MEANT = re.compile(SCHEME.pattern.replace("://", ":/{1,2}"), re.DOTALL)
"""Pattern that matches an address, even if it lacks one of the two slashes."""
QUERY = re.compile(r"\?[\w.%-]+=")
HOST = re.compile(r"(?:\[[0-9A-Fa-f:.%]+\]|[^:?]*)(?::\d+)?")
"""Pattern of a host or bucket with an optional port. Any other text after a colon could be a password that contains
a slash."""
GLOB = re.compile(r"[*?\[]")
_HIDDEN = re.compile(r"/\.|/_[^/]*\Z")
MASKED = "…"
"""Replacement for the end of an object name whose key may contain a secret."""
PEEKED, REQUESTED = 1 << 18, 1 << 22
"""Number of bytes per request when detecting an object's type, and when reading the object."""
MAX_LISTED = 1_000_000
"""Maximum number of objects whose sizes are cached."""
MAX_LISTING_SECONDS, MAX_LISTING_BYTES = 300.0, 1 << 30
"""Maximum duration of a listing in seconds, and maximum growth in process memory during a listing in bytes."""
LOOKS_EVERY = 0.2
"""Seconds between checks of a listing against its limits."""
ENDLESS = "the list of objects is too long or endless: specify a folder or a pattern with fewer objects"
CHANGED = "the object changed while it was read: read it again"
S3 = frozenset({"s3", "s3a", "s3n"})
"""URI schemes of S3, including Hadoop's."""
GOOGLE = frozenset({"gs", "gcs"})
AZURE = frozenset({"abfs", "abfss"})
HADOOP = frozenset({"hdfs", "viewfs"})
WEB = frozenset({"http", "https"})
UNNOTICED = GOOGLE | AZURE
"""Schemes whose Arrow libraries do not detect that a store sent a whole object instead of the requested part."""
CONNECTION_STRING = "AZURE_STORAGE_CONNECTION_STRING"
REFUSED = "Hadoop could not reach the cluster or was refused access: see the messages above"
WHOLE = "the store ignores range requests: download the object, or pipe it to standard input"

_REASONS = (
    (r"(?i)expired", "the credentials have expired: renew them"),
    (r"INVALID_ACCESS_KEY|InvalidAccessKey|XAdminUserNotFound",
     "the store does not know the access key: check the credentials"),
    (r"Could not create a OAuth2 access token|failed to get token from|All the provided credentials failed",
     "no credentials were found, or their source cannot be reached"),
    (r"support range requests|Failed to flush response stream", WHOLE),
    (r"ACCESS_DENIED|AccessDenied|SIGNATURE_DOES_NOT|SignatureDoesNot|\b40[13]\b|UNAUTHENTICATED|[Ff]orbidden"
     r"|PERMISSION_DENIED|[Pp]ermission denied",
     "access is denied: check the credentials and their permissions"),
    (r"NO_SUCH_BUCKET|NoSuchBucket|BucketNotFound", "there is no such bucket"),
    (r"NO_SUCH_KEY|NoSuchKey|RESOURCE_NOT_FOUND|does not exist", "the object no longer exists"),
    (r"Unable to load libjvm", "hdfs needs Java: set JAVA_HOME"),
    (r"Unable to load libhdfs",
     "hdfs needs libhdfs.so from a Hadoop installation: set HADOOP_HOME or ARROW_LIBHDFS_DIR"),
    (r"HDFS connection failed", "hdfs needs Hadoop's jars: set CLASSPATH to the output of `hadoop classpath --glob`"),
    (r"HDFS.*Unknown error 255", REFUSED),
)  # fmt: skip
"""Patterns of error messages, and the reason to report for each."""
_AWS = re.compile(
    r"AWS Error .*?\(HTTP status (\d+)\).*? operation:\s*(?:Unable to parse ExceptionName: )?"
    r"(.*?)(?: \(Request ID.*)?$"
)


Folders: TypeAlias = dict[str, set[tuple[str, bool]]]
"""Maps the key of each folder to the keys in the folder, each with a flag that is true for objects."""

_listed: dict[str, FileInfo] = {}
_sends_parts: set[str] = set()
"""Address prefixes of stores that are known to support range requests."""


class RemotePlace:
    """An object or folder in a store, with the methods of ``LocalPlace``.

    No request is made until a method needs one.
    """

    def __init__(self, name: str) -> None:
        found = SCHEME.fullmatch(name)
        assert found is not None
        self.scheme, self.authority, self.key = found["scheme"].lower(), found["authority"], found["path"]
        self.root = f"{self.scheme}://{self.authority}"
        self.name = f"{self.root}/{self.key}"
        if not self.authority:
            raise ValueError(f"{name}: no bucket or host: write {self.scheme}://NAME/PATH")

    @property
    def _system(self) -> FileSystem:
        return file_system(self.scheme, self.authority)[0]

    def path(self, key: str | None = None) -> str:
        """Return the path of this object, or of another key, within its file system."""
        prefix = file_system(self.scheme, self.authority)[1]
        key = (self.key if key is None else key).rstrip("/")
        return f"{prefix}/{key}" if key else prefix or "/"

    def info(self) -> FileInfo:
        """Request the type, size and modification time from the store, in one or two requests."""
        with telling(self.name):
            try:
                found = self._system.get_file_info(self.path())
            except OSError as error:
                if "No response body" in str(error):
                    self._list(self.key)  # the response may explain the error
                raise
        if self.scheme in HADOOP and not found.type.value and not self._system.get_file_info("/").type.value:
            raise StoreError(self.name, REFUSED)  # a root always exists, so the cluster was not reached
        return found

    def size(self) -> int:
        """Return the size in bytes from the last listing of the object. If the object was never listed, ask the
        store."""
        known = _listed.get(self.name)
        return int((known or self._present()).size or 0)

    def stamp(self) -> str:
        """Return a string that changes when the object does."""
        return _stamp(self._present())

    def listed_stamp(self) -> str:
        """Return the stamp from the last listing by this process, or an empty string if there was none."""
        return _stamp(_listed[self.name]) if self.name in _listed else ""

    def is_folder(self) -> bool:
        return str(self.info().type.name) == "Directory"

    def opened(self, peek: bool = False, expected: str = "") -> BinaryIO:
        """Open a file object that requests bytes from the store as they are read.

        Raises ``StoreError`` if the object's stamp is not ``expected``, or changes while the object is read. With
        ``peek``, changes are not detected.
        """
        stamp = "" if peek else self.stamp()
        if expected and not _same(expected, stamp):
            raise StoreError(self.name, CHANGED)
        with telling(self.name):
            file = self._system.open_input_file(self.path())
            if self.scheme in UNNOTICED and self.root not in _sends_parts:
                self._check_parts(file)
            return io.BufferedReader(_Requests(self, file, stamp), PEEKED if peek else REQUESTED)

    def check(self) -> None:
        """Do nothing, because opening the object reports errors early enough."""

    def absolute(self) -> str:
        return self.name

    def probe(self) -> None:
        """Write a small object and remove it. Raise ``StoreError`` if either step fails."""
        with telling(self.root):
            with self._system.open_output_stream(self.path()) as made:
                made.write(bytes(1))
            self._system.delete_file(self.path())

    def files(self) -> list[str]:
        """Return the sorted names of this object, of the objects below this folder, or of the objects that match a
        pattern.

        As for local files, names that start with ``.`` or ``_`` are omitted, except folders whose names start with
        ``_``.
        """
        found = self.info()
        if found.is_file:
            self._remember(found)
            return [self.name]
        matches = [(self.key.rstrip("/"), False)]
        if found.type.name != "Directory":
            if not GLOB.search(self.key):
                self._list(self.key)  # unlike the response about the bucket, this response may explain the error
                raise FileNotFoundError(f"{self.name}: no such object or folder")
            matches = list(self._matching())
        if not matches:
            raise FileNotFoundError(f"{self.name}: no object matches this pattern")
        return sorted({masked(f"{self.root}/{key}") for match in matches for key in self._within(*match)})

    def siblings(self) -> list[str]:
        """Return the base names of all objects in the same folder."""
        return [found.base_name for found in self._list(self.key.rpartition("/")[0])]

    def _check_parts(self, file: Any) -> None:
        """Raise ``StoreError`` if the store ignores the offset of a range request."""
        beginning = file.read(64)
        if len(set(beginning)) > 1:
            file.seek(1)
            if file.read(len(beginning) - 1) != beginning[1:]:
                raise StoreError(self.name, WHOLE)
            _sends_parts.add(self.root)
        file.seek(0)

    def _present(self) -> FileInfo:
        found = self.info()
        if not found.type.value:
            raise StoreError(self.name, "the object no longer exists")
        return found

    def _within(self, key: str, is_file: bool) -> list[str]:
        """Return the key of an object, or the keys below a folder. Omit hidden objects."""
        folder = key.rpartition("/")[0] if is_file else key
        keys = [key] if is_file else [self._key(one) for one in self._list(key, recursive=True) if one.is_file]
        return [one for one in keys if not _HIDDEN.search(f"/{one[len(folder) :].strip('/')}")]

    def _matching(self) -> Iterator[tuple[str, bool]]:
        """Search level by level. Yield each key that matches the pattern, and whether it belongs to an object."""
        known: Folders = {}
        found = {("", False)}
        for part in self.key.strip("/").split("/"):
            below: set[tuple[str, bool]] = set()
            for folder in [key for key, is_file in found if not is_file]:
                if part == "**":
                    inner = self._folders(folder, recursive=True)
                    known.update(inner)
                    below.update((one, False) for one in inner)
                elif folder in known or GLOB.search(part):
                    if folder not in known:
                        known.update(self._folders(folder))
                    below.update(one for one in known[folder] if fnmatchcase(one[0].rpartition("/")[2], part))
                else:
                    below.add((f"{folder}/{part}".lstrip("/"), False))
            found = below
        for key, is_file in found:
            if key in known or key.rpartition("/")[0] in known:
                yield key, is_file
            elif (now := RemotePlace(f"{self.root}/{key}").info()).type.value:  # no folder was listed at this level
                yield key, now.is_file

    def _folders(self, folder: str, *, recursive: bool = False) -> Folders:
        """Return the keys in a folder and, with ``recursive``, in all folders below it.

        Google Cloud Storage lists only objects, so its folders are derived from the keys of the objects.
        """
        found: Folders = {folder: set()}
        for one in self._list(folder, recursive=recursive or self.scheme in GOOGLE):
            key, is_file = self._key(one), one.is_file
            while len(key) > len(folder):
                above = key.rpartition("/")[0]
                found.setdefault(above, set()).add((key, is_file))
                key, is_file = above, False
        return found

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


class MaskedPlace(RemotePlace):
    """An object whose key may contain a secret. Such an object is never read."""

    def check(self) -> NoReturn:
        raise StoreError(
            self.name, "the key may contain a secret, which tables would show: copy the object to another key"
        )

    def info(self) -> NoReturn:
        self.check()

    def opened(self, peek: bool = False, expected: str = "") -> NoReturn:
        self.check()

    def is_folder(self) -> bool:
        return False

    def files(self) -> list[str]:
        return [self.name]


class _Requests(io.RawIOBase):
    """A file that requests the bytes of an object as they are read. At the end of the file, it checks that the object
    is unchanged."""

    def __init__(self, of: RemotePlace, file: Any, stamp: str) -> None:
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
                self._of.info()  # unlike the response to a range request, this response may explain the error
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
        """Return whether this is a file in a cluster file system that has grown. Objects in stores never grow."""
        return self._of.scheme in HADOOP and int(now.size or 0) >= int(self._stamp.split()[0])


def _ended(listing: Callable[[], list[FileInfo]], name: str) -> list[FileInfo]:
    """Return the result of a listing. Raise ``StoreError`` if the listing exceeds a limit.

    A library keeps requesting pages while the store announces more pages, and cannot be interrupted. If a limit is
    exceeded, the thread of the library runs until the process exits.
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
    """Return the peak memory use of this process in bytes, or 0 if the system does not report it."""
    if sys.platform == "win32":
        return 0
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _stamp(found: FileInfo) -> str:
    """Return a stamp made of the size in bytes and the modification time in whole seconds. Some stores list more
    precise times than they report for an object."""
    seconds = None if found.mtime_ns is None else found.mtime_ns // 1_000_000_000
    return f"{found.size} {seconds}"


def _same(listed: str, described: str) -> bool:
    """Return whether two stamps describe the same state of an object. The times in the stamps may differ by a second,
    because some stores update the listed time a moment later."""
    (size, then), (now_size, now) = listed.split(), described.split()
    apart = abs(int(now) - int(then)) if then.isdecimal() and now.isdecimal() else int(now != then)
    return size == now_size and apart <= 1


@lru_cache(maxsize=64)
def file_system(scheme: str, authority: str) -> tuple[FileSystem, str]:
    """Return the file system for a scheme and authority, and the prefix of its paths."""
    from pyarrow.fs import FSSpecHandler, PyFileSystem

    root = f"{scheme}://{authority}/"
    if scheme in S3:
        return _s3(authority), authority
    if scheme in AZURE and (account := connected(authority)):
        return account, authority.rpartition("@")[0]
    if scheme in GOOGLE | AZURE | HADOOP:
        found, path = from_uri(f"{root}?retry_limit_seconds=30" if scheme in GOOGLE else root)
        return found, path.rstrip("/")
    try:
        from fsspec.core import url_to_fs  # type: ignore[import-not-found]
    except ImportError:
        raise StoreError(
            root, f"{scheme} addresses need fsspec: pip install fsspec{' aiohttp' * (scheme in WEB)}"
        ) from None
    found, path = url_to_fs(root)
    return PyFileSystem(FSSpecHandler(found)), path.rstrip("/")


def _s3(bucket: str) -> FileSystem:
    """Connect to ``AWS_ENDPOINT_URL``, as other S3 clients do, or to the bucket's region."""
    from pyarrow.fs import S3FileSystem

    if endpoint := os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL"):
        return S3FileSystem(endpoint_override=endpoint.rstrip("/"))
    if os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"):
        return S3FileSystem()
    return from_uri(f"s3://{bucket}/")[0]


def connected(authority: str) -> FileSystem | None:
    """Connect with ``AZURE_STORAGE_CONNECTION_STRING`` if it is for this account, as other Azure clients do."""
    from pyarrow.fs import AzureFileSystem

    pairs = (part.split("=", 1) for part in os.environ.get(CONNECTION_STRING, "").split(";") if "=" in part)
    given = {name.strip(): value for name, value in pairs}
    name = given.get("AccountName", "")
    if not name or name != authority.rpartition("@")[2].partition(".")[0]:
        return None
    host = f"{name}.blob.{given.get('EndpointSuffix', 'core.windows.net')}"
    address = urlsplit(given.get("BlobEndpoint") or f"{given.get('DefaultEndpointsProtocol', 'https')}://{host}")
    blob = address.netloc.removeprefix(name)  # starts with a dot, or is a host that expects the account in the path
    secrets = {"account_key": given.get("AccountKey"), "sas_token": given.get("SharedAccessSignature")}
    return AzureFileSystem(
        name,
        blob_storage_authority=blob,
        blob_storage_scheme=address.scheme,
        dfs_storage_authority=blob.replace(".blob.", ".dfs.", 1),
        dfs_storage_scheme=address.scheme,
        **{key: value for key, value in secrets.items() if value},
    )


def from_uri(address: str) -> tuple[FileSystem, str]:
    """Return Arrow's file system for an address, and the path within it."""
    from pyarrow.fs import FileSystem

    found: tuple[FileSystem, str] = FileSystem.from_uri(address)
    return found


def refuse_secrets(name: str) -> None:
    """Raise ``ValueError`` for an address that contains a password or token. The message does not repeat the secret.

    A ``?`` in an object key may be a wildcard, unless an ``=`` follows.
    """
    found = _MEANT.fullmatch(name)
    if found is None:
        return
    scheme, authority, key = found["scheme"].lower(), found["authority"], found["path"]
    user, _, host = authority.rpartition("@")
    is_host = HOST.fullmatch(host) is not None
    has_port = ":" in host and scheme not in HADOOP
    cut = not is_host or (has_port and "@" in key)  # a password that contains a slash
    web = scheme in WEB and ("?" in key or "@" in authority or "@" in key)
    if cut or web or ":" in user or QUERY.search(key):
        shown = host if is_host and "@" not in key else "…"
        raise ValueError(
            f"{scheme}://{shown}: an address with a password, or with a query that may contain a secret, is not "
            "accepted because tables show addresses"
        )


def masked(name: str) -> str:
    """Return the name of a listed object with any secret masked. Anyone with write access may have chosen the
    key."""
    try:
        refuse_secrets(name)
    except ValueError:
        found = SCHEME.fullmatch(name)
        assert found is not None
        return f"{name[: found.start('path')]}{re.split('[?@]', found['path'])[0]}{MASKED}"
    return name


class StoreError(OSError):
    """A store's error message, in one line without addresses or request IDs."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(0, reason, name)


@contextmanager
def telling(name: str) -> Iterator[None]:
    """Convert any error that a library raises for an object to ``StoreError``."""
    try:
        yield
    except StoreError:
        raise
    except Exception as error:  # libraries define their own exceptions
        raise StoreError(name, reason_of(error)) from error


def reason_of(error: Exception) -> str:
    """Return a short description of a library's error."""
    text = " ".join(str(error).split())
    for known, reason in _REASONS:
        if re.search(known, text):
            return reason
    if found := re.search(r"Could ?n[o']t (?:connect|resolve)[^;]*|Timeout was reached", text, re.IGNORECASE):
        return f"the store cannot be reached: {found[0]}"
    if found := _AWS.search(text):
        return f"the store answered {found[1]}: {found[2][:200]}".rstrip(": ")
    return f"{text[:200] or type(error).__name__}"
