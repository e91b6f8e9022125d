"""What the pages of a small protocol say and where their links lead: snapshots to read whenever one changes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from kwire_guide.drawings import sequence
from kwire_guide.inputs import read_inputs
from kwire_guide.site import emit_site
from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.examples import clock, enum, field, request, response, struct, tagged, value
from kwirec.driver import load
from tests.guide.conftest import inputs, loaded

DEFINITIONS = {
    "time_keeping/ClockRequest": request(
        field("Zone", aliases=["Region"], nullableVersions="2+", about="A `zone`, or null."),
        field("Moon", "int8", enum="Phase", versions="1+", default="4", ignorable=True),
        field("Alarms", "[]Alarm", versions="0-1", fields=[field("Hour", "int8", mapKey=True)]),
        tagged("WatchedByGroup", 0, default="me", entityType="groupId", since="1.1.0"),
        apiKey=7,
        listeners=["broker", "controller"],
        aliases=["WatchRequest"],
    ),
    "time_keeping/ClockResponse": response(field("ErrorCode", "int16"), field("Minute", "int16"), apiKey=7),
    "waking/AlarmRequest": request(
        name="AlarmRequest", apiKey=1, validVersions="0", flexibleVersions="none", listeners=["broker"]
    ),
    "waking/AlarmResponse": response(
        field("ErrorCode", "int16"),
        field("Moons", "[]int8", enum="Phase"),
        name="AlarmResponse",
        apiKey=1,
        validVersions="0",
        flexibleVersions="none",
    ),
    "gears/GearRecord": clock(
        field("Teeth", "uint16"), type="metadata", name="GearRecord", apiKey=5, validVersions="0-1"
    ),
    "Phase": enum(value("NEW_MOON", 4), value("FULL", 5)),
}
CLOCK = {"name": "Clock", "accepts": "0-2", "unstable": "2", "deprecated": "0"}
RELEASES = {
    "1.0.0": {7: {"name": "Watch", "accepts": "0", "deprecated": "0"}, 1: {"name": "Alarm", "accepts": "0"}},
    "1.1.0": {7: CLOCK, 9: {"name": "Bell", "accepts": "0"}},
    "1.1.1": {7: CLOCK, 9: {"name": "Bell", "accepts": "0"}},
    "2.0.0": {7: {"name": "Clock", "accepts": "1-2", "advertises": "0-2", "deprecated": "1"}},
}
LAYOUTS = {
    "releases": ["1.0.0", "1.1.0", "2.0.0"],
    "messages": {
        "GearRecord": {
            "0": {"aaaa": "1.0.0", "29881aad8730c5ab": "1.1.0"},
            "1": {"79e78f135c1f2b08": "1.1.0..2.0.0"},
        }
    },
}
EXCEPTIONS = [{"message": "GearRecord", "version": 0, "releases": "1.0.0", "reason": "It had more teeth."}]
ERRORS = [
    {"code": 7, "name": "TOO_LATE", "retriable": True, "since": "1.1.0", "about": "It is `late`."},
    {"code": 0, "name": "NONE", "retriable": False, "since": "0.9.0", "about": "All is well."},
    {"code": 40, "name": "NO_CLOCK", "retriable": False, "about": "Nobody knows."},
    {"code": 1, "name": "TOO_EARLY", "retriable": True, "about": "Only made up answers have it."},
]
EXAMPLES = [
    {"source": "broker 1.0.0", "message": "ClockResponse", "version": 0, "hex": "0007 0028"},
    {"source": "broker 1.1.0", "message": "ClockResponse", "version": 1, "hex": "0000 0007 00"},
]
CHAPTER = """\
# How *clocks* tick

