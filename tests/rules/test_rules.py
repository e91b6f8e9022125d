"""What the examples do not show: where rules speak, where they are silent, and which places they point at.

A finding is compared as code, path and the text under the carets; labels follow after ``+``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from math import isqrt
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from kwire_rules import INTEGER_RANGES
from kwirec.diagnostics.diagnostic import Diagnostic, Label, Report, Severity
from kwirec.diagnostics.examples import (
    ABSENT,
    ANOTHER_FILE,
    clock,
    enum,
    field,
    files,
    request,
    response,
    struct,
    value,
)
from kwirec.diagnostics.source import Source
from kwirec.emitters.codecs import emit_module
from kwirec.emitters.modules import group_modules
from kwirec.frontend import parse
from kwirec.ir import resolve
from kwirec.lowering import lower
from kwirec.validation.rule import Rule
from kwirec.validation.types import MAX_FIELDS, MAX_LAYOUT_FIELDS, MAX_NESTING, deep_nesting, large_message
from kwirec.validation.versions import MAX_VALID_VERSIONS, many_versions
from tests.rules.support import Check, CheckFiles

TAG = {"versions": "1+", "taggedVersions": "1+"}


FITTING = (isqrt(8 * MAX_LAYOUT_FIELDS + 1) - 1) // 2
"""The most layouts that a growing message may have."""


def pointed_at(label: Label) -> str:
    return label.span.source.text[label.span.start : label.span.end]


def facts(one: Diagnostic) -> str:
    others = "".join(f" + {pointed_at(label)}" for label in one.others)
    path = "-" if one.field_path is None else one.field_path
    return f"{one.code.number} {path} {pointed_at(one.primary)}{others}"


def cycle(*structs: Any) -> str:
    return clock(field("Start", "A"), commonStructs=list(structs))


def wide(count: int) -> str:
    """A message with ``count`` fields of a struct: one field more."""
    return clock(*(field(f"F{n}", "int8") for n in range(count - 1)), field("Zone", "Zone", fields=[field("City")]))


def growing(count: int) -> str:
    """A message with ``count`` layouts: the first has one field, and each other one has one more than that before."""
    fields = (field(f"F{n}", "int8", versions=f"{n}+") for n in range(count))
    return clock(*fields, validVersions=f"0-{count - 1}", flexibleVersions="none")


def chain(length: int, type_: str = "S", **attributes: Any) -> str:
    """A message with ``length`` structs below it, each in the one before."""
    names = [f"{type_}{n}" for n in range(1, length + 1)]
    inner = [field("Next", name, **attributes) for name in names[1:]] + [field("Last", "int8")]
    structs = [struct(name.strip("[]"), one) for name, one in zip(names, inner, strict=True)]
    return clock(field("First", names[0], **attributes), commonStructs=structs)


FINDINGS: dict[str, tuple[str, list[str]]] = {
    # Names
    "field name with digits first": (clock(field("2nd")), ['K201 2nd "2nd"']),
    "field name that is not ascii": (clock(field("Größe")), ['K201 Größe "Größe"']),
    "common struct in lower case": (
        clock(field("Start", "time"), commonStructs=[struct("time", field("Millis", "int64"))]),
        ['K202 time "time"'],
    ),
    "aliases that are not names": (
        clock(field("Zone", aliases=["Region", 'x": y, "']), aliases=["Watch", "x\n", "Message"]),
        [r'K202 - "x\n"', 'K202 - "Message"', r'K201 Zone "x\": y, \""'],
    ),
    "enum without a description": (enum(value("NEW", 0), about=" "), ['K809 - "Phase"']),
    "value with a blank description": (enum(value("NEW", 0, about=" ")), ['K809 NEW "NEW"']),
    "enum with a name of the generated module": (
        enum(value("NEW", 0), name="ProtocolEnum"),
        ['K801 - "ProtocolEnum"'],
    ),
    "enum with a keyword as its name": (enum(value("NEW", 0), name="None"), ['K801 - "None"']),
    "value named like an unknown one": (enum(value("unknown_7", 7)), ['K802 unknown_7 "unknown_7"']),
    "value named like an unknown one in capitals": (enum(value("UNKNOWN_7", 7)), ['K802 UNKNOWN_7 "UNKNOWN_7"']),
    "value named like one of two digits": (enum(value("UNKNOWN_42", 42)), ['K802 UNKNOWN_42 "UNKNOWN_42"']),
    "value with a digit first": (enum(value("1_NEW", 1)), ['K802 1_NEW "1_NEW"']),
    "value below the lowest": (enum(value("NEW", -129)), ['K807 NEW -129 + "int8"']),
    "value above the highest": (enum(value("NEW", 128)), ['K807 NEW 128 + "int8"']),
    "enum of another type than integers": (
        files(clock(field("Phase", enum="Phase")), enum(value("NEW", 0), valueType="bool")),
        ['K803 - "bool"'],
    ),
    "record that is sent to a broker": (clock(sentTo="group"), ['K717 - "group" + "data"']),
    "codes and names of errors": (
        files(
            clock(),
            "// errors.json\n"
            + json.dumps(
                [
                    {"code": code, "name": name, "retriable": False, "about": ""}
                    for code, name in [
                        (1, "A"),
                        (40000, "B"),
                        (2, "class"),
                        (1, "C"),
                        (3, "A"),
                        (4, "\N{FULLWIDTH LATIN CAPITAL LETTER A}"),
                    ]
                ],
                ensure_ascii=False,
            ),
        ),
        [
            "K017 - 40000",
            'K017 - "class"',
            "K017 - 1 + 1",
            'K017 - "A" + "A"',
            'K017 - "\N{FULLWIDTH LATIN CAPITAL LETTER A}"',
        ],
    ),
    "attributes of errors": (
        files(
            clock(), '// errors.json\n[{"code": "1 B", "name": 5, "retriable": 0, "about": null}, 7, {"code": true}]'
        ),
        ['K010 - "1 B"', "K010 - 5", "K010 - 0", "K010 - null", "K010 - 7", "K013 - {", "K010 - true"],
    ),
    "file named in lower case": ("// clock.json\n" + clock(), ['K209 - "Clock"']),
    "names of a struct count for themselves": (
        clock(field("Zone"), field("Other", "Other", fields=[field("Zone"), field("Zone", "int8")])),
        ['K203 Other.Zone "Zone" + "Zone"'],
    ),
    "three of a name": (clock(field("A"), field("A"), field("A")), ['K203 A "A" + "A"', 'K203 A "A" + "A"']),
    "alias of two fields": (
        clock(field("A", aliases=["Old"]), field("B", aliases=["Old"])),
        ['K205 B "Old" + "Old"'],
    ),
    "alias of a message": (
        files(clock(), clock(name="Alarm", aliases=["Clock"])),
        ['K208 - "Clock" + "Clock"'],
    ),
    "alias of two messages": (
        files(clock(aliases=["OldClock"]), clock(name="Alarm", aliases=["OldClock"])),
        ['K208 - "OldClock" + "OldClock"'],
    ),
    "no descriptions at all": (
        clock(
            field("Zone", "Zone", about=ABSENT, structAbout=" ", fields=[field("City")]),
            field("Start", "Time"),
            about=ABSENT,
            commonStructs=[struct("Time", field("Millis", "int64"), about="")],
        ),
        ['K207 - "Clock"', 'K207 Zone "Zone"'],
    ),
    "no descriptions in the indentation notation": (
        "// Clock.krm\n\nClock => data, max version 0, flexible v0+\n  Hour: int8\n  // Where.\n"
        "  Zones: [=>Zone]\n    // Its name.\n    Name: string\n",
        ["K207 - Clock", "K207 Hour Hour", "K207 Zones Zone"],
    ),
    "descriptions of the message alone": (
        clock(
            field("Zone", "Zone", about=ABSENT, structAbout=" ", fields=[field("City")]),
            field("Start", "Time"),
            commonStructs=[struct("Time", field("Millis", "int64"), about="")],
        ),
        ['K207 Zone "Zone"', "K207 Zone Zone", 'K207 Time "Time"'],
    ),
    "path by the names of fields, not of structs": (
        clock(field("Zones", "[]Zone", fields=[field("Cities", "[]City", fields=[field("a-b")])])),
        ['K201 Zones.Cities.a-b "a-b"'],
    ),
    # Versions
    "inverted everywhere": (
        clock(
            field("Zone", versions="2-1", nullableVersions="4-3", taggedVersions="6-5", tag=0),
            field("Name", flexibleVersions="8-7"),
            field("Start", "Time"),
            deprecatedVersions="10-9",
            commonStructs=[struct("Time", field("Millis", "int64"), versions="12-11")],
        ),
        [
            'K301 - "10-9"',
            'K301 Zone "2-1"',
            'K301 Zone "4-3"',
            'K301 Zone "6-5"',
            'K301 Name "8-7"',
            'K301 Time "12-11"',
        ],
    ),
    "inverted valid and flexible versions": (
        clock(field("Zone", versions="0-9"), validVersions="2-0", flexibleVersions="3-1"),
        ['K301 - "2-0"', 'K301 - "3-1"'],
    ),
    "open valid versions hide nothing else": (
        clock(
            field("Zone", nullableVersions="0+", versions="5-4"),
            field("Start", "Time"),
            validVersions="1+",
            commonStructs=[struct("Time", field("Millis", "int64"))],
        ),
        ['K302 - "1+"', 'K301 Zone "5-4"'],
    ),
    "inverted flexible versions of the message": (
        clock(field("Zone", **TAG, tag=0), flexibleVersions="2-1"),
        ['K301 - "2-1"'],
    ),
    "open valid versions are not compared": (files(request(validVersions="0+"), response()), ['K302 - "0+"']),
    "inverted valid versions are not compared": (files(request(), response(validVersions="2-0")), ['K301 - "2-0"']),
    "a version in two ranges of headers": (
        files(request(headerVersions={"0": "1", "1": "2", "1+": "2"}), response()),
        ['K714 - "1+" + "1"'],
    ),
    "the highest headers and those beyond": (
        files(
            request(headerVersions={"0": "1", "1": "2", "2+": "3"}),
            response(headerVersions={"0": "0", "1": "1", "2+": "2"}),
        ),
        ['K715 - "3"', 'K715 - "2"'],
    ),
    "headers that are written twice alike are no version in two ranges": (
        files(
            request().replace('"fields"', '"headerVersions": {"0": "1", "1+": "2", "0": "1"}, "fields"'), response()
        ),
        ['K008 - "0" + "0"'],
    ),
    "every unusual header": (
        files(request(headerVersions={"0": "2", "1+": "1"}), response()),
        ['K716 - "2" + "1+"', 'K716 - "1" + "1+"'],
    ),
    "headers without a range": (files(request(headerVersions={}), response()), ['K714 - "ClockRequest" + "0-2"']),
    "tagged but in no version": (
        clock(field("Zone", versions="none", taggedVersions="1+", tag=0)),
        ['K303 Zone "none" + "0-2"'],
    ),
    "field without versions": (clock(field("Zone", versions="none")), ['K303 Zone "none" + "0-2"']),
    "struct begins later than its field thinks": (
        clock(field("Zone", "Zone", versions="2+", fields=[field("City", versions="0-1")])),
        ['K303 Zone.City "0-1" + "0-2"'],
    ),
    "only the outermost dead field": (
        clock(field("Zone", "Zone", versions="7+", fields=[field("City", versions="7+")])),
        ['K303 Zone "7+" + "0-2"'],
    ),
    "tagged field beyond the last version": (
        clock(field("Zone", versions=ABSENT, taggedVersions="3+", tag=0)),
        ['K303 Zone "3+" + "0-2"'],
    ),
    "every closed end beyond the last version": (
        clock(
            field("Zone", nullableVersions="0-3"),
            field("Start", "Time"),
            commonStructs=[struct("Time", field("Millis", "int64"), versions="0-5")],
        ),
        ['K304 Zone "0-3" + "0-2"', 'K304 Time "0-5" + "0-2"'],
    ),
    "flexible range of a field that never applies": (
        clock(field("Zone", versions="0-1", flexibleVersions="2+")),
        ['K305 Zone "2+" + "0-1"'],
    ),
    "tagged later than the last version": (
        clock(field("Zone", versions="1+", taggedVersions="3+", tag=0)),
        ['K305 Zone "3+" + "1+"'],
    ),
    "all deprecated versions are gone": (
        clock(validVersions="2-3", deprecatedVersions="0-1"),
        ['K308 - "0-1" + "2-3"'],
    ),
    "nullable only in versions that are gone": (
        clock(field("Zone", nullableVersions="0"), validVersions="1-2"),
        ['K310 Zone "0" + "1-2"'],
    ),
    "common struct used through another one": (
        clock(
            field("Start", "A", versions="1+"),
            commonStructs=[struct("A", field("Inner", "B")), struct("B", field("C", "int8"), versions="2+")],
        ),
        ['K309 A.Inner B + "2+"'],
    ),
    # Types
    "nullable uuid": (clock(field("Id", "uuid", nullableVersions="0+")), ['K402 Id "0+" + "uuid"']),
    "entity type without resemblance": (clock(field("X", "int8", entityType="planet")), ['K403 X "planet"']),
    "nullable number with the default null": (
        clock(field("Hour", "int16", nullableVersions="0+", default="null")),
        ['K402 Hour "0+" + "int16"'],
    ),
    "entity type that is no name": (clock(field("X", entityType="topic name")), ['K201 X "topic name"']),
    "entity type of array elements": (
        clock(field("Owners", "[]int64", entityType="brokerId")),
        ['K404 Owners int64 + "brokerId"'],
    ),
    "entity type on a struct": (
        clock(field("Owner", "Owner", entityType="groupId", fields=[field("Id")])),
        ['K404 Owner Owner + "groupId"'],
    ),
    "sub-fields of an array of numbers": (
        clock(field("Zones", "[]int32", fields=[field("Name")])),
        ['K405 Zones int32 + "Name"'],
    ),
    "zero copy of an array of bytes": (clock(field("A", "[]bytes", zeroCopy=True)), ['K407 A true + "[]bytes"']),
    "flexible versions of an array": (
        clock(field("A", "[]string", flexibleVersions="none")),
        ['K408 A "none" + "[]string"'],
    ),
    "struct that holds itself through others": (
        cycle(
            struct("A", field("ToB", "B")),
            struct("B", field("ToC", "[]C")),
            struct("C", field("ToA", "A", nullableVersions="0+")),
        ),
        ["K409 A.ToB B + C + A"],
    ),
    "inline struct that holds the struct around it": (
        clock(field("Outer", "Outer", fields=[field("Inner", "[]Inner", fields=[field("Back", "Outer")])])),
        ["K409 Outer.Inner Inner + Outer"],
    ),
    "two cycles": (
        cycle(struct("A", field("ToA", "A"), field("ToB", "B")), struct("B", field("ToB", "[]B"))),
        ["K409 A.ToA A", "K409 B.ToB B"],
    ),
    "cycle that nobody uses": (
        clock(commonStructs=[struct("A", field("ToB", "B")), struct("B", field("ToA", "A"))]),
        ['K410 A "A" + A', "K409 A.ToB B + A", 'K410 B "B" + B'],
    ),
    "cycle of edges in different versions": (
        cycle(struct("A", field("ToB", "B", versions="0")), struct("B", field("ToA", "A", versions="1+"))),
        ["K409 A.ToB B + A", 'K303 B.ToA "1+" + "0-2"'],
    ),
    "unused because its user is unused": (
        clock(commonStructs=[struct("A", field("ToB", "B")), struct("B", field("C", "int8"))]),
        ['K410 A "A"', 'K410 B "B" + B'],
    ),
    "unused although it uses itself": (
        clock(commonStructs=[struct("A", field("ToA", "[]A"))]),
        ['K410 A "A"', "K409 A.ToA A"],
    ),
    "unused with all that is in it": (
        clock(
            validVersions="1-2",
            commonStructs=[struct("A", field("B", "B", versions="0", fields=[field("C", versions="7+")]))],
        ),
        ['K410 A "A"'],
    ),
    "used by a field that is in no version": (
        clock(field("Start", "Time", versions="7+"), commonStructs=[struct("Time", field("Millis", "int64"))]),
        ['K303 Start "7+" + "0-2"'],
    ),
    "elements that hold only elements without bytes": (
        clock(
            field("Rows", "[]Row", fields=[field("Cells", "[]Cell", fields=[field("Late", "int32", versions="1+")])]),
            flexibleVersions="none",
        ),
        ['K412 Rows.Cells Cell + "0+"'],
    ),
    "elements that hold only structs without bytes": (
        clock(
            field("Rows", "[]Row", fields=[field("Cell", "Cell", fields=[field("Late", "int32", versions="2+")])]),
            flexibleVersions="2+",
        ),
        ['K412 Rows Row + "0+"'],
    ),
    "one field too many": (wide(MAX_FIELDS), ['K413 - "Clock"']),
    "one field too many in all layouts": (growing(FITTING + 1), ['K413 - "Clock"']),
    "as many fields as may be, each in another version": (growing(MAX_FIELDS), ['K413 - "Clock"']),
    "longer than the stack of whoever follows it": (chain(1200), [f"K411 S{MAX_NESTING}.Next S{MAX_NESTING + 1}"]),
    "one level too many": (chain(MAX_NESTING + 1), [f"K411 S{MAX_NESTING}.Next S{MAX_NESTING + 1}"]),
    "the deepest level is in no version": (
        clock(
            field("A", "S1", versions="0-1"),
            commonStructs=[
                *(struct(f"S{n}", field("Next", f"S{n + 1}")) for n in range(1, MAX_NESTING)),
                struct(f"S{MAX_NESTING}", field("Next", "Last", versions="2")),
                struct("Last", field("Millis", "int64")),
            ],
        ),
        [f'K303 S{MAX_NESTING}.Next "2" + "0-2"'],
    ),
    "one version too many": (clock(validVersions="5-1005"), ['K311 - "5-1005"']),
    # Defaults
    "null by default and never nullable": (clock(field("Zone", default="null")), ['K501 Zone "null"']),
    "null by default, nullable too late": (
        clock(field("A", "[]A", nullableVersions="1-2", default="null", fields=[field("B")])),
        ['K501 A "null" + "1-2"'],
    ),
    "null is no default of a number": (clock(field("Hour", "int8", default=None)), ["K502 Hour null"]),
    "null is no default where only later versions may have it": (
        clock(field("Zone", nullableVersions="3+", default=None)),
        ['K305 Zone "3+" + "0+"', "K502 Zone null"],
    ),
    "tag in the version before the first flexible one": (
        clock(field("Zone", versions="1+", taggedVersions="1+", tag=0), flexibleVersions="2+"),
        ['K607 Zone "1+" + "2+"'],
    ),
    "array of arrays of arrays": (clock(field("Cube", "[][][]int8")), ['K401 Cube "[][][]int8"']),
    # Tags
    "three of a tag": (
        clock(*(field(name, **TAG, tag=0) for name in "ABC")),
        ["K602 B 0 + 0", "K602 C 0 + 0"],
    ),
    "a tag that would be free again": (
        clock(field("A", versions="1+", taggedVersions="1", tag=0), field("B", taggedVersions="2+", tag=0)),
        ['K605 A "1"'],
    ),
    "negative tags leave no gap": (
        clock(field("A", **TAG, tag=-5), field("B", **TAG, tag=0)),
        ["K601 A -5"],
    ),
    "gap at the beginning": (clock(field("A", **TAG, tag=1)), ["K603 A 1"]),
    "gap in a struct, out of order": (
        clock(field("Zone", "Zone", fields=[field("A", **TAG, tag=3), field("B", **TAG, tag=0)])),
        ["K603 Zone.A 3"],
    ),
    "the largest tag of Kafka, and the next": (
        clock(field("A", **TAG, tag=0), field("B", **TAG, tag=2_147_483_646), field("C", **TAG, tag=2_147_483_647)),
        ["K603 B 2147483646", "K601 C 2147483647"],
    ),
    "tagged versions without tag": (clock(field("A", **TAG)), ['K604 A "1+"']),
    "tag with tagged versions none": (
        clock(field("A", taggedVersions="none", tag=0)),
        ['K604 A 0 + "none"'],
    ),
    "tagged before and after its versions": (
        clock(field("A", versions="2-2", taggedVersions="1+", tag=0)),
        ['K606 A "1+" + "2-2"'],
    ),
    "tagged in versions it does not have": (
        clock(field("A", versions="0-1", taggedVersions="2+", tag=0)),
        ['K606 A "2+" + "0-1"'],
    ),
    "tagged in a message that is never flexible": (
        clock(field("A", **TAG, tag=0), flexibleVersions="none"),
        ['K607 A "1+" + "none"'],
    ),
    "tagged in a message that does not say": (
        clock(field("A", **TAG, tag=0), flexibleVersions=ABSENT),
        ['K307 - "Clock"', 'K607 A "1+" + "Clock"'],
    ),
    "tagged but not flexible by itself": (
        clock(field("A", **TAG, tag=0, flexibleVersions="none")),
        ['K607 A "1+" + "none"'],
    ),
    "tagged records without tag": (
        clock(field("A", "records", **TAG)),
        ['K608 A "records"', 'K604 A "1+"'],
    ),
    "tagged array of records": (clock(field("A", "[]records", **TAG, tag=0)), ['K608 A "[]records" + 0']),
    # Messages
    "every kind that needs a key": (
        files(
            request(apiKey=ABSENT),
            response(apiKey=ABSENT),
            clock(type="coordinator-key", validVersions="0", flexibleVersions="none"),
            clock(type="coordinator-value", name="Alarm"),
        ),
        [
            'K701 - "Alarm" + "coordinator-value"',
            'K701 - "Clock" + "coordinator-key"',
            'K701 - "ClockRequest" + "request"',
            'K701 - "ClockResponse" + "response"',
        ],
    ),
    "records without a key have not the same": (
        files(clock(type="metadata"), clock(type="metadata", name="Alarm")),
        ['K701 - "Alarm" + "metadata"', 'K701 - "Clock" + "metadata"'],
    ),
    "request that does not say when it is flexible": (
        files(request(flexibleVersions=ABSENT), response()),
        ['K307 - "ClockRequest"', 'K707 - "1+" + "ClockRequest"'],
    ),
    "response that does not say when it is flexible": (
        files(request(), response(flexibleVersions=ABSENT)),
        ['K307 - "ClockResponse"', 'K707 - "ClockResponse" + "1+"'],
    ),
    "coordinator key with inverted versions": (
        files(
            clock(type="coordinator-key", apiKey=0, validVersions="1-0", flexibleVersions="none"),
            clock(type="coordinator-value", apiKey=0, name="ClockValue"),
        ),
        ['K301 - "1-0"'],
    ),
    "negative api key": (clock(apiKey=-1), ["K704 - -1"]),
    "api key above the largest": (clock(apiKey=32768), ["K704 - 32768"]),
    "request without a key has no partner to miss": (request(apiKey=ABSENT), ['K701 - "ClockRequest" + "request"']),
    "unknown listener of a response": (
        files(request(), response(listeners=["brokr"])),
        ['K710 - "brokr" + "response"'],
    ),
    "response alone": (response(), ["K705 - 900"]),
    "key without value": (
        clock(type="coordinator-key", apiKey=3, validVersions="0", flexibleVersions="none"),
        ["K708 - 3"],
    ),
    "unstable response": (
        files(request(), response(latestVersionUnstable=True)),
        ['K712 - true + "response"'],
    ),
    "listeners of a response": (
        files(request(), response(listeners=["broker"])),
        ['K710 - "broker" + "response"'],
    ),
}

CLEAN: dict[str, str] = {
    **{
        f"lowest and highest value of {type}": enum(value("LOW", low), value("HIGH", high), valueType=type)
        for type, (low, high) in INTEGER_RANGES.items()
    },
    "field that begins before the lowest valid version": clock(field("Zone", versions="1+"), validVersions="4-6"),
    "nullable before the field begins": clock(field("Zone", versions="1+", nullableVersions="0+")),
    "nullable after the field begins": clock(field("Zone", versions="0+", nullableVersions="2+")),
    "nullable longer than the field lives": clock(field("Zone", versions="0-1", nullableVersions="0+")),
    "nullable in none": clock(field("Zone", nullableVersions="none")),
    "sub-field with wider versions than its struct": clock(
        field("Zone", "Zone", versions="2", fields=[field("City", versions="0+")])
    ),
    "deprecated versions partly removed": clock(validVersions="1-3", deprecatedVersions="0-2"),
    "exactly all versions deprecated": clock(deprecatedVersions="0-2"),
    "deprecated until the end": clock(validVersions="none", deprecatedVersions="0-2", flexibleVersions=ABSENT),
    "number that is nullable in none": clock(field("Hour", "int8", nullableVersions="none")),
    "tagged and not a map key": clock(
        field("A", "[]A", versions="1+", fields=[field("B", **TAG, tag=0, mapKey=False)])
    ),
    "tagged in none": clock(field("Zone", taggedVersions="none")),
    "tagged and nullable in none": clock(field("Zone", **TAG, tag=0, nullableVersions="none")),
    "all versions deprecated": clock(deprecatedVersions="0+"),
    "flexible from a version to come": clock(flexibleVersions="7+"),
    "no versions at all": clock(validVersions="none", flexibleVersions=ABSENT, fields=ABSENT),
    "no versions but fields": clock(
        field("Zone", "Zone", versions="0-1", fields=[field("City", versions="5+")]),
        validVersions="none",
        commonStructs=[struct("Time", field("Millis", "int64"))],
    ),
    "common struct needed where it exists": clock(
        field("Start", "Time", versions="1-2"),
        commonStructs=[struct("Time", field("Millis", "int64"), versions="1-2")],
    ),
    "structs that share a struct": clock(
        field("A", "A", fields=[field("Start", "Time")]),
        field("B", "[]B", fields=[field("Stop", "Time")]),
        commonStructs=[struct("Time", field("Millis", "int64"))],
    ),
    "alias that returns in other versions": clock(
        field("Zone", versions="0-1", aliases=["Region"]), field("Region", versions="2+")
    ),
    "alias that is its own field's name": clock(field("Zone", aliases=["Zone"])),
    "records default to null": clock(field("Log", "records", default="null")),
    "null by default where it lives": clock(
        field("Zone", versions="1+", nullableVersions="1+", default="null"), validVersions="0-2"
    ),
    "null by default but for removed versions": clock(
        field("Zone", nullableVersions="2+", default="null"), validVersions="2-3"
    ),
    "empty default": clock(field("Zones", "[]string", default="")),
    "tags of structs count for themselves": clock(
        field("A", **TAG, tag=0),
        field("Zone", "Zone", fields=[field("B", **TAG, tag=0), field("C", **TAG, tag=1)]),
    ),
    "tags in any order": clock(field("A", **TAG, tag=1), field("B", **TAG, tag=0)),
    "tagged later than there": clock(field("A", versions="1+", taggedVersions="2+", tag=0)),
    "tagged struct without versions": clock(
        field("A", "A", versions=ABSENT, taggedVersions="1+", tag=0, fields=[field("B")])
    ),
    "tagged and nullable as far as there are versions": clock(
        field("A", **TAG, tag=0, nullableVersions="2+"), validVersions="2-3"
    ),
    "map key below the top": clock(field("A", "[]A", fields=[field("B", mapKey=True), field("C", mapKey=True)])),
    "not a map key, not zero copy": clock(field("A", mapKey=False, zeroCopy=False)),
    "entity types of every kind": clock(
        field("A", entityType="transactionalId"),
        field("B", "int64", entityType="producerId"),
        field("C", "[]string", entityType="groupId"),
        field("D", entityType="topicName"),
        field("E", "[]int32", entityType="brokerId"),
    ),
    "key of a request, its response and a record": files(
        request(), response(), clock(type="metadata", apiKey=900), clock(name="Alarm", apiKey=900)
    ),
    "flexible at once but written differently": files(
        request(flexibleVersions="0+", validVersions="1-2"), response(validVersions="1-2")
    ),
    "pair without versions": files(
        request(validVersions="none", flexibleVersions=ABSENT), response(validVersions="none")
    ),
    "unstable latest version is not unstable": clock(latestVersionUnstable=False),
    "no listeners": clock(listeners=[]),
    "largest api key": clock(type="metadata", apiKey=32767),
    "as many fields as may be": wide(MAX_FIELDS - 1),
    "as many fields as may be in all layouts": growing(FITTING),
    "fields of which one follows another make one layout each": clock(
        *(field(f"F{n}", "int8") for n in range(500)),
        *(field(f"Then{n}", "int8", versions=f"{10 * n}-{10 * n + 9}") for n in range(19)),
        validVersions="0-189",
        flexibleVersions="none",
    ),
    "elements of a struct that may be null": clock(
        field(
            "Rows",
            "[]Row",
            fields=[field("Cell", "Cell", nullableVersions="0+", fields=[field("Late", "int32", versions="1+")])],
        ),
    ),
    "array that begins with the fields of its elements": clock(
        field("Rows", "[]Row", versions="1+", fields=[field("Late", "int32", versions="1+")]), flexibleVersions="none"
    ),
    "elements that are counted tags": clock(
        field("Rows", "[]Row", fields=[field("Late", "int32", versions="2+")]), flexibleVersions="0+"
    ),
    "as many versions as may be": clock(validVersions="5-1004"),
    "no version is deprecated": clock(deprecatedVersions="none"),
    "struct with a name of generated modules, inside of a message": clock(
        field("Zone", "Message", fields=[field("Name")])
    ),
}


@pytest.mark.parametrize("case", FINDINGS)
def test_findings(check: Check, case: str, snapshot: SnapshotAssertion) -> None:
    example, expected = FINDINGS[case]
    found = check(example)
    assert [facts(one) for one in found] == expected
    assert "\n".join(line for one in found for line in said(one)) == snapshot


def said(one: Diagnostic) -> Iterator[str]:
    """The message, its labels, notes and helps: each must make sense where it is not that of the rule's example."""
    yield f"{one.severity.value}: {one.message}"
    yield from (f"  {pointed_at(label)} {label.text}" for label in (one.primary, *one.others))
    yield from (f"  note: {text}" for text in one.notes)
    yield from (f"  help: {text}" for text in one.helps)


