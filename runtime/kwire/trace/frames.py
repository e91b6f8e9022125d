"""Tracing whole frames: the size, header and body of requests and responses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kwire.errors import DecodeError
from kwire.headers import RequestHeader, ResponseHeader
from kwire.message import Message
from kwire.policy import STRICT, Policy
from kwire.trace.spans import Span, Trace, trace_message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire.protocol import MessageRegistry
    from kwire.trace.spans import Expand


def trace_request(
    protocol: MessageRegistry, payload: bytes, policy: Policy = STRICT, *, expand: Expand | None = None
) -> Trace:
    """Return the trace of a request payload, decoded as in ``decode_request``.

    The trace of an Envelope includes the request in it.
    """
    found = _request(protocol, payload, policy, expand)
    spans: list[Span] = []
    for span in found.spans:
        spans.append(span)
        if span.path == "request_data" and isinstance(span.value, bytes):  # only Envelopes have this field
            span.end = span.content
            inner = _request(protocol, span.value, policy, expand)
            spans += _within(span, inner)
            found.unknown = inner.unknown
    return Trace(payload, spans, found.error, found.secret, found.unknown)


def _request(protocol: MessageRegistry, payload: bytes, policy: Policy, expand: Expand | None) -> Trace:
    try:
        header, offset, cls = protocol.request_header(payload, policy)
    except DecodeError as problem:
        return trace_message(RequestHeader, payload, problem.version or 0, policy, whole=False)
    head = _header(RequestHeader, payload, offset, policy)
    if cls is None:
        return head.unread(protocol.unknown(header.api_key, header.api_version))
    return head.then(cls, header.api_version, policy, expand)


def trace_response(
    protocol: MessageRegistry,
    payload: bytes,
    api_key: int,
    version: int,
    policy: Policy = STRICT,
    *,
    expand: Expand | None = None,
) -> Trace:
    """Return the trace of a response payload, decoded as in ``decode_response``."""
    try:
        _, offset, cls, version = protocol.response_header(payload, api_key, version, policy)
    except DecodeError as problem:
        return trace_message(ResponseHeader, payload, problem.version or 0, policy, whole=False)
    head = _header(ResponseHeader, payload, offset, policy)
    if cls is None:
        return head.unread(protocol.unknown(api_key, version))
    return head.then(cls, version, policy, expand)


def trace_frame(frame: bytes, payload: Trace) -> Trace:
    """Return the trace of a frame, which consists of a four-byte size and a payload with the given trace."""
    size = int.from_bytes(frame[:4], "big", signed=True)
    for span in payload.spans:
        span.start, span.end, span.content = span.start + 4, span.end + 4, span.content + 4
    if payload.error:
        payload.error.offset += 4
        payload.error.data = frame
    head = Span(0, 4, "size", "size", "int32", size, depth=0)
    return Trace(frame, [head, *payload.spans], payload.error, payload.secret, payload.unknown)


def _within(outer: Span, found: Trace) -> Iterator[Span]:
    """Yield the spans nested in ``outer``. An error in the nested trace does not end the outer trace."""
    base, nested = outer.content, outer.depth + 1
    for span in found.spans:
        path = f"{outer.path}.{span.path}".rstrip(".")
        start, end, content = base + span.start, base + span.end, base + span.content
        yield replace(span, start=start, end=end, path=path, depth=nested + span.depth, content=content)
    if found.error:
        start, end, rest = base + found.end, base + len(found.data), found.data[found.end :]
        text, secret = f"not readable: {found.error.reason}", found.secret
        yield Span(start, end, outer.path, "rest", "?", rest, depth=nested, text=text, secret=secret)


def _header(cls: type[Message], payload: bytes, end: int, policy: Policy) -> Trace:
    """Return the trace of a header that ends at ``end``. Only one header version ends there."""
    traces = [trace_message(cls, payload, version, policy, whole=False) for version in cls.VALID_VERSIONS]
    return next(found for found in traces if not found.error and found.end == end)
