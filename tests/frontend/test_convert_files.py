"""Which files a conversion writes, and the names of structs and places of comments in them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwirec.convert import convert
from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.examples import ABSENT, clock, enum, field, request, response, struct, value
from kwirec.diagnostics.source import Source
from kwirec.frontend import parse
from kwirec.frontend.json_writer import json_definition
from kwirec.frontend.krammar_docs import read_doc, write_doc
from kwirec.frontend.krammar_fields import TIMEOUT
from kwirec.frontend.krammar_writer import krammar_text
from kwirec.frontend.notation import Notation
from tests.support.findings import told


def test_a_check_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "ClockRequest.json").write_text(request(field("A")))
    out = tmp_path / "out"
    for check, changed in ((True, True), (False, True), (True, False), (False, False)):
        found = convert([tmp_path / "ClockRequest.json"], Report(), to="krammar", out=out, check=check)
        assert found is not None
        assert found.changed == (("Clock.krm",) if changed else ())
        assert (out / "Clock.krm").exists() is not (check and changed)


def test_only_structs_whose_names_others_have_are_renamed_for_franz_go(tmp_path: Path) -> None:
    (tmp_path / "defs").mkdir()
    for number, own in enumerate(("Alone", "Other"), 1):
        structs = [struct("Shared", field("X", "int8")), struct(own, field("S", "Shared"))]
        inner = field("In", "In", fields=[field("T", "[]Shared"), field("U", own)])
        text = request(field("O", own), inner, name=f"Ask{number}Request", apiKey=number, commonStructs=structs)
        (tmp_path / "defs" / f"Ask{number}Request.json").write_text(text)
    found = convert([tmp_path / "defs"], Report(), to="krammar", out=tmp_path, dialect="franz-go")
    assert found is not None
    lines = [line for line in found.texts["01_ask1"].split("\n") if line.lstrip()[:2] not in ("", "//")]
    assert lines == [
        "Ask1RequestShared => not top level, no encoding, flexible v1+",
        "  X: int8",
        "Alone => not top level, no encoding, flexible v1+",
        "  S: Ask1RequestShared",
        "Ask1Request => key 1, max version 2, flexible v1+",
        "  O: Alone",
        "  In: =>",
        "    T: [Ask1RequestShared]",
        "    U: Alone",
    ]


@pytest.mark.parametrize("comment", ["// behind", "/* one */ /* two */", "/* one */\n// two"])
def test_comments_behind_an_item_stay_with_it(comment: str) -> None:
    text = clock(field("A", "int8"), field("B", "int8")).replace('"The a." },', f'"The a." }}, {comment}', 1)
    assert comment in text
    report = Report()
    [message] = parse(Source("Clock.json", text), report).messages
    assert report.diagnostics == []
    counts = [len(one.comments) for one in message.fields or ()]
    assert counts == ([1, 1] if "\n" in comment else [comment.count("/*") or 1, 0])
    again = parse(Source("Clock.json", json_definition(message)), report).messages[0]
    assert [len(one.comments) for one in again.fields or ()] == counts


def test_only_what_differs_is_written_again(tmp_path: Path) -> None:
    for name in ("Ask", "Tell"):
        (tmp_path / f"{name}Request.json").write_text(request(field("A"), name=f"{name}Request"))
    paths, out = [tmp_path / "AskRequest.json", tmp_path / "TellRequest.json"], tmp_path / "out"
    convert(paths, Report(), to="krammar", out=out)
    kept, edited = (out / f"{name}.krm" for name in ("Ask", "Tell"))
    before, text = kept.stat().st_ino, edited.read_text()
    edited.write_text(text.swapcase())
    found = convert(paths, Report(), to="krammar", out=out)
    assert found is not None
    assert (found.changed, edited.read_text(), kept.stat().st_ino) == (("Tell.krm",), text, before)


def test_enums_and_messages_without_requests_have_a_file_each_for_franz_go(tmp_path: Path) -> None:
    """In order of their names, whatever the order of files. Only requests and responses are named after api keys."""
    texts = (
        enum(value("NEW", 0), name="Tide"),
        enum(value("LOW", 0), name="Phase"),
        clock(field("A", "int8"), apiKey=3, validVersions="0"),
    )
    paths = [tmp_path / f"{number}.json" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    found = convert(paths, Report(), to="krammar", out=tmp_path, dialect="franz-go")
    assert found is not None
    assert list(found.texts) == ["enums", "misc"]
    enums = found.texts["enums"]
    assert enums.index("Phase int") < enums.index("Tide int")


@pytest.mark.parametrize(("uses", "label"), [(1, ""), (2, "the first of 2"), (3, "the first of 3")])
def test_what_franz_go_has_no_word_for_is_told_once_with_the_number_of_its_uses(
    tmp_path: Path, uses: int, label: str
) -> None:
    fields = [field(name, "int8", ignorable=True) for name in "ABC"[:uses]]
    (tmp_path / "AskRequest.json").write_text(request(*fields, name="AskRequest"))
    report = Report()
    convert([tmp_path / "AskRequest.json"], report, to="krammar", out=tmp_path / "out", dialect="franz-go")
    assert [(one.message, one.primary.text) for one in report.diagnostics if "ignorable" in one.message] == [
        ("franz-go's notation cannot express `ignorable`, which `AskRequest` has", label)
    ]


@pytest.mark.parametrize(
    ("about", "default", "line"),
    [
        (TIMEOUT, "15000", "  TimeoutMillis"),
        (TIMEOUT, "5", "  TimeoutMillis(5)"),
        (TIMEOUT, "-1", "  TimeoutMillis: int32(-1)"),
        ("Until when.", "15000", "  TimeoutMillis: int32(15000)"),
    ],
)
def test_a_timeout_is_written_without_a_type_if_all_of_it_is_as_usual(
    tmp_path: Path, about: str, default: str, line: str
) -> None:
    text = request(field("TimeoutMillis", "int32", about=about, default=default), name="AskRequest")
    (tmp_path / "AskRequest.json").write_text(text)
    found = convert([tmp_path / "AskRequest.json"], Report(), to="krammar", out=tmp_path / "out")
    assert found is not None
    assert line in found.texts["Ask.krm"].splitlines()


@pytest.mark.parametrize("to", ["krammar", "json"])
def test_files_of_several_folders_keep_their_places_in_them(tmp_path: Path, to: Notation) -> None:
    for place in ("one/a/First.json", "two/b/Second.json"):
        path = tmp_path / place
        path.parent.mkdir(parents=True)
        path.write_text(clock(name=path.stem))
    found = convert([tmp_path / "one", tmp_path / "two"], Report(), to=to, out=tmp_path / "out")
    assert found is not None
    end = {"krammar": "krm", "json": "json"}[to]
    assert list(found.texts) == [f"a/First.{end}", f"b/Second.{end}"]
    assert all((tmp_path / "out" / path).read_text() == text for path, text in found.texts.items())


def test_a_struct_that_nobody_uses_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "Clock.krm").write_text("// Alone.\nAlone => not top level\n  // A.\n  A: int8\n")
    report = Report()
    assert convert([tmp_path / "Clock.krm"], report, to="json", out=tmp_path / "out") is not None
    assert [one.message for one in report.diagnostics] == ["no message uses struct `Alone`: it is left out"]


def test_comments_of_what_needs_no_words_go_to_the_end() -> None:
    """Both attributes say no more than if they were left out."""
    text = clock().replace(
        '"fields"', '\n// One.\n"listeners": [],\n// Two.\n"latestVersionUnstable": false,\n"fields"'
    )
    [message] = parse(Source("Clock.json", text), Report()).messages
    assert json_definition(message).endswith("  // One.\n  // Two.\n}\n")


def test_a_comment_with_stars_becomes_a_comment_of_words(tmp_path: Path) -> None:
    (tmp_path / "Clock.json").write_text("/*\n * Ours.\n * All of it.\n */\n" + clock())
    found = convert([tmp_path / "Clock.json"], Report(), to="krammar", out=tmp_path / "out")
    assert found is not None
    assert [line for line in found.texts["Clock.krm"].splitlines() if "Our" in line or "All" in line] == [
        "// Ours.",
        "// All of it.",
    ]


def test_all_lines_that_json_has_no_place_for_are_pointed_at(tmp_path: Path) -> None:
    text = "Clock => not top level, with version field\n  // One.\n  // Two.\n  Version: int16\n  A: int8\n"
    (tmp_path / "Clock.krm").write_text(text)
    report = Report()
    found = convert([tmp_path / "Clock.krm"], report, to="json", out=tmp_path / "out")
    assert [one.primary.span.text for one in report.diagnostics] == ["// One.\n  // Two."]
    assert found is not None
    assert '"validVersions": "0"' in found.texts["Clock.json"]


@pytest.mark.parametrize(("versions", "shown"), [(ABSENT, "2+"), ("0+", "0+")])
def test_tagged_versions_without_a_tag_are_kept(versions: str, shown: str) -> None:
    written = clock(field("A", versions=versions, taggedVersions="2+"))
    message = parse(Source("Clock.json", written), Report()).messages[0]
    text = json_definition(parse(Source("Clock.krm", krammar_text([message], Report())), Report()).messages[0])
    assert f'"versions": "{shown}", "taggedVersions": "2+"' in text


def test_former_names_in_quotes_are_read_without_them() -> None:
    text = 'AskRequest => key 1, max version 0, was "Old-Ask", was Older\n  A: int8 // was "a-b", was C\n'
    [message] = parse(Source("Ask.krm", text), Report()).messages
    [one] = message.fields or ()
    assert [alias.value for alias in (*message.aliases, *one.aliases)] == ["Old-Ask", "Older", "a-b", "C"]


def test_an_enum_keeps_its_comment_and_that_it_has_no_values() -> None:
    [phase] = parse(Source("Phase.json", f"// Ours.\n{enum()}"), Report()).enums
    text = json_definition(phase)
    assert text.startswith("// Ours.\n{\n")
    assert '"values": []' in text


@pytest.mark.parametrize(
    "own",
    [
        {"apiKey": 901},
        {"name": "Clock"},
        {"flexibleVersions": "2+"},
        {"validVersions": "0-1"},
        {"validVersions": "1-2"},
        {"validVersions": "none"},
    ],
    ids=str,
)
def test_what_a_response_has_of_its_own_is_written(own: dict[str, Any]) -> None:
    texts = request(), response(**own)
    pair = [parse(Source("x.json", text), Report()).messages[0] for text in texts]
    written = krammar_text(pair, Report())
    _, again = parse(Source("x.krm", written), report := Report()).messages
    assert report.diagnostics == []
    assert json_definition(again) == json_definition(pair[1])


@pytest.mark.parametrize(("names", "style"), [(("NEW", "FULL"), ""), (("NEW", "Full"), " camelcase")])
def test_an_enum_is_camel_case_if_any_of_its_names_is(names: tuple[str, str], style: str) -> None:
    text = enum(*(value(name, number) for number, name in enumerate(names)))
    assert f"Phase int8{style} (\n" in krammar_text(parse(Source("Phase.json", text), Report()).enums, Report())


PHASE = enum(value("OLD", -1), value("NEW2", 2), value("FULL", 3), value("HALF", 4)).replace(
    '{ "name": "FULL"', '// A note.\n { "name": "FULL"'
)
TIME = struct("Time", field("A", versions="1+", ignorable=True), field("B-c", "int8"), versions="1+")
LOSSES = {
    "values of an enum": PHASE,
    "name of an enum": enum(value("NEW", 0), name="Phase-1"),
    "names of values": enum(value("NEW", 0), value("NOT-NEW", 1), value("Old-1", 2)),
    "name of a message": clock(name="Clock-1"),
    "facts of a struct": request(field("Start", "Time", versions="1+"), commonStructs=[TIME]),
}


@pytest.mark.parametrize("franz_go", [False, True])
def test_what_a_notation_has_no_words_for_is_told(franz_go: bool, snapshot: Any) -> None:
    shown = []
    for case, text in LOSSES.items():
        document = parse(Source("x.json", text), report := Report())
        written = krammar_text(document.definitions, report, franz_go=franz_go)
        shown += [f"# {case}", told(report.diagnostics), written]
    assert "\n".join(shown) == snapshot


@given(st.permutations(range(5)))
def test_structs_come_before_their_uses_for_franz_go_and_stay_in_order_otherwise(order: list[int]) -> None:
    uses = {0: [3, 1, 4], 1: [2], 2: [], 3: [2], 4: []}
    structs = [
        struct(f"S{one}", *(field(f"To{to}", f"S{to}") for to in uses[one]), field("A", "int8")) for one in order
    ]
    text = request(field("First", "S0"), field("Last", "[]S4"), commonStructs=structs)
    written = krammar_text(parse(Source("A.json", text), Report()).messages, Report(), franz_go=True)
    found = [int(name) for name in re.findall(r"^S(\d) =>", written, re.MULTILINE)]
    expected: list[int] = []

    def visit(one: int) -> None:
        for to in uses[one]:
            visit(to)
        if one not in expected:
            expected.append(one)

    for one in order:
        visit(one)
    assert found == expected


@pytest.mark.parametrize(("franz_go", "order", "owner"), [(True, "102", ""), (False, "012", ", of ClockRequest")])
def test_a_struct_names_its_message_where_its_place_does_not_say_it_and_franz_go_has_no_word(
    franz_go: bool, order: str, owner: str
) -> None:
    """One is used before it is defined, another by no field."""
    structs = (
        struct("Outer", field("A", "Inner")),
        struct("Inner", field("B", "int8")),
        struct("Alone", field("C", "int8")),
    )
    written = (
        f"// One outer.\nOuter => not top level, no encoding, flexible v1+{owner}\n  // The a.\n  A: Inner\n",
        f"// One inner.\nInner => not top level, no encoding, flexible v1+{owner}\n  // The b.\n  B: int8\n",
        f"// One alone.\nAlone => not top level, no encoding, flexible v1+{owner}\n  // The c.\n  C: int8\n",
    )
    head = "// Asks for the time.\nClockRequest => key 900, max version 2, flexible v1+\n"
    asked = f"{head}  // The first.\n  First: Outer\n"
    text = request(field("First", "Outer"), commonStructs=list(structs))
    report = Report()
    messages = parse(Source("A.json", text), report).messages
    expected = "\n".join([*(written[int(place)] for place in order), asked])
    assert krammar_text(messages, report, franz_go=franz_go) == expected
    assert report.diagnostics == []


WORDS = st.lists(
    st.sampled_from(["a", "bb", "ccc", "-", "*", "- d", "eeeeeeeeeeeeeee", "1."]), min_size=1, max_size=14
)


@given(WORDS, st.integers(4, 12))
def test_descriptions_are_filled_word_by_word(words: list[str], width: int) -> None:
    """A line takes the next word if it fits; no line begins like an item of a list, which would be one."""
    text = " ".join(["x", *words])
    lines = write_doc(text, width)
    assert read_doc(lines) == text
    expected, line = [], ""
    parts = re.split(r" (?![-*] )", text)
    for part in parts:
        if line and len(line) + 1 + len(part) > width:
            expected.append(line)
            line = part
        else:
            line = f"{line} {part}" if line else part
    assert lines == [*expected, line]