@pytest.mark.parametrize("case", CLEAN)
def test_clean(check: Check, case: str) -> None:
    assert [facts(one) for one in check(CLEAN[case])] == []


def test_structs_that_are_shared_over_and_over_take_no_time(check: Check) -> None:
    """There are 2**40 ways from the first of these structs to the last, and one finding about them."""
    [finding] = check(doubled(40))
    assert facts(finding) == "K411 S15.A S16"


def test_a_small_definition_cannot_make_a_large_codec(check: Check) -> None:
    """2**12 ways to the last struct would be as many copies of its code, so that nothing is emitted at all."""
    [finding] = check(doubled(12))
    assert finding.message == "message `Clock` has 12287 fields"
    assert not finding.code.relaxable
    assert check(doubled(6)) == []


def doubled(depth: int) -> str:
    """A struct that contains another one twice, which contains another one twice, and so on."""
    structs = [struct(f"S{n}", field("A", f"S{n + 1}"), field("B", f"[]S{n + 1}")) for n in range(depth)]
    last = struct(f"S{depth}", field("Millis", "int64"))
    return clock(field("Start", "S0"), commonStructs=[*structs, last])


DEEP: dict[str, Any] = {
    "structs": {},
    "arrays": {"type_": "[]S"},
    "nullable": {"type_": "S", "nullableVersions": "0+"},
    "nullable arrays": {"type_": "[]S", "nullableVersions": "0+"},
    "tagged": {"versions": "0+", "taggedVersions": "1+", "tag": 0},
    "tagged arrays": {"type_": "[]S", "versions": "0+", "taggedVersions": "1+", "tag": 0, "nullableVersions": "0+"},
}


