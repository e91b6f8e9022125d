"""Rehearses the next update: ``make rehearsal`` removes the newest release from a clone and adds it again.

The clone of ``HEAD`` is in ``build/rehearsal``, and is kept if a file differs. :func:`remove` restores the state
before the newest release, and ``make update`` adds the release. :func:`describe` copies the manual work from
``HEAD``: descriptions, reasons and folders. At the end, every file must be as in ``HEAD``. The rehearsal requires
Maven and a JDK. The exit code is 1 if a file differs, 2 if a command failed or changes are not committed, and
otherwise 0.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

from kwirec.diagnostics.diagnostic import Report
from kwirec.driver import load
from kwirec.ir.schema import Message
from kwirec.merge import merge
from kwirec.merge.draft import MessageDraft, draft_of
from kwirec.merge.history import History, history_files, read_history
from kwirec.merge.writer import definition_text
from tools import ROOT, UNION, enums, error_codes, facts
from tools.error_codes import ErrorCode
from tools.maven import Jars, MavenError, bring

CLONE = ROOT / "build" / "rehearsal"
DIFFERENCES = ROOT / "build" / "rehearsal.diff"
ARCHIVE = facts.ARCHIVE.relative_to(ROOT)
VECTORS = Path("tests", "data", "conformance")
COMMIT = ("git", "-c", "user.name=rehearsal", "-c", "user.email=rehearsal@localhost", "commit", "--quiet", "--all")


def main() -> int:
    release, before = newest_two(UNION)
    union = CLONE / UNION.relative_to(ROOT)
    try:
        if _output(ROOT, "git", "status", "--porcelain", "--untracked-files=no"):
            print("commit your changes first, because the rehearsal clones HEAD", file=sys.stderr)
            return 2
        there, then = map(numbers_of, bring([release, before]))
        shutil.rmtree(CLONE, ignore_errors=True)
        _run(ROOT, "git", "clone", "--quiet", str(ROOT), str(CLONE))
        with tempfile.TemporaryDirectory() as folder:
            checked_in = Path(folder, "union")
            shutil.copytree(union, checked_in)
            remove(CLONE, release, there, then)
            _run(CLONE, "make", "generate", "docs")
            _run(CLONE, *COMMIT, "--message", f"Give up {release}")
            _run(CLONE, "make", "update", f"RELEASE={release}")
            describe(union, checked_in)
        _run(CLONE, "make", "generate", "docs")
        _run(CLONE, "git", "add", "--all")
        differs = _output(CLONE, "git", "diff", "--cached", "HEAD~1")
    except (MavenError, ValueError, subprocess.CalledProcessError) as problem:
        print(problem, file=sys.stderr)
        return 2
    DIFFERENCES.write_text(differs)
    if differs:
        print(_output(CLONE, "git", "diff", "--cached", "--stat", "HEAD~1"))
        print(f"files differ after removing and adding {release}: see {DIFFERENCES}")
        return 1
    shutil.rmtree(CLONE)  # the clone is large because of its environment
    print(f"{release} was removed and added again, and all files are unchanged")
    return 0


def newest_two(union: Path) -> tuple[str, str]:
    """Return the two newest merged releases, newest first."""
    before, newest = read_history(union).merged[-2:]
    return newest, before


@dataclass(frozen=True)
class Numbers:
    """The error codes and enum values in a release's own classes."""

    errors: Sequence[ErrorCode]
    enums: enums.Numbers


def numbers_of(jars: Jars) -> Numbers:
    return Numbers(error_codes.error_codes(jars), enums.numbers_of(jars.folder))


def remove(root: Path, release: str, there: Numbers, then: Numbers) -> None:
    """Remove the newest release from the tree ``root``: definitions, history, error codes, enum values, facts and
    vectors. ``there`` holds the numbers of the release, and ``then`` the numbers of the previous release.
    """
    union, archive = root / UNION.relative_to(ROOT), root / ARCHIVE
    bundles = facts.stored(archive)
    _, before = newest_two(union)
    remove_definitions(union, bundles[before])
    facts.store({name: text for name, text in bundles.items() if name != release}, archive)
    errors, new = union / "errors.json", {one.code for one in there.errors} - {one.code for one in then.errors}
    known = [one for one in error_codes.read(errors) if one.code not in new]
    error_codes.write(errors, error_codes.updated(known, list(then.errors), before))
    old = ((name, values, there.enums[name]) for name, values in then.enums.items() if name in there.enums)
    enums.drop(union, {f"{name}.{value}" for name, values, now in old for value in now if value not in values})
    (root / VECTORS / f"{release}.zip").unlink(missing_ok=True)


