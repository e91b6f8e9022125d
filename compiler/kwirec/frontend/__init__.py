"""Parses text into syntax trees. ``parse(source, report)`` returns a :class:`~kwirec.frontend.syntax.Document`."""

from kwirec.frontend.json_messages import parse_errors
from kwirec.frontend.krammar_link import link
from kwirec.frontend.notation import parse
from kwirec.frontend.syntax import Document, EnumDecl, ErrorDecl, FieldDecl, MessageDecl, StructDecl, TypeExpr

__all__ = [
    "Document",
    "EnumDecl",
    "ErrorDecl",
    "FieldDecl",
    "MessageDecl",
    "StructDecl",
    "TypeExpr",
    "link",
    "parse",
    "parse_errors",
]
