"""Code shared by the commands: finding inputs, showing progress and publishing reports."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import IntEnum
from functools import cached_property, reduce, wraps
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import click

from kwire_inspect.command.engines import Engine, checked_output, engine_for
from kwire_inspect.command.interrupts import forward_sigint_to_writer
from kwire_inspect.command.options import (
    COVERAGE,
    ENGINE,
    KEY_LOG,
    MASTER,
    PORTS,
    PROCESSES,
    PROTOCOL,
    QUIET,
    TABLE_FORMAT,
)
from kwire_inspect.inputs import Inputs, find
from kwire_inspect.options import FAILFAST, KINDS, BrokenInputError, OptionError, Options, only
from kwire_inspect.reasons import advice
from kwire_inspect.reports.formats import FORMATS
from kwire_inspect.reports.text import counted, visible
from kwire_inspect.storage.folders import claimed, private_folder
from kwire_inspect.tls.decryption import checked_key_log

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

    from kwire.protocol import MessageRegistry
    from kwire.releases import Releases
    from kwire_inspect.reports.basis import Basis, Problem
    from kwire_inspect.reports.report import Report
    from kwire_inspect.stored import Origin
    from kwire_inspect.tables.clients import Clients
    from kwire_inspect.tables.relations import Relation

    Command = Callable[..., Any]

DEFAULT_OUT = "kwire-out"
MAX_NAMED = 5
"""Maximum number of skipped files to list by name."""
PROBED = 1 << 16
"""Number of bytes to write to the output folder as a test before any input is read."""
WIDTH = 140
"""Line width in characters when the output is not a terminal."""

SOURCE_OPTIONS = ("ports", "time_zone", "mode", "start", "end", "protocol", "key_log")


@dataclass
class Run:
    """A single run of a command: its inputs, its output folder and the terminal."""

    inputs: Inputs
    out: str
    engine: Engine
    options: dict[str, str]
    console: Console
    progress: Console
    min_coverage: float

    @property
    def pages(self) -> str:
        """Folder for the report pages. The folder is local even if the tables are written to a cluster's file
        system."""
        return pages_in(self.out)

    @property
    def protocol(self) -> MessageRegistry:
        """Messages of the package given by ``--protocol``."""
        return Options(self.options).protocol()

    @property
    def error_codes(self) -> type[IntEnum]:
        """Error codes of the package given by ``--protocol``, or Kafka's error codes if that package defines none."""
        try:
            found = import_module(f"{self.protocol.package}.errors")
        except ImportError:
            found = import_module("kwire_kafka.errors")
        codes: type[IntEnum] = found.ErrorCode
        return codes

    def releases(self, package: str | None) -> Releases:
        """Return the releases that ``package`` describes. The default is the package given by ``--protocol``."""
        from kwire_inspect.reports.release_support import releases_of

        return releases_of(package or self.protocol.package)

    def step(self, doing: str) -> Status:
        """Return a context manager that shows a status on the terminal."""
        from rich.markup import escape

        return self.progress.status(escape(f"{visible(doing)} …"))

    def options_of(self, table: str, **options: str) -> dict[str, str]:
        """Return ``options``, together with the command's options that apply to this table."""
        return only(self.options | options, *KINDS[table])

    def read(self, table: str, *columns: str, inputs: Inputs | None = None, **options: str) -> Relation:
        """Return these columns of a table, by default all columns. See :meth:`Engine.read`."""
        with self.step(f"Reading {self.inputs}"):
            return self.engine.read(table, inputs or self.inputs, columns, self.options_of(table, **options))

    @cached_property
    def origin(self) -> Origin:
        """Origin to record in the tables of this run."""
        from kwire_inspect.stored import Origin

        return Origin(str(self.inputs), self.inputs.skipped, datetime.now(UTC).isoformat())

    def clients(self, exchanges: Relation | None = None) -> Clients[Any]:
        """Return the clients in all inputs. The result is computed in one pass and cached."""
        from kwire_inspect.stored import are_complete
        from kwire_inspect.tables.clients import REFUSAL_COLUMNS, clients

        if self.inputs.tables:
            seen = clients(self.read("clients"), self.read("problems"), origin=self.origin)
            return replace(seen, counted=self.cached(seen.counted), complete=are_complete(self.inputs.tables))
        if exchanges is None:
            with self.step(f"Reading {self.inputs}"):
                exchanges = self.engine.counted(self.inputs, self.options_of("exchanges", bodies="codes"))
        metrics = [self.read("metrics")] if self.inputs.metrics else []
        seen = clients(exchanges, self.read("refusals", *REFUSAL_COLUMNS), *metrics, origin=self.origin)
        return replace(seen, counted=self.cached(seen.counted))

    def cached(self, table: Relation) -> Relation:
        """Compute a table now and keep the result."""
        with self.step(f"Reading {self.inputs}"):
            return self.engine.cached(table)

    def write_clients(self, seen: Clients[Any]) -> None:
        """Write the tables ``clients`` and ``problems`` to the folder ``out``, unless they were read as input."""
        from kwire_inspect.stored import SCHEMAS

        if any(Path(table.path).resolve() == Path(self.out, "clients").resolve() for table in self.inputs.tables):
            return
        with self.step("Writing clients"):
            for name, table in {"problems": seen.problems, "clients": seen.table}.items():
                self.engine.write(table, SCHEMAS[name], self.out, name, origin=seen.origin)

    def basis(self, seen: Relation | Clients[Any]) -> Basis:
        """Return the basis of a report on exchanges or clients, which says how much of the input was read."""
        from kwire_inspect.reports.basis import basis_of

        basis = basis_of(seen)
        return basis if all(table.complete for table in self.inputs.tables) else replace(basis, known=False)

    def check_requests(self, seen: Relation | Clients[Any]) -> None:
        """Raise :class:`OptionError` if no request was found although enough of the input was read."""
        from kwire_inspect.tables.clients import KNOWN, Clients
        from kwire_inspect.tables.relations import collect

        table: Any = seen.table if isinstance(seen, Clients) else seen
        where = KNOWN if isinstance(seen, Clients) else f"{KNOWN} AND problem IS NULL"
        if collect(f"SELECT 1 FROM {{t}} WHERE {where} LIMIT 1", t=table):
            return
        basis = self.basis(seen)
        if basis.suffices(self.min_coverage):
            raise _no_requests(self.inputs, basis.problems)

    def completed(self, report: Report, basis: Basis | Sequence[Problem], requests: Relation | None = None) -> Report:
        """Return the report with its basis added. See ``reports.completed``."""
        from kwire_inspect.reports.completed import completed

        return completed(report, basis, self.origin, self.min_coverage, self.protocol, requests)

    def publish(self, report: Report, form: str = "text") -> int:
        """Write the report's page and tables, print the report, and return its exit code.

        The files are written first, because printing ends early if the output is piped to ``head``.
        """
        from rich.markup import escape

        from kwire_inspect.capture.name_blocks import address_names
        from kwire_inspect.reports.address_names import with_names
        from kwire_inspect.reports.report_files import write_report
        from kwire_inspect.reports.terminal import print_report

        report = with_names(report, address_names(self.inputs.captures))
        page = escape(visible(str(write_report(report, self.pages)[0]), 1000))
        done = f"Report: [bold]{page}[/bold] (tables in the same folder). {self.engine.label}"
        if form == "text":
            print_report(report, self.console)
            self.console.print(f"\n{done}", highlight=False, soft_wrap=True)
        else:
            click.echo(FORMATS[form](report), nl=False)
            self.progress.print(done, highlight=False, soft_wrap=True)
        return report.exit_code


