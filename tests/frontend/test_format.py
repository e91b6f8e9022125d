"""``kwirec fmt``: a layout that says the same, comments included, and that is not changed again."""

from __future__ import annotations

import json
from pathlib import Path
from zipfile import ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.examples import clock, field
from kwirec.diagnostics.source import Source
from kwirec.formatting import format_bytes, format_paths, replace_texts
from kwirec.frontend import link, parse
from kwirec.frontend.notation import Notation
from kwirec.json_text import object_lines
from tests.frontend.comments import commented_json, commented_krammar, read
from tests.frontend.test_json_hostile import TOKENS as JSON_TOKENS
from tests.frontend.test_json_hostile import mutated_from
from tests.frontend.test_krammar import SAMPLE
from tests.frontend.test_krammar_hostile import TOKENS

ROOT = Path(__file__).parents[2]


def formatted(text: str, notation: Notation) -> str:
    report = Report()
    found = format_bytes(text.encode(), report, notation=notation)
    assert report.diagnostics == []
    assert found is not None
    return found.text


@pytest.mark.slow
@given(commented_json())
def test_formatting_json_keeps_the_tree_and_is_done_once(drawn: tuple[str, int]) -> None:
    once = formatted(drawn[0], "json")
    assert formatted(once, "json") == once
    assert read("x.json", once) == read("x.json", drawn[0])


@pytest.mark.slow
@given(commented_krammar())
def test_formatting_krammar_keeps_the_tree_and_is_done_once(drawn: tuple[str, int]) -> None:
    once = formatted(drawn[0], "krammar")
    assert formatted(once, "krammar") == once
    assert read("x.krm", once) == read("x.krm", drawn[0])


@pytest.mark.slow
def test_the_union_and_the_sample_are_formatted() -> None:
    report = Report()
    files = format_paths([ROOT / "message_defs" / "kafka", SAMPLE], report)
    assert report.diagnostics == []
    assert len(files) > 300
    assert [one.source.name for one in files if one.is_changed] == []


JSON = """\
//Of nobody.

 { "type" :"data", "name":"Clock", //what it is
"validVersions": "0-1", /* none */ "flexibleVersions" : "none",
/* Version 1
     * adds A. */
"fields":[ { "name" : "A", "type":"int32", "versions": 1,
  "about":   "\\u0041 field.", // of A
  "default": 0x10 },
  //
  //more
{"name":"B","type":"[]S","versions":"1+","fields":[{"name":"C","type":"int8","versions":"1+"} /*C*/
// after C
],"about":"x" // last
}], "listeners" : [ "broker", // one
 "controller"
], "headerVersions": { "0" : "1" /* h */, "1": 2 } } // behind
//end
"""

JSON_FORMATTED = """\
//Of nobody.

{
  "type": "data",
  "name": "Clock", // what it is
  "validVersions": "0-1", /* none */
  "flexibleVersions": "none",
  /* Version 1
   * adds A. */
  "fields": [
    { "name": "A", "type": "int32", "versions": 1, "about": "A field.", // of A
      "default": 0x10 },
    //
    // more
    { "name": "B", "type": "[]S", "versions": "1+", "fields": [
      { "name": "C", "type": "int8", "versions": "1+" } /*C*/
      // after C
    ], "about": "x" // last
    }
  ],
  "listeners": [
    "broker", // one
    "controller"
  ],
  /* h */
  "headerVersions": { "0": "1", "1": 2 }
}
// behind
// end
"""

KRAMMAR = """\


//Of nobody.


//  A kind.
//#note
//////////
Kind  int8  camelcase (
    // first
  0x1:ONE
  //last
)
// The request.
AskRequest =>  key 7,max version 3
  //of A
  A:  int8//v1+,tag 0
  B:[=>]
      // of C
    C: string("a,  b")  //  ignorable
  //end
AskResponse =>
  ThrottleMillis(2)// v1+

//the end"""

KRAMMAR_FORMATTED = """\
// Of nobody.

//  A kind.
//# note
//////////
Kind int8 camelcase (
  // first
  0x1: ONE
  // last
)

// The request.
AskRequest => key 7, max version 3
  // of A
  A: int8 // v1+, tag 0
  B: [=>]
    // of C
    C: string("a,  b") // ignorable
  // end

AskResponse =>
  ThrottleMillis(2) // v1+

// the end
"""


def test_what_a_line_has_no_room_for_goes_to_the_next() -> None:
    name, about, more = "n" * 60, "a" * 60, "m" * 60
    lines = [f'{{ "name": "{name}",', f'  "about": "{about}",', f'  "more": "{more}" }}']
    assert list(object_lines({"name": name, "about": about, "more": more})) == lines


def test_the_layout_of_json() -> None:
    assert formatted(JSON, "json") == JSON_FORMATTED
    assert formatted(JSON_FORMATTED, "json") == JSON_FORMATTED


