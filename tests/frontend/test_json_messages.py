"""Definition files as Kafka publishes them, with all that is peculiar about them [KAFKA-WIRE 27, 30, 31, 33, 38]."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.source import Source
from kwirec.dump import dump_syntax
from kwirec.frontend import FieldDecl, MessageDecl, parse, parse_errors
from kwirec.frontend.syntax import ATTRIBUTES, StructDecl
from kwirec.versions import NONE, VersionRange

HEAD = '"type": "data", "name": "Clock", "validVersions": "0-2", "flexibleVersions": "2+"'


def one_message(parsed: Any, text: str) -> MessageDecl:
    document, findings = parsed(text)
    assert findings == ""
    [message] = document.messages
    assert isinstance(message, MessageDecl)
    return message


def one_field(parsed: Any, attributes: str) -> FieldDecl:
    [field] = one_message(parsed, f'{{ {HEAD}, "fields": [ {{ {attributes} }} ] }}').fields or ()
    return field


def test_trap_38_comments_of_all_kinds(parsed: Any, snapshot: Any) -> None:
    text = f"""// Licensed to nobody.
/* Two lines
   of it. */
{{ {HEAD}, // trailing
  // full line
  "fields": [ /* block */ {{ "name": /* inside */ "Millis", "type": "int64", "versions": "0+" }} // after
  ] /* and
  over lines */ }}
// the end"""
    message = one_message(parsed, text)
    assert message.comment == "// Licensed to nobody.\n/* Two lines\n   of it. */"
    assert dump_syntax(parsed(text)[:1]) == snapshot


def test_all_attributes(parsed: Any, snapshot: Any) -> None:
    """One definition that says everything there is to say, and one snapshot of the whole tree."""
    text = """{
      "apiKey": 18, "type": "request", "listeners": ["broker", "controller"], "name": "Clock", "aliases": ["Watch"],
      "about": "A time.", "validVersions": "0-4", "deprecatedVersions": "0-1", "flexibleVersions": "3+",
      "headerVersions": { "0-2": "1", "3+": 2 }, "latestVersionUnstable": true, "sentTo": "group",
      "fields": [
        { "name": "Zones", "type": "[]Zone", "versions": "0-3", "nullableVersions": "1+", "taggedVersions": "3+",
          "tag": 0, "default": "null", "ignorable": true, "mapKey": true, "about": "Zones.", "structAbout": "A zone.",
          "aliases": ["Areas", "Regions"], "since": "3.1.0",
          "fields": [ { "name": "Name", "type": "string", "versions": "0+", "entityType": "topicName",
                        "flexibleVersions": "none" },
                      { "name": "Raw", "type": "bytes", "versions": "0+", "zeroCopy": true },
                      { "name": "Kind", "type": "int8", "versions": "0+", "enum": "Kind" } ] } ],
      "commonStructs": [ { "name": "Time", "versions": "2+", "about": "A moment.",
                           "fields": [ { "name": "Millis", "type": "int64", "versions": "0+" } ] } ] }"""
    one_message(parsed, text)
    assert dump_syntax(parsed(text)[:1]) == snapshot
    written = set(text.split('"')[1::2])
    assert {name for node in (MessageDecl, StructDecl, FieldDecl) for name in ATTRIBUTES[node]} <= written


def test_an_enum(parsed: Any, snapshot: Any) -> None:
    text = """// Names for numbers.
    { "type": "enum", "name": "Kind", "valueType": "int8", "about": "A kind.", "values": [
      { "name": "FIRST", "value": 1, "about": "The first." }, { "name": "MASK", "value": "0x7f" } ] }"""
    document, findings = parsed(text)
    assert (findings, document.messages) == ("", ())
    assert dump_syntax([document]) == snapshot


@pytest.mark.parametrize(
    "text",
    [
        '{ "type": "enum", "name": "Kind", "values": [{ "name": "A", "value": 1, "versions": "0+" }] }',
        '{ "type": "enum", "name": "Kind", "valueType": "int8", "values": [{ "name": "A" }, 7] }',
        f'{{ {HEAD}, "headerVersions": "0+", "fields": [] }}',
        f'{{ {HEAD}, "headerVersions": {{ "0-1": 1, "2-": 2, "3+": "two" }}, "fields": [] }}',
    ],
)
def test_mistakes_in_enums_and_header_versions(parsed: Any, text: str, snapshot: Any) -> None:
    _, findings = parsed(text)
    assert findings == snapshot


def test_trap_38_text_behind_the_definition_is_a_warning(parsed: Any, snapshot: Any) -> None:
    document, findings = parsed(f'{{ {HEAD}, "fields": [] }}\n}} , "more"')
    assert findings == snapshot
    assert [message.name.value for message in document.messages] == ["Clock"]


def test_trap_38_numbers_and_booleans_may_be_strings(parsed: Any) -> None:
    field = one_field(
        parsed,
        '"name": "A", "type": "int8", "versions": "2+", "taggedVersions": "2+", "tag": "0", "ignorable": "true",'
        ' "mapKey": "false"',
    )
    assert (field.tag and field.tag.value, field.ignorable and field.ignorable.value) == (0, True)
    assert field.map_key is not None
    assert field.map_key.value is False
    hexadecimal = one_message(parsed, f'{{ {HEAD}, "apiKey": "0x12", "fields": [] }}')
    assert hexadecimal.api_key is not None
    assert hexadecimal.api_key.value == 18


