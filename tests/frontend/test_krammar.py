"""The indentation notation: what each word means, and where the tree says that it stands."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kwirec.diagnostics.diagnostic import Report, finding
from kwirec.diagnostics.source import Source, Span
from kwirec.dump import dump_syntax
from kwirec.frontend import Document, FieldDecl, link, parse
from kwirec.frontend.krammar_docs import join_struct_doc, read_doc, split_struct_doc, write_doc
from kwirec.frontend.notation import Dialect, Notation
from kwirec.frontend.syntax import HeaderVersionsDecl, Node, Spanned, TypeExpr, walk_field_decls
from kwirec.ir import resolve
from kwirec.validation import validate
from kwirec.validation.wording import in_krammar
from tests.frontend.test_json_positions import nodes

SAMPLE = Path(__file__).parents[1] / "data" / "krammar" / "Clock.krm"


def read(text: str, name: str = "Clock.krm") -> Document:
    report = Report()
    (document,) = link([parse(Source(name, text), report)], report)
    assert report.diagnostics == []
    return document


def field(line: str, head: str = "key 1, max version 9, flexible v4+") -> FieldDecl:
    (one,) = read(f"ClockRequest => {head}\n  {line}\n").messages[0].fields or ()
    return one


def test_every_word(snapshot: Any) -> None:
    assert dump_syntax([read(SAMPLE.read_text())]) == snapshot


def places(node: Any) -> Iterator[str]:
    """The texts at which the attributes of a node stand."""
    for part in dataclasses.fields(node):
        found = getattr(node, part.name)
        for value in found if isinstance(found, tuple) else (found,):
            if isinstance(value, Spanned | TypeExpr | HeaderVersionsDecl):
                names = f"‹{value.name_span.text}›" if isinstance(value, TypeExpr) else ""
                yield f"{part.name} ‹{value.span.text}›{names}".replace("\n", "⏎")


def test_every_attribute_is_where_the_tree_says(snapshot: Any) -> None:
    document = read(SAMPLE.read_text())
    found = [one for one in nodes((*document.messages, *document.enums)) if isinstance(one, Node)]
    assert all(one.name.span.text in one.span.text.partition("\n")[0] for one in found)
    assert "\n".join(" ".join(places(one)) for one in found) == snapshot


def test_a_response_takes_key_and_versions_from_its_request() -> None:
    request, response = read("AskRequest => key 7, max version 3, flexible v2+\n\nAskResponse =>\n").messages
    assert (response.type.value, response.api_key) == ("response", request.api_key)
    assert response.valid_versions == request.valid_versions
    assert response.flexible_versions == request.flexible_versions


@pytest.mark.parametrize(
    ("line", "versions", "tagged"),
    [
        ("A: int8", "0+", None),
        ("A: int8 // v2+", "2+", None),
        ("A: int8 // v2-v3", "2-3", None),
        ("A: int8 // tag 0", None, "4+"),
        ("A: int8 // v6+, tag 0", None, "6+"),
        ("A: int8 // tag 0, tagged v6+", "0+", "6+"),
        ("A: int8 // versions none", "none", None),
    ],
)
def test_versions_and_tags(line: str, versions: str | None, tagged: str | None) -> None:
    one = field(line)
    assert [one.versions and str(one.versions.value), one.tagged_versions and str(one.tagged_versions.value)] == [
        versions,
        tagged,
    ]


@pytest.mark.parametrize(
    ("line", "nullable", "default"),
    [
        ("A: nullable-string", "0+", "null"),
        ("A: nullable-string // v3+", "3+", "null"),
        ("A: nullable-string-v7+", "7+", None),
        ("A: nullable-string-v7+(null)", "7+", "null"),
        ("A: nullable-bytes(empty)", "0+", None),
        ('A: nullable-string("")', "0+", ""),
        ("A: nullable[int8] // tag 0", "4+", "null"),
        ("A: nullable-v2-v3[int8]", "2-3", None),
        ("A: nullable-Zone", "0+", "null"),
        ("A: int32(0x10)", None, "0x10"),
        ('A: string("a // \\"b\\"")', None, 'a // "b"'),
    ],
)
def test_null_and_defaults(line: str, nullable: str | None, default: str | None) -> None:
    one = field(line)
    assert (one.nullable_versions and str(one.nullable_versions.value)) == nullable
    assert (one.default and one.default.value) == default


def test_fields_of_a_struct_have_its_versions() -> None:
    outer = field("Topics: [=>] // v3-v5\n    Name: string\n    Id: uuid // v4-v4")
    assert [str(one.versions.value) for one in outer.fields or () if one.versions] == ["3-5", "4"]


@pytest.mark.parametrize(("struct", "tagged"), [("v6+", "6+"), ("v2+", "4+"), ("v2-v5", "4-5"), ("v6-v7", "6-7")])
def test_a_tag_has_the_flexible_versions_of_its_struct(struct: str, tagged: str) -> None:
    (tag,) = field(f"Topics: [=>] // {struct}\n    Note: string // tag 0").fields or ()
    assert tag.tagged_versions is not None
    assert str(tag.tagged_versions.value) == tagged


def test_a_predefined_field_may_be_tagged() -> None:
    one = field("ThrottleMillis(2) // tag 3")
    assert (one.tag and one.tag.value, str(one.tagged_versions and one.tagged_versions.value)) == (3, "4+")


def test_inline_structs_are_named_after_their_place() -> None:
    outer = field("Topics: [=>]\n    Indexes: [=>Entry]\n      Boxes: [=>]\n        Status: =>\n          A: int8")
    assert outer.type.name == "ClockRequestTopic"
    entry = (outer.fields or ())[0]
    box = (entry.fields or ())[0]
    assert (entry.type.name, box.type.name) == ("Entry", "EntryBox")
    assert (box.fields or ())[0].type.name == "EntryBoxStatus"


def test_version_field_and_highest_version() -> None:
    struct = "Inner => not top level, no encoding\n  A: int8 // v5-v6\n\n"
    text = "State => not top level, with version field, flexible v3+\n  Version: int16\n  Inner: [Inner] // v2+\n"
    (message,) = read(struct + text).messages
    assert [one.name.value for one in message.fields or ()] == ["Inner"]
    assert message.valid_versions is not None
    assert str(message.valid_versions.value) == "0-6"


def test_a_struct_is_shared_by_the_messages_of_later_files() -> None:
    report = Report()
    text = "AskRequest => key 1, max version 2, flexible v1+\n  Zones: [Zone]\n"
    first = "Zone => not top level, no encoding, flexible v0+\n  Name: string\n  A: int8 // tag 0\n"
    sources = (Source("88", first), Source("89", text), Source("90", text.replace("key 1", "key 2")))
    _, one, other = link([parse(source, report) for source in sources], report)
    assert report.diagnostics == []
    for document in (one, other):
        ((struct,),) = [message.common_structs for message in document.messages]
        assert struct.fields[1].tagged_versions is not None
        assert str(struct.fields[1].tagged_versions.value) == "1+"


def test_enums_hold_for_all_files() -> None:
    report = Report()
    enums = "Kind uint16 (\n  1: ONE\n)\n"
    text = "AskRequest => key 1, max version 2\n  Kinds: [enum-Kind]\n"
    document, _ = link([parse(Source(*one), report) for one in (("1", text), ("enums", enums))], report)
    (one,) = document.messages[0].fields or ()
    assert (str(one.type), one.enum and one.enum.value) == ("[]uint16", "Kind")


@pytest.mark.parametrize(
    ("text", "notation"),
    [
        ("", "json"),
        (" // x\n/* y\n */\t{", "json"),
        ("[", "json"),
        ("// x\n\nA => data", "krammar"),
        ("_a1  =>", "krammar"),
        ("A int8 (", "krammar"),
        ("A int8 camelcase(", "krammar"),
        ("A=>", "A=>"),
        ("1A =>", "1A =>"),
        ("A int8", "A int8"),
        ("/* x */ A Int8 (\n", "A Int8 ("),
        ("// {\n" + "x" * 99, "x" * 80),
    ],
)
def test_content_tells_files_without_a_suffix(text: str, notation: str) -> None:
    """If it does not tell, the first 80 characters that are no comment are pointed at."""
    document = parse(Source("a", text), report := Report())
    unknown = [one.primary.span.text for one in report.diagnostics if one.code.number == "K024"]
    assert (unknown or [document.notation]) == [notation]


def test_a_suffix_tells_more_than_what_is_said_and_that_more_than_the_content() -> None:
    told: tuple[tuple[str, Notation, Notation], ...] = (("a.json", "krammar", "json"), ("a.txt", "json", "json"))
    for name, said, expected in (*told, ("a.krm", "json", "krammar")):
        assert parse(Source(name, "A => data"), Report(), notation=said).notation == expected
    dialects: tuple[tuple[str, Dialect | None, str], ...] = (
        ("a", None, "franz-go"), ("a.txt", None, "krammar"), ("a", "kwire", "krammar"),
        ("a.krm", "franz-go", "franz-go"),
    )  # fmt: skip
    for name, dialect, written in dialects:
        document = parse(Source(name, "A => data, max version 0\n"), Report(), dialect=dialect)
        assert document.messages[0].dialect == written


@pytest.mark.parametrize(
    "text",
    ["One line.", "word " * 60 + "end", "Two\n\nparagraphs", "A list:\n- one\n- two", "  code\n   more", "a\nb",
     '"quoted"', "\0", "ends in space ", "- item " * 30, "a  b " * 40, "\n", "x" * 300, "é\u2028"],
)  # fmt: skip
def test_descriptions_survive_as_comments(text: str) -> None:
    lines = write_doc(text, 60)
    assert read_doc(lines) == text
    assert all("\n" not in line and line == line.rstrip() for line in lines)


@pytest.mark.parametrize("struct_doc", ["One zone.", "a\nb", "", "  x", "word " * 40 + "end"])
@pytest.mark.parametrize("doc", ["", "All zones.", "All zones.\n\nZone: one", '"'])
def test_descriptions_of_structs_survive_beside_those_of_fields(doc: str, struct_doc: str) -> None:
    found = split_struct_doc(join_struct_doc(doc, "Zone", struct_doc, 60), "Zone")
    assert (found[0], found[1] or "") == (doc, struct_doc)


def test_descriptions_may_be_missing_in_the_dialect_of_franz_go() -> None:
    enum = "Kind int8 (\n  1: ONE\n)\n\n"
    text = "AskRequest => key 1, max version 0\n  Zones: [=>]\n    Kind: enum-Kind\n\nAskResponse =>\n  Id: int8\n"
    found = {}
    for name in ("01_ask", "Ask.krm"):
        report = Report()
        schema = resolve([parse(Source(name, enum + text), report)], report)
        validate(schema, report)
        found[name] = {one.code.number for one in report.diagnostics}
    assert found == {"01_ask": set(), "Ask.krm": {"K207", "K809"}}


def test_findings_of_rules_are_in_the_words_of_the_notation() -> None:
    text = "// Asks.\nAskRequest => key 1, max version 2\n  // One.\n  A: nullable-string-v1+ // v0-v0\n  B: [=>]\n"
    report = Report()
    schema = resolve([parse(Source("Ask.krm", text + "\n// Answers.\nAskResponse =>\n"), report)], report)
    validate(schema, report)
    said = {(one.message, one.primary.text, *one.helps) for one in report.diagnostics}
    assert said >= {
        (
            "`nullable` never applies to `A`",
            "the field is in version 0",
            "write `none` or omit it, or correct the versions",
        ),
        ("field `B` has no description", "no comment above it", "add a comment above it"),
        (
            "struct `AskRequestB` has no description",
            "no paragraph about it",
            "end the comment above with a paragraph `AskRequestB: …`",
        ),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("json", "krammar"),
    [
        ("write `1-2` or `1+`", "write `v1-v2` or `v1+`"),
        ("remove `mapKey`, or `tag` and `taggedVersions`", "remove `map key`, or `tag` and `tagged`"),
        ("a field of type `[]int8` or `[][]Zone`", "a field of type `[int8]` or `[[Zone]]`"),
        (
            "`aliases` `apiKey` `commonStructs` `sentTo` `zeroCopy`",
            "`was` `key` `not top level` `coordinator` `zero copy`",
        ),
        ("`entityType` `latestVersionUnstable`, entityType", "`entity` `unstable`, entityType"),
        ("`deprecatedVersions` and `flexibleVersions`", "`deprecated` and `flexible`"),
        ("`headerVersions`, `nullableVersions`, `validVersions`", "`header`, `nullable`, `max version`"),
        ("`none` of `Clock` in versions 0-2 is `0`", "`none` of `Clock` in versions 0-2 is `0`"),
    ],
)
def test_words_of_both_notations(json: str, krammar: str) -> None:
    span = Span(Source("Clock.krm", ""), 0, 0)
    found = in_krammar(finding(json, span, json, notes=[json], helps=[json], others=[(span, json)]))
    assert found == finding(krammar, span, krammar, notes=[krammar], helps=[krammar], others=[(span, krammar)])


def test_a_field_that_is_named_like_an_attribute_keeps_its_name() -> None:
    text = "// Of A.\nA => data, max version 0\n  mapKey: int8 // v2+\n"
    report = Report()
    validate(resolve([parse(Source("A.krm", text), report)], report), report)
    assert [(one.message, one.helps) for one in report.diagnostics] == [
        ("field `mapKey` has no description", ("add a comment above it",)),
        (
            "field `mapKey` is not in any version of `A`",
            ("raise `max version`, or correct the field's versions",),
        ),
    ]


def test_a_bare_comment_line_before_a_description_is_no_part_of_it() -> None:
    assert read_doc(["", "One."]) == "One."
    assert read_doc(["", "", "One.", "", "Two.", ""]) == "One.\n\nTwo."


def test_a_description_is_broken_when_it_is_wider_than_the_line() -> None:
    assert write_doc("a" * 28 + " " + "b" * 31, 60) == ["a" * 28 + " " + "b" * 31]
    assert write_doc("a" * 29 + " " + "b" * 31, 60) == ["a" * 29, "b" * 31]
    assert write_doc("a" * 60 + " b", 60) == ["a" * 60, "b"]


def test_a_description_is_not_broken_at_two_spaces() -> None:
    assert write_doc("aa " + "b" * 55 + "  c " + "d" * 9, 60) == ["aa", "b" * 55 + "  c", "d" * 9]


def test_a_paragraph_that_begins_like_the_name_of_a_struct_is_of_the_field() -> None:
    assert split_struct_doc(["All.", "", "Topics are many."], "Topic") == ("All.\n\nTopics are many.", None)
    assert split_struct_doc(["All.", "", "Topic: one."], "Topic") == ("All.", "one.")
    lines = join_struct_doc("All.\n\nTopics are many.", "Topic", "", 60)
    assert split_struct_doc(lines, "Topic") == ("All.\n\nTopics are many.", None)


@pytest.mark.parametrize(("suffix", "found"), [("", ["struct `Zone` is defined twice"]), (".krm", [])])
def test_a_struct_of_another_file_has_the_same_name(suffix: str, found: list[str]) -> None:
    """franz-go has one name for all files. Elsewhere, messages have the struct of their own file."""
    texts = [
        f"Zone => not top level, no encoding\n  {name}: int8\n\n"
        f"{name}Request => key {key}, max version 0\n  Zone: Zone\n"
        for key, name in enumerate(("A", "B"))
    ]
    report = Report()
    linked = link([parse(Source(f"{number}{suffix}", text), report) for number, text in enumerate(texts)], report)
    structs = [struct for document in linked for message in document.messages for struct in message.common_structs]
    assert [one.name.value for struct in structs for one in struct.fields] == ["A", "B"]
    assert [one.message for one in report.diagnostics if one.code.severity.value == "error"] == found


def test_a_struct_inside_of_a_message_comes_before_one_of_the_file() -> None:
    head = "Zone => not top level\n  X: int8\n\nBellRequest => key 1, max version 1\n  A: Zone\n\n"
    text = f"{head}ClockRequest => key 2, max version 1\n  A: =>Zone\n    B: int8\n  C: [Zone]\n"
    [document] = link([parse(Source("Clock.krm", text), report := Report())], report)
    assert [[one.name.value for one in message.common_structs] for message in document.messages] == [["Zone"], []]
    assert report.diagnostics == []


@pytest.mark.parametrize(("count", "is_too_much"), [(100, False), (101, True)])
def test_a_hundred_words_and_a_hundred_levels_are_read(count: int, is_too_much: bool) -> None:
    words = f"  A: int8 // {', '.join(f'was A{number}' for number in range(count))}\n"
    levels = "".join(f"{'  ' * level}A{level}: {'=>' if level <= 100 else 'int8'}\n" for level in range(1, count + 1))
    for lines, first in ((words, "A"), (levels, "A1")):
        text = f"ClockRequest => key 1, max version 1\n{lines}  Z: int8\n"
        [message] = parse(Source("Clock.krm", text), report := Report()).messages
        assert report.has_errors() is is_too_much
        assert [one.name.value for one in message.fields or ()] == [first, "Z"]


def test_the_deepest_level_may_have_several_fields() -> None:
    levels = "".join(f"{'  ' * level}A{level}: =>\n" for level in range(1, 101)) + f"{'  ' * 100}Z: int8\n"
    [message] = parse(Source("Clock.krm", f"ClockRequest => key 1, max version 1\n{levels}"), Report()).messages
    assert [one.name.value for one in walk_field_decls(message.fields)][-2:] == ["A100", "Z"]


def test_a_tag_in_a_message_without_flexible_versions_is_one_of_all_versions() -> None:
    tagged = field("Note: int8 // tag 0", "key 1, max version 9").tagged_versions
    assert tagged is not None
    assert str(tagged.value) == "0+"


def test_a_struct_may_contain_itself() -> None:
    tree = "Tree => not top level\n  Left: [Tree]\n\nAskRequest => key 7, max version 0\n  T: Tree\n"
    assert [struct.name.value for struct in read(tree).messages[0].common_structs] == ["Tree"]


def test_a_reserved_key_says_nothing_of_flexible_versions() -> None:
    reserved, other = read("AskRequest => key 7, reserved\n\nTellRequest => key 8, max version 0\n").messages
    assert (reserved.flexible_versions, str(other.flexible_versions and other.flexible_versions.value)) == (
        None,
        "none",
    )


def test_a_quoted_description_may_have_empty_lines_after_it() -> None:
    assert read_doc(['" A\\t."', "", ""]) == " A\t."


def test_structs_of_structs_come_along_in_the_order_in_which_they_are_defined() -> None:
    text = (
        "{0}  D: int8\n\n{1}  C: int8\n\n{2}  B: [One]\n\nAskRequest => key 7, max version 0\n  A: Three\n  E: Two\n"
    )
    heads = (f"{name} => not top level\n" for name in ("One", "Two", "Three"))
    message = read(text.format(*heads)).messages[0]
    assert [struct.name.value for struct in message.common_structs] == ["One", "Two", "Three"]


def test_a_version_field_is_in_all_versions() -> None:
    report = Report()
    text = "Clock => not top level, with version field\n  Version: int16{}\n  Hour: int8\n"
    for items, found in (("", []), (" // v1+", ["the first field of `Clock` is not its version"])):
        parse(Source("Clock.krm", text.format(items)), report)
        assert [one.message for one in report.diagnostics] == found


def test_in_franz_go_a_struct_has_a_name_of_its_own_only_in_an_array() -> None:
    text = "ClockRequest => key 1, max version 1\n  A: [=>Zone]\n    B: int8\n  C: =>Place\n    D: int8\n"
    parse(Source("01_clock", text), report := Report())
    found = [(one.message, one.primary.span.text) for one in report.diagnostics]
    assert found == [("franz-go does not know the name of a single struct", "Place")]


def test_lines_may_end_as_on_windows() -> None:
    report = Report()
    parse(Source("Ask.krm", "AskRequest => key 7, max version 0\r\n  A: int8\r\n"), report)
    assert report.diagnostics == []
    parse(Source("Ask.krm", "AskRequest => key 7, max version 0 \r\n"), report)
    assert [one.message for one in report.diagnostics] == ["white space at the end of a line"]


def test_fields_after_an_empty_line_still_belong_to_the_struct_before_it() -> None:
    report = Report()
    document = parse(Source("Ask.krm", "AskRequest => key 7, max version 0\n  A: int8\n\n  B: int8\n"), report)
    assert [one.name.value for one in document.messages[0].fields or ()] == ["A", "B"]
    assert [one.message for one in report.diagnostics] == ["an indented line outside of a struct"]


def test_numbers_of_values_may_begin_with_zeroes() -> None:
    text = "Phase int8 (\n  01: NEW\n  -09: OLD\n  0x0a: FULL\n)\n"
    [found] = parse(Source("Phase.krm", text), report := Report()).enums
    assert [one.value.value for one in found.values] == [1, -9, 10]
    assert report.diagnostics == []


def test_what_franz_go_does_not_take_as_a_value() -> None:
    for value, taken in (("1: NEW", True), ("1: New_a", True), ("-1: NEW", False), ("1: NEW2", False)):
        parse(Source("enums", f"Phase int8 (\n  {value}\n)\n"), report := Report())
        assert (report.diagnostics == []) is taken, value


def test_listeners_in_quotes_are_read_without_them() -> None:
    text = 'AskRequest => key 1, max version 0, listeners broker "my own"\n  A: int8\n'
    [message] = parse(Source("Ask.krm", text), Report()).messages
    assert [one.value for one in message.listeners or ()] == ["broker", "my own"]


def test_a_description_is_where_all_its_lines_are() -> None:
    [message] = read("AskRequest => key 1, max version 0\n  // One.\n  // Two.\n  A: int8\n").messages
    [one] = message.fields or ()
    assert one.about is not None
    assert (one.about.value, one.about.span.text) == ("One. Two.", "// One.\n  // Two.")