def test_the_layout_of_krammar() -> None:
    found = format_bytes(KRAMMAR.encode(), Report())
    assert found is not None
    assert found.text == KRAMMAR_FORMATTED
    assert formatted(KRAMMAR_FORMATTED, "krammar") == KRAMMAR_FORMATTED


def test_text_in_a_comment_keeps_its_shape() -> None:
    table = "/* table:\n        a | b\n          ---\n     * star\n\n        1 | 2 */"
    once = formatted(f'{{ "type": "data", "name": "A", {table} "validVersions": "none" }}', "json")
    lines = ("/* table:", "   a | b", "     ---", " * star", "", "   1 | 2 */")
    assert "\n".join(f"  {line}".rstrip() for line in lines) in once
    assert formatted(once, "json") == once


@pytest.mark.parametrize(("second", "code"), [("2", "K013"), ("1", "K014")])
def test_header_versions_written_twice_are_not_dropped(second: str, code: str) -> None:
    text = f'{{ "type": "data", "name": "A", "validVersions": "0", "headerVersions": {{"0": 1, "0": {second}}} }}'
    report = Report()
    format_bytes(text.encode(), report, notation="json")
    found = [one for one in report.diagnostics if "entry `0` is written twice" in one.message]
    assert len(found) == 1


def test_a_folder_with_an_exclamation_mark_is_no_archive(tmp_path: Path) -> None:
    path = tmp_path / "a!b" / "X.json"
    path.parent.mkdir()
    path.write_text('{ "type": "data", "name": "X", "validVersions": "none" }')
    (found,) = format_paths([path.parent], Report())
    assert found.is_changed


def test_lines_keep_the_ends_of_windows() -> None:
    text = JSON.replace("\n", "\r\n")
    assert formatted(text, "json") == JSON_FORMATTED.replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{ "type": "data", "name": "A", }', "K005"),
        ('{ "type": "data", "name": "A", "validVersions": "0", "fields": [] } rest', "K006"),
        ('{ "type": "data", "type": "data", "name": "A", "validVersions": "0", "fields": [] }', "K008"),
        ("AskRequest => key 1, max version 0\n    A: int8\n  B: int8\n", "K020"),
        ("AskRequest => key 1, max version 0\n\tA: int8\n    B: int8\n", "K020"),
        ("AskRequest => key 1, max version 0\n\tA: int8\n\t\tB: int8\n", "K020"),
        ("AskRequest => key 1, max version 0\n  A: int8\n\n  B: int8\n", "K020"),
        ("AskRequest => key 1, max version 0\n\tA int8\n", "K005"),
        ("", "K007"),
    ],
)
def test_what_has_mistakes_is_not_formatted(text: str, code: str) -> None:
    report = Report()
    assert format_bytes(text.encode(), report) is None
    assert code in [one.code.number for one in report.diagnostics]


@pytest.mark.parametrize(
    "levels",
    [["\t", "\t\t", "\t\t\t"], [" ", "  ", "   "], ["    ", "        ", " " * 13], ["\t", "\t  ", "\t   "]],
    ids=["tabs", "one space", "four spaces and five", "tabs and spaces"],
)
def test_indentation_of_another_width_is_put_right(levels: list[str]) -> None:
    def indented(line: str) -> str:
        words = line.lstrip(" ")
        level = (len(line) - len(words)) // 2
        return levels[level - 1] + words if level else line

    lines = KRAMMAR_FORMATTED.replace("    C: ", "    X: =>\n      Y: int8\n    C: ").split("\n")
    text = "\n".join(map(indented, lines))
    parse(Source("x.krm", text), report := Report())
    assert report.has_errors()
    assert formatted(text, "krammar") == "\n".join(lines)
    assert formatted(text.replace("\n", "\r\n"), "krammar") == "\r\n".join(lines)


def check_any(text: str, name: str, notation: Notation) -> None:
    """Whatever a file holds, it has mistakes, or a layout that says the same and is not changed again."""
    report = Report()
    found = format_bytes(text.encode(), report, notation=notation)
    if found is None:
        assert report.diagnostics
    else:
        assert formatted(found.text, notation) == found.text
        before = parse(Source(name, text), own := Report())
        if not own.has_errors():  # indentation is mended, other mistakes are not
            after = parse(Source(name, found.text), Report())
            assert link([before], Report()) == link([after], Report())


@given(mutated_from([JSON, JSON_FORMATTED], JSON_TOKENS))
def test_damaged_json(text: str) -> None:
    check_any(text, "a.json", "json")


@pytest.mark.slow
@given(mutated_from([KRAMMAR, KRAMMAR_FORMATTED, SAMPLE.read_text()], TOKENS))
def test_damaged_krammar(text: str) -> None:
    check_any(text, "a.krm", "krammar")