@pytest.mark.parametrize("case", DEEP)
def test_what_may_be_nested_can_be_compiled(check: Check, case: str) -> None:
    """Python nests at most 20 loops; the deepest message that no rule refuses must fit."""
    text = chain(MAX_NESTING, **DEEP[case])
    assert check(text) == []
    schema = resolve([parse(Source("Clock.json", text), Report())], Report())
    [group] = group_modules(schema)
    compile(emit_module(group, lower(schema).halves).text, "clock.py", "exec")
    assert [facts(one) for one in check(chain(MAX_NESTING + 1, **DEEP[case]))] == [
        f"K411 S{MAX_NESTING}.Next S{MAX_NESTING + 1}"
    ]


def test_trap_33_a_reserved_key_is_taken_and_has_no_codec(check: Check) -> None:
    """Without versions a message needs no fields; nobody else may have its key."""
    gone = {"validVersions": "none", "flexibleVersions": ABSENT, "fields": ABSENT}
    reserved = files(request(**gone), response(**gone))
    assert check(reserved) == []
    assert [facts(one) for one in check(files(reserved, request(name="AlarmRequest")))] == ["K702 - 900 + 900"]
    texts = enumerate(reserved.split(ANOTHER_FILE))
    schema = resolve([parse(Source(f"{n}.json", text), Report()) for n, text in texts], Report())
    assert [message.api_key for message in schema.messages] == [900, 900]
    assert list(group_modules(schema)) == []


