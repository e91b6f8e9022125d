"""Fixes that rename, change or remove attributes in both notations. A fix is empty if its position is uncertain."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.edits import Edit, Fix, replaced
from kwirec.diagnostics.source import Source, Span
from kwirec.frontend.json_lexer import SKIPPED
from kwirec.frontend.json_parser import JsonArray, JsonMember, JsonObject, JsonValue, parse_values
from kwirec.frontend.krammar_types import RANGE, range_text, read_range
from kwirec.frontend.syntax import Dialect, Spanned
from kwirec.versions import VersionRange

_WORDS_AND_RANGE = re.compile(rf"(?:[a-z]+ )*(?P<range>{RANGE})")
_LINE_END = re.compile(r"[ \t]*(?:\r?\n|\Z)")
_BLANKS = re.compile(r"[ \t]*")
_AFTER_WORD = re.compile(r" *, *")


def renamed(span: Span, old: str, new: str | None) -> Fix:
    """Return the fix that replaces the word ``old`` with ``new``, if ``span`` contains it exactly once."""
    places = list(re.finditer(rf"(?<!\w){re.escape(old)}(?!\w)", span.text)) if new else []
    return replaced(span.within(*places[0].span()), new) if new and len(places) == 1 else ()


def with_versions(written: Spanned[VersionRange], versions: VersionRange, dialect: Dialect) -> Fix:
    """Return the fix that replaces the range ``written`` with ``versions``."""
    if dialect == "json":
        return replaced(written.span, f'"{versions}"')
    match = _WORDS_AND_RANGE.fullmatch(written.span.text)
    if match is None or read_range(match["range"]) != written.value:
        return ()  # the range is part of a type or was not written
    return replaced(written.span.within(*match.span("range")), range_text(versions))


def without(span: Span, dialect: Dialect) -> Fix:
    """Return the fix that removes the attribute whose value is at ``span``, unless a comment would be lost."""
    return _without_member(span) if dialect == "json" else _without_word(span)


def _without_word(span: Span) -> Fix:
    text, line = span.source.text, span.source.text.rfind("\n", 0, span.start) + 1
    before = text[line : span.start].rstrip(" ")
    sign = next((sign for sign in (",", "//", "=>") if before.endswith(sign)), None)
    if sign is None:
        return ()  # the attribute is not written as a word
    if sign != "," and (after := _AFTER_WORD.match(text, span.end)) is not None:
        return replaced(Span(span.source, span.start, after.end()), "")
    kept = before if sign == "=>" else before.removesuffix(sign).rstrip(" ")
    return replaced(Span(span.source, line + len(kept), span.end), "")


@dataclass(frozen=True, slots=True)
class _Place:
    """An attribute and all members of the object that contains it."""

    number: int
    members: Sequence[JsonMember]

    @property
    def span(self) -> Span:
        return self.members[self.number].key_span.to(self.members[self.number].value.span)


def _without_member(span: Span) -> Fix:
    places, comments = _places(span.source)
    place = places.get(span.start)
    if place is None or bisect(comments, place.span.start) != bisect(comments, place.span.end):
        return ()
    source, start, end = span.source, place.span.start, place.span.end
    is_last = place.number == len(place.members) - 1
    before = place.members[place.number - 1].value.span.end if is_last and place.number else end
    if (comma := _comma(source, before)) is None:
        return () if len(place.members) > 1 else replaced(_widened(source, start, end), "")
    if comma >= end and not source.text[end:comma].strip():
        return replaced(_widened(source, start, comma + 1), "")
    if comma < start and not source.text[comma + 1 : start].strip(" \t"):
        return replaced(Span(source, comma, end), "")
    return (Edit(Span(source, comma, comma + 1), ""), *replaced(_widened(source, start, end), ""))


def _comma(source: Source, end: int) -> int | None:
    """Return the offset of the comma that follows a value. Comments may precede the comma."""
    match = SKIPPED.match(source.text, end)
    return match.end() if match is not None and source.text.startswith(",", match.end()) else None


def _widened(source: Source, start: int, end: int) -> Span:
    """Return the span to delete, which consists of a range and the white space that would be left over."""
    text, line = source.text, source.text.rfind("\n", 0, start) + 1
    is_first, last = not text[line:start].strip(), _LINE_END.match(text, end)
    if is_first and last is not None:
        return Span(source, line, last.end())
    if last is not None:
        return Span(source, line + len(text[line:start].rstrip(" \t")), end)
    blanks = _BLANKS.match(text, end)
    return Span(source, start, blanks.end() if blanks is not None else end)


@lru_cache(64)
def _places(source: Source) -> tuple[Mapping[int, _Place], Sequence[int]]:
    """Return the attributes of a source, keyed by the offsets of their values and of items within them, and the
    offsets of the comments.
    """
    comments: list[Span] = []
    values = parse_values(source, Report(), many=source.name.endswith(".jsonl"), comments=comments)
    return dict(chain.from_iterable(map(_within, values))), [span.start for span in comments]


def _within(value: JsonValue) -> Iterator[tuple[int, _Place]]:
    match value:
        case JsonObject(members):
            for number, member in enumerate(members):
                place = _Place(number, members)
                yield member.value.span.start, place
                if isinstance(member.value, JsonObject):
                    yield from ((inner.key_span.start, place) for inner in member.value.members)
                if isinstance(member.value, JsonArray):
                    yield from ((item.span.start, place) for item in member.value.items)
                yield from _within(member.value)
        case JsonArray(items):
            for item in items:
                yield from _within(item)
