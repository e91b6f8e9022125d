"""A report as one HTML page that needs nothing else: no network, no files beside it.

Everything in it may have come from the wire, so it is hostile. Jinja escapes what becomes HTML; what charts need is
JSON in a block that no browser executes, with ``<`` written as an escape. A policy in the page's head names the two
scripts that may run by their hash and forbids everything else, connections included: should an escape ever be
missing, there is still nothing that it could do.
"""

from __future__ import annotations

import json
from base64 import b64encode
from datetime import datetime
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from kwire_spark.reports.report import Cell, Column, Report, Table
from kwire_spark.reports.text import counted, shown, visible


def page(report: Report) -> str:
    """The whole page. plotly draws the charts and makes up most of its 4.8 MB; without charts it is left out."""
    plotting = _plotting() if report.charts else ""
    figures = {chart.name: chart.figure for chart in report.charts}
    text: str = _template().render(
        report=report,
        figures=embedded(figures),
        plotting=plotting,
        script=_part("page.js"),
        style=_part("page.css"),
        allowed=" ".join(_hash(script) for script in (plotting, _part("page.js")) if script),
    )
    return text


def embedded(facts: Any) -> str:
    """JSON that can stand in a ``script`` element: nothing in it ends the element or begins another."""
    text = json.dumps(facts, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def sort_key(cell: Cell) -> str:
    """What a column is sorted by when it is not what is shown: the exact number, or the time."""
    if isinstance(cell, bool):
        return str(int(cell))
    if isinstance(cell, int | float):
        return repr(cell)
    return cell.isoformat() if isinstance(cell, datetime) else ""


def kind(cell: Cell) -> str:
    """How a cell is laid out: ``number``, ``time`` or as text."""
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        return "number"
    return "time" if isinstance(cell, datetime) else ""


def is_numeric(table: Table, place: int) -> bool:
    """Whether a column has numbers, so that its heading stands at the right as they do."""
    return any(kind(row[place]) == "number" for row in table.rows)


def filled(table: Table) -> list[int]:
    """The places of the columns with a value in any row. The others are for files, which have all columns always."""
    return [
        place for place in range(len(table.columns)) if any(row[place] not in (None, "", ()) for row in table.rows)
    ]


def summed(table: Table) -> str:
    """The caption: how many rows there are, and what is not shown."""
    told = counted(len(table.rows), "row") + (f", and {table.more:,} more that are not shown" if table.more else "")
    empty = [column.heading for place, column in enumerate(table.columns) if place not in filled(table)]
    return f"{told}; without values: {', '.join(map(visible, empty))}" if empty else told


def marked(column: Column, cell: Cell) -> str:
    """The colour of a cell: ``bad``, ``warn``, ``good`` or nothing."""
    return (column.mark or {}).get(str(cell), "")


@cache
def _template() -> Any:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"shown": shown, "visible": visible, "sort_key": sort_key}
    environment.globals |= {
        "marked": marked,
        "kind": kind,
        "is_numeric": is_numeric,
        "filled": filled,
        "summed": summed,
    }
    return environment.from_string(_part("page.html.jinja"))


@cache
def _plotting() -> str:
    from plotly.offline import get_plotlyjs

    script: str = get_plotlyjs()
    return script


@cache
def _part(name: str) -> str:
    return files("kwire_spark.reports").joinpath("templates", name).read_text("utf-8")


@cache
def _hash(script: str) -> str:
    return f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"
