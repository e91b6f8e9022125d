"""Syntax tree → JSON definitions, the inverse of ``json_messages``: attributes in one order, no defaults."""

from __future__ import annotations

from collections.abc import Mapping

from kwirec.frontend.syntax import (
    ATTRIBUTES,
    EnumDecl,
    EnumValueDecl,
    FieldDecl,
    HeaderVersionsDecl,
    MessageDecl,
    Node,
    Spanned,
    StructDecl,
    TypeExpr,
)
from kwirec.json_text import definition_text
from kwirec.versions import VersionRange

_ORDER: Mapping[type, tuple[str, ...]] = {
    MessageDecl: ("apiKey", "type", "listeners", "sentTo", "name", "aliases", "about", "validVersions",
                  "deprecatedVersions", "latestVersionUnstable", "flexibleVersions", "headerVersions", "fields",
                  "commonStructs"),
    StructDecl: ("name", "versions", "about", "fields"),
    FieldDecl: ("name", "type", "versions", "taggedVersions", "tag", "nullableVersions", "flexibleVersions",
                "default", "enum", "ignorable", "mapKey", "entityType", "zeroCopy", "aliases", "since", "about",
                "structAbout", "fields"),
    EnumDecl: ("type", "name", "valueType", "about", "values"),
    EnumValueDecl: ("name", "value", "about"),
}  # fmt: skip
"""The attributes of each node in the order in which they are written."""


def json_definition(definition: MessageDecl | EnumDecl) -> str:
    """The text of the file of a message or enum, with the comment before it."""
    text = definition_text(_node(definition))
    return f"{definition.comment}\n{text}" if definition.comment else text


def _node(node: Node) -> dict[str, object]:
    names = ATTRIBUTES[type(node)]
    values = ((name, _value(getattr(node, names[name]))) for name in _ORDER[type(node)])
    return {name: value for name, value in values if not _is_absent(name, value)}


def _value(value: object) -> object:
    match value:
        case Spanned(VersionRange() as versions):
            return str(versions)
        case Spanned(plain):
            return plain
        case TypeExpr():
            return str(value)
        case (HeaderVersionsDecl(), *_):
            entries = (entry for entry in value if isinstance(entry, HeaderVersionsDecl))
            return {str(entry.versions.value): str(entry.header.value) for entry in entries}
        case tuple():
            return [_node(item) if isinstance(item, Node) else _value(item) for item in value]
        case _:
            return value


def _is_absent(name: str, value: object) -> bool:
    """Whether a value says no more than if it were left out."""
    return value is None or value is False or (value == [] and name not in ("fields", "values"))
