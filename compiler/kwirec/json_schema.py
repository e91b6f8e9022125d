"""Builds the JSON Schema that helps editors with JSON definition files, for ``kwirec schema``.

The schema is derived from the attribute table in ``frontend/syntax`` and accepts the same files as the parser. Rules
about the meaning of definitions are left to ``kwirec check``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from kwire_rules import INTEGER_RANGES
from kwirec.frontend.json_messages import REQUIRED, TYPE
from kwirec.frontend.syntax import (
    ATTRIBUTES,
    Attribute,
    EnumDecl,
    EnumValueDecl,
    FieldDecl,
    HeaderVersionsDecl,
    Literal,
    MessageDecl,
    Spanned,
    StructDecl,
    TypeExpr,
)
from kwirec.ir.resolve import TYPES
from kwirec.ir.schema import ENTITY_TYPES, PRIMITIVES
from kwirec.json_text import json_text
from kwirec.validation.messages import LISTENERS, SENT_TO
from kwirec.versions import VersionRange

DIALECT: Final = "http://json-schema.org/draft-07/schema#"
"""The JSON Schema draft that VS Code and PyCharm support best."""

ABOUT: Mapping[type, Mapping[str, str]] = {
    MessageDecl: {
        "type": "The kind of the message, which determines what bytes precede the message.",
        "name": "The name of the class: a capital letter, then letters and digits.",
        "apiKey": "The api key of a request and its response, or the type of a record.",
        "listeners": "The servers that accept the request.",
        "sentTo": "The broker that must receive the request. An extension of kwire.",
        "validVersions": "All versions of the message, or `none` to only reserve the api key.",
        "flexibleVersions": "The versions with compact lengths and tagged fields: `N+` or `none`.",
        "headerVersions": "Ranges of versions, mapped to header versions [KIP-1313].",
        "deprecatedVersions": "The versions that a later release will reject.",
        "latestVersionUnstable": "Whether the highest version is not advertised by default.",
        "about": "A one-line description: the sender, the receiver and the reason. An extension of kwire.",
        "aliases": "Former names of the message. An extension of kwire.",
        "fields": "The fields, in the order of their bytes.",
        "commonStructs": "Structs that several fields of the message share.",
    },
    StructDecl: {
        "name": "The name of the class, which fields use as their type.",
        "versions": "The versions in which the struct exists.",
        "about": "A one-line description of the struct. An extension of kwire.",
        "fields": "The fields, in the order of their bytes.",
    },
    FieldDecl: {
        "name": "A letter, then letters and digits. The attribute in Python is in snake case.",
        "type": "A primitive type, a struct, or an array of either: `[]int32`.",
        "versions": "The versions in which the field exists. Default: `taggedVersions`.",
        "taggedVersions": "The versions in which the field is tagged: `N+`.",
        "tag": "The number of the tagged field in its struct.",
        "nullableVersions": "The versions in which the field can be null.",
        "flexibleVersions": "The versions in which the length of this string or bytes field is compact.",
        "default": 'The value in versions without the field, or `"null"` for null.',
        "enum": "The enum that names the values. An extension of kwire.",
        "ignorable": "Whether the value is dropped silently in versions without the field.",
        "mapKey": "Whether Kafka looks up elements by this field. The attribute does not affect bytes.",
        "entityType": "The kind of entity that the value identifies, such as a topic or a broker.",
        "zeroCopy": "Whether Kafka reads the bytes without a copy. The attribute does not affect bytes.",
        "aliases": "Former names of the field. An extension of kwire.",
        "since": "The release that added this tagged field to existing versions. An extension of kwire.",
        "about": "A one-line description for readers and writers, such as the unit and special values.",
        "structAbout": "A one-line description of the inline struct of the field. An extension of kwire.",
        "fields": "The fields of the struct that `type` names.",
    },
    EnumDecl: {
        "type": "An enum names the values of integer fields. An extension of kwire.",
        "name": "The name of the class, to which the `enum` of a field refers.",
        "valueType": "The type of all fields with this enum.",
        "about": "A one-line description of the enum.",
        "values": "The named values. Peers may send values without a name.",
    },
    EnumValueDecl: {
        "name": "A letter, then letters, digits and underscores.",
        "value": "The number on the wire.",
        "about": "A one-line description of the value.",
    },
}
"""The attribute descriptions that editors show."""

_DIGITS = "[0-9]{1,99}"
_RANGE = rf"\s*(?:none|{_DIGITS}(?:-{_DIGITS}|\+)?)\s*"
_TYPE = f"^{re.sub('[?]P<[a-z]+>', '?:', TYPE.pattern)}$"
_INTEGER = {"type": ["integer", "string"], "pattern": rf"^\s*-?(?:{_DIGITS}|0[xX][0-9a-fA-F]{{1,99}})\s*$"}
_TEXTS = {"type": ["array", "string", "null"], "items": {"type": "string"}}
_VERSIONS = {
    "type": ["string", "integer"],
    "minimum": 0,
    "pattern": rf"^(?:{_RANGE}|\s*)$",
    "examples": ["0+", "0-1", "none"],
}
_NODES = {FieldDecl: "field", StructDecl: "struct", EnumValueDecl: "enumValue"}


def _nodes(node: type) -> dict[str, Any]:
    """Return the schema of a list. Kafka's reader also accepts a single object in place of a list with one item."""
    item = {"$ref": f"#/definitions/{_NODES[node]}"}
    return {"anyOf": [{"type": "array", "items": item}, item, {"type": "null"}]}


