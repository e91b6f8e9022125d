"""Reads members of tar and zip archives in place.

Members of an uncompressed tar are read directly from the tar file. A compressed tar is first decompressed into an
unnamed temporary file. Member names are never used as local paths. The number of members, the decompressed size and
the memory for headers are limited.
"""

from __future__ import annotations

import errno
import io
import os
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from tempfile import TemporaryFile, gettempdir
from threading import Lock
from typing import IO, Any, BinaryIO, cast

from kwire_inspect.storage.decompression import HEAD, DamagedStreamError, decompressed, is_compressed_head

Open = Callable[[], BinaryIO]

BETWEEN = "!/"
"""Separator between the archive name and the member name, as in Java's JAR URLs."""
MAX_MEMBERS = 65_536
MAX_BYTES = 4 << 30
"""Maximum decompressed size of an archive in bytes."""
MAX_ZEROS = 64 << 30
"""Maximum number of zero bytes in a decompressed archive. Zero bytes need no disk space, and the index files that
Kafka preallocates contain many of them."""
MAX_HEADER = 1 << 20
"""Maximum size of a tar header in bytes. A header is read into memory, and may declare any size."""
MAX_LIST = 32 << 20
"""Maximum size of a zip's central directory in bytes."""
BUFFER = 1 << 17
TAR, ZIP = b"ustar", (b"PK\x03\x04", b"PK\x05\x06")
TAR_AT = 257
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
KNOWN = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}


def is_archive(head: bytes) -> bool:
    """Return whether a file whose decompressed content starts with these bytes is an archive."""
    return head[TAR_AT : TAR_AT + len(TAR)] == TAR or head.startswith(ZIP)


class _TooManyError(Exception):
    def __str__(self) -> str:
        return f"more than {MAX_MEMBERS} members: unpack the archive"


@dataclass(slots=True)
class Archive:
    """An archive and its list of members.

    ``problem`` explains why the list is incomplete, and is empty if the list is complete. ``skipped`` maps each
    unreadable member to the reason.
    """

    members: dict[str, Open] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    problem: str = ""

    def opened(self, member: str) -> BinaryIO:
        """Open a member for reading and seeking. Raise ``FileNotFoundError`` if the archive has no such member."""
        self.size(member)
        return self.members[member]()

    def size(self, member: str) -> int:
        """Return the size of a member in bytes."""
        if member not in self.sizes:
            raise FileNotFoundError(2, "no such member in the archive", member)
        return self.sizes[member]

    def take(self, name: str, size: int, open_it: Open, reason: str = "") -> bool:
        """Add a member, replacing an earlier member with the same name. Return false if the archive has too many
        members."""
        if len(self.members) + len(self.skipped) >= MAX_MEMBERS:
            self.problem = str(_TooManyError())
            return False
        name = "/".join(part for part in name.split("/") if part not in ("", "."))  # normalized like a path
        self.members.pop(name, None)
        self.skipped.pop(name, None)
        if reason:
            self.skipped[name] = reason
        else:
            self.members[name], self.sizes[name] = open_it, size
        return True


_known: dict[str, tuple[str, Archive]] = {}
MAX_KNOWN = 4


def archive(name: str, stamp: str, open_it: Open) -> Archive:
    """Return the archive in the file that ``open_it`` opens. Raise ``OSError`` if the file cannot be opened. The
    member lists of the last few archives are cached. A different ``stamp`` invalidates the cache entry.
    """
    if name not in _known or _known[name][0] != stamp:
        _known.pop(name, None)
        while len(_known) >= MAX_KNOWN:
            del _known[next(iter(_known))]
        _known[name] = stamp, _read(open_it())
    return _known[name][1]


def _read(file: BinaryIO) -> Archive:
    """Return the archive in a file. The archive keeps this file, or a temporary file with the decompressed content,
    open."""
    found = Archive()
    start = file.peek(HEAD)[:HEAD]  # type: ignore[attr-defined]
    if start.startswith(ZIP):
        _read_zip(file, found)
        return found
    if is_compressed_head(start):
        with file:
            packed, file = file, cast(BinaryIO, TemporaryFile())  # noqa: SIM115
            try:
                found.problem = _unpack(packed, file)
            except OSError as error:
                if error.errno in FULL:
                    place = f"{error.strerror} in {gettempdir()} while decompressing"
                    reason = f"{place}: set TMPDIR to a folder with more free space"
                    raise OSError(error.errno, reason) from None
                raise
    _read_tar(file, found)
    return found


def _unpack(packed: BinaryIO, spool: BinaryIO) -> str:
    """Decompress into a sparse temporary file. Return why decompression ended early, or an empty string."""
    stored = total = 0
    problem = ""
    try:
        for chunk in decompressed(packed):
            if chunk.count(0) == len(chunk):
                spool.seek(len(chunk), os.SEEK_CUR)
            else:
                spool.write(chunk)
                stored += len(chunk)
            total += len(chunk)
            if stored > MAX_BYTES or total - stored > MAX_ZEROS:
                raise DamagedStreamError(f"more than {total >> 30} GiB: unpack the archive")
    except DamagedStreamError as error:
        problem = str(error)
    spool.truncate(spool.tell())
    spool.seek(0)
    return problem


