"""The view of a protocol, which is used by ``kwirec emit`` templates and shown by ``kwirec dump --format json``.

The view is built from the result of ``load`` and does not refer to the compiler. The names in the view and their
meanings are stable, as described in ``docs/outputs.md``.
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
