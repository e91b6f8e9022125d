"""Comments: they belong to a node of the syntax tree, and both notations carry them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given

from kwirec.convert import convert
from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.source import Source
from kwirec.frontend import parse
from kwirec.frontend.comment_text import comment_text
from kwirec.frontend.krammar_writer import krammar_text
from tests.frontend.comments import commented_json, commented_krammar, comments_of, read, total, written
from tests.support.effort import examples

JSON = """// Of the file.

{
  "type": "data", // behind type
  "name": "Clock",
  // Version 1 adds A.
  /* Version 2
   * adds B. */
  "validVersions": "0-2", "flexibleVersions": "none",
  "fields": [
    // before A
    { "name": "A", /* in A */ "type": "int8", "versions": "1+" }, // behind A
    { "name": "B", "type": "[]Zone", "versions": "2+", "fields": [
      { "name": "Id", "type": "uuid", "versions": "2+" } // behind Id
      // after Id
    ]} // behind B
    // after B
  ]
}
// after the definition
"""

KRAMMAR = """// A banner.

//# of Kind
// What it is.
Kind int8 (
  //# of ONE
  1: ONE
  // the last of Kind
)

// Before a struct.

// A zone.
//# of Zone
Zone => not top level, of Clock
  Id: uuid
  // the last of Zone

// Version 1 adds A.

Clock => data, max version 1
  // Its description.
  //# of A
  // Goes on.
  A: int8 // v1+
  B: [Zone]
  //# the last of Clock

// The last of all.
"""


def test_comments_belong_to_a_node_in_json() -> None:
    document = read("Clock.json", JSON)
    assert comments_of(document) == {
        "Clock": ["Of the file.", "Version 1 adds A.", "Version 2", "adds B.", "after B", "after the definition",
                  "behind type"],
        "Clock.A": ["before A", "behind A", "in A"],
        "Clock.B": ["after Id", "behind B"],
        "Clock.B.Id": ["behind Id"],
    }  # fmt: skip
    (message,) = document.messages
    assert [comment.attribute for comment in message.comments] == [
        "type", "validVersions", "validVersions", "", ""
    ]  # fmt: skip


def test_comments_belong_to_a_node_in_krammar() -> None:
    document = read("Clock.krm", KRAMMAR)
    (message,) = document.messages
    assert comments_of(document) == {
        "Kind": ["A banner.", "of Kind", "the last of Kind"],
        "Kind.ONE": ["of ONE"],
        "Clock": ["The last of all.", "Version 1 adds A.", "the last of Clock"],
        "Clock.A": ["of A"],
        "Clock.Zone": ["Before a struct.", "of Zone", "the last of Zone"],
    }
    assert message.fields is not None
    about = message.fields[0].about
    assert about is not None
    assert about.value == "Its description. Goes on."


def test_comments_of_bundles_belong_to_their_lines() -> None:
    line = '{"type":"data","name":"%s","validVersions":"0","flexibleVersions":"none","fields":[]%s}'
    wrapped = '{"module":"m","schema":' + line % ("B", "/* in B */") + "/* outside */} // behind B"
    document = read("all.jsonl", f"// before A\n{line % ('A', '')}\n// before B\n{wrapped}\n// the end\n")
    assert comments_of(document) == {
        "A": ["before A"],
        "B": ["before B", "behind B", "in B", "outside", "the end"],
    }


@pytest.mark.slow
@examples(0.5)
@given(commented_json())
def test_no_comment_of_json_is_lost(drawn: tuple[str, int]) -> None:
    text, number = drawn
    assert total(comments_of(read("x.json", text))) == number


@pytest.mark.slow
@examples(0.5)
@given(commented_krammar())
def test_no_comment_of_krammar_is_lost(drawn: tuple[str, int]) -> None:
    text, number = drawn
    assert total(comments_of(read("x.krm", text))) == number


@examples(0.5)
@given(commented_json())
def test_comments_of_json_survive_krammar(drawn: tuple[str, int]) -> None:
    before = read("x.json", drawn[0])
    there = read("x.krm", written(before, "krammar"))
    back = read("x.json", written(there, "json"))
    assert comments_of(before) == comments_of(there) == comments_of(back)


@pytest.mark.slow
@examples(0.5)
@given(commented_krammar())
def test_comments_of_krammar_survive_json(drawn: tuple[str, int]) -> None:
    before = read("x.krm", drawn[0])
    there = read("x.json", written(before, "json"))
    back = read("x.krm", written(there, "krammar"))
    assert comments_of(before) == comments_of(there) == comments_of(back)


def test_franz_go_takes_comments_of_blocks_and_the_others_are_reported() -> None:
    report = Report()
    text = krammar_text(read("Clock.json", JSON).definitions, report, franz_go=True)
    assert "// Version 2\n// adds B.\n// after B\n// after the definition\n\nClock => not top level" in text
    assert "behind A" not in text
    found = [(one.code.number, one.primary.span.text, one.primary.text) for one in report.diagnostics]
    assert found == [("K027", "// before A", "the first of 6")]


def test_comments_of_version_fields_are_reported(tmp_path: Path) -> None:
    (tmp_path / "A.krm").write_text(
        "State => not top level, with version field\n  // Its version.\n  Version: int16\n  A: int8\n"
    )
    report = Report()
    assert convert([tmp_path], report, to="json", out=tmp_path / "out")
    found = [one.primary.span.text for one in report.diagnostics if one.code.number == "K027"]
    assert found == ["// Its version."]


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("many", ["// c\n" * 20_000, "/* c */" * 20_000, '"a": 1, /* c */' * 5_000])
def test_many_comments_take_linear_time(many: str) -> None:
    parse(Source("x.json", '{ "name": "A", ' + many), Report())
    parse(Source("x.json", '{ "name": "A",' + many + ' "type": "data" }'), Report())


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("notation", ["json", "krammar"])
def test_writing_many_comments_takes_linear_time(notation: str) -> None:
    comments = "// c\n" * 100_000
    text = '{ "type": "data", "validVersions": "0", "name": "A", ' + comments + '"fields": []' + comments + "}"
    assert written(read("x.json", text), notation).count(" c\n") == 200_000


def test_text_within_a_comment_keeps_its_indentation() -> None:
    assert comment_text("/*\n *   a\n * b\n */") == "  a\nb"
    assert comment_text("//   a  ") == "  a"
