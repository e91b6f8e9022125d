"""Commands that compare or merge protocols: ``diff``, ``lint-rules`` and ``merge``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kwirec.command import options
from kwirec.command.printing import CLEAN, FINDINGS, USAGE, echo, show, show_unused, status
from kwirec.diagnostics.columns import printable
from kwirec.diagnostics.diagnostic import Report
from kwirec.versions import RELEASE

if TYPE_CHECKING:
    from kwirec.diff.config import DiffConfig
    from kwirec.diff.judge import Judgement
    from kwirec.diff.sides import Side
    from kwirec.frontend.notation import Notation
    from kwirec.merge.merge import MergeOutcome


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="SOURCE...")
@options.reporting
@click.option("--release", required=True, help="Kafka release of SOURCE, such as 4.1.1.")
@click.option("--into", type=click.Path(path_type=Path), default=Path("message_defs/kafka"), show_default=True)
def merge(paths: Sequence[Path], form: str, report: Report, release: str, into: Path) -> None:
    """Merge a Kafka release into the union of releases, and check the union against every release."""
    from kwirec.merge import merge as run

    if not RELEASE.fullmatch(release):
        raise click.UsageError(f"invalid release {release!r}: expected numbers separated by dots")
    outcome = run(into, release, paths, report)
    show(report, form)
    _show_merge(outcome)
    if outcome.failed:
        echo(f"{release} was not merged; no files were written", err=True)
        sys.exit(max(FINDINGS, status(report)))
    echo(
        f"{release} merged: {len(outcome.added)} new messages, {len(outcome.changed)} changed, "
        f"{len(outcome.written)} files written",
        err=True,
    )


def _show_merge(outcome: MergeOutcome) -> None:
    """Print the conflicts and notes of a merge, and the result of the proof."""
    for conflict in outcome.conflicts:
        echo(f"conflict: {conflict}", err=True)
    for note in outcome.notes:
        echo(f"note: {note}", err=True)
    if outcome.proof is not None:
        for mismatch in outcome.proof.mismatches:
            echo(f"mismatch: {mismatch}", err=True)
        echo(
            f"{outcome.proof.proved} (release, message, version) verified, {outcome.proof.excepted} exceptions, "
            f"{len(outcome.proof.mismatches)} mismatches",
            err=True,
        )


def _diff_settings(path: Path | None) -> DiffConfig:
    from kwirec.diff.config import load_diff_config

    return load_diff_config(path)


@click.command()
@click.argument("old")
@click.argument("new")
@click.option(
    "--level",
    type=click.Choice(["wire", "json", "source", "policy"]),
    help="Highest level of changes to report.  [default: wire]",
)
@click.option("--layouts", is_flag=True, help="Compare only bytes, and print the first difference of each version.")
@options.notation
@options.format("text", "markdown", "json", "github", "junit")
@options.config("settings", "tool.kwirec.diff", _diff_settings)
@click.option(
    "--union",
    type=click.Path(path_type=Path),
    default=Path("message_defs/kafka"),
    show_default=True,
    help="Folder with the union of releases for `release:`.",
)
@options.guide_url
def diff(
    old: str,
    new: str,
    level: str | None,
    layouts: bool,
    form: str,
    settings: DiffConfig,
    union: Path,
    notation: Notation | None,
    guide_url: str,
) -> None:
    """Report changes from OLD to NEW, and which of them break compatibility.

    OLD and NEW are each a file, folder, jar, zip or `ARCHIVE!FILE`, a path at a git revision (`git:v1.2:PATH`, or
    `git:main` for the path of the other side), or a release in the union (`release:3.9.1`). `git:main...` is the
    commit where HEAD branched off from `main`. The levels are wire (bytes of a numbered version), json (names in
    request logs), source (generated Python) and policy (evolution rules). Each level includes the previous levels.

    `--layouts` compares only the bytes of any two sources of the same protocol. Requests and responses are paired by
    api key, and other messages by name. The exit code is 1 if any version differs.
    """
    from kwirec.diff.layout_report import FORMATS

    if layouts and (level or form not in FORMATS):
        raise click.UsageError(
            f"--layouts is not valid with --level, and supports only the formats {', '.join(FORMATS)}"
        )
    before, after = _read_sides(old, new, union, notation)
    if layouts:
        sys.exit(_diff_layouts(before, after, form, guide_url))
    sys.exit(_diff_changes(before, after, level, form, settings, guide_url))


def _read_sides(old: str, new: str, union: Path, notation: Notation | None) -> tuple[Side, Side]:
    """Return both sides, or print the reason and exit if either cannot be read."""
    from kwirec.diff.sides import SideError, left_out, read_sides

    report = Report()
    try:
        before, after = read_sides(old, new, union, report, notation)
    except SideError as problem:
        raise click.UsageError(printable(str(problem))) from problem
    if report.has_errors():
        show(report, "text")
        sys.exit(USAGE)
    for sentence in left_out(before, after):
        echo(sentence, err=True)
    return before, after


def _diff_changes(old: Side, new: Side, level: str | None, form: str, settings: DiffConfig, guide: str) -> int:
    """Print the changes between two sides, mark the breaking ones, and return the exit code."""
    from kwirec.diff import Level, compare, judge
    from kwirec.diff.report import diff_summary, render_diff

    at = Level[level.upper()] if level else settings.level
    judgement = judge(compare(old.schema, new.schema), at, old=old.schema, waivers=settings.waivers)
    color = form == "text" and sys.stdout.isatty()
    click.echo(render_diff(judgement, old, new, form, color=color, guide=guide), nl=False)
    show_unused(judgement.unused)
    _show_hint(old.name, new.name, judgement)
    echo(diff_summary(judgement, at), err=True)
    return FINDINGS if judgement.breaking else CLEAN


def _show_hint(old: str, new: str, judgement: Judgement) -> None:
    """Print how to select one release if a union of releases has messages or versions that the other side lacks."""
    from kwirec.diff.changes import MessageRemoved, VersionMaxLowered, VersionMinRaised
    from kwirec.diff.sides import GIT
    from kwirec.merge.history import read_history

    lost = (MessageRemoved, VersionMaxLowered, VersionMinRaised)
    if new.startswith(GIT) or not any(isinstance(judged.change, lost) for judged in judgement.findings):
        return
    names = read_history(Path(old)).names
    if names and not read_history(Path(new)).names:
        echo(
            f"hint: {old} contains all releases from {names[0]} to {names[-1]}. To compare a single release, use "
            f"`release:{names[-1]}` with `--union {old}`",
            err=True,
        )


def _diff_layouts(old: Side, new: Side, form: str, guide: str) -> int:
    """Print how the layouts of two sides differ, and return the exit code."""
    from kwirec.diff.layout_report import layouts_summary, render_layouts
    from kwirec.diff.layouts import compare_layouts

    found = compare_layouts(old.schema, new.schema)
    echo(render_layouts(found, old.name, new.name, form, guide), nl=False)
    echo(layouts_summary(found, old.name, new.name), err=True)
    return FINDINGS if found.parting else CLEAN


@click.command("lint-rules")
@options.format("text", "json", "markdown")
def lint_rules(form: str) -> None:
    """List the rules of `kwirec diff` with their levels."""
    from kwirec.diff import RULES
    from kwirec.diff.report import list_rules

    echo(list_rules(RULES, form), nl=False)
