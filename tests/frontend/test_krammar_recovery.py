"""Mistakes in the indentation notation: each is reported once, where it is, and does not hide the next one."""

from __future__ import annotations

from typing import Any

import pytest

from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.render_text import render_text
from kwirec.diagnostics.source import Source
from kwirec.frontend import parse
from kwirec.ir import resolve

MANY = """\
// A file with ten mistakes.
ClockRequest => key 900, max versoin 2, flexible 1+
\tMillis: int64
  Zone: [string
  Zones: [=>]Zone
    Name: int32(5
  Drift int32
  Late: [Later]
   Odd: int8
  Wait: int16 // v2

Later => not top level, no encoding, flexible v1+
  A: int8 // tag 1
"""


def findings(text: str, name: str = "Clock.krm") -> str:
    report = Report()
    resolve([parse(Source(name, text), report)], report)
    return render_text(report.diagnostics)


def test_ten_mistakes_are_ten_findings(snapshot: Any) -> None:
    found = findings(MANY)
    assert found == snapshot
    assert found.count("error[") == 10


HEAD = "ClockRequest => key 900, max version 2, flexible v1+\n"


@pytest.mark.parametrize(
    "text",
    {
        "tabs": f"{HEAD}\tA: int8\n\tB: int8\n",
        "mixed indentation": f"{HEAD}  A: =>\n  \tB: int8\n  C: int8\n",
        "odd indentation": f"{HEAD}   A: int8\n  B: int8\n",
        "too deep": f"{HEAD}  A: int8\n    B: int8\n",
        "empty line within a struct": f"{HEAD}  A: int8\n\n  B: int8\n",
        "field without struct": "  A: int8\n",
        "no colon": f"{HEAD}  A int8\n  B: int8\n",
        "no type": f"{HEAD}  A:\n  B: int8\n",
        "nothing between name and colon": f"{HEAD}  : int8\n",
        "open bracket": f"{HEAD}  A: [int8\n",
        "open bracket of entries": f"{HEAD}  A: [=>Entry\n    B: int8\n",
        "bracket too many": f"{HEAD}  A: int8]\n",
        "array as in JSON": f"{HEAD}  A: []int8\n",
        "name after the bracket": f"{HEAD}  A: [=>]Entry\n    B: int8\n",
        "null elements": f"{HEAD}  A: [nullable-string]\n",
        "open parenthesis": f"{HEAD}  A: int8(1\n",
        "open text": f'{HEAD}  A: string("abc)\n',
        "text after a type": f"{HEAD}  A: int8 v1+\n",
        "version alone": f"{HEAD}  A: int8 // v1\n",
        "versions as in JSON": f"{HEAD}  A: int8 // 1-2\n",
        "huge version": f"{HEAD}  A: int8 // v1-v99999\n",
        "misspelt item": f"{HEAD}  A: int8 // ignorabel\n",
        "a comment after a field": f"{HEAD}  A: int8 // the first letter\n",
        "nothing after slashes": f"{HEAD}  A: int8 //\n",
        "two tags": f"{HEAD}  A: int8 // tag 0, tag 1\n",
        "comma at the end": f"{HEAD}  A: int8 // v1+,\n",
        "two commas": f"{HEAD}  A: int8 // v1+,, tag 0\n",
        "comma before the first modifier": "ClockRequest =>, key 900, max version 2\n  A: int8\n",
        "misspelt modifier": "ClockRequest => key 900, max versions 2\n  A: int8\n",
        "no key": "ClockRequest => max version 2\n  A: int8\n",
        "a response with versions and no key": f"{HEAD}  A: int8\n\nClockResponse => max version 1\n  A: int8\n",
        "no modifiers": "Clock =>\n  A: int8\n",
        "no arrow": "ClockRequest key 900, max version 2\n  A: int8\n",
        "two keys": "ClockRequest => key 900, key 901, max version 2\n  A: int8\n",
        "response without request": f"{HEAD}  A: int8\n\nTimeResponse =>\n  B: int8\n",
        "used before it is defined": f"{HEAD}  A: [Later]\n\nLater => not top level, no encoding\n  B: int8\n",
        "unknown struct": f"{HEAD}  A: [Zone]\n",
        "two structs of one name": f"A => not top level\n  B: int8\n\nA => not top level\n  B: int8\n\n{HEAD}  C: A\n",  # noqa: E501
        "of nothing": f"A => not top level, of ClockReqest\n  B: int8\n\n{HEAD}  C: int8\n",
        "open enum": "Kind int8 (\n  1: ONE\n",
        "value without number": "Kind int8 (\n  ONE\n)\n",
        "default of another type": f"{HEAD}  A: int8(200)\n",
        "varint": f"{HEAD}  A: varint[string]\n",
        "length in a field": f"{HEAD}  A: length-field-minus => B - 4\n",
    }.items(),
    ids=lambda case: case[0],
)
def test_one_mistake_is_one_finding(text: tuple[str, str], snapshot: Any) -> None:
    found = findings(text[1])
    assert found.count("error[") == 1
    assert found == snapshot


