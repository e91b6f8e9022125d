"""``kwire tables``: everything as tables, for queries."""

from __future__ import annotations

from dataclasses import replace

import click

from kwire_inspect.command import Command
from kwire_inspect.command.common import Run, with_inputs
from kwire_inspect.command.engines import LOCAL_TABLES
from kwire_inspect.reports.report import Report, Table
from kwire_inspect.storage import standard_input


@click.command(cls=Command)
@click.option("--raw", is_flag=True, help="Keep the bytes of frames.")
@click.option("--topics", default="__*", show_default=True, help="Topics to read, e.g. 'orders*,!*-changelog'.")
@with_inputs("Output directory; tables of the same name are replaced.", local_limit=LOCAL_TABLES)
def tables(run: Run, raw: bool, topics: str) -> int:
    """Write tables: frames, exchanges, refusals, records, clients, and one for each API and each kind of record.

    Tables of APIs are in the folder apis; tables of records of Kafka's internal topics are in the folder internal.
    """
    from kwire_inspect.schemas import FRAMES

    run.options["topics"] = topics
    if run.inputs.has_standard_input:
        standard_input().keep()  # it is read once for each table
    inputs, written = run.inputs, run.engine.tables(run)
    exchanges = bool(inputs.captures or inputs.request_logs)
    if inputs.captures:
        written.add_main("frames", [name for name in FRAMES.names if raw or name != "raw"])
    for name, found in {"exchanges": exchanges, "refusals": inputs.server_logs, "records": inputs.logs}.items():
        if found:
            written.add_main(name)
    if exchanges or inputs.logs:
        written.add_topic_names()
    if exchanges:
        written.add_apis()
    if inputs.logs:
        written.add_internal()
    if exchanges or inputs.server_logs or inputs.metrics:
        written.add_clients()
    with run.step("Looking for broken input"):
        broken = written.broken_records()
        basis = run.basis(written.seen) if written.seen is not None else None
    table = Table("written", "Tables", rows=tuple(written.rows), empty="None.").with_columns("table", "rows", "path")
    report = Report("tables", "Decoded tables", () if basis else (f"Based on {inputs}.",), (table,))
    if basis is None:
        return run.publish(run.completed(report, broken))
    requests = None if written.seen is None else written.seen.table
    return run.publish(run.completed(report, replace(basis, problems=(*basis.problems, *broken)), requests))