_BY_TYPE: Mapping[object, dict[str, Any]] = {
    Spanned[str]: {"type": "string"},
    Spanned[int]: _INTEGER,
    Spanned[bool]: {"enum": [True, False, "true", "false"]},
    Spanned[VersionRange]: _VERSIONS,
    Spanned[Literal]: {"type": ["string", "number", "boolean", "null"]},
    TypeExpr: {"anyOf": [{"enum": [*PRIMITIVES]}, {"type": "string", "pattern": _TYPE}]},
    tuple[Spanned[str], ...]: _TEXTS,
    tuple[FieldDecl, ...]: _nodes(FieldDecl),
    tuple[StructDecl, ...]: _nodes(StructDecl),
    tuple[EnumValueDecl, ...]: _nodes(EnumValueDecl),
    tuple[HeaderVersionsDecl, ...]: {
        "type": "object",
        "patternProperties": {f"^(?:{_RANGE}|\\s*)$": _INTEGER},
        "additionalProperties": False,
    },
}

_KNOWN: Mapping[tuple[type, str], dict[str, Any]] = {
    (MessageDecl, "type"): {"enum": [name for name in TYPES if name != "enum"]},
    (EnumDecl, "type"): {"const": "enum"},
    (EnumDecl, "valueType"): {"enum": [*INTEGER_RANGES]},
    (MessageDecl, "sentTo"): {"enum": [*SENT_TO]},
    (MessageDecl, "listeners"): {**_TEXTS, "items": {"anyOf": [{"enum": [*LISTENERS]}, {"type": "string"}]}},
    (FieldDecl, "entityType"): {"anyOf": [{"enum": [*ENTITY_TYPES]}, {"type": "string"}]},
}
"""Schemas of attributes with known values, for completion. If protocols can add values, the schema accepts any
string.
"""


def definitions_schema() -> dict[str, Any]:
    """Return the JSON Schema of a definition file without comments."""
    is_reserved = {"properties": {"validVersions": {"pattern": r"^\s*none\s*$"}}, "required": ["validVersions"]}
    fields = {"if": is_reserved, "else": {"required": ["fields"]}}
    has_versions = {"anyOf": [{"required": ["versions"]}, {"required": ["taggedVersions"]}]}
    is_enum = {"properties": {"type": {"const": "enum"}}, "required": ["type"]}
    return {
        "$schema": DIALECT,
        "title": "Message definition",
        "description": "A message or enum in the dialect of Apache Kafka with the additions of kwire.",
        "if": is_enum,
        "then": {"$ref": "#/definitions/enum"},
        "else": {"$ref": "#/definitions/message"},
        "definitions": {
            "message": {**_node(MessageDecl), **fields},
            "enum": _node(EnumDecl),
            "field": {**_node(FieldDecl), **has_versions},
            "struct": _node(StructDecl),
            "enumValue": _node(EnumValueDecl),
        },
    }


def schema_text() -> str:
    """Return the JSON Schema as JSON text."""
    return json_text(definitions_schema(), levels=9, indent=2) + "\n"


def _node(node: type) -> dict[str, Any]:
    rows = ATTRIBUTES[node]
    return {
        "type": "object",
        "properties": {key: {"description": ABOUT[node][key], **_value(node, key, row)} for key, row in rows.items()},
        "required": [*REQUIRED[node]],
        "additionalProperties": False,
    }


def _value(node: type, key: str, row: Attribute) -> dict[str, Any]:
    return _KNOWN.get((node, key)) or _BY_TYPE[row.type]