def test_archives_and_bundles_in_a_folder_are_left_alone(tmp_path: Path) -> None:
    for name in ("archive.jar", "archive.zip"):
        with ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("Clock.json", JSON)
    (tmp_path / "all.jsonl").write_text(" ".join(clock(field("A")).split()) + "\n")
    (tmp_path / "Clock.json").write_text(JSON)
    report = Report()
    files = format_paths([tmp_path], report)
    assert [Path(one.source.name).name for one in files] == ["Clock.json"]
    replace_texts(files)
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix) == [
        "Clock.json",
        "all.jsonl",
        "archive.jar",
        "archive.zip",
    ]


def test_the_first_line_decides_how_lines_end() -> None:
    lines = JSON.split("\n")
    windows = format_bytes((lines[0] + "\r\n" + "\n".join(lines[1:])).encode(), Report(), notation="json")
    assert windows is not None
    assert windows.text.count("\r\n") == windows.text.count("\n")
    unix = format_bytes((lines[0] + "\n" + "\r\n".join(lines[1:])).encode(), Report(), notation="json")
    assert unix is not None
    assert "\r" not in unix.text


def test_a_file_that_does_not_change_is_not_written(tmp_path: Path) -> None:
    for name, text in (("A.json", JSON), ("B.json", JSON_FORMATTED)):
        (tmp_path / name).write_text(text)
    before = {name: (tmp_path / name).stat().st_ino for name in ("A.json", "B.json")}
    replace_texts(format_paths([tmp_path], Report()))
    assert (tmp_path / "A.json").read_text() == JSON_FORMATTED
    assert (tmp_path / "A.json").stat().st_ino != before["A.json"]
    assert (tmp_path / "B.json").stat().st_ino == before["B.json"]


def test_the_difference_says_that_no_line_break_ends_a_file() -> None:
    found = format_bytes(JSON_FORMATTED.rstrip("\n").encode(), Report(), notation="json")
    assert found is not None
    assert found.diff().splitlines()[-3:] == ["-// end", "\\ No newline at end of file", "+// end"]


def test_every_folder_gets_its_files_and_a_last_line_its_end(tmp_path: Path) -> None:
    paths = [tmp_path / name / "A.json" for name in ("one", "two")]
    for path, text in zip(paths, (JSON, JSON_FORMATTED.rstrip("\n")), strict=True):
        path.parent.mkdir()
        path.write_text(text)
    replace_texts(format_paths(paths, Report()))
    assert [path.read_text() for path in paths] == [JSON_FORMATTED, JSON_FORMATTED]


def test_comments_at_the_end_have_no_white_space_at_the_ends_of_lines() -> None:
    text = JSON_FORMATTED + "/* One.\n\n   Two. */\n"
    assert formatted(text, "json") == text


def test_all_comments_behind_an_attribute_stay_there() -> None:
    text = JSON_FORMATTED.replace('"name": "Clock",', '"name": "Clock", /* one */ /* two */')
    assert formatted(formatted(text, "json"), "json").count("/* one */ /* two */") == 1


@pytest.mark.parametrize("last", ["\t\t\tB: int8", "    B: [int8"])
def test_tabs_below_spaces_are_no_level(last: str) -> None:
    text = f"Clock => not top level\n  A: =>\n{last}\n"
    assert format_bytes(text.encode(), Report(), notation="krammar") is None


def test_modifiers_that_are_written_twice_alike_keep_nobody_from_formatting() -> None:
    text = "AskRequest => key 1,max version 0,max version 0\n  A: int8\n"
    found = format_bytes(text.encode(), Report(), notation="krammar")
    assert found is not None
    assert found.text == text.replace(",", ", ")


@pytest.mark.parametrize("gap", ["", "\n"])
def test_an_empty_line_stays_between_a_comment_and_the_definition(gap: str) -> None:
    head = f"// A comment.\n\n// A comment.\n{gap}"
    assert formatted(head + JSON_FORMATTED.split("\n", 2)[2], "json").startswith(f"{head}{{")


@given(
    st.dictionaries(
        st.sampled_from(["a", "bb", "name", "versions"]), st.sampled_from(["", "x", "long " * 4, 7, ["y", 1]])
    ),
    st.integers(12, 44),
    st.sampled_from(["", "    "]),
    st.sampled_from(["", ","]),
)
def test_a_line_has_as_many_attributes_as_fit(node: dict[str, object], width: int, indent: str, end: str) -> None:
    parts = [f"{json.dumps(name)}: {json.dumps(value)}," for name, value in node.items()]
    parts[-1:] = [f"{part[:-1]} }}{end}" for part in parts[-1:]] or [f"}}{end}"]
    expected, line = [], f"{indent}{{"
    for number, part in enumerate(parts):
        if number and len(f"{line} {part}") > width:
            expected.append(line)
            line = f"{indent} "
        line = f"{line} {part}"
    assert list(object_lines(node, indent, end, width=width)) == [*expected, line]