def _read_tar(file: BinaryIO, found: Archive) -> None:
    try:
        with tarfile.open(fileobj=cast(BinaryIO, _Limited(file, MAX_HEADER)), mode="r:") as tar:
            for member in _headers(tar):
                if member.isfile() or member.issparse():
                    reason = "a sparse file in a tar: pack it without --sparse" if member.issparse() else ""
                    make = partial(_part, file, member.offset_data, member.size)
                    found.take(member.name, member.size, make, reason)
            found.problem = found.problem or _after_members(file, tar.offset)
    except _TooManyError as error:
        found.problem = found.problem or str(error)
    except (tarfile.TarError, ValueError, RecursionError, struct.error) as error:
        found.problem = found.problem or f"damaged tar: {error}"


def _headers(tar: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    for _ in range(MAX_MEMBERS):
        if (member := tar.next()) is None:
            return
        tar.members = []  # type: ignore[attr-defined]  # tarfile would keep all members
        if member.size < 0 or tar.offset <= member.offset:  # otherwise the same header would be read again
            raise tarfile.ReadError(f"a member of {member.size} bytes at byte {member.offset}")
        yield member
    if tar.next() is not None:
        raise _TooManyError


def _after_members(file: BinaryIO, at: int) -> str:
    """Return the problem with the data after the last member, or an empty string.

    An archive must end with a block of zeros, but ``tarfile`` does not check this.
    """
    file.seek(at)
    if file.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
        return f"damaged or truncated tar at byte {at}"
    rest = file.read(MAX_HEADER)
    return "data follows the end of the tar: unpack each part" if rest.count(0) != len(rest) else ""


def _read_zip(file: BinaryIO, found: Archive) -> None:
    limited = _LimitedList(file, MAX_LIST)
    try:
        packed = zipfile.ZipFile(cast(BinaryIO, limited))
    except _TooLongError:
        found.problem = "the list of members is too long: unpack the archive"
        return
    except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error) as error:
        found.problem = f"damaged zip: {error}"
        return
    limited.most = MAX_BYTES  # a forward seek in a member reads the skipped bytes
    members = [member for member in packed.infolist() if not member.is_dir()]
    if sum(member.file_size for member in members) > MAX_BYTES:
        found.problem = f"more than {MAX_BYTES >> 30} GiB: unpack the archive"
        return
    for member in members:
        reason = ""
        if member.flag_bits & 1:
            reason = "encrypted"
        elif member.compress_type not in KNOWN:
            reason = "unsupported zip compression: compress the members with deflate"
        if not found.take(member.filename, member.file_size, partial(_unzipped, packed, member), reason):
            return


def _part(file: BinaryIO, start: int, size: int) -> BinaryIO:
    return io.BufferedReader(_Part(file, start, size), BUFFER)


def _unzipped(packed: zipfile.ZipFile, member: zipfile.ZipInfo) -> BinaryIO:
    try:
        return io.BufferedReader(_Unzipped(packed.open(member)), BUFFER)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, struct.error) as error:
        raise OSError(0, f"damaged zip: {error}") from None


class _TooLongError(ValueError):
    pass


class _Limited(io.RawIOBase):
    """A file that refuses to read more than ``most`` bytes at once."""

    def __init__(self, file: BinaryIO, most: int) -> None:
        self._file, self.most = file, most

    def seekable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = b"" if size > self.most else self._file.read(size if size >= 0 else self.most + 1)
        if size > self.most or len(data) > self.most:
            raise _TooLongError(f"a header of {max(size, len(data))} bytes")
        return data

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()


class _LimitedList(_Limited):
    """A zip file that also limits the number of members, because each member needs more memory than its directory
    entry."""

    def read(self, size: int = -1) -> bytes:
        data = super().read(size)
        if self.most == MAX_LIST and data.count(zipfile.stringCentralDir) > 2 * MAX_MEMBERS:  # type: ignore[attr-defined]
            raise _TooLongError(f"more than {2 * MAX_MEMBERS} members")
        return data


class _Part(io.RawIOBase):
    """A range of a file: ``size`` bytes, starting at ``start``. Several parts can share a file, even across
    threads."""

    _lock = Lock()

    def __init__(self, file: BinaryIO, start: int, size: int) -> None:
        self._file, self._start, self._size, self._at = file, start, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        most = max(min(len(buffer), self._size - self._at), 0)
        with self._lock:
            self._file.seek(self._start + self._at)
            data = self._file.read(most)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


@contextmanager
def _telling() -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise OSError(0, f"damaged zip: {error}") from None


class _Unzipped(io.RawIOBase):
    """A member of a zip. Reading damaged data raises ``OSError``."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        with _telling():
            return self._file.seek(offset, whence)

    def readinto(self, buffer: Any) -> int:
        with _telling():
            data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)
