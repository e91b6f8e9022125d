"""Reports as data: sentences, small tables, charts and an exit code. Spark is not required to print or save
reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kwire.guide import Guide

Cell = str | int | float | bool | datetime | None | tuple[str, ...] | tuple[int, ...]
"""Value of a table cell. Times have a time zone, and ``None`` is shown as an empty cell."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. ``name`` is used in files, and ``title`` is the heading.

    ``mark`` maps values to the colour of their cells: ``bad``, ``warn`` or ``good``. ``brief`` shortens texts for
    people, while JSON, CSV and Parquet contain the whole text. Texts in ``whole`` columns are never cut.
    """

    name: str
    title: str = ""
    comment: str = ""
    mark: Mapping[str, str] | None = None
    brief: Callable[[str], str] | None = None
    whole: bool = False

    @property
    def heading(self) -> str:
        return self.title or self.name.replace("_", " ")


@dataclass(frozen=True, slots=True)
class Table:
    """A small table, with the most important rows first. ``name`` is part of the table's file names.

    ``more`` is the number of omitted rows. ``empty`` is the text to show instead of a table without rows.
    """

    name: str
    title: str
    columns: tuple[Column, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    note: str = ""
    more: int = 0
    empty: str = "Nothing."

    def with_columns(self, *columns: str | Column) -> Table:
        """Return this table with other columns. A string becomes a column with only a name."""
        return replace(self, columns=tuple(Column(name) if isinstance(name, str) else name for name in columns))

    def with_rows(self, rows: Iterable[Any], more: int = 0) -> Table:
        """Return this table with other rows, given as mappings by column name, such as Spark rows."""
        values = ([row[column.name] for column in self.columns] for row in rows)
        cells = (tuple(tuple(cell) if isinstance(cell, list) else cell for cell in row) for row in values)
        return replace(self, rows=tuple(cells), more=more)

    def column(self, name: str) -> list[Cell]:
        """Return the cells of a column."""
        index = [column.name for column in self.columns].index(name)
        return [row[index] for row in self.rows]

    def filled(self) -> list[int]:
        """Return the indexes of the columns that contain a value in any row."""
        return [
            place for place in range(len(self.columns)) if any(row[place] not in (None, "", ()) for row in self.rows)
        ]

    def limited(self, top: int) -> Table:
        """Return the table with only its first ``top`` rows."""
        return replace(self, rows=self.rows[:top], more=self.more + max(len(self.rows) - top, 0))


@dataclass(frozen=True, slots=True)
class Chart:
    """A plotly figure with a sentence that explains it."""

    name: str
    title: str
    figure: Any
    note: str = ""


PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


@dataclass(frozen=True, slots=True)
class Check:
    """A report's result for CI systems, such as the verdict on a client. ``group`` is the name of the target.
    ``state`` is passed, failed, or skipped if the result is unclear. ``message`` says why the check did not pass.
    """

    name: str
    group: str
    state: str
    message: str = ""


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


@dataclass(frozen=True, slots=True)
class Report:
    """A report as data, from which pages, files and terminal output are made.

    ``name`` is the stem of the report's file names. ``exit_code`` is 0, or 1 if the report requires action. Pages,
    Markdown and JSON link APIs and errors to ``guide``. A page shows when the report was ``made``. The page reloads
    itself every ``refresh`` seconds unless ``refresh`` is 0.
    """

    name: str
    title: str
    summary: tuple[str, ...]
    tables: tuple[Table, ...]
    charts: tuple[Chart, ...] = ()
    exit_code: int = 0
    guide: Guide | None = None
    checks: tuple[Check, ...] = ()
    refresh: int = 0
    made: datetime = field(default_factory=_now, compare=False)

    def table(self, name: str) -> Table:
        """Return the table with this name."""
        return next(table for table in self.tables if table.name == name)

    def link(self, table: Table, row: Sequence[Cell], place: int) -> str:
        """Return the guide's address for the API or the error in a cell. An API links to the row's newest version.

        Return an empty address for other columns.
        """
        names = [column.name for column in table.columns]
        if self.guide is None or not isinstance(text := row[place], str):
            return ""
        if names[place] == "error":
            code = row[names.index("code")] if "code" in names else None
            return self.guide.error(code) if isinstance(code, int) else ""
        if names[place] != "api":
            return ""
        found = [row[names.index(name)] for name in ("version", "versions") if name in names]
        versions = [one for cell in found for one in (cell if isinstance(cell, tuple) else (cell,))]
        return self.guide.api(text, [one for one in versions if isinstance(one, int)])
