"""Checking for values of fields that a version has replaced, such as topic names, which topic ids have replaced."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from kwire.errors import EncodeError
from kwire.schema import present_fields, struct_class, valid_version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire.message import Message
    from kwire.schema import Field, PresentField
    from kwire.struct import Struct


def check_replaced(message: Message, version: int) -> None:
    """Raise ``EncodeError`` if encoding in ``version`` would drop a value whose replacement is not set.

    The replacements of a dropped field are the fields of the same struct that were added in the version after the
    last version with the dropped field. Because the field is ignorable, encoding would not fail, and the peer would
    see the defaults of the replacements.
    """
    for path, field, others in _lost(message, valid_version(type(message), version), ""):
        reason = f"version {version} drops this field: set {' or '.join(other.name for other in others)} instead"
        raise EncodeError(reason, message_name=type(message).__name__, version=version, path=f"{path}{field.name}")


def _lost(struct: Struct, version: int, path: str) -> Iterator[tuple[str, Field, tuple[PresentField, ...]]]:
    cls: Any = type(struct)
    for field, default, others in replaced_fields(cls, version):
        if getattr(struct, field.name) != default and all(getattr(struct, one.name) == one.default for one in others):
            yield path, field, others
    for field in _to_search(cls, version):
        value = getattr(struct, field.name)
        if field.is_array:
            for number, item in enumerate(value or ()):
                if isinstance(item, struct_class(cls, field) or ()):  # encoding reports other types
                    yield from _lost(item, version, f"{path}{field.name}[{number}].")
        elif isinstance(value, struct_class(cls, field) or ()):
            yield from _lost(value, version, f"{path}{field.name}.")


@cache
def replaced_fields(cls: Any, version: int) -> tuple[tuple[Field, object, tuple[PresentField, ...]], ...]:
    """Return the ignorable fields that ``version`` lacks, each with its default and the fields that replace it."""
    defaults = cls()
    found = []
    for field in cls.FIELDS:
        if field.ignorable and field.versions and field.versions.stop <= version:
            others = [one for one in present_fields(cls, version) if one.versions.start == field.versions.stop]
            if others:
                found.append((field, getattr(defaults, field.name), tuple(others)))
    return tuple(found)


@cache
def _to_search(cls: Any, version: int) -> tuple[PresentField, ...]:
    """Return the fields whose structs contain replaced fields at any depth."""
    found = []
    for field in present_fields(cls, version):
        inner: Any = struct_class(cls, field)
        if inner is not None and (replaced_fields(inner, version) or _to_search(inner, version)):
            found.append(field)
    return tuple(found)
