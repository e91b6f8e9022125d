"""The view of a protocol: what templates of ``kwirec emit`` and ``kwirec dump --format json`` show.

Takes the result of ``load`` and returns values without references to the compiler. Names and meanings of the view are
stable: see ``docs/outputs.md``.
"""

from kwirec.view.build import view_of
from kwirec.view.model import (
    Api,
    Enum,
    EnumValue,
    ErrorCode,
    Field,
    Layout,
    LayoutField,
    Message,
    Release,
    Schema,
    Struct,
    Type,
    Version,
    Versions,
    WireKind,
)
from kwirec.view.selection import Selection, SelectionError

__all__ = [
    "Api",
    "Enum",
    "EnumValue",
    "ErrorCode",
    "Field",
    "Layout",
    "LayoutField",
    "Message",
    "Release",
    "Schema",
    "Selection",
    "SelectionError",
    "Struct",
    "Type",
    "Version",
    "Versions",
    "WireKind",
    "view_of",
]
