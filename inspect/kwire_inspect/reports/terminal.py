"""Prints the sentences and tables of a report, but not its charts, on the terminal."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from kwire_inspect.reports.page import is_numeric, kind, marked
from kwire_inspect.reports.report import Cell, Column, Report, Table
from kwire_inspect.reports.text import shown_in, time, visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as Grid

ROWS = 20
"""Maximum number of rows to print for a table. The page and the files contain all rows."""
WIDEST = 60
NARROW = 16
"""Maximum length in characters of texts that are never folded. Longer texts are folded between words if necessary."""
WORD = 28
"""Maximum length in characters of words that are not folded, or a third of the line if that is shorter."""
GAP = 2
STYLES = {"bad": "bold red", "warn": "yellow", "good": "green"}


def print_report(report: Report, console: Console, rows: int = ROWS) -> None:
    """Print a report and the first ``rows`` rows of each table. Texts are escaped and never interpreted as markup.

    Columns without values are omitted. Columns on the right that do not fit are also omitted, but named in a note.
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
        with_values = table.filled()
        widths = _fitting(table, with_values, console.width, rows)
        console.print(_grid(table, widths, rows))
        if left := _left_out(table, with_values[len(widths) :], rows):
            console.print(Text(left, style="dim"))


def _fitting(table: Table, places: list[int], width: int, rows: int) -> dict[int, int]:
    """Return a mapping from the position of each column that fits to the width of the column in characters. The
    mapping contains at least one column.
    """
    widths: dict[int, int] = {}
    room = width + GAP
    for place in places:
        least = _least_width(table, place, rows, min(WORD, width // 3))
        if room < least + GAP and widths:
            break
        widths[place] = min(least, width)
        room -= least + GAP
    for place, least in widths.items():  # give the remaining width to columns that would be folded
        more = min(max(room, 0), _full_width(table, place, rows) - least)
        widths[place] += max(more, 0)
        room -= max(more, 0)
    return widths


def _least_width(table: Table, place: int, rows: int, longest: int) -> int:
    heading = max(map(len, visible(table.columns[place].heading).split()))
    full = _full_width(table, place, rows)
    if any(kind(row[place]) for row in table.rows):  # numbers and times are not folded
        return max(full, heading)
    words = (len(word) for text in _texts(table, place, rows) for word in text.split())
    return max(min(full, max(NARROW, min(max(words, default=0), longest))), heading)


def _full_width(table: Table, place: int, rows: int) -> int:
    return max(map(len, _texts(table, place, rows)))


def _texts(table: Table, place: int, rows: int) -> list[str]:
    return [_text(table.columns[place], row[place]) for row in table.rows[:rows]]


def _grid(table: Table, widths: dict[int, int], rows: int) -> Grid:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as Grid
    from rich.text import Text

    between = (0, GAP - 1, 0, 0)  # the box uses a space instead of a line between columns
    grid = Grid(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=between, header_style="bold")
    for place, width in widths.items():
        grid.add_column(
            Text(visible(table.columns[place].heading)),
            justify="right" if is_numeric(table, place) else "left",
            overflow="fold",
            width=width,
        )
    for row in table.rows[:rows]:
        cells = ((table.columns[place], row[place]) for place in widths)
        grid.add_row(*(Text(_text(*cell), style=STYLES.get(marked(*cell), "")) for cell in cells))
    return grid


def _text(column: Column, cell: Cell) -> str:
    """Return a cell in brief form. Times have no fractions of a second, and ``brief`` shortens texts."""
    if isinstance(cell, datetime):
        return time(cell)[: len("2026-01-02 03:04:05")]
    return shown_in(column, cell, WIDEST)


def _left_out(table: Table, places: list[int], rows: int) -> str:
    """Return a note on the rows and columns that are not printed."""
    more = table.more + max(len(table.rows) - rows, 0)
    notes = [f"and {more:,} more"] if more else []
    if places:
        notes.append(f"not shown here: {', '.join(visible(table.columns[place].heading) for place in places)}")
    return "; ".join(notes)
