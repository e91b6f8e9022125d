"""The command ``kwirec``. Exit codes: 0 clean or generated, 1 findings, 2 wrong usage or I/O."""

from __future__ import annotations

import keyword
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kwirec import catalogue
from kwirec.config import ConfigError, load_report
from kwirec.diagnostics.columns import printable
from kwirec.diagnostics.diagnostic import Report, Severity, Waiver
from kwirec.diagnostics.render import FORMATS, render
from kwirec.diagnostics.render_text import summary
from kwirec.versions import RELEASE

if TYPE_CHECKING:
    from kwirec.diff.config import DiffConfig
    from kwirec.diff.sides import Side
    from kwirec.driver import Generated
    from kwirec.frontend.notation import Dialect, Notation

F = TypeVar("F", bound=Callable[..., Any])

CLEAN, FINDINGS, USAGE = 0, 1, 2


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="kwire", prog_name="kwirec", message="%(prog)s %(version)s")
def main() -> None:
    """Compile Kafka-style message definitions."""


_paths = click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))


_notation = click.option(
    "--notation", type=click.Choice(["json", "krammar"]), help="Notation of files whose suffix does not tell."
)
_dialect = click.option(
    "--dialect", type=click.Choice(["kwire", "franz-go"]), help="Dialect of the notation krammar; default: by suffix."
)


def _format(*choices: str) -> Callable[[F], F]:
    return click.option("--format", "form", type=click.Choice(choices), default="text", show_default=True)


def _config(name: str, section: str, load: Callable[[Path | None], object]) -> Callable[[F], F]:
    """The option ``--config``; the parameter ``name`` is what ``load`` makes of the file."""

    def read(context: click.Context, parameter: click.Parameter, path: Path | None) -> object:
        folders = (here := Path.cwd(), *here.parents)
        nearest = (file for folder in folders if (file := folder / "pyproject.toml").exists())
        try:
            return load(path or next(nearest, None))
        except ConfigError as problem:
            raise click.UsageError(str(problem)) from problem

    return click.option(
        "--config",
        name,
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        callback=read,
        help=f"A pyproject.toml with [{section}]; default: the nearest one in this folder or its parents.",
    )


def _reporting(function: F) -> F:
    return _format(*FORMATS)(_config("report", "tool.kwirec", load_report)(function))


@main.command()
@_paths
@_notation
@_dialect
@_reporting
def check(
    paths: Sequence[Path], form: str, report: Report, notation: Notation | None, dialect: Dialect | None
) -> None:
    """Check definitions: files, folders, jars or zips that contain them."""
    from kwirec.driver import load

    loaded = load(paths, report, notation=notation, dialect=dialect)
    _show(report, form)
    if form == "text":
        count = sum(len(document.messages) for document in loaded.documents)
        _show_unused(waiver for waiver in report.waivers if waiver not in report.used_waivers)
        _echo(f"{count} messages checked: {summary(report.diagnostics)}", err=True)
    sys.exit(_status(report))


