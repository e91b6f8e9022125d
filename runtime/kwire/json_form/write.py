"""Converts codec objects to Kafka's JSON form. The writer for a struct and version is composed once."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from kwire.json_form.errors import InvalidValueError, convert
from kwire.json_form.read import SIZE_NAME, array, nullable
from kwire.json_form.values import WRITERS, Convert
from kwire.schema import PresentField, absent_fields, present_fields, struct_class, valid_version

if TYPE_CHECKING:
    from kwire.message import Message
    from kwire.struct import Struct


def to_json(message: Message, version: int, *, with_records: bool = False) -> dict[str, Any]:
    """Return the JSON object, ready for ``json.dumps``, that a broker would log for ``message`` in ``version``.

    Records are replaced by their size in bytes (``recordsSizeInBytes``), or encoded as base64 with ``with_records``.
    Tagged fields are included only if they differ from their defaults. Unknown tagged fields are left out, because
    the JSON form cannot represent them. Raise ``JsonFormError`` with the path of a value that the version cannot
    represent. Raise ``kwire.errors.UnknownVersionError`` if the message does not have this version.
    """
    cls = type(message)
    write: Convert = _struct(cls, valid_version(cls, version), with_records)  # type: ignore[arg-type]
    value: dict[str, Any] = convert(write, message, cls, version)
    return value


@functools.cache
def _struct(cls: Any, version: int, with_records: bool) -> Convert:
    writers = [
        (field, field.json_name, _field(cls, version, field, with_records)) for field in present_fields(cls, version)
    ]
    absent = absent_fields(cls, version)

    def write_struct(struct: Any) -> dict[str, Any]:
        if type(struct) is not cls:
            raise InvalidValueError(f"expected {cls.__name__}, got {{}}", struct)
        written: dict[str, Any] = {}
        key = ""
        try:
            for field in absent:
                key, value = field.json_name, getattr(struct, field.name)
                if value != field.default:
                    reason = f"version {version} does not have this field, but it is set to {{}}"
                    raise InvalidValueError(reason, value)
            for present, key, write in writers:
                value = getattr(struct, present.name)
                if not present.is_tagged or value != present.default:
                    item = write(value)
                    is_size = present.type == "records" and type(item) is int
                    written[key + SIZE_NAME if is_size else key] = item
        except InvalidValueError as problem:
            problem.path.append(key)
            raise
        return written

    return write_struct


def _field(cls: type[Struct], version: int, field: PresentField, with_records: bool) -> Convert:
    inner: Any = struct_class(cls, field)
    if inner is not None:
        write = _struct(inner, version, with_records)
    elif field.type == "records" and not with_records:
        write = _size
    else:
        write = WRITERS[field.element_type]
    if field.is_array:
        write = array(write, list, tuple)
    return nullable(write) if field.is_nullable else write


def _size(value: Any) -> int:
    if not isinstance(value, bytes):
        raise InvalidValueError("expected bytes, got {}", value)
    return len(value)
