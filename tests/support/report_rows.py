"""Rows by hand for tests of reports: what a test does not name has a value that is nothing special."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from kwire_inspect.command.engines import LocalEngine
from kwire_inspect.reports.report import Report
from kwire_inspect.schemas import CLIENTS, EXCHANGES
from kwire_inspect.stored import UNKNOWN
from kwire_inspect.tables.clients import Clients, clients
from kwire_inspect.tables.database import Database, LocalTable
from kwire_inspect.tables.relations import Batches
from kwire_kafka.releases import RELEASES

START = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)
DATABASE = Database()
NAMES: dict[int | None, str] = {0: "Produce", 1: "Fetch", 3: "Metadata", 11: "JoinGroup", 18: "ApiVersions"}


@dataclass
class Given:
    """Batches as a table that the local engine writes."""

    batches: Iterable[pa.RecordBatch]

    def mapped(self, schema: pa.Schema, function: Batches, **how: Any) -> Iterable[pa.RecordBatch]:
        return function(self.batches)


def write_rows(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, folder: object, name: str, **options: Any
) -> str:
    """Write a table as Parquet, as the local engine does; its path."""
    return LocalEngine().write(Given(batches), schema, str(folder), name, **{"origin": UNKNOWN} | options).path


def exchange(api_key: int | None = 3, version: int | None = 9, at: float = 0, **facts: Any) -> dict[str, Any]:
    """A row of EXCHANGES: answered without an error, ``at`` seconds after START."""
    usual = {
        "source": "a.pcap",
        "position": int(at * 1000),
        "connection": "c",
        "client_host": "10.0.0.1",
        "number": 0,
        "time": START + timedelta(seconds=at),
        "api_key": api_key,
        "api": NAMES.get(api_key),
        "version": version,
        "client_id": "one",
        "outcome": "answered",
        "error_codes": [],
    }
    return usual | facts


def client(api_key: int = 3, version: int = 9, requests: int = 1, **facts: Any) -> dict[str, Any]:
    """A row of CLIENTS."""
    usual = {
        "input_kind": "capture",
        "client_host": "10.0.0.1",
        "server_port": 9092,
        "client_id": "one",
        "api_key": api_key,
        "api": NAMES.get(api_key),
        "version": version,
        "first_seen": START,
        "last_seen": START + timedelta(minutes=1),
        "requests": requests,
        "errors": 0,
        "refused": 0,
        "connections": 1,
        "source": "a.pcap",
        "position": 0,
        "bytes": 0,
        "begun": 0,
    }
    return usual | facts


def table_of(schema: pa.Schema, *rows: dict[str, Any]) -> LocalTable:
    """A table of this process."""
    return DATABASE.table(schema).add(pa.Table.from_pylist(list(rows), schema=schema).to_batches())


def in_spark(spark: SparkSession, schema: pa.Schema, *rows: dict[str, Any]) -> DataFrame:
    return spark.createDataFrame(pa.Table.from_pylist(list(rows), schema=schema))


exchanges_of = partial(table_of, EXCHANGES)


def clients_of(*rows: dict[str, Any]) -> Clients[LocalTable]:
    """What reports on clients need, with rows of CLIENTS."""
    return clients(table_of(CLIENTS, *rows))


def whole(report: Report) -> str:
    """All that a report says, a line for each row; cells without a value are left out."""
    lines = [f"{report.name}: {report.title}, exit code {report.exit_code}", *report.summary]
    for table in report.tables:
        headings = [column.heading for column in table.columns]
        lines += ["", f"# {table.name}: {table.title}, and {table.more} more", f"({', '.join(headings)})"]
        lines += [table.note or "no note", *(table.empty for _ in [()] if not table.rows)]
        for row in table.rows:
            cells = zip(table.columns, row, strict=True)
            lines.append(", ".join(f"{column.name} {cell}" for column, cell in cells if cell not in (None, "", ())))
    for chart in report.charts:
        lines += ["", f"# {chart.name}: {chart.title}", chart.note or "no note", *map(str, chart.figure["data"])]
        lines += [f"{name}: {value}" for name, value in chart.figure["layout"].items()]
    lines += [f"{check.state}: {check.name} ({check.group}) {check.message}" for check in report.checks]
    return "\n".join(lines).replace(RELEASES.newest.name, "NEWEST")
