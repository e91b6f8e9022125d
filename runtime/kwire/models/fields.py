"""Which fields the model of a version has: those of the JSON form, with their attributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire.json_form.fields import SIZE_NAME, LackedField, LiveField, lacked_fields, live_fields

if TYPE_CHECKING:
    from kwire.message import Struct

__all__ = ["SIZE_ATTRIBUTE", "SIZE_NAME", "LackedField", "ModelField", "lacked_fields", "model_fields", "model_name"]

SIZE_ATTRIBUTE = "_size_in_bytes"
"""What follows the attribute of records where only their size is given."""

TAKEN = frozenset(
    {"construct", "copy", "dict", "from_orm", "json", "parse_file", "parse_obj", "parse_raw", "schema", "schema_json"}
    | {"update_forward_refs", "validate", "for_version", "from_codec", "to_codec", "unknown_tags"}
)
"""Attributes that every model has; the compiler knows the same."""


@dataclass(frozen=True, kw_only=True)
class ModelField(LiveField):
    """A field that the version has; ``name`` is its attribute in the model."""

    name: str


def model_fields(struct: type[Struct], version: int, *, flexible: bool) -> tuple[ModelField, ...]:
    """The fields that ``version`` has, in wire order."""
    live = live_fields(struct, version, flexible=flexible)
    return tuple(ModelField(**vars(field), name=model_name(field.codec_name)) for field in live)


def model_name(name: str) -> str:
    """The attribute of a model: as in the codec, unless pydantic has the name for something else."""
    return f"{name}_" if name in TAKEN or name.startswith("model_") else name
