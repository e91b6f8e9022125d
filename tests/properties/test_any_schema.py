"""What holds for all schemas, not only Kafka's: schemas are drawn together with their values.

A drawn definition is compiled, its unformatted text is run as it is, and for every version the emitted codec and the
explaining path must agree byte for byte and value for value.
"""

from __future__ import annotations

import json
import sys
from itertools import count
from types import ModuleType
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from librt.strings import BytesWriter

from kwire import interpreter
from kwire.arrow import Columns
from kwire.errors import DecodeError
from kwire.message import Message
from kwire.policy import STRICT
from kwire.struct import Struct
from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.source import Source
from kwirec.emitters.codecs import emit_module
from kwirec.emitters.modules import group_modules
from kwirec.frontend import parse
from kwirec.ir import resolve
from kwirec.lowering import lower
from kwirec.validation import validate
from tests.properties.values import DrawnSource, as_decoded, exact, make
from tests.support.effort import examples

NUMBERS = ("int8", "int16", "uint16", "int32", "uint32", "int64")
SCALARS = ("bool", *NUMBERS, "float64", "uuid")
BLOBS = ("string", "bytes", "records")
DEFAULTS: dict[str, list[Any]] = {
    "bool": ["true", False],
    "float64": ["1.5", 0],
    "string": ["here", "", 'a "quoted" \\ one', "two\nlines", '""""', "\0\U0001f600"],
    "uuid": ["AAAAAAAAAAAAAAAAAAAAAQ"],
}

TEXTS = st.sampled_from(
    ["Drawn.", 'Ends in "', '""""', "\\", "a\0b", "{{ x }}", "x" * 110 + '"""' + "y" * 30, "l\nm"]
)

_MODULE = count()


class Names:
    """Names for fields and structs, each once; among them those that emitted code uses itself."""

    def __init__(self) -> None:
        self._number = count()
        self._fields = [
            "Data",
            "Pos",
            "N",
            "End",
            "Version",
            "Out",
            "Message",
            "Raw",
            "Tag",
            "Unknown",
            "Known",
            "Cls",
        ]
        self._fields += [
            "Previous",
            "Count",
            "Size",
            "Section",
            "Self",
            "Allocate",
            "Property",
            "Classmethod",
            "Names",
        ]
        self._fields += [
            "Int",
            "Str",
            "List",
            "Bytes",
            "Bool",
            "Float",
            "Tuple",
            "Range",
            "Read",
            "Write",
            "Encode",
            "Len",
        ]
        self._structs = [
            "Uuid",
            "Message",
            "BytesWriter",
            "Struct",
            "UNSET",
            "None",
            "Range",
            "List",
            "ClassVar",
            "Fail",
        ]

    def fields(self) -> st.SearchStrategy[str]:
        return self._one_of(self._fields, "F")

    def structs(self) -> st.SearchStrategy[str]:
        return self._one_of(self._structs, "S")

    def _one_of(self, special: list[str], letter: str) -> st.SearchStrategy[str]:
        def unique(name: str) -> str:
            if name in special:
                special.remove(name)
                if letter == "F":  # and names that the locals of an array or a default could be mistaken for
                    special.extend(other for other in (f"Count{name}", f"Default{name}") if len(other) < 18)
                return name
            return f"{letter}{next(self._number)}"

        return st.sampled_from([*special, "", "", ""]).map(unique) if special else st.just("").map(unique)


@st.composite
def definitions(draw: st.DrawFn) -> dict[str, Any]:
    """A message definition that the compiler accepts."""
    low = draw(st.integers(0, 2))
    high = low + draw(st.integers(0, 4))
    flexible = draw(st.none() | st.integers(low, high))
    names = Names()
    fields = draw(field_lists(low, high, flexible, names, 2))
    return {
        "type": "data",
        "name": "Drawn",
        "about": "Drawn at random.",
        "validVersions": str(low) if low == high else f"{low}-{high}",
        "flexibleVersions": "none" if flexible is None else f"{flexible}+",
        "fields": fields,
    }


@st.composite
def field_lists(
    draw: st.DrawFn, low: int, high: int, flexible: int | None, names: Names, depth: int
) -> list[dict[str, Any]]:
    tags = count()
    return [draw(fields(low, high, flexible, names, depth, tags)) for _ in range(draw(st.integers(0, 4)))]


