"""Commands that write files generated from definitions, such as ``generate``, and new projects."""

from __future__ import annotations

import gc
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from kwirec.command import options
from kwirec.command.printing import FINDINGS, counts, echo, show, status
from kwirec.diagnostics.columns import printable
from kwirec.diagnostics.diagnostic import Report

if TYPE_CHECKING:
    from kwirec.driver import Generated, Loaded, Phase
    from kwirec.emitters.write import WriteOutcome
    from kwirec.frontend.notation import Notation
    from kwirec.outputs import Emitted

R = TypeVar("R")


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

    Errors stop the command. Warnings do not affect the exit code. The command replaces and removes only files of an
    earlier run. Any other file in the package's folder is an error.
    """
    from kwirec.driver import generate as run

    options.check_package_name(package)

    def make(loaded: Loaded, phase: Phase) -> Generated:
        return run(loaded, paths, package=package, out=out, check=only_check, phase=phase)

    result = make_from(paths, form, report, notation, quiet, make, guide_url)
    outcome = result.outcome
    lead = f"{result.messages} messages, {result.versions} versions, {result.layouts} distinct layouts"
    echo(f"{lead}; {outcome.lines} lines in {files_text(outcome, result.seconds, only_check)}", err=True)
    show_stale(outcome, out / package, "generate", only_check)


def show_stale(outcome: WriteOutcome, folder: Path, command: str, only_check: bool) -> None:
    """If ``only_check`` is true, print the files that are out of date, and exit if there are any."""
    if only_check and not outcome.is_clean:
        for path in [*outcome.written, *outcome.removed]:
            echo(f"{(folder / path).as_posix()} is out of date: run `kwirec {command}`", err=True)
        sys.exit(FINDINGS)


def make_from(
    paths: Sequence[Path],
    form: str,
    report: Report,
    notation: Notation | None,
    quiet: bool,
    make: Callable[[Loaded, Phase], R | None],
    guide_url: str = "",
) -> R:
    """Load the definitions, and return the result of ``make`` for them.

    Exit if loading or ``make`` reports errors. Otherwise, only print the number of findings.
    """
    from kwirec.driver import OutputNotGeneratedError, load
    from kwirec.terminal import phases

    with phases(quiet=quiet) as phase, _without_collector():
        loaded = load(paths, report, phase, notation=notation)
        try:
            result = None if report.has_errors() else make(loaded, phase)
        except OutputNotGeneratedError as problem:
            raise click.UsageError(printable(str(problem))) from problem
    if result is None or form != "text":
        show(report, form, loaded.schema, guide_url)
    elif report.diagnostics and not quiet:
        echo(f"{counts(report, loaded)}: run `kwirec check` to see them", err=True)
    if result is None:
        echo(f"{counts(report, loaded)}; nothing was written", err=True)
        sys.exit(status(report))
    return result


@contextmanager
def _without_collector() -> Iterator[None]:
    """Disable the garbage collector, which would take up a quarter of the time when a guide is generated.

    Nearly all objects live until the end of the command.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()  # saves the collection of all these objects when the process ends
        if enabled:
            gc.enable()


def files_text(outcome: WriteOutcome, seconds: float, only_check: bool) -> str:
    """Return a summary with the number of files in each state and the elapsed time."""
    differ, obsolete = ("differ", "obsolete") if only_check else ("written", "removed")
    return (
        f"{outcome.unchanged + len(outcome.written)} files, {len(outcome.written)} {differ}, "
        f"{len(outcome.removed)} {obsolete}; {seconds:.1f} s"
    )


