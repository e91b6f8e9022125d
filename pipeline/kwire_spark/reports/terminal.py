"""A report on the terminal: its sentences and its tables, the charts being on the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_spark.reports.page import filled, kind
from kwire_spark.reports.report import Cell, Column, Report, Table
from kwire_spark.reports.text import shown, visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

ROWS = 20
"""Rows of a table that are printed; the page and the files have all of them."""
WIDEST = 60
NARROW = 16
"""A text of this length stays in one line; longer ones are folded if there is no room."""
GAP = 3
STYLES = {"bad": "bold red", "warn": "yellow", "good": "green"}


def print_report(report: Report, console: Console, rows: int = ROWS) -> None:
    """Print it, at most ``rows`` rows of each table; no text is read as markup, no control character gets through.

    Columns without a value are left out, and from the right those for which there is no room, which is said.
    """
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
        with_values = filled(table)
        places = _fitting(table, with_values, console.width, rows)
        console.print(_grid(table, places, rows))
        if left := _left_out(table, with_values[len(places) :], rows):
            console.print(Text(left, style="dim"))


def _fitting(table: Table, places: list[int], width: int, rows: int) -> list[int]:
    """As many of the columns, from the left, as there is room for; one at least."""
    room = width
    for count, place in enumerate(places):
        room -= _least_width(table, place, rows) + (GAP if count else 0)
        if room < 0:
            return places[: max(count, 1)]
    return places


def _least_width(table: Table, place: int, rows: int) -> int:
    words = visible(table.columns[place].heading).split()
    cells = [shown(row[place], WIDEST) for row in table.rows[:rows]]
    longest = max(map(len, cells))
    return max(longest if _is_exact(table, place) else min(longest, NARROW), *map(len, words))


def _is_exact(table: Table, place: int) -> bool:
    """Whether a column has numbers or times, which are of no use in two lines."""
    return any(kind(row[place]) for row in table.rows)


def _grid(table: Table, places: list[int], rows: int) -> Grid:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for place in places:
        grid.add_column(
            Text(visible(table.columns[place].heading)),
            justify="right" if any(kind(row[place]) == "number" for row in table.rows) else "left",
            overflow="fold",
            min_width=_least_width(table, place, rows),
        )
    for row in table.rows[:rows]:
        grid.add_row(*(_cell(table.columns[place], row[place]) for place in places))
    return grid


def _cell(column: Column, cell: Cell) -> Text:
    from rich.text import Text

    return Text(shown(cell, WIDEST), style=STYLES.get((column.mark or {}).get(str(cell), ""), ""))


def _left_out(table: Table, places: list[int], rows: int) -> str:
    """The sentence on rows and columns that are not printed."""
    more = table.more + max(len(table.rows) - rows, 0)
    told = [f"and {more:,} more"] if more else []
    if places:
        told.append(f"not shown here: {', '.join(visible(table.columns[place].heading) for place in places)}")
    return "; ".join(told)
