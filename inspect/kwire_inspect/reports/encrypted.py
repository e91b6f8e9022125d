"""Clients whose traffic could not be decrypted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kwire_inspect.reasons import TLS
from kwire_inspect.reports.report import Column, Report, Table
from kwire_inspect.tables.relations import collect

if TYPE_CHECKING:
    from kwire_inspect.tables.relations import Relation

MAX_ROWS = 1000
ENCRYPTED = Table("encrypted", "Encrypted connections").with_columns(
    Column(
        "client_host", "address", comment="Address of the client, or empty if it is unknown which side is the client."
    ),
    Column("server_port", "port", comment="Broker port."),
    Column("reason", comment="Why the connections were not decrypted."),
    Column("unread", "bytes", comment="Number of unread bytes on these connections."),
)

Encrypted = tuple[str | None, int | None, str, int]
"""Client address, broker port, reason, and number of unread bytes."""


def encrypted_of(table: Relation) -> tuple[Encrypted, ...]:
    """Return up to 1,000 clients with encrypted connections from EXCHANGES or PROBLEMS, most unread bytes first."""
    if not {"client_host", "server_port", "unread"} <= {*table.columns}:
        return ()
    text = f"""SELECT client_host, server_port, problem AS reason, coalesce(sum(unread), 0) AS unread
        FROM {{table}} WHERE problem LIKE '{TLS}%' GROUP BY client_host, server_port, problem
        ORDER BY 4 DESC, 1, 2, 3 LIMIT {MAX_ROWS}"""
    return tuple(
        (row["client_host"], row["server_port"], row["reason"], row["unread"]) for row in collect(text, table=table)
    )


def with_encrypted(report: Report, rows: tuple[Encrypted, ...]) -> Report:
    """Return the report, with a table of these rows if there are any."""
    return replace(report, tables=(*report.tables, replace(ENCRYPTED, rows=rows))) if rows else report
