"""Pages of reports in a real browser, where there is one: charts drawn, tables sorted, nothing asked of a network."""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from kwire.guide import Guide
from kwire_inspect.reports.page import LONG, page
from kwire_inspect.reports.report import Column, Report, Table
from kwire_inspect.reports.text import shown
from kwire_kafka import PROTOCOL
from tests.support.browser import BROWSER, told
from tests.support.report_samples import HOSTILE, START, all_charts, report

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

SORT_PROBE = """
const table = document.querySelector("table"), tools = document.querySelectorAll(".tools");
const column = (number) => [...table.querySelectorAll(`tbody td:nth-child(${number})`)].map(cell => cell.textContent);
const headings = [...table.tHead.rows[0].cells], state = () => headings.map(heading => heading.ariaSort);
const pressed = (number) => { headings[number].firstElementChild.click(); return column(number + 1); };
const [search, choice] = [tools[0].querySelector("input"), tools[0].querySelector("select")];
const result = { sorted: headings.flatMap((_, number) => [pressed(number), pressed(number)]), state: state() };
result.tools = tools.length;
const options = (one) => [...one.options].map(option => option.textContent);
result.options = [...tools[0].querySelectorAll("select")].map(options);
choice.selectedIndex = 1; choice.dispatchEvent(new Event("change")); result.chosen = column(1);
choice.selectedIndex = 0; search.value = "  b  CLIENT-1 "; search.dispatchEvent(new Event("input"));
result.found = column(1); result.count = tools[0].querySelector("output").value;
const told = Object.assign(document.createElement("pre"), { id: "told", textContent: JSON.stringify(result) });
document.body.replaceChildren(told);
"""

TURN_PROBE = """
const table = document.querySelector("table"), tools = document.querySelector(".tools");
const [back, next] = tools.querySelectorAll("button"), shown = () => tools.querySelector("output").value;
const seen = () => [shown(), back.disabled, next.disabled, back.hidden];
const result = { first: seen() };
next.click(); next.click(); result.last = seen();
back.click(); result.back = seen();
const cell = table.querySelector("tbody tr").cells;
result.cells = [...cell].map(one => [one.className, one.dataset.key ?? null, one.innerHTML]);
const told = Object.assign(document.createElement("pre"), { id: "told", textContent: JSON.stringify(result) });
document.body.replaceChildren(told);
"""

