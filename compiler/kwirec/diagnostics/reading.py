"""Reads sources from files, folders, ``.jar`` and ``.zip`` archives and ``.jsonl`` bundles, in a stable order.

All functions add problems to a report instead of raising exceptions.
"""

from __future__ import annotations

import codecs as encodings
import os
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path, PurePosixPath

from kwirec.diagnostics import codes
from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.source import Source, Span

DEFINITION_SUFFIXES = (".json", ".jsonl", ".krm")
FRANZ_GO = frozenset({"enums", "misc"})
"""Names of files that identify a folder of franz-go's definitions. All files without a suffix in such a folder are
definitions.
"""
ARCHIVE_SUFFIXES = (".jar", ".zip")

METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Supported compression methods. With other methods, a few bytes can take any amount of memory to unpack."""
HEADER = 30
"""The minimum size, in bytes, of the header before each file in an archive."""

MAX_MEMBERS, MAX_BYTES = 1 << 16, 2 << 20
"""The maximum number of files in an archive, and the maximum size of the definitions that are compiled together, in
bytes. The size limit also applies to the JSON files in an archive, because a small archive may unpack to gigabytes.
The definitions of a Kafka release take 0.7 MiB, and compiling them takes 100 times as much memory.
"""

TOO_MUCH = f"more than {MAX_BYTES >> 20} MiB of definitions in total: pass fewer files at a time"


@dataclass
class _Room:
    """A counter of the bytes that may still be read."""

    left: int

    def take(self, data: bytes) -> bytes:
        """Count and return these bytes. Raises ``ValueError`` if they exceed the limit."""
        self.left -= len(data)
        if self.left < 0:
            raise ValueError(TOO_MUCH)
        return data


NOT_DEFINITIONS = frozenset(
    {
        "releases.json",
        "layouts.json",
        "exceptions.json",
        "errors.json",
        "api_errors.json",
        "examples.jsonl",
        "kips.json",
        "release_kips.json",
    }
)
"""Names of files in definition folders that hold other data than definitions."""


def read_sources(paths: Iterable[Path], report: Report, *, required: bool = True, member: str = "") -> list[Source]:
    """Return all definition sources under ``paths``, sorted within each path and without duplicates.

    With ``required``, a path without definitions is an error because it is probably mistyped. If ``member`` is not
    empty, only the member of this name is read from archives. Each call reads at most :data:`MAX_BYTES`.
    """
    room = _Room(MAX_BYTES)
    sources: dict[Path, list[Source]] = {}
    for path in paths:
        before = len(report.diagnostics)
        files = [(file.resolve(), file) for file in _files(path, report)]
        for resolved, file in files:
            if resolved not in sources and room.left >= 0:
                sources[resolved] = list(_read(file, report, member, room))
        if required and not any(sources.get(resolved) for resolved, _ in files) and len(report.diagnostics) == before:
            help = "in folders, kwirec reads only files that end in .json, .jsonl or .krm"
            helps = [help] if path.is_dir() else []
            report.add(codes.NO_DEFINITIONS, f"no definitions in `{path.as_posix()}`", _whole(path), helps=helps)
    return list(chain.from_iterable(sources.values()))


def _files(path: Path, report: Report) -> Iterator[Path]:
    if path.is_dir():
        suffixes = DEFINITION_SUFFIXES + ARCHIVE_SUFFIXES

        def unreadable(problem: OSError) -> None:
            _unreadable(report, Path(str(problem.filename)), problem.strerror or str(problem))

        found: list[Path] = []
        for folder, _, names in os.walk(path, onerror=unreadable):
            known = (*suffixes, "") if names and FRANZ_GO.issubset(names) else suffixes
            found += (Path(folder, name) for name in names if Path(name).suffix in known)
        yield from sorted(p for p in found if p.name not in NOT_DEFINITIONS and not p.name.startswith("."))
    elif path.exists():
        yield path
    else:
        _unreadable(report, path, "no such file or folder")


def _read(path: Path, report: Report, member: str, room: _Room) -> Iterator[Source]:
    try:
        if not path.is_file():  # reading a pipe or a device may never end
            _unreadable(report, path, "not a regular file")
        elif path.suffix in ARCHIVE_SUFFIXES:
            yield from _read_archive(path, report, member, room)
        else:
            with path.open("rb") as file:
                data = file.read(MAX_BYTES + 1)
            yield from decode(path.as_posix(), room.take(data), report)
    except (OSError, EOFError, RuntimeError, ValueError, zipfile.BadZipFile, zlib.error) as problem:
        # Archives that are encrypted or use another compression method raise RuntimeError or ValueError.
        _unreadable(report, path, str(problem))


def _read_archive(path: Path, report: Report, only: str, room: _Room) -> Iterator[Source]:
    with zipfile.ZipFile(path) as archive:
        for member in _members(archive, only):
            with archive.open(member) as file:
                data = file.read(member.file_size)  # without a size, the whole member would be unpacked
            json = PurePosixPath(member.filename).suffix != ".krm"
            if not json or b'"validVersions"' in data or b'"fields"' in data:  # other JSON files are skipped
                yield from decode(f"{path.as_posix()}!{member.filename}", room.take(data), report)


def _members(archive: zipfile.ZipFile, only: str) -> list[zipfile.ZipInfo]:
    """Return the definitions in an archive, sorted by name, or only the member ``only``.

    Raises ``ValueError`` if the archive is too large, uses an unsupported compression method or has overlapping
    members.
    """
    members, end = sorted(archive.infolist(), key=lambda member: member.header_offset), 0
    for member in members:
        if member.compress_type not in METHODS:
            raise ValueError(f"`{member.filename}` is compressed with a method other than deflate")
        if member.header_offset < end:
            raise ValueError(f"`{member.filename}` overlaps another file in the archive")
        end = member.header_offset + HEADER + member.compress_size
    paths = [(PurePosixPath(member.filename), member) for member in members]
    found = [file for path, file in paths if path.suffix in DEFINITION_SUFFIXES and path.name not in NOT_DEFINITIONS]
    found = [file for file in found if only in ("", file.filename)]
    size = sum(member.file_size for member in found)
    if len(members) > MAX_MEMBERS or size > MAX_BYTES:
        contents = f"{len(members)} files (at most {MAX_MEMBERS}) with {size} bytes of JSON (at most {MAX_BYTES})"
        raise ValueError(f"the archive has {contents}: unpack it and pass the folder of the definitions")
    return sorted(found, key=lambda member: member.filename)


def decode(name: str, data: bytes, report: Report) -> Iterator[Source]:
    """Yield the source of a file, or report that its content is not UTF-8."""
    data = data.removeprefix(encodings.BOM_UTF8)
    try:
        yield Source(name, data.decode("utf-8"))
    except UnicodeDecodeError as problem:
        text = data.decode("utf-8", errors="replace")
        source = Source(name, text)
        at = len(data[: problem.start].decode("utf-8", errors="replace"))
        report.add(codes.NOT_UTF8, "the file is not UTF-8", Span(source, at, at + 1), label=str(problem.reason))


def _unreadable(report: Report, path: Path, reason: str) -> None:
    report.add(codes.UNREADABLE, f"cannot read `{path.as_posix()}`", _whole(path), label=reason)


def _whole(path: Path) -> Span:
    """Return an empty span for findings about a path as a whole."""
    return Span(Source(path.as_posix(), ""), 0, 0)
