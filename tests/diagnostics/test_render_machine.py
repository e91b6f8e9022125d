"""Findings for programs: whether the programs in question can read them back."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kwirec.diagnostics.diagnostic import Severity
from kwirec.diagnostics.edits import replaced
from kwirec.diagnostics.render import FORMATS, render
from kwirec.json_text import json_line

TEXT = '{ "name": "Clock",\n  "fields": [\n    { "name": "Millis" } ] }\n'


@pytest.fixture
def found(finder: Any) -> list[Any]:
    return [
        finder(TEXT, name="defs/a,b:c 100%.json").finding(
            '"Millis"',
            "label, with: 50%",
            ('"Clock"', "other"),
            message="first line\r\nsecond: line, 100%",
            notes=["a note"],
            helps=["a help"],
        ),
        finder(TEXT).finding('[\n    { "name": "Millis" } ]', "list", severity=Severity.WARNING),
        replace(
            finder(TEXT).finding("fields", severity=Severity.NOTE, message="<just> & \x01 \ud800"),
            guide="https://guide.example/clock.html",
            fix=(
                *replaced(finder(TEXT).span('"name": "Millis" } ]'), "\n"),
                *replaced(finder(TEXT).span("Clock"), ""),
            ),
        ),
    ]


@pytest.mark.parametrize("format", [name for name in FORMATS if name != "text"])
def test_formats(found: list[Any], format: str, snapshot: Any) -> None:
    assert render(found, format) == snapshot


def test_json_has_one_object_per_line_with_the_place_in_lines_and_columns(found: list[Any]) -> None:
    first, second, _ = [json.loads(line) for line in render(found, "json").splitlines()]
    assert (first["code"], first["name"], first["severity"]) == ("K999", "for-tests", "error")
    assert (first["line"], first["column"], first["end_line"], first["end_column"]) == (3, 15, 3, 23)
    assert [(label["primary"], label["line"], label["text"]) for label in first["labels"]] == [
        (True, 3, "label, with: 50%"),
        (False, 1, "other"),
    ]
    assert (first["message_name"], first["field"]) == ("Clock", "Clock.Millis")
    assert (second["line"], second["end_line"]) == (2, 3)


def test_json_has_all_labels(finder: Any) -> None:
    one = finder(TEXT).finding('"Millis"', "here", ('"Clock"', "there"), ('"fields"', "and there"))
    assert [label["text"] for label in json.loads(render([one], "json"))["labels"]] == ["here", "there", "and there"]


def test_every_form_but_the_short_one_has_the_page_of_the_guide(finder: Any) -> None:
    page = "https://guide.example/api/clock.html"
    one = finder(TEXT).finding('"Millis"')
    for format in FORMATS:
        assert (page in render([replace(one, guide=page)], format)) is (format != "short")
        assert "guide" not in render([one], format)


def test_json_survives_what_no_encoding_can_write(found: list[Any]) -> None:
    text = render(found, "json")
    assert text.isascii()
    assert json.loads(text.splitlines()[2])["message"] == found[2].message


def test_github_escapes_what_would_end_a_property_or_the_command(found: list[Any]) -> None:
    command = render(found, "github").splitlines()[0]
    head, message = command.removeprefix("::error ").split("::", 1)
    properties = dict(item.split("=", 1) for item in head.split(","))
    assert properties == {
        "file": "defs/a%2Cb%3Ac 100%25.json",
        "line": "3",
        "col": "15",
        "endColumn": "23",
        "title": "K999 for-tests",
    }
    assert message.startswith("first line␍%0Asecond: line, 100%25: label, with: 50%25%0Anote: a note%0Ahelp:")


def test_github_gives_no_columns_for_several_lines(found: list[Any]) -> None:
    command = render(found, "github").splitlines()[1]
    assert command.startswith("::warning file=defs/Clock.json,line=2,endLine=3,title=")


def test_github_gives_no_line_of_a_file_that_has_none(finder: Any) -> None:
    one = finder("", name="gone.json").finding("")
    assert render([one], "github").startswith("::error file=gone.json,title=")
    assert render([one], "short") == "gone.json: error[K999]: something is wrong\n"


def test_junit_counts_and_parses(found: list[Any]) -> None:
    suite = ElementTree.fromstring(render(found, "junit"))
    assert (suite.tag, suite.get("tests"), suite.get("failures")) == ("testsuite", "3", "2")
    failures = suite.findall("testcase/failure")
    assert [failure.get("type") for failure in failures] == ["error", "warning"]
    assert '3 |     { "name": "Millis" } ] }' in (failures[0].text or "")


def test_junit_without_findings_is_a_test_that_passes() -> None:
    suite = ElementTree.fromstring(render([], "junit"))
    assert [len(case) for case in suite.findall("testcase")] == [0]
    assert (suite.get("tests"), suite.get("failures")) == ("1", "0")


def test_nothing_found_is_nothing_said() -> None:
    assert [render([], format) for format in ("text", "json", "github")] == ["", "", ""]


@pytest.mark.slow
@given(st.text(st.characters(categories=("Cc", "Cf", "Cn", "Co", "Ll", "So", "Zl", "Zs"))))
@example("\U000e0001")
@example("\ud800")
def test_json_of_any_text_is_printable_and_says_the_same(text: str) -> None:
    line = json_line(text)
    assert line.isprintable()
    assert json.loads(line) == text


def test_json_keeps_what_a_terminal_shows() -> None:
    assert json_line({"é": "日本 \U0001f600\t"}) == '{"é": "日本 \U0001f600\\t"}'
