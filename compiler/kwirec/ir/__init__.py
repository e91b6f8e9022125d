"""The rich intermediate representation. ``resolve(documents, report)`` returns a ``Schema``."""

from kwirec.ir.resolve import resolve
from kwirec.ir.schema import ArrayType, Field, Message, MessageKind, PrimitiveType, Schema, Struct, StructType, Type

__all__ = [
    "ArrayType",
    "Field",
    "Message",
    "MessageKind",
    "PrimitiveType",
    "Schema",
    "Struct",
    "StructType",
    "Type",
    "resolve",
]
