"""The view as JSON for programs in other languages, and a JSON Schema, which is derived from the classes of the view.

``FORMAT`` is the number of the format and the first entry. Later releases may add keys, and values of ``kind`` and
``status``, without changing this number. If a release removes or renames a key, or changes its meaning or type, the
format gets a new number.
"""

from __future__ import annotations

import base64
import dataclasses
import inspect
import json
from collections.abc import Iterator, Mapping
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from kwirec.json_text import json_text
from kwirec.view import model

FORMAT = 1
_TITLE = "The definitions of a protocol, as `kwirec dump --format json` prints them"
_PLAIN: Mapping[object, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    bytes: {"type": "string", "contentEncoding": "base64"},
    NoneType: {"type": "null"},
    tuple[()]: {"type": "array", "maxItems": 0},
}
_VERSIONS = {
    "description": "The first and last version of each run of consecutive versions.",
    "type": "array",
    "items": {"type": "array", "prefixItems": [{"type": "integer"}] * 2, "minItems": 2, "maxItems": 2},
}


def data_text(schema: model.Schema) -> str:
    """Return the view as JSON."""
    return json.dumps(data_of(schema), indent=1, allow_nan=False) + "\n"


def data_of(schema: model.Schema) -> dict[str, object]:
    """Return the view as values that can be written as JSON."""
    return {"format": FORMAT, **_object(schema)}


def _object(value: Any) -> dict[str, object]:
    return {name: _value(getattr(value, name), as_) for name, as_ in _entries(type(value))}


def _value(value: object, as_: str | None) -> object:
    match value:
        case model.Versions():
            return [list(run) for run in value.ranges]
        case tuple():
            return [_value(item, None) for item in value]
        case bytes():
            return base64.b64encode(value).decode()
        case None | bool() | int() | float() | str():
            return value
    return getattr(value, as_) if as_ else _object(value)


def _entries(cls: type) -> Iterator[tuple[str, str | None]]:
    """Yield the JSON keys of a class, each with the attribute that replaces its value, or ``None``."""
    for field in dataclasses.fields(cls):
        as_ = field.metadata.get("json")
        if as_ != "":
            yield field.name, as_


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of :func:`data_of`."""
    definitions: dict[str, Any] = {}
    root = _object_schema(model.Schema, definitions)
    root["properties"] = {"format": {"const": FORMAT}, **root["properties"]}
    root["required"] = ["format", *root["required"]]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": _TITLE,
        **root,
        "$defs": dict(sorted(definitions.items())),
    }


def _object_schema(cls: type, definitions: dict[str, Any]) -> dict[str, Any]:
    hints = get_type_hints(cls)
    described = " ".join((inspect.getdoc(cls) or "").replace("``", "`").split())
    properties = {
        name: _reference_schema(hints[name], as_) if as_ else _hint_schema(hints[name], definitions)
        for name, as_ in _entries(cls)
    }
    return {
        "description": described,
        "type": "object",
        "properties": properties,
        "required": list(properties),
    }


def _hint_schema(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    if hint in _PLAIN:
        return dict(_PLAIN[hint])
    if hint is model.Versions:
        definitions.setdefault("Versions", _VERSIONS)
    elif get_origin(hint) is UnionType:
        return {"anyOf": [_hint_schema(one, definitions) for one in get_args(hint)]}
    elif get_origin(hint) is tuple:
        items = get_args(hint)
        if items[-1] is Ellipsis:
            return {"type": "array", "items": _hint_schema(items[0], definitions)}
        parts = [_hint_schema(one, definitions) for one in items]
        return {"type": "array", "prefixItems": parts, "minItems": len(parts), "maxItems": len(parts)}
    elif hint.__name__ not in definitions:
        definitions[hint.__name__] = {}
        definitions[hint.__name__] = _object_schema(hint, definitions)
    return {"$ref": f"#/$defs/{hint.__name__}"}


def _reference_schema(hint: Any, attribute: str) -> dict[str, Any]:
    """Return the schema of the attribute that replaces an object in JSON."""
    (cls,) = (one for one in get_args(hint) or (hint,) if one is not NoneType)
    plain = dict(_PLAIN[get_type_hints(cls)[attribute]])
    return {"type": [plain["type"], "null"]} if NoneType in get_args(hint) else plain


def json_schema_text() -> str:
    """Return the JSON Schema as text."""
    return json_text(json_schema(), levels=5, indent=1) + "\n"
