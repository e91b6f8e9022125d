"""Commands that read definitions and say or write them: ``check``, ``dump`` and ``convert``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kwirec.command import options
from kwirec.command.printing import FINDINGS, echo, show, show_unused, status
from kwirec.diagnostics.columns import printable
from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.render_text import summary

if TYPE_CHECKING:
    from kwirec.frontend.notation import Dialect, Notation


@click.command()
@options.paths
@options.notation
@options.dialect
@options.reporting
def check(
    paths: Sequence[Path], form: str, report: Report, notation: Notation | None, dialect: Dialect | None
) -> None:
    """Check definitions: files, folders, jars or zips that contain them."""
    from kwirec.driver import load

    loaded = load(paths, report, notation=notation, dialect=dialect)
    show(report, form)
    if form == "text":
        count = sum(len(document.messages) for document in loaded.documents)
        show_unused(waiver for waiver in report.waivers if waiver not in report.used_waivers)
        echo(f"{count} messages checked: {summary(report.diagnostics)}", err=True)
    sys.exit(status(report))


@click.command()
@options.paths
@options.notation
@options.reporting
@click.option("--stage", type=click.Choice(["syntax", "schema", "layout"]), default="schema", show_default=True)
def dump(paths: Sequence[Path], form: str, report: Report, stage: str, notation: Notation | None) -> None:
    """Print the result of a compiler pass as stable text."""
    from kwirec.driver import load
    from kwirec.dump import dump_layouts, dump_schema, dump_syntax
    from kwirec.lowering import lower

    loaded = load(paths, report, notation=notation)
    if stage == "syntax":
        echo(dump_syntax(loaded.documents), nl=False)
    elif stage == "schema":
        echo(dump_schema(loaded.schema), nl=False)
    elif not report.has_errors():
        echo(dump_layouts(loaded.schema, lower(loaded.schema)), nl=False)
    if report.has_errors():
        show(report, form)
        sys.exit(status(report))


@click.command()
@options.paths
@options.notation
@options.reporting
@click.option("--to", type=click.Choice(["json", "krammar"]), required=True, help="The notation to write.")
@click.option("--dialect", type=click.Choice(["kwire", "franz-go"]), help="Whose words of krammar; default: kwire.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The folder to write to.")
@options.only_check
def convert(
    paths: Sequence[Path],
    form: str,
    report: Report,
    notation: Notation | None,
    to: Notation,
    dialect: Dialect | None,
    out: Path,
    only_check: bool,
) -> None:
    """Write definitions in the other notation, or in one form of the same.

    Files keep their folders. Nothing is lost between the notations; what franz-go's dialect cannot say is left out
    and reported. Error codes and facts about releases stay where they are.
    """
    from kwirec.convert import convert as run

    if dialect == "franz-go" and to != "krammar":
        raise click.UsageError("--dialect is for --to krammar")
    try:
        result = run(paths, report, to=to, out=out, dialect=dialect, notation=notation, check=only_check)
    except OSError as problem:
        raise click.UsageError(printable(str(problem))) from problem
    show(report, form)
    if result is None:
        sys.exit(status(report))
    verb = "differ" if only_check else "written"
    echo(f"{len(result.texts)} files, {len(result.changed)} {verb}", err=True)
    if only_check and result.changed:
        for path in result.changed:
            echo(f"{(out / path).as_posix()} is out of date: run `kwirec convert`", err=True)
        sys.exit(FINDINGS)
