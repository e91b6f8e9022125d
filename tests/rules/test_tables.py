"""Which rules speak when two things vary together: a table for each pair, and below it every sentence that is said.

``.`` is a definition without findings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from kwirec.diagnostics.diagnostic import Diagnostic
from kwirec.diagnostics.examples import ABSENT, clock, enum, field, files, request, response, struct, tagged, value
from tests.rules.support import Check

Attributes = Mapping[str, Any]

RANGES = ("none", "0", "0-1", "1-2", "1-3", "2-4", "3", "4", "0+", "2+", "4+", "3-2")
BOUNDS = {"validVersions": "1-3", "flexibleVersions": "2+"}


def one_field(row: str, column: str, attribute: str, type_: str = "string", **others: Any) -> str:
    """A field with the versions of a row, and an attribute that is what the column says."""
    return clock(field("A", type_, versions=row, **{attribute: column}, **others), **BOUNDS)


def tag(row: str, column: str) -> str:
    return one_field(row, column, "taggedVersions", tag=0)


def tagged_null(row: str, column: str) -> str:
    one = field("A", versions="1+", taggedVersions=row, nullableVersions=column, tag=0)
    return clock(one, **BOUNDS)


def common_struct(row: str, column: str) -> str:
    """A common struct with the versions of a row, in a field with those of the column."""
    return clock(field("A", "S", versions=column), commonStructs=[struct("S", field("B"), versions=row)], **BOUNDS)


def inner(row: str, column: str) -> str:
    """An array of structs with the versions of a row, whose only field has those of the column."""
    return clock(field("A", "[]S", versions=row, fields=[field("B", versions=column)]), **BOUNDS)


def message(row: str, column: str, attribute: str) -> str:
    return clock(field("A"), **{"flexibleVersions": "none", "validVersions": row, attribute: column})


TYPES = ("bool", "int8", "uint32", "float64", "uuid", "string", "bytes", "records", "[]int32", "[]bytes", "S", "[]S")
KINDS = ("request", "response", "header", "metadata", "coordinator-key", "coordinator-value", "data")
ATTRIBUTES: Mapping[str, Attributes] = {
    "nullable": {"nullableVersions": "0+"},
    "nullable none": {"nullableVersions": "none"},
    "null": {"default": "null"},
    "nullable null": {"nullableVersions": "0+", "default": "null"},
    "JSON null": {"default": None},
    "nullable JSON null": {"nullableVersions": "0+", "default": None},
    "key": {"mapKey": True},
    "copy": {"zeroCopy": True},
    "classic": {"flexibleVersions": "none"},
    "flexible": {"flexibleVersions": "2+"},
    "topic": {"entityType": "topicName"},
    "broker": {"entityType": "brokerId"},
    "enum": {"enum": "Phase"},
    "tag": {"versions": "1+", "taggedVersions": "1+", "tag": 0},
    "sub-fields": {"fields": [field("C")]},
}
HEADS: Mapping[str, Attributes] = {
    "plain": {},
    "no key": {"apiKey": ABSENT},
    "-1": {"apiKey": -1},
    "0": {"apiKey": 0},
    "32767": {"apiKey": 32767},
    "32768": {"apiKey": 32768},
    "listeners": {"listeners": ["broker", "brokr"]},
    "unstable": {"latestVersionUnstable": True},
    "stable": {"latestVersionUnstable": False},
    "sent to group": {"sentTo": "group"},
    "sent to all": {"sentTo": "all"},
    "header 0": {"headerVersions": {"0+": "0"}},
    "header 1": {"headerVersions": {"0+": "1"}},
    "header 1, 2": {"headerVersions": {"0": "1", "1+": "2"}},
    "header 0, 1": {"headerVersions": {"0": "0", "1-2": "1"}},
    "header -1": {"headerVersions": {"0+": "-1"}},
    "header 3": {"headerVersions": {"0-1": "1", "2": "3"}},
    "flexible no": {"flexibleVersions": ABSENT},
    "valid none": {"validVersions": "none"},
    "valid 0": {"validVersions": "0", "flexibleVersions": "none"},
    "valid 1+": {"validVersions": "1+"},
    "valid 2-1": {"validVersions": "2-1"},
    "twice": {},
}
NAMES = (
    *("Zone", "zone", "zoneId2", "Zone_Id", "Zone-Id", "2nd", "", "Zonë", "Message", "ClassVar", "IntEnum", "from"),
    *("UNKNOWN_1", "unknown7", "A b", "__"),
)
PLACES: Mapping[str, Callable[[str], str]] = {
    "field": lambda name: clock(field(name, about="A.")),
    "second field": lambda name: clock(field("A"), field(name, about="A.")),
    "alias": lambda name: clock(field("A", aliases=["B", name])),
    "entity": lambda name: clock(field("A", entityType=name)),
    "struct": lambda name: clock(field("A", "S", fields=[field("B")]), name="C").replace('"S"', f'"{name}"'),
    "message": lambda name: clock(name=name),
    "second alias": lambda name: clock(aliases=["B", name]),
    "enum": lambda name: enum(value("NEW", 0), name=name),
    "second value": lambda name: enum(value("NEW", 0), value(name, 1, about="A.")),
}


def typed(row: str, column: str) -> str:
    """A field of the type of a row, with the attributes of a column, in a struct: there it may be a map key."""
    phase = enum(value("NEW", 0), name="Phase")
    one = field("A", row, **ATTRIBUTES[column])
    around = field("Around", "[]Around", versions="1+", fields=[one, field("Other", "int8")])
    inside = [struct("S", field("B"))] if row.endswith("S") and "fields" not in ATTRIBUTES[column] else []
    return files(clock(around, commonStructs=inside), *([phase] if column == "enum" else []))


def headed(row: str, column: str) -> str:
    """A message of the kind of a row with the attributes of a column, and its partner if it needs one."""
    name = {"request": "ClockRequest", "response": "ClockResponse"}.get(row, "Clock")
    flexible = {"validVersions": "0", "flexibleVersions": "none"} if row == "coordinator-key" else {}
    given = {"apiKey": 900, **flexible, **HEADS[column]}
    definitions = [clock(field("A"), **{"type": row, "name": name, **given})]
    partners = {
        "request": response(field("A")),
        "response": request(field("A")),
        "coordinator-key": clock(type="coordinator-value", apiKey=900, name="ClockValue"),
        "coordinator-value": clock(
            type="coordinator-key", apiKey=900, name="ClockKey", validVersions="0", flexibleVersions="none"
        ),
    }
    definitions += [partners[row]] if row in partners else []
    definitions += [clock(field("A"), **{"type": row, "name": f"Other{name}", **given})] * (column == "twice")
    return files(*definitions)


def pair(row: str, column: str, attribute: str) -> str:
    both = {"validVersions": "0-3", "flexibleVersions": "2+"}
    return files(request(field("A"), **both | {attribute: row}), response(field("A"), **both | {attribute: column}))


def tags(row: str, column: str) -> str:
    """Fields with tags of a row, tagged from the versions of the column on."""
    fields = (
        tagged(f"{name}", int(number), taggedVersions=versions)
        for name, number, versions in zip("ABC", row.split(), column.split(), strict=False)
    )
    return clock(*fields, validVersions="1-3")


TABLES: Mapping[str, tuple[Callable[[str, str], str], Sequence[str], Iterable[str]]] = {
    "versions of a field, and those in which it is tagged": (tag, RANGES, RANGES),
    "versions of a field, and those in which it can be null": (
        lambda row, column: one_field(row, column, "nullableVersions"),
        RANGES,
        RANGES,
    ),
    "versions of a field that is null by default, and those in which it can be": (
        lambda row, column: one_field(row, column, "nullableVersions", "[]int8", default="null"),
        RANGES,
        RANGES,
    ),
    "versions of a field, and its flexible versions": (
        lambda row, column: one_field(row, column, "flexibleVersions", "bytes"),
        RANGES,
        RANGES,
    ),
    "tagged versions of a field, and those in which it can be null": (tagged_null, RANGES, RANGES),
    "versions of a common struct, and of a field of its type": (common_struct, RANGES, RANGES),
    "versions of an array, and of the only field of its elements": (inner, RANGES, RANGES),
    "valid versions, and flexible ones": (
        lambda row, column: message(row, column, "flexibleVersions"), RANGES, (*RANGES, "4-5")
    ),
    "valid versions, and deprecated ones": (
        lambda row, column: message(row, column, "deprecatedVersions"), RANGES, RANGES
    ),
    "valid versions of a request, and of its response": (
        lambda row, column: pair(row, column, "validVersions"), RANGES, RANGES
    ),
    "flexible versions of a request, and of its response": (
        lambda row, column: pair(row, column, "flexibleVersions"), RANGES, RANGES
    ),
    "types, and attributes of a field": (typed, TYPES, ATTRIBUTES),
    "attributes of a message, and kinds of messages": (lambda row, column: headed(column, row), (*HEADS,), KINDS),
    "names, and where they stand": (lambda row, column: PLACES[column](row), NAMES, PLACES),
    "tags, and where they begin": (
        tags,
        ("0", "1", "0 0", "0 1", "1 0", "0 2", "2 0", "-1 0", "0 0 0", "0 1 1", "1 1 2", "0 2 3", "0 2 4", "3 1 0"),
        ("1+ 1+ 1+", "1 2+ 3+", "1-2 3+ 2+", "1 2 3", "0+ 1+ 1+"),
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_what_two_things_together_are_found_wrong_for(check: Check, name: str, snapshot: SnapshotAssertion) -> None:
    example, rows, columns = TABLES[name]
    said: dict[str, None] = {}
    table = [["", *columns]]
    for row in rows:
        cells = [row or '""']
        for column in columns:
            found = check(example(row, column))
            cells.append(" ".join(one.code.number.removeprefix("K") for one in found) or ".")
            said |= dict.fromkeys(map(sentence, found))
        table.append(cells)
    widths = [max(map(len, cells)) for cells in zip(*table, strict=True)]
    lines = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
    assert "\n".join([*lines, "", *sorted(said)]) == snapshot


def sentence(one: Diagnostic) -> str:
    """All that a finding says, and the texts that it points at."""
    labels = " + ".join(f"{label.span.text} {label.text}".rstrip() for label in (one.primary, *one.others))
    closing = "".join(f" ({text})" for text in (*one.notes, *one.helps))
    return f"{one.code} {one.severity.value} {one.field_path or '-'}: {one.message} | {labels}{closing}"