def test_records_of_different_logs_have_numbers_of_their_own(check_files: CheckFiles) -> None:
    record = {"type": "metadata", "apiKey": 0}
    here, there = clock(**record), clock(**record, name="Alarm")
    assert check_files({"cluster/Clock.json": here, "remote/Alarm.json": there}) == []
    elsewhere = clock(type="metadata", name="Bell", apiKey=5)
    one_log = {"log/Clock.json": here, "log/Alarm.json": there, "remote/Bell.json": elsewhere}
    assert [(facts(one), one.helps) for one in check_files(one_log)] == [
        ("K703 - 0 + 0", ("the next free key is 1",))
    ]


def test_records_of_different_modules_have_numbers_of_their_own(check_files: CheckFiles) -> None:
    def bundle(*modules: str) -> dict[str, str]:
        names = ("Clock", "Alarm")
        lines = [
            f'{{ "module": "{module}", "schema": {clock(type="metadata", apiKey=0, name=name)} }}'
            for module, name in zip(modules, names, strict=True)
        ]
        return {"4.1.1.jsonl": "\n".join(lines)}

    assert check_files(bundle("metadata", "storage")) == []
    assert [facts(one) for one in check_files(bundle("metadata", "metadata"))] == ["K703 - 0 + 0"]


def test_requests_of_different_folders_share_their_keys(check_files: CheckFiles) -> None:
    definitions = {
        "a/ClockRequest.json": request(),
        "b/ClockResponse.json": response(),
        "c/AlarmRequest.json": request(name="AlarmRequest"),
    }
    assert [facts(one) for one in check_files(definitions)] == ["K702 - 900 + 900"]


