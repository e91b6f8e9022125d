"""Connections that do not speak Kafka, and what is said about them."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kwire.connection import CLIENT, SERVER, Direction, NotKafka, RequestEvent, Skipped, Unanswered
from kwire.connection.detect import sniff_protocol
from kwire_kafka import HeartbeatRequest
from tests.runtime.connection.conversations import Segment, accounted, asked, decoder, play, raw

CLIENT_HELLO = raw("16 0301 0200 010001fc 0303") + bytes(503)
ALERT = raw("15 0303 0002 0228")
VERBS = ("GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "TRACE", "PATCH")

FOREIGN: list[tuple[str, Direction, bytes]] = [
    ("TLS", CLIENT, CLIENT_HELLO),
    ("TLS", CLIENT, raw("17 0303 0018") + bytes(24)),
    ("TLS", CLIENT, raw("17 0303 4800") + bytes(99)),
    ("TLS", SERVER, ALERT),
    ("HTTP", CLIENT, b"GET / HTTP/1.1\r\nHost: kafka:9092\r\n\r\n"),
    ("HTTP", CLIENT, b"OPTIONS * HTTP/1.1\r\n\r\n"),
    ("HTTP", CLIENT, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    ("HTTP", SERVER, b"HTTP/1.1 400 Bad Request\r\n\r\n"),
]


@pytest.mark.parametrize(
    ("data", "protocol"),
    [
        *((raw(f"{kind:02x} 0301 0001"), "TLS") for kind in range(0x14, 0x18)),
        *((raw(f"16 03{minor:02x} 4800"), "TLS") for minor in range(5)),
        (raw("13 0301 0001"), None),
        (raw("18 0301 0001"), None),
        (raw("16 0201 0001"), None),
        (raw("16 0305 0001"), None),
        (raw("16 0301 0000"), None),
        (raw("16 0301 4801"), None),
        (raw("16 0301 00"), False),
        *((f"{verb} / HTTP".encode(), "HTTP") for verb in VERBS),
        (b"GET /a b", False),
        (b"GETS /a b", None),
        (b"GET \0/ HTTP", None),
        (b"HTTP/1.0 ", "HTTP"),
        (b"HTTP/2 20", "HTTP"),
        (b"HTTP/3 20", None),
        (b"PRI * HTT", "HTTP"),
        (b"A", False),
        (b"Z", False),
        (b"ZZZZZZZZZ", None),
        (b"@", None),
        (b"[", None),
    ],
)
def test_a_protocol_is_known_by_its_first_bytes(data: bytes, protocol: str | bool | None) -> None:
    assert sniff_protocol(data) == protocol


@pytest.mark.parametrize("start", ["unknown", "beginning"])
@pytest.mark.parametrize(("protocol", "side", "data"), FOREIGN)
def test_tls_and_http_are_named(protocol: str, side: Direction, data: bytes, start: str) -> None:
    for size in (1, 3, len(data)):
        pieces: list[Segment] = [(side, data[at : at + size]) for at in range(0, len(data), size)]
        found, rest = play([*pieces, (side, data)], decoder(start))  # type: ignore[arg-type]
        assert isinstance(found, NotKafka)
        assert (found.protocol, found.direction, found.position) == (protocol, side, 0)
        assert data.startswith(found.data)
        assert isinstance(rest, Skipped)
        assert (rest.position, rest.size, rest.data) == (len(found.data), 2 * len(data) - len(found.data), b"")
        assert rest.reason == "this connection is not Kafka"


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"\xff" * 20,
        raw("00000005 0102030405"),
        b"GETS it all",
        raw("16 0309 0010") + bytes(16),
        raw("16 0303 0000"),
        raw("17 0303 4801") + bytes(99),
    ],
)
def test_what_else_does_not_begin_like_kafka(data: bytes) -> None:
    found, rest = play([(CLIENT, data)])
    assert isinstance(found, NotKafka)
    assert found.protocol == "unknown"
    assert isinstance(rest, Skipped)
    assert accounted(found) + rest.size == len(data)


def test_a_server_may_not_begin_like_kafka_either() -> None:
    found, rest = play([(SERVER, b"SSH-2.0-OpenSSH_9.6\r\n")])
    assert isinstance(found, NotKafka)
    assert (found.protocol, found.direction) == ("unknown", SERVER)
    assert isinstance(rest, Skipped)


@pytest.mark.parametrize("size", [0, 7])
def test_what_follows_a_gap_is_no_beginning(size: int) -> None:
    """However many bytes are missing at the start of a stream, what comes then is searched."""
    connection = decoder()
    connection.gap(CLIENT, size, 1.0)
    skipped, request = connection.feed(CLIENT, b"\xff" * 5 + asked(HeartbeatRequest(), 4, 1)[1], 2.0)
    assert isinstance(skipped, Skipped)
    assert isinstance(request, RequestEvent)


def test_without_a_beginning_nobody_can_tell() -> None:
    events = play([(CLIENT, b"SSH-2.0-OpenSSH_9.6\r\n"), asked(HeartbeatRequest(), 4, 1)], decoder("unknown"))
    assert [type(event) for event in events] == [Skipped, RequestEvent, Unanswered]


def test_a_tls_server_tells_who_speaks_kafka_to_it() -> None:
    request, found, unanswered = play([asked(HeartbeatRequest(), 4, 1), (SERVER, ALERT[:5])])
    assert isinstance(request, RequestEvent)
    assert isinstance(found, NotKafka)
    assert (found.protocol, found.direction) == ("TLS", SERVER)
    assert isinstance(unanswered, Unanswered)


def test_the_rest_is_counted_in_both_directions() -> None:
    connection = decoder()
    connection.feed(SERVER, b"\0\0", 1.0)
    connection.feed(CLIENT, CLIENT_HELLO, 1.0)
    assert connection.feed(CLIENT, bytes(1_000_000), 2.0) == []
    assert connection.feed(SERVER, bytes(2_000_000), 2.0) == []
    (gap,) = connection.gap(CLIENT, 10, 3.0)
    assert gap.position == 1_000_000 + len(CLIENT_HELLO)
    assert connection.drop(3.0, "not kept") == connection.drop_secrets(3.0, "not kept") == []
    events = connection.close(4.0)
    assert [accounted(event) for event in events] == [1_000_000 + len(CLIENT_HELLO) - 5, 2_000_002]


def test_the_side_that_has_said_nothing_yet_is_counted_too() -> None:
    connection = decoder()
    connection.feed(CLIENT, CLIENT_HELLO, 1.0)
    assert connection.feed(SERVER, b"late", 2.0) == []
    assert [accounted(event) for event in connection.close(3.0)] == [len(CLIENT_HELLO) - 5, 4]


def test_every_start_of_a_hello_is_enough_or_not() -> None:
    events = [play([(CLIENT, CLIENT_HELLO[:size])], decoder("unknown")) for size in range(10)]
    assert [bool(found) and isinstance(found[0], NotKafka) for found in events] == [False] * 5 + [True] * 5
    assert all(sum(map(accounted, found)) == size for size, found in enumerate(events))
    assert all(accounted(first[0]) <= accounted(second[0]) for first, second in pairwise(events[5:]))


def test_one_byte_is_enough_unless_a_protocol_begins_with_it() -> None:
    """TLS with one of four types, HTTP with a capital letter."""
    assert [sniff_protocol(b"GET / HTTP"[:size]) for size in (8, 9)] == [False, "HTTP"]
    assert [sniff_protocol(ALERT[:size]) for size in (4, 5)] == [False, "TLS"]
    unsure = {byte for byte in range(256) if sniff_protocol(bytes([byte])) is False}
    assert unsure == {0x14, 0x15, 0x16, 0x17, *b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


def test_too_few_bytes_to_name_a_protocol_are_not_kafka_either() -> None:
    for data in (CLIENT_HELLO[:4], b"GET / HT"):
        found, *rest = play([(CLIENT, data)])
        assert isinstance(found, NotKafka)
        assert (found.protocol, sum(map(accounted, [found, *rest]))) == ("unknown", len(data))


def test_the_bytes_of_a_frame_with_a_hole_are_counted_too() -> None:
    """The client's frame is under way when the server turns out to speak something else."""
    connection = decoder()
    _, data = asked(HeartbeatRequest(group_id="g" * 100), 4, 1)
    events = connection.feed(CLIENT, data[:30], 1.0) + connection.gap(CLIENT, 10, 1.0)
    events += connection.feed(CLIENT, data[40:60], 1.0) + connection.feed(SERVER, ALERT, 2.0)
    (gap,) = connection.gap(CLIENT, 5, 2.0)
    assert gap.position == 60
    events += connection.close(3.0)
    assert any(isinstance(event, NotKafka) for event in events)
    assert sum(map(accounted, events)) == 50 + len(ALERT)
