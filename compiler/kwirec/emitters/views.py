"""Descriptions of classes and fields for templates, with names, types and defaults as Python text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kwire_rules import TYPES
from kwirec.emitters.environment import docstring, literal
from kwirec.emitters.modules import ClassSource
from kwirec.ir.schema import IMPLICIT, ArrayType, Field, Message, PrimitiveType, StructType, Type, base_type
from kwirec.lowering.coding import StructCoding, coding
from kwirec.naming import python_name
from kwirec.versions import VersionRange

_ZERO = {"bool": "False", "int": "0", "float": "0.0", "Uuid": "ZERO_UUID"}

PYTHON = {kind: (python, _ZERO[python]) for kind, python in TYPES.items()} | {
    "string": ("str", '""'),
    "bytes": ("bytes", 'b""'),
    "records": ("bytes", "None"),
}
"""The Python type and implicit default of each primitive type."""


@dataclass(frozen=True, kw_only=True)
class FieldView:
    """One attribute of a class.

    ``lazy`` attributes are structs that are tagged in all versions. They are created on first access, because most
    messages omit them and creating them would cost more than all other fields. ``slot`` is the name of the slot that
    stores the value. ``in_section`` fields are tagged in some versions, ``tagged_only`` fields in all versions. An
    ``optional`` attribute can be ``None``. ``value`` is an expression for the default. Because objects must not share
    a list or a struct, ``unset`` names a constant that serves as the parameter's default, and the constructor
    replaces it with ``initial``. ``field_literal`` is the entry in ``FIELDS``.
    """

    field: Field
    name: str
    slot: str
    lazy: bool
    in_section: bool
    tagged_only: bool
    optional: bool
    annotation: str
    value: str
    unset: str
    doc: str
    field_literal: str

    @property
    def initial(self) -> str:
        """The expression that replaces ``unset`` if the caller does not pass the field."""
        return "None" if self.lazy else self.value

    @property
    def is_read(self) -> bool:
        """Whether decoding passes the field to ``new_X``: it can be untagged, or it is a struct that is not lazy."""
        return not self.tagged_only or (self.unset.startswith("DEFAULT_") and not self.lazy)


@dataclass(frozen=True, kw_only=True)
class ClassView:
    """One class of a module. The keys of ``fields`` are the field names of the definition."""

    name: str
    doc: str
    fields: Mapping[str, FieldView]
    flexible: str

    @property
    def lazy(self) -> tuple[str, ...]:
        return tuple(view.name for view in self.fields.values() if view.lazy)

    @property
    def unread(self) -> tuple[str, ...]:
        """The attributes that are not parameters of ``new_X``."""
        return tuple(view.name for view in self.fields.values() if not view.is_read)

    def tags_in(self, struct: StructCoding) -> str:
        """Return which tags can follow the struct: ``known`` (and unknown) tags, only ``unknown`` tags, or
        ``none``.
        """
        if not struct.flexible:
            return "none"
        return "known" if any(view.in_section for view in self.fields.values()) else "unknown"


def type_name(type_: Type, names: Mapping[str, str]) -> str:
    """Return the Python type of a value. ``names`` maps structs to their classes."""
    match type_:
        case ArrayType(element):
            return f"list[{type_name(element, names)}]"
        case StructType(name):
            return names[name]
        case PrimitiveType(name):
            return PYTHON[name][0]


def class_view(source: ClassSource) -> ClassView:
    """Return the view of a struct's Python class."""
    message = source.message
    note = f"Versions {message.valid}, flexible {message.flexible}." if source.is_message else ""
    return ClassView(
        name=source.name,
        doc=docstring(source.doc, note=note),
        fields={field.name: _field_view(source, field) for field in source.fields},
        flexible=range_literal(message.flexible.intersect(message.valid)),
    )