COLOUR_PROBE = """
const plot = (name) => document.querySelector(`.plot[data-figure=${name}]`);
const paths = (name) => plot(name).querySelectorAll(".point path, path.point");
const fills = (name) => [...new Set([...paths(name)].map(path => getComputedStyle(path).fill))];
const result = { columns: fills("columns"), points: fills("points") };
result.heat = JSON.stringify(plot("heat").data[0].colorscale);
const { legend, hoverlabel, font, xaxis, ...layout } = plot("columns").layout;
const named = ["bargap", "hovermode", "dragmode", "paper_bgcolor", "plot_bgcolor", "autosize"];
result.layout = named.map(name => layout[name]);
result.lines = ["gridcolor", "linecolor", "zerolinecolor", "tickcolor"].map(name => xaxis[name]);
result.texts = { legend, hoverlabel, size: font.size, color: font.color };
const { responsive, displayModeBar, typesetMath } = plot("bars")._context;
result.how = [plot("points").data[0].marker.size, responsive, displayModeBar, typesetMath];
const styled = (selector, names, part) => {
  const style = getComputedStyle(document.querySelector(selector), part);
  return names.split(" ").map(name => style[name]).join(", ");
};
result.marks = ["bad", "warn", "good"].map(mark => styled(".mark." + mark, "color backgroundColor fontWeight"));
result.aligned = ["td", "td.number", "th button", "th.number button"].map(one => styled(one, "textAlign whiteSpace"));
result.boxes = [styled("body", "maxWidth backgroundColor color"), styled("caption", "captionSide textAlign color")];
result.boxes.push(styled("td.long", "whiteSpace minWidth maxWidth overflowWrap"), styled(".scroll", "overflowX"));
result.arrows = ["none", "ascending", "descending"].map(way => {
  document.querySelector("th").ariaSort = way;
  return styled("th button", "content", "::after");
});
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
    assert found["text"].startswith("Scroll to the right")
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


@pytest.mark.long
def test_a_table_of_more_rows_than_a_call_has_arguments_is_sorted(tmp_path: Path) -> None:
    found = told(probed(tmp_path, long_table(150_000), LONG_PROBE).as_uri(), "--window-size=500,900")
    assert found["console"] == []
    assert found["sorted"] == ["1 to 100 of 150,000 rows", 100, "client-149999", "descending"]


def test_any_column_is_sorted_by_its_values_with_empty_cells_last(tmp_path: Path) -> None:
    shape = Table("t", "T").with_columns("name", "number", "time", "owner", "target")
    cells: list[tuple[Any, ...]] = [
        ("client-10", 9.25, START, "a", "x"),
        ("client-9", 9.5, START + timedelta(seconds=10), "b", "x"),
        ("", float("nan"), None, None, "x"),
        ("Client-1", -3, START + timedelta(seconds=9), "b", "x"),
        ("10.0.0.9", 1e21, START - timedelta(days=9000), "a", "x"),
    ]
    few = replace(shape, name="few", rows=(*cells, *cells))
    many = replace(shape, rows=(*cells, *((None, None, None, None, "x") for _ in range(6))))
    found = told(probed(tmp_path, Report("r", "R", ("One.",), (many, few)), SORT_PROBE).as_uri())
    assert found["console"] == []
    in_order = [[text for text in column if text] for column in found["sorted"]]
    assert in_order[:2] == [names := ["10.0.0.9", "Client-1", "client-9", "client-10"], names[::-1]]
    assert in_order[2:4] == [numbers := ["-3", "9.25", "9.5", "1000000000000000000000"], numbers[::-1]]
    times = [shown(row[2]) for row in (cells[4], cells[0], cells[3], cells[1])]
    assert in_order[4:6] == [times, times[::-1]]
    assert in_order[6:8] == [["a", "a", "b", "b"], ["b", "b", "a", "a"]]
    assert all(
        column[len(texts) :] == [""] * 7 for column, texts in zip(found["sorted"][:8], in_order[:8], strict=True)
    )
    assert found["state"] == ["none"] * 4 + ["descending"]
    assert found["tools"] == 1, "not of ten rows"
    assert found["options"] == [["all", "(none)", "a", "b"]], "all rows have the same target"
    assert found["chosen"] == [""] * 7
    assert (found["found"], found["count"]) == (["Client-1"], "1 row (11 in all)")


def test_a_long_table_is_turned_to_its_end_and_back(tmp_path: Path) -> None:
    shape = Table("t", "T").with_columns("api", "requests", Column("verdict", mark={"ok": "good"}), "text", "version")
    rows = tuple(("Fetch", number, "ok", "x" * (LONG + 1), 12) for number in range(250))
    long = Report("r", "R", ("One.",), (replace(shape, rows=rows),), guide=Guide("https://a.example/", PROTOCOL))
    found = told(probed(tmp_path, long, TURN_PROBE).as_uri())
    assert found["console"] == []
    assert found["first"] == ["1 to 100 of 250 rows", True, False, False]
    assert found["last"] == ["201 to 250 of 250 rows", False, True, False]
    assert found["back"] == ["101 to 200 of 250 rows", False, False, False]
    assert found["cells"] == [
        ["", None, '<a href="https://a.example/api/fetch.html#request-v12" rel="noreferrer">Fetch</a>'],
        ["number", "100", "100"],
        ["", None, '<span class="mark good">ok</span>'],
        ["long", None, "x" * (LONG + 1)],
        ["number", "12", "12"],
    ], "as in the rows that are elements of the page"


def test_charts_and_tables_have_their_colours_and_styles(tmp_path: Path) -> None:
    found = told(probed(tmp_path, report(), COLOUR_PROBE).as_uri())
    bad, second = "rgb(179, 38, 30)", "rgb(217, 115, 13)"
    assert found["columns"] == [bad, second]
    assert found["points"] == ["rgb(47, 111, 208)", second]
    assert json.loads(found["heat"]) == [[0, "#dbe7fb"], [1, "#0b3f91"]]
    assert found["layout"] == [0.25, "closest", False, "rgba(0,0,0,0)", "rgba(0,0,0,0)", True]
    assert found["lines"] == ["#d5d9e0"] * 4
    assert found["texts"] == {
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "traceorder": "normal"},
        "hoverlabel": {"bgcolor": "#f4f5f7", "bordercolor": "#d5d9e0", "font": {"color": "#1b1f27"}, "align": "left"},
        "size": 13,
        "color": "#1b1f27",
    }
    assert found["marks"] == [
        f"{bad}, rgb(251, 228, 226), 600",
        "rgb(138, 83, 0), rgb(253, 240, 213), 600",
        "rgb(26, 107, 54), rgb(223, 243, 228), 600",
    ]
    assert found["aligned"] == ["left, normal", "right, nowrap", "left, nowrap", "right, nowrap"]
    assert found["boxes"] == [
        "1344px, rgb(255, 255, 255), rgb(27, 31, 39)",
        "bottom, left, rgb(85, 93, 107)",
        "normal, 352px, 480px, anywhere",
        "auto",
    ]
    assert found["arrows"] == ['"\u2195"', '"\u2191"', '"\u2193"']
    assert found["how"] == [11, True, False, False]
