"""Reports as a self-contained HTML page, which needs neither a network nor other files.

All texts may come from the wire, so they are untrusted. Jinja escapes HTML. Chart data is JSON with ``<`` escaped, in
a block that browsers do not execute. As a second line of defence, the Content-Security-Policy of the page allows two
scripts by their hash and forbids everything else, including connections. Links lead to the guide in ``report.guide``.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from kwire import __version__
from kwire_inspect.reports.report import Cell, Column, Report, Table
from kwire_inspect.reports.text import counted, shown_in, time, visible


def page(report: Report) -> str:
    """Return the whole page. Most of its 4.8 MB is plotly, which a page without charts does not contain."""
    plotting = _plotting() if report.charts else ""
    figures = {chart.name: chart.figure for chart in report.charts}
    text: str = _template().render(
        report=report,
        figures=embedded(figures),
        plotting=plotting,
        script=_script(),
        version=__version__,
        style=_part("page.css"),
        allowed=" ".join(_hash(script) for script in (plotting, _script()) if script),
    )
    return text


def embedded(data: Any) -> str:
    """Return JSON for a ``script`` element, escaped so that no text can end the element or begin a new one."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


AT_ONCE = 100
"""Maximum number of rows of an HTML table. Longer tables are stored as data, of which a script shows this many rows
at a time."""
LONG = 36
"""Maximum length in characters of texts that are not folded."""
FILTERED = frozenset({"owner", "target", "change"})
"""Columns with few distinct values. Users can filter rows by these columns, as by columns with colours."""

Shown = tuple[str, str, str, str, str]
"""Text, sort key, layout, colour and address of a cell."""


def cells(report: Report, table: Table, row: Sequence[Cell], places: Sequence[int]) -> Iterator[Shown]:
    """Yield the cells of a row as shown on the page."""
    for place in places:
        cell, text = row[place], shown_in(table.columns[place], row[place])
        layout = kind(cell) or ("long" if len(text) > LONG else "")
        yield text, sort_key(cell), layout, marked(table.columns[place], cell), report.link(table, row, place)


def data(report: Report, table: Table, places: Sequence[int]) -> str:
    """Return all rows of a long table as JSON. A cell is a list of the texts in :data:`Shown`, without trailing empty
    texts. A list that would contain only the text of the cell is replaced with this text.
    """
    return embedded([[_brief(cell) for cell in cells(report, table, row, places)] for row in table.rows])


def _brief(cell: Shown) -> str | Sequence[str]:
    length = max((place + 1 for place, text in enumerate(cell) if text), default=1)
    return cell[0] if length == 1 else cell[:length]


def is_filtered(column: Column) -> bool:
    """Return whether the user can filter the rows by this column."""
    return column.mark is not None or column.name in FILTERED


def sort_key(cell: Cell) -> str:
    """Return the exact number or time of a cell for sorting, or an empty text for other cells."""
    if isinstance(cell, bool):
        return str(int(cell))
    if isinstance(cell, int | float):
        return repr(cell)
    return cell.isoformat() if isinstance(cell, datetime) else ""


def kind(cell: Cell) -> str:
    """Return the layout of a cell: ``number``, ``time``, or an empty text."""
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        return "number"
    return "time" if isinstance(cell, datetime) else ""


def is_numeric(table: Table, place: int) -> bool:
    """Return whether a column contains numbers. The heading of such a column is right-aligned."""
    return any(kind(row[place]) == "number" for row in table.rows)


def summed(table: Table) -> str:
    """Return a caption with the numbers of shown and omitted rows, and the columns without values."""
    rows = counted(len(table.rows), "row") + (f", and {table.more:,} more that are not shown" if table.more else "")
    empty = [column.heading for place, column in enumerate(table.columns) if place not in table.filled()]
    return f"{rows}. Empty columns: {', '.join(map(visible, empty))}" if empty else rows


def marked(column: Column, cell: Cell) -> str:
    """Return the colour of a cell: ``bad``, ``warn``, ``good``, or an empty text."""
    return (column.mark or {}).get(str(cell), "")


@cache
def _template() -> Any:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"visible": visible}
    functions = (cells, data, is_filtered, is_numeric, summed, time)
    environment.globals |= {function.__name__: function for function in functions} | {"AT_ONCE": AT_ONCE}
    return environment.from_string(_part("page.html.jinja"))


@cache
def _plotting() -> str:
    from plotly.offline import get_plotlyjs

    script: str = get_plotlyjs()
    return script


def _script() -> str:
    return _part("tables.js") + _part("charts.js")


@cache
def _part(name: str) -> str:
    return files("kwire_inspect.reports").joinpath("templates", name).read_text("utf-8")


@cache
def _hash(script: str) -> str:
    return f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"