def _field_view(source: ClassSource, field: Field) -> FieldView:
    """Return the view of a field's Python attribute."""
    message, names = source.message, source.names
    name = python_name(field.name)
    nullable = is_nullable(field)
    plain = type_name(field.type, names)
    value = default_expression(field, names)
    codings = [coding(field, version, flexible=version in message.flexible) for version in source.versions]
    tagged_only = field.tag is not None and all(coded.tagged for coded in codings if coded)
    is_struct = isinstance(field.type, StructType)
    lazy = is_struct and not nullable and tagged_only
    unset = ""
    if value == "[]" or (is_struct and value != "None"):
        unset = sentinel_of(plain) if is_struct else "UNSET"
    return FieldView(
        field=field,
        name=name,
        slot=f"_{name}" if lazy else name,
        lazy=lazy,
        in_section=any(coded.tagged for coded in codings if coded),
        tagged_only=tagged_only,
        optional=nullable,
        annotation=f"{plain} | None" if nullable else plain,
        value=value,
        unset=unset,
        doc=docstring(described(message, field), indent=8 if lazy else 4),
        field_literal=_field_literal(message, field, name, names),
    )


def sentinel_of(cls: str) -> str:
    """Return the name of the placeholder that a class's constructor replaces with a new default object."""
    return f"DEFAULT_{cls}"


def is_nullable(field: Field) -> bool:
    """Return whether the value can be ``None``. This is the case if a version allows null or if the default
    is null.
    """
    return bool(field.versions.intersect(field.nullable)) or default_is_null(field)


def described(message: Message, field: Field) -> str:
    """Return the description of a field. Add the versions of the field, unless all versions of the message
    have it.
    """
    if field.versions.covers(message.valid):
        return field.doc
    versions = field.versions.intersect(message.valid).text_within(message.valid)
    return f"{field.doc} Versions {versions}.".strip()


def default_is_null(field: Field) -> bool:
    """Return whether an unset field is null. Unset records are null even where null is invalid [KAFKA-WIRE 28]."""
    return field.default is None or field.type == PrimitiveType("records")


def default_expression(field: Field, names: Mapping[str, str]) -> str:
    """Return the default as a Python expression that creates a new value each time."""
    if default_is_null(field):
        return "None"
    if isinstance(field.type, ArrayType):
        return "[]"
    if isinstance(field.type, StructType):
        return f"{names[field.type.name]}()"
    if field.default is IMPLICIT:
        return PYTHON[field.type.name][1]
    if field.type.name == "uuid":
        return "ZERO_UUID" if field.default == bytes(16) else f"Uuid({field.default!r})"
    return literal(field.default)


def _field_literal(message: Message, field: Field, name: str, names: Mapping[str, str]) -> str:
    """Return the ``FIELDS`` entry of a field, with ranges limited to the message's versions."""
    nullable = field.nullable.intersect(field.versions).intersect(message.valid)
    tagged = field.tagged.intersect(field.versions).intersect(message.flexible).intersect(message.valid)
    former = tuple(alias[:1].lower() + alias[1:] for alias in field.aliases)
    arguments = {
        "nullable": range_literal(nullable) if nullable else "",
        "tag": "" if field.tag is None else str(field.tag),
        "tagged": range_literal(tagged) if field.tag is not None and tagged else "",
        "flexible": "" if field.flexible is None else range_literal(field.flexible.intersect(message.valid)),
        "ignorable": "True" if field.ignorable else "",
        "former_names": literal(former) if former else "",
        "enum": literal(field.enum.name) if field.enum else "",
    }
    versions = range_literal(field.versions.intersect(message.valid))
    base = base_type(field.type).name
    type_ = str(field.type).removesuffix(base) + names.get(base, base)
    positional = f"{literal(name)}, {literal(field.name)}, {literal(type_)}, {versions}"
    return f"Field({', '.join([positional, *(f'{key}={text}' for key, text in arguments.items() if text)])})"


def range_literal(versions: VersionRange) -> str:
    """Return the versions as a ``range`` expression."""
    return f"range({versions.low}, {versions.high + 1})" if versions else "range(0)"
