"""Many texts of one kind each, with what is read of them and everything that is said: values, types and words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

import pytest
from syrupy.assertion import SnapshotAssertion

from kwirec.convert import krammar_files
from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.examples import clock, field
from kwirec.diagnostics.source import Source
from kwirec.dump import dump_syntax
from kwirec.frontend import link, parse
from kwirec.frontend.json_writer import json_definition
from kwirec.ir import resolve
from kwirec.ir.literals import default_literal
from tests.frontend.test_convert import all_of
from tests.rules.test_tables import RANGES
from tests.support.findings import told

STRINGS = r"""
a|\n|\"\\\/\b\f\n\r\t|\u0041|\u00e9\u5bbd|\ud83d\ude00|\ud83d|\ude00|\ud83dx|\ude00\ud83d|\ud83d\ud83d\ude00|\uD83D\uDE00
\q|\u12|\u12G4|\u|\x41|\'|a\qb\qc|é|宽|😀|  |\u0000|\u000a|\ud7ff\ue000|\udbff\udfff|\|a
""".strip().replace("\n", "|").split("|")
NUMBERS = """
0 -0 1 -1 01 1.0 1e2 1E-2 1. .5 -.5 - +1 0x1F 0X1f -0x1 0x 0xg 1_0 1a 99999999999 NaN Infinity true null
"""
TYPES = """
int8|[]int8|[][]int8|[|int8[]|[]|[][]| int8 |[] int8|[ ]int8|int 8|map<string,int8>|Map<a>|[]map<a>|int-8|8int
_a|Z_9|é
""".strip("\n").replace("\n", "|").split("|")
ATTRIBUTES = """
apiKey: 1 | "1" | " 0x10 " | "1.0" | 1.0 | true | null | [] | ""
validVersions: "0-2" | 1 | "1+" | "none" | "" | " " | "2-1" | "0-32767" | "0-32768" | "v1" | 1.5 | true
flexibleVersions: "0+" | 0 | "32767+" | "99999999999+" | "+" | "0-" | "-1" | " 0+" | "0 - 2" | null | {}
latestVersionUnstable: true | "true" | "True" | 1 | null | "false"
listeners: "broker" | ["broker", 7, null, "a"] | null | [] | {} | 7
aliases: "A" | ["A", ["B"]] | null | true
headerVersions: {"0": 1, "1+": "2"} | {"0": 1, "0": 1} | {"0": 1, "0": 2} | {"": 1} | {"a": 1, "1": "b"} | [] | null
headerVersions: {}
about: "A." | 7 | null | ["A."]
fields: [] | null | {} | 7 | "none" | [7, null, []] | {"name": "A", "type": "int8", "versions": "0"}
commonStructs: [] | null | 7 | [{"name": "S", "versions": "0"}] | [{"name": "S", "fields": 7}]
name: 7 | null | ""
type: 7 | "" | "Data" | "enum"
"""
LITERALS = r"""
"" "0" "-0" "7" "007" "-128" "-129" "128" "0x7f" "0XFF" "-0x80" "0x" "_7_" "7.0" "7.5" "1e2" "1e400" "nan"
".5" "5." "+5" "true" "false" "True" "null" "none" "a" "AAAAAAAAAAAAAAAAAAAAAQ" "AAAAAAAAAAAAAAAAAAAAAQ=="
"AAAAAAAAAAAAAAAAAAAAA" "\ud800" 7 -129 7.5 true false null 65536 9223372036854775808
"""
HOLDERS = ("bool", "int8", "uint16", "int64", "float64", "string", "bytes", "uuid", "records", "[]int8", "S")
LINES = r"""
nullable-string
nullable-string-v1+
nullable-string-v1-v2
nullable-bytes
nullable-bytes-v1+
nullable-int8
records
nullable-records
string("a")
string()
[int8](null)
=>X(null)
nullable=>(null)
nullable-v1+[int8]
nullable-v1-v2[int8]
nullable[int8]
nullable-v1+=>
nullable=> // tag 0
nullable[=>] // tag 0
int8 // v1+, tag 0
int8 // tag 0
int8 // tag -1
int8 // tag 2147483647
int8 // ignorable
int8 // entity x
int8 // map key
int8 // zero copy
int8 // was B, was C
int8 // was "B  C"
int8 // since 3.0
int8 // flexible none
int8 // versions none
int8 // tag 0, tagged v2+
[=>X]
=>X
nullable-string(empty)
[nullable-string]
nullable[nullable-string]
string-v1+
string("\ud800")
string("\q")
int8 // v1
int8 // v1-2
int8 // v1..3
int8 // flexible 1+
int8 // v32767+
int8 // v0-v32768
int8 // v1+, v1+
int8 // v1+, v2+
int8 // tag 0, tag 0
[int8
[[int8]
int8]
[int8]]
int8[]
int8 x
[]
nullable-string-v0-v32768
nullable-v40000+[int8]
[=>] x
bool(true)
bool(maybe)
[[=>]]
[=>A
=>]
nullable
nullable-
varint-string
varint[int8]
enum-
enum-A
[enum-A](1)
nullable-enum-A
int8(
int8()
int8(1)(2)
string("a" b)
string("a)
string(a b)
int8 // tag x
int8 // v1-v2-v3
int8 // v1 +
int8 //v1+
int8// v1+
int8 // v1+ ,tag 0
int8 // ,v1+
int8 // v1+,
int8 // v1+,,tag 0
int8 //
[]int8
int8[1]
int8 int8
int8 x // v1+
int8] x
[int8] x
=>X Y
[=>X]Y
[nullable-S]
nullable[[int8]]
nullable-v1+int8
nullable-v3-v1[int8]
length-field-minus => A - 4
int8 // was
int8 // was A B
int8 // was "a
int8 // since
int8 // entity a-b
int8 // versions none, v1+
int8 // tagged none
int8 // v1+, tag 0, tagged none
int8 // v1+, tag 0, tagged v2+, tagged v3+
[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[
"""
HEADS = """
max version 32767
max version 32768
max version 9, min version 32768
max version 9, reserved
max version 9, deprecated v0-v1
max version 9, unstable
max version 9, listeners broker
max version 9, was Old
max version 9, header v1 for v0+
max version 9, admin
max version 9, group coordinator
max version 9, min version 1
versions v0-v3
max version 9, flexible v3
max version 9, deprecated 3
max version 9, max version 9
max version 9, max version 8
max version 9, header v1
max version 9, header v1 for v0-v32768
max version 9, quick
key 1
max version
max version -1
max version 1.5
max version 3, min version 4
min version 1
reserved
max version 2, key
max version 2, key x, key 3
max version 2, flexible
max version 2, flexible none
data
response
max version 2, response
max version 2, header v1 for v0
max version 2, header v-1 for v0+
max version 1, was
max version 2, listeners
max version 2, admin, admin
max version 2, admin, group coordinator
max version 2, metadata, data
max version 2, not top level
not top level
max version 2, with version field
max version 2, no encoding
max version 2, of X
versions v0-v2, max version 2
versions none
max version 2, deprecated
max version 2,
max version 2, , unstable
"""


def strings() -> Iterator[tuple[str, str]]:
    for body in STRINGS:
        report = Report()
        text = f'{{"type": "data", "name": "C", "validVersions": "0", "fields": [], "about": "{body}"}}'
        (message,) = parse(Source("C.json", text), report).messages
        yield body, f"{message.about and message.about.value!a}\n{told(report.diagnostics)}"


def numbers() -> Iterator[tuple[str, str]]:
    for body in NUMBERS.split():
        report = Report()
        text = f'{{"type": "data", "name": "C", "validVersions": "0", "fields": [], "apiKey": {body} }}'
        (message,) = parse(Source("C.json", text), report).messages
        yield body, f"{message.api_key and message.api_key.value}\n{told(report.diagnostics)}"


def types() -> Iterator[tuple[str, str]]:
    for body in TYPES:
        report = Report()
        (message,) = parse(Source("C.json", clock(field("A", body))), report).messages
        found = [f"{one.type} of {one.type.name_span.text}" for one in message.fields or ()]
        yield body, f"{found}\n{told(report.diagnostics)}"


def attributes() -> Iterator[tuple[str, str]]:
    for name, values in (line.split(": ", 1) for line in ATTRIBUTES.strip().splitlines()):
        for value in values.split(" | "):
            report = Report()
            head = {
                "type": '"data"',
                "name": '"C"',
                "validVersions": '"0"',
                "flexibleVersions": '"none"',
                "fields": "[]",
            }
            text = ", ".join(f'"{key}": {one}' for key, one in (head | {name: value}).items())
            document = parse(Source("C.json", f"{{{text}}}"), report)
            read = [line.split(maxsplit=1)[1] for line in dump_syntax([document]).splitlines()[1:]]
            kept = [line for line in read if line.split()[0] == name or line.split()[0] in ("field", "struct")]
            yield f"{name}: {value}", f"{kept if document.definitions else 'nothing'}\n{told(report.diagnostics)}"


def defaults() -> Iterator[tuple[str, str]]:
    """Each literal, as the types spell it that take it; the others say why they do not."""
    for written in LITERALS.split():
        literal = json.loads(written.replace("_", " "))
        taken, refused = list[str](), dict[str, list[str]]()
        for type_ in HOLDERS:
            report = Report()
            inner = {"fields": [field("B")]} if type_ == "S" else {}
            document = parse(Source("C.json", clock(field("A", type_, default=literal, **inner))), report)
            schema = resolve([document], report)
            for one in report.diagnostics:
                refused.setdefault(one.primary.text, []).append(type_)
            for message in schema.messages:
                shown = default_literal(message.root.fields[0].default)
                taken.append(f"{type_} {'(none)' if shown is None else shown!r}")
        yield written, ", ".join(taken) + "".join(
            f"\n{', '.join(types)}: {reason}" for reason, types in refused.items()
        )


def krammar(name: str, head: str, line: str) -> str:
    report = Report()
    inner = "    X: int8\n" if "=>" in line else ""
    (document,) = link(
        [parse(Source(name, f"AskRequest => {head}\n  A: {line}\n{inner}  Z: int8\n"), report)], report
    )
    said = told(report.diagnostics)
    written = "".join(json_definition(one) for one in document.definitions)
    fields = [one.strip() for one in re.findall(r'\{ "name": "A".*', written)]
    return "\n".join([*fields, *([said] if said else [])])


def lines() -> Iterator[tuple[str, str]]:
    for line in LINES.strip().splitlines():
        mine, other = (krammar(name, "key 1, max version 9, flexible v1+", line) for name in ("Ask.krm", "01_ask"))
        more = [one for one in other.splitlines() if one not in mine.splitlines()]
        yield line, "\n".join([mine, *(f"franz-go: {one}" for one in more)])


def heads() -> Iterator[tuple[str, str]]:
    for head in ["", *HEADS.strip().splitlines()]:
        shown: list[str] = []
        for name in ("Ask.krm", "01_ask"):
            report = Report()
            text = f"AskRequest => key 1, {head}\n  A: int8\n"
            (document,) = link([parse(Source(name, text), report)], report)
            written = [json_definition(one).partition('  "fields"')[0] for one in document.definitions]
            found = [" ".join("".join(written).split()), *told(report.diagnostics).splitlines()]
            shown += [f"franz-go: {one}" if shown else one for one in found if one not in shown]
        yield head, "\n".join(shown)


def written_fields() -> Iterator[tuple[str, str]]:
    """A field with versions and tagged, or nullable ones as the notation writes it, and in franz-go's dialect."""
    for attribute in ("taggedVersions", "nullableVersions"):
        for versions in RANGES[:-1]:
            for column in RANGES[:-1]:
                tag = {"tag": 0} if attribute == "taggedVersions" else {}
                one = field("A", "[]int8", versions=versions, about="", **{attribute: column}, **tag)
                text = clock(one, validVersions="1-3", flexibleVersions="2+")
                documents = (parse(Source("C.json", text), Report()),)
                shown = []
                for dialect in (None, "franz-go"):
                    report = Report()
                    (file,) = krammar_files(all_of(documents), report, dialect=dialect).values()
                    lost = "".join(f" ({found.message.split('`')[1]})" for found in report.diagnostics)
                    shown.append((re.findall("  A: (.*)", file) or ["nothing"])[0] + lost)
                yield f"{versions} {attribute} {column}", " | ".join(dict.fromkeys(shown))


@pytest.mark.parametrize(
    "cases",
    [strings, numbers, types, attributes, defaults, lines, heads, written_fields],
    ids=lambda case: case.__name__,
)
def test_what_is_read_and_said_of_each(
    cases: Callable[[], Iterator[tuple[str, str]]], snapshot: SnapshotAssertion
) -> None:
    assert "\n".join(f"{text}\n    " + said.rstrip().replace("\n", "\n    ") for text, said in cases()) == snapshot
