"""Runs the passes in order: ``load`` turns paths into a validated schema, and ``generate`` writes the package.

The driver stops after a pass that reports errors.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.reading import read_sources
from kwirec.diagnostics.source import Source
from kwirec.emitters.codecs import emit_module
from kwirec.emitters.compat import emit_compatibility, history_of
from kwirec.emitters.models import emit_models
from kwirec.emitters.modules import group_modules
from kwirec.emitters.package import emit_package
from kwirec.emitters.write import OutputNotGeneratedError as OutputNotGeneratedError
from kwirec.emitters.write import WriteOutcome, write
from kwirec.frontend import Document, ErrorDecl, parse, parse_errors
from kwirec.frontend.notation import Dialect, Notation
from kwirec.ir import Schema, resolve
from kwirec.lowering import Layouts, lower
from kwirec.validation import validate

Phase = Callable[[str, int, int], None]
"""A progress callback, called with the phase, the number of finished items and the total number of items."""


def quiet(phase: str, done: int, total: int) -> None:
    """Ignore progress."""


@dataclass(frozen=True)
class Loaded:
    """The result of ``load``.

    ``schema`` is complete only if the report has no errors. ``validated`` is true if the rules were applied to the
    schema.
    """

    documents: tuple[Document, ...]
    schema: Schema
    errors: tuple[ErrorDecl, ...]
    validated: bool
    started: float


def load(
    paths: Sequence[Path],
    report: Report,
    phase: Phase = quiet,
    *,
    notation: Notation | None = None,
    dialect: Dialect | None = None,
) -> Loaded:
    """Read, parse, resolve and validate the definitions in ``paths``, and add findings to ``report``.

    ``notation`` applies to files whose suffix does not determine the notation. ``dialect`` applies to files in the
    indentation notation.
    """
    started = time.perf_counter()
    sources, errors = read_all(paths, report)
    return load_sources(sources, errors, report, phase, notation=notation, dialect=dialect, started=started)


def read_all(paths: Sequence[Path], report: Report) -> tuple[list[Source], list[Source]]:
    """Return the definition files in ``paths``, and the files of error codes in the same folders."""
    files = [file for path in paths if (file := path / "errors.json").is_file()]
    return read_sources(paths, report), read_sources(files, report)


def load_sources(
    sources: Sequence[Source],
    error_codes: Iterable[Source],
    report: Report,
    phase: Phase = quiet,
    *,
    notation: Notation | None = None,
    dialect: Dialect | None = None,
    started: float = 0,
) -> Loaded:
    """Parse, resolve and validate the sources that :func:`read_all` returns."""
    documents = []
    for number, source in enumerate(sources, 1):
        documents.append(parse(source, report, notation=notation, dialect=dialect))
        phase("parse", number, len(sources))
    errors = parse_errors(error_codes, report)
    schema = resolve(documents, report)
    if validated := not report.has_errors():
        phase("check", 0, len(schema.messages))
        validate(schema, report)
        phase("check", len(schema.messages), len(schema.messages))
    return Loaded(tuple(documents), schema, errors, validated, started)


@dataclass(frozen=True, kw_only=True)
class Generated:
    """The summary of a generator run. ``versions`` is the number of message versions."""

    messages: int
    versions: int
    layouts: int
    outcome: WriteOutcome
    seconds: float


def generate(
    loaded: Loaded,
    paths: Sequence[Path],
    *,
    package: str,
    out: Path,
    check: bool = False,
    phase: Phase = quiet,
) -> Generated:
    """Generate ``package`` in the folder ``out`` and return a summary. With ``check``, write nothing.

    Raises :class:`OutputNotGeneratedError` if the package folder contains files that kwirec did not write.
    """
    schema = loaded.schema
    layouts: Layouts = lower(schema)
    groups = group_modules(schema)
    artifacts = []
    for number, group in enumerate(groups, 1):
        artifacts.append(emit_module(group, layouts.halves))
        phase("emit", number, len(groups))
    artifacts += emit_package(groups, name=package, errors=loaded.errors, enums=schema.enums)
    artifacts += emit_compatibility(layouts, groups, history_of(paths), package=package)
    artifacts += [emit_models(group, package=package) for group in groups]
    outcome = write(
        artifacts,
        out / package,
        origin={"definitions": digest(loaded)},
        check=check,
        progress=lambda done, total: phase("format", done, total),
    )
    return Generated(
        messages=len(schema.messages),
        versions=layouts.count,
        layouts=layouts.distinct,
        outcome=outcome,
        seconds=time.perf_counter() - loaded.started,
    )


def digest(loaded: Loaded) -> str:
    """Return a digest of all definitions that does not depend on file order or file names."""
    texts = sorted(hashlib.sha256(document.source.text.encode()).hexdigest() for document in loaded.documents)
    return hashlib.sha256("".join(texts).encode()).hexdigest()[:16]