def _no_requests(inputs: Inputs, problems: Sequence[Problem]) -> OptionError:
    """Return the error to raise for inputs without requests. The message includes the first problem, if there is one,
    and advice on it."""
    if not problems:
        return OptionError(f"no requests found in {inputs}")
    hint = advice(reason := problems[0].reason)
    return OptionError(f"no requests found in {inputs}: {reason}{f': {hint}' if hint else ''}")


def with_inputs(
    out_help: str = "Output directory. Replaces reports and tables of earlier runs.",
    *,
    stored: Sequence[str] = (),
) -> Callable[[Command], Command]:
    """Add the shared arguments and options to a command function, which receives them as a :class:`Run`.

    ``stored`` lists the tables of an earlier run that the command can read. The first table is required. The other
    tables are used only if they are from the same run.
    """
    parameters = (
        QUIET,
        COVERAGE,
        click.option(
            "--mode",
            type=click.Choice(["permissive", "failfast"]),
            help="Report broken input (permissive, the default), or stop at the first occurrence (failfast).",
        ),
        click.option("--time-zone", metavar="ZONE", help="Time zone of the logs, e.g. Europe/Berlin. [default: UTC]"),
        click.option("--end", metavar="TIME", help="Skip data at or after this time."),
        click.option("--start", metavar="TIME", help="Skip data before this time, e.g. 2026-11-21T16:30."),
        PROTOCOL,
        KEY_LOG,
        PORTS,
        MASTER,
        PROCESSES,
        ENGINE,
        TABLE_FORMAT,
        click.option("--out", default=DEFAULT_OUT, metavar="DIR", show_default=True, help=out_help),
        click.argument("paths", nargs=-1, required=True, metavar="INPUT..."),
    )

    def decorate(function: Command) -> Command:
        @wraps(function)
        def call(
            paths: Sequence[str],
            out: str,
            table_format: str,
            master: str | None,
            quiet: bool,
            min_coverage: float,
            engine: str,
            processes: int | None,
            **values: Any,
        ) -> Any:
            from rich.console import Console

            options = {name: value for name in SOURCE_OPTIONS if (value := values.pop(name))}
            progress = Console(stderr=True, quiet=quiet)
            Options(options).protocol()  # report an unknown package before reading any input
            if "key_log" in options:
                options["key_log"] = checked_key_log(options["key_log"])
            out = checked_output(out)
            with only_writer(pages_in(out)), forward_sigint_to_writer(paths, progress):
                inputs = _find_inputs(paths, progress, options.get("mode") == FAILFAST)
                if inputs.tables:
                    inputs = _with_tables(inputs, function.__name__, stored, options.keys() - {"protocol"})
                console = Console(width=None if sys.stdout.isatty() else WIDTH)
                chosen = engine_for(engine, inputs, out, table_format, master, processes)
                run = Run(inputs, out, chosen, options, console, progress, min_coverage)
                return function(run=run, **values)

        return reduce(lambda command, option: option(command), parameters, call)

    return decorate


