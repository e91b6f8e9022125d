"""Plotly figures for report charts, as plain dicts with ``data`` and ``layout``, without colours.

``meta.role`` of a trace names its colour on the page, such as ``bad``, ``warn``, ``good`` or ``series-1``. Each
colour has a light and a dark variant. Positions on an axis are numbers with labels, because plotly would interpret
some texts as dates or numbers, and would merge equal texts. Plotly also interprets HTML in texts, so :func:`plain`
escapes texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from math import ceil, floor, inf, isfinite, log10
from typing import Any

from kwire_inspect.reports.text import label, visible

Series = Mapping[str, Sequence[float | None]]
Roles = Mapping[str, str]
Figure = dict[str, Any]

ROW = 26
"""Height of a row in pixels."""
GROUND = "rgba(128, 128, 128, 0.2)"
"""Background of marked positions, visible in light and dark mode."""
PALETTE = 8
"""Number of series colours on the page. A ninth series has the same colour as the first."""


def bars(labels: Sequence[str], series: Series, *, unit: str) -> Figure:
    """Return a figure with one horizontal stacked bar per label. ``series`` maps each name to a list with one value
    per label. The values are in ``unit``.
    """
    data = _bars("x", series, orientation="h", y=_places(labels), text=_texts(labels))
    return _figure(data, _rows(labels) | {"xaxis": _amount(unit, series)})


def columns(
    labels: Sequence[str], series: Series, *, unit: str, roles: Roles | None = None, marked: Sequence[int] = ()
) -> Figure:
    """Return a figure with one vertical stacked bar per label, such as a release, in the given order.

    Bars at the ``marked`` positions have a grey background.
    """
    data = _bars("y", series, roles, x=_places(labels), text=_texts(labels))
    ground = {"type": "rect", "yref": "paper", "y0": 0, "y1": 1, "layer": "below", "line": {"width": 0}}
    shapes = [ground | {"x0": at - 0.5, "x1": at + 0.5, "fillcolor": GROUND} for at in marked]
    return _figure(
        data, {"xaxis": _labelled(labels), "yaxis": _amount(unit, series), "height": 340, "shapes": shapes}
    )


def over_time(starts: Sequence[datetime], step: timedelta, series: Series, *, unit: str) -> Figure:
    """Return a figure with one stacked bar per interval of length ``step``. The labels of the intervals are times in
    UTC."""
    middle = [_moment(start + step / 2) for start in starts]
    text = [f"{_moment(start)} UTC" for start in starts]
    data = _bars("y", series, x=middle, text=text, width=step.total_seconds() * 1000)
    across = _axis("UTC", type="date", range=[_moment(min(starts)), _moment(max(starts) + step)])
    return _figure(data, {"xaxis": across, "yaxis": _amount(unit, series), "height": 360})


def points(labels: Sequence[str], series: Series, *, unit: str) -> Figure:
    """Return a figure with one row per label and one point per series in each row, on a logarithmic axis.

    Values of 0 or less are not drawn.
    """
    data = [
        _trace("scatter", key, index, mode="markers", y=_places(labels), text=_texts(labels))
        | {"x": [value if value and value > 0 else None for value in _finite(values)], "marker": {"symbol": index}}
        | {"hovertemplate": "%{text}<br>%{fullData.name}: %{x}<extra></extra>"}
        for index, (key, values) in enumerate(series.items())
    ]
    return _figure(data, _rows(labels) | {"xaxis": _logarithmic(unit, series)})


def heat(rows: Sequence[str], across: Sequence[str], counts: Sequence[Sequence[int | None]], *, unit: str) -> Figure:
    """Return a heat map of ``counts``, with one cell for each combination of ``rows`` and ``across``.

    Colours are on a logarithmic scale. Cells for ``None`` are empty.
    """
    data = {
        "type": "heatmap",
        "x": _places(across),
        "y": _places(rows),
        "z": [[log10(count) if count else None for count in row] for row in counts],
        "customdata": [[count or 0 for count in row] for row in counts],
        "text": [[f"{first} {second}" for second in _texts(across)] for first in _texts(rows)],
        "hovertemplate": "%{text}<br>%{customdata:,} " + plain(unit) + "<extra></extra>",
        "meta": {"role": "heat"},
        "showscale": False,
        "zmin": -1,
        "xgap": 2,
        "ygap": 2,
    }
    return _figure([data], _rows(rows) | {"xaxis": _labelled(across) | {"side": "top"}})


def plain(text: str) -> str:
    """Escape a text for plotly, which interprets tags and entities in all texts."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _bars(axis: str, series: Series, roles: Roles | None = None, **properties: Any) -> list[dict[str, Any]]:
    """Return one bar trace per series, with the values on ``axis``."""
    hover = f"%{{text}}<br>%{{fullData.name}}: %{{{axis}}}<extra></extra>"
    properties |= {"hovertemplate": hover, "textposition": "none"}
    return [
        _trace("bar", name, index, roles, **properties, **{axis: _finite(values)})
        for index, (name, values) in enumerate(series.items())
    ]


