"""Default literals by Kafka's rules [KAFKA-WIRE 27, 28, 30]."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire_rules import INTEGER_RANGES
from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.examples import ABSENT, clock, field
from kwirec.diagnostics.source import Source
from kwirec.frontend import parse
from kwirec.frontend.syntax import Literal
from kwirec.ir import resolve
from kwirec.ir.literals import default_literal, default_text, typed_default
from kwirec.ir.schema import IMPLICIT, PRIMITIVES, ArrayType, PrimitiveType, StructType, Type

ARRAY = ArrayType(PrimitiveType("int32"))
STRUCT = StructType("Zone")


def of(name: str) -> PrimitiveType:
    return PrimitiveType(name)


@pytest.mark.parametrize("type_", [*map(of, PRIMITIVES), ARRAY, STRUCT], ids=str)
def test_trap_27_json_null_is_no_default_the_string_null_is_one(type_: Type) -> None:
    assert typed_default(None, type_) is IMPLICIT
    if isinstance(type_, ArrayType | StructType) or type_.name in ("string", "bytes", "records"):
        assert typed_default("null", type_) is None
    else:
        with pytest.raises(ValueError, match=r"a|o"):
            typed_default("null", type_)


@pytest.mark.parametrize("type_", [*map(of, PRIMITIVES), ARRAY, STRUCT], ids=str)
def test_empty_text_is_the_implicit_default(type_: Type) -> None:
    assert typed_default("", type_) == ("" if type_ == of("string") else IMPLICIT)


@pytest.mark.parametrize(
    ("literal", "value"),
    [("0", 0), ("-1", -1), (-1, -1), (" 7 ", 7), ("0x7f", 127), ("0X7F", 127), ("-0x80", -128), (0x7F, 127)],
)
def test_trap_30_integers_are_decimal_or_hexadecimal(literal: Literal, value: int) -> None:
    assert typed_default(literal, of("int8")) == value


@pytest.mark.parametrize("literal", ["017", "00", "-010"])
def test_trap_30_a_leading_zero_is_refused_because_readers_disagree_about_it(literal: str) -> None:
    with pytest.raises(ValueError, match="octal"):
        typed_default(literal, of("int32"))


@given(st.sampled_from(sorted(INTEGER_RANGES)), st.data())
def test_integers_must_fit(name: str, data: st.DataObject) -> None:
    low, high = INTEGER_RANGES[name]
    value = data.draw(st.integers(low - 3, low + 3) | st.integers(high - 3, high + 3) | st.integers())
    for literal in (value, str(value), hex(value)):
        if low <= value <= high:
            assert typed_default(literal, of(name)) == value
        else:
            with pytest.raises(ValueError, match=f"{name} holds {low} to {high}"):
                typed_default(literal, of(name))


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("int8", -128, 127),
        ("int16", -32_768, 32_767),
        ("uint16", 0, 65_535),
        ("int32", -2_147_483_648, 2_147_483_647),
        ("uint32", 0, 4_294_967_295),
        ("int64", -9_223_372_036_854_775_808, 9_223_372_036_854_775_807),
    ],
)
def test_bounds_of_integers(name: str, low: int, high: int) -> None:
    assert (typed_default(str(low), of(name)), typed_default(str(high), of(name))) == (low, high)
    for beyond in (low - 1, high + 1):
        with pytest.raises(ValueError, match="holds"):
            typed_default(str(beyond), of(name))


@pytest.mark.parametrize(("literal", "value"), [(True, True), (False, False), ("true", True), ("false", False)])
def test_booleans(literal: Literal, value: bool) -> None:
    assert typed_default(literal, of("bool")) is value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats(value: float) -> None:
    for literal in (value, str(value)):
        typed: Any = typed_default(literal, of("float64"))
        assert typed == value
        assert math.copysign(1, typed) == math.copysign(1, value)
    assert typed_default(7, of("float64")) == 7.0
    assert [typed_default(literal, of("float64")) for literal in ("+1.5", ".5", "2.", " 1E2 ")] == [
        1.5,
        0.5,
        2.0,
        100.0,
    ]


def test_uuid_is_the_base64_of_sixteen_bytes() -> None:
    assert typed_default("AAAAAAAAAAAAAAAAAAAAAQ", of("uuid")) == b"\0" * 15 + b"\x01"
    assert typed_default("AAAAAAAAAAAAAAAAAAAAAQ==", of("uuid")) == b"\0" * 15 + b"\x01"
    assert typed_default("-_-_-_-_-_-_-_-_-_-_-w", of("uuid")) == b"\xfb\xff\xbf" * 5 + b"\xfb"


def test_strings_are_taken_as_they_are() -> None:
    assert typed_default(" 0x7f ", of("string")) == " 0x7f "


def test_strings_have_as_many_bytes_as_kafka_writes() -> None:
    for longest in ("x" * 32_767, "ü" * 16_383 + "x"):
        assert typed_default(longest, of("string")) == longest
        with pytest.raises(ValueError, match="at most 32767 bytes, not 32768"):
            typed_default(longest + "x", of("string"))


@pytest.mark.parametrize(
    ("name", "literal", "reason"),
    [
        ("int8", "1.5", "not a decimal or 0x integer"),
        ("int8", 1.5, "not an integer"),
        ("int8", True, "not an integer"),
        ("int8", "٣", "not a decimal"),
        ("int8", "1_0", "not a decimal"),
        ("int8", "9" * 5000, "not a decimal"),
        ("bool", "True", "`true` or `false`"),
        ("bool", 1, "`true` or `false`"),
        ("float64", "1_0.0", "not a number"),
        ("float64", "nan", "not a number"),
        ("float64", "1e999", "not a finite number"),
        ("float64", False, "not a number"),
        ("string", 7, "not a string"),
        ("string", "\ud800", "not valid Unicode text"),
        ("uuid", "AAAA", "16 bytes, not 3"),
        ("uuid", "AAAAAAAAAAAAAAAAAAAAAQ!!==", "base64"),
        ("uuid", "A", "base64"),
        ("uuid", 7, "base64"),
        ("bytes", "AAAA", 'only be empty or "null"'),
        ("records", "x", 'only be empty or "null"'),
    ],
)
def test_what_is_no_default(name: str, literal: Literal, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        typed_default(literal, of(name))


@pytest.mark.parametrize("type_", [ARRAY, STRUCT], ids=str)
@pytest.mark.parametrize("literal", ["[]", "0", 0, False])
def test_arrays_and_structs_are_empty_or_null(type_: Type, literal: Literal) -> None:
    with pytest.raises(ValueError, match="only be empty"):
        typed_default(literal, type_)


def test_defaults_are_spelled_as_definitions_do() -> None:
    assert [default_literal(one) for one in (None, True, False, -7, 1.5, "a", b"\x00" * 16, IMPLICIT)] == [
        *("null", "true", "false", "-7", "1.5", "a", "A" * 22, None)
    ]


@pytest.mark.parametrize(
    ("type_", "zero", "implicit", "others"),
    [
        ("bool", "false", "false", ["true"]),
        ("int8", "0x0", "0", ["1", "-1"]),
        ("float64", "0e5", "0.0", ["1.0", "-0.5"]),
        ("uuid", "A" * 22, "zero", ["AAAAAAAAAAAAAAAAAAAAAQ"]),
        ("string", "", '""', ["a", "0", "null"]),
        ("bytes", "", '""', ["null"]),
        ("records", "", "null", ["null"]),
        ("[]int8", "", "empty", ["null"]),
    ],
)
def test_every_default_has_a_text_also_the_implicit_one(
    type_: str, zero: str, implicit: str, others: list[str]
) -> None:
    fields = [field(f"A{n}", type_, default=default) for n, default in enumerate((ABSENT, zero, *others))]
    schema = resolve([parse(Source("Clock.json", clock(*fields)), Report())], Report())
    assert [default_text(one) for one in schema.messages[0].root.fields] == [implicit, implicit, *others]
