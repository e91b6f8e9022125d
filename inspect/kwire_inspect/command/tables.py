"""The command ``kwire tables``, which writes all decoded input as tables for queries."""

from __future__ import annotations

from dataclasses import replace

import click

from kwire_inspect.command import Command
from kwire_inspect.command.common import Run, with_inputs
from kwire_inspect.reports.report import Report, Table
from kwire_inspect.storage import standard_input


@click.command(cls=Command)
@click.option("--raw", is_flag=True, help="Include the raw bytes of frames.")
@click.option("--topics", default="__*", show_default=True, help="Topics to read, e.g. 'orders*,!*-changelog'.")
@with_inputs("Output directory. Replaces tables of the same name.")
def tables(run: Run, raw: bool, topics: str) -> int:
    """Write the tables frames, exchanges, refusals, records and clients, and one table per API and kind of record.

    Tables of APIs are in the folder apis. Tables of records in Kafka's internal topics are in the folder internal.
    """
    from kwire_inspect.command.writing import Tables

    run.options["topics"] = topics
    if run.inputs.has_standard_input:
        standard_input().keep()  # several tables are read from standard input
    written = Tables(run, raw)
    seen, broken = written.clients(), written.broken_records()
    table = Table("written", "Tables", rows=tuple(written.rows), empty="None.").with_columns("table", "rows", "path")
    if seen is None:
        report = Report("tables", "Decoded tables", (f"Based on {run.inputs}.",), (table,))
        return run.publish(run.completed(report, broken))
    basis = run.basis(seen)
    report = Report("tables", "Decoded tables", (), (table,))
    return run.publish(run.completed(report, replace(basis, problems=(*basis.problems, *broken)), seen.table))