def test_each_run_of_lines_with_tabs_is_one_finding() -> None:
    found = findings(f"{HEAD}\tA: int8\n\tB: int8\n  C: int8\n\tD: int8\n")
    places = [line.strip() for line in found.splitlines() if "-->" in line]
    assert places == ["--> Clock.krm:2:1", "--> Clock.krm:5:1"]


@pytest.mark.parametrize(
    "line", ["A: int8 ", "A:  int8", "A: int8  // v1+", "A: int8// v1+", "A: int8 //v1+", "A: int8 // v1+,  tag 0"]
)
def test_spaces_that_franz_go_refuses_are_warnings(line: str) -> None:
    found = findings(f"{HEAD}  {line}\n")
    assert found.count("warning[K021]") == 1
    assert "error[" not in found


def test_an_enum_that_does_not_exist(snapshot: Any) -> None:
    assert findings(f"{HEAD}  A: enum-Kind\n") == snapshot


def test_neither_notation(snapshot: Any) -> None:
    assert findings("<xml/>\n", "clock") == snapshot


@pytest.mark.parametrize("indent", ["   ", "\t\t", "\t  ", "  \t"])
def test_other_indentation_is_read_as_levels_and_comments_may_stand_anywhere(indent: str) -> None:
    report = Report()
    text = f"{HEAD}  A: [=>]\n{indent}// Of B.\n{indent}B: int8\n"
    [message] = parse(Source("Clock.krm", text), report).messages
    [outer] = message.fields or ()
    assert [(one.name.value, one.about and one.about.value) for one in outer.fields or ()] == [("B", "Of B.")]
    assert [(one.code.number, one.primary.span.text) for one in report.diagnostics] == [("K020", indent)]


@pytest.mark.parametrize(
    ("line", "labels", "help"),
    [
        ("[[int8", ["["], "close it: `[[int8]]`"),
        ("[[int8]", ["[", "]"], "close it: `[[int8]]`"),
        ("[int8 x", ["[", " "], "close it: `[int8]`"),
        (f"[Long{'g' * 80}", ["["], ""),
    ],
)
def test_an_open_bracket_is_shown_with_what_closes_it(line: str, labels: list[str], help: str) -> None:
    report = Report()
    parse(Source("Clock.krm", f"{HEAD}  A: {line}\n"), report)
    [found] = report.diagnostics
    assert [label.span.text for label in (found.primary, *found.others)] == labels
    assert found.helps == ((help,) if help else ())


@pytest.mark.parametrize(
    ("name", "words", "message", "help"),
    [
        ("Ask.krm", ("group cordinator", "v0+"), "a struct cannot have the modifier `group cordinator`",
         "did you mean `group coordinator`?"),
        ("Ask.krm", ("group coordinator", f"x{'y' * 60}"), f"a field cannot have `x{'y' * 39}`",
         "write a comment on its own line above the field"),
        ("01_ask", ("group coordinator", "ignorable"), "franz-go does not know `ignorable`",
         "it only affects how kwire handles the field"),
    ],
    ids=["misspelt", "long", "unknown to franz-go"],
)  # fmt: skip
def test_a_word_that_is_not_known_comes_with_help(name: str, words: tuple[str, str], message: str, help: str) -> None:
    text = f"AskRequest => key 1, max version 1, {words[0]}\n  A: int8 // {words[1]}\n"
    parse(Source(name, text), report := Report())
    [found] = report.diagnostics
    assert (found.message, found.helps) == (message, (help,))


def test_the_owner_of_a_struct_is_looked_for_among_all_messages() -> None:
    report = Report()
    text = f"{HEAD}  A: int8\n\nBell => data, max version 0\n  B: int8\n\nTone => not top level, of Bel\n  C: int8\n"
    parse(Source("Clock.krm", text), report)
    assert [one.helps for one in report.diagnostics] == [("did you mean `Bell`?",)]


def test_a_struct_between_a_request_and_its_response_is_told() -> None:
    found = findings(f"{HEAD}  A: int8\n\nZone => not top level\n  B: int8\n\nClockResponse =>\n  A: Zone\n")
    assert "response `ClockResponse` does not follow its request" in found


def test_the_comment_of_a_head_that_cannot_be_read_describes_nothing_else() -> None:
    report = Report()
    [message] = parse(Source("Clock.krm", f"// Of Bell.\nBell request\n{HEAD}  A: int8\n"), report).messages
    assert (message.name.value, message.about, len(report.diagnostics)) == ("ClockRequest", None, 1)


@pytest.mark.parametrize(
    ("written", "helps"),
    [
        ("v7", ("`v7-v7` is only this version, and `v7+` includes all later versions",)),
        ("v1..2", ("write `v1-v2`",)),
        ("v1-v2-v3", ()),
    ],
)
def test_help_for_a_range_goes_by_its_numbers(written: str, helps: tuple[str, ...]) -> None:
    report = Report()
    parse(Source("Clock.krm", f"ClockRequest => key 900, max version 9, flexible {written}\n  A: int8\n"), report)
    assert [(one.code.number, one.helps) for one in report.diagnostics] == [("K014", helps)]


def test_mistakes_below_a_field_without_a_type_are_told_too() -> None:
    found = findings(f"{HEAD}  A: [=>]]\n    B: [int8\n")
    assert found.count("error[") == 2