def pages_in(out: str) -> str:
    """Return the local folder for the report pages of a command with this ``--out``."""
    return DEFAULT_OUT if "://" in out else out


@contextmanager
def only_writer(out: str) -> Iterator[None]:
    """Create a private local folder and keep other runs out of it during a ``with`` block."""
    if "://" in out:
        yield
        return
    try:
        private_folder(out)
        with TemporaryFile(dir=out) as probe:
            probe.write(bytes(PROBED))
    except OSError as error:
        raise OptionError(f"{out}: cannot write here: {error.strerror}. Choose another folder with --out") from None
    with claimed(Path(out)) as is_ours:
        if is_ours is False:
            raise OptionError(
                f"{out}: another kwire process is writing to this folder. Choose another folder with --out"
            )
        try:
            yield
        finally:
            with suppress(OSError):
                Path(out).rmdir()  # succeeds only if nothing was written


def _with_tables(inputs: Inputs, command: str, wanted: Sequence[str], options: Set[str]) -> Inputs:
    """Return the inputs with the stored tables that the command reads.

    Raises :class:`OptionError` if the command cannot use these tables.
    """
    from kwire_inspect.stored import of_clients

    path = inputs.tables[0].path
    if not wanted:
        raise OptionError(f"{path} is a table, but {command} reads captures and logs")
    if options:
        given = " and ".join(f"--{name.replace('_', '-')}" for name in sorted(options))
        raise OptionError(f"{given} cannot be used with the table {path}: use it when writing the table")
    first = [table for table in inputs.tables if table.kind == wanted[0]]
    problems = [table for table in of_clients(inputs.tables) if table.kind == "problems"]
    folders = [Path(table.path).parent for table in first]
    if not first:
        raise OptionError(f"{command} needs the table {wanted[0]}, which `kwire tables` writes, but found {path}")
    if len(folders) != len({*folders}):
        several = " and ".join(table.path for table in first)
        raise OptionError(f"{several} are tables of the same kind: specify only one of them")
    runs = {(table.origin.written, Path(table.path).parent) for table in first if table.origin.written}
    others = [
        table
        for table in inputs.tables
        if table.kind in wanted[1:] and (table.origin.written, Path(table.path).parent) in runs
    ]
    if len(others) < len(first) * len(wanted[1:]):
        others = []  # otherwise, the report would miss rows of the first table
    tables = (*first, *(problems if wanted[0] == "clients" else ()), *others)
    skipped = dict.fromkeys(file for table in tables for file in (*table.origin.skipped, *inputs.skipped))
    return replace(inputs, tables=tables, skipped=(*skipped,), size=sum(table.size for table in tables))


def _find_inputs(paths: Sequence[str], progress: Console, failfast: bool) -> Inputs:
    from rich.markup import escape

    inputs = find(paths)
    skipped = [escape(f"{visible(path)}: {visible(reason)}") for path, reason in inputs.skipped[:MAX_NAMED]]
    if len(inputs.skipped) > MAX_NAMED:
        skipped.append(counted(len(inputs.skipped) - MAX_NAMED, "more file"))
    for line in skipped:
        progress.print(f"[yellow]skipped[/yellow] {line}", highlight=False, soft_wrap=True)
    if inputs.unreadable and failfast:
        path, reason = next(file for file in inputs.skipped if file[0] in inputs.unreadable)
        raise BrokenInputError(path, None, reason)
    if not inputs:
        raise OptionError(f"no captures or broker logs in {', '.join(paths)}")
    return inputs
