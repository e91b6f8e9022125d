"""Commands that write what is made of definitions: ``generate``, and the project of ``new``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kwirec.command import options
from kwirec.command.printing import FINDINGS, counts, echo, show, status
from kwirec.diagnostics.columns import printable
from kwirec.diagnostics.diagnostic import Report

if TYPE_CHECKING:
    from kwirec.driver import Generated, Loaded, Phase
    from kwirec.frontend.notation import Notation


@click.command()
@options.paths
@options.notation
@options.reporting
@click.option("--package", required=True, help="Name of the Python package to generate.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("generated"), show_default=True)
@options.only_check
@options.quiet
@options.guide_url
def generate(
    paths: Sequence[Path],
    form: str,
    report: Report,
    package: str,
    out: Path,
    only_check: bool,
    quiet: bool,
    notation: Notation | None,
    guide_url: str,
) -> None:
    """Generate a package of typed codecs from definitions.

    The package is written if there are no errors; warnings do not affect the exit code. In its folder, only files of
    an earlier run are replaced or removed: any other file is an error.
    """
    from kwirec.driver import generate as run

    options.check_package_name(package)

    def make(loaded: Loaded, phase: Phase) -> Generated:
        return run(loaded, paths, package=package, out=out, check=only_check, phase=phase)

    result = make_from(paths, form, report, notation, quiet, make, guide_url)
    outcome = result.outcome
    lead = f"{result.messages} messages, {result.versions} versions, {result.layouts} distinct layouts"
    echo(f"{lead}; {outcome.lines} lines in {files_text(result, only_check)}", err=True)
    if only_check and not outcome.is_clean:
        for path in [*outcome.written, *outcome.removed]:
            echo(f"{(out / package / path).as_posix()} is out of date: run `kwirec generate`", err=True)
        sys.exit(FINDINGS)


def make_from(
    paths: Sequence[Path],
    form: str,
    report: Report,
    notation: Notation | None,
    quiet: bool,
    make: Callable[[Loaded, Phase], Generated],
    guide_url: str = "",
) -> Generated:
    """Return the result of ``make`` for the definitions. Errors end the program, and other findings are counted."""
    from kwirec.driver import OutputNotGeneratedError, load
    from kwirec.terminal import phases

    with phases(quiet=quiet) as phase:
        loaded = load(paths, report, phase, notation=notation)
        try:
            result = None if report.has_errors() else make(loaded, phase)
        except OutputNotGeneratedError as problem:
            raise click.UsageError(printable(str(problem))) from problem
    if result is None or form != "text":
        show(report, form, loaded.schema, guide_url)
    elif report.diagnostics and not quiet:
        echo(f"{counts(report, loaded)}: `kwirec check` shows them", err=True)
    if result is None:
        echo(f"{counts(report, loaded)}; nothing was written", err=True)
        sys.exit(status(report))
    return result


def files_text(result: Generated, only_check: bool) -> str:
    """Return the number of files and their state in words."""
    outcome = result.outcome
    differ, obsolete = ("differ", "obsolete") if only_check else ("written", "removed")
    return (
        f"{outcome.unchanged + len(outcome.written)} files, {len(outcome.written)} {differ}, "
        f"{len(outcome.removed)} {obsolete}; {result.seconds:.1f} s"
    )


@click.command()
@click.argument("name")
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("--notation", type=click.Choice(["json", "krammar"]), default="json", show_default=True)
def new(name: str, folder: Path | None, notation: Notation) -> None:
    """Create a starter protocol with tests in FOLDER (default: ./NAME).

    NAME is the name of the generated Python package.
    """
    from kwirec.scaffold import create

    options.check_package_name(name)
    if not name.isascii() or name.strip("_") != name:
        raise click.UsageError(
            f"{name!r} is not a valid distribution name: use ASCII, without leading or trailing underscores"
        )
    folder = folder or Path(name)
    try:
        for path in create(name, folder, notation):
            echo(path.as_posix(), err=True)
    except OSError as problem:
        raise click.UsageError(str(problem)) from problem
    echo(f"next: cd {folder.as_posix()}; make generate test", err=True)