A clock has
hands.  It ticks `tick_ms`, see [the moon](../enums.html#Phase). KIP-12 says so.

## The hands

| hand | `ms` |
|---|---:|
| short | 3600 |

## The hands

    code < of KIP-3

```bytes
size | INT32 | 00000001 | how much
{ inside
rest | INT8 | 07 | what
}
```
"""


STOP = struct("Stop", field("Name", aliases=["Town", "City"]), field("Platforms", "[]int16", versions="1+"))
TRAINS = {
    "headers/RequestHeader": clock(
        field("RequestApiKey", "int16"),
        field("RequestApiVersion", "int16"),
        field("CorrelationId", "int32"),
        field("ClientId", nullableVersions="1+", versions="1+", flexibleVersions="none"),
        type="header",
        name="RequestHeader",
        flexibleVersions="2+",
    ),
    "headers/ResponseHeader": clock(
        field("CorrelationId", "int32"), type="header", name="ResponseHeader", validVersions="0-1"
    ),
    "trains/TravelRequest": """\
// Version 1 adds the load. It is flexible.
// Versions 0 and 1 know the way.
"""
    + request(
        field("From", "Stop"),
        field("Via", "[]Stop"),
        field("Load", "records", versions="1+", nullableVersions="1+"),
        tagged("Class", 0, "int8", enum="Class", since="1.2.0"),
        tagged("Bags", 1, "[]Bag", since="2.0.0", fields=[field("Weight", "float64"), field("Owner", "uuid")]),
        name="TravelRequest",
        apiKey=3,
        validVersions="0-1",
        commonStructs=[STOP],
    ),
    "trains/TravelResponse": response(
        field("ErrorCode", "int16"),
        field("SeatErrorCode", "int16", versions="1+"),
        field("Seat", "Seat", versions="1+", nullableVersions="1+", fields=[field("Row", "uint32")]),
        field("Pass", "bytes", nullableVersions="1+", ignorable=True),
        name="TravelResponse",
        apiKey=3,
        validVersions="0-1",
    ),
    "yards/SwitchKey": clock(
        field("ErrorCode", "int32"),
        field("Track", "int64"),
        name="SwitchKey",
        type="coordinator-key",
        apiKey=1,
        validVersions="0",
        flexibleVersions="none",
    ),
    "yards/SwitchValue": clock(
        field("IsOpen", "bool"),
        field("Class", "int8", enum="Class"),
        name="SwitchValue",
        type="coordinator-value",
        apiKey=1,
        validVersions="0-1",
    ),
    "Class": enum(value("FIRST", 1), value("SECOND", 3), name="Class"),
    "Gauge": enum(value("BROAD", 1), name="Gauge", valueType="int32"),
}
TRAVEL = {"name": "Travel", "accepts": "0-1"}
TRAIN_FILES = {
    "releases.json": {
        "1.0.0": {"source": "memory", "apis": {3: {"name": "Travel", "accepts": "0"}}},
        "1.1.0": {"source": "memory", "apis": {3: TRAVEL}},
        "1.2.0": {"source": "jars", "unpublished": ["SwitchValue"], "apis": {3: TRAVEL}},
        "2.0.0": {"source": "jars", "apis": {3: {"name": "Travel", "accepts": "1", "advertises": "0-1"}}},
    },
    "layouts.json": {
        "releases": ["1.0.0", "1.1.0", "1.2.0", "2.0.0"],
        "messages": {
            "SwitchValue": {
                "0": {"aaaa": "1.0.0", "bbbb": "1.1.0", "38439aa1b42f766f": "2.0.0"},
                "1": {"c32ca6baf40a33d6": "1.1.0 2.0.0"},
            },
            "TravelRequest": {
                "1": {"974f7583f8ccea9e": "1.1.0", "96a391e69aabd50a": "1.2.0", "0bca4b22c856c92e": "2.0.0"}
            },
        },
    },
    "exceptions.json": [
        {"message": "SwitchValue", "version": 0, "releases": "1.0.0", "reason": "It was narrow."},
        {"message": "SwitchValue", "version": 0, "releases": "1.1.0", "reason": "It was wide."},
    ],
    "errors.json": ERRORS,
    "examples.jsonl": {"source": "a train", "message": "TravelResponse", "version": 1,
                       "hex": "00000007 00 0007 0028 01 00000009 00 03 0506 00"},
}  # fmt: skip


class Shown(HTMLParser):
    """One part of a page as lines: blocks with their ids and classes, ``[links](with their addresses)``, and ``¦``
    where a word may be broken.
    """

    BLOCKS = re.compile("article|dd|details|div|dt|footer|h1|h2|h3|li|p|pre|script|section|select|summary|tr")
    ATTRIBUTES = re.compile(
        "aria-.*|name|checked|colspan|hidden|open|rel|role|scope|style|tabindex|title|type|value|data-.*"
    )

    def __init__(self, text: str, part: str) -> None:
        super().__init__()
        self.lines = [""]
        self.part = part
        self.ends: list[str] = []
        self.is_shown = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.is_shown |= tag in ("title", self.part)
        classes = "".join(f".{name}" for name in found.get("class", "").split())
        name = (f"#{found['id']}" if "id" in found else "") + classes
        name += "".join(f" {key}={text}" for key, text in found.items() if self.ATTRIBUTES.fullmatch(key))
        begin, end = "", ""
        if self.BLOCKS.fullmatch(tag):
            self.lines.append("")
            begin = f"{tag}{name}: "
        elif tag == "a":
            begin, end = f"{name}[", f"]({found['href']})"
        elif tag == "code":
            begin = end = "`"
        elif tag in ("td", "th", "option", "label"):
            begin, end = f"{name} ", " |"
        elif tag in ("input", "wbr"):
            begin = f"<{name}>" if tag == "input" else "¦"
        elif name:
            begin, end = f"<{name} ", ">"
        self.say(begin)
        if tag not in ("input", "wbr", "meta", "link", "img"):
            self.ends.append(end)

    def handle_endtag(self, tag: str) -> None:
        self.say(self.ends.pop())
        self.is_shown &= tag not in ("title", self.part)

    def handle_data(self, data: str) -> None:
        self.say(data if data.strip() else "")

    def say(self, text: str) -> None:
        self.lines[-1] += text if self.is_shown else ""


def made(folder: Path, *releases: str) -> Mapping[str, str]:
    """All files of the guide of all definitions, with a history of these releases."""
    texts = {f"{name}.json": text for name, text in DEFINITIONS.items()} | {
        "releases.json": json.dumps(
            {name: {"source": f"source of {name}", "apis": RELEASES[name]} for name in releases}
        ),
        "layouts.json": json.dumps(LAYOUTS),
        "exceptions.json": json.dumps(EXCEPTIONS),
        "errors.json": json.dumps(ERRORS),
        "examples.jsonl": "\n".join(map(json.dumps, EXAMPLES)),
        "kips.json": json.dumps({"ClockRequest": {"1": [12, 848]}}),
        "release_kips.json": json.dumps({"1.1.0": {"9": "Ends `Wind`.", "848": "Is ready."}}),
        "guide/10-ticking.md": CHAPTER,
        "docs/README.md": "# All clocks\n\nSee [hands](hands.md).",
        "docs/hands.md": "# Hands\n\nThey turn.",
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    given = read_inputs(loaded(folder), [folder], title="Clocks", package="clocks", docs=[folder / "docs"])
    return {one.path: one.text for one in emit_site(given)}


@pytest.fixture(scope="module")
def clocks(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    return made(tmp_path_factory.mktemp("clocks"), *RELEASES)


@pytest.fixture(scope="module")
def pages(clocks: Mapping[str, str]) -> Mapping[str, str]:
    return {path: text for path, text in clocks.items() if path.endswith(".html")}


PAGES = [
    *(
        "404.html",
        "api/alarm.html",
        "api/clock.html",
        "enums.html",
        "errors.html",
        "guide/ticking.html",
        "index.html",
        "kips.html",
    ),
    *("metadata/gear_record.html", "project/docs/README.html", "project/docs/hands.html", "releases/1.0.0.html"),
    *("releases/1.1.0.html", "releases/2.0.0.html", "releases/index.html", "types.html"),
]


TRAIN_PAGES = ["api/travel.html", "coordinator/switch.html", "headers.html", "errors.html", "releases/2.0.0.html"]


@pytest.fixture(scope="module")
def train_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Definitions of a protocol with headers and two of what clocks have one of."""
    folder = tmp_path_factory.mktemp("trains")
    for name, text in TRAINS.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / f"{name}.json").write_text(text)
    for name, content in TRAIN_FILES.items():
        (folder / name).write_text(json.dumps(content))
    return folder


