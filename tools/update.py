"""Takes releases of Kafka in: ``make update RELEASE=4.5.0``; without RELEASE all that Maven has and the union lacks.

Brings the jars, merges them (which writes nothing unless the proof holds), takes the error codes from the release's
own class, stores its facts for the tests, and writes ``build/update-RELEASE.md``: what is left to do by hand, a draft
for the changelog, and what changed. Takes Maven and a JDK. Exit codes: 0; 1 if a release was not merged or, with
``--check``, if there is a newer one; 2 if Maven failed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kwirec.diagnostics.columns import printable
from kwirec.diagnostics.diagnostic import Report
from kwirec.diff import Level, compare, judge
from kwirec.diff.changes import Change, MessageAdded, VersionAdded
from kwirec.diff.report import render_diff
from kwirec.diff.sides import read_sides
from kwirec.driver import load
from kwirec.merge import MergeOutcome, merge
from kwirec.merge.history import read_history, release_key
from tools import error_codes, facts
from tools.error_codes import ErrorCode
from tools.maven import Jars, MavenError, bring, releases

ROOT = Path(__file__).resolve().parents[1]
UNION = ROOT / "message_defs" / "kafka"
ERRORS = UNION / "errors.json"
REPORTS = ROOT / "build"


@dataclass(frozen=True)
class Update:
    """What taking in one release did."""

    jars: Jars
    outcome: MergeOutcome
    new_errors: tuple[ErrorCode, ...] = ()


class NotMergedError(Exception):
    """A release contradicts the union; nothing of it was written."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.update", description=__doc__)
    parser.add_argument("release", nargs="*", help="default: every release that is missing")
    parser.add_argument("--check", action="store_true", help="only say which releases are missing")
    options = parser.parse_args(arguments)
    try:
        wanted = sorted(options.release, key=release_key) or _missing()
        if options.check:
            print("\n".join(wanted) or "there is no newer release")
            return 1 if wanted else 0
        for jars in bring(wanted):
            done = take_in(jars)
            path = REPORTS / f"update-{jars.release}.md"
            path.write_text("".join(f"{line}\n" for line in _report(done)))
            print(f"{jars.release}: merged and proved; now read {path.relative_to(ROOT)}")
    except (MavenError, NotMergedError) as problem:
        print(printable(str(problem)), file=sys.stderr)
        return 2 if isinstance(problem, MavenError) else 1
    return 0


def _missing() -> list[str]:
    known = read_history(UNION).merged
    return [release for release in releases() if release not in known]


def take_in(jars: Jars) -> Update:
    """Merge one release, and write its error codes and facts."""
    report = Report()
    newest = max(read_history(UNION).merged, key=release_key)
    outcome = merge(UNION, jars.release, [jars.folder], report)
    if outcome.failed:
        reasons = [*(found.message for found in report.diagnostics), *outcome.conflicts]
        reasons += map(str, outcome.proof.mismatches if outcome.proof else ())
        raise NotMergedError("\n".join([f"{jars.release} was not merged", *reasons]))
    facts.store(facts.stored() | {jars.release: facts.facts_of(jars)})
    known = error_codes.read(ERRORS)
    found = error_codes.error_codes(jars)
    if release_key(jars.release) >= release_key(newest):
        error_codes.write(ERRORS, error_codes.updated(known, found))
    numbers = {one.code for one in known}
    return Update(jars, outcome, tuple(one for one in found if one.code not in numbers))


def _report(done: Update) -> Iterator[str]:
    release = done.jars.release
    names = read_history(UNION).names
    before = names[names.index(release) - 1]
    yield f"# Kafka {release} after {before}"
    yield ""
    yield "## Left to do"
    yield ""
    yield from (f"- {line}" for line in _left_to_do(done))
    sides = read_sides(f"release:{before}", f"release:{release}", UNION, Report())
    changes = compare(sides[0].schema, sides[1].schema)
    yield ""
    yield "## Draft for the changelog"
    yield ""
    yield f"- Kafka {release}: {'; '.join(_news(changes, done.new_errors)) or 'the same versions as before'}."
    yield ""
    yield f"## What changed from {before}"
    yield ""
    yield render_diff(judge(changes, Level.POLICY, old=sides[0].schema), *sides, "markdown", color=False)
    yield "## What changed here"
    yield ""
    here = UNION.relative_to(ROOT).as_posix()
    diff = [sys.executable, "-m", "kwirec", "diff", "git:HEAD", here, "--level", "policy", "--format", "markdown"]
    yield subprocess.run(diff, cwd=ROOT, capture_output=True, text=True, check=False).stdout


def _news(changes: Sequence[Change], errors: Sequence[ErrorCode]) -> Iterator[str]:
    """What users of the definitions get, in a phrase each."""
    added = [change.message.name for change in changes if isinstance(change, MessageAdded)]
    if added:
        yield f"new messages {', '.join(sorted(added))}"
    versions: dict[str, list[int]] = {}
    for change in changes:
        if isinstance(change, VersionAdded):
            versions.setdefault(change.message.name, []).extend(change.versions)
    if versions:
        yield "new versions " + ", ".join(f"{name} {max(numbers)}" for name, numbers in sorted(versions.items()))
    if errors:
        yield "new error codes " + ", ".join(f"{one.code} ({one.name})" for one in errors)


def _left_to_do(done: Update) -> Iterator[str]:
    """What no tool can write, or decide."""
    report = Report()
    load([UNION], report)
    for found in report.diagnostics:
        path = Path(found.primary.span.source.name)
        yield f"{found.message} ({found.code.number} in {path.relative_to(ROOT)}): use your own words"
    for one in error_codes.read(ERRORS):
        if not one.about:
            yield f"error code {one.code} ({one.name}) has no description in errors.json"
    for entry in read_history(UNION).exceptions:
        if not entry.reason:
            where = f"{entry.message} version {entry.version} in {', '.join(entry.releases)}"
            yield f"{where} has other bytes: say why in exceptions.json"
    for path in sorted(
        path for folder in {"apis", "coordinators", "data"} for path in (UNION / folder).glob("*.json")
    ):
        yield f"{path.relative_to(ROOT)} is new: move it to the folder where a reader would look for it"
    for module in done.jars.missing:
        yield f"Maven has no {module} of {done.jars.release}: make the update again when it is there"
    yield from done.outcome.notes


if __name__ == "__main__":
    sys.exit(main())