def test_trap_38_a_single_value_counts_as_a_list(parsed: Any) -> None:
    message = one_message(
        parsed,
        f'{{ {HEAD}, "listeners": "broker", "fields": {{ "name": "A", "type": "int8", "versions": 1 }},'
        ' "commonStructs": { "name": "B", "versions": "0+", "fields": [] } }',
    )
    assert [listener.value for listener in message.listeners or ()] == ["broker"]
    [field] = message.fields or ()
    assert field.versions is not None
    assert field.versions.value == VersionRange(1, 1)
    assert [struct.name.value for struct in message.common_structs] == ["B"]


def test_trap_33_a_reserved_key_needs_no_fields(parsed: Any) -> None:
    message = one_message(parsed, '{ "apiKey": 4, "type": "request", "name": "Gone", "validVersions": "none" }')
    assert message.valid_versions is not None
    assert (message.valid_versions.value, message.fields, message.flexible_versions) == (NONE, None, None)


def test_trap_31_a_tagged_field_needs_no_versions(parsed: Any) -> None:
    field = one_field(parsed, '"name": "A", "type": "int8", "taggedVersions": "2+", "tag": 0')
    assert field.versions is None
    assert field.tagged_versions is not None


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ('"-1"', "-1"),
        ("-1", -1),
        ("0x7f", 127),
        ('"0x7f"', "0x7f"),
        ("1.5", 1.5),
        ("true", True),
        ('"false"', "false"),
        ("null", None),
        ('"null"', "null"),
        ('""', ""),
    ],
)
def test_defaults_are_kept_as_written(parsed: Any, written: str, value: object) -> None:
    field = one_field(parsed, f'"name": "A", "type": "int8", "versions": "0+", "default": {written}')
    assert field.default is not None
    assert (field.default.value, type(field.default.value)) == (value, type(value))
    assert field.default.span.text == written


@pytest.mark.parametrize(
    ("written", "name", "depth"), [("int8", "int8", 0), ("[]Zone", "Zone", 1), ("[][]int8", "int8", 2)]
)
def test_types(parsed: Any, written: str, name: str, depth: int) -> None:
    field = one_field(parsed, f'"name": "A", "type": "{written}", "versions": "0+"')
    assert (field.type.name, field.type.array_depth, str(field.type)) == (name, depth, written)
    assert field.type.name_span.text == name


def test_blank_versions_count_as_absent(parsed: Any) -> None:
    assert (
        one_field(parsed, '"name": "A", "type": "int8", "versions": "0+", "nullableVersions": " "').nullable_versions
        is None
    )


def test_escapes_in_names(parsed: Any) -> None:
    field = one_field(parsed, r'"name": "\u0041", "type": "int\u0038", "versions": "0+"')
    assert (field.name.value, field.type.name) == ("A", "int8")
    assert field.type.name_span.text == r'"int\u0038"'


def test_bundle_of_definitions(parsed: Any) -> None:
    """A line each, plain or wrapped with the module they come from."""
    plain = json.dumps({"type": "data", "name": "A", "validVersions": "0", "fields": []})
    wrapped = json.dumps({"module": "clients", "file": "B.json", "schema": json.loads(plain.replace('"A"', '"B"'))})
    document, findings = parsed(f"{plain}\n\n{wrapped}\n", name="4.0.0.jsonl")
    assert findings == ""
    assert [(m.name.value, m.module, str(m.name.span)) for m in document.messages] == [
        ("A", None, "4.0.0.jsonl:1:26"),
        ("B", "clients", "4.0.0.jsonl:3:76"),
    ]


def test_trap_38_unknown_attributes_are_refused(parsed: Any) -> None:
    """Kafka's generator does so too: a misspelt one would silently say nothing."""
    _, findings = parsed(f'{{ {HEAD}, "feilds": [], "fields": [] }}')
    assert findings.startswith("error[K011]: a message has no attribute `feilds`")


@pytest.mark.parametrize(("written", "value"), [("1E2", 100.0), ("1e2", 100.0), ("-0.5", -0.5), ("0X1f", 31)])
def test_numbers_are_written_in_any_form(parsed: Any, written: str, value: float) -> None:
    found = one_field(parsed, f'"name": "A", "type": "float64", "versions": "0+", "default": {written}').default
    assert found is not None
    assert (found.value, type(found.value)) == (value, type(value))


@pytest.mark.parametrize("text", ["", "  \n", "// only a comment\n"])
def test_empty_file(parsed: Any, text: str) -> None:
    document, findings = parsed(text)
    assert document.messages == ()
    assert findings.startswith("error[K007]: the file holds no definition\n --> Clock.json")


def test_empty_bundle_is_reported_too(parsed: Any) -> None:
    assert parsed("\n", name="a.jsonl")[1].startswith("error[K007]")


