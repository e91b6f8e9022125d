"""From text to syntax trees. ``parse(source, report)`` returns a :class:`~kwirec.frontend.syntax.Document`."""

from kwirec.frontend.json_messages import parse
from kwirec.frontend.syntax import Document, FieldDecl, MessageDecl, StructDecl, TypeExpr

__all__ = ["Document", "FieldDecl", "MessageDecl", "StructDecl", "TypeExpr", "parse"]
