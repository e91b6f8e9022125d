"""Pages of reports in a real browser, where there is one: charts drawn, tables sorted, nothing asked of a network."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from kwire_spark.reports.page import page
from kwire_spark.reports.report import Column, Report, Table
from tests.browser import BROWSER, told
from tests.pipeline.report_samples import HOSTILE, all_charts, report

PROBE = """
const texts = (selector) => [...document.querySelectorAll(selector)].map(found => found.textContent);
const column = (number) => texts(`tbody td:nth-child(${number})`);
const heading = (number) => document.querySelector(`th:nth-child(${number})`);
const press = (number) => { heading(number).firstElementChild.click(); return column(number); };
const drawn = (plot) => plot.querySelector(".main-svg");
const result = {
  title: document.title,
  charts: [...document.querySelectorAll(".plot")].filter(drawn).map(plot => plot.dataset.figure),
  labels: texts(".plot[data-figure=bars] .ytick text"),
  ink: getComputedStyle(document.querySelector(".plot[data-figure=bars] .ytick text")).fill,
  loaded: performance.getEntriesByType("resource").map(entry => entry.name),
  wider: document.documentElement.scrollWidth > innerWidth,
  ticks: texts(".plot[data-figure=points] .xtick text"),
  before: column(2), up: press(2), down: press(2), state: heading(2).ariaSort,
};
const told = Object.assign(document.createElement("pre"), { id: "told", textContent: JSON.stringify(result) });
document.body.replaceChildren(told);
"""

WIDE_PROBE = """
const scroll = document.querySelector(".scroll"), note = document.querySelector("section p.note");
const state = () => [!note.hidden, getComputedStyle(scroll).boxShadow !== "none"];
const result = { text: note.textContent, start: state() };
scroll.scrollLeft = scroll.scrollWidth;
scroll.dispatchEvent(new Event("scroll"));
result.end = state();
const told = Object.assign(document.createElement("pre"), { id: "told", textContent: JSON.stringify(result) });
document.body.replaceChildren(told);
"""

LONG_PROBE = """
const table = document.querySelector("table"), tools = document.querySelector(".tools");
const column = (number) => [...table.querySelectorAll(`tbody td:nth-child(${number})`)].map(cell => cell.textContent);
const [search, choice] = [tools.querySelector("input"), tools.querySelector("select")];
const [back, next] = tools.querySelectorAll("button"), state = () => tools.querySelector("output").value;
const typed = (text) => { search.value = text; search.dispatchEvent(new Event("input")); };
const chosen = (value) => { choice.value = value; choice.dispatchEvent(new Event("change")); };
const seen = () => [state(), column(1).length, column(1)[0]];
const result = { opened: [...seen(), back.disabled, next.disabled] };
result.page = innerWidth >= document.documentElement.scrollWidth;
next.click(); result.second = [...seen(), back.disabled];
table.querySelectorAll("th button")[1].click(); table.querySelectorAll("th button")[1].click();
result.sorted = [...seen(), table.querySelectorAll("th")[1].ariaSort];
typed("CLIENT-99 team-1"); result.searched = seen();
typed(""); chosen("refused"); result.filtered = seen();
result.colours = [...new Set([...table.querySelectorAll("tbody .mark")].map(mark => mark.className))];
typed("no such client"); result.nothing = [...seen().slice(0, 2), next.hidden];
chosen("all"); typed("<script>"); result.hostile = [...seen().slice(0, 2), column(4)[0], document.title];
result.options = [...choice.options].map(option => option.textContent);
result.reachable = [...document.querySelectorAll("input, select, button, .scroll")].every(one => one.tabIndex === 0);
const told = Object.assign(document.createElement("pre"), { id: "told", textContent: JSON.stringify(result) });
document.body.replaceChildren(told);
"""

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not BROWSER, reason="no browser is installed")]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a script in the page found on a small dark screen, and what the browser had to say (``console``)."""
    place = probed(tmp_path_factory.mktemp("browser"), report(), PROBE)
    return told(place.as_uri(), "--blink-settings=preferredColorScheme=0", "--window-size=500,900")  # dark


