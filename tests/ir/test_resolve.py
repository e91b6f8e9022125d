"""Resolving: names become structs, attributes their values, and what cannot be bound is reported at its place."""

from __future__ import annotations

from typing import Any

import pytest

from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.render_text import render_text
from kwirec.diagnostics.source import Source
from kwirec.dump import dump_schema
from kwirec.frontend import parse
from kwirec.ir import Schema, resolve
from kwirec.ir.schema import IMPLICIT, ArrayType, Message, PrimitiveType, StructType, base_type, name_overlap
from kwirec.ir.sites import sites_of


def run(*texts: str) -> tuple[Schema, Report]:
    report = Report()
    documents = [parse(Source(f"defs/{number}.json", text), report) for number, text in enumerate(texts)]
    assert report.diagnostics == []
    return resolve(documents, report), report


def data(fields: str, more: str = "", name: str = "Clock") -> str:
    return (
        f'{{ "type": "data", "name": "{name}", "validVersions": "0-3", "flexibleVersions": "2+",\n'
        f'  "fields": [\n{fields} ]{more} }}'
    )


def one(text: str) -> Message:
    schema, report = run(text)
    assert render_text(report.diagnostics) == ""
    [message] = schema.messages
    return message


def findings(*texts: str) -> str:
    return render_text(run(*texts)[1].diagnostics)


INT = '"type": "int8", "versions": "0+"'


def test_structs_come_in_the_order_of_the_file_root_first() -> None:
    message = one(
        data(
            '{ "name": "B", "type": "[]Beta", "versions": "0+", "fields": [ { "name": "D", "type": "Delta",'
            ' "versions": "0+", "fields": [] } ] }, { "name": "A", "type": "Alpha", "versions": "0+" }',
            f', "commonStructs": [ {{ "name": "Alpha", "versions": "1+", "fields": [ {{ "name": "G", "type": "Gamma",'
            f' "versions": "0+", "fields": [ {{ "name": "X", {INT} }} ] }} ] }} ]',
        )
    )
    assert [(struct.name, struct.common) for struct in message.structs] == [
        ("Clock", False),
        ("Beta", False),
        ("Delta", False),
        ("Alpha", True),
        ("Gamma", False),
    ]
    assert [field.name for struct in message.structs for field in struct.fields] == ["B", "A", "D", "G", "X"]


def test_types_are_bound_below_all_arrays() -> None:
    message = one(
        data(
            '{ "name": "A", "type": "[]Pair", "versions": "0+", "fields": [] },'
            '{ "name": "B", "type": "[]string", "versions": "0+" },'
            '{ "name": "C", "type": "Pair", "versions": "0+" }'
        )
    )
    a, b, c = message.root.fields
    assert a.type == ArrayType(StructType("Pair"))
    assert b.type == ArrayType(PrimitiveType("string"))
    assert (c.type, base_type(a.type)) == (StructType("Pair"), StructType("Pair"))


def test_trap_35_a_common_struct_may_be_used_before_it_is_defined_and_contain_itself() -> None:
    message = one(
        data(
            '{ "name": "Root", "type": "Tree", "versions": "1+" }',
            ', "commonStructs": [ { "name": "Tree", "versions": "0+", "fields": [ { "name": "Branches",'
            ' "type": "[]Tree", "versions": "2+" } ] } ]',
        )
    )
    assert message.usage == {"Clock": {0, 1, 2, 3}, "Tree": {1, 2, 3}}


def test_usage_is_where_some_field_leads_to_a_struct() -> None:
    message = one(
        data(
            '{ "name": "A", "type": "Outer", "versions": "1-2", "fields": [ { "name": "In", "type": "Inner",'
            ' "versions": "2+", "fields": [] } ] }',
            ', "commonStructs": [ { "name": "Unused", "versions": "0+", "fields": [] } ]',
        )
    )
    assert message.usage == {"Clock": {0, 1, 2, 3}, "Outer": {1, 2}, "Inner": {2}, "Unused": set()}


def test_trap_31_tagged_versions_stand_for_missing_versions() -> None:
    [field] = one(data('{ "name": "A", "type": "int8", "taggedVersions": "2+", "tag": 0 }')).root.fields
    assert (str(field.versions), str(field.tagged), field.tag) == ("2+", "2+", 0)