@click.command()
@click.argument("templates")
@options.paths
@options.notation
@options.reporting
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder to write to.")
@click.option(
    "--only",
    multiple=True,
    metavar="SELECTION",
    help="Messages and versions, such as `FetchRequest:newest,Produce*:9`.",
)
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Set a template parameter.")
@click.option(
    "--format-with",
    "formatters",
    multiple=True,
    metavar="SUFFIX=COMMAND",
    help="Command that formats files with a suffix, such as `.go=gofmt`. black formats `.py`.",
)
@click.option(
    "--timeout", type=click.FloatRange(0.1), default=60, show_default=True, help="Maximum CPU time for rendering."
)
@options.only_check
@options.quiet
def emit(
    templates: str,
    paths: Sequence[Path],
    form: str,
    report: Report,
    out: Path,
    only: Sequence[str],
    settings: Sequence[str],
    formatters: Sequence[str],
    timeout: float,
    only_check: bool,
    quiet: bool,
    notation: Notation | None,
) -> None:
    """Render TEMPLATES with the definitions in PATHS, and write the files to a folder.

    TEMPLATES is a folder of Jinja templates, or the name of templates that come with kwirec. The `emit.toml` in the
    folder lists the templates, and the part of the definitions for which each template runs. Templates run in a
    sandbox without access to files, and their time, memory and output are limited.

    Errors stop the command. The command replaces and removes only files of an earlier run. Any other file in the
    folder is an error.
    """
    from kwirec.outputs import Limits
    from kwirec.outputs import emit as run
    from kwirec.view import SelectionError

    parameters = dict(_pair(one, "NAME=VALUE") for one in settings)
    commands = {
        suffix: shlex.split(command) for suffix, command in (_pair(one, "SUFFIX=COMMAND") for one in formatters)
    }

    def make(loaded: Loaded, phase: Phase) -> Emitted | None:
        try:
            return run(
                loaded,
                paths,
                templates,
                out=out,
                report=report,
                only=",".join(filter(None, only)),
                parameters=parameters,
                formatters=commands,
                check=only_check,
                limits=Limits(seconds=timeout),
                phase=phase,
            )
        except SelectionError as problem:
            raise click.UsageError(printable(f"--only: {problem}")) from problem

    result = make_from(paths, form, report, notation, quiet, make)
    echo(f"{result.messages} messages; {files_text(result.outcome, result.seconds, only_check)}", err=True)
    show_stale(result.outcome, out, "emit", only_check)


def _pair(text: str, form: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value.strip()):
        raise click.UsageError(f"{text!r} is not {form}")
    return name, value


@click.command()
@click.argument("name")
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("--notation", type=click.Choice(["json", "krammar"]), default="json", show_default=True)
@click.option("--templates", is_flag=True, help="Create templates for `kwirec emit`, with a test, and no protocol.")
@click.option(
    "--ci",
    type=click.Choice(["github"]),
    help="Write a workflow that checks pull requests. FOLDER may contain a protocol.",
)
def new(name: str, folder: Path | None, notation: Notation, templates: bool, ci: str | None) -> None:
    """Create a starter protocol with tests in FOLDER (default: ./NAME).

    NAME is the name of the generated Python package, or of the templates. With `--ci`, the command also writes a
    workflow to `.github/workflows` at the top of the repository. If FOLDER already contains `defs`, only the workflow
    is written.
    """
    from kwirec.scaffold import create, create_workflow

    options.check_package_name(name)
    if not name.isascii() or name.strip("_") != name:
        raise click.UsageError(
            f"{name!r} is not a valid distribution name: use ASCII, without leading or trailing underscores"
        )
    if ci and templates:
        raise click.UsageError("--ci is not valid with --templates")
    folder = folder or Path(name)
    is_new = not (ci and (folder / "defs").is_dir())
    try:
        paths = create(name, folder, notation, templates=templates) if is_new else []
        paths += [create_workflow(name, folder)] if ci else []
    except OSError as problem:
        raise click.UsageError(printable(str(problem))) from problem
    for path in paths:
        echo(path.as_posix(), err=True)
    if is_new:
        echo(f"next: cd {folder.as_posix()}; {'pytest' if templates else 'make generate test'}", err=True)
