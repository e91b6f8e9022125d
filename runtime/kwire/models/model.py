"""The base class of all models, which converts between Kafka's JSON form, pydantic and codec classes."""

from __future__ import annotations

import functools
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, SupportsIndex, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    GetJsonSchemaHandler,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError

from kwire.errors import UnknownVersionError
from kwire.json_form.read import SIZE_NAME
from kwire.lookup import PerMessage
from kwire.message import Message
from kwire.models.build import SIZE_ATTRIBUTE, ModelField, build, settle
from kwire.models.kinds import WITH_RECORDS as WITH_RECORDS
from kwire.schema import AbsentField, valid_version
from kwire.secrets import HIDDEN, STRUCTS, hides_tags
from kwire.struct import FieldTags, Struct

S = TypeVar("S", bound=Struct)

OPTIONAL: Any = None
"""``None``, typed as a valid default for any attribute."""

if TYPE_CHECKING:
    from pydantic.functional_validators import ModelWrapValidatorHandler

    class _Typed(BaseModel, Generic[S]):
        """A model of the codec class ``S``."""

else:

    class _Typed(BaseModel):
        """Ignores the type argument of ``_Typed[S]``, for which pydantic would create a class."""

        def __class_getitem__(cls, item: object) -> type:
            return cls


class ModelOf(_Typed[S]):
    """A struct or message as a pydantic model.

    Generated classes cover all versions and only declare attributes. ``for_version`` returns the model of one
    version. The constructor accepts the attribute names of the codec class as keywords. All other input uses Kafka's
    names or the names of an earlier release.
    """

    model_config = ConfigDict(extra="forbid", defer_build=True, protected_namespaces=())

    STRUCT: ClassVar[type[Struct]]
    """The codec class."""

    MESSAGE: ClassVar[type[Message]]
    """The codec class of the whole message."""

    VERSION: ClassVar[int | None] = None
    """The version, or ``None`` in a class for all versions."""

    GENERAL: ClassVar[type[ModelOf[Any]] | None] = None
    """In a model of one version, the class for all versions."""

    LIVE: ClassVar[tuple[ModelField, ...]] = ()
    ABSENT: ClassVar[tuple[AbsentField, ...]] = ()

    _unknown_tags: FieldTags = PrivateAttr(())

    @classmethod
    def for_version(cls, version: int) -> type[Self]:
        """Return the model of one version. Raise ``UnknownVersionError`` if the message lacks this version."""
        general: type[Self] = cls.GENERAL or cls  # type: ignore[assignment]
        return build(general, version)

    @classmethod
    def from_codec(cls, struct: S) -> Self:
        """Return ``struct`` as a model of this version.

        Ignorable fields that the version lacks are left out, as in encoding. Raise pydantic's ``ValidationError`` for
        other values that the version does not support.
        """
        return cls.model_validate(struct)

    def to_codec(self) -> S:
        """Return a codec object with the model's values. Raise ``ValueError`` if only the size of records is
        known."""
        values = {field.codec.name: _to_codec(getattr(self, field.name)) for field in self.LIVE}
        for field in self.LIVE:
            if field.is_records and values[field.codec.name] is None:
                size: int | None = getattr(self, field.name + SIZE_ATTRIBUTE)
                if size:
                    raise ValueError(f"{field.json_name} were left out, and only their size is known")
                values[field.codec.name] = None if size is None else b""
        codec: Any = self.STRUCT
        struct: S = codec(**values, unknown_tags=self._unknown_tags)
        return struct

    @property
    def unknown_tags(self) -> FieldTags:
        """Unknown tagged fields of the codec object. Kafka's JSON form cannot represent such fields."""
        return self._unknown_tags

    @unknown_tags.setter
    def unknown_tags(self, tags: FieldTags) -> None:
        if tags and self.VERSION not in self.MESSAGE.FLEXIBLE_VERSIONS:
            raise ValueError(f"version {self.VERSION} of {self.MESSAGE.__name__} has no tagged fields")
        self._unknown_tags = tags

    def __init__(self, /, **fields: Any) -> None:
        names = {field.name: field.json_name for field in self.LIVE}
        super().__init__(**{names.get(name, name): value for name, value in fields.items()})

    if not TYPE_CHECKING:
        # pydantic treats this constructor as its own and does not call it for validation.
        __init__.__pydantic_base_init__ = True

    @model_validator(mode="wrap")
    @classmethod
    def _validated(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        cls._require_version()
        if isinstance(value, cls):
            return handler(value)
        if type(value) is not cls.STRUCT:
            return cls._with_records(handler(value))
        struct: Any = value
        model = cls._with_records(handler(cls._fields_of(struct)))
        model.unknown_tags = struct.unknown_tags
        return model

    @classmethod
    def _require_version(cls) -> None:
        if cls.VERSION is None:
            raise TypeError(f"{cls.__name__} covers all versions: use {cls.__name__}.for_version(…)")

    @classmethod
    def _fields_of(cls, struct: Struct) -> dict[str, Any]:
        """Return the fields of a codec object as input for validation. Nested structs are read by nested models."""
        values = {field.json_name: getattr(struct, field.codec.name) for field in cls.LIVE}
        for absent in cls.ABSENT:
            value = getattr(struct, absent.name)
            if value != absent.default:
                values[absent.json_name] = value  # validation rejects it as an extra field
        return values

    @classmethod
    def _with_records(cls, model: Self) -> Self:
        """Return ``model`` if it contains either the records or their size, but not both."""
        for field in cls.LIVE:
            if field.is_records:
                given = {field.name, field.name + SIZE_ATTRIBUTE} & model.model_fields_set
                if len(given) != 1:
                    names = {"name": field.json_name, "size": field.json_name + SIZE_NAME}
                    raise PydanticCustomError("records", "Either {name} or {size} is required, not both", names)
        return model

    @model_serializer(mode="wrap", when_used="json")
    def _in_json(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return Kafka's JSON form, with Kafka's names and record sizes. Tagged fields with defaults are omitted."""
        left: dict[str, Any] = handler(self)
        shown = {}
        for field in self.LIVE:
            key = field.name if field.name in left else field.json_name
            if key not in left:  # excluded
                continue
            name, value = field.json_name, left.pop(key)
            if field.is_records:
                size = left.pop(field.name + SIZE_ATTRIBUTE, None)
                size = left.pop(field.json_name + SIZE_NAME, size)
                value = size if value is None else value
                name += SIZE_NAME if type(value) is int else ""
            if not field.codec.is_tagged or getattr(self, field.name) != _default(type(self), field.name):
                shown[name] = value
        return shown | left  # including the fields of a subclass

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        from kwire.models.json_schema import complete, without_serializer

        cls._require_version()
        schema = handler(without_serializer(core_schema))
        complete(cls, handler.resolve_ref_schema(schema))
        return schema

    def __repr_args__(self) -> Any:
        hidden = {path[0]: rule for path, rule in STRUCTS.get(self.STRUCT.__name__, {}).items()}
        for name, value in super().__repr_args__():
            secret = name in hidden and value and hidden[name](self)
            yield name, HIDDEN if secret else value
        if self._unknown_tags:
            yield "unknown_tags", HIDDEN if hides_tags(self.STRUCT) else self._unknown_tags

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        if self.GENERAL is None or type(self) is not self.for_version(self.VERSION or 0):
            return super().__reduce_ex__(protocol)  # pickle finds a subclass by its name
        return _restored, (self.GENERAL, self.VERSION, self.__getstate__())


@functools.cache
def _default(model: type[BaseModel], name: str) -> Any:
    return model.model_fields[name].get_default(call_default_factory=True)


def _to_codec(value: Any) -> Any:
    if type(value) is list:
        return [_to_codec(item) for item in value]
    return value.to_codec() if isinstance(value, ModelOf) else value


def _restored(model: type[ModelOf[Any]], version: int, state: dict[Any, Any]) -> ModelOf[Any]:
    cls = model.for_version(version)
    copy = cls.__new__(cls)
    copy.__setstate__(state)
    return copy


class VersionModel(ModelOf[S]):
    """Base class for models of one version in the output of ``kwirec emit pydantic``.

    A subclass defines ``STRUCT``, ``MESSAGE``, ``VERSION`` and exactly the fields of this version.
    """

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if "VERSION" in cls.__dict__ and cls.VERSION is not None:
            settle(cls, valid_version(cls.MESSAGE, cls.VERSION))

    @classmethod
    def for_version(cls, version: int) -> type[Self]:
        """Return this class. Raise ``UnknownVersionError`` if this class is for another version."""
        if version != cls.VERSION:
            raise UnknownVersionError(version, (cls.VERSION,), of=cls.__name__)
        return cls


class Models(PerMessage[type[ModelOf[Any]]]):
    """The models of all messages in a generated package, by name or former name. Each model is imported on first
    use."""

    def _load(self, name: str, module: str) -> type[ModelOf[Any]]:
        model: type[ModelOf[Any]] = getattr(import_module(f"{self._package}.models.{module}"), f"{name}Model")
        return model