def _trace(kind: str, name: str, index: int, roles: Roles | None = None, **properties: Any) -> dict[str, Any]:
    role = (roles or {}).get(name) or f"series-{index % PALETTE + 1}"
    return {"type": kind, "name": plain(label(name)), "meta": {"role": role}, **properties}


def _figure(data: list[dict[str, Any]], layout: dict[str, Any]) -> Figure:
    shared = {"margin": {"l": 8, "r": 16, "t": 8, "b": 8}, "showlegend": len(data) > 1, "barmode": "stack"}
    return {"data": data, "layout": shared | layout}


def _rows(labels: Sequence[str]) -> dict[str, Any]:
    """Return the layout of a chart with one row per label, from top to bottom."""
    axis = _labelled(labels) | {"range": [len(labels) - 0.5, -0.5]}
    return {"yaxis": axis, "height": 110 + ROW * max(len(labels), 2)}


def _labelled(labels: Sequence[str]) -> dict[str, Any]:
    """Return an axis with a label at each position of :func:`_places`."""
    texts = [plain(label(text)) for text in labels]
    return _axis("", tickvals=_places(labels), ticktext=texts, showgrid=False, zeroline=False)


def _axis(title: str, **properties: Any) -> dict[str, Any]:
    return {"title": {"text": plain(title)}, "automargin": True, "fixedrange": "tickvals" in properties, **properties}


def _amount(unit: str, series: Series) -> dict[str, Any]:
    """Return an axis that begins at 0 and has no fractional ticks for small counts."""
    rows = [[value for value in row if value is not None] for row in zip(*series.values(), strict=True)]
    few = all(isinstance(value, int) for row in rows for value in row) and max(map(sum, rows), default=0) < 8
    return _axis(unit, rangemode="tozero", **({"dtick": 1} if few else {}))


def _logarithmic(unit: str, series: Series) -> dict[str, Any]:
    """Return a logarithmic axis with a full number at each tick. By default, Plotly shortens labels between powers of
    ten to one digit.
    """
    powers = [log10(value) for values in series.values() for value in _finite(values) if value and value > 0]
    first, last = floor(min(powers, default=0)), ceil(max(powers, default=0))
    steps = (1, 2, 5) if last - first <= 3 else (1,)
    decades = range(first, last + 1, max((last - first) // 10, 1))
    ticks = [tick for power in decades for step in steps if 0 < (tick := float(f"{step}e{power}")) < inf]
    return _axis(unit, type="log", tickvals=ticks, ticktext=[f"{tick:,.12g}" for tick in ticks])


def _finite(values: Sequence[float | None]) -> list[float | None]:
    """Return the values, with ``None`` in place of NaN and infinity. Logs may contain NaN and infinity, but JSON
    cannot."""
    return [value if value is not None and isfinite(value) else None for value in values]


def _places(labels: Sequence[str]) -> list[int]:
    return list(range(len(labels)))


def _texts(labels: Sequence[str]) -> list[str]:
    return [plain(visible(text)) for text in labels]


def _moment(moment: datetime) -> str:
    return moment.replace(tzinfo=None).isoformat(" ")
