"""A report on the terminal: its sentences and its tables, the charts being on the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_spark.reports.page import kind
from kwire_spark.reports.report import Cell, Column, Report, Table
from kwire_spark.reports.text import shown, visible

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod
    from rich.table import Table as Grid
    from rich.text import Text

ROWS = 20
"""Rows of a table that are printed; the page and the files have all of them."""
WIDEST = 60
STYLES = {"bad": "bold red", "warn": "yellow", "good": "green"}


def print_report(report: Report, console: Console, rows: int = ROWS) -> None:
    """Print it, at most ``rows`` rows of each table; no text is read as markup, no control character gets through."""
    from rich.text import Text

    console.print(Text(visible(report.title), style="bold"))
    for sentence in report.summary:
        console.print(Text(visible(sentence, 1000)))
    for table in report.tables:
        console.print()
        console.print(Text(visible(table.title), style="bold"))
        if not table.rows:
            console.print(Text(visible(table.empty, 1000)))
            continue
        console.print(_grid(table, rows))
        left = table.more + max(len(table.rows) - rows, 0)
        if left:
            console.print(Text(f"and {left:,} more", style="dim"))


def _grid(table: Table, rows: int) -> Grid:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for place, column in enumerate(table.columns):
        kinds = {kind(row[place]) for row in table.rows}
        side: JustifyMethod = "right" if "number" in kinds else "left"
        grid.add_column(Text(visible(column.heading)), justify=side, overflow="fold", no_wrap=kinds - {""} != set())
    for row in table.rows[:rows]:
        grid.add_row(*(_cell(table.columns[place], row[place]) for place in places))
    return grid


def _cell(column: Column, cell: Cell) -> Text:
    from rich.text import Text

    return Text(shown(cell, WIDEST), style=STYLES.get((column.mark or {}).get(str(cell), ""), ""))
