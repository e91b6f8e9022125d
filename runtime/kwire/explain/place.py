"""Where in a message a slow reader or writer is, and what both know about fields and types."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from kwire.message import Message, Struct

if TYPE_CHECKING:
    from kwire.message import FieldSpec

SIZES = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "float64": 8,
    "uuid": 16,
}
FORMATS = {
    "int8": ">b",
    "int16": ">h",
    "uint16": ">H",
    "int32": ">i",
    "uint32": ">I",
    "int64": ">q",
    "float64": ">d",
}
RANGES = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
}


class Place:
    """Where in a message a reader or writer is."""

    def __init__(self, cls: type[Message], version: int) -> None:
        self.message = cls.__name__
        self.version = version
        self.flexible = version in cls.FLEXIBLE_VERSIONS
        self.parts: list[str] = []

    def __str__(self) -> str:
        return "".join(part if part.startswith("[") else f".{part}" for part in self.parts).lstrip(".")

    def compact(self, spec: FieldSpec) -> bool:
        """A field's own flexible versions change how its length is coded and nothing else [KAFKA-WIRE 4]."""
        return self.flexible and (spec[7] is None or within(self.version, spec[7]))

    def tagged(self, spec: FieldSpec) -> bool:
        return self.flexible and within(self.version, spec[6])


def within(version: int, versions: tuple[int, int] | None) -> bool:
    return versions is not None and versions[0] <= version <= versions[1]


def struct_class(owner: type[Struct], name: str) -> type[Struct]:
    """The class that a field of ``owner`` names as its type."""
    return getattr(sys.modules[owner.__module__], name)  # type: ignore[no-any-return]


def check_version(cls: type[Message], version: int, fail: Callable[[str], NoReturn]) -> None:
    """``fail`` unless ``cls`` has this version."""
    if version not in cls.VALID_VERSIONS:
        valid = cls.VALID_VERSIONS
        known = f"{valid.start} to {valid.stop - 1}" if valid else "none"
        fail(f"there is no version {version}, the valid ones are {known}")
