"""Adds Kafka releases to ``message_defs/kafka``: ``make update RELEASE=4.5.0``, or ``make update`` for all releases
on Maven that are missing.

The update fetches the jars of a release and merges their definitions. Nothing is written unless the merged
definitions provably have the bytes of every release. The update reads error codes and enum values from the release's
own classes, and drafts enums for new classes. The update also stores the definitions for the tests, generates code,
compares the code with Kafka's own classes, and writes the newest release's vectors. The report ``build/update.md``
lists the remaining manual work, a draft for the changelog, and the changes. The update requires Maven and a JDK.

The exit code is 1 if a release was not merged, if Kafka's classes differ, or if ``--check`` finds missing releases.
The exit code is 2 if Maven or Java failed, and otherwise 0.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from kwire_guide.kips import read_kips
from kwire_guide.reasons import unexplained
from kwirec.diagnostics.columns import printable
from kwirec.diagnostics.diagnostic import Report
from kwirec.diff import Level, compare, judge
from kwirec.diff.changes import Change, MessageAdded, VersionAdded
from kwirec.diff.report import render_diff
from kwirec.diff.sides import read_sides
from kwirec.driver import load
from kwirec.lowering import lower
from kwirec.markdown import prose
from kwirec.merge import MergeOutcome, merge
from kwirec.merge.history import read_history, release_key
from kwirec.versions import RELEASE
from tools import ROOT, UNION, enum_classes, enums, error_codes, facts
from tools.enums import NewEnum
from tools.error_codes import ERRORS, ErrorCode
from tools.maven import Jars, MavenError, bring, releases

REPORT = ROOT / "build" / "update.md"
DIFFERENCES = ROOT / "build" / "conformance" / "differences.txt"
SHOWN, WIDTH = 20, 600
"""Maximum number of differences from Kafka's classes in the report, and maximum length of each, in characters."""
LACKING = " has no description"
SHARED = ("apis", "coordinators", "data")
"""Folders that should contain only subfolders. Definitions belong in a subfolder or in a neighbouring folder."""


@dataclass(frozen=True)
class Update:
    """The result of adding a release."""

    jars: Jars
    outcome: MergeOutcome
    new_errors: tuple[ErrorCode, ...]
    new_values: tuple[str, ...]
    new_enums: tuple[NewEnum, ...] = ()


