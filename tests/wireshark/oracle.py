"""What kwire reads in the frames of a capture, in the form in which ``tshark`` is compared with it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kwire.connection import CLIENT, ConnectionDecoder, RequestEvent, ResponseEvent, SaslToken, Undecodable
from kwire.connection.events import FrameEvent
from kwire.frames import frame
from kwire.headers import ResponseHeader
from kwire.protocol import MessageRegistry
from kwire.trace import Span, Trace, expand_records, trace_frame, trace_message, trace_request, trace_response
from kwire_inspect.capture import Piece, read_pieces

Line = tuple[str, int, str]
"""Path, offset in the frame and value of a field. The offset of bytes is that of their content."""
Side = tuple[int, int]
"""Source and destination port."""
HIDDEN = "hidden"
_UNPRINTABLE = re.compile("[^ -~\x80-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_CONTROL = re.compile(r"[\x01-\x08\x0e-\x1f\x7f]")
SHOWN = 2000
"""Digits of keys and values that are compared. Traces have few more."""


@dataclass
class Frame:
    """A frame as one reader understood it."""

    lines: list[Line]
    error: str = ""


def frames_of(path: Path, protocol: MessageRegistry) -> tuple[dict[Side, list[Frame]], set[int]]:
    """Return the frames of a capture by their side of a connection, and the ports of servers."""
    decoders: dict[object, ConnectionDecoder] = {}
    found: dict[Side, list[Frame]] = defaultdict(list)
    ports = set()
    for piece in read_pieces([str(path)]):
        assert isinstance(piece, Piece), piece
        client, server = piece.connection.client.port, piece.connection.server.port
        if piece.kind != "data":
            continue
        ports.add(server)
        if piece.connection.id not in decoders:
            decoders[piece.connection.id] = ConnectionDecoder(protocol, bodies=False, start="beginning")
        for event in decoders[piece.connection.id].feed(piece.direction, piece.data, piece.time):
            if isinstance(event, FrameEvent):
                side = (client, server) if event.direction == CLIENT else (server, client)
                found[side].append(frame_of(event, protocol))
    return found, ports


def frame_of(event: FrameEvent, protocol: MessageRegistry) -> Frame:
    match event:
        case SaslToken():
            return Frame([("size", 0, str(len(event.data))), ("SASL token", 4, HIDDEN)])
        case ResponseEvent() | Undecodable(request=RequestEvent()):
            request = event.request
            assert isinstance(request, RequestEvent)
            traced = trace_response(protocol, event.data, request.api_key, request.version, expand=expand_records)
        case Undecodable(direction="server"):
            traced = trace_message(ResponseHeader, event.data, 0, whole=False).unread("no request was seen")
        case _:
            traced = trace_request(protocol, event.data, expand=expand_records)
    return as_frame(trace_frame(frame(event.data), traced))


def as_frame(traced: Trace) -> Frame:
    reason = traced.error.reason if traced.error else ""
    for span in traced.spans:  # of a request in an Envelope
        if span.name == "rest" and span.kind == "?":
            reason = span.text.removeprefix("not readable: ")
    lines = [line for span in _comparable(traced.spans) for line in _lines(span)]
    return Frame(lines, "invalid UTF-8" if reason.startswith("invalid UTF-8") else reason)


def _comparable(spans: Iterable[Span]) -> Iterator[Span]:
    """Leave out what the dissector shows in another way.

    That is the bytes of compressed messages of magic 0 and 1, whose key precedes the message set, what this Wireshark
    cannot decompress, and records after the first error.
    """
    batch, old, left_out = "", False, False
    for span in spans:
        if span.kind.startswith(("message v", "record batch")):
            batch, old, left_out = f"{span.path}.", span.kind.startswith("message v"), False
        inside = span.path.startswith(batch)
        left_out = left_out or span.kind == "zstd data"
        bytes_shown = (old and span.kind.endswith(" data")) or (span.kind == "?" and span.name == "records")
        if span.name == "rest" and span.kind == "?":
            continue
        if not (inside and (bytes_shown or (left_out and span.kind in ("record", "records")))):
            yield span


def _lines(span: Span) -> Iterator[Line]:
    path, value = span.path, span.value
    if path == "request_data":  # which are the spans of another request
        yield (path, span.start, HIDDEN) if span.name == path else (f"{path}.{span.name}", span.start, "")
    elif span.secret:
        if isinstance(value, bytes | str) and not span.kind.endswith(("record", "batch", "data", "?")):
            yield path, span.content if span.kind == "unknown tag" else span.start, HIDDEN
    elif span.kind == "record":
        assert isinstance(value, dict)
        yield path, span.start if span.end > span.start else -1, ""
        for name in ("timestamp", "offset", "key", "value"):
            if name != "timestamp" or value[name] != -1:
                yield f"{path}.{name}", -1, "null" if value[name] is None else str(value[name])[:SHOWN]
        for name, content in value["headers"]:
            yield f"{path}.header.key", -1, shown(name)
            yield f"{path}.header.value", -1, "null" if content is None else content[: SHOWN // 10]
    elif span.kind == "":
        yield f"{path}.{span.name}".lstrip("."), span.start, ""
    elif value is ... or span.kind == "incomplete batch":
        yield path, span.start, ""
    elif value is None:
        yield path, span.start, "null"
    elif span.kind.endswith("array"):
        yield path, span.start, str(value)
    elif isinstance(value, bytes) and span.kind != "uuid":
        yield path, span.content, value.hex()
    else:
        yield path, span.start, text_of(value)


def text_of(value: object) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        return f"{value:.15g}"
    return shown(value) if isinstance(value, str) else str(value)


def shown(text: str) -> str:
    """Return a string as ``tshark`` shows it."""
    return printable(_CONTROL.sub(lambda found: f"\\x{ord(found[0]):x}", text.replace("\0", "\u2400")))


def printable(text: str) -> str:
    """Return ``text`` without characters that XML cannot have in an attribute."""
    return _UNPRINTABLE.sub(" ", text)