@pytest.mark.parametrize(
    ("first", "second", "code"),
    [
        ("1", "1", "K008"),
        ("[1, {}]", "[ 1, { } ]", "K008"),
        ("1", "true", "K012"),
        ("1", '"1"', "K012"),
        ('{ "0": 1 }', '{ "1": 1 }', "K012"),
    ],
)
def test_an_attribute_that_is_written_twice_says_the_same_or_not(first: str, second: str, code: str) -> None:
    """Every repetition is compared with what was written first."""
    text = f'{{ {HEAD}, "fields": [], "apiKey": {first}, "apiKey": {second}, "apiKey": {second} }}'
    report = Report()
    parse(Source("Clock.json", text), report)
    found = [one for one in report.diagnostics if one.code.number in ("K008", "K012")]
    assert [one.code.number for one in found] == [code, code]
    start = text.index('"apiKey"')
    assert [[label.span.start for label in one.others] for one in found] == [[start], [start]]


def test_null_in_place_of_a_list_is_an_empty_one(parsed: Any) -> None:
    message = one_message(parsed, f'{{ {HEAD}, "fields": null, "listeners": null, "aliases": null }}')
    assert (message.fields, message.listeners, message.aliases) == ((), (), ())


def test_errors_are_told_apart_by_code_and_name() -> None:
    def problems(*errors: tuple[int, str, str]) -> list[str]:
        listed = [
            {"code": code, "name": name, "retriable": False, "about": "x", "since": since}
            for code, name, since in errors
        ]
        report = Report()
        assert len(parse_errors([Source("errors.json", json.dumps(listed))], report)) == len(errors)
        return [f"{one.message}: {one.primary.text}" for one in report.diagnostics]

    assert problems((-0x8000, "LOW", "2.0"), (0x7FFF, "HIGH_2", "0.8.1")) == []
    assert problems((-0x8001, "LOW", "1")) == ["`-32769` cannot identify an error: codes are int16"]
    assert problems((0x8000, "LOW", "1")) == ["`32768` cannot identify an error: codes are int16"]
    assert problems((1, "A", "1"), (2, "A", "1")) == ["`A` cannot identify an error: used again here"]
    assert problems((1, "A", "1"), (1, "B", "1")) == ["`1` cannot identify an error: used again here"]
    assert problems((1, "A", "1.0-rc1")) == ["`1.0-rc1` is not a release: expected numbers separated by dots"]


def test_findings_about_long_values_are_short(parsed: Any) -> None:
    """A list is underlined up to 80 characters, and a word of more than 40 is cut."""
    long = ", ".join(["1"] * 50)
    report = Report()
    parse(Source("Clock.json", f'{{ {HEAD}, "fields": [], "about": [{long}] }}'), report)
    assert [len(one.primary.span.text) for one in report.diagnostics] == [80]
    for length, shown in ((40, "x" * 40), (41, "x" * 39 + "…")):
        assert f"`{shown}` is not a JSON value" in parsed(f'{{ {HEAD}, "fields": [], "about": {"x" * length} }}')[1]


def test_a_file_has_any_number_of_values_side_by_side(parsed: Any) -> None:
    fields = ", ".join(f'{{ "name": "F{n}", "type": "int8", "versions": "0+" }}' for n in range(150))
    assert len(one_message(parsed, f'{{ {HEAD}, "fields": [ {fields} ] }}').fields or ()) == 150


def test_an_unknown_escape_stands_for_its_character(parsed: Any) -> None:
    document, findings = parsed(f'{{ {HEAD}, "fields": [], "about": "A \\q clock." }}')
    assert document.messages[0].about.value == "A q clock."
    assert "[K004]" in findings


@pytest.mark.parametrize(
    ("written", "label", "helps"),
    [
        (" [] ", "`[]` needs an element type", ()),
        ("int64[]", "not a type", ("arrays are written `[]int64`",)),
        ("int-64", "not a type", ()),
    ],
)
def test_what_is_no_type_is_answered(written: str, label: str, helps: tuple[str, ...]) -> None:
    report = Report()
    text = f'{{ {HEAD}, "fields": [ {{ "name": "A", "type": "{written}", "versions": "0+" }} ] }}'
    parse(Source("Clock.json", text), report)
    assert [(one.primary.text, one.helps) for one in report.diagnostics] == [(label, helps)]


def test_a_module_of_a_bundle_is_a_text(parsed: Any) -> None:
    lines = (f'{{ "module": {module}, "schema": {{ {HEAD}, "fields": [] }} }}' for module in ('"a"', "5", "null"))
    document, findings = parsed("\n".join(lines), "all.jsonl")
    assert ([message.module for message in document.messages], findings) == (["a", None, None], "")


@pytest.mark.parametrize(("text", "key"), [("7", 7), (" 7 ", 7), ("-1", -1), ("0x1f", 31), ("0X1F", 31), ("010", 10)])
def test_integers_in_quotes_are_written_in_any_form(parsed: Any, text: str, key: int) -> None:
    found = one_message(parsed, f'{{ {HEAD}, "apiKey": "{text}", "fields": [] }}').api_key
    assert found is not None
    assert found.value == key
