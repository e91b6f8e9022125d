"""Conversations to decode: scripted ones and those with real brokers, and how they are fed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Literal

from kwire.connection import (
    CLIENT,
    SERVER,
    ConnectionDecoder,
    Direction,
    Event,
    NotKafka,
    RequestEvent,
    ResponseEvent,
    SaslToken,
    Skipped,
    Undecodable,
)
from kwire.frames import frame
from kwire.message import Message
from kwire_kafka import PROTOCOL

FRAMES = Path(__file__).parents[2] / "data" / "real_frames" / "frames.jsonl"

Segment = tuple[Direction, bytes]


def raw(text: str) -> bytes:
    """Bytes from hexadecimal digits, with a ``|`` wherever it helps."""
    return bytes.fromhex(text.replace("|", " "))


def asked(message: Message, version: int, number: int, client_id: str | None = "me") -> Segment:
    """A request on the wire."""
    payload = PROTOCOL.encode_request(message, version, correlation_id=number, client_id=client_id)
    return CLIENT, frame(payload)


def answered(message: Message, version: int, number: int) -> Segment:
    """A response on the wire."""
    return SERVER, frame(PROTOCOL.encode_response(message, version, correlation_id=number))


def decoder(start: Literal["unknown", "beginning"] = "beginning", **options: Any) -> ConnectionDecoder:
    return ConnectionDecoder(PROTOCOL, start=start, **options)


def play(segments: Iterable[Segment], connection: ConnectionDecoder | None = None) -> list[Event]:
    """All events of a conversation: the first segment comes at the time 1, the next at 2, and so on."""
    connection = connection or decoder()
    events: list[Event] = []
    time = 0.0
    for direction, data in segments:
        time += 1
        events += connection.feed(direction, data, time)
    return events + connection.close(time + 1)


def told(events: Iterable[Event]) -> list[str]:
    """The events, as a line each."""
    return [repr(event) for event in events]


def accounted(event: Event) -> int:
    """How many of the bytes that were fed are in an event."""
    match event:
        case NotKafka():
            return len(event.data)
        case Undecodable():
            return event.size - event.missing
        case RequestEvent() | ResponseEvent() | SaslToken() | Skipped():
            return event.size
    return 0


def place(event: Any) -> range:
    """The places in the stream of the bytes of an event, with those of its holes."""
    return range(event.position, event.position + (len(event.data) if isinstance(event, NotKafka) else event.size))


@cache
def real(broker: str = "") -> tuple[Segment, ...]:
    """What was said to real brokers, one exchange after the other, as on one connection."""
    segments: list[Segment] = []
    for line in FRAMES.read_text().splitlines():
        exchange = json.loads(line)
        if not exchange["broker"].startswith(broker):
            continue
        segments.append((CLIENT, frame(bytes.fromhex(exchange["request"]))))
        if exchange["response"] is not None:
            segments.append((SERVER, frame(bytes.fromhex(exchange["response"]))))
    return tuple(segments)