class NotMergedError(ValueError):
    """A release contradicts the existing definitions, and nothing was written."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.update", description=__doc__)
    parser.add_argument("release", nargs="*", type=_release, help="release to add (default: all missing releases)")
    parser.add_argument("--check", action="store_true", help="only print the missing releases")
    options = parser.parse_args(arguments)
    try:
        if options.check:
            for release, messages in read_history(UNION).unpublished.items():
                print(
                    f"{release} is incomplete: Maven lacked the modules with {', '.join(messages)}", file=sys.stderr
                )
        names = sorted(options.release, key=release_key) or missing(releases())
        if options.check or not names:
            print("\n".join(names) or "no release is missing")
            return 1 if names else 0
        done = []
        for jars in bring(names):
            done.append(take_in(jars))
            print(f"{jars.release} is merged, and proved", flush=True)
        subprocess.run(["make", "--silent", "generate", "docs"], cwd=ROOT, check=True)
        differences = compared_with_java(names)
    except (MavenError, ValueError, subprocess.CalledProcessError) as problem:
        print(printable(str(problem)), file=sys.stderr)
        return 1 if isinstance(problem, ValueError) else 2
    left = [*left_to_do(done), *differences]
    REPORT.write_text("".join(f"{line}\n" for line in report(done, left)))
    print("\nLeft to do:", *map(printable, left or ["nothing"]), sep="\n  ")
    print(f"the changes and a draft for the changelog are in {REPORT.relative_to(ROOT)}")
    return 1 if differences else 0


def _release(text: str) -> str:
    if not RELEASE.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a release such as 4.5.0")
    return text


def missing(there: Sequence[str]) -> list[str]:
    """Return the releases in ``there`` that have not been merged."""
    known = read_history(UNION).merged
    return [release for release in there if release not in known]


def take_in(jars: Jars) -> Update:
    """Merge a release, and write its error codes, enum values and facts."""
    findings = Report()
    found, classes = error_codes.error_codes(jars), enum_classes.classes_of(jars.folder)
    outcome = merge(UNION, jars.release, [jars.folder], findings, incomplete=bool(jars.missing))
    if outcome.failed:
        reasons = [*(one.message for one in findings.diagnostics), *outcome.conflicts]
        reasons += map(str, outcome.proof.mismatches if outcome.proof else ())
        raise NotMergedError("\n".join([f"{jars.release} was not merged", *reasons]))
    facts.store(facts.stored() | {jars.release: facts.facts_of(jars)})
    known = error_codes.read(ERRORS)
    values: list[str] = []
    new_enums: list[NewEnum] = []
    if read_history(UNION).merged[-1] == jars.release:  # the newest release determines names
        error_codes.write(ERRORS, error_codes.updated(known, found, jars.release))
        values = enums.take(UNION, enum_classes.of_the_union(classes))
        new_enums = enums.take_new(UNION, classes)
    codes = {one.code for one in known}
    new_errors = tuple(one for one in found if one.code not in codes)
    return Update(jars, outcome, new_errors, tuple(values), tuple(new_enums))


def compared_with_java(releases: Sequence[str]) -> list[str]:
    """Compare the releases with Kafka's classes, write the newest release's vectors, and return the differences."""
    DIFFERENCES.unlink(missing_ok=True)
    command = [sys.executable, "-m", "tests.conformance", "--update-vectors"]
    ran = subprocess.run([*command, *(f"--release={one}" for one in releases)], cwd=ROOT, check=False)
    if ran.returncode and not DIFFERENCES.exists():
        return ["Kafka's classes could not be compared: run `make conformance` for details"]
    lines = DIFFERENCES.read_text().splitlines()
    more = [f"and {len(lines) - SHOWN} more, see {DIFFERENCES.relative_to(ROOT)}"] if len(lines) > SHOWN else []
    return [*(f"Kafka's classes differ: {line[:WIDTH]}" for line in lines[:SHOWN]), *more]


def report(done: Sequence[Update], left: Sequence[str]) -> Iterator[str]:
    """Yield the lines of the update report, as Markdown. ``left`` is the remaining work."""
    yield from ("# Left to do", "", *(f"- {prose(line)}" for line in left), "", "# Draft for the changelog", "")
    compared = [(update, *_compared(update.jars.release)) for update in done]
    for update, changes, _ in compared:
        news = "; ".join(_news(changes, update))
        yield f"- Kafka {update.jars.release}: {news or 'the same messages and versions as the previous release'}."
    for _, _, text in compared:
        yield from ("", text)
    yield from ("# What changed here", "")
    here = UNION.relative_to(ROOT).as_posix()
    diff = [sys.executable, "-m", "kwirec", "diff", "git:HEAD", here, "--level", "policy", "--format", "markdown"]
    yield subprocess.run(diff, cwd=ROOT, capture_output=True, text=True, check=False).stdout


def _compared(release: str) -> tuple[list[Change], str]:
    """Return the changes since the previous release, and the ``kwirec diff`` report about them."""
    names = read_history(UNION).merged
    before = names[names.index(release) - 1]
    old, new = read_sides(f"release:{before}", f"release:{release}", UNION, Report())
    changes = compare(old.schema, new.schema)
    return changes, render_diff(judge(changes, Level.POLICY, old=old.schema), old, new, "markdown", color=False)


def _news(changes: Sequence[Change], update: Update) -> Iterator[str]:
    """Yield a phrase for each kind of change that matters to users of the definitions."""
    if added := sorted(change.message.name for change in changes if isinstance(change, MessageAdded)):
        yield f"new messages {', '.join(added)}"
    versions: dict[str, int] = {}
    for change in changes:
        if isinstance(change, VersionAdded):
            versions[change.message.name] = max(change.versions)
    if versions:
        yield "new versions " + ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    if update.new_errors:
        yield "new error codes " + ", ".join(f"{one.code} ({one.name})" for one in update.new_errors)
    if update.new_values:
        yield f"new values of enums {', '.join(update.new_values)}"
    if drafted := [one.origin.short_name for one in update.new_enums if one.drafted]:
        yield f"new enums {', '.join(drafted)}"


def left_to_do(done: Sequence[Update]) -> Iterator[str]:
    """Yield the remaining manual work."""
    findings = Report()
    schema = load([UNION], findings).schema
    for name, group in groupby(findings.diagnostics, lambda one: one.primary.span.source.name):
        messages = [one.message for one in group]
        lacking = [message.removesuffix(LACKING) for message in messages if message.endswith(LACKING)]
        said = [message for message in messages if not message.endswith(LACKING)]
        said += [f"describe {', '.join(lacking)}"] if lacking else []
        yield f"`{Path(name).relative_to(ROOT)}`: {'; '.join(said)}"
    for one in error_codes.read(ERRORS):
        if not one.about:
            yield f"`errors.json`: error {one.code} (`{one.name}`) has no description"
    for entry in read_history(UNION).exceptions:
        if not entry.reason:
            releases = ", ".join(entry.releases)
            where = f"{entry.message} {entry.version} has different bytes in {releases}"
            yield f"`exceptions.json`: add the reason why {where}"
    unclear = unexplained(schema, lower(schema), read_kips([UNION]))
    for name, pairs in groupby(unclear, lambda one: one[0]):
        versions = ", ".join(str(version) for _, version in pairs)
        yield f"`{name}`: explain version {versions} in a comment such as `// Version 3 adds …` (KIP)"
    for path in sorted(path for folder in SHARED for path in (UNION / folder).glob("*.json")):
        yield f"`{path.relative_to(ROOT)}`: move the file to a subfolder or to a neighbouring folder"
    for enum in done[-1].new_enums if done else ():
        yield str(enum)
    for update in done:
        for note in update.outcome.notes:
            yield f"{update.jars.release}: {note}"
        if update.jars.missing:
            modules = ", ".join(update.jars.missing)
            yield f"{update.jars.release}: Maven lacks {modules}. Merge the release again when Maven has them"


if __name__ == "__main__":
    sys.exit(main())
