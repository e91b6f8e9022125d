"""Runtime classes made from layouts, for use with ``kwire.trace`` and ``Message.encode``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from itertools import count
from types import ModuleType
from typing import Any

from kwire.message import Message
from kwire.schema import NEVER, Field
from kwire.struct import Struct
from kwirec.lowering.layout import (
    SCALARS,
    ArrayKind,
    BlobKind,
    FieldLayout,
    Kind,
    MessageLayout,
    ScalarKind,
    StructKind,
    TagLayout,
)
from kwirec.naming import python_name

TYPES = {kind.text: name for name, kind in SCALARS.items()}
"""Names of fixed-size types in definitions, by their names in layouts."""

UNSET = object()
"""The value of unset fields. No default equals this value, so every tagged field that is set is written."""

_NUMBERS = count()


def message_class(layout: MessageLayout, version: int, names: Mapping[str, str]) -> type[Message]:
    """Return a class for one version of a message. ``names`` maps structs to their class names."""
    return _Classes(layout, version, names).make(layout.body, layout.message, Message)


class _Classes:
    """The classes of a message, all in one module, where the runtime looks up the struct classes of fields."""

    def __init__(self, layout: MessageLayout, version: int, names: Mapping[str, str]) -> None:
        self.names = names
        self.versions = range(version, version + 1)
        self.flexible = self.versions if layout.is_flexible else NEVER
        self.module = ModuleType(f"{__name__}.{next(_NUMBERS)}")
        sys.modules[self.module.__name__] = self.module

    def make(self, struct: StructKind, name: str, base: type[Any]) -> type[Any]:
        fields = tuple(map(self.field, struct.all_fields))
        content: dict[str, object] = {
            "__module__": self.module.__name__,
            "FIELDS": fields,
            "VALID_VERSIONS": self.versions,
            "FLEXIBLE_VERSIONS": self.flexible,
            "unknown_tags": (),
        }
        cls = type(name, (base,), content | dict.fromkeys((field.name for field in fields), UNSET))
        setattr(self.module, name, cls)
        return cls

    def field(self, field: FieldLayout | TagLayout) -> Field:
        kind = field.kind
        is_compact = isinstance(kind, BlobKind | ArrayKind) and kind.compact
        tag = field.tag if isinstance(field, TagLayout) else None
        return Field(
            python_name(field.name),
            field.name,
            self.type(kind),
            self.versions,
            nullable=NEVER if isinstance(kind, ScalarKind) or not kind.nullable else self.versions,
            tag=tag,
            tagged=NEVER if tag is None else self.versions,
            flexible=self.versions if is_compact else NEVER,
        )

    def type(self, kind: Kind) -> str:
        """Return the type in the notation of definitions. For a struct, also make its class."""
        match kind:
            case ScalarKind():
                return TYPES[kind.text]
            case BlobKind():
                return "string" if kind.string else "records" if kind.records else "bytes"
            case ArrayKind():
                return f"[]{self.type(kind.element)}"
            case StructKind():
                name = self.names.get(kind.name, kind.name)
                return self.make(kind, name, Struct).__name__
