"""Showing a trace as text, one line per span, with columns for offset, bytes, field, type and value."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from math import isfinite

from kwire.errors import DecodeError, counted, cut
from kwire.secrets import concealed
from kwire.trace.batches import expand_records
from kwire.trace.spans import LEFT_OUT, MAX_SPANS, Span, Trace, trace_message
from kwire_rules import printable

Note = Callable[[Span], str]
"""A function that returns a note on a span's value, such as the name of an error code, or ``""``."""

HEX = 24
VALUE = 72
_ERROR = ("message_name", "version", "path", "offset", "reason")
_TITLES = ("offset", "bytes", "field", "type", "value")


def show(found: Trace, note: Note | None = None, *, last: int | None = None) -> str:
    """Return a trace as text. With ``last``, show only this many lines, which end at the invalid byte or at the end
    of the trace.

    A mark below the line with the invalid byte gives the reason for the error.
    """
    spans = spans_of(found)
    wrong = marked(found, spans)
    count = len(spans) if last is None else last
    hidden = max(0, wrong + 1 - count)  # the mark may be far from the end, because the checksum precedes the records
    after = max(0, len(spans) - hidden - count)
    rows = [columns(span, found.data, note) for span in spans[hidden : hidden + count]]
    widths = [max(map(len, column)) for column in zip(_TITLES, *rows, strict=True)]
    lines = [_line(_TITLES, widths)]
    if hidden:
        lines.append(f"{'…':>{widths[0]}}  {_count(spans[:hidden])} lines before")
    for number, row in enumerate(rows, hidden):
        lines.append(_line(row, widths))
        if number == wrong and found.error:
            lines.append(" " * (widths[0] + 2) + f"^^ {printable(found.error.reason)}")
    if after:
        lines.append(f"{'…':>{widths[0]}}  {_count(spans[-after:])} lines after")
    return "\n".join(lines) + "\n"


def annotate(error: DecodeError, lines: int = 20) -> str:
    """Return an error message followed by the last ``lines`` of the trace up to the invalid byte, which is marked.

    For an error in records, the lines show the record batch.
    """
    found = Trace(error.data, [], error)
    if error.origin and error.version is not None:
        cls, offset, policy = error.origin
        found = trace_message(cls, error.data, error.version, policy, offset=offset, most=max(lines, MAX_SPANS))
    elif error.position is not None:
        spans = list(expand_records(error.data, 0, len(error.data), "", 0))
        inside = DecodeError(error.reason, offset=error.offset - error.position)
        return f"{printable(str(error))}\n\nthe batch:\n{show(Trace(error.data, spans, inside), last=lines)}"
    return f"{printable(str(error))}\n\n{show(found, last=lines)}"


def as_json(found: Trace, note: Note | None = None, *, most: int | None = None) -> dict[str, object]:
    """Return a trace as JSON data, with all spans, their bytes, and the error or ``None``.

    With ``most``, the bytes and value of each span are truncated to this many bytes or characters, and an ellipsis is
    appended.
    """
    size = len(found.data) if most is None else most
    spans = [
        {
            "offset": span.start,
            "bytes": _digits(found.data[span.start : span.content if span.secret else span.end], size),
            "path": span.path,
            "name": span.name,
            "type": span.kind,
            "value": None if span.secret else _plain(span.value, size),
            "note": _hidden(span) if span.secret else _meaning(span, note) or span.text,
        }
        for span in spans_of(found)
    ]
    error = found.error
    return {
        "size": len(found.data),
        "spans": spans,
        "error": error and {name: getattr(error, name) for name in _ERROR},
    }


def spans_of(found: Trace) -> list[Span]:
    """Return all spans, followed by up to two spans of kind ``?`` for bytes that were not read."""
    return [*found.spans, *_unread(found)]


def _count(spans: list[Span]) -> int:
    """Return the number of spans, including omitted spans."""
    return sum(span.value if span.name == LEFT_OUT and type(span.value) is int else 1 for span in spans)


def _unread(found: Trace) -> Iterator[Span]:
    """Yield spans for the bytes that were not read. If there is an invalid byte, a span begins there, so that it can
    be marked."""
    end, size, error = found.end, len(found.data), found.error
    if error and end < error.offset <= size:
        yield _rest(found, end, error.offset)
        end = error.offset
    if end < size or (error and end == error.offset):
        yield _rest(found, end, size)


def _rest(found: Trace, start: int, end: int) -> Span:
    path = found.error.path if found.error else ""
    secret = found.secret and end > start
    text = f"{counted(end - start, 'byte')} not read" if end > start else "the end of the data"
    text += ", hidden" if secret else ""
    parts = path.replace("[", ".[").split(".") if path else [""]
    return Span(start, end, path, parts[-1], "?", found.data[start:end], depth=len(parts), text=text, secret=secret)


def marked(found: Trace, spans: list[Span]) -> int:
    """Return the index of the span that contains the invalid byte, or of the last span."""
    at = found.error.offset if found.error else found.end
    return next((index for index, span in enumerate(spans) if span.start <= at < span.end), len(spans) - 1)


def columns(span: Span, data: bytes, note: Note | None = None) -> tuple[str, str, str, str, str]:
    """Return the columns of a span: offset, bytes, indented name, type, and value with its meaning."""
    has_place = span.end > span.start or span.kind == "?"
    value = _hidden(span) if span.secret else span.text or cut(value_text(span), VALUE)
    return (
        str(span.start) if has_place else "",
        _hex(data, span),
        "  " * span.depth + printable(span.name),
        span.kind,
        printable("  ".join(filter(None, (value, "" if span.secret else _meaning(span, note))))),
    )


def _meaning(span: Span, note: Note | None) -> str:
    return span.meaning or (note(span) if note else "")


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    offset, *others = row
    cells = [f"{offset:>{widths[0]}}", *[f"{cell:<{width}}" for cell, width in zip(others, widths[1:], strict=True)]]
    return "  ".join(cells).rstrip()


def _hex(data: bytes, span: Span) -> str:
    head, content = data[span.start : span.content], data[span.content : min(span.end, span.content + HEX)]
    text = f"{head.hex()} {'' if span.secret else content.hex()}".strip()
    return cut(text, HEX)


def _hidden(span: Span) -> str:
    if span.kind == "?" or span.name == LEFT_OUT:
        return span.text
    return f"{span.text}  {concealed(span.value)}" if span.name == "body" else concealed(span.value)


def value_text(span: Span) -> str:
    """Return the description of a span, or its whole value as text if it has no description."""
    value = span.value
    if span.text:
        return span.text
    if value is ...:
        return ""
    if span.kind.endswith("array") and value is not None:
        return counted(value, "element")
    if span.kind == "tag and size":
        return counted(value, "byte")
    if isinstance(value, bytes) and span.kind != "uuid":
        return counted(len(value), "byte")
    return str(value) if span.kind == "uuid" else json.dumps(value, ensure_ascii=False)


def _digits(value: bytes, most: int) -> str:
    return value[:most].hex() + ("…" if len(value) > most else "")


def _plain(value: object, most: int) -> object:
    if value is ...:
        return None
    if isinstance(value, float) and not isfinite(value):
        return str(value)  # JSON cannot represent this number
    if isinstance(value, str):
        return value if len(value) <= most else f"{value[:most]}…"
    if isinstance(value, int | float | dict | None):
        return value
    return _digits(value, most) if type(value) is bytes else str(value)