@main.command()
@_paths
@_notation
@_reporting
@click.option("--package", required=True, help="Name of the Python package to generate.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("generated"), show_default=True)
@click.option("--check", "only_check", is_flag=True, help="Write nothing; fail if anything would change.")
@click.option("--quiet", "-q", is_flag=True, help="Hide progress.")
def generate(
    paths: Sequence[Path],
    form: str,
    report: Report,
    package: str,
    out: Path,
    only_check: bool,
    quiet: bool,
    notation: Notation | None,
) -> None:
    """Generate a package of typed codecs from definitions.

    The package is written if there are no errors; warnings do not affect the exit code. In its folder, only files of
    an earlier run are replaced or removed: any other file is an error.
    """
    from kwirec.driver import OutputNotGeneratedError, load
    from kwirec.driver import generate as run
    from kwirec.terminal import phases

    _check_package_name(package)
    with phases(quiet=quiet) as phase:
        loaded = load(paths, report, phase, notation=notation)
        if report.has_errors():
            result = None
        else:
            try:
                result = run(loaded, paths, package=package, out=out, check=only_check, phase=phase)
            except OutputNotGeneratedError as problem:
                raise click.UsageError(str(problem)) from problem
    _show(report, form)
    if result is None:
        sys.exit(_status(report))
    outcome = result.outcome
    lead = f"{result.messages} messages, {result.versions} versions, {result.layouts} distinct layouts"
    _echo(f"{lead}; {outcome.lines} lines in {_files(result, only_check)}", err=True)
    if only_check and not outcome.is_clean:
        for path in [*outcome.written, *outcome.removed]:
            _echo(f"{(out / package / path).as_posix()} is out of date: run `kwirec generate`", err=True)
        sys.exit(FINDINGS)


@main.command()
@_paths
@_reporting
@click.option("--out", type=click.Path(path_type=Path), default=Path("site"), show_default=True)
@click.option("--title", help="Title of the site; default: the name of the first folder, and `protocol`.")
@click.option("--package", default="", help="Name of the generated package, for examples in Python; default: none.")
@click.option("--check", "only_check", is_flag=True, help="Write nothing; fail if anything would change.")
@click.option("--quiet", "-q", is_flag=True, help="Hide progress.")
def guide(
    paths: Sequence[Path],
    form: str,
    report: Report,
    out: Path,
    title: str | None,
    package: str,
    only_check: bool,
    quiet: bool,
) -> None:
    """Write the protocol guide: a static site of every message in every version.

    It opens from the file system as from a server. Next to definitions it reads `releases.json`, `errors.json`,
    recorded frames in `examples.jsonl`, and chapters in `guide/*.md`, where they exist. In its folder, only files of
    an earlier run are replaced or removed.
    """
    from kwirec.driver import OutputNotGeneratedError, load
    from kwirec.driver import guide as run
    from kwirec.terminal import phases

    if package:
        _check_package_name(package)
    title = title or f"{paths[0].resolve().stem} protocol"
    with phases(quiet=quiet) as phase:
        loaded = load(paths, report, phase)
        try:
            result = None
            if not report.has_errors():
                result = run(loaded, paths, title=title, package=package, out=out, check=only_check, phase=phase)
        except (OutputNotGeneratedError, OSError, ValueError) as problem:
            raise click.UsageError(printable(str(problem))) from problem
    _show(report, form)
    if result is None:
        sys.exit(_status(report))
    outcome = result.outcome
    _echo(f"{result.messages} messages, {result.versions} versions; {_files(result, only_check)}", err=True)
    if not only_check:
        _echo(f"open {(out / 'index.html').as_posix()}", err=True)
    elif not outcome.is_clean:
        sys.exit(FINDINGS)


@main.command()
@_paths
@_notation
@_reporting
@click.option("--stage", type=click.Choice(["syntax", "schema", "layout"]), default="schema", show_default=True)
def dump(paths: Sequence[Path], form: str, report: Report, stage: str, notation: Notation | None) -> None:
    """Print the result of a compiler pass as stable text."""
    from kwirec.driver import load
    from kwirec.dump import dump_layouts, dump_schema, dump_syntax
    from kwirec.lowering import lower

    loaded = load(paths, report, notation=notation)
    if stage == "syntax":
        _echo(dump_syntax(loaded.documents), nl=False)
    elif stage == "schema":
        _echo(dump_schema(loaded.schema), nl=False)
    elif not report.has_errors():
        _echo(dump_layouts(loaded.schema, lower(loaded.schema)), nl=False)
    if report.has_errors():
        _show(report, form)
        sys.exit(_status(report))


@main.command()
@_paths
@_notation
@_reporting
@click.option("--to", type=click.Choice(["json", "krammar"]), required=True, help="The notation to write.")
@click.option("--dialect", type=click.Choice(["kwire", "franz-go"]), help="Whose words of krammar; default: kwire.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The folder to write to.")
@click.option("--check", "only_check", is_flag=True, help="Write nothing; fail if anything would change.")
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
    _show(report, form)
    if result is None:
        sys.exit(_status(report))
    verb = "differ" if only_check else "written"
    _echo(f"{len(result.texts)} files, {len(result.changed)} {verb}", err=True)
    if only_check and result.changed:
        for path in result.changed:
            _echo(f"{(out / path).as_posix()} is out of date: run `kwirec convert`", err=True)
        sys.exit(FINDINGS)


@main.command()
@click.argument("code")
def explain(code: str) -> None:
    """Explain a diagnostic code such as K304."""
    found = catalogue.find(code)
    if found is None:
        raise click.UsageError(f"unknown code {code!r}. {catalogue.suggestion(code)}".strip())
    _echo(catalogue.explain_text(found), nl=False)


@main.command("rule-pages", hidden=True)
@click.argument("folder", type=click.Path(path_type=Path))
def rule_pages(folder: Path) -> None:
    """Write a documentation page for every code."""
    catalogue.write_pages(folder)


@main.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="SOURCE...")
@_reporting
@click.option("--release", required=True, help="The Kafka release of SOURCE, such as 4.1.1.")
@click.option("--into", type=click.Path(path_type=Path), default=Path("message_defs/kafka"), show_default=True)
def merge(paths: Sequence[Path], form: str, report: Report, release: str, into: Path) -> None:
    """Merge a Kafka release into the union of releases, and check the union against every release."""
    from kwirec.merge import merge as run

    if not RELEASE.fullmatch(release):
        raise click.UsageError(f"invalid release {release!r}: expected numbers separated by dots")
    outcome = run(into, release, paths, report)
    _show(report, form)
    for conflict in outcome.conflicts:
        _echo(f"conflict: {conflict}", err=True)
    for note in outcome.notes:
        _echo(f"note: {note}", err=True)
    if outcome.proof is not None:
        for mismatch in outcome.proof.mismatches:
            _echo(f"mismatch: {mismatch}", err=True)
        _echo(
            f"{outcome.proof.proved} (release, message, version) verified, {outcome.proof.excepted} exceptions, "
            f"{len(outcome.proof.mismatches)} mismatches",
            err=True,
        )
    if outcome.failed:
        _echo(f"{release} was not merged; no files were written", err=True)
        sys.exit(max(FINDINGS, _status(report)))
    _echo(
        f"{release} merged: {len(outcome.added)} new messages, {len(outcome.changed)} changed, "
        f"{len(outcome.written)} files written",
        err=True,
    )


