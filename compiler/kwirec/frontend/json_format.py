"""Formats a JSON definition. Attributes keep their order, and comments keep their places."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import dedent

from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.source import Source, Span
from kwirec.frontend.comment_text import tidy
from kwirec.frontend.json_comments import FILE, Slot, Slots, place, spans_within
from kwirec.frontend.json_lexer import leading_comment
from kwirec.frontend.json_parser import JsonArray, JsonObject, JsonScalar, JsonValue, parse_values
from kwirec.json_text import NOTHING, Commented, Written, definition_text

_TRAILING = re.compile("[ \t]+$", re.MULTILINE)
_BLANK = re.compile(r"\n[ \t\r]*\n")


def format_json(source: Source) -> str:
    """Return the formatted text of a file that has one definition and was read without findings."""
    spans: list[Span] = []
    (value,) = parse_values(source, Report(), comments=spans)
    assert isinstance(value, JsonObject)
    slots = place([value], spans)
    leading = leading_comment(source.text)
    first, last = slots[FILE]
    after = [line for span in (*first.behind, *last.before) for line in _lines(span)]
    text = _TRAILING.sub("", definition_text(_object(value, slots)))
    head = f"{leading}\n" if leading else ""
    if leading and _BLANK.search(source.text[: value.span.start].rpartition(leading[-1])[2]):
        head += "\n"
    return "".join([head, text, *(f"{line}\n" for line in after)])


def _object(value: JsonObject, slots: Slots) -> dict[str, object]:
    found: dict[str, object] = {}
    *own, last = slots.get(value.span.start) or [Slot()] * (len(value.members) + 1)
    for member, slot in zip(value.members, own, strict=True):
        if isinstance(member.value, JsonObject):  # written on one line, which leaves no room for comments
            slot = Slot([*slot.before, *spans_within(member.value, slots)], slot.behind)
            found[member.key] = _commented(_object(member.value, {}), slot)
        else:
            found[member.key] = _commented(_value(member.value, slots), slot)
    return {**found, "": Commented(NOTHING, _before(last))} if last.before else found


def _value(value: JsonValue, slots: Slots) -> object:
    match value:
        case JsonObject():
            return _object(value, slots)
        case JsonArray(items):
            *own, last = slots.get(value.span.start) or [Slot()] * (len(items) + 1)
            found = [_commented(_value(item, slots), slot) for item, slot in zip(items, own, strict=True)]
            return [*found, Commented(NOTHING, _before(last))] if last.before else found
        case JsonScalar(bool() | str() | None):
            return value.value
        case _:
            return Written(value.span.text)


def _commented(value: object, slot: Slot) -> object:
    behind = " ".join(line for span in slot.behind for line in _lines(span))
    return Commented(value, _before(slot), behind) if slot.before or behind else value


def _before(slot: Slot) -> tuple[str, ...]:
    return tuple(line for span in slot.before for line in _lines(span))


def _lines(comment: Span) -> Iterator[str]:
    """Yield the lines of a comment, with one space before the text and with aligned asterisks."""
    first, *others = comment.text.split("\n")
    yield tidy(first, "//")
    starred = [line.lstrip().startswith("*") for line in others]
    words = iter(
        dedent("\n".join(line for line, stars in zip(others, starred, strict=True) if not stars)).split("\n")
    )
    for line, stars in zip(others, starred, strict=True):
        yield f" {line.strip()}" if stars else f"   {next(words)}".rstrip()