@st.composite
def fields(
    draw: st.DrawFn, low: int, high: int, flexible: int | None, names: Names, depth: int, tags: count[int]
) -> dict[str, Any]:
    start = draw(st.integers(low, high))
    end = draw(st.none() | st.integers(start, high))
    name = draw(names.fields())
    base = draw(st.sampled_from((*SCALARS, *BLOBS, *(("struct",) * 6 if depth else ()))))
    array = base != "records" and draw(st.booleans()) and draw(st.booleans())
    one: dict[str, Any] = {"name": name, "about": draw(TEXTS)}
    one["type"] = ("[]" if array else "") + (draw(names.structs()) if base == "struct" else base)
    nullable = (array or base in (*BLOBS, "struct")) and draw(st.booleans())
    taggable = flexible is not None and flexible <= high and base != "records"
    if taggable and draw(st.booleans()):
        end = None
        tagged = draw(st.integers(max(start, flexible or 0), high))
        one |= {"taggedVersions": f"{tagged}+", "tag": next(tags)}
        if nullable:
            one["nullableVersions"] = f"{draw(st.integers(start, tagged))}+"
    elif nullable:
        one["nullableVersions"] = f"{draw(st.integers(low, high if end is None else end))}+"
    one["versions"] = f"{start}+" if end is None else f"{start}-{end}"
    if base == "struct":
        one["structAbout"] = draw(TEXTS)
        one["fields"] = draw(field_lists(start, high if end is None else end, flexible, names, depth - 1))
        for inner in one["fields"]:  # as common structs, which may be older than where they are used
            if "-" not in inner["versions"] and inner.get("default") != "null" and draw(st.integers(0, 3)) == 0:
                inner["versions"] = f"{low}+"
        if array:  # Nobody can tell how many elements of no bytes there are: counts above what is left are refused.
            always = {"name": draw(names.fields()), "type": "int8", "versions": "0+", "about": "Always there."}
            one["fields"].insert(draw(st.integers(0, len(one["fields"]))), always)
    all_nullable = "nullableVersions" in one and int(one["nullableVersions"][:-1]) <= start
    if all_nullable and draw(st.booleans()):
        one["default"] = "null"
    elif not array and base in NUMBERS and draw(st.booleans()):
        one["default"] = draw(st.sampled_from(["7", "0x11", 0]))
    elif not array and base in DEFAULTS and draw(st.booleans()):
        one["default"] = draw(st.sampled_from(DEFAULTS[base]))
    if draw(st.booleans()):
        one["ignorable"] = True
    if one["type"] in ("string", "bytes") and "tag" not in one and draw(st.integers(0, 5)) == 0:
        one["flexibleVersions"] = draw(st.sampled_from(["none", f"{high if end is None else end}+"]))
    return one


def compiled(definition: dict[str, Any], *, refused: frozenset[str] = frozenset()) -> type[Message]:
    """The class of the message, from the text as the templates give it. The compiler refuses it with the codes."""
    report = Report()
    schema = resolve([parse(Source("Drawn.json", json.dumps(definition, indent=1)), report)], report)
    validate(schema, report)
    problems = {d.code.number: d.message for d in report.diagnostics if d.code.severity.value == "error"}
    assert set(problems) == refused, problems
    (group,) = group_modules(schema)
    module = ModuleType(f"drawn_{next(_MODULE)}")
    sys.modules[module.__name__] = module
    module.__dict__["__file__"] = "drawn.py"
    exec(compile(emit_module(group, lower(schema).halves).text, module.__name__, "exec"), module.__dict__)
    found: type[Message] = module.__dict__["Drawn"]
    return found


def disturb(value: Struct) -> None:
    """Change whatever can be changed in place: nothing of it may be shared with other objects."""
    for field in value.FIELDS:
        inner = getattr(value, field.name)
        for one in [inner, *inner] if isinstance(inner, list) else [inner]:
            if isinstance(one, Struct):
                disturb(one)
        if isinstance(inner, list):
            inner.append(None)
        elif not isinstance(inner, Struct):
            setattr(value, field.name, None)


@pytest.mark.slow
@examples(1.5)
@given(definition=definitions(), data=st.data())
def test_any_schema_round_trips(definition: dict[str, Any], data: st.DataObject) -> None:
    cls = compiled(definition)
    try:
        for version in cls.VALID_VERSIONS:
            message = make(cls, version, DrawnSource(data.draw))
            out = BytesWriter()
            message._write(out, version)
            raw = out.getvalue()
            assert interpreter.encode(message, version) == raw
            again = cls._read(raw, 0, version)[0]
            disturb(again)
            decoded, end = cls._read(raw, 0, version)
            assert end == len(raw)
            assert decoded == as_decoded(message, version)  # -0.0 in a tagged field is its default, as in Java
            explained, _ = interpreter.decode(cls, raw, 0, version, STRICT, whole=True)
            assert exact(explained) == exact(decoded)
            if decoded == message:  # else a dropped field made a tagged struct differ from its default, as in Java
                assert decoded.encode(version) == raw
    finally:
        del sys.modules[cls.__module__]


