"""Applies the fixes of findings to definitions, for ``kwirec check --fix``.

Adjacent fixes are applied in separate rounds. After each round, the definitions are checked again. Bundles and
archives are not changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.edits import Fix, apart, edited
from kwirec.diagnostics.source import Source
from kwirec.driver import Loaded, load_sources, read_all
from kwirec.formatting import Rewritten, is_bundled
from kwirec.frontend.notation import Dialect, Notation

MAX_ROUNDS = 100
"""Maximum number of rounds. Only hundreds of adjacent fixes would need more rounds."""


@dataclass(frozen=True)
class Fixed:
    """The result of applying fixes: the files, the number of fixes, the loaded schema and the remaining findings."""

    files: Sequence[Rewritten]
    count: int
    loaded: Loaded
    report: Report


def fix_paths(
    paths: Sequence[Path], report: Report, *, notation: Notation | None = None, dialect: Dialect | None = None
) -> Fixed:
    """Apply all fixes to the definitions in ``paths`` and return the result. No file is written."""
    return fix_sources(*read_all(paths, report), report, notation=notation, dialect=dialect)


def fix_sources(
    definitions: Sequence[Source],
    error_codes: Sequence[Source],
    report: Report,
    *,
    notation: Notation | None = None,
    dialect: Dialect | None = None,
) -> Fixed:
    """Apply all fixes to the sources and return the result.

    ``report`` contains the project's severities and waivers, and findings about files that cannot be read.
    """
    originals = [*definitions, *error_codes]
    sources, count = originals, 0
    for number in range(MAX_ROUNDS + 1):
        found = Report(severities=report.severities, waivers=report.waivers)
        for diagnostic in report.diagnostics:
            found.merge(diagnostic)
        parts = sources[: len(definitions)], sources[len(definitions) :]
        loaded = load_sources(*parts, found, notation=notation, dialect=dialect)
        fixes = apart(one.fix for one in found.diagnostics if _can_be_applied(one.fix))
        if not fixes or number == MAX_ROUNDS:
            break
        count += len(fixes)
        sources = [edited(source, fixes) for source in sources]
    files = [Rewritten(before, after.text) for before, after in zip(originals, sources, strict=True)]
    return Fixed(files, count, loaded, found)


def _can_be_applied(fix: Fix) -> bool:
    return bool(fix) and not any(is_bundled(edit.span.source) for edit in fix)
