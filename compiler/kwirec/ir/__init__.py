"""The intermediate representation. ``resolve(documents, report)`` returns a ``Schema``."""

from kwirec.ir.resolve import resolve
from kwirec.ir.schema import Message, MessageKind, Schema

__all__ = ["Message", "MessageKind", "Schema", "resolve"]
