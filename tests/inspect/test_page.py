"""Pages of reports: complete, alone, and safe whatever text is in them."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from html.parser import HTMLParser

import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from kwire import __version__
from kwire.guide import Guide
from kwire_inspect.reports import charts
from kwire_inspect.reports.charts import plain
from kwire_inspect.reports.formats import json_text, markdown
from kwire_inspect.reports.page import AT_ONCE, LONG, cells, data, embedded, is_filtered, is_numeric, page, summed
from kwire_inspect.reports.report import Cell, Chart, Column, Report, Table
from kwire_inspect.reports.text import file_name, label, shown, visible
from kwire_kafka import PROTOCOL
from tests.support.effort import examples
from tests.support.report_samples import HOSTILE, START, all_charts, report


class Elements(HTMLParser):
    """The elements of a page with their attributes, and the text of each that was last opened."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs), []))

    def handle_endtag(self, tag: str) -> None:
        self.found.append((f"/{tag}", {}, []))  # takes the text behind it

    def handle_data(self, data: str) -> None:
        if self.found:
            self.found[-1][2].append(data)

    def named(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        return [(facts, "".join(texts)) for name, facts, texts in self.found if name == tag]


@pytest.fixture(scope="module")
def elements() -> Elements:
    return Elements(page(report()))


def test_hostile_text_stays_text(elements: Elements) -> None:
    assert len(elements.named("script")) == 3
    assert not elements.named("img")
    assert not elements.named("b")
    assert not [name for _, facts, _ in elements.found for name in facts if name.startswith("on")]
    first_column = [text for _, text in elements.named("td")][:: len(report().tables[0].columns)]
    assert HOSTILE[1] in first_column
    assert "a\\x1b[31mred\\x00\\u202eb\\u2028\\r\\n" in first_column


def test_nothing_is_loaded(elements: Elements) -> None:
    assert not [facts for _, facts, _ in elements.found if facts.keys() & {"src", "href", "srcset", "action"}]
    assert not elements.named("link")


def test_the_policy_allows_the_scripts_of_the_page_and_nothing_else(elements: Elements) -> None:
    policy = next(facts["content"] for facts, _ in elements.named("meta") if facts.get("http-equiv"))
    assert policy is not None
    allowed = policy.split("script-src ")[1].split()
    scripts = [text for facts, text in elements.named("script") if facts.get("type") != "application/json"]
    assert allowed == [f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in scripts]
    assert policy.startswith("default-src 'none'; ")


def test_apis_link_to_the_guide() -> None:
    table = Table("t", "T", rows=(("Fetch", 12), ("Fetch", None), (HOSTILE[2], 1))).with_columns("api", "version")
    found = Report("r", "R", (), (table,), guide=Guide("https://a.example/?'\"<&", PROTOCOL))
    links = [(facts["href"], text) for facts, text in Elements(page(found)).named("a")]
    start = "https://a.example/?'\"<&api/fetch.html#request"
    assert links == [(f"{start}-v12", "Fetch"), (start, "Fetch")]


def test_errors_link_to_the_guide() -> None:
    table = Table("t", "T", rows=(("Fetch", 6, "NOT_LEADER"), ("Fetch", 1, None))).with_columns(
        "api", "code", "error"
    )
    found = Report("r", "R", (), (table,), guide=Guide("../site/", PROTOCOL))
    links = [facts["href"] for facts, text in Elements(page(found)).named("a") if text != "Fetch"]
    assert links == ["../site/errors.html#6"]


def test_charts_travel_as_they_are(elements: Elements) -> None:
    block = next(text for facts, text in elements.named("script") if facts.get("id") == "figures")
    assert json.loads(block) == {chart.name: chart.figure for chart in all_charts()}
    assert "<" not in block
    assert [facts["data-figure"] for facts, _ in elements.named("div") if facts.get("class") == "plot"] == [
        chart.name for chart in all_charts()
    ]


def test_tables_have_captions_and_headings(elements: Elements) -> None:
    assert [text for _, text in elements.named("caption")] == ["10 rows, and 1,234 more that are not shown"]
    assert {facts["scope"] for facts, _ in elements.named("th")} == {"col"}
    identities = {facts.get("id") for _, facts, _ in elements.found}
    labels = [facts["aria-labelledby"] for _, facts, _ in elements.found if "aria-labelledby" in facts]
    assert len(labels) == len(all_charts()) + 1
    assert identities.issuperset(labels)
    assert "There is <nothing>." in page(report()).replace("&lt;", "<").replace("&gt;", ">")


def test_a_page_begins_with_the_verdict_then_says_when_and_by_what_it_was_made() -> None:
    found = Report("r", "R", ("The verdict.", "Based on 1 capture (a.pcap)."), (), made=START)
    paragraphs = [(facts.get("class"), text.strip()) for facts, text in Elements(page(found)).named("p")]
    made = f"Made on 2026-01-02 12:00:00 UTC by kwire {__version__}."
    assert paragraphs[:3] == [(None, "The verdict."), ("note", made), (None, "Based on 1 capture (a.pcap).")]
    assert page(found).count("Made on") == 1
    assert "Made on" not in page(replace(found, summary=()))


def test_a_report_was_made_when_it_is_made() -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    assert before <= Report("r", "R", (), ()).made <= datetime.now(UTC)


def test_the_same_report_gives_the_same_page() -> None:
    assert page(report()) == page(report())


def test_rows_beyond_the_first_are_data_in_which_no_text_ends_the_script() -> None:
    rows = tuple((number, HOSTILE[number % len(HOSTILE)]) for number in range(AT_ONCE + 1))
    long = Report("r", "R", (), (Table("t", "T", rows=rows).with_columns("n", "text"),))
    found = Elements(page(long))
    assert len(found.named("td")) == 2 * AT_ONCE
    data = next(text for facts, text in found.named("script") if facts.get("id") == "rows-1")
    assert "<" not in data
    assert [row[0] for row in json.loads(data)] == [[str(number), str(number), "number"] for number, _ in rows]
    assert [row[1][0] if isinstance(row[1], list) else row[1] for row in json.loads(data)] == [
        shown(text) for _, text in rows
    ]
    short = Report("r", "R", (), (Table("t", "T", rows=rows[:-1]).with_columns("n", "text"),))
    assert 'id="rows-1"' not in page(short)


def test_without_charts_a_page_is_small() -> None:
    bare = Report("bare", "Bare", ("One.",), (Table("t", "T", rows=(("b",),)).with_columns("a"),))
    assert len(page(bare)) < 20_000
    assert len(Elements(page(bare)).named("script")) == 2, "the policy allows no other"


@examples(0.5)
@given(st.text(max_size=300))
def test_no_text_changes_what_a_page_is_made_of(text: str) -> None:
    table = Table("t", text, rows=((text, 1), ("x", 2)), note=text).with_columns("a", "b")
    found = Elements(page(Report("r", text, (text,), (table,)))).found
    usual = Table("t", "x", rows=(("x", 1), ("x", 2)), note="x" if text else "").with_columns("a", "b")
    assert [tag for tag, _, _ in found] == [
        tag for tag, _, _ in Elements(page(Report("r", "x", ("x",), (usual,)))).found
    ]


@pytest.mark.slow
@given(
    st.recursive(
        st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_embedded_json_is_the_same_json(facts: object) -> None:
    text = embedded(facts)
    assert json.loads(text) == facts
    assert not set("<>&\u2028\u2029") & set(text)


@pytest.mark.parametrize("chart", all_charts(), ids=lambda chart: chart.name)
def test_plotly_knows_every_property_of_a_chart(chart: Chart) -> None:
    assert len(go.Figure(chart.figure).data) == len(chart.figure["data"])


@pytest.mark.parametrize("chart", all_charts(), ids=lambda chart: chart.name)
def test_no_text_of_a_chart_is_markup_for_plotly(chart: Chart) -> None:
    given_text = json.dumps(chart.figure)
    for known in ("<br>", "<extra></extra>"):
        given_text = given_text.replace(known, "")
    assert "<" not in given_text


def test_numbers_that_json_lacks_are_left_out() -> None:
    odd = charts.bars(["a", "b", "c"], {"s": [float("nan"), float("inf"), 1.0]}, unit="ms")
    assert odd["data"][0]["x"] == [None, None, 1.0]
    assert page(Report("r", "R", (), (), (Chart("b", "B", odd),)))


def test_an_axis_has_no_halves_of_clients() -> None:
    few, many, times = ([1, 2], [1, 200], [0.25, 1.5])
    axes = [charts.columns(["a", "b"], {"s": one}, unit="u")["layout"]["yaxis"] for one in (few, many, times)]
    assert [axis.get("dtick") for axis in axes] == [1, None, None]
    stacks: list[dict[str, list[float | None]]] = [{"a": [1, None], "b": [top, 0]} for top in (6, 7)]
    axes = [charts.columns(["a", "b"], one, unit="u")["layout"]["yaxis"] for one in stacks]
    assert [axis.get("dtick") for axis in axes] == [1, None], "as high as they are together"


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([0.6, 8.0], ["0.1", "0.2", "0.5", "1", "2", "5", "10", "20", "50"]),
        ([3.0, 20_000.0], ["1", "10", "100", "1,000", "10,000", "100,000"]),
        ([1.0, 9_000.0], ["1", "10", "100", "1,000", "10,000"]),
        ([1.0, 1000.0], ["1", "2", "5", "10", "20", "50", "100", "200", "500", "1,000", "2,000", "5,000"]),
        ([0.0, -1.0, float("nan"), float("inf")], ["1", "2", "5"]),
    ],
)
def test_a_logarithmic_axis_has_whole_numbers(values: list[float], ticks: list[str]) -> None:
    axis = charts.points(["a"] * len(values), {"p50": values}, unit="ms")["layout"]["xaxis"]
    assert axis["ticktext"] == ticks
    assert [f"{tick:,g}" for tick in axis["tickvals"]] == ticks


def test_any_numbers_have_an_axis() -> None:
    chart = charts.points(["a", "b"], {"p50": [5e-324, 1.7e308]}, unit="ms")
    assert len(chart["layout"]["xaxis"]["tickvals"]) <= 12
    assert page(Report("r", "R", (), (), (Chart("p", "P", chart),)))


def test_plain_text_for_plotly() -> None:
    assert plain("<b>&lt;") == "&lt;b&gt;&amp;lt;"


@given(st.text(max_size=400))
def test_shown_text_can_be_seen_and_is_bounded(text: str) -> None:
    assert visible(text).isprintable()
    assert shown(text) == visible(text)
    assert text != visible(text) or text.isprintable()
    assert len(visible(text, 20)) <= 20 * 10 + 25
    assert len(label(text)) <= 28


def test_pages_and_markdown_have_names_of_files_without_folders() -> None:
    table = Table("t", "T", rows=(("/captures/day/a.pcap:17",),)).with_columns(Column("evidence", brief=file_name))
    found = Report("r", "R", (), (table,))
    for text in (page(found), markdown(found)):
        assert "a.pcap:17" in text
        assert "/captures" not in text
    assert "/captures/day/a.pcap:17" in json_text(found)


ESCAPE = "a\x1b[31mb"
ESCAPED = "a\\x1b[31mb"


def test_no_text_has_characters_that_change_others() -> None:
    shape = (Column("x", ESCAPE, comment=ESCAPE), "y")
    rows = tuple((ESCAPE, number) for number in range(AT_ONCE + 1))
    tables = [Table("t", ESCAPE, rows=rows, note=ESCAPE).with_columns(*shape), Table("u", "U", empty=ESCAPE)]
    tables.append(Table("v", "V", rows=((ESCAPE, None),)).with_columns("y", ESCAPE))
    text = page(
        Report("r", ESCAPE, (ESCAPE, ESCAPE), (*tables,), (Chart("c", ESCAPE, all_charts()[0].figure, ESCAPE),))
    )
    assert "\x1b" not in text
    found = Elements(text)
    places = [("title", 1), ("h1", 1), ("h2", 2), ("button", 1), ("td", AT_ONCE + 1), ("caption", 1), ("p", 5)]
    assert [(tag, sum(ESCAPED in inner for _, inner in found.named(tag))) for tag, _ in places] == places
    assert [facts.get("title") for facts, _ in found.named("th")] == [ESCAPED, None, None]
    long = "x" * 999
    several = page(Report("r", "R", (long,), (Table("t", "T", note=long, empty=long),)))
    assert several.count(f">{long}<") == 3, "sentences are not cut"


def test_cells_have_their_layout_key_colour_and_link() -> None:
    shape = Table("t", "T").with_columns(
        *("n", "time", Column("verdict", mark={"ok": "good"}), "text", "owner", "flag", "nothing", "api", "versions")
    )
    rows: tuple[tuple[Cell, ...], ...] = (
        (1.5, START, "ok", "x" * LONG, "o", True, None, "Fetch", (3, 12)),
        (None, None, "?", "x" * (LONG + 1), "", False, None, None, ()),
    )
    text = page(Report("r", "R", (), (replace(shape, rows=rows),), guide=Guide("https://a.example/", PROTOCOL)))
    found = Elements(text)
    column = {"scope": "col", "aria-sort": "none"}
    filtered = column | {"data-filter": None}
    assert [facts for facts, _ in found.named("th")] == [
        column | {"class": "number"},
        *(column, filtered, column, filtered, column, column, column),
    ]
    headings = [inner for _, inner in found.named("button")]
    assert headings == ["n", "time", "verdict", "text", "owner", "flag", "api", "versions"]
    assert [inner for _, inner in found.named("caption")] == ["2 rows. Empty columns: nothing"]
    cells = text.split("<tbody>")[1].split("</tbody>")[0].split()
    assert " ".join(cells) == " ".join(f"""<tr> <td class="number" data-key="1.5">1.5</td>
        <td class="time" data-key="2026-01-02T12:00:00+00:00">2026-01-02 12:00:00</td>
        <td><span class="mark good">ok</span></td> <td>{"x" * LONG}</td> <td>o</td> <td data-key="1">yes</td>
        <td><a href="https://a.example/api/fetch.html#request-v12" rel="noreferrer">Fetch</a></td> <td>3, 12</td>
        </tr> <tr> <td></td> <td></td> <td>?</td> <td class="long">{"x" * (LONG + 1)}</td> <td></td>
        <td data-key="0">no</td> <td></td> <td></td> </tr>""".split())


def test_tables_and_charts_have_names_of_their_own() -> None:
    rows = tuple((number,) for number in range(AT_ONCE + 1))
    tables = [Table(name, name.upper(), rows=rows).with_columns("n") for name in "ab"]
    found = Elements(page(Report("r", "R", (), (*tables,), tuple(all_charts()))))
    assert [facts.get("id") for facts, _ in found.named("table")] == ["1", "2"]
    blocks = [facts["id"] for facts, _ in found.named("script") if "id" in facts]
    assert blocks == ["rows-1", "rows-2", "figures"]
    named = [facts["id"] for facts, _ in found.named("h2")]
    assert named == [*(f"chart-{number}" for number in range(1, 6)), "table-1", "table-2"]
    labelled = [facts["aria-labelledby"] for facts, _ in found.named("div") if "aria-labelledby" in facts]
    assert labelled == named
    heights = [facts["style"] for facts, _ in found.named("div") if facts.get("class") == "plot"]
    assert heights == [f"height: {chart.figure['layout']['height']}px" for chart in all_charts()]
    notes = [inner for _, inner in found.named("p") if "Only the first" in inner]
    assert [note.split("file ")[1].split()[0] for note in notes] == ["r-a.csv", "r-b.csv"]


@pytest.mark.parametrize("seconds", [0, 30])
def test_a_page_loads_itself_again_if_it_is_told_to(seconds: int) -> None:
    found = Elements(page(Report("r", "R", (), (), refresh=seconds)))
    refreshes = [facts["content"] for facts, _ in found.named("meta") if facts.get("http-equiv") == "refresh"]
    assert refreshes == (["30"] if seconds else [])


def test_the_whole_of_each_figure() -> None:
    """With texts that are long or markup, values that are none, and more series than colours."""
    long = "a" * 20 + "b" * 9
    short = f"{'a' * 19}…{'b' * 8}"
    labels = ["<x>\x1b", long]
    tick = ["&lt;x&gt;\\x1b", short]
    text = ["&lt;x&gt;\\x1b", long]
    side = {"title": {"text": ""}, "automargin": True, "fixedrange": True, "tickvals": [0, 1], "ticktext": tick}
    side |= {"showgrid": False, "zeroline": False}
    count = {"title": {"text": "a &amp; b"}, "automargin": True, "fixedrange": False, "rangemode": "tozero"}
    shared = {"margin": {"l": 8, "r": 16, "t": 8, "b": 8}, "barmode": "stack"}
    hover = "%{text}<br>%{fullData.name}: %{" + "x}<extra></extra>"
    bar = {"type": "bar", "text": text, "hovertemplate": hover, "textposition": "none"}
    rows = {"yaxis": side | {"range": [1.5, -0.5]}, "height": 162}
    nan, inf = float("nan"), float("inf")
    assert charts.bars(labels, {"<s>": [3, None]}, unit="a & b") == {
        "data": [
            bar | {"name": "&lt;s&gt;", "meta": {"role": "series-1"}, "orientation": "h", "y": [0, 1], "x": [3, None]}
        ],
        "layout": shared | {"showlegend": False, "xaxis": count | {"dtick": 1}, **rows},
    }
    upright = bar | {"hovertemplate": hover.replace("x}", "y}"), "x": [0, 1]}
    ground = {"type": "rect", "yref": "paper", "y0": 0, "y1": 1, "layer": "below", "line": {"width": 0}}
    series: dict[str, list[float | None]] = {"r": [4, nan], long: [4, inf]}
    assert charts.columns(labels, series, unit="a & b", roles={"r": "bad", "q": "good"}, marked=[1]) == {
        "data": [
            upright | {"name": "r", "meta": {"role": "bad"}, "y": [4, None]},
            upright | {"name": short, "meta": {"role": "series-2"}, "y": [4, None]},
        ],
        "layout": shared
        | {"showlegend": True, "xaxis": side, "yaxis": count, "height": 340}
        | {"shapes": [ground | {"x0": 0.5, "x1": 1.5, "fillcolor": charts.GROUND}]},
    }
    measured: list[float | None] = [0, -1, 0.5, nan, None]
    dots = charts.points(["a", "b", "c", "d", "e"], {"p": measured, "q": [2, 1, 1, 1, 1]}, unit="ms")
    mark = {"type": "scatter", "mode": "markers", "y": [0, 1, 2, 3, 4], "text": [*"abcde"], "hovertemplate": hover}
    assert dots["data"] == [
        mark
        | {"name": "p", "meta": {"role": "series-1"}, "x": [None, None, 0.5, None, None], "marker": {"symbol": 0}},
        mark | {"name": "q", "meta": {"role": "series-2"}, "x": [2, 1, 1, 1, 1], "marker": {"symbol": 1}},
    ]
    assert (dots["layout"]["height"], dots["layout"]["yaxis"]["range"]) == (240, [4.5, -0.5])
    assert charts.bars(["a"], {"s": [1]}, unit="u")["layout"]["height"] == 162, "as high as two"
    grid = charts.heat(["<r>"], labels, [[1000, 0]], unit="<u>")
    assert grid["data"] == [
        {
            "type": "heatmap",
            "x": [0, 1],
            "y": [0],
            "z": [[3.0, None]],
            "customdata": [[1000, 0]],
            "text": [["&lt;r&gt; &lt;x&gt;\\x1b", f"&lt;r&gt; {long}"]],
            "hovertemplate": "%{text}<br>%{customdata:,} &lt;u&gt;<extra></extra>",
            "meta": {"role": "heat"},
            "showscale": False,
            "zmin": -1,
            "xgap": 2,
            "ygap": 2,
        }
    ]
    assert grid["layout"]["xaxis"] == side | {"side": "top"}
    hour = timedelta(hours=1)
    span = charts.over_time([START, START + hour, START + 3 * hour], hour, {"a": [1, 2, 8]}, unit="u")
    assert span["data"][0]["text"] == [f"2026-01-02 {at}:00:00 UTC" for at in (12, 13, 15)]
    assert span["data"][0]["x"] == [f"2026-01-02 {at}:30:00" for at in (12, 13, 15)]
    assert (span["data"][0]["y"], span["data"][0]["width"]) == ([1, 2, 8], 3_600_000)
    assert span["layout"]["xaxis"]["range"] == ["2026-01-02 12:00:00", "2026-01-02 16:00:00"]
    assert "dtick" not in span["layout"]["yaxis"]
    many = charts.bars(["a"], {str(number): [1] for number in range(10)}, unit="u")
    assert [trace["meta"]["role"] for trace in many["data"]] == [
        f"series-{n}" for n in (1, 2, 3, 4, 5, 6, 7, 8, 1, 2)
    ]


def test_ticks_of_large_and_small_spans() -> None:
    axis = charts.points(["a", "b"], {"s": [1.0, 1e30]}, unit="ms")["layout"]["xaxis"]
    assert axis["tickvals"] == [float(f"1e{power}") for power in range(0, 31, 3)]
    assert (axis["ticktext"][1], axis["type"], axis["fixedrange"]) == ("1,000", "log", True)
    axis = charts.points(["a"], {"s": [10.0], "t": [0.01]}, unit="ms")["layout"]["xaxis"]
    assert axis["ticktext"] == [
        *("0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2", "5"),
        *("10", "20", "50"),
    ]


def test_cells_as_the_page_and_its_data_have_them() -> None:
    """The exact number or time is the key; empty texts at the end are left out of data."""
    later = START + timedelta(microseconds=5)
    rows: tuple[tuple[Cell, ...], ...] = (
        (10**36, 0.123456789, later, True, "bad", "Fetch", ("x",)),
        (-7, 2.0, START, False, "fine", None, ()),
        (None, None, None, None, None, "x" * (LONG + 1), ("y" * LONG, "z")),
    )
    mark = {"bad": "bad", "True": "good"}
    shape = "n", "share", "time", Column("flag", mark=mark), Column("verdict", mark=mark), "api", "names"
    table = Table("t", "T", rows=rows).with_columns(*shape)
    made = Report("r", "R", (), (table,), guide=Guide("g/", PROTOCOL))
    long_name = "x" * (LONG + 1)
    expected = [
        [
            ["1" + "0" * 36, "1" + "0" * 36, "number"],
            ["0.1235", "0.123456789", "number"],
            ["2026-01-02 12:00:00.000", "2026-01-02T12:00:00.000005+00:00", "time"],
            ["yes", "1", "", "good"],
            ["bad", "", "", "bad"],
            ["Fetch", "", "", "", "g/api/fetch.html#request"],
            "x",
        ],
        [
            ["-7", "-7", "number"],
            ["2", "2.0", "number"],
            ["2026-01-02 12:00:00", "2026-01-02T12:00:00+00:00", "time"],
            ["no", "0"],
            "fine",
            "",
            "",
        ],
        ["", "", "", "", "", [long_name, "", "long"], ["y" * LONG + ", z", "", "long"]],
    ]
    assert json.loads(data(made, table, range(7))) == expected
    for row, found in zip(rows, expected, strict=True):
        whole = [[one] if isinstance(one, str) else one for one in found]
        assert [*cells(made, table, row, range(7))] == [(*one, *[""] * (5 - len(one))) for one in whole]
        assert [*cells(made, table, row, [5, 0])] == [*cells(made, table, row, range(7))][5::-5]
    assert [is_numeric(table, place) for place in range(7)] == [True, True, *[False] * 5]
    filtered = [is_filtered(one) for one in (*table.columns, *map(Column, ("owner", "target", "change", "state")))]
    assert filtered == [*[False] * 3, True, True, False, False, True, True, True, False]


@pytest.mark.parametrize(
    ("rows", "more", "caption"),
    [
        ([(1, None)], 0, "1 row. Empty columns: b\\x1b c"),
        ([(1, 2)] * 1200, 1, "1,200 rows, and 1 more that are not shown"),
        ([(None, ""), ((), None)], 1000, "2 rows, and 1,000 more that are not shown. Empty columns: a, b\\x1b c"),
    ],
)
def test_captions(rows: list[tuple[Cell, ...]], more: int, caption: str) -> None:
    table = Table("t", "T", rows=tuple(rows), more=more).with_columns("a", "b\x1b_c")
    assert summed(table) == caption


@pytest.mark.parametrize("shown_charts", [(), tuple(all_charts()[:1])])
def test_a_page_allows_each_of_its_scripts_once(shown_charts: tuple[Chart, ...]) -> None:
    text = page(Report("r", "R", (), (), shown_charts, refresh=30 * len(shown_charts)))
    scripts = [inner for facts, inner in Elements(text).named("script") if "type" not in facts]
    allowed = [f"'sha256-{b64encode(sha256(one.encode()).digest()).decode()}'" for one in scripts]
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src " + " ".join(allowed)
    assert len(allowed) == 1 + len(shown_charts)
    metas = [facts for facts, _ in Elements(text).named("meta") if "http-equiv" in facts]
    refresh = [{"http-equiv": "refresh", "content": "30"}] * len(shown_charts)
    assert metas == [{"http-equiv": "Content-Security-Policy", "content": policy}, *refresh]


def test_the_whole_page_without_its_scripts_and_styles(snapshot: SnapshotAssertion) -> None:
    rows = tuple((number, f"c{number}") for number in range(AT_ONCE + 1))
    short = Table(
        "one", "One", rows=((1.5, "ok", "<b>", ()), (None, "?", None, "")), note="A <note>.", more=2
    ).with_columns(
        Column("n_n", comment='In "ms".'),
        Column("verdict", mark={"ok": "good"}),
        Column("client", "Client <i>"),
        "none",
    )
    tables = (
        short,
        Table("two", "Two", rows=rows).with_columns("n", "client"),
        Table("three", "Three", empty="No <row>."),
    )
    figure = charts.bars(["a"], {"s": [1]}, unit="u")
    drawn = Chart("c1", "Chart <1>", figure, "Of <what>."), Chart("c2", "Chart 2", figure)
    made = Report("name", "The <title>", ("First.", "Second & last."), tables, drawn, refresh=5, made=START)
    text = re.sub(r"(<(script|style)\b[^>]*>).*?(</\2>)", r"\1...\3", page(made), flags=re.S)
    text = re.sub(r"(<tr>\n<td[^>]*>\d+</td>\n<td>c\d+</td>\n</tr>\n)+", r"\1", text)
    text = re.sub(r"sha256-[\w+/=]+", "HASH", text).replace(f"kwire {__version__}", "kwire VERSION")
    assert text == snapshot


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_that_json_lacks_is_an_error_and_no_broken_page(number: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        embedded({"x": [number]})
