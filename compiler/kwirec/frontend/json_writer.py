"""Writes JSON definitions, as the inverse of ``json_messages``. The order of attributes is fixed, and defaults are
omitted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kwirec.frontend.syntax import (
    ATTRIBUTES,
    Comment,
    EnumDecl,
    HeaderVersionsDecl,
    MessageDecl,
    Node,
    Spanned,
    TypeExpr,
)
from kwirec.json_text import NOTHING, Commented, definition_text
from kwirec.versions import VersionRange

END = ""
"""The key for comments at the end of a node. No attribute has an empty name."""


def json_definition(definition: MessageDecl | EnumDecl) -> str:
    """Return the text of a message or enum file, including the comment before the definition."""
    text = definition_text(_node(definition))
    return f"{definition.comment}\n{text}" if definition.comment else text


def _node(node: Node) -> dict[str, object]:
    values = ((key, _value(getattr(node, row.name))) for key, row in ATTRIBUTES[type(node)].items())
    return with_comments({name: value for name, value in values if not _is_absent(name, value)}, node.comments)


def with_comments(values: dict[str, object], comments: Sequence[Comment]) -> dict[str, object]:
    """Return the attributes of a node with its comments. Comments on omitted attributes move to the end."""
    lines: dict[str, list[str]] = {}
    for comment in comments:
        if comment.attribute is not None:
            name = comment.attribute if comment.attribute in values else END
            lines.setdefault(name, []).extend(comment_lines(comment))
    return values | {name: Commented(values.get(name, NOTHING), tuple(before)) for name, before in lines.items()}


def list_item(values: dict[str, object], comments: Sequence[Comment]) -> object:
    """Return the attributes of a list item together with the comments before the item."""
    lines = [line for comment in comments if comment.attribute is None for line in comment_lines(comment)]
    return Commented(values, tuple(lines)) if lines else values


def comment_lines(comment: Comment) -> Iterator[str]:
    """Return the lines of a comment as JSON comments."""
    return (f"// {line}".rstrip() for line in comment.text.split("\n"))


def _value(value: object) -> object:
    match value:
        case Spanned(VersionRange() as versions):
            return str(versions)
        case Spanned(plain):
            return plain
        case TypeExpr():
            return str(value)
        case (HeaderVersionsDecl(), *_):
            entries = (entry for entry in value if isinstance(entry, HeaderVersionsDecl))
            return {str(entry.versions.value): str(entry.header.value) for entry in entries}
        case tuple():
            return [
                list_item(_node(item), item.comments) if isinstance(item, Node) else _value(item) for item in value
            ]
        case _:
            return value


def _is_absent(name: str, value: object) -> bool:
    """Return whether a value can be omitted without a change of meaning."""
    return value is None or value is False or (value == [] and name not in ("fields", "values"))
