"""The fields of the model of one version, and the names of their attributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire.schema import present_fields

if TYPE_CHECKING:
    from kwire.message import Struct
    from kwire.schema import PresentField

SIZE_ATTRIBUTE = "_size_in_bytes"
"""Suffix of the attribute for the size of records that a log left out."""

RESERVED = frozenset(
    {"construct", "copy", "dict", "from_orm", "json", "parse_file", "parse_obj", "parse_raw", "schema", "schema_json"}
    | {"update_forward_refs", "validate", "for_version", "from_codec", "to_codec", "unknown_tags"}
)
"""Attributes that every model has; the compiler has the same list."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelField:
    """A field that the version has: ``name`` is its attribute in the model, ``codec`` the field of the codec."""

    name: str
    codec: PresentField
    json_name: str

    @property
    def is_records(self) -> bool:
        return self.codec.type == "records"


def model_fields(struct: type[Struct], version: int) -> tuple[ModelField, ...]:
    """The fields that ``version`` has, in wire order."""
    return tuple(
        ModelField(name=model_name(field.name), codec=field, json_name=field.json_name)
        for field in present_fields(struct, version)
    )


def model_name(name: str) -> str:
    """The attribute of a model: that of the codec, with an underscore if pydantic reserves the name."""
    return f"{name}_" if name in RESERVED or name.startswith("model_") else name
