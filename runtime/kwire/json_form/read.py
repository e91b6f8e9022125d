"""Kafka's JSON form to codec objects. What reads a struct in a version is put together once, from its fields."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from operator import index
from typing import TYPE_CHECKING, Any, TypeVar

from kwire.errors import KwireError
from kwire.json_form.values import VALUES, Read, Wrong, size
from kwire.schema import PresentField, present_fields, struct_class

if TYPE_CHECKING:
    from kwire.message import Message, Struct

    M = TypeVar("M", bound=Message)


SIZE_NAME = "SizeInBytes"
"""The ending of the name of records of which only the size is given."""


class JsonFormError(KwireError):
    """A value of JSON that is not what message and version say it is.

    ``path`` names the place, as ``topics[3].partitions[0].records``, by the names of the JSON; empty for the message
    as a whole.
    """

    def __init__(self, reason: str, *, message: str = "", version: int | None = None, path: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.message = message
        self.version = version
        self.path = path

    def __str__(self) -> str:
        field = f", field {self.path}" if self.path else ""
        return f"{self.message} v{self.version}{field}: {self.reason}"

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (self.reason, self.message, self.version, self.path)


def from_json(cls: type[M], version: int, value: Any, *, empty_records: bool = False) -> M:
    """The message that ``value``, as ``json`` gives it, is in ``version``.

    Records of which there is but the size (``recordsSizeInBytes``) are known to nobody: an error, or with
    ``empty_records`` no bytes. :class:`JsonFormError` names what is wrong, ``LookupError`` means that there is no
    such version.
    """
    version = index(version)
    if version not in cls.VALID_VERSIONS:
        valid = cls.VALID_VERSIONS
        raise LookupError(f"{cls.__name__} has versions {valid[0]} to {valid[-1]}, not {version}")
    try:
        read: Read = _struct(cls, version, empty_records)  # type: ignore[arg-type]
        message: M = read(value)
        return message
    except Wrong as wrong:
        raise JsonFormError(wrong.reason, message=cls.__name__, version=version, path=_path(wrong)) from None


def _restored(reason: str, message: str, version: int | None, path: str) -> JsonFormError:
    return JsonFormError(reason, message=message, version=version, path=path)


def _path(wrong: Wrong) -> str:
    steps = [f"[{step}]" if type(step) is int else f".{step}" for step in reversed(wrong.path)]
    return "".join(steps).removeprefix(".")


@functools.cache
def _struct(cls: Any, version: int, empty_records: bool) -> Read:
    fields = present_fields(cls, version)
    known: dict[str, tuple[str, Read]] = {}
    for field in fields:
        read = _field(cls, version, field, empty_records)
        known |= dict.fromkeys(field.json_names, (field.name, read))
        if field.type == "records":
            sizes = [name + SIZE_NAME for name in field.json_names]
            known |= dict.fromkeys(sizes, (field.name, _left_out(empty_records)))
    required = frozenset(field.name for field in fields if not field.is_tagged)

    def read_struct(value: Any) -> Struct:
        if type(value) is not dict:
            raise Wrong("it should be an object")
        found = {}
        name = ""
        try:
            for name, item in value.items():
                attribute, read = known[name]
                found[attribute] = read(item)
        except Wrong as wrong:
            wrong.path.append(name)
            raise
        except KeyError:
            raise Wrong(f"there is no field {name!r}") from None
        if len(found) != len(value) or not found.keys() >= required:
            raise _miscounted(fields, known, value)
        made: Struct = cls(**found)
        return made

    return read_struct


def _miscounted(
    fields: tuple[PresentField, ...], known: Mapping[str, tuple[str, Read]], value: dict[str, Any]
) -> Wrong:
    """Fields that are there twice, by several of their names, or that are missing."""
    given = [known[name][0] for name in value]
    for field in fields:
        times = given.count(field.name)
        if times > 1:
            return Wrong(f"{field.json_name} is there {times} times, by several names")
        if not times and not field.is_tagged:
            return Wrong(f"{field.json_name} is missing")
    raise AssertionError("nothing is twice and nothing is missing")


def _field(cls: type[Struct], version: int, field: PresentField, empty_records: bool) -> Read:
    inner: Any = struct_class(cls, field)
    read = VALUES[field.element_type] if inner is None else _struct(inner, version, empty_records)
    if field.is_array:
        read = _array(read)
    return _nullable(read) if field.is_nullable else read


def _nullable(read: Read) -> Read:
    return lambda value: None if value is None else read(value)


def _array(read: Read) -> Read:
    def read_array(value: Any) -> list[Any]:
        if type(value) is not list:
            raise Wrong("it should be an array")
        found: list[Any] = []
        try:
            found.extend(map(read, value))
        except Wrong as wrong:
            wrong.path.append(len(found))  # those before it are there
            raise
        return found

    return read_array


def _left_out(empty_records: bool) -> Read:
    def read_size(value: Any) -> bytes:
        if size(value) and not empty_records:
            raise Wrong("the records were left out: only their size is known")
        return b""

    return read_size