@pytest.mark.slow
@examples(0.6)
@given(definition=definitions(), noise=st.binary(max_size=60), cut=st.integers(0, 60), data=st.data())
def test_any_schema_agrees_on_what_is_wrong(
    definition: dict[str, Any], noise: bytes, cut: int, data: st.DataObject
) -> None:
    """Whatever the emitted reader accepts, the explaining one accepts with the same value."""
    cls = compiled(definition)
    try:
        for version in cls.VALID_VERSIONS:
            message = make(cls, version, DrawnSource(data.draw))
            raw = message.encode(version)
            for hostile in (raw[:cut], raw[:cut] + noise, noise):
                try:
                    decoded, end = cls._read(hostile, 0, version)
                except Exception:
                    continue
                if end > len(hostile):
                    continue
                event("accepted")
                explained, stop = interpreter.decode(cls, hostile, 0, version, STRICT, whole=False)
                assert stop == end
                assert exact(explained) == exact(decoded)
    finally:
        del sys.modules[cls.__module__]


@pytest.mark.parametrize("newest", [0, 1])
def test_counts_of_elements_without_bytes_of_their_own_are_bounded(newest: int) -> None:
    """Slices never fail: without a check of the count, a struct of uuids could be read any number of times.

    So could one that has other fields only in newer versions.
    """
    identity = {"name": "Id", "type": "uuid", "versions": "0+", "about": "Drawn."}
    inner = {"name": "Inner", "type": "Pair", "versions": "0+", "about": "Drawn.", "fields": [identity]}
    later = [{"name": "Late", "type": "int32", "versions": "1+", "about": "Drawn."}] * newest
    outer = {"name": "Outers", "type": "[]Outer", "versions": "0+", "about": "Drawn.", "fields": [inner, *later]}
    head = {"type": "data", "name": "Drawn", "validVersions": f"0-{newest}", "flexibleVersions": "none"}
    cls = compiled({**head, "fields": [outer]})
    with pytest.raises(ValueError, match="not readable"):
        cls._read((3_000_000).to_bytes(4, "big"), 0, 0)
    with pytest.raises(DecodeError, match="3000000"):
        cls.decode((3_000_000).to_bytes(4, "big"), 0)


@pytest.mark.parametrize("count", [1, 11, 12])
def test_elements_without_fields_are_bounded_by_the_bytes_that_are_left(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They take none, so that any count could be read; what counts are the bytes after it, not those before.

    No rule lets such a message through, but a package may be older than the rule.
    """
    early = {"name": "Early", "type": "int64", "versions": "0+", "about": "Drawn."}
    hollow = {"name": "Hollow", "type": "[]Piece", "versions": "0+", "about": "Drawn.", "fields": []}
    cls = compiled(
        {
            "type": "data",
            "name": "Drawn",
            "validVersions": "0",
            "flexibleVersions": "none",
            "fields": [early, hollow],
        },
        refused=frozenset({"K412"}),
    )
    assert cls.decode(bytes(12), 0) == cls()
    with pytest.raises(DecodeError, match=f"length {count}, 0 bytes left"):
        cls.decode(bytes(8) + count.to_bytes(4, "big"), 0)
    monkeypatch.setattr("kwire.arrow.columns.COMPILED", True)
    found = Columns(cls).decode([bytes(12), bytes(8) + count.to_bytes(4, "big")], 0)
    assert (found.rows, list(found.errors)) == ([0], [1])


def test_a_field_that_is_older_than_its_message_is_left_out() -> None:
    """Rules only note it: common structs may be older than the messages that are left."""
    old = {"name": "Old", "type": "string", "versions": "0", "about": "Drawn."}
    new = {"name": "New", "type": "int8", "versions": "1+", "about": "Drawn."}
    both = {"name": "Both", "versions": "0+", "about": "Drawn.", "fields": [old, new]}
    field = {"name": "One", "type": "Both", "versions": "0+", "about": "Drawn."}
    head = {"type": "data", "name": "Drawn", "validVersions": "1-2", "flexibleVersions": "2+"}
    cls: Any = compiled({**head, "fields": [old, field], "commonStructs": [both]})
    message = cls()
    message.one.new = 7
    assert [(one.name, list(one.versions)) for one in (*cls.FIELDS, *message.one.FIELDS)] == [
        ("one", [1, 2]),
        ("new", [1, 2]),
    ]
    for version, raw in ((1, b"\7"), (2, b"\7\0\0")):
        assert message.encode(version) == raw
        assert cls.decode(raw, version) == message
