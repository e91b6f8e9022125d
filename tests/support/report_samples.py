"""A report with hostile texts in every place, for tests of pages, files and the terminal."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from kwire_inspect.reports import charts
from kwire_inspect.reports.report import Chart, Column, Report, Table

INVISIBLE = "\xad\u034f\u061c\u115f\u180b\u180f\u200b\u3164\ufe00\ufe0f\ufeff\uffa0\U000e0020\U000e0100"
"""Characters that no font shows, before which a sign still begins a formula."""
ACTED_ON = [
    "\x1b[31m",
    "\x1b]0;title\x07",
    "\x9b31m",
    "\0",
    "\u202e",
    "\u2066",
    "\u2028",
    "\x85",
    "\r\n",
    "\t",
    "\x7f",
]
"""Texts that a terminal acts on."""
HOSTILE = (
    "<script>document.title = 'owned'</script>",
    "</script><script>document.title = 'owned'//",
    "\"'><img src=x onerror=\"document.title = 'owned'\">",
    "a\x1b[31mred\x00\u202eb\u2028\r\n",
    "x" * 5000,
    "[bold red]b[/] [link=https://a.example]c[/link]",
    '=HYPERLINK("https://a.example")',
    "%{y} $x$ {{ 7 * 7 }} <b>b</b> &lt;",
    "2020-01-01",
    "2020-01-01 ",
)
START = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)
MARKS = {"refused": "bad", "deprecated": "warn", "ok": "good"}


def report() -> Report:
    """Each kind of cell, of table and of chart."""
    shape = (
        Column("client", "client <i>", comment='who"'),
        "requests",
        "share",
        "seen",
        "versions",
        Column("verdict", mark=MARKS),
        "known",
    )
    rows = tuple(
        (
            text,
            number * 7 - 3,
            number / 3,
            START + timedelta(minutes=number),
            (3, number),
            verdict,
            number % 2 == 0 or None,
        )
        for number, (text, verdict) in enumerate(zip(HOSTILE, [*MARKS] * 4, strict=False))
    )
    first = Table("clients", "Clients & <b>", rows=rows, note=HOSTILE[0], more=1234).with_columns(*shape)
    nothing = Table("nothing", "Nothing", empty="There is <nothing>.").with_columns("one", "two")
    summary, tables, shown = (HOSTILE[1], "Two <sentences>."), (first, nothing), tuple(all_charts())
    return Report("sample", HOSTILE[0], summary, tables, shown, 1, made=START)


def all_charts() -> list[Chart]:
    labels, numbers = list(HOSTILE), list(range(len(HOSTILE)))
    hours = [START + timedelta(hours=number) for number in numbers]
    series: dict[str, list[float | None]] = {HOSTILE[0]: [*numbers], HOSTILE[2]: [None, *numbers[1:]]}
    roles = {HOSTILE[0]: "bad"}
    grid = [[count * other or None for count in numbers] for other in numbers]
    return [
        Chart("bars", HOSTILE[1], charts.bars(labels, series, unit=HOSTILE[0])),
        Chart("columns", "Columns", charts.columns(labels, series, unit="clients", roles=roles), HOSTILE[2]),
        Chart("time", "Time", charts.over_time(hours, timedelta(hours=1), series, unit="requests")),
        Chart("points", "Points", charts.points(labels, series, unit="ms")),
        Chart("heat", "Heat", charts.heat(labels, labels, grid, unit="requests")),
    ]
