"""Commands that check, format, print or convert definitions: ``check``, ``fmt``, ``dump`` and ``convert``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kwirec.command import options
from kwirec.command.printing import CLEAN, FINDINGS, counts, echo, show, show_unused, status
from kwirec.diagnostics.columns import printable
from kwirec.diagnostics.diagnostic import Report, did_you_mean

if TYPE_CHECKING:
    from kwirec.driver import Loaded
    from kwirec.fixing import Fixed
    from kwirec.formatting import Rewritten
    from kwirec.frontend.notation import Dialect, Notation


@click.command()
@options.paths
@options.notation
@options.dialect
@options.reporting
@click.option("--fix", is_flag=True, help="Fix findings that have only one sensible correction.")
@click.option("--diff", "only_diff", is_flag=True, help="Print what --fix would change, and write nothing.")
@options.guide_url
def check(
    paths: Sequence[Path],
    form: str,
    report: Report,
    notation: Notation | None,
    dialect: Dialect | None,
    fix: bool,
    only_diff: bool,
    guide_url: str,
) -> None:
    """Check definitions in files, folders, jars or zips.

    `--fix` corrects mistakes in place if only one correction is possible, and keeps all other text. The command then
    prints the remaining findings. `kwirec explain` shows which codes have fixes.

    The exit code is 1 for errors and warnings, and with --diff if anything would change.
    """
    from kwirec.driver import load

    fixed = mend(paths, report, notation, dialect, only_diff=only_diff) if fix or only_diff else None
    loaded = fixed.loaded if fixed else load(paths, report, notation=notation, dialect=dialect)
    report = fixed.report if fixed else report
    if not only_diff:
        show(report, form, loaded.schema, guide_url)
    if form in ("text", "short"):
        count = sum(len(document.messages) for document in loaded.documents)
        fixable = sum(1 for one in report.diagnostics if one.fix)
        show_unused(waiver for waiver in report.waivers if waiver not in report.used_waivers)
        done = f"{'would fix' if only_diff else 'fixed'} {fixed.count}; " if fixed else ""
        done += counts(report, loaded, " left" if fixed else "")
        hint = f"; --fix corrects {fixable}" if fixable and not fixed else ""
        echo(f"{count} message{'' if count == 1 else 's'} checked: {done}{hint}", err=True)
    sys.exit(max(status(report), FINDINGS if only_diff and fixed and fixed.count else CLEAN))


def mend(
    paths: Sequence[Path], report: Report, notation: Notation | None, dialect: Dialect | None, *, only_diff: bool
) -> Fixed:
    """Apply all fixes to the files, or only print the diffs, and return the result."""
    from kwirec.fixing import fix_paths
    from kwirec.formatting import replace_texts

    fixed = fix_paths(paths, report, notation=notation, dialect=dialect)
    if only_diff:
        echo("".join(one.diff() for one in fixed.files), nl=False)
        return fixed
    try:
        replace_texts(fixed.files)
    except OSError as problem:
        raise click.UsageError(printable(str(problem))) from problem
    return fixed


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path, allow_dash=True))
@options.notation
@options.only_check
@click.option("--diff", "only_diff", is_flag=True, help="Print what would change, and write nothing.")
def fmt(paths: Sequence[Path], notation: Notation | None, only_check: bool, only_diff: bool) -> None:
    """Format definitions in files and folders in place.

    Only the layout changes. Attributes and comments keep their order. Archives, `.jsonl` bundles, and files with
    mistakes other than indentation stay as they are. `-` formats standard input to standard output.

    The exit code is 1 for mistakes, and with --check if anything would change.
    """
    from kwirec.diagnostics.reading import MAX_BYTES
    from kwirec.formatting import format_bytes, format_paths

    report = Report()
    if is_filter := list(paths) == [Path("-")]:
        one = format_bytes(sys.stdin.buffer.read(MAX_BYTES + 1), report, notation=notation)
        files = [] if one is None else [one]
    else:
        files = format_paths(paths, report, notation=notation)
    show(report, "text")
    if only_diff:
        echo("".join(one.diff() for one in files), nl=False)
    elif not only_check:
        _write_formatted(files, is_filter)
    if not is_filter:
        _show_formatted(files, report, only_check or only_diff)
    sys.exit(max(status(report), FINDINGS if only_check and any(one.is_changed for one in files) else CLEAN))


def _write_formatted(files: Sequence[Rewritten], is_filter: bool) -> None:
    """Write the files in place. If the command is a filter, write the single text to standard output instead."""
    from kwirec.formatting import replace_texts

    if is_filter and sys.stdout.isatty():
        echo("".join(one.text for one in files), nl=False)
    elif is_filter:
        click.echo("".join(one.text for one in files).encode(), nl=False)
    else:
        try:
            replace_texts(files)
        except OSError as problem:
            raise click.UsageError(printable(str(problem))) from problem


def _show_formatted(files: Sequence[Rewritten], report: Report, only_check: bool) -> None:
    changed = [one.source.name for one in files if one.is_changed]
    for name in changed:
        echo(f"{'would format' if only_check else 'formatted'} {name}", err=True)
    mistaken = len({one.primary.span.source.name for one in report.diagnostics})
    verb = "to format" if only_check else "formatted"
    noun = "file" if len(changed) == 1 else "files"
    mistakes = f", {mistaken} skipped because of mistakes" if mistaken else ""
    echo(f"{len(changed)} {noun} {verb}, {len(files) - len(changed)} unchanged{mistakes}", err=True)


def _print_json_schema(context: click.Context, parameter: click.Parameter, is_set: bool) -> None:
    if is_set:
        from kwirec.view.data import json_schema_text

        click.echo(json_schema_text(), nl=False)
        context.exit()


@click.command()
@options.paths
@options.notation
@options.reporting
@click.option("--stage", type=click.Choice(["syntax", "schema", "layout"]), default="schema", show_default=True)
@click.option("--message", metavar="NAME", help="Print only this message.  [default: all messages and enums]")
@click.option(
    "--json-schema",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_json_schema,
    help="Print the JSON Schema of --format json, and exit.",
)
def dump(
    paths: Sequence[Path], form: str, report: Report, stage: str, message: str | None, notation: Notation | None
) -> None:
    """Print the result of a compiler pass as stable text.

    `--format json` prints the checked definitions and their layouts for programs. If the definitions have errors, the
    command prints the findings instead.
    """
    from kwirec.driver import load
    from kwirec.dump import dump_layouts, dump_schema, dump_syntax
    from kwirec.lowering import lower

    loaded = load(paths, report, notation=notation)
    documents, schema = loaded.documents, loaded.schema
    if message is not None:
        schema = replace(schema, messages=tuple(one for one in schema.messages if one.name == message), enums=())
        found = {one.decl.span.source: one.decl for one in schema.messages}
        documents = tuple(
            replace(one, messages=(found[one.source],), enums=()) for one in documents if one.source in found
        )
        if not (schema.messages or report.has_errors()):
            hint = did_you_mean(message, (one.name for one in loaded.schema.messages))
            raise click.UsageError(printable(f"there is no message `{message}`. {hint}".strip()))
    if form == "json":
        if stage == "syntax":
            raise click.UsageError("--format json is not valid with --stage syntax")
        if not report.has_errors():
            click.echo(_json_text(loaded, paths, message), nl=False)
    elif stage == "syntax":
        echo(dump_syntax(documents), nl=False)
    elif stage == "schema":
        echo(dump_schema(schema), nl=False)
    elif not report.has_errors():
        echo(dump_layouts(schema, lower(loaded.schema)), nl=False)
    if report.has_errors():
        show(report, form)
        sys.exit(status(report))


def _json_text(loaded: Loaded, paths: Sequence[Path], message: str | None) -> str:
    from kwirec.emitters.compat import history_of
    from kwirec.view import Selection, view_of
    from kwirec.view.data import data_text

    selection = None if message is None else Selection.parse(message, loaded.schema)
    return data_text(view_of(loaded.schema, loaded.errors, history_of(paths), selection))


@click.command()
@options.paths
@options.notation
@options.reporting
@click.option("--to", type=click.Choice(["json", "krammar"]), required=True, help="Notation to write.")
@click.option("--dialect", type=click.Choice(["kwire", "franz-go"]), help="Dialect to write.  [default: kwire]")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder to write to.")
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
    """Convert definitions to the other notation, or write them in a uniform layout of the same notation.

    Files stay in the same subfolders. Both notations express the same facts. The command omits and reports facts that
    franz-go's dialect cannot express. Error codes and facts about releases are not converted.
    """
    from kwirec.convert import convert as run

    if dialect == "franz-go" and to != "krammar":
        raise click.UsageError("--dialect is only valid with --to krammar")
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


@click.command()
def schema() -> None:
    """Print a JSON Schema of definition files, for editors."""
    from kwirec.json_schema import schema_text

    click.echo(schema_text(), nl=False)
