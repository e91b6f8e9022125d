"""Classes and fields as templates see them: with ready-made names, types and defaults."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from kwirec.emitters.modules import ClassSource
from kwirec.ir.schema import (
    IMPLICIT,
    ArrayType,
    Field,
    Message,
    PrimitiveType,
    StructType,
    Type,
)
from kwirec.lowering.coding import StructCoding, coding
from kwirec.naming import python_name
from kwirec.versions import VersionRange

PYTHON_TYPES = {
    "bool": "bool",
    "float64": "float",
    "string": "str",
    "bytes": "bytes",
    "records": "bytes",
    "uuid": "Uuid",
}
"""Primitives by their Python type; all others are ``int``."""

ZEROES = {"bool": "False", "float64": "0.0", "string": '""', "bytes": 'b""', "records": "None", "uuid": "ZERO_UUID"}
"""Implicit defaults. That of records is null even where they may not be null [KAFKA-WIRE 28]."""


@dataclass(frozen=True, kw_only=True)
class FieldView:
    """One attribute of a class.

    ``lazy`` attributes are structs that exist only as tagged fields: made on first access, because most messages
    leave them out and making them would cost more than all the rest. ``slot`` is where the value is kept.
    ``in_section`` fields are tagged in some versions, ``tagged_only`` ones in all. An ``optional`` attribute can be
    ``None``. ``sentinel`` names a constant that stands for a default struct where ``None`` means null.
    ``field_literal`` is the entry in ``FIELDS``.
    """

    field: Field
    name: str
    slot: str
    lazy: bool
    in_section: bool
    tagged_only: bool
    optional: bool
    annotation: str
    parameter: str
    default: str
    initial: str
    value: str
    sentinel: str
    doc: str
    field_literal: str

    @property
    def argument(self) -> str:
        return f"{self.name}: {self.annotation}"


@dataclass(frozen=True, kw_only=True)
class ClassView:
    """One class of a module.

    ``constructor_fields`` are those that decoding passes to ``new_X``: the fields that are untagged in some version,
    and those with a default that objects cannot share.
    """

    name: str
    doc: str
    fields: tuple[FieldView, ...]
    flexible: str

    @property
    def constructor_fields(self) -> tuple[FieldView, ...]:
        return tuple(view for view in self.fields if self.is_read(view.field))

    @property
    def has_section(self) -> bool:
        return any(view.in_section for view in self.fields)

    @property
    def slots(self) -> tuple[str, ...]:
        return (*(view.slot for view in self.fields), "unknown_tags")

    def field(self, field: Field) -> FieldView:
        return self._by_name[field.name]

    def is_read(self, field: Field) -> bool:
        """Whether decoding passes the field to ``new_X``."""
        view = self.field(field)
        return not view.tagged_only or bool(view.sentinel)

    @cached_property
    def _by_name(self) -> dict[str, FieldView]:
        return {view.field.name: view for view in self.fields}

    def tags_in(self, struct: StructCoding) -> str:
        """Whether the struct ends with tags of which some are ``known``, all ``unknown``, or with ``none``."""
        if not struct.flexible:
            return "none"
        return "known" if self.has_section else "unknown"


def docstring(text: str, *, indent: int = 4, notes: tuple[str, ...] = ()) -> str:
    """A docstring of ``text`` and further lines, escaped and wrapped."""
    plain = " ".join(text.split()).encode("utf-8", "replace").decode()
    clean = plain.replace("\\", "\\\\") or "No description."
    if '""' in clean or clean.endswith('"'):
        clean = clean.replace('"', '\\"')
    clean = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in clean)
    if not notes:
        one = f'"""{clean}"""'
        if len(one) + indent <= 118:
            return one
        pad = " " * indent
        first, *rest = textwrap.wrap(clean, 118 - indent - 3, break_long_words=False, break_on_hyphens=False)
        return "\n".join([f'"""{first}', *(pad + line for line in rest), pad + '"""'])
    pad = " " * indent
    lines = [f'"""{clean}', "", *(pad + line for line in notes), pad + '"""']
    return "\n".join(lines)


def type_name(type_: Type, names: Mapping[str, str]) -> str:
    """The Python type of a value; ``names`` maps structs to their classes."""
    match type_:
        case ArrayType(element):
            return f"list[{type_name(element, names)}]"
        case StructType(name):
            return names[name]
        case PrimitiveType(name):
            return PYTHON_TYPES.get(name, "int")


def spec_type(type_: Type, names: Mapping[str, str]) -> str:
    """The type as ``FIELDS`` spells it: as in the definition, structs by the name of their class."""
    match type_:
        case ArrayType(element):
            return f"[]{spec_type(element, names)}"
        case StructType(name):
            return names[name]
        case PrimitiveType(name):
            return name


def field_view(source: ClassSource, one: Field) -> FieldView:
    """How ``one`` appears in Python."""
    message, names = source.message, source.names
    name = python_name(one.name)
    nullable = bool(one.versions.intersect(one.nullable)) or one.default is None or _is_records(one)
    plain = type_name(one.type, names)
    annotation = f"{plain} | None" if nullable else plain
    value = default_expression(one, names)
    is_struct = isinstance(one.type, StructType)
    codings = [coding(one, version, flexible=version in message.flexible) for version in source.versions]
    tagged_only = one.tag is not None and all(found.tagged for found in codings if found)
    lazy = is_struct and not nullable and tagged_only
    parameter, default, initial, sentinel = annotation, value, name, ""
    if lazy:
        parameter, default = f"{annotation} | None", "None"
    elif value == "[]" and nullable:
        default, initial = "UNSET", f"[] if {name} is UNSET else {name}"
    elif value == "[]":
        parameter, default, initial = f"{annotation} | None", "None", f"[] if {name} is None else {name}"
    elif is_struct and value != "None" and nullable:
        sentinel = default = f"DEFAULT_{plain}"
        initial = f"{value} if {name} is {sentinel} else {name}"
    elif is_struct and value != "None":
        parameter, default, initial = f"{annotation} | None", "None", f"{plain}() if {name} is None else {name}"
    return FieldView(
        field=one,
        name=name,
        slot=f"_{name}" if lazy else name,
        lazy=lazy,
        in_section=any(found.tagged for found in codings if found),
        tagged_only=tagged_only,
        optional=nullable,
        annotation=annotation,
        parameter=parameter,
        default=default,
        initial=initial,
        value=value,
        sentinel=sentinel,
        doc=docstring(described(message, one), indent=8 if lazy else 4),
        field_literal=_field_literal(message, one, name, names),
    )


def described(message: Message, one: Field) -> str:
    """The description of a field, and its versions where it is not in all of them."""
    if all(version in one.versions for version in message.valid):
        return one.doc
    live = one.versions.intersect(message.valid)
    versions = f"{live.low}+" if live.high == message.valid.high else str(live)
    return f"{one.doc} Versions {versions}.".strip()


def _is_records(one: Field) -> bool:
    return one.type == PrimitiveType("records")


def default_expression(one: Field, names: Mapping[str, str]) -> str:
    """The default as a Python expression that makes a new value each time."""
    if one.default is None or _is_records(one):
        return "None"
    if isinstance(one.type, ArrayType):
        return "[]"
    if isinstance(one.type, StructType):
        return f"{names[one.type.name]}()"
    if one.default is IMPLICIT:
        return ZEROES.get(one.type.name, "0")
    if one.type.name == "uuid":
        return "ZERO_UUID" if one.default == bytes(16) else f"Uuid({one.default!r})"
    if isinstance(one.default, str):
        return '"' + one.default.encode("unicode_escape").decode().replace('"', '\\"') + '"'
    return repr(one.default)


def _field_literal(message: Message, one: Field, name: str, names: Mapping[str, str]) -> str:
    """The field as an element of ``FIELDS``, with ranges cut to the versions of the message."""
    nullable = one.nullable.intersect(one.versions).intersect(message.valid)
    tagged = one.tagged.intersect(one.versions).intersect(message.flexible).intersect(message.valid)
    former = tuple(alias[:1].lower() + alias[1:] for alias in one.aliases)
    arguments = {
        "nullable": range_literal(nullable) if nullable else "",
        "tag": "" if one.tag is None else str(one.tag),
        "tagged": range_literal(tagged) if one.tag is not None and tagged else "",
        "flexible": "" if one.flexible is None else range_literal(one.flexible.intersect(message.valid)),
        "ignorable": "True" if one.ignorable else "",
        "former_names": repr(former) if former else "",
    }
    versions = range_literal(one.versions.intersect(message.valid))
    positional = f'"{name}", "{one.name}", "{spec_type(one.type, names)}", {versions}'
    return f"Field({', '.join([positional, *(f'{key}={text}' for key, text in arguments.items() if text)])})"


def range_literal(versions: VersionRange) -> str:
    """The versions as a ``range``."""
    return f"range({versions.low}, {versions.high + 1})" if versions else "range(0)"