def test_bundles_have_no_file_names(check_files: CheckFiles) -> None:
    assert check_files({"4.1.1.jsonl": " ".join(clock().split("\n"))}) == []


def test_help_knows_what_is_free(check: Check) -> None:
    tags = check(clock(*(field(name, **TAG, tag=tag) for name, tag in [("A", 0), ("B", 1), ("C", 3), ("D", 1)])))
    assert [one.helps[0] for one in tags if one.code.number == "K602"] == ["the next free tag is 2"]
    keys = check(
        files(*(clock(type="metadata", name=name, apiKey=key) for name, key in [("A", 4), ("B", 5), ("C", 4)]))
    )
    assert [one.helps for one in keys] == [("the next free key is 6",)]


def test_an_entity_type_of_ones_own_can_be_allowed(check: Check) -> None:
    example = clock(field("Stream", "int64", entityType="streamId"), field("Other", entityType="unknown"))
    assert [(one.code.number, one.severity) for one in check(example)] == [("K403", Severity.WARNING)] * 2
    assert check(example, {"K403": Severity.OFF}) == []


def test_help_lists_entity_types_when_none_is_near(check: Check) -> None:
    found = check(clock(field("Zone", entityType="planet")))
    assert found[0].helps == ("entity types are transactionalId, producerId, groupId, topicName, brokerId",)