def probed(folder: Path, of: Report, probe: str) -> Path:
    """The page of a report with one more script, which the policy allows."""
    allowed = f"'sha256-{b64encode(sha256(probe.encode()).digest()).decode()}'"
    text = page(of).replace("script-src ", f"script-src {allowed} ", 1)
    place = folder / "page.html"
    place.write_text(text.replace("</body>", f"<script>{probe}</script></body>"), "utf-8")
    return place


def long_table(rows: int) -> Report:
    """Clients with a verdict and an owner; every tenth is refused, and one is named by a script."""
    shape = Table("clients", "Clients").with_columns(
        "client", "requests", Column("verdict", mark={"refused": "bad", "ok": "good"}), "owner"
    )
    cells = [
        (f"client-{number}", number * 3, "ok" if number % 10 else "refused", f"team-{number % 5}")
        for number in range(rows)
    ]
    cells[7] = ("client-7", 21, "ok", HOSTILE[0])
    return Report("long", "Long", ("One.",), (replace(shape, rows=tuple(cells)),))


def test_all_charts_are_drawn_without_a_complaint(seen: dict[str, Any]) -> None:
    assert seen["charts"] == [chart.name for chart in all_charts()]
    assert seen["console"] == []


def test_nothing_is_loaded_and_no_text_is_run(seen: dict[str, Any]) -> None:
    assert seen["loaded"] == []
    assert seen["title"] == report().title
    assert seen["labels"][0] == "<script>document.ti…/script>"


def test_tables_sort_by_number_and_back(seen: dict[str, Any]) -> None:
    requests = [str(cell) for cell in report().tables[0].column("requests")]
    assert seen["before"] == seen["up"] == requests
    assert seen["down"] == requests[::-1]
    assert seen["state"] == "descending"


def test_a_small_screen_and_the_dark(seen: dict[str, Any]) -> None:
    assert not seen["wider"]
    assert seen["ink"] == "rgb(232, 235, 240)"


def test_a_logarithmic_axis_has_whole_numbers(seen: dict[str, Any]) -> None:
    assert seen["ticks"] == ["1", "2", "5", "10"]


@pytest.mark.parametrize(("columns", "start"), [(30, [True, True]), (2, [False, False])])
def test_a_wide_table_says_that_it_scrolls(tmp_path: Path, columns: int, start: list[bool]) -> None:
    names = [f"column-{number}" for number in range(columns)]
    table = Table("t", "T", rows=(tuple(names),)).with_columns(*names)
    found = told(
        probed(tmp_path, Report("r", "R", ("One.",), (table,)), WIDE_PROBE).as_uri(), "--window-size=500,900"
    )
    assert found["console"] == []
    assert found["text"].startswith("More columns: scroll")
    assert (found["start"], found["end"]) == (start, [False, False])


def test_a_long_table_is_searched_filtered_sorted_and_turned(tmp_path: Path) -> None:
    found = told(probed(tmp_path, long_table(1000), LONG_PROBE).as_uri(), "--window-size=500,900")
    assert found["console"] == []
    assert found["page"]
    assert found["opened"] == ["1 to 100 of 1,000 rows", 100, "client-0", True, False]
    assert found["second"] == ["101 to 200 of 1,000 rows", 100, "client-100", False]
    assert found["sorted"] == ["1 to 100 of 1,000 rows", 100, "client-999", "descending"]
    assert found["searched"] == ["2 rows (1,000 in all)", 2, "client-996"]
    assert found["filtered"] == ["100 rows (1,000 in all)", 100, "client-990"]
    assert found["colours"] == ["mark bad"]
    assert found["nothing"] == ["0 rows (1,000 in all)", 0, True]
    assert found["hostile"] == ["1 row (1,000 in all)", 1, HOSTILE[0], "Long"]
    assert found["options"] == ["all", "ok", "refused"]
    assert found["reachable"]


def test_a_table_of_more_rows_than_a_call_has_arguments_is_sorted(tmp_path: Path) -> None:
    found = told(probed(tmp_path, long_table(150_000), LONG_PROBE).as_uri(), "--window-size=500,900")
    assert found["console"] == []
    assert found["sorted"] == ["1 to 100 of 150,000 rows", 100, "client-149999", "descending"]
