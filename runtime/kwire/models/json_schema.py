"""Completes pydantic's JSON Schema of a model with names from earlier releases, record sizes and descriptions."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, cast

from kwire.enums import as_dict
from kwire.json_form.read import SIZE_NAME
from kwire.json_form.values import in_base64
from kwire.models.build import SIZE_ATTRIBUTE, ModelField
from kwire.schema import description, enum_class
from kwire.uuids import Uuid

if TYPE_CHECKING:
    from pydantic_core import CoreSchema

    from kwire.models.model import ModelOf

Schema = dict[str, Any]


def without_serializer(core_schema: CoreSchema) -> CoreSchema:
    """Return ``core_schema`` without the model's serializer, which pydantic could not describe in a JSON Schema."""
    twin: Any = {key: value for key, value in core_schema.items() if key != "serialization"}
    if twin["type"] != "model" and "schema" in twin:  # a validator's schema contains the model's schema
        twin["schema"] = without_serializer(twin["schema"])
    return cast("CoreSchema", twin)


def complete(model: type[ModelOf[Any]], schema: Schema) -> None:
    """Change pydantic's ``schema`` so that it accepts exactly the same values as ``model``."""
    names_in_json = _names_in_json(model)
    properties: Schema = {
        names_in_json.get(name, name): place for name, place in schema.get("properties", {}).items()
    }
    schema["properties"] = properties
    required = [names_in_json.get(name, name) for name in schema.pop("required", [])]
    rules: list[Schema] = []
    for field in model.LIVE:
        place = properties[field.json_name]
        place.pop("title", None)
        if field.is_records:
            place.pop("default")
        default = field.codec.default
        if field.codec.is_tagged and isinstance(default, bytes):
            place["default"] = str(default) if isinstance(default, Uuid) else in_base64(default)
        if text := description(model.STRUCT, field.codec.name):
            place["description"] = text
        if (enum := enum_class(model.STRUCT, field.codec)) is not None:
            place["x-enum"] = as_dict(enum)  # not `enum`, because other values are also valid
        names = _alternatives(field, properties)
        if len(names) > 1:
            required = [name for name in required if name not in names]
            rules.append(
                _none_or_one(names) if field.codec.is_tagged else {"oneOf": [{"required": [name]} for name in names]}
            )
    if required:
        schema["required"] = required
    if rules:
        schema["allOf"] = rules


def _names_in_json(model: type[ModelOf[Any]]) -> dict[str, str]:
    """Return Kafka's names by attribute. JSON uses these names even with ``by_alias=False``."""
    names = {field.name: field.json_name for field in model.LIVE}
    sizes = {f.name + SIZE_ATTRIBUTE: f.json_name + SIZE_NAME for f in model.LIVE if f.is_records}
    return names | sizes


def _alternatives(field: ModelField, properties: Schema) -> list[str]:
    """Return all JSON names of a field, and add properties for the names that pydantic omits."""
    names = list(field.codec.json_names)
    for name in names[1:]:
        properties[name] = properties[field.json_name] | {"deprecated": True}
    if field.is_records:
        size = properties[field.json_name + SIZE_NAME]
        size.clear()
        size |= {
            "type": "integer",
            "minimum": 0,
            "maximum": 2**31 - 1,
            "description": "Size of the omitted records in bytes.",
        }
        for name in names[1:]:
            properties[name + SIZE_NAME] = size | {"deprecated": True}
        names += [name + SIZE_NAME for name in names]
    return names


def _none_or_one(names: list[str]) -> Schema:
    return {"not": {"anyOf": [{"required": list(pair)} for pair in combinations(names, 2)]}}
