"""Emits declarations of pydantic models, for type checkers and readers.

A model class declares the attributes of all versions with types and descriptions. On first use, ``kwire.models``
builds the model for a version from this class and the codec class (docs/decisions/models.md).
"""

from __future__ import annotations

from collections.abc import Iterator

from kwire_rules import model_name
from kwirec.emitters.environment import Artifact, docstring, render
from kwirec.emitters.modules import ClassSource, ModuleGroup
from kwirec.emitters.views import described, is_nullable, type_name
from kwirec.ir.schema import PrimitiveType

Attribute = tuple[str, str, str]
"""The name of an attribute, its annotation with the default, and its docstring."""


def emit_models(group: ModuleGroup, *, package: str) -> Artifact:
    """Return the model module for one codec module."""
    folder, _, codec = f"{package}.{group.path}".rpartition(".")
    models = [(source, docstring(source.doc), list(_attributes(source))) for source in group.classes()]
    annotations = " ".join(annotation for _, _, attributes in models for _, annotation, _ in attributes)
    module = {
        "title": f"Models of {group.title}.",
        "origin": group.origin,
        "folder": folder,
        "codec": codec,
        "uuids": "Uuid" in annotations,
        "optional": "OPTIONAL" in annotations,
        "models": models,
    }
    return Artifact(path=f"models/{group.file}", text=render("model.jinja", module=module))


def _attributes(source: ClassSource) -> Iterator[Attribute]:
    models = {struct: f"{cls}Model" for struct, cls in source.names.items()}
    for field in source.fields:
        name = model_name(source.attribute(field))
        records = field.type == PrimitiveType("records")
        required = all(v in field.versions and v not in field.tagged for v in source.versions) and not records
        annotation = type_name(field.type, models) + (" | None" if is_nullable(field) else "")
        doc = docstring(described(source.message, field), indent=8)
        yield name, annotation if required else f"{annotation} = OPTIONAL", doc
        if records:
            size = docstring(
                f"Size of {name} in bytes. It is set only if nothing else is known about them.", indent=8
            )
            yield f"{name}_size_in_bytes", "int | None = OPTIONAL", size