def remove_definitions(union: Path, bundle: str) -> None:
    """Remove the newest release from ``union``. ``bundle`` holds the definitions of the previous release.

    Remove everything that only the newest release has, and versions whose bytes the release changed. Afterwards,
    merge the previous release again, so that it determines names, defaults and everything else that comes from the
    newest release. Definitions that belong to no release do not change, because Kafka defines them only in code.
    """
    release, before = newest_two(union)
    history = read_history(union)
    messages = [message for message in _messages(union) if message.name in history.layouts]
    history.forget(release)
    other = {(entry.message, entry.version) for entry in history.exceptions if before in entry.releases}
    for message in messages:
        path = Path(message.decl.span.source.name)
        if (left := _without(message, history, release, other)) is None:
            path.unlink()
        else:
            path.write_text(definition_text(left))
    history.exceptions = [entry for entry in history.exceptions if (entry.message, entry.version) not in other]
    known = history.releases[before]
    history.forget(before)  # it may contain names that come only from the newest release
    history.releases[before] = known
    _write_history(union, history)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, f"{before}.jsonl")
        source.write_text(bundle)
        outcome = merge(union, before, [source], Report())
    if outcome.failed:
        reasons = [*outcome.conflicts, *map(str, outcome.proof.mismatches if outcome.proof else ())]
        raise ValueError("\n".join([f"{before} does not fit the definitions without {release}", *reasons]))
    _drop_names(union, {alias for message in messages for alias in _aliases(draft_of(message))})


def _without(message: Message, history: History, release: str, other: Set[tuple[str, int]]) -> MessageDraft | None:
    """Return the draft of a message without the fields of ``release``, which ``history`` lacks.

    Leave out the message versions in ``other``. Return ``None`` if no version remains.
    """
    versions = frozenset(v for v in history.layouts.get(message.name, {}) if (message.name, v) not in other)
    if not versions:
        return None
    draft = draft_of(message).limited_to(versions)
    for struct in draft.structs.values():
        struct.fields = [field for field in struct.fields if field.since != release]
    draft.drop_unused_structs()
    return draft


def _aliases(draft: MessageDraft) -> set[str]:
    fields = (field for struct in draft.structs.values() for field in struct.fields)
    return {*draft.aliases, *(alias for field in fields for alias in field.aliases)}


def _drop_names(union: Path, known: set[str]) -> None:
    """Drop the aliases that are not in ``known``, because they are names from the removed release."""
    for message in _messages(union):
        draft = draft_of(message)
        if _aliases(draft) <= known:
            continue
        for struct in draft.structs.values():
            struct.fields = [
                replace(field, aliases=tuple(name for name in field.aliases if name in known))
                for field in struct.fields
            ]
        left = replace(draft, aliases=tuple(name for name in draft.aliases if name in known))
        Path(message.decl.span.source.name).write_text(definition_text(left))


def describe(union: Path, checked_in: Path) -> None:
    """Copy the work that ``make update`` leaves to maintainers from ``checked_in`` to ``union``."""
    described = {message.name: message for message in _messages(checked_in)}
    for message in _messages(union):
        path = Path(message.decl.span.source.name)
        if (model := described.get(message.name)) is None:
            continue
        place = union / Path(model.decl.span.source.name).relative_to(checked_in)
        text = definition_text(_described(draft_of(message), draft_of(model)))
        path.unlink()
        place.write_text(text)
    about = {one.code: one.about for one in error_codes.read(checked_in / "errors.json")}
    errors = [replace(one, about=about.get(one.code, "")) for one in error_codes.read(union / "errors.json")]
    error_codes.write(union / "errors.json", errors)
    enums.describe(union, checked_in)
    history, reasons = read_history(union), read_history(checked_in)
    for entry in history.exceptions:
        if (same := reasons.excepted(entry.message, entry.version, entry.releases[0])) is not None:
            entry.reason = same.reason
    _write_history(union, history)


def _described(draft: MessageDraft, model: MessageDraft) -> MessageDraft:
    """Return ``draft`` with the texts and enums of ``model`` at the same places."""
    for name, struct in draft.structs.items():
        if name in model.structs:
            struct.doc = model.structs[name].doc
            models = {field.name: field for field in model.structs[name].fields}
            struct.fields = [
                replace(field, doc=same.doc, enum=same.enum) if (same := models.get(field.name)) else field
                for field in struct.fields
            ]
    return replace(draft, doc=model.doc, comment=model.comment)


def _write_history(union: Path, history: History) -> None:
    for name, text in history_files(history).items():
        (union / name).write_text(text)


def _messages(union: Path) -> Sequence[Message]:
    return load([union], Report()).schema.messages


def _run(folder: Path, *command: str) -> None:
    subprocess.run(command, cwd=folder, check=True)


def _output(folder: Path, *command: str) -> str:
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