@pytest.fixture(scope="module")
def trains(train_folder: Path) -> Mapping[str, str]:
    """All files of its guide, which has no package."""
    return {one.path: one.text for one in emit_site(inputs(train_folder))}


def test_the_guide_is_the_same_whatever_the_order_of_definitions(
    trains: Mapping[str, str], train_folder: Path
) -> None:
    turned = load([train_folder / f"{name}.json" for name in reversed(TRAINS)], Report())
    turned = replace(turned, errors=loaded(train_folder).errors)
    given = read_inputs(turned, [train_folder], title="Kafka protocol", package="")
    assert {one.path: one.text for one in emit_site(given)} == trains


@pytest.mark.parametrize("path", TRAIN_PAGES)
def test_what_a_page_of_trains_says(trains: Mapping[str, str], path: str, snapshot: SnapshotAssertion) -> None:
    assert "\n".join(filter(None, Shown(trains[path], "main").lines)) == snapshot


def test_all_that_the_search_knows(trains: Mapping[str, str], snapshot: SnapshotAssertion) -> None:
    assert trains["assets/search.js"].replace("],", "],\n") == snapshot


@pytest.fixture(scope="module")
def towers(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The pages of what is published, long and of several folders: versions, documents and a start of its own."""
    folder = tmp_path_factory.mktemp("towers")
    fields = [field(f"F{number}", "int8", versions=f"{number}+") for number in range(13)]
    names = [f"p{number}" for number in range(26)]
    texts = {
        "tall/ClockRequest.json": request(*fields, apiKey=0, validVersions="0-12"),
        "tall/ClockResponse.json": response(field("Text", "bytes"), apiKey=0, validVersions="0-12"),
        "guide/index.md": "# The `towers`\n\nAll of [them](api/clock.html).",
        "guide/1-one.md": "# One\n\nA *chapter*.",
        "guide/2-two.md": "# Two\n\n## Only\n",
        "docs/README.md": f"# Docs\n\n## First: all\n\n{' '.join(f'[x]({name}.md)' for name in names)}",
        "docs/rules/README.md": "# Rules\n\nThey `rule`.",
        "docs/rules/K1.md": "# K1",
        **{f"docs/{name}.md": f"# {name}" for name in names},
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    given = read_inputs(
        loaded(folder),
        [folder],
        title="Towers",
        package="",
        docs=[folder / "docs"],
        url="https://a.example/g/",
        release="1.2",
    )
    return {one.path: one.text for one in emit_site(given)}


@pytest.mark.parametrize("path", ["404.html", "index.html", "project/docs/p14.html", "project/docs/rules/K1.html"])
def test_what_published_pages_have_around_and_in_them(
    towers: Mapping[str, str], path: str, snapshot: SnapshotAssertion
) -> None:
    head = towers[path].partition("<body")[0]
    assert "\n".join([*head.splitlines()[7:], *filter(None, Shown(towers[path], "body").lines)]) == snapshot


def test_a_long_history_is_folded(towers: Mapping[str, str], snapshot: SnapshotAssertion) -> None:
    section = re.findall(r'<section class="history">.*?</section>', towers["api/clock.html"], re.DOTALL)[0]
    lines = filter(None, Shown(f"<main>{section}</main>", "main").lines)
    assert "\n".join(line for line in lines if not line.startswith("dd")) == snapshot


def test_which_pages_there_are(pages: Mapping[str, str]) -> None:
    assert sorted(pages) == PAGES


@pytest.mark.parametrize("path", PAGES)
def test_what_a_page_says(pages: Mapping[str, str], path: str, snapshot: SnapshotAssertion) -> None:
    assert "\n".join(filter(None, Shown(pages[path], "main").lines)) == snapshot


@pytest.mark.parametrize("path", ["index.html", "releases/1.0.0.html"])
def test_what_the_navigation_lists(pages: Mapping[str, str], path: str, snapshot: SnapshotAssertion) -> None:
    assert "\n".join(filter(None, Shown(pages[path], "nav").lines)) == snapshot


def test_what_is_around_a_page(pages: Mapping[str, str], snapshot: SnapshotAssertion) -> None:
    """What a page loads and may load, and the head with the search."""
    before, _, rest = pages["releases/1.0.0.html"].partition('<nav class="side"')
    assert before + "…" + rest.partition("</main>")[2] == snapshot


@pytest.mark.parametrize("path", PAGES)
def test_tables_can_be_reached_by_keys_and_say_what_their_cells_are(pages: Mapping[str, str], path: str) -> None:
    text = pages[path]
    boxes = re.findall(r'<div class="(?:scroll|hex)[^>]*>', text)
    assert all(re.search('role="(region|group)" aria-label.* tabindex="0"|tabindex="0" role=', box) for box in boxes)
    assert text.count("<table") == len(
        re.findall(r'<div class="scroll[^>]*>\s*<table|-fields">Fields</h3>\s*<table', text)
    )
    assert "<pre>" not in text
    if not path.startswith(("guide/", "project/")):
        assert all('scope="' in head for head in re.findall(r"<th\b[^>]*>", text))


def test_a_page_has_one_search(pages: Mapping[str, str]) -> None:
    assert {path for path, text in pages.items() if text.count('role="search"') != 1} == set()


def test_the_page_of_the_api_with_key_0_names_its_key(tmp_path: Path) -> None:
    (tmp_path / "ClockRequest.json").write_text(request(apiKey=0))
    (tmp_path / "ClockResponse.json").write_text(response(apiKey=0))
    (page,) = (one.text for one in emit_site(inputs(tmp_path)) if one.path == "api/clock.html")
    assert "<.chip API key 0>" in "\n".join(Shown(page, "main").lines)


def test_grammars_of_more_than_twelve_fields_are_folded(tmp_path: Path) -> None:
    for count in (12, 13):
        fields = (field(f"F{number}", "int8") for number in range(count))
        (tmp_path / f"N{count}.json").write_text(clock(*fields, name=f"N{count}"))
    pages = {one.path: one.text for one in emit_site(inputs(tmp_path))}
    folds = [re.findall('<details class="fold grammars".*', pages[f"data/n{count}.html"]) for count in (12, 13)]
    assert folds == [['<details class="fold grammars" open>'], ['<details class="fold grammars">']]


def test_every_class_has_a_style_and_every_style_a_class(
    clocks: Mapping[str, str], trains: Mapping[str, str]
) -> None:
    """Apart from classes by which only the scripts find their elements."""
    texts = [*clocks.values(), *trains.values(), sequence("a, b\na > b: x\na: y")]
    classes = {name for text in texts for found in re.findall(r'\bclass="(.*?)"', text) for name in found.split()}
    styled = set(re.findall(r"\.([a-z][\w-]*)", re.sub(r"\{[^{}]*\}", "", clocks["assets/page.css"])))
    script = "".join(re.findall(r'"[^"\n]*"|`[^`]*`', clocks["assets/page.js"]))
    scripted = set(re.findall(r"[a-z][\w-]*", script))
    hooks = {"about", "before", "clear", "conversions", "data", "definition", "depth-0", "history", "origin", "other"}
    assert classes - styled == {*hooks, "python", "releases", "stable"}
    assert {name for name in styled - classes - scripted if not re.fullmatch(r"depth-\d+", name)} == set()


def test_nothing_that_was_recorded_ends_the_data_of_a_page(tmp_path: Path) -> None:
    """Examples may come from strangers: a browser ends the data of the script at the first ``</script``."""
    source = "</script><script>alert(1)</script><!-- &amp;"
    (tmp_path / "ClockRequest.json").write_text(request(apiKey=0))
    (tmp_path / "ClockResponse.json").write_text(response(apiKey=0))
    example = {"source": source, "message": "ClockResponse", "version": 0, "hex": ""}
    (tmp_path / "examples.jsonl").write_text(json.dumps(example))
    (page,) = (one.text for one in emit_site(inputs(tmp_path)) if one.path == "api/clock.html")
    found = re.findall(r'<script type="application/json" class="data">(.*?)</script>', page)
    assert not any(sign in text for text in found for sign in "<>&")
    shown = [example.get("origin", "") for text in found for example in json.loads(text)["examples"]]
    assert any(origin.startswith(f"Version 0, as {source} read or wrote it: 0 bytes.") for origin in shown)
    assert "<script>alert" not in page


@pytest.mark.parametrize(("releases", "shown"), [(["1.0.0"], 0), (["1.0.0", "1.1.0"], 1), (["1.1.0", "2.0.0"], 2)])
def test_a_page_shows_the_newest_stable_version(tmp_path: Path, releases: list[str], shown: int) -> None:
    page = made(tmp_path, *releases)["api/clock.html"]
    assert re.findall(r'name="request-version" value="(\d)" checked', page) == [str(shown)]
    assert f'<p class="facts" aria-live="polite">Version {shown}: ' in page