def test_help_knows_the_partner(check: Check) -> None:
    findings = check(files(request(), response(apiKey=901)))
    assert [one.helps for one in findings] == [
        ("`ClockResponse` has api key 901",),
        ("`ClockRequest` has api key 900",),
    ]
    alarm = [request(name="AlarmRequest", apiKey=901), response(name="AlarmResponse", apiKey=901)]
    assert [one.helps for one in check(files(*alarm, request()))] == [("add the response",)]


def test_help_lists_listeners_when_none_is_near(check: Check) -> None:
    found = check(files(request(listeners=["planet"]), response()))
    assert found[0].helps == ("listeners are broker, controller, zkBroker",)


def test_versions_in_words(check: Check) -> None:
    """The struct is used in versions 0, 2, 3 and 5 of its message."""
    uses = [field("A", "Time", versions="0"), field("B", "Time", versions="2-3"), field("C", "Time", versions="5")]
    time = struct("Time", field("Millis", "int64"), field("Zone", versions="4"), field("Leap", versions="1"))
    found = check(clock(*uses, validVersions="0-6", commonStructs=[time]))
    assert [one.primary.text for one in found] == ["`Time` is used in versions 0, 2-3 and 5"] * 2


def test_help_knows_which_range_is_wrong(check: Check) -> None:
    beyond = check(clock(field("Zone", versions="3+")))
    assert beyond[0].helps == ("raise `validVersions`, or correct the field's versions",)
    around = check(clock(field("Zone", "Zone", versions="0-1", fields=[field("City", versions="2+")])))
    assert around[0].helps == ("correct the field's versions",)