@main.command()
@click.argument("name")
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("--notation", type=click.Choice(["json", "krammar"]), default="json", show_default=True)
def new(name: str, folder: Path | None, notation: Notation) -> None:
    """Create a starter protocol with tests in FOLDER (default: ./NAME).

    NAME is the name of the generated Python package.
    """
    from kwirec.scaffold import create

    _check_package_name(name)
    if not name.isascii() or name.strip("_") != name:
        raise click.UsageError(
            f"{name!r} is not a valid distribution name: use ASCII, without leading or trailing underscores"
        )
    folder = folder or Path(name)
    try:
        for path in create(name, folder, notation):
            _echo(path.as_posix(), err=True)
    except OSError as problem:
        raise click.UsageError(str(problem)) from problem
    _echo(f"next: cd {folder.as_posix()}; make generate test", err=True)


def _diff_settings(path: Path | None) -> DiffConfig:
    from kwirec.diff.config import load_diff_config

    return load_diff_config(path)


def _guide_url(context: click.Context, parameter: click.Parameter, url: str) -> str:
    from kwirec.guide.links import guide_base

    try:
        return guide_base(url) if url else ""
    except ValueError as problem:
        raise click.BadParameter(printable(str(problem))) from problem


@main.command()
@click.argument("old")
@click.argument("new")
@click.option(
    "--level",
    type=click.Choice(["wire", "json", "source", "policy"]),
    help="Kind of changes to look for; default: wire.",
)
@click.option("--layouts", is_flag=True, help="Compare bytes alone: which versions have others, and where they part.")
@_notation
@_format("text", "markdown", "json", "github", "junit")
@_config("settings", "tool.kwirec.diff", _diff_settings)
@click.option(
    "--union",
    type=click.Path(path_type=Path),
    default=Path("message_defs/kafka"),
    show_default=True,
    help="The union of releases that `release:` refers to.",
)
@click.option(
    "--guide-url",
    "guide_url",
    metavar="URL",
    default="",
    callback=_guide_url,
    help="Where the guide of NEW is (`kwirec guide`): links to it in Markdown.",
)
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

    Each side is a file, folder, jar or zip; `ARCHIVE!FILE`; a git revision, `git:main` (with the path of the other
    side) or `git:v1.2:PATH`; or a release in the union, `release:3.9.1`. Each level includes the previous ones: wire
    (bytes of a numbered version), json (names in request logs), source (generated Python), policy (evolution rules).

    With `--layouts`, the sides may be any two sources of the same protocol: requests and responses are paired by api
    key, others by name, and only their bytes are compared. The exit code is 1 if any version differs.
    """
    from kwirec.diff import Level, compare, judge
    from kwirec.diff.layout_report import FORMATS
    from kwirec.diff.report import diff_summary, render_diff
    from kwirec.diff.sides import SideError, read_sides

    if layouts and (level or form not in FORMATS):
        raise click.UsageError(f"--layouts has no --level, and only the formats {', '.join(FORMATS)}")
    if guide_url and form != "markdown":
        raise click.UsageError("--guide-url is for --format markdown")
    report = Report()
    try:
        before, after = read_sides(old, new, union, report, notation)
    except SideError as problem:
        raise click.UsageError(printable(str(problem))) from problem
    if report.has_errors():
        _show(report, "text")
        sys.exit(USAGE)
    if incomparable := sorted(before.incomparable | after.incomparable):
        _echo(
            f"not compared (release differs from the union, see exceptions.json): {', '.join(incomparable)}",
            err=True,
        )
    if layouts:
        sys.exit(_diff_layouts(before, after, form, guide_url))
    at = Level[level.upper()] if level else settings.level
    judgement = judge(compare(before.schema, after.schema), at, old=before.schema, waivers=settings.waivers)
    color = form == "text" and sys.stdout.isatty()
    click.echo(render_diff(judgement, before, after, form, color=color, guide=guide_url), nl=False)
    _show_unused(judgement.unused)
    _echo(diff_summary(judgement, at), err=True)
    sys.exit(FINDINGS if judgement.breaking else CLEAN)


def _diff_layouts(old: Side, new: Side, form: str, guide: str) -> int:
    """Print how the layouts of two sides differ; the exit code."""
    from kwirec.diff.layout_report import layouts_summary, render_layouts
    from kwirec.diff.layouts import compare_layouts

    found = compare_layouts(old.schema, new.schema)
    _echo(render_layouts(found, old.name, new.name, form, guide), nl=False)
    _echo(layouts_summary(found, old.name, new.name), err=True)
    return FINDINGS if found.parting else CLEAN


@main.command("lint-rules")
@_format("text", "json", "markdown")
def lint_rules(form: str) -> None:
    """List the rules of `kwirec diff` with their levels."""
    from kwirec.diff import RULES
    from kwirec.diff.report import list_rules

    _echo(list_rules(RULES, form), nl=False)


def _check_package_name(package: str) -> None:
    if not package.isidentifier() or keyword.iskeyword(package):
        raise click.UsageError(f"{package!r} is not a valid package name")
    if package in ("kwire", "kwirec") or package in sys.stdlib_module_names:
        raise click.UsageError(f"{package!r} would shadow an existing package: choose another name")


def _files(result: Generated, only_check: bool) -> str:
    """How many files there are, and what became of them."""
    outcome = result.outcome
    differ, obsolete = ("differ", "obsolete") if only_check else ("written", "removed")
    return (
        f"{outcome.unchanged + len(outcome.written)} files, {len(outcome.written)} {differ}, "
        f"{len(outcome.removed)} {obsolete}; {result.seconds:.1f} s"
    )


def _echo(text: str, *, nl: bool = True, err: bool = False) -> None:
    """Print lines that may hold text of definitions, without what a terminal would act on."""
    click.echo("\n".join(map(printable, text.split("\n"))), nl=nl, err=err)


def _show(report: Report, form: str) -> None:
    """Print findings: machine formats to standard output, text to standard error."""
    text = form == "text"
    click.echo(render(report.diagnostics, form, color=text and sys.stderr.isatty()), nl=False, err=text)


def _show_unused(waivers: Iterable[Waiver]) -> None:
    for waiver in waivers:
        place = f"{waiver.message}.{waiver.field}".removesuffix(".*")
        _echo(f"the waiver of {waiver.code} for `{place}` matches no finding: remove it", err=True)


def _status(report: Report) -> int:
    if any(d.code.number in ("K001", "K002", "K009") for d in report.diagnostics):
        return USAGE
    serious = report.count(Severity.ERROR) + report.count(Severity.WARNING)
    return FINDINGS if serious else CLEAN
