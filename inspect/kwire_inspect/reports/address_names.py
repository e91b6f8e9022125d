"""Adds address names to the tables of a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kwire_inspect.reports.report import Column, Report, Table

ADDRESS = "client_host"
NAME = Column("host_name", "name", comment="Unverified name of the address, from a capture.")


def with_names(report: Report, names: Mapping[str, str]) -> Report:
    """Return the report with address names.

    In each table that contains a named address, a column of names follows the address column.
    """
    return replace(report, tables=tuple(_with_names(table, names) for table in report.tables)) if names else report


def _with_names(table: Table, names: Mapping[str, str]) -> Table:
    columns = [column.name for column in table.columns]
    if ADDRESS not in columns or not names.keys() & {*table.column(ADDRESS)}:
        return table
    place = columns.index(ADDRESS) + 1
    rows = ((*row[:place], names.get(str(row[place - 1])), *row[place:]) for row in table.rows)
    return replace(table, columns=(*table.columns[:place], NAME, *table.columns[place:]), rows=tuple(rows))
