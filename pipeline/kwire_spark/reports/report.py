"""What a report is, before it is printed or laid out: sentences, small tables, charts and an exit code.

Reports are made by Spark jobs whose results are small; what prints, lays out and saves them needs no Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

Cell = str | int | float | bool | datetime | None | tuple[str, ...] | tuple[int, ...]
"""A cell; times have a zone, and ``None`` is shown as nothing."""


@dataclass(frozen=True, slots=True)
class Column:
    """``name`` is that in files, ``title`` that above the column; numbers stand at the right.

    ``mark`` says how a cell is coloured: its value → ``bad``, ``warn`` or ``good``. ``brief`` gives what of a text is
    shown on a terminal, which has less room than a page.
    """

    name: str
    title: str = ""
    comment: str = ""
    mark: Mapping[str, str] | None = None
    brief: Callable[[str], str] | None = None

    @property
    def heading(self) -> str:
        return self.title or self.name.replace("_", " ")


@dataclass(frozen=True, slots=True)
class Table:
    """A small table: rows in the order in which they are worth reading. ``name`` is the stem of its files.

    ``more`` is the number of rows that were left out, ``empty`` the sentence that stands for a table without rows.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    more: int = 0
    empty: str = "Nothing."

    def column(self, name: str) -> list[Cell]:
        """The cells below a column."""
        place = [column.name for column in self.columns].index(name)
        return [row[place] for row in self.rows]


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure of the plotting library with the sentence that says what is to be seen."""

    name: str
    title: str
    figure: Any
    note: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """``name`` is the stem of the page's file. ``exit_code``: 0 if all is well, 1 if there is something to do."""

    name: str
    title: str
    summary: tuple[str, ...]
    tables: tuple[Table, ...]
    charts: tuple[Chart, ...] = ()
    exit_code: int = 0

    def table(self, name: str) -> Table:
        """The table of this name."""
        return next(table for table in self.tables if table.name == name)


def columns(*names: str | Column) -> tuple[Column, ...]:
    """Columns, of which plain ones are given by name."""
    return tuple(name if isinstance(name, Column) else Column(name) for name in names)


def cells(rows: Sequence[Any]) -> tuple[tuple[Cell, ...], ...]:
    """Rows collected from Spark as rows of a table."""
    return tuple(tuple(tuple(cell) if isinstance(cell, list) else cell for cell in row) for row in rows)
