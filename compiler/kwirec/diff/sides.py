"""Reads the sides of a diff.

===================================  ==================================================================
``message_defs/kafka``, ``x.jar``    a file, folder, jar or zip, as for ``kwirec check``
``releases.zip!4.0.0.jsonl``         one file of an archive
``git:main``                         the other side's path at a revision
``git:main...``                      the other side's path where HEAD branched off from ``main``
``git:v1.2:message_defs/kafka``      a path at a revision, relative to the current folder
``release:3.9.1``                    a release in the union
===================================  ==================================================================
"""

from __future__ import annotations

import io
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from kwirec.diagnostics.diagnostic import Report, Severity
from kwirec.diagnostics.reading import read_sources
from kwirec.diagnostics.source import Source
from kwirec.diff.releases import UnknownReleaseError, release_schema
from kwirec.frontend import parse
from kwirec.frontend.notation import Notation
from kwirec.ir import Schema, resolve
from kwirec.validation import validate_before

GIT, SINCE, RELEASE, MEMBER = "git:", "...", "release:", "!"


class SideError(Exception):
    """Raised when a side cannot be read, for example because its revision, release or member is unknown."""


@dataclass(frozen=True)
class Side:
    """A side of a diff. ``incomparable`` contains the messages whose layouts in the release differ from the union.
    ``unpublished`` contains the messages whose module was not published with the release.
    """

    name: str
    schema: Schema
    incomparable: frozenset[str] = frozenset()
    unpublished: frozenset[str] = frozenset()


def read_sides(
    old: str, new: str, union: Path, report: Report, notation: Notation | None = None
) -> tuple[Side, Side]:
    """Return both sides of a diff, and add errors in definitions to ``report``. Raises :class:`SideError`.

    ``notation`` applies to files whose suffix does not determine the notation.
    """
    whole = cache(lambda: _load(read_sources([union], report), report, None))
    sides = tuple(_read(name, other, union, whole, report, notation) for name, other in ((old, new), (new, old)))
    incomparable = frozenset[str]().union(*(side.incomparable | side.unpublished for side in sides))
    messages = (message for side in sides for message in side.schema.messages)
    incomparable |= {name for message in messages if message.name in incomparable for name in message.aliases}
    return _without(sides[0], incomparable), _without(sides[1], incomparable)


def _read(
    name: str, other: str, union: Path, whole: Callable[[], Schema], report: Report, notation: Notation | None
) -> Side:
    if name.startswith(RELEASE):
        try:
            return Side(name, *release_schema(whole(), union, name.removeprefix(RELEASE)))
        except UnknownReleaseError as problem:
            raise SideError(str(problem)) from problem
    if name.startswith(GIT):
        revision, _, path = name.removeprefix(GIT).partition(":")
        if not path and other.startswith((GIT, RELEASE)):
            raise SideError(f"`{name}` needs a path: `{name}:PATH`")
        sources = _at_revision(revision, path or other, report, required=bool(path))
        return Side(name, _load(sources, report, notation))
    archive, bang, member = name.partition(MEMBER)
    sources = read_sources([Path(archive)], report, required=not bang, member=member)
    if bang:
        sources = [source for source in sources if source.name == f"{Path(archive).as_posix()}{MEMBER}{member}"]
        if not sources and not report.has_errors():
            raise SideError(f"`{archive}` does not contain `{member}`")
    return Side(name, _load(sources, report, notation))


def _load(sources: Iterable[Source], report: Report, notation: Notation | None) -> Schema:
    """Return the schema, and add errors that prevent compilation to ``report``.

    Errors about pairs of messages (K7xx) are ignored, so that single files can be compared. After other errors, the
    schema is empty to free memory for the other side.
    """
    findings = Report()
    schema = resolve([parse(source, findings, notation=notation) for source in sources], findings)
    if not findings.has_errors():
        validate_before("K7", schema, findings)
    for diagnostic in findings.diagnostics:
        if diagnostic.severity is Severity.ERROR:
            report.merge(diagnostic)
    return Schema(messages=()) if findings.has_errors() else schema


def _at_revision(revision: str, path: str, report: Report, *, required: bool) -> list[Source]:
    """Return the definitions in ``path`` (relative to the current folder) at ``revision``.

    If ``path`` is not ``required`` and the revision does not have it, the list is empty because everything is new.
    """
    if revision.startswith("-"):
        raise SideError(f"`{revision}` is not a revision")
    target = Path(path).resolve()
    parent = next(folder for folder in target.parents if folder.is_dir())
    root = Path(_git(parent, "rev-parse", "--show-toplevel").decode().strip()).resolve()
    where = target.relative_to(root)
    tip = revision.removesuffix(SINCE)
    try:
        _git(root, "rev-parse", "--verify", f"{tip}^{{tree}}")
    except SideError as problem:
        branch = tip.removeprefix("origin/")
        raise SideError(
            f"there is no revision `{tip}` here: if the checkout is shallow or has no such branch, "
            f"run `git fetch origin {branch}`, and use `git:origin/{branch}`"
        ) from problem
    commit = tip if tip == revision else _merge_base(root, tip)
    if not required and where.parts and not _git(root, "ls-tree", commit, "--", where.as_posix()):
        return []
    archive = _git(root, "archive", "--format=zip", commit, "--", where.as_posix())
    with tempfile.TemporaryDirectory() as folder:
        try:
            zipfile.ZipFile(io.BytesIO(archive)).extractall(folder)
        except (OSError, ValueError, zipfile.BadZipFile) as problem:
            raise SideError(f"git archive --format=zip did not produce a readable archive: {problem}") from problem
        there = Path(folder, where)
        sources = read_sources([there], report)
        names = (source.name.removeprefix(there.as_posix()).lstrip("/") for source in sources)
        shown = (Path(path, name).as_posix() if name else Path(path).as_posix() for name in names)
        return [Source(f"{revision}:{name}", source.text) for name, source in zip(shown, sources, strict=True)]


def _merge_base(root: Path, tip: str) -> str:
    """Return the newest commit that HEAD and ``tip`` have in common."""
    try:
        return _git(root, "merge-base", tip, "HEAD").decode().strip()
    except SideError as problem:
        raise SideError(f"`{tip}` and HEAD have no commit in common: fetch the whole history") from problem


def _git(folder: Path, *arguments: str) -> bytes:
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, check=False)
    except FileNotFoundError as problem:
        raise SideError("git is not installed") from problem
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip().partition("\n")[0].removeprefix("fatal: ")
        raise SideError(f"git {arguments[0]} failed: {reason}")
    return done.stdout


def left_out(old: Side, new: Side, code: Callable[[str], str] = str) -> list[str]:
    """Return a sentence for each reason why messages are not compared, with their names. ``code`` formats a name."""
    reasons = [
        (f"Not compared, because not published with {code(side.name.removeprefix(RELEASE))}", side.unpublished)
        for side in (old, new)
    ]
    differing = old.incomparable | new.incomparable
    reasons.append(("Not compared, because their bytes differ from the union (see `exceptions.json`)", differing))
    return [f"{reason}: {', '.join(map(code, sorted(names)))}" for reason, names in reasons if names]


def _without(side: Side, names: frozenset[str]) -> Side:
    messages = tuple(message for message in side.schema.messages if message.name not in names)
    return replace(side, schema=replace(side.schema, messages=messages))
