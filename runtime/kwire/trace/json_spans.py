"""Tracing Kafka Connect records, with a span for each value in their JSON."""

from __future__ import annotations

import json
from collections import deque
from typing import TYPE_CHECKING

from kwire.errors import DecodeError, counted, cut
from kwire.logs.connect import OFFSETS, connect_record, read_key, secrets_of
from kwire.logs.json_text import read_json
from kwire.trace.spans import LEFT_OUT, MAX_SPANS, Span, Trace

if TYPE_CHECKING:
    from kwire.logs.json_text import Node, Rule

_LONGEST_NAME = 64


def trace_connect(kind: str, key: bytes | None, value: bytes | None) -> tuple[Trace | None, Trace | None]:
    """Return the traces of a record's key and value, like ``trace_record``, for a Kafka Connect topic of this
    ``kind``."""
    name = None if key is None else connect_record(kind, key)
    keys = None if key is None else _key(kind, name, key)
    if value is None:
        return keys, None
    found = trace_json(value, f"{name or 'unknown record'} JSON", secrets_of(kind, name))
    if name is None and key is not None:
        found.unknown = f"unknown record type in the {kind} of Kafka Connect"
    return keys, found


def _key(kind: str, name: str | None, key: bytes) -> Trace:
    if kind == OFFSETS:
        return trace_json(key, "key JSON", None)
    try:
        text = read_key(kind, key).text
    except DecodeError as problem:
        return Trace(key, [], problem, secret=False)
    return Trace(key, [Span(0, len(key), "key", "key", "text", text, depth=0, meaning=name or "")], secret=False)


def trace_json(data: bytes, title: str, secret: Rule | None) -> Trace:
    """Return a trace with a span for each value, up to the end of ``data`` or the first byte that is not JSON.

    Only the last ``kwire.trace.spans.MAX_SPANS`` values have spans.
    """
    spans: deque[Span] = deque(maxlen=MAX_SPANS)
    names: list[str] = []
    count, end, error = 0, 0, None
    try:
        for node in read_json(data, secret):
            del names[max(node.depth - 1, 0) :]
            if node.depth:
                names.append(cut(node.name, _LONGEST_NAME))
            spans.append(_span(data, node, end, names))
            count, end = count + 1, node.end
    except DecodeError as problem:
        error = problem
    if spans and error is None:
        spans[-1].end = len(data)  # the last value is followed only by brackets
    found = [Span(0, 0, "", title, "JSON", ..., depth=0), *spans]
    if count > MAX_SPANS:
        text = f"{counted(count - MAX_SPANS, 'line')} left out"
        kind, size = "?" if error else "", spans[0].start
        found.insert(0, Span(0, size, "", LEFT_OUT, kind, count - MAX_SPANS, depth=0, text=text, secret=bool(secret)))
    return Trace(data, found, error, secret is not None)


def _span(data: bytes, node: Node, start: int, names: list[str]) -> Span:
    """Return the span of a value. The span begins at the end of the previous span, so that there are no gaps."""
    container = node.kind in ("object", "array")
    value: object = ... if container else json.loads(data[node.content : node.end])
    text = ""
    if node.kind == "number" and str(value) != (written := data[node.content : node.end].decode()):
        text = written  # Python floats have fewer digits, and there is no integer -0
    name = names[-1] if names else "value"
    path = ".".join(names).replace(".[", "[")
    return Span(
        *(start, node.end, path, name, node.kind, value),
        depth=node.depth + 1,
        content=node.content,
        text=text,
        secret=node.secret,
    )
