"""Broken connections, against what decoding them promises.

- Nothing is raised for any bytes, by ends of connections nothing but a ``DecodeError``.
- Every byte fed is in one event, and once; events of a direction come in the order of its bytes.
- It does not matter in which pieces the bytes arrive.
- An input takes little time and memory, whatever sizes it claims.

An input is a byte of options and then pieces: a byte that says whose they are and whether they were seen, two bytes
of size, and so many bytes.

``python -m tests.fuzz.connections --runs 1000000`` prints what became of the inputs; ``make test`` runs a short
version.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from tests.fuzz.guided import Broken, instrumented, main

with instrumented(__name__, "kwire.connection", "kwire.frames", "kwire.headers", "kwire.protocol"):
    from kwire.connection import (
        CLIENT,
        SERVER,
        ClientConnection,
        ConnectionDecoder,
        Direction,
        Event,
        Gap,
        NotKafka,
        ProtocolViolationError,
        RequestEvent,
        SaslToken,
        ServerConnection,
        Skipped,
        Unanswered,
        Undecodable,
    )
    from kwire.errors import DecodeError
    from kwire.frames import frame
    from kwire.policy import LIKE_KAFKA, STRICT

from kwire_kafka.index import PROTOCOL

MEMORY = 16 << 20
SMALL_LIMIT = 1 << 10
FRAMES = Path(__file__).parents[1] / "data" / "real_frames" / "frames.jsonl"

BEGINNING, HEADERS_ONLY, STRICTLY, SMALL, ENDS = 1, 2, 4, 8, 16
"""Options: the connection is seen from its beginning; only headers are decoded; under the strict policy; frames and
the number of waiting requests are limited; the bytes go to the two ends of a connection and not to a decoder."""

FROM_SERVER, UNSEEN = 1, 2
"""The bits of a piece."""


class Piece(NamedTuple):
    direction: Direction
    data: bytes
    gap: int | None


def check(data: bytes) -> str:
    options = data[0] if data else 0
    parts = pieces(data[1:])
    if options & ENDS:
        return check_ends(parts, data)
    groups = merged(parts)
    events = decode(options, [[piece] for piece in groups])
    for event in events:
        repr(event)
    check_nothing_is_lost(groups, events, data)
    in_pieces = decode(options, [split(piece) for piece in groups])
    if [told(event) for event in in_pieces] != [told(event) for event in events]:
        raise Broken(f"whole: {events}; in pieces: {in_pieces}", data)
    return " and ".join(sorted({type(event).__name__ for event in events})) or "nothing"


def decode(options: int, groups: Iterable[list[Piece]]) -> list[Event]:
    """All events; pieces of a group arrive at the same time."""
    limits: dict[str, Any] = {"max_frame": SMALL_LIMIT, "max_in_flight": 3} if options & SMALL else {}
    decoder = ConnectionDecoder(
        PROTOCOL,
        policy=STRICT if options & STRICTLY else LIKE_KAFKA,
        bodies=not options & HEADERS_ONLY,
        start="beginning" if options & BEGINNING else "unknown",
        **limits,
    )
    events: list[Event] = []
    time = 0.0
    for time, group in enumerate(groups):
        for piece in group:
            if piece.gap is None:
                events += decoder.feed(piece.direction, piece.data, float(time))
            else:
                events += decoder.gap(piece.direction, piece.gap, float(time))
    return events + decoder.close(float(time + 1))


def check_nothing_is_lost(groups: list[Piece], events: list[Event], data: bytes) -> None:
    for direction in (CLIENT, SERVER):
        stream = b"".join(piece.data + bytes(piece.gap or 0) for piece in groups if piece.direction == direction)
        fed = sum(len(piece.data) for piece in groups if piece.direction == direction)
        seen, last = 0, -1
        for event in events:
            if event.direction != direction or isinstance(event, (Gap, Unanswered)):
                continue
            if event.position <= last:
                raise Broken(f"{event} comes after one at {last}", data)
            last = event.position
            seen += bytes_seen(event)
            head = 0 if isinstance(event, (Skipped, NotKafka)) else 4
            payload: bytes = getattr(event, "data", b"")
            start = event.position + head
            if not getattr(event, "missing", 0) and stream[start : start + len(payload)] != payload:
                raise Broken(f"{event} has other bytes than the stream at its position", data)
        if seen != fed:
            raise Broken(f"{fed} bytes of the {direction} were fed, {seen} are in events: {events}", data)


def bytes_seen(event: Event) -> int:
    if isinstance(event, Skipped):
        return event.size
    payload: bytes = getattr(event, "data", b"")
    return len(payload) if isinstance(event, NotKafka) else 4 + len(payload)


def told(event: Event) -> tuple[object, ...]:
    """What an event says."""
    size = getattr(event, "size", 0)
    return repr(event), event.time, getattr(event, "started", 0.0), size, getattr(event, "data", b"")


def check_ends(parts: list[Piece], data: bytes) -> str:
    """The requests of the input go to a server; its responses go to a client that sent those requests that it can."""
    server, client = ServerConnection(PROTOCOL), ClientConnection(PROTOCOL, client_id="fuzz")
    requests: list[RequestEvent | Undecodable | SaslToken] = []
    outcome = "served"
    try:
        for piece in parts:
            if piece.direction == CLIENT:
                requests += server.receive(piece.data)
    except DecodeError:
        outcome = "not served"
    for request in requests:
        repr(request)
        if isinstance(request, RequestEvent):
            client.send_raw(request.api_key, request.version, request.body, correlation_id=request.correlation_id)
            server.send_raw(request, b"body")
    answers: list[Any] = []
    try:
        for piece in parts:
            if piece.direction == SERVER:
                answers += client.receive(piece.data)
    except ProtocolViolationError as error:
        return f"{outcome}, then out of step after {'some' if answers or error.events else 'no'} responses"
    return f"{outcome} and answered" if answers else outcome


def pieces(data: bytes) -> list[Piece]:
    found = []
    at = 0
    while at + 3 <= len(data):
        size = int.from_bytes(data[at + 1 : at + 3], "big")
        direction: Direction = SERVER if data[at] & FROM_SERVER else CLIENT
        if data[at] & UNSEEN:
            found.append(Piece(direction, b"", size & 0xFFF))
            at += 3
        else:
            found.append(Piece(direction, data[at + 3 : at + 3 + size], None))
            at += 3 + size
    return found


def merged(parts: list[Piece]) -> list[Piece]:
    """With pieces that follow each other in the same direction made one."""
    found: list[Piece] = []
    for piece in parts:
        last = found[-1] if found else None
        if last and last.gap is None and piece.gap is None and last.direction == piece.direction:
            found[-1] = Piece(piece.direction, last.data + piece.data, None)
        else:
            found.append(piece)
    return found


def split(piece: Piece) -> list[Piece]:
    """In pieces of one to seven bytes, the same ones for the same bytes."""
    if piece.gap is not None:
        return [piece]
    random = Random(len(piece.data))
    found = []
    at = 0
    while at < len(piece.data):
        size = random.randint(1, 7) if random.random() < 0.9 else 100
        found.append(Piece(piece.direction, piece.data[at : at + size], None))
        at += size
    return found


@cache
def seeds() -> tuple[bytes, ...]:
    """Exchanges of real brokers, alone and in a row, and what else is on the wire."""
    exchanges = real_exchanges()
    random = Random(1)
    found = []
    for number, (request, response) in enumerate(exchanges):
        found.append(bytes([number & 0x1F]) + sent(request) + answered(response))
    for number in range(60):
        several = random.sample(exchanges, 3)
        numbered = [
            (renumbered(request, 4, place), renumbered(answer, 0, place))
            for place, (request, answer) in enumerate(several)
        ]
        requests = b"".join(sent(request) for request, _ in numbered)
        found.append(bytes([number & 0x1F]) + requests + b"".join(answered(answer) for _, answer in numbered))
        middle = b"\0" + (20).to_bytes(2, "big") + random.randbytes(20)
        hole = bytes([UNSEEN | number & 1, 0, number])
        found.append(bytes([0]) + middle + requests + hole + b"".join(answered(answer) for _, answer in numbered))
    return tuple(data for data in [*found, *special()] if len(data) < 4096)


def special() -> list[bytes]:
    """SASL with bare tokens, Envelopes, an ApiVersions version that nobody knows, and other protocols."""
    handshake = b"\0\x11\0\0\0\0\0\x07\0\4fuzz\0\5PLAIN"
    agreed = b"\0\0\0\x07\0\0\0\0\0\1\0\5PLAIN"
    sasl = sent(handshake) + answered(agreed) + sent(b"\0user\0secret") + answered(b"")
    envelope: Any = PROTOCOL.request(58)
    inner = PROTOCOL.encode_request(PROTOCOL.request(18)(), 3, correlation_id=5, client_id="inner")
    request = envelope(request_data=inner, request_principal=b"p", client_host_address=b"\x7f\0\0\1")
    return [
        bytes([BEGINNING]) + sasl + sent(handshake) + answered(agreed),
        sent(b"\x60\x0b\x06\x09" + b"\x2a" * 9).join([b"\1", b""]),
        bytes([BEGINNING]) + sent(PROTOCOL.encode_request(request, 0, correlation_id=9, client_id="outer")),
        bytes([BEGINNING]) + sent(b"\0\x12\0\x63\0\0\0\1\0\1x") + answered(b"\0\0\0\1\0\x23\0\0\0\1\0\x12\0\0\0\4"),
        bytes([BEGINNING]) + part(0, b"\x16\3\1\0\x80" + bytes(50)) + part(1, b"\x15\3\3\0\2\2\x28"),
        bytes([BEGINNING]) + part(0, b"GET /metrics HTTP/1.1\r\n\r\n") + part(1, b"HTTP/1.1 400 Bad Request\r\n"),
        bytes([BEGINNING]) + part(0, b"SSH-2.0-OpenSSH_9.6\r\n"),
    ]


def real_exchanges() -> list[tuple[bytes, bytes]]:
    """One request and response of every api, in its lowest and highest version of those up to 600 bytes."""
    found: dict[tuple[int, str], tuple[bytes, bytes]] = {}
    for line in FRAMES.read_text("utf-8").splitlines():
        exchange = json.loads(line)
        request, response = (bytes.fromhex(exchange[side] or "") for side in ("request", "response"))
        if len(request) + len(response) <= 600:
            found.setdefault((exchange["api_key"], "lowest"), (request, response))
            found[exchange["api_key"], "highest"] = (request, response)
    return sorted(set(found.values()))


def renumbered(payload: bytes, at: int, correlation_id: int) -> bytes:
    return payload and payload[:at] + correlation_id.to_bytes(4, "big") + payload[at + 4 :]


def part(kind: int, data: bytes) -> bytes:
    return bytes([kind]) + len(data).to_bytes(2, "big") + data


def sent(payload: bytes) -> bytes:
    return part(0, frame(payload))


def answered(payload: bytes) -> bytes:
    return part(FROM_SERVER, frame(payload)) if payload else b""


if __name__ == "__main__":
    main(__doc__, check, seeds, MEMORY)
