"""Builds the model of one version from the codec class on first use."""

from __future__ import annotations

import functools
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import AliasChoices, Field, Strict, create_model

from kwire.json_form.read import SIZE_NAME
from kwire.models.kinds import KINDS, SIZE
from kwire.schema import PresentField, absent_fields, present_fields, valid_version
from kwire.secrets import SECRETS
from kwire.struct import Struct
from kwire_rules import model_name

if TYPE_CHECKING:
    from kwire.models.model import ModelOf

    M = TypeVar("M", bound=ModelOf[Any])

SIZE_ATTRIBUTE = "_size_in_bytes"
"""Suffix of the attribute for the size of records that a request log omitted."""

_BUILDING = threading.RLock()


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelField:
    """A field in one version. ``name`` is the name of the model's attribute, and ``codec`` is the field of the codec
    class."""

    name: str
    codec: PresentField
    json_name: str

    @property
    def is_records(self) -> bool:
        return self.codec.type == "records"


def build(model: type[M], version: int) -> type[M]:
    """Return the subclass of ``model`` with the fields of ``version``. Repeated calls return the same class."""
    version = valid_version(model.MESSAGE, version)
    with _BUILDING:  # two classes for one version would reject each other's instances
        return _built(model, version)  # type: ignore[return-value]


@functools.cache
def _built(model: type[ModelOf[Any]], version: int) -> type[ModelOf[Any]]:
    struct = model.STRUCT
    fields: dict[str, Any] = {}
    for field in _live(struct, version):
        fields |= _definitions(model, version, field)
    built = create_model(
        f"{struct.__name__}V{version}", __base__=model, __module__=model.__module__, __doc__=model.__doc__, **fields
    )
    built.GENERAL = model
    settle(built, version)
    return built


def settle(model: type[ModelOf[Any]], version: int) -> None:
    """Set the class variables of a model that has the fields of ``version``."""
    model.model_config["hide_input_in_errors"] = model.MESSAGE.__name__ in SECRETS
    model.model_config["title"] = f"{model.STRUCT.__name__} version {version}"
    model.VERSION = version
    model.LIVE = _live(model.STRUCT, version)
    model.ABSENT = absent_fields(model.STRUCT, version)


def _live(struct: type[Struct], version: int) -> tuple[ModelField, ...]:
    return tuple(
        ModelField(name=model_name(field.name), codec=field, json_name=field.json_name)
        for field in present_fields(struct, version)
    )


def _definitions(model: type[ModelOf[Any]], version: int, field: ModelField) -> dict[str, Any]:
    """Return the pydantic definitions of ``field``. Records have a second field for their size."""
    names, annotation = field.codec.json_names, _annotation(model, version, field)
    if not field.is_records:
        return {field.name: (annotation, _field(names, **_default(model, version, field)))}
    sizes = tuple(name + SIZE_NAME for name in names)
    return {
        field.name: (annotation, _field(names, default=None)),
        field.name + SIZE_ATTRIBUTE: (SIZE, _field(sizes, default=None)),
    }


def _field(names: tuple[str, ...], **default: Any) -> Any:
    alias = names[0] if len(names) == 1 else AliasChoices(*names)
    return Field(**default, validation_alias=alias, serialization_alias=names[0])


def _annotation(model: type[ModelOf[Any]], version: int, field: ModelField) -> Any:
    name = field.codec.element_type
    plain: Any = KINDS[name] if name in KINDS else _nested(model, name).for_version(version)
    annotation = Annotated[list[plain], Strict()] if field.codec.is_array else plain
    return annotation | None if field.codec.is_nullable else annotation


def _nested(model: type[ModelOf[Any]], name: str) -> type[ModelOf[Any]]:
    nested: type[ModelOf[Any]] = getattr(sys.modules[model.__module__], f"{name}Model")
    return nested


def _default(model: type[ModelOf[Any]], version: int, field: ModelField) -> dict[str, Any]:
    """Return a field's default as keyword arguments of pydantic's ``Field``. Only tagged fields have a default."""
    default = field.codec.default
    if not field.codec.is_tagged:
        return {}
    if isinstance(default, list):
        return {"default_factory": list}
    if isinstance(default, Struct):
        nested = _nested(model, field.codec.type).for_version(version)
        return {"default_factory": lambda: nested.from_codec(default)}
    if isinstance(default, bytes):
        return {"default_factory": lambda: default}  # pydantic cannot show bytes in a JSON Schema
    return {"default": default}
