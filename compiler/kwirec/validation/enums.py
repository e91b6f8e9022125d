"""K8xx: enums, their values, and the fields that refer to them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kwire_rules import INTEGER_RANGES
from kwirec.diagnostics.diagnostic import Finding, Severity, did_you_mean, meant
from kwirec.diagnostics.examples import clock, enum, field, files, value
from kwirec.frontend.edits import renamed
from kwirec.ir.sites import EnumSite, FieldSite
from kwirec.naming import RESERVED_ENUMS, constant_name
from kwirec.validation.rule import repeated, rule

_NAME = re.compile(r"[A-Z][A-Za-z0-9]*")
_VALUE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_NAMELESS = re.compile(r"UNKNOWN_[0-9]+")


@rule("K801", offending=enum(value("NEW", 0), name="moon_phase"), corrected=enum(value("NEW", 0), name="MoonPhase"))
def enum_name(at: EnumSite) -> Iterator[Finding]:
    """The name of an enum is not a capital letter followed by letters and digits.

    The name becomes the name of a class, and fields refer to the enum by its name.
    """
    name, span = at.enum.name, at.decl.name.span
    if not _NAME.fullmatch(name):
        yield at.finding(
            f"invalid enum name `{name}`", span, "expected a capital letter followed by letters and digits"
        )
    elif name in RESERVED_ENUMS:
        yield at.finding(
            f"reserved enum name `{name}`", span, "generated modules use this name", helps=["choose another name"]
        )


@rule("K802", offending=enum(value("first-quarter", 1)), corrected=enum(value("FIRST_QUARTER", 1)))
def enum_value_name(at: EnumSite) -> Iterator[Finding]:
    """The name of an enum value is not a letter followed by letters, digits and underscores.

    In capital letters, the name becomes the name of a class member. `UNKNOWN_7` is reserved for the value 7 from a
    peer whose enum has more values.
    """
    for one in at.enum.values:
        if not _VALUE_NAME.fullmatch(one.name):
            expected = "expected a letter followed by letters, digits and underscores"
            yield at.finding(f"invalid value name `{one.name}`", one.decl.name.span, expected, value=one)
        elif _NAMELESS.fullmatch(constant_name(one.name)):
            yield at.finding(
                f"reserved value name `{one.name}`",
                one.decl.name.span,
                "values without a name are shown like this",
                helps=["choose another name"],
                value=one,
            )


@rule(
    "K803",
    offending=enum(value("NEW", 0), valueType="string"),
    corrected=enum(value("NEW", 0), valueType="int8"),
    fixable=True,
)
def enum_type(at: EnumSite) -> Iterator[Finding]:
    """The type of the values of an enum is not an integer type.

    Enums give names to numbers. Values that are sent as strings need no enum because they are already readable.
    """
    if (name := at.enum.type.name) not in INTEGER_RANGES:
        yield at.finding(
            f"`{name}` is not an integer type",
            at.decl.value_type.span,
            "the type of the values",
            helps=[did_you_mean(name, INTEGER_RANGES) or f"integer types are {', '.join(INTEGER_RANGES)}"],
            fix=renamed(at.decl.value_type.span, name, meant(name, INTEGER_RANGES)),
        )


@rule("K804", offending=enum(), corrected=enum(value("NEW", 0)))
def empty_enum(at: EnumSite) -> Iterator[Finding]:
    """An enum has no values.

    An empty enum says nothing about the fields that refer to it.
    """
    if not at.enum.values:
        yield at.finding(f"enum `{at.enum.name}` has no values", at.decl.name.span, "needs at least one value")


@rule(
    "K805",
    offending=enum(value("FULL", 0), value("Full", 1)),
    corrected=enum(value("NEW", 0), value("FULL", 1)),
)
def duplicate_value_name(at: EnumSite) -> Iterator[Finding]:
    """Two values of an enum have the same name, or become the same member in Python.

    Each member stands for one value. Members are named in capital letters, so `PrepareCommit` and `PREPARE_COMMIT`
    are the same member.
    """
    for first, one in repeated(at.enum.values, lambda one: constant_name(one.name)):
        yield at.finding(
            f"two values of `{at.enum.name}` are named `{constant_name(one.name)}`",
            one.decl.name.span,
            "named again here",
            others=[(first.decl.name.span, "first named here")],
            helps=["rename one of them"],
            value=one,
        )


@rule(
    "K806",
    offending=enum(value("NEW", 0), value("FULL", 0)),
    corrected=enum(value("NEW", 0), value("FULL", 1)),
)
def duplicate_value(at: EnumSite) -> Iterator[Finding]:
    """Two names of an enum have the same value.

    If a peer sends the value, it would be unclear which of the names applies.
    """
    for first, one in repeated(at.enum.values, lambda one: one.value):
        yield at.finding(
            f"`{first.name}` and `{one.name}` both have the value {one.value}",
            one.decl.value.span,
            "used again here",
            others=[(first.decl.value.span, "first used here")],
            value=one,
        )


@rule("K807", offending=enum(value("NEW", 200)), corrected=enum(value("NEW", 100)))
def value_out_of_range(at: EnumSite) -> Iterator[Finding]:
    """A value does not fit the type of its enum.

    No field could ever hold such a value.
    """
    low, high = INTEGER_RANGES.get(at.enum.type.name, (None, None))
    for one in at.enum.values:
        if low is not None and high is not None and not low <= one.value <= high:
            yield at.finding(
                f"value {one.value} of `{one.name}` is out of range",
                one.decl.value.span,
                f"{at.enum.type} holds {low} to {high}",
                others=[(at.decl.value_type.span, "type given here")],
                value=one,
            )


@rule(
    "K808",
    offending=files(clock(field("Phase", "int16", enum="Phase")), enum(value("NEW", 0))),
    corrected=files(clock(field("Phase", "int8", enum="Phase")), enum(value("NEW", 0))),
)
def enum_mismatch(at: FieldSite) -> Iterator[Finding]:
    """The type of a field is not the type of the values of its enum.

    A field with an enum holds values of the enum. The field must have their type, or be an array of that type.
    """
    known = at.field.enum
    if known is not None and at.decl.enum is not None and known.type != at.base and known.type.name in INTEGER_RANGES:
        yield at.finding(
            f"enum `{known.name}` needs type `{known.type}`, not `{at.base}`",
            at.decl.type.name_span,
            f"must be `{known.type}`",
            others=[(at.decl.enum.span, "because of this"), (known.decl.value_type.span, "which has this type")],
        )


@rule(
    "K809",
    severity=Severity.WARNING,
    offending=enum(value("NEW", 0, about="")),
    corrected=enum(value("NEW", 0)),
)
def undescribed_enum(at: EnumSite) -> Iterator[Finding]:
    """An enum or one of its values has no description.

    Descriptions become docstrings and are shown next to values. Definitions in the dialect of franz-go may lack them.
    """
    if at.decl.dialect == "franz-go":
        return
    is_json = at.decl.dialect == "json"
    label, help = ("no `about`", "add `about`") if is_json else ("no comment above it", "add a comment above it")
    if not at.enum.doc.strip():
        yield at.finding(f"enum `{at.enum.name}` has no description", at.decl.name.span, label, helps=[help])
    for one in at.enum.values:
        if not one.doc.strip():
            text = f"value `{one.name}` has no description"
            yield at.finding(text, one.decl.name.span, label, helps=[help], value=one)
