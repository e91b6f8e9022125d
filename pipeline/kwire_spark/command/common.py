"""What the commands share: options, what they read, progress on the terminal, and how a report is handed over."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce, wraps
from typing import TYPE_CHECKING, Any

import click

from kwire_spark.inputs import Inputs, find
from kwire_spark.options import FAILFAST, BrokenInputError, OptionError
from kwire_spark.reports.report import Cell, Column, Report, Table, columns
from kwire_spark.reports.text import counted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from rich.console import Console

    Command = Callable[..., Any]

DEFAULT_OUT = "kwire-out"
SMALL_INPUT = 32 << 20
"""Inputs of so many bytes or fewer are brief work: see ``session``."""
MAX_NAMED = 5
"""Files that are named when they are passed over."""
MOST_PROBLEMS = 1000
WIDTH = 140
"""Characters of a line where the output is no terminal."""


@dataclass(slots=True)
class Run:
    """One call of a command: what to read, where to write, and the terminal."""

    inputs: Inputs
    out: str
    format: str
    master: str | None
    options: dict[str, str]
    console: Console
    progress: Console
    _spark: list[SparkSession] = field(default_factory=list)

    @property
    def spark(self) -> SparkSession:
        """The session, started when it is first asked for."""
        from kwire_spark.session import session

        if not self._spark:
            with self.step("Starting Spark"):
                self._spark.append(session(self.master, brief=self.inputs.size <= SMALL_INPUT))
        return self._spark[0]

    @property
    def pages(self) -> str:
        """Where pages go: this machine, even if tables go to a file system of a cluster."""
        return DEFAULT_OUT if "://" in self.out else self.out

    @contextmanager
    def step(self, doing: str) -> Iterator[None]:
        """Say what is being done while it is."""
        with self.progress.status(f"{doing} …"):
            yield

    def frames(self, *columns: str) -> DataFrame:
        """The frames of the inputs; only these columns, if any are named. So with the others."""
        from kwire_spark.tables.read import frames

        return frames(self.inputs, columns=columns, spark=self.spark, **self.options)

    def exchanges(self, *columns: str) -> DataFrame:
        from kwire_spark.tables.read import exchanges

        return exchanges(self.inputs, columns=columns, spark=self.spark, **self.options)

    def refusals(self, *columns: str) -> DataFrame:
        from kwire_spark.tables.read import refusals

        return refusals(self.inputs, columns=columns, spark=self.spark, **self.options)

    def records(self, *columns: str) -> DataFrame:
        from kwire_spark.tables.read import records

        return records(self.inputs, columns=columns, spark=self.spark, **self.options)

    def tally(self) -> DataFrame:
        """CLIENTS of all inputs with what is broken, counted in one pass and kept: see ``tables.clients.tally``."""
        from kwire_spark.tables.clients import EXCHANGE_COLUMNS, REFUSAL_COLUMNS, tally

        counted = tally(self.exchanges(*EXCHANGE_COLUMNS), self.refusals(*REFUSAL_COLUMNS)).persist()
        with self.step(f"Reading {self.inputs}"):
            counted.count()
        return counted

    def write(self, table: DataFrame, name: str, folder: str = "", **how: Any) -> str:
        """Write a table of the output and say so."""
        from kwire_spark.tables.write import write

        with self.step(f"Writing {name}"):
            return write(table, f"{self.out}/{folder}" if folder else self.out, name, self.format, **how)

    def publish(self, report: Report, problems: Table | None = None) -> int:
        """Write the report's page and tables, print it, and give its exit code.

        Written first: whoever pipes into ``head`` ends the printing.
        """
        from rich.markup import escape

        from kwire_spark.reports.files import write_report
        from kwire_spark.reports.terminal import print_report

        report = _with_problems(report, problems.rows if problems else (), self.inputs.skipped)
        page = escape(str(write_report(report, self.pages)[0]))
        print_report(report, self.console)
        self.console.print(f"\nThe page is [bold]{page}[/bold]; the tables are beside it.", highlight=False)
        return report.exit_code


def problems(*tables: DataFrame) -> Table:
    """What is broken in tables with ``_corrupt``, ``source`` and ``position``, as a table of a report."""
    broken = [table.where("_corrupt IS NOT NULL").select("source", "position", "_corrupt") for table in tables]
    rows = reduce(lambda left, right: left.union(right), broken).limit(MOST_PROBLEMS).collect()
    return _problems(tuple(sorted(map(tuple, rows), key=str)))


def nothing_to_report(run: Run, broken: Table) -> OptionError:
    """The error of a command whose inputs have no request; with the first thing that could not be read, if any."""
    why = f": {broken.rows[0][2]}" if broken.rows else ""
    return OptionError(f"there is no request in {run.inputs}{why}")


def command(
    help_about_out: str = "Output directory; existing reports and tables are overwritten.",
) -> Callable[[Command], Command]:
    """The options of every command; its function gets a :class:`Run` as ``run`` in place of them."""

    def decorated(function: Command) -> Command:
        @wraps(function)
        def called(paths: Sequence[str], out: str, format: str, master: str | None, quiet: bool, **given: Any) -> Any:
            options = {name: given.pop(name) for name in ("ports", "time_zone", "mode", "start", "end")}
            run = _run(paths, out, format, master, quiet, {name: text for name, text in options.items() if text})
            return function(run=run, **given)

        made: Command = called
        for option in reversed(_options(help_about_out)):
            made = option(made)
        return made

    return decorated


def _options(help_about_out: str) -> list[Callable[[Command], Command]]:
    return [
        click.argument("paths", nargs=-1, required=True, metavar="INPUT..."),
        click.option("--out", default=DEFAULT_OUT, metavar="DIR", show_default=True, help=help_about_out),
        click.option(
            "--format", default="parquet", show_default=True, help="Format of tables, any that Spark writes."
        ),
        click.option("--master", metavar="URL", help="Spark's master; default: all cores of this machine."),
        click.option(
            "--ports", metavar="PORTS", help="Ports of brokers, as 9092,19092: for captures that begin late."
        ),
        click.option("--start", metavar="TIME", help="Leave out what was captured before, as 2026-11-21T16:30."),
        click.option("--end", metavar="TIME", help="Leave out what was captured from then on."),
        click.option("--time-zone", metavar="ZONE", help="Of times in logs, as Europe/Berlin; default: UTC."),
        click.option(
            "--mode",
            type=click.Choice(["permissive", "failfast"]),
            help="Whether what is broken is reported (the default), or ends the command.",
        ),
        click.option("--quiet", "-q", is_flag=True, help="No progress on the terminal."),
    ]


def _run(
    paths: Sequence[str], out: str, format: str, master: str | None, quiet: bool, options: dict[str, str]
) -> Run:
    from rich.console import Console
    from rich.markup import escape

    progress = Console(stderr=True, quiet=quiet)
    inputs = find(paths)
    for path, reason in inputs.skipped[:MAX_NAMED]:
        progress.print(f"[yellow]skipped[/yellow] {escape(path)}: {escape(reason)}", highlight=False, soft_wrap=True)
    if len(inputs.skipped) > MAX_NAMED:
        progress.print(f"[yellow]skipped[/yellow] {len(inputs.skipped) - MAX_NAMED} more files", highlight=False)
    if inputs.unreadable and options.get("mode") == FAILFAST:
        path, reason = next(one for one in inputs.skipped if one[0] in inputs.unreadable)
        raise BrokenInputError(path, None, reason)
    if not inputs:
        raise OptionError(f"there is no capture and no log of a broker in {', '.join(paths)}")
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    return Run(inputs, out, format, master, options, console, progress)


def _with_problems(report: Report, broken: Sequence[tuple[Cell, ...]], skipped: Sequence[tuple[str, str]]) -> Report:
    """The report with what is missing in it: what is broken, and files of which nothing was read."""
    more = " or more" if len(broken) >= MOST_PROBLEMS else ""
    said = [f"{counted(len(broken), 'place')}{more} could not be read: see the last table."] if broken else []
    said += [f"{counted(len(skipped), 'file')} passed over: see the last table."] if skipped else []
    rows = (*broken, *((path, None, f"passed over: {reason}") for path, reason in skipped))
    tables = (_problems(rows),) if rows else ()
    return replace(report, summary=(*report.summary, *said), tables=(*report.tables, *tables))


def _problems(rows: tuple[tuple[Cell, ...], ...]) -> Table:
    shape = columns(Column("source", "file"), Column("position", "byte"), Column("problem"))
    return Table("problems", "What could not be read", shape, rows)