def test_a_key_without_its_value_names_the_value_of_that_name(check: Check) -> None:
    key = clock(type="coordinator-key", apiKey=0, name="ClockKey", validVersions="0", flexibleVersions="none")
    found = check(files(key, clock(type="coordinator-value", apiKey=1, name="ClockValue")))
    helps = [one.helps for one in found if one.code.number == "K708"]
    assert helps == [("`ClockValue` has api key 1",), ("`ClockKey` has api key 0",)]


def test_known_listeners_and_coordinators_are_found_nothing_of(check: Check) -> None:
    for sent_to in ("controller", "group", "transaction", "share"):
        asked = request(listeners=["broker", "controller", "zkBroker"], sentTo=sent_to)
        assert check(files(asked, response())) == []


def test_descriptions_in_the_indentation_notation_say_nothing_of_those_in_json(check_files: CheckFiles) -> None:
    texts = {"Clock.json": clock(about=""), "Alarm.json": clock(name="Alarm", about="")}
    described = "// Rings.\nBell => data, max version 0, flexible v0+\n  // How loud.\n  Volume: int8\n"
    found = [one for one in check_files(texts | {"Bell.krm": described}) if one.code.number == "K207"]
    assert [one.message for one in found] == ["no message and no struct is described"]


@pytest.mark.parametrize(
    ("rule", "limit"),
    [
        (many_versions, MAX_VALID_VERSIONS),
        (deep_nesting, MAX_NESTING),
        (large_message, MAX_FIELDS),
        (large_message, MAX_LAYOUT_FIELDS),
    ],
)
def test_limits_are_those_that_the_pages_name(rule: Rule, limit: int) -> None:
    assert {str(limit), f"{limit:,}"} & {*re.findall(r"[\d,]*\d", rule.code.what)}
