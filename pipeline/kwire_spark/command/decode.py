"""``kwire-spark decode``: everything as tables, for queries."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from kwire_spark.command.common import Run, with_inputs
from kwire_spark.command.engines import LocalEngine
from kwire_spark.reports.report import Report, Table
from kwire_spark.storage import standard_input

if TYPE_CHECKING:
    from kwire_spark.command.decode_local import LocalTables
    from kwire_spark.command.decode_spark import SparkTables


@click.command
@click.option("--raw", is_flag=True, help="Keep the bytes of frames.")
@click.option("--topics", default="__*", show_default=True, help="Topics to read, e.g. 'orders*,!*-changelog'.")
@with_inputs("Output directory; tables of the same name are replaced.")
def decode(run: Run, raw: bool, topics: str) -> int:
    """Write tables: frames, exchanges, refusals, records, clients, and one for each API and each kind of record.

    Tables of APIs are in the folder apis; tables of records of Kafka's internal topics are in the folder internal.
    """
    from kwire_spark.columns import FRAMES

    run.options["topics"] = topics
    if run.inputs.has_standard_input:
        standard_input().keep()  # it is read once for each table
    inputs, tables = run.inputs, _tables(run)
    exchanges = bool(inputs.captures or inputs.request_logs)
    if inputs.captures:
        tables.add_main("frames", [name for name in FRAMES.names if raw or name != "raw"])
    for name, found in {"exchanges": exchanges, "refusals": inputs.server_logs, "records": inputs.logs}.items():
        if found:
            tables.add_main(name)
    if exchanges or inputs.logs:
        tables.add_topic_names()
    if exchanges:
        tables.add_apis()
    if inputs.logs:
        tables.add_internal()
    if exchanges or inputs.server_logs or inputs.metrics:
        tables.add_clients()
    with run.step("Looking for broken input"):
        broken = tables.broken_records()
        basis = run.basis(tables.seen) if tables.seen is not None else None
    table = Table("tables", "Tables", rows=tuple(tables.rows), empty="None.").with_columns("table", "rows", "path")
    report = Report("decode", "Decoded tables", () if basis else (f"Based on {inputs}.",), (table,))
    if basis is None:
        return run.publish(run.completed(report, broken))
    requests = None if tables.seen is None else tables.seen.table
    return run.publish(run.completed(report, replace(basis, problems=(*basis.problems, *broken)), requests))


def _tables(run: Run) -> LocalTables | SparkTables:
    if isinstance(run.engine, LocalEngine):
        from kwire_spark.command.decode_local import LocalTables

        return LocalTables(run)
    from kwire_spark.command.decode_spark import SparkTables

    return SparkTables(run)
