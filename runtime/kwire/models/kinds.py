"""Protocol types as pydantic annotations for validation, JSON form and JSON Schema.

Python and JSON input may contain Python values (``bytes``, ``Uuid``, ``float``) and the values of Kafka's JSON form
(base64, URL-safe base64 without padding, ``"NaN"``). Other values are not converted, so ``"1"`` and ``True`` are not
accepted as integers.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    PlainValidator,
    SerializationInfo,
    Strict,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from kwire.json_form.values import NOT_FINITE, UUID, float_in_json, from_base64, in_base64, is_uuid, size_in_utf8
from kwire.uuids import Uuid
from kwire_rules import INTEGER_RANGES, MAX_STRING, TYPES

WITH_RECORDS = {"records": True}
"""Serialization context that writes records as base64 instead of their size."""

# `$` would also match before a final line break in some dialects.
_END = r"(?![\s\S])"
_BASE64 = rf"^(?:[A-Za-z0-9+/]{{4}})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{{2}}[AEIMQUYcgkosw048]=)?{_END}"


def _whole(value: Any) -> Any:
    """Return 1 for 1.0, because JSON does not distinguish them."""
    return int(value) if type(value) is float and value.is_integer() else value


def _utf8(value: str) -> str:
    size = size_in_utf8(value)  # pydantic has refused lone surrogates
    if size > MAX_STRING:
        limits = {"longest": MAX_STRING, "size": size}
        raise PydanticCustomError("string_size", "String should have at most {longest} bytes, not {size}", limits)
    return value


def _number(value: Any) -> Any:
    return NOT_FINITE.get(value, value) if type(value) is str else value


def _bytes(value: Any) -> Any:
    if type(value) is not str:
        return value
    found = from_base64(value)
    if found is None:
        raise PydanticCustomError("base64", "String should be base64, padded and without line breaks")
    return found


def _uuid(value: Any) -> Uuid:
    if isinstance(value, bytes) and len(value) == 16:
        return value if type(value) is Uuid else Uuid(value)
    if type(value) is str and is_uuid(value):
        return Uuid.parse(value)
    raise PydanticCustomError("uuid", "Input should be a uuid: 16 bytes, or 22 characters of URL-safe base64")


def _records_in_json(value: bytes | None, info: SerializationInfo[Any]) -> str | int | None:
    if value is None:  # omitted records, even if null is not allowed
        return None
    return in_base64(value) if info.context == WITH_RECORDS else len(value)


_Bytes = Annotated[
    bytes,
    Strict(),
    BeforeValidator(_bytes),
    WithJsonSchema({"type": "string", "contentEncoding": "base64", "pattern": _BASE64}),
]

_Float = Annotated[
    float,
    Strict(),
    BeforeValidator(_number),
    PlainSerializer(float_in_json, when_used="json"),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"enum": [*NOT_FINITE]}]}),
]

KINDS: dict[str, Any] = {kind: _Float for kind, python in TYPES.items() if python == "float"}
KINDS |= {
    kind: Annotated[int, Strict(), Field(ge=low, le=high), BeforeValidator(_whole)]
    for kind, (low, high) in INTEGER_RANGES.items()
} | {
    "bool": Annotated[bool, Strict()],
    "string": Annotated[str, Strict(), Field(max_length=MAX_STRING), AfterValidator(_utf8)],
    "uuid": Annotated[
        Uuid,
        PlainValidator(_uuid),
        PlainSerializer(str, when_used="json"),
        WithJsonSchema({"type": "string", "pattern": UUID}),
    ],
    "bytes": Annotated[_Bytes, PlainSerializer(in_base64, when_used="json")],
    "records": Annotated[_Bytes, PlainSerializer(_records_in_json, when_used="json")],
}
"""Annotations by primitive type of the protocol."""

SIZE = Annotated[
    int,
    Strict(),
    Field(ge=0, le=INTEGER_RANGES["int32"][1]),
    BeforeValidator(_whole),
    PlainSerializer(lambda size: size),
]
"""The annotation for the size of records that a log omitted. The default ``None`` is not a valid input."""
