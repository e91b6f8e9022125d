"""What bytes are taken for: the classes of frames, the places where they may begin, and what of them is no secret."""

from __future__ import annotations

from struct import pack

import pytest

from kwire.connection import CLIENT, RequestEvent, ResponseEvent, Undecodable
from kwire.connection.decoder import InFlightRequest, InFlightRequests
from kwire.connection.framing import (
    DECODES,
    EXPECTED,
    IMPLAUSIBLE,
    IMPOSSIBLE,
    INCOMPLETE,
    MAX_ID_PREFIXES,
    MAX_TOKEN,
    NEWER,
    PLAUSIBLE,
    POSSIBLE,
    TOKEN,
    UNDECODABLE,
    ApiCatalog,
    Framing,
    RequestFraming,
    ResponseFraming,
    is_client_id,
    is_gssapi,
)
from kwire_kafka import (
    PROTOCOL,
    HeartbeatRequest,
    HeartbeatResponse,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from tests.runtime.connection.conversations import answered, asked, play, raw

UNREAD = Undecodable(0, CLIENT, 0, 0, b"", "its header cannot be read")

CATALOG = ApiCatalog(PROTOCOL)
BEAT, SHUTDOWN, SASL, FETCH, NOBODY = 12, 7, 36, 1, 999
MAX_FOUND = 1 << 20


def requests(tokens: bool = False) -> RequestFraming:
    framing = RequestFraming(CATALOG, MAX_FOUND)
    framing.expects_tokens = tokens
    return framing


def responses(tokens: bool = False, /, **asked: tuple[int, int]) -> ResponseFraming:
    """In flight are requests by correlation id, ``_1``, each of an API and version."""
    in_flight = InFlightRequests(100, 1000)
    for number, (key, version) in asked.items():
        in_flight.add(InFlightRequest(key, version, int(number[1:]), 0, 0, None, UNREAD))
    framing = ResponseFraming(CATALOG, in_flight, MAX_FOUND)
    framing.expects_tokens = tokens
    return framing


def start(size: int, key: int, version: int, length: int) -> bytes:
    """The first 14 bytes of a request: size to length of the client id."""
    return pack(">ihhih", size, key, version, 7, length)


GSSAPI = b"\x60\x06\x06abcde"


@pytest.mark.parametrize(
    ("head", "size", "tokens", "kind"),
    [
        (start(9, BEAT, 4, 0), 9, False, IMPOSSIBLE),
        (start(9, BEAT, 4, 0), 9, True, TOKEN),
        (start(10, BEAT, 4, 0)[:13], 10, False, INCOMPLETE),
        (start(10, BEAT, 4, 0), 10, False, EXPECTED),
        (start(30, BEAT, 4, -1), 30, False, EXPECTED),
        (start(30, BEAT, 4, -2), 30, False, IMPOSSIBLE),
        (start(30, BEAT, 4, 20), 30, False, EXPECTED),
        (start(30, BEAT, 4, 21), 30, False, IMPOSSIBLE),
        (start(30, SHUTDOWN, 0, 0x7FFF), 30, False, EXPECTED),  # whose header has no client id
        (start(30, BEAT, 255, 2), 30, False, POSSIBLE),
        (start(30, BEAT, 256, 2), 30, False, IMPOSSIBLE),
        (start(30, BEAT, -1, 2), 30, False, IMPOSSIBLE),
        (start(30, BEAT, 255, 21), 30, False, IMPOSSIBLE),
        (start(30, NOBODY, 0, 2), 30, False, POSSIBLE),
        (start(30, -1, 0, 2), 30, False, IMPOSSIBLE),
        (start(30, BEAT, 4, 2), 30, True, EXPECTED),
        (start(30, BEAT, 255, 2), 30, True, TOKEN),
        (start(30, -1, 0, 2), MAX_TOKEN, True, TOKEN),
        (start(30, -1, 0, 2), MAX_TOKEN + 1, True, IMPOSSIBLE),
        (start(30, NOBODY, 0, 2), MAX_TOKEN + 1, True, POSSIBLE),
        (pack(">i", 10) + b"\x60\x08\x06" + bytes(7), 10, False, TOKEN),
    ],
)
def test_requests_are_classified_by_their_first_bytes(head: bytes, size: int, tokens: bool, kind: int) -> None:
    for before in (0, 3):
        assert requests(tokens).classify(bytes(before) + head, before, size) == kind


@pytest.mark.parametrize(
    ("head", "size", "tokens", "kind"),
    [
        ("0000000300000001", 3, False, IMPOSSIBLE),
        ("0000000300000001", 3, True, TOKEN),
        ("00000004000000", 4, False, INCOMPLETE),
        ("0000000400000001", 4, False, EXPECTED),
        ("0000000400000001", 4, True, EXPECTED),
        ("0000000400000002", 4, False, POSSIBLE),
        ("0000000400000002", MAX_TOKEN, True, TOKEN),
        ("0000000400000002", MAX_TOKEN + 1, True, POSSIBLE),
    ],
)
def test_responses_are_classified_by_their_correlation_id(head: str, size: int, tokens: bool, kind: int) -> None:
    for before in (0, 3):
        assert responses(tokens, _1=(BEAT, 4)).classify(bytes(before) + raw(head), before, size) == kind


@pytest.mark.parametrize(
    ("key", "version", "length", "fits"),
    [
        (BEAT, 0, 20, True),
        (BEAT, 0, 21, False),
        (BEAT, 4, -1, True),
        (BEAT, 5, 0, True),
        (BEAT, 6, 0, True),
        (BEAT, 7, 0, False),
        (BEAT, -1, 0, False),
        (SHUTDOWN, 3, 0, True),
        (NOBODY, 0, 0, False),
    ],
)
def test_a_request_may_begin_where_its_version_is_known_or_slightly_newer(
    key: int, version: int, length: int, fits: bool
) -> None:
    buffer = bytearray(b"?" + start(30, key, version, length))
    assert requests().size_at(buffer, 1) == (30 if fits else -1)


def test_a_response_may_begin_where_its_correlation_id_is_awaited() -> None:
    framing = responses(_1=(BEAT, 4))
    assert framing.size_at(bytearray(raw("00 0000ffff 00000001")), 1) == 0xFFFF
    assert framing.size_at(bytearray(raw("00 0000ffff 00000002")), 1) == -1
    assert framing.is_promising(bytearray(8), 0)


def places(framing: Framing, buffer: bytes, first: int = 0, stop: int | None = None) -> list[int]:
    data = bytearray(buffer)
    return [found.start() for found in framing.starts(data, first, len(data) if stop is None else stop)]


def test_places_where_requests_may_begin() -> None:
    """All of the prefix is there, the size fits 21 bits as the largest one that is searched for, the key is known."""
    for size, found in ((9, []), (10, [0]), ((1 << 21) - 1, [0]), (1 << 21, []), (-1, [])):
        assert places(requests(), start(size, BEAT, 4, 2)) == found
    for key, version, length, found in (
        (NOBODY, 0, 0, []),
        (BEAT, 255, 0, [0]),
        (BEAT, 256, 0, []),
        (BEAT, 0, -1, [0]),
        (BEAT, 0, -2, []),
        (BEAT, 0, 0x7FFF, [0]),
    ):
        assert places(requests(), start(30, key, version, length)) == found
    two = b"\xff" + start(30, BEAT, 4, 2) + b"\xff" + start(40, SASL, 1, 2)
    assert places(requests(), two) == [1, 5, 7, 16]  # the second and third by chance
    assert places(requests(), two, 2) == [5, 7, 16]
    assert places(requests(), two, 0, 29) == [1, 5, 7]
    assert places(requests(), two, 0, 14) == []


def test_places_where_responses_may_begin() -> None:
    """The size is at least 4, and the upper half of the correlation id is that of an awaited one."""
    assert places(responses(), raw("00000004 00000001")) == []
    framing = responses(_1=(BEAT, 4), _131073=(BEAT, 4))
    for size, found in (("00000003", []), ("00000004", [0]), ("001fffff", [0]), ("00200000", [])):
        assert places(framing, raw(f"{size} 00000001")) == found
    for number, found in (("00000002", [0]), ("0001 0001", []), ("0002 ffff", [0]), ("ffff ffff", [])):
        assert places(framing, raw(f"00000010 {number}")) == found
    assert places(framing, raw("00000010 00000001"), 0, 7) == []
    for count, found in ((MAX_ID_PREFIXES, []), (MAX_ID_PREFIXES + 1, [0])):  # of more, any id is looked up
        many = responses(**{f"_{number << 16}": (BEAT, 4) for number in range(count)})
        assert places(many, raw("00000010 7fff0000")) == found


@pytest.mark.parametrize(
    ("length", "rest", "promising"),
    [
        (2, b"me", True),
        (2, b"me and more", True),
        (2, b"m", False),
        (0, b"", False),
        (0, b"me", False),
        (-1, b"me", False),
        (2, b"m\0", False),
        (2, "ü".encode(), True),
        (1, "ü".encode(), False),
    ],
)
def test_a_request_is_promising_with_a_client_id_that_can_be_read(length: int, rest: bytes, promising: bool) -> None:
    buffer = bytearray(b"?" + start(30, BEAT, 4, length) + rest)
    assert requests().is_promising(buffer, 1) is promising


_, WHOLE = asked(HeartbeatRequest(group_id="g"), 4, 1)
WHOLE = WHOLE[4:]


def header(key: int, version: int, client_id: bytes | None) -> bytes:
    """The payload of a request with nothing after its client id."""
    return start(0, key, version, -1 if client_id is None else len(client_id))[4:] + (client_id or b"")


@pytest.mark.parametrize(
    ("payload", "tokens", "score"),
    [
        (WHOLE[:9], False, IMPLAUSIBLE),
        (WHOLE[:9], True, PLAUSIBLE),
        (WHOLE, False, DECODES),
        (WHOLE, True, DECODES),
        (WHOLE + bytes(4), False, DECODES),
        (WHOLE + bytes(5), False, UNDECODABLE),
        (WHOLE[:-1], False, UNDECODABLE),
        (WHOLE[:-1], True, PLAUSIBLE),
        (WHOLE.replace(b"me", b"m\0"), False, IMPLAUSIBLE),
        (header(BEAT, 4, None), False, IMPLAUSIBLE),
        (header(BEAT, 4, b""), False, IMPLAUSIBLE),
        (header(BEAT, 4, b"c"), False, UNDECODABLE),
        (header(SHUTDOWN, 0, b"c"), False, UNDECODABLE),
        (header(BEAT, 5, b"c"), False, NEWER),
        (header(BEAT, 6, b"c"), False, NEWER),
        (header(BEAT, 7, b"c"), False, PLAUSIBLE),
        (header(BEAT, 5, b""), False, IMPLAUSIBLE),
        (header(NOBODY, 0, b"c"), False, PLAUSIBLE),
        (header(NOBODY, 0, b"\xff"), False, IMPLAUSIBLE),
        (b"\x60\x08\x06" + bytes(7), False, PLAUSIBLE),
    ],
)
def test_how_surely_bytes_are_a_request(payload: bytes, tokens: bool, score: int) -> None:
    assert requests(tokens).score(payload) == score


_, ANSWER = answered(HeartbeatResponse(), 4, 1)
ANSWER = ANSWER[4:]


@pytest.mark.parametrize(
    ("payload", "tokens", "score"),
    [
        (ANSWER[:3], False, UNDECODABLE),
        (ANSWER[:3], True, PLAUSIBLE),
        (ANSWER, False, DECODES),
        (ANSWER + b"\0", False, UNDECODABLE),
        (ANSWER[:-1], False, UNDECODABLE),
        (ANSWER[:-1], True, UNDECODABLE),
        (raw("00000003"), False, UNDECODABLE),
        (raw("00000003"), True, PLAUSIBLE),
        (raw("00000002 01"), False, NEWER),  # of a version that is not known
    ],
)
def test_how_surely_bytes_are_a_response(payload: bytes, tokens: bool, score: int) -> None:
    assert responses(tokens, _1=(BEAT, 4), _2=(BEAT, 99)).score(payload) == score


SECRET = asked(SaslAuthenticateRequest(auth_bytes=b"s3cret"), 2, 1)[1]


@pytest.mark.parametrize(
    ("buffer", "kind", "tokens", "harmless"),
    [
        (SECRET[:7], INCOMPLETE, False, 3),
        (SECRET[:7], INCOMPLETE, True, 0),
        (SECRET[:20], POSSIBLE, True, 0),
        (SECRET[:20], EXPECTED, True, 10 + 2 + 1),
        (SECRET[:20], EXPECTED, False, 10 + 2 + 1),
        (asked(SaslAuthenticateRequest(), 1, 1)[1][:20], EXPECTED, False, 10 + 2),
        (asked(SaslAuthenticateRequest(), 2, 1, None)[1][:20], EXPECTED, False, 10 + 1),
        (start(30, NOBODY, 0, 2) + b"me", POSSIBLE, False, 0),
        (start(30, SASL, 99, 2) + b"me", POSSIBLE, False, 0),
        (start(30, BEAT, 4, 2) + b"me?", EXPECTED, False, 13),
        (start(30, BEAT, 4, 2)[:9], INCOMPLETE, False, 5),
    ],
)
def test_what_of_a_request_is_no_secret(buffer: bytes, kind: int, tokens: bool, harmless: int) -> None:
    assert requests(tokens).harmless(bytearray(buffer), kind) == harmless


@pytest.mark.parametrize(
    ("buffer", "kind", "tokens", "harmless"),
    [
        ("00000020 00000009 ffff", POSSIBLE, False, 4),
        ("00000020 00000009 ffff", POSSIBLE, True, 0),
        ("00000020 00000009 ffff", TOKEN, False, 0),
        ("00000020 0000", INCOMPLETE, False, 4),
        ("00000020 0000", INCOMPLETE, True, 0),
        ("00000020 00000001 ffff", EXPECTED, False, 6),
        ("00000020 00000001 ffff", EXPECTED, True, 6),
        ("00000020 00000002 ffff", EXPECTED, False, 4),  # SaslAuthenticate
        ("00000020 00000003 ffff", EXPECTED, False, 4),  # a version that is not known
        ("00000020 00000004 ffff", EXPECTED, False, 6),  # Fetch of a topic
        (f"00000020 00000004 {b'__cluster_metadata'.hex()}", EXPECTED, False, 4),
        ("00000020 00000005 ffff", EXPECTED, False, 4),  # of an API that is not known
        ("00000020 00000006 ffff", EXPECTED, False, 4),  # which is no longer awaited
    ],
)
def test_what_of_a_response_is_no_secret(buffer: str, kind: int, tokens: bool, harmless: int) -> None:
    framing = responses(tokens, _1=(BEAT, 4), _2=(SASL, 2), _3=(BEAT, 99), _4=(FETCH, 4), _5=(NOBODY, 0))
    assert framing.harmless(bytearray(raw(buffer)), kind) == harmless


@pytest.mark.parametrize(
    ("data", "size", "token"),
    [
        (GSSAPI, 8, True),
        (GSSAPI, 7, False),
        (GSSAPI, 9, False),
        (b"\x61" + GSSAPI[1:], 8, False),
        (GSSAPI.replace(b"\6ab", b"\7ab"), 8, False),
        (GSSAPI[:6], 8, True),
        (GSSAPI[:5], 8, False),
        (b"\x60\x01\x06???", 3, False),
        (b"\x60\x02\x06???", 4, True),
        (b"\x60\x7f\x06???", 129, True),
        (b"\x60\x81\x80\x06??", 131, True),
        (b"\x60\x82\x01\x00\x06?", 260, True),
        (b"\x60\x83\x01\x00\x00\x06", 65541, True),
        (b"\x60\x83\x01\x00\x00\x05", 65541, False),
        (b"\x60\x84\x00\x01\x00\x00\x06", 65542, False),
    ],
)
def test_the_first_token_of_gssapi_says_how_long_it_is(data: bytes, size: int, token: bool) -> None:
    assert is_gssapi(data, 0, size) is token
    assert is_gssapi(b"????" + data, 4, size) is token


def test_facts_of_apis() -> None:
    assert (CATALOG.name(BEAT), CATALOG.name(NOBODY)) == ("Heartbeat", "api key 999")
    keys = [(BEAT, 3), (BEAT, 4), (BEAT, 5), (BEAT, -1), (SHUTDOWN, 0), (SHUTDOWN, 1), (NOBODY, 0)]
    assert [CATALOG.header_version(*key) for key in keys * 2] == [1, 2, -1, -1, 0, 1, -1] * 2  # kept, too
    found = [(BEAT, 3), (BEAT, 4), (BEAT, 5), (NOBODY, 0)]
    cls = HeartbeatResponse
    assert [CATALOG.response(*key) for key in found * 2] == [(0, cls), (1, cls), (-1, None), (-1, None)] * 2
    assert [CATALOG.is_newer(BEAT, version) for version in (4, 5, 6, 7)] == [False, True, True, False]
    assert [CATALOG.is_plausible(BEAT, version) for version in (-1, 0, 6, 7)] == [False, True, True, False]
    assert not CATALOG.is_newer(NOBODY, 0)
    assert [is_client_id(data) for data in (b"", b"a b", b"a\tb", b"\xff")] == [True, True, False, False]


def test_whether_a_body_can_be_read() -> None:
    """Whole, with nothing after it; nobody knows of unknown versions and of what answers an unreadable header."""
    message, answer = SaslAuthenticateRequest(auth_bytes=b"x"), SaslAuthenticateResponse()
    request, response = play([asked(message, 2, 1), answered(answer, 2, 1)])
    assert isinstance(request, RequestEvent)
    assert isinstance(response, ResponseEvent)
    assert [CATALOG.reads_body(event) for event in (request, response)] == [True, True]
    for event in (request, response):
        event.data += b"?"
        assert CATALOG.reads_body(event) is False
        event.data = event.data[:-2]
        assert CATALOG.reads_body(event) is False
    response.version = request.header.api_version = 99
    assert [CATALOG.reads_body(event) for event in (request, response)] == [None, None]
    response.version, response.request = 2, UNREAD
    assert CATALOG.reads_body(response) is None