def test_a_json_null_default_is_none_of_its_own() -> None:
    fields = one(
        data(
            '{ "name": "A", "type": "A", "versions": "0+", "nullableVersions": "0+", "default": null, "fields": [] },'
            '{ "name": "B", "type": "B", "versions": "0+", "nullableVersions": "0+",'
            ' "default": "null", "fields": [] }'
        )
    ).root.fields
    assert [field.default for field in fields] == [IMPLICIT, None]


def test_pairs_by_api_key() -> None:
    def half(kind: str, name: str, key: int) -> str:
        return f'{{ "apiKey": {key}, "type": "{kind}", "name": "{name}", "validVersions": "none" }}'

    schema, _ = run(half("response", "BResponse", 8), half("request", "ARequest", 1), half("request", "BRequest", 8))
    assert [(key, a and a.name, b and b.name) for key, a, b in schema.pairs()] == [
        (1, "ARequest", None),
        (8, "BRequest", "BResponse"),
    ]


CASES = {
    "unknown primitive": data('{ "name": "A", "type": "[]strng", "versions": "0+" }'),
    "unknown primitive like none": data('{ "name": "A", "type": "zzz", "versions": "0+" }'),
    "unknown struct": data('{ "name": "A", "type": "Zoen", "versions": "0+" },\n'
                           '{ "name": "B", "type": "Zone", "versions": "0+", "fields": [] }'),
    "the message itself": data('{ "name": "A", "type": "Clock", "versions": "0+" }'),
    "struct defined twice": data('{ "name": "A", "type": "Zone", "versions": "0+", "fields": [] },\n'
                                 '{ "name": "B", "type": "Zone", "versions": "0+", "fields": [] }'),
    "inline struct named as a common one": data(
        '{ "name": "A", "type": "Zone", "versions": "0+", "fields": [] }',
        ',\n  "commonStructs": [ { "name": "Zone", "versions": "0+", "fields": [] } ]'),
    "struct named as its message": data('{ "name": "A", "type": "Clock", "versions": "0+", "fields": [] }'),
    "bad default": data('{ "name": "A", "type": "int8", "versions": "0+", "default": "200" }'),
    "unknown type of message": data(f'{{ "name": "A", {INT} }}').replace('"data"', '"dta"'),
    "several in one message": data('{ "name": "A", "type": "int9", "versions": "0+" },\n'
                                   '{ "name": "B", "type": "bool", "versions": "0+", "default": "yes" },\n'
                                   '{ "name": "C", "type": "C", "versions": "0+", "fields": [\n'
                                   '  { "name": "D", "type": "uuid", "versions": "0+", "default": "AA" } ] }'),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_bound(case: str, snapshot: Any) -> None:
    schema, report = run(CASES[case])
    assert schema.messages == ()
    assert render_text(report.diagnostics) == snapshot


def test_message_defined_twice_keeps_the_first(snapshot: Any) -> None:
    first, second = data(f'{{ "name": "A", {INT} }}'), data(f'{{ "name": "B", {INT} }}')
    schema, report = run(first, second)
    assert [field.name for message in schema.messages for field in message.root.fields] == ["A"]
    assert render_text(report.diagnostics) == snapshot


def test_a_message_with_mistakes_does_not_hide_the_others() -> None:
    schema, report = run(CASES["bad default"], data(f'{{ "name": "A", {INT} }}', name="Watch"))
    assert [message.name for message in schema.messages] == ["Watch"]
    assert len(report.diagnostics) == 1
    assert dump_schema(schema).startswith("message Watch")


def test_a_later_mistake_of_another_sort_does_not_mend_the_first() -> None:
    """A field of an unknown enum is read as a number; one of an unknown type has no layout."""
    unknown = f'{{ "name": "B", {INT}, "enum": "Phase" }}'
    schema, report = run(data(unknown))
    assert ([message.name for message in schema.messages], len(report.diagnostics)) == (["Clock"], 1)
    schema, report = run(data(f'{{ "name": "A", {INT}, "default": "x" }}, {unknown}'))
    assert (schema.messages, len(report.diagnostics)) == ((), 2)


def test_null_is_no_default_of_a_number_unless_that_it_is_nullable_is_the_mistake() -> None:
    field = f'{{ "name": "A", {INT}, "default": "null" }}'
    assert "`null` is not a default for `int8`" in findings(data(field))
    assert findings(data(field.replace('"versions"', '"nullableVersions": "1+", "versions"'))) == ""


def test_an_enum_is_defined_once_even_if_both_say_the_same() -> None:
    enum = '{ "type": "enum", "name": "Phase", "valueType": "int8", "values": [ { "name": "NEW", "value": 0 } ] }'
    assert "error[K106]: enum `Phase` is defined twice" in findings(enum, enum)


def test_a_misspelt_enum_is_answered_with_enum() -> None:
    assert "did you mean `enum`?" in findings(data(f'{{ "name": "A", {INT} }}').replace('"data"', '"enmu"'))


def test_the_log_of_a_record_is_its_module_or_else_its_folder() -> None:
    """Requests and responses are in no log. A header is a message of its own, and no request."""
    kinds = ("request", "response", "header", "coordinator-key")
    texts = [data("", name=kind.title().replace("-", "")).replace('"data"', f'"{kind}"') for kind in kinds]
    bundle = "".join(f'{{ "module": "group", "schema": {text} }}\n' for text in texts)
    for source, logs in (
        (Source("defs/all.jsonl", bundle), ["", "", "group", "group"]),
        (Source("defs/all.jsonl", "".join(texts)), ["", "", "defs", "defs"]),
    ):
        schema = resolve([parse(source, Report())], Report())
        assert [message.log for message in schema.messages] == logs
        assert [message.is_rpc for message in schema.messages] == [True, True, False, False]


@pytest.mark.parametrize(
    ("some", "others", "share"), [("AB", "ABCD", 0.5), ("ABC", "A", 1 / 3), ("A", "A", 1), ("", "", 0)]
)
def test_names_overlap_by_their_share_of_the_longer_list(some: str, others: str, share: float) -> None:
    assert name_overlap(map(PrimitiveType, some), map(PrimitiveType, others)) == share


def test_a_path_leads_to_a_field_through_all_inline_structs() -> None:
    """A common struct has no one place, so paths start with its name. A tag counts where the field is there."""
    tagged = '{ "name": "D", "type": "int8", "versions": "2+", "taggedVersions": "0+", "tag": 0 }'
    inner = f'{{ "name": "B", "type": "[]Inner", "versions": "0+", "fields": [ {{ "name": "C", {INT} }} ] }}'
    fields = (
        f'{{ "name": "A", "type": "Outer", "versions": "1+", "fields": [ {inner} ] }},'
        '{ "name": "S", "type": "[]Shared", "versions": "0+" }'
    )
    schema, _ = run(
        data(fields, f', "commonStructs": [ {{ "name": "Shared", "versions": "0+", "fields": [ {tagged} ] }} ]')
    )
    [site] = sites_of(schema)
    assert [struct.path for struct in site.structs] == [None, "A", "A.B", "Shared"]
    assert [(field.path, sorted(field.live)) for field in site.fields] == [
        ("A", [1, 2, 3]),
        ("S", [0, 1, 2, 3]),
        ("A.B", [1, 2, 3]),
        ("A.B.C", [1, 2, 3]),
        ("Shared.D", [2, 3]),
    ]
    assert [sorted(field.live_tagged) for field in site.fields if field.field.tag == 0] == [[2, 3]]


@pytest.mark.parametrize(
    "type_", ["varint", "varlong", "varint-string", "varint-bytes", "varint[int8]", "length-field-minus => A - 4"]
)
def test_types_of_records_are_refused_in_messages(type_: str) -> None:
    text = f"ClockRequest => key 1, max version 0\n  A: int32\n  B: {type_}\n"
    schema = resolve([parse(Source("Clock.krm", text), report := Report())], report)
    [found] = report.diagnostics
    assert schema.messages == ()
    assert (found.code.number, found.message, found.primary.span.text) == (
        "K112",
        f"`{type_}` is only valid in records",
        type_,
    )
