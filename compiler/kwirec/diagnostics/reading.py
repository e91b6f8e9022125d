"""Paths → sources: files, folders, ``.jar`` and ``.zip`` archives, ``.jsonl`` bundles, in a stable order.

Reading problems are reported, never raised.
"""

from __future__ import annotations

import codecs as encodings
import os
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from kwirec.diagnostics import codes
from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.source import Source, Span

DEFINITION_SUFFIXES = (".json", ".jsonl")
ARCHIVE_SUFFIXES = (".jar", ".zip")

NOT_DEFINITIONS = frozenset({"releases.json", "layouts.json", "exceptions.json", "errors.json"})
"""Files in folders of definitions that are not definitions."""


def read_sources(paths: Iterable[Path], report: Report, *, required: bool = True) -> list[Source]:
    """All definition sources under ``paths``, each path's in sorted order, no file twice.

    With ``required``, a path without definitions is an error because it is probably mistyped.
    """
    sources: list[Source] = []
    seen: set[Path] = set()
    for path in paths:
        found = False
        before = len(report.diagnostics)
        for file in _files(path, report):
            resolved = file.resolve()
            found = found or resolved in seen
            if resolved not in seen:
                seen.add(resolved)
                read = list(_read(file, report))
                found = found or bool(read)
                sources += read
        if required and not found and len(report.diagnostics) == before:
            span = Span(Source(path.as_posix(), ""), 0, 0)
            report.add(codes.NO_DEFINITIONS, f"no definitions in `{path.as_posix()}`", span)
    return sources


def _files(path: Path, report: Report) -> Iterator[Path]:
    if path.is_dir():
        suffixes = DEFINITION_SUFFIXES + ARCHIVE_SUFFIXES

        def unreadable(problem: OSError) -> None:
            _unreadable(report, Path(str(problem.filename)), problem.strerror or str(problem))

        names = [Path(folder, name) for folder, _, names in os.walk(path, onerror=unreadable) for name in names]
        yield from sorted(p for p in names if p.suffix in suffixes and p.name not in NOT_DEFINITIONS)
    elif path.exists():
        yield path
    else:
        _unreadable(report, path, "no such file or folder")


def _read(path: Path, report: Report) -> Iterator[Source]:
    try:
        if path.suffix in ARCHIVE_SUFFIXES:
            yield from _read_archive(path, report)
        else:
            yield from _split(path.as_posix(), path.read_bytes(), report)
    except (OSError, EOFError, RuntimeError, ValueError, zipfile.BadZipFile, zlib.error) as problem:
        # RuntimeError and ValueError: archives that are encrypted or compressed in ways zipfile does not know.
        _unreadable(report, path, str(problem))


def _read_archive(path: Path, report: Report) -> Iterator[Source]:
    with zipfile.ZipFile(path) as archive:
        for name in sorted(archive.namelist()):
            if name.endswith(DEFINITION_SUFFIXES) and PurePosixPath(name).name not in NOT_DEFINITIONS:
                if _may_define(data := archive.read(name)):
                    yield from _split(f"{path.as_posix()}!{name}", data, report)


def _may_define(data: bytes) -> bool:
    """Whether a JSON file in a jar can be a definition: it has fields or versions."""
    return b'"validVersions"' in data or b'"fields"' in data


def _split(name: str, data: bytes, report: Report) -> Iterator[Source]:
    data = data.removeprefix(encodings.BOM_UTF8)
    try:
        yield Source(name, data.decode("utf-8"))
    except UnicodeDecodeError as problem:
        text = data.decode("utf-8", errors="replace")
        source = Source(name, text)
        at = len(data[: problem.start].decode("utf-8", errors="replace"))
        report.add(codes.NOT_UTF8, "the file is not UTF-8", Span(source, at, at + 1), label=str(problem.reason))


def _unreadable(report: Report, path: Path, reason: str) -> None:
    span = Span(Source(path.as_posix(), ""), 0, 0)
    report.add(codes.UNREADABLE, f"cannot read `{path.as_posix()}`", span, label=reason)
