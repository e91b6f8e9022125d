"""Converts Kafka's JSON form to codec objects. The reader for a struct and version is composed once."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from kwire.errors import suggestion
from kwire.json_form.errors import InvalidValueError, convert
from kwire.json_form.values import READERS, Convert, size
from kwire.schema import PresentField, present_fields, struct_class, valid_version

if TYPE_CHECKING:
    from kwire.message import Message
    from kwire.struct import Struct

    M = TypeVar("M", bound=Message)


SIZE_NAME = "SizeInBytes"
"""Suffix of the JSON key for the size of records. Logs contain this size instead of the records."""


def from_json(cls: type[M], value: Any, version: int, *, empty_records: bool = False) -> M:
    """Return the message represented by ``value``, which ``json.loads`` parsed from the JSON form of ``version``.

    If ``value`` contains only the size of records (``recordsSizeInBytes``), raise an error or, with
    ``empty_records``, set the records to ``b""``. Raise ``JsonFormError`` with the path of an invalid value. Raise
    ``kwire.errors.UnknownVersionError`` if the message does not have this version.
    """
    read: Convert = _struct(cls, valid_version(cls, version), empty_records)  # type: ignore[arg-type]
    message: M = convert(read, value, cls, version)
    return message


@functools.cache
def _struct(cls: Any, version: int, empty_records: bool) -> Convert:
    fields = present_fields(cls, version)
    known: dict[str, tuple[str, Convert]] = {}
    for field in fields:
        read = _field(cls, version, field, empty_records)
        known |= dict.fromkeys(field.json_names, (field.name, read))
        if field.type == "records":
            read = functools.partial(_no_records, empty_records)
            known |= {name + SIZE_NAME: (field.name, read) for name in field.json_names}
    required = frozenset(field.name for field in fields if not field.is_tagged)

    def read_struct(value: Any) -> Struct:
        if type(value) is not dict:
            raise InvalidValueError("expected an object")
        values = {}
        key = ""
        try:
            for key, item in value.items():
                name, read = known[key]
                values[name] = read(item)
        except InvalidValueError as problem:
            problem.path.append(key)
            raise
        except KeyError:
            raise InvalidValueError(f"unknown field {key!r}{suggestion(key, known)}") from None
        if len(values) != len(value) or not values.keys() >= required:
            raise _miscounted(fields, known, value)
        struct: Struct = cls(**values)
        return struct

    return read_struct


def _miscounted(
    fields: tuple[PresentField, ...], known: Mapping[str, tuple[str, Convert]], value: dict[str, Any]
) -> InvalidValueError:
    """Return the error for a field that is missing, or that appears under several of its names."""
    names = [known[key][0] for key in value]
    for field in fields:
        times = names.count(field.name)
        if times > 1:
            return InvalidValueError(f"{field.json_name} appears {times} times, under several names")
        if not times and not field.is_tagged:
            return InvalidValueError(f"{field.json_name} is missing")
    raise AssertionError("no field is missing or appears twice")


def _field(cls: type[Struct], version: int, field: PresentField, empty_records: bool) -> Convert:
    inner: Any = struct_class(cls, field)
    read = READERS[field.element_type] if inner is None else _struct(inner, version, empty_records)
    if field.is_array:
        read = array(read, list)
    return nullable(read) if field.is_nullable else read


def nullable(convert: Convert) -> Convert:
    """Return a function that converts all values except ``None``, which it returns unchanged."""
    return lambda value: None if value is None else convert(value)


def array(convert: Convert, *types: type) -> Convert:
    """Return a function that converts each element of an array. The array must have one of the ``types``."""

    def convert_array(value: Any) -> list[Any]:
        if type(value) not in types:
            raise InvalidValueError("expected an array")
        items: list[Any] = []
        try:
            items.extend(map(convert, value))
        except InvalidValueError as problem:
            problem.path.append(len(items))  # extend keeps the elements before the invalid one
            raise
        return items

    return convert_array


def _no_records(empty_records: bool, value: Any) -> bytes:
    """Return ``b""`` in place of records, given their size from the log."""
    if size(value) and not empty_records:
        raise InvalidValueError("the log contains only the size of these records")
    return b""
