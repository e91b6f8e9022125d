"""Connections piece by piece: the rows of each, what waits in memory, and what is decoded at all."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from syrupy.assertion import SnapshotAssertion

from kwire import is_native
from kwire.connection import CLIENT, SERVER, Direction
from kwire.connection.events import REQUEST_SIZE
from kwire.errors import KwireError
from kwire.frames import frame
from kwire.interpreter import large
from kwire_inspect.capture import Broken, Connection, Peer, Piece
from kwire_inspect.connections import (
    Condition,
    ConnectionProjection,
    ConnectionRows,
    batches,
    connection,
    frame_batches,
    payload,
)
from kwire_inspect.connections.batches import ALL, CODES, TABLES, Bodies, Budget, Connections, Table
from kwire_inspect.connections.connection import FOREIGN, UnorientedConnection, score
from kwire_inspect.connections.error_codes import error_codes, scanner
from kwire_inspect.connections.request_context import APIS, MESSAGES
from kwire_inspect.reasons import MISSING
from kwire_inspect.reasons import UNDECIDED as NOT_DECIDED
from kwire_inspect.rows import Row
from kwire_kafka import (
    PROTOCOL,
    ApiVersionsRequest,
    ApiVersionsResponse,
    DefaultPrincipalData,
    EnvelopeRequest,
    EnvelopeResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    MetadataRequest,
    MetadataResponse,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from kwire_kafka.api.metadata import MetadataRequestTopic, MetadataResponsePartition, MetadataResponseTopic
from tests.inspect.test_late_captures import late
from tests.inspect.test_whole_tables import lines
from tests.support.capture_files import EPOCH, Segment
from tests.support.connection_pieces import answered, asked, cells, gap, pieces, values

BEAT, BEATEN = HeartbeatRequest(group_id="g"), HeartbeatResponse(throttle_time_ms=5, error_code=27)
REQUEST, RESPONSE = asked(BEAT, 4, 1)[2], answered(BEATEN, 4, 1)[2]
Step = Segment | Piece | str
"""A piece, or what else is done with a connection at its last piece."""


def transcript(steps: Sequence[Step], table: Table, *, swapped: bool | None = None) -> str:
    """The rows of each step, and what waits then; the same if the connection is stored after each step. With
    ``swapped``, it is not known which side is the client."""
    both = [_transcript(steps, table, swapped, stored) for stored in (False, True)]
    assert both[0] == both[1]
    return both[0]


def _transcript(steps: Sequence[Step], table: Table, swapped: bool | None, stored: bool) -> str:
    segments = [step for step in steps if not isinstance(step, str)]
    given = pieces(segments) if swapped is None else late(segments, swapped=swapped)
    made = ConnectionRows if swapped is None else UnorientedConnection
    one: ConnectionRows | UnorientedConnection = made(given[0].connection, ConnectionProjection(table))
    told, left, last = list[str](), iter(given), given[0]
    actions: dict[str, Callable[[], list[Row]]] = {
        "drop": lambda: one.rows(one.drop(last.time, "dropped"), replace(last, kind="gap")),
        "drop secrets": lambda: one.rows(one.drop(last.time, "not stored", secrets=True), replace(last, kind="gap")),
        "unread": lambda: one.unread(last),
        "again": lambda: one.feed(last),
        "hurry": lambda: hurried(one, replace(last, kind="data", direction=CLIENT, data=b"", size=0)),
    }
    for step in [*steps, "end", "again", "drop", "unread"]:
        if step in actions:
            rows, words = actions[str(step)](), step
        else:
            last = next(left)
            rows, words = one.feed(last), f"{last.kind} {last.direction} {last.size}"
        told.append(f"{words} [held {one.held}]")
        batch = ConnectionProjection(table).batch(rows).to_pylist() if rows else []
        told += [f"  {line}" for line in lines(batch, Path("none")).split("\n") if line]
        if stored:
            one = pickle.loads(pickle.dumps(one))
    return "\n".join(told)


def hurried(one: ConnectionRows | UnorientedConnection, piece: Piece) -> list[Row]:
    return one.hurry(piece) if isinstance(one, UnorientedConnection) else []


LOGIN = [
    asked(SaslHandshakeRequest(mechanism="PLAIN"), 1, 11, 0.1),
    answered(SaslHandshakeResponse(mechanisms=["PLAIN"]), 1, 11, 0.2),
    asked(SaslAuthenticateRequest(auth_bytes=b"\0alice\0hunter2"), 2, 12, 0.3),
    answered(SaslAuthenticateResponse(session_lifetime_ms=9), 2, 12, 0.4),
]
PRINCIPAL = DefaultPrincipalData(type="Bot", name="bob").encode(0)
ENVELOPE, NEWER = (
    EnvelopeRequest(
        request_data=asked(BEAT, 4, 1, client_id="you")[2][4:],
        request_principal=version + PRINCIPAL,
        client_host_address=b"\xc0\0\2\7",
    )
    for version in (b"\0\0", b"\0\x63")
)
NAMED = ApiVersionsRequest(client_software_name="a")
FALLBACK: list[Step] = [
    *(asked(NAMED, 3, 1), answered(ApiVersionsResponse(throttle_time_ms=3), 3, 1)),
    *(asked(NAMED, 3, 2), answered(ApiVersionsResponse(error_code=35), 0, 2)),
    *(asked(NAMED, 3, 3), answered(ApiVersionsResponse(), 3, 3)),
]
UNREADABLE = frame(b"\0\x0c\0\4\0\0\0\7\0\2me\1\0\x7f" + bytes(20))
"""A request whose header claims more tagged bytes than there are."""
CONVERSATIONS: dict[str, list[Step]] = {
    "requests that are dropped": [
        asked(BEAT, 4, 1),
        asked(BEAT, 4, 2, 0.1),
        "drop",
        answered(BEATEN, 4, 1, 0.2),
        asked(BEAT, 4, 3, 0.3),
        (SERVER, 0.4, answered(BEATEN, 4, 3)[2][:9]),
        "drop",
        (SERVER, 0.5, answered(BEATEN, 4, 3)[2][9:]),
        "unread",
        "unread",
        asked(BEAT, 4, 4, 0.6),
        answered(BEATEN, 4, 4, 0.7),
    ],
    "a login whose secrets are dropped": [
        *LOGIN[:2],
        (CLIENT, 0.3, LOGIN[2][2][:20]),
        "drop secrets",
        (CLIENT, 0.35, LOGIN[2][2][20:]),
        asked(BEAT, 4, 13, 0.5),
        answered(BEATEN, 4, 13, 0.6),
        "drop secrets",
        asked(BEAT, 4, 14, 0.7),
        "drop secrets",
    ],
    "a login": [
        *LOGIN,
        asked(BEAT, 4, 13, 0.5),
        answered(BEATEN, 4, 13, 0.6),
        "drop secrets",
        asked(BEAT, 4, 14, 0.7),
    ],
    "a login that is refused": [
        *LOGIN[:3],
        answered(SaslAuthenticateResponse(error_code=58, error_message="no"), 2, 12, 0.4),
        asked(BEAT, 4, 13, 0.5),
    ],
    "losses": [
        (CLIENT, 0.0, REQUEST[:18]),
        gap(CLIENT, 8, 0.1),
        "unread",
        asked(BEAT, 4, 2, 0.2),
        (SERVER, 0.3, answered(BEATEN, 4, 2)[2][:13]),
        gap(SERVER, 3, 0.4),
        answered(BEATEN, 4, 9, 0.5),
        gap(SERVER, 0, 0.6),
        "unread",
        asked(BEAT, 4, 3, 0.7),
        answered(BEATEN, 4, 3, 0.8),
        gap(CLIENT, 50, 0.9),
    ],
    "a version that is not that of the request": FALLBACK,
    "what nobody knows": [(CLIENT, 0.1, b"\xff\xff\xff\xffwhatever it is"), (SERVER, 0.2, b"\xff" * 9)],
    "headers that cannot be read": [
        asked(BEAT, 4, 1),
        (CLIENT, 0.1, UNREADABLE),
        (CLIENT, 0.2, UNREADABLE[:24]),
        gap(CLIENT, len(UNREADABLE) - 24, 0.3),
        "unread",
        asked(BEAT, 4, 8, 0.4),
        answered(BEATEN, 4, 1, 0.5),
        (SERVER, 0.6, frame(b"\0\0\0\7\0abc")),
        answered(BEATEN, 4, 8, 0.7),
    ],
    "an Envelope": [
        asked(ENVELOPE, 0, 1),
        asked(ENVELOPE, 0, 2, 0.1),
        answered(EnvelopeResponse(response_data=RESPONSE[4:]), 0, 1, 0.2),
        "drop",
        asked(NEWER, 0, 3, 0.3),
        answered(EnvelopeResponse(error_code=41), 0, 3, 0.4),
    ],
    "what is not Kafka": [asked(BEAT, 4, 1), (SERVER, 0.1, b"HTTP/1.1 400 Bad"), "unread", (SERVER, 0.2, b"more")],
}


@pytest.mark.parametrize("table", ["frames", "exchanges"])
@pytest.mark.parametrize("name", CONVERSATIONS)
def test_rows_of_each_piece(snapshot: SnapshotAssertion, name: str, table: Table) -> None:
    assert transcript(CONVERSATIONS[name], table) == snapshot


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_rows_are_the_same_if_codes_are_searched_in_bytes(name: str) -> None:
    schema = pa.schema([field for field in TABLES["exchanges"] if field.name not in ("request", "response")])
    given = pieces([step for step in CONVERSATIONS[name] if not isinstance(step, str)])
    searched, decoded = (
        [row for batch in frame_batches(given, schema, table="exchanges", bodies=bodies) for row in batch.to_pylist()]
        for bodies in (CODES, ALL)
    )
    assert [row["error_codes"] for row in searched] == [row["error_codes"] for row in decoded]
    assert [row["throttle_ms"] for row in searched] == [row["throttle_ms"] for row in decoded]


def test_what_clients_say_of_themselves_is_bounded_and_may_change() -> None:
    """A handshake of a version that nobody knows tells nothing."""
    told = [("a", "1"), ("b", ""), ("c" * 1001, "2" * 1001), ("d" * 1000, "3" * 1000)]
    given: list[Segment] = [(CLIENT, 0.0, frame(b"\0\x11\0\x63\0\0\0\1\0\2me\0xyz"))]
    for number, (name, version) in enumerate(told):
        named = ApiVersionsRequest(client_software_name=name, client_software_version=version)
        given += [asked(named, 3, number), asked(BEAT, 4, 10 + number)]
    rows = values(pieces(given), "kind", "software_name", "software_version")
    expected = [("a", "1"), ("b", None), ("c" * 1000, "2" * 1000), ("d" * 1000, "3" * 1000)]
    seen = [row[1:] for row in rows if row[0] == "request"]
    assert seen == [(None, None), *(each for each in expected for _ in range(2))]


@pytest.mark.parametrize(
    ("token", "name"),
    [
        (b"\0alice\0x", "alice"),
        (b"other\0alice\0x", "alice"),
        ("\0jürgen\0x".encode(), "jürgen"),
        (b"\0\xff\0x", "\ufffd"),
        (b"\0" + b"a" * 1001 + b"\0x", "a" * 1000),
        (b"\0\0x", None),
        (b"\0alice\0x\0", None),
    ],
)
def test_names_in_logins(token: bytes, name: str | None) -> None:
    """Also if the response to an earlier request comes while the server has not answered."""
    named = ApiVersionsRequest(client_software_name="a")
    given = [
        *LOGIN[:2],
        asked(named, 3, 20),
        asked(SaslAuthenticateRequest(auth_bytes=token), 2, 21),
        answered(ApiVersionsResponse(), 3, 20),
        answered(SaslAuthenticateResponse(), 2, 21),
        asked(BEAT, 4, 22),
    ]
    principal = name and f"User:{name}"
    assert values(pieces(given), "principal", table="exchanges") == [None, None, None, principal]


@pytest.mark.skipif(is_native(), reason="native code calls functions directly: none can be replaced")
@pytest.mark.parametrize("table", ["frames", "exchanges"])
def test_bytes_whose_secrets_are_not_found_are_not_shown(monkeypatch: pytest.MonkeyPatch, table: Table) -> None:
    def fail(*_: object) -> bytes:
        raise KwireError("no place")

    monkeypatch.setattr(payload, "redacted_bytes", fail)
    found = cells(pieces([*LOGIN, asked(BEAT, 4, 3)]), table=table)
    assert b"hunter2".hex() not in lines(found, Path("none"))
    column = "raw" if table == "frames" else "request"
    shown = [row["api"] for row in found if row[column] and row.get("direction", CLIENT) == CLIENT]
    assert shown == ["SaslHandshake", "Heartbeat"]


@pytest.mark.parametrize(("table", "column"), [("frames", "raw"), ("exchanges", "request")])
def test_of_newer_versions_no_bytes_are_shown_that_may_be_secret(table: Table, column: str) -> None:
    newer = [b"\0" + bytes([api]) + b"\0\x63\0\0\0\1\0\2me\0\0alice\0hunter2" for api in (36, 12)]
    given: list[Segment] = [(CLIENT, 0.0, frame(data)) for data in newer]
    rows = [row for row in values(pieces(given), "api", column, "reason", table=table) if row[0] and row[2]]
    shown = {api: data for api, data, reason in rows if "is newer than" in reason or table == "exchanges"}
    assert shown == {"SaslAuthenticate": None, "Heartbeat": newer[1]}


@pytest.mark.parametrize(("table", "sources"), [("frames", "aabbba"), ("exchanges", "aba")])
def test_each_row_names_its_file(table: Table, sources: str) -> None:
    """Also if requests of the same client and version were in another, before or after."""
    given = pieces([step for number in range(3) for step in (asked(BEAT, 4, number), answered(BEATEN, 4, number))])
    for piece, name in zip(given, "aabbba" if table == "frames" else "aabbaa", strict=False):
        piece.source = name
    assert values(given, "source", table=table) == list(sources)


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("closer", [CLIENT, SERVER])
def test_who_closes_with_requests_in_flight(snapshot: SnapshotAssertion, closer: Direction, swapped: bool) -> None:
    """The server has refused the oldest, and the others were not read. The sides are Kafka's, also if swapped."""
    made = pieces([asked(BEAT, 4, number) for number in (1, 2, 3)])
    connection = Connection(Peer("10.0.0.1", 1), Peer("10.0.0.9", 2), EPOCH, True)
    sides: dict[Direction, Direction] = (
        {CLIENT: SERVER, SERVER: CLIENT} if swapped else {CLIENT: CLIENT, SERVER: SERVER}
    )
    rows, found = ConnectionRows(connection, ConnectionProjection("exchanges"), swapped=swapped), list[Row]()
    for piece in made[:-1]:
        found += rows.feed(replace(piece, connection=connection, direction=sides[piece.direction]))
    found += rows.feed(replace(made[-1], connection=connection, direction=sides[closer], size=1))
    told = [
        (row["correlation_id"], row["client_port"], row["outcome"], row["reason"])
        for row in ConnectionProjection("exchanges").batch(found).to_pylist()
    ]
    ended = f"the connection ended: the {closer} closed it"
    later = f"{ended} at an earlier request" if closer == SERVER else ended
    port = 2 if swapped else 1
    assert told == [(number, port, "unanswered", ended if number == 1 else later) for number in (1, 2, 3)]


THREE = [asked(BEAT, 4, number, number / 10) for number in (1, 2, 3)]
UNDECIDED: dict[str, list[Step]] = {
    "three requests at once": [(CLIENT, 0.1, THREE[0][2]), (CLIENT, 0.2, b"".join(each[2] for each in THREE[1:]))],
    "three requests, and more after they have decided": [
        *THREE,
        "hurry",
        asked(BEAT, 4, 4, 0.5),
        gap(SERVER, 5, 0.6),
        "unread",
        "drop secrets",
    ],
    "a request that has to do": [THREE[0], "hurry", *THREE[1:], "hurry", answered(BEATEN, 4, 3, 0.4)],
    "what is dropped": [
        THREE[0],
        gap(SERVER, 7, 0.1),
        "drop",
        *THREE[1:],
        "unread",
        "drop",
        "unread",
        "drop secrets",
    ],
    "many bytes": [
        (CLIENT, 0.1, b"\xfe" * 5000),
        (SERVER, 0.2, b"\xfe" * 5000),
        gap(CLIENT, 9, 0.3),
        "unread",
        THREE[0],
    ],
    "what is like TLS": [(CLIENT, 0.1, b"\x17\3\3\0\5hello"), (SERVER, 0.2, b"\x17\3\3\0\5there"), "unread"],
    "what is not Kafka": [(SERVER, 0.1, b"HTTP/1.1 400 Bad"), "hurry", (CLIENT, 0.2, b"GET / HTTP/1.1")],
}


@pytest.mark.parametrize("table", ["frames", "exchanges"])
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("name", UNDECIDED)
def test_rows_of_each_piece_while_the_client_is_unknown(
    snapshot: SnapshotAssertion, name: str, swapped: bool, table: Table
) -> None:
    assert transcript(UNDECIDED[name], table, swapped=swapped) == snapshot


GARBAGE, NOT_KAFKA = (CLIENT, 0.0, frame(b"\0\x0c\0\4garbage")), (CLIENT, 0.0, b"GET / HTTP/1.1\r\n\r\n")
CUT = (CLIENT, 0.0, frame(REQUEST[4:-2]))
LATER = (CLIENT, 0.0, frame(b"\0\x0c\0\x63\0\0\0\1\0\2me\0xyz"))
WRONG = (SERVER, 0.0, frame(RESPONSE[4:-2]))


@pytest.mark.parametrize(
    ("segments", "enough", "expected"),
    [
        ([], FOREIGN, (0, 0)),
        ([asked(BEAT, 4, 1)], FOREIGN, (1, 0)),
        ([asked(BEAT, 4, 1), asked(BEAT, 4, 2)], FOREIGN, (2, 0)),
        ([asked(BEAT, 4, 1), answered(BEATEN, 4, 1)], FOREIGN, (4, 0)),
        ([asked(BEAT, 4, 1), WRONG], FOREIGN, (1, 0)),
        ([LATER], FOREIGN, (0, 0)),
        ([LATER, (SERVER, 0.0, frame(b"\0\0\0\1xyz"))], FOREIGN, (1, 0)),
        ([CUT], FOREIGN, (0, 0)),
        ([(CLIENT, 0.0, REQUEST.replace(b"me", b"\xff\xfe"))], FOREIGN, (0, 0)),
        ([(CLIENT, 0.0, frame(REQUEST[4:16] + b"\2\1\0\0\0" + REQUEST[17:]))], FOREIGN, (0, 0)),  # tags in disorder
        ([CUT, answered(BEATEN, 4, 1)], FOREIGN, (0, 0)),
        ([NOT_KAFKA], FOREIGN, (FOREIGN, FOREIGN)),
        ([asked(BEAT, 4, 1), (SERVER, 0.0, b"HTTP/1.1 400 Bad Request\r\n\r\n")], FOREIGN, (FOREIGN, FOREIGN)),
        (THREE, 1, (1, 0)),
        (THREE, 2, (2, 0)),
        (THREE, 3, (3, 0)),
        ([*[CUT] * 31, asked(BEAT, 4, 1)], FOREIGN, (1, 0)),
        ([asked(BEAT, 4, 1), *[CUT] * 33, asked(BEAT, 4, 1)], FOREIGN, (2, 0)),
    ],
)
def test_evidence_for_a_client(segments: list[Segment], enough: int, expected: tuple[int, int]) -> None:
    """Given as in the capture, and to who takes the other side for the client."""
    given = pieces(segments)
    for swapped in (False, True):
        sides: dict[Direction, Direction] = {CLIENT: SERVER, SERVER: CLIENT} if swapped else {}
        turned = [replace(piece, direction=sides.get(piece.direction, piece.direction)) for piece in given]
        found = [score(turned, 1 << 18, PROTOCOL, swapped=each, enough=enough) for each in (swapped, not swapped)]
        assert tuple(found) == expected


@pytest.mark.parametrize(("more", "expected"), [(0, 1), (1, 0)])
def test_a_side_is_given_up_after_frames_that_cannot_be_read(more: int, expected: int) -> None:
    """If none could be read before. The last ones wait for more, and pieces of a side are taken as one."""
    for count, bad in (
        (34 + more, b"".join(frame(asked(BEAT, 4, number)[2][4:-2]) for number in range(34 + more))),
        (33 + more, UNREADABLE * (33 + more)),
    ):
        segments: list[Segment] = [(CLIENT, 0.0, bad), (SERVER, 0.0, b""), asked(BEAT, 4, count)]
        assert score(pieces(segments), 1 << 18, PROTOCOL, swapped=False) == expected
        assert score(pieces([asked(BEAT, 4, count), *segments]), 1 << 18, PROTOCOL, swapped=False) == 2
    answers: list[Segment] = [(SERVER, 0.0, b"".join(answered(BEATEN, 4, number)[2] for number in range(32 + more)))]
    assert (
        score(pieces([*answers, (CLIENT, 0.0, b""), asked(BEAT, 4, 99)]), 1 << 18, PROTOCOL, swapped=False)
        == expected
    )


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        (0, {(0, 0): (None, None), (1, 0): (None, None), (2, 1): (None, None), (3, 3): (None, None)}),
        (40000, {(0, 0): (None, None), (1, 0): (None, False), (0, 2): (None, None), (2, 1): (None, None)}),
        (5000, {(0, 0): (None, None), (1, 0): (None, None), (0, 2): (None, True), (1, 2): (None, None)}),
    ],
)
def test_scores_that_decide(server: int, expected: dict[tuple[int, int], tuple[bool | None, bool | None]]) -> None:
    """Three times the other, or any score at the end if a handshake hints at the same."""
    one = UnorientedConnection(late([], swapped=False, server=server)[0].connection, ConnectionProjection())
    always = {(3, 0): False, (0, 3): True, (3, 1): False, (1, 3): True, (5, 2): None, (6, 2): False, (2, 6): True}
    for scores, both in (expected | {each: (side, side) for each, side in always.items()}).items():
        assert (one._swapped(*scores, ended=False), one._swapped(*scores, ended=True)) == both, scores
    likely = {0: False, 40000: False, 5000: True}[server]
    assert [one._swapped(*each, ended=False) for each in ((FOREIGN, 0), (0, FOREIGN), (FOREIGN, FOREIGN))] == [
        likely
    ] * 3


@pytest.mark.parametrize(
    ("counts", "swapped"),
    [((30, 12), None), ((30, 10), False), ((30, 4), False), ((4, 30), True), ((12, 30), None), ((9, 3), False)],
)
def test_requests_of_both_sides(counts: tuple[int, int], swapped: bool | None) -> None:
    """The client is who has three times as many, also if they come bit by bit."""
    sides: tuple[Direction, ...] = CLIENT, SERVER
    both = [
        [(side, 0.0, asked(BEAT, 4, number)[2]) for number in range(count)]
        for side, count in zip(sides, counts, strict=True)
    ]
    segments: list[Segment] = [each for number in range(30) for one in both for each in one[number : number + 1]]
    at_once = UnorientedConnection(late([], swapped=False)[0].connection, ConnectionProjection())
    for piece in late(segments, swapped=False):
        if at_once.decided is None:
            at_once.add(piece)
    assert (at_once.decided and at_once.decided.swapped) == swapped
    ordered: list[Segment] = [(CLIENT, 0.0, b""), *both[0], *both[1]]
    given = late(ordered, swapped=False)
    if counts[0] >= 3:
        one = UnorientedConnection(given[0].connection, ConnectionProjection())
        for piece in given[:4]:
            one.feed(piece)
        one.hurry(given[4])
        assert one.decided is not None
        assert one._pieces == []
        assert not one.decided.swapped


@pytest.mark.parametrize("count", [100, 344])
@pytest.mark.parametrize(("server", "decided"), [(40000, True), (0, False), (5000, False)])
def test_a_hint_decides_at_the_end_after_however_many_bytes(count: int, server: int, decided: bool) -> None:
    """One request was seen, and then what shows nothing. All bytes are told."""
    noise: list[Segment] = [(SERVER, 0.1, b"\xfe" * 768)] * count
    given = late([asked(BEAT, 4, 1), *noise], swapped=False, server=server)
    found = cells(given, "problem", "unread", "client_port", "request_size", table="exchanges")
    assert {row["client_port"] for row in found} == {5000 if decided else None}
    assert sum((row["unread"] or 0) + (row["request_size"] or 0) for row in found) == 26 + 768 * count


@pytest.mark.parametrize("closed", [0, 1])
@pytest.mark.parametrize(("table", "column"), [("frames", "size"), ("exchanges", "unread")])
def test_of_a_client_that_stays_unknown_the_bytes_are_told(table: Table, column: str, closed: int) -> None:
    """Those that are missing too, and nothing else: the end of a connection that a side closed has a size."""
    given = late([(CLIENT, 0.1, b"\xfe" * 7), gap(SERVER, 5, 0.2), (SERVER, 0.3, b"\xfe" * 9)], swapped=False)
    given[-1].size = closed
    assert cells(given, "problem", column, table=table) == [{"problem": NOT_DECIDED, column: 7 + 5 + 9}]


@pytest.mark.parametrize("table", ["frames", "exchanges"])
@pytest.mark.parametrize("swapped", [False, True])
def test_conditions_are_about_the_sides_that_were_found(swapped: bool, table: Table) -> None:
    """Not about those of the capture, which may be the wrong way round."""
    server = 5000 if swapped else 40000
    for condition, count in (
        (Condition("server_port", "=", server), 3),
        (Condition("server_port", "=", 45000 - server), 0),
        (Condition("client_port", "=", 45000 - server), 3),
        (Condition("client_port", "=", server), 0),
    ):
        rows = cells(late(THREE, swapped=swapped), "correlation_id", "reason", table=table, conditions=[condition])
        assert len([row for row in rows if row["reason"] or table == "exchanges"]) == count, condition
        one = UnorientedConnection(
            late([], swapped=swapped)[0].connection, ConnectionProjection(table, conditions=[condition])
        )
        made = [row for piece in late(THREE, swapped=swapped) for row in one.feed(piece)]
        assert len(made) == (count if table == "exchanges" else 2 * count), condition


def test_bytes_that_were_not_read_have_to_pass_conditions_too() -> None:
    wanted = ConnectionProjection("exchanges", conditions=[Condition("unread", ">", 7)])
    given = pieces([asked(BEAT, 4, 1), (SERVER, 0.0, RESPONSE[:9]), gap(SERVER, 7), *THREE, gap(CLIENT, 8)])
    one = ConnectionRows(given[0].connection, wanted)
    rows = [row for piece in given[:-1] for row in one.feed(piece)]
    assert rows == []
    told = wanted.batch(one.unread(given[-2])).to_pylist()
    assert [(row["problem"], row["unread"]) for row in told] == [(MISSING, 8)]
    undecided = UnorientedConnection(late([], swapped=False)[0].connection, wanted)
    for sizes, expected in ((7, []), (8, [8])):
        undecided.feed(late([(CLIENT, 0.0, bytes(sizes))], swapped=False)[0])
        undecided.drop(0.0, "")
        rows = undecided.unread(given[0])
        assert ([row["unread"] for row in wanted.batch(rows).to_pylist()] if rows else []) == expected


@pytest.mark.parametrize("table", ["frames", "exchanges"])
def test_requests_in_flight_of_a_connection_are_bounded(table: Table) -> None:
    wanted = ConnectionProjection(table, budget=Budget(held=3000))
    one = ConnectionRows(peer(1), wanted)
    rows = [
        row for piece in of(1, *(asked(BEAT, 4, number) for number in range(5)), end=True) for row in one.feed(piece)
    ]
    found = {row["correlation_id"]: row["reason"] for row in wanted.batch(rows).to_pylist() if row["reason"]}
    ended, many = "the connection ended", "too many requests are in flight"
    assert found == {0: many, 1: many, 2: many, 3: ended, 4: ended}


@pytest.mark.skipif(is_native(), reason="native code calls functions directly: none can be replaced")
def test_bytes_that_show_nothing_are_tried_less_and_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """At sizes that grow; then as many are passed over as were tried. All are told, in rows that add up."""
    tried: list[tuple[int, int, bool]] = []
    held: list[int] = []

    def counted(pieces: object, size: int, protocol: object, *, swapped: bool, enough: int) -> int:
        tried.append((len(held), size, swapped))
        return 0

    monkeypatch.setattr(connection, "score", counted)
    segments: list[Segment] = [((CLIENT, SERVER)[number % 2], 0.0, bytes(768)) for number in range(1300)]
    given = late(segments, swapped=False)
    window = [(3, 4096), (31, 32768), (255, 1 << 18)]
    second = [(513 + number, size) for number, size in window]
    all_of_it = [*window, (400, 1024), *second, (1284, 4096), (1300, 19 * 1024 + 256)]
    for most, expected in ((1 << 30, all_of_it), (300 * 768, window)):
        monkeypatch.setattr(connection, "MAX_UNDECIDED", most)
        wanted = ConnectionProjection("exchanges")
        one, rows = UnorientedConnection(given[0].connection, wanted), list[Row]()
        for number, piece in enumerate(given):
            rows += one.hurry(piece) if number == 400 else one.feed(piece)
            rows += one.unread(piece) if number in (299, 300) else []
            held.append(one.held)
        assert tried == [(*each, swapped) for each in expected for swapped in (False, True)]
        told = wanted.batch(rows).to_pylist()
        assert [(row["unread"], row["number"]) for row in told] == [(300 * 768, 0), (768, None), (999 * 768, None)]
        assert held[:3] + held[254:258] == [1024, 2048, 3072, 255 * 1024, 0, 0, 0]
        assert held[-1] == 0
        tried.clear()
        held.clear()
    one = UnorientedConnection(given[0].connection, ConnectionProjection("exchanges"))
    for piece in late([(CLIENT, 0.0, bytes(40_000))] * 9, swapped=False)[:-1]:
        one.feed(piece)
        held.append(one.held)
    assert [(number, size) for number, size, swapped in tried if swapped] == [(0, 40_256), (6, 7 * 40_256)]


@pytest.mark.parametrize("less", [0, 1])
def test_frames_above_a_size_with_many_values(monkeypatch: pytest.MonkeyPatch, less: int) -> None:
    """All but their bodies is known. Up to that size they are decoded. Others of the same kind are too."""
    monkeypatch.setattr(large._Counting, "left", 60)
    topics = [MetadataRequestTopic(name="") for _ in range(100)]
    found = [MetadataResponseTopic(error_code=3) for _ in range(len(topics))]
    request, response = asked(MetadataRequest(topics=topics), 4, 1), answered(MetadataResponse(topics=found), 4, 1)
    given = pieces(
        [request, response, asked(MetadataRequest(), 4, 2), answered(MetadataResponse(throttle_time_ms=1), 4, 2)]
    )
    sizes = [len(each[2]) - 4 for each in (request, response)]
    reasons = [f"{size} bytes contain too many values to decode: increase maxDecoded" for size in sizes]
    for most in sizes:
        why = [reason if size > most - less else None for size, reason in zip(sizes, reasons, strict=True)]
        tables: list[tuple[Table, list[tuple[object, ...]]]] = [
            (
                "frames",
                [
                    ("request", None, None, why[0]),
                    ("response", None if why[1] else [3], None if why[1] else 0, why[1]),
                    ("request", None, None, None),
                    ("response", [], 1, None),
                ],
            ),
            (
                "exchanges",
                [
                    ("answered", None if why[1] else [3], None if why[1] else 0, why[0] or why[1]),
                    ("answered", [], 1, None),
                ],
            ),
        ]
        for table, expected in tables:
            kind = "kind" if table == "frames" else "outcome"
            schema = pa.schema([TABLES[table].field(name) for name in (kind, "error_codes", "throttle_ms", "reason")])
            for conditions in ([], [Condition("api", "=", "Metadata")]):
                budget = Budget(decoded=most - less)
                read = frame_batches(given, schema, table=table, budget=budget, conditions=conditions)
                rows = [tuple(row.values()) for batch in read for row in batch.to_pylist()]
                assert rows == expected


@pytest.mark.parametrize("bodies", [ALL, CODES])
@pytest.mark.parametrize("table", ["frames", "exchanges"])
def test_frames_above_a_size_with_few_values_have_the_same_rows(table: Table, bodies: Bodies) -> None:
    """So have those whose bodies nobody knows, or needs."""
    newer: list[Segment] = [(CLIENT, 0.0, LATER[2]), (SERVER, 0.0, frame(b"\0\0\0\1" + bytes(90_000)))]
    given = pieces([*THREE, answered(BEATEN, 4, 1), *newer])
    columns = [name for name in TABLES[table].names if name not in ("raw", "request", "response")]
    schema = pa.schema([TABLES[table].field(name) for name in columns])
    small, usual = (
        [
            row
            for batch in frame_batches(given, schema, table=table, bodies=bodies, budget=budget)
            for row in lined(batch)
        ]
        for budget in (Budget(decoded=0), Budget())
    )
    assert small == usual


def lined(batch: pa.RecordBatch) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = batch.to_pylist()
    return rows


@pytest.mark.parametrize(
    ("table", "columns", "conditions", "expected"),
    [
        ("frames", None, [], (True, True, True)),
        ("frames", ["size"], [], (False, False, frozenset())),
        ("frames", ["throttle_ms"], [], (True, False, True)),
        ("frames", ["error_codes"], [], (True, False, True)),
        ("frames", ["kind"], [], (False, False, True)),
        ("frames", ["reason"], [], (False, False, True)),
        ("frames", ["raw"], [], (False, True, payload.APIS)),
        ("frames", ["principal"], [], (False, False, APIS)),
        ("frames", ["software_name"], [], (False, False, APIS)),
        ("frames", ["software_version", "raw"], [], (False, True, APIS | payload.APIS)),
        ("exchanges", None, [], (True, True, True)),
        ("exchanges", ["api"], [], (False, False, {"Envelope"})),
        ("exchanges", ["request"], [], (False, True, {"Envelope"} | payload.APIS)),
        ("exchanges", ["response", "principal"], [], (False, True, {"Envelope"} | payload.APIS | APIS)),
        ("exchanges", ["outcome"], [], (False, False, True)),
        ("exchanges", ["response_version"], [], (False, False, True)),
        ("exchanges", ["api"], [Condition("reason", "null")], (False, False, True)),
        ("exchanges", ["outcome"], [Condition("api", "=", "Fetch")], (False, False, {"Envelope", "Fetch"})),
        ("frames", ["reason"], [Condition("api", "in", ["Fetch", "Produce"])], (False, False, {"Fetch", "Produce"})),
        ("frames", ["raw", "kind"], [Condition("api", "=", "Fetch")], (False, True, {"Fetch"} | payload.APIS)),
        ("frames", ["kind"], [Condition("api", "=", "Fetch", negated=True)], (False, False, True)),
        ("frames", ["kind"], [Condition("api", "starts with", "F")], (False, False, True)),
        ("frames", ["kind"], [Condition("kind", "=", "request")], (False, False, True)),
        (
            "frames",
            ["kind"],
            [Condition("kind", "=", "request"), Condition("api", "=", "Fetch"), Condition("api", "=", "Produce")],
            (False, False, {"Fetch"}),
        ),
    ],
)
def test_what_is_decoded_for_columns_and_conditions(
    table: Table, columns: list[str] | None, conditions: list[Condition], expected: tuple[bool, bool, object]
) -> None:
    """Whether error codes and bytes are needed, and the APIs whose bodies are."""
    schema = columns and pa.schema([TABLES[table].field(name) for name in columns])
    made = ConnectionProjection(table, schema or None, conditions)
    assert (made.errors, made.shown, made.bodies, made.scans) == (*expected, False)
    codes = ConnectionProjection(table, schema or None, conditions, bodies=CODES)
    scans = table == "exchanges" and not expected[1]
    assert (codes.errors, codes.shown, codes.bodies, codes.scans) == (
        *expected[:2],
        MESSAGES | {"Envelope"} if scans else expected[2],
        scans,
    )


def test_codes_are_those_of_the_api_and_version_of_a_response() -> None:
    """Nothing is found in bytes that cannot be read, or of a version that is not known."""
    made = ConnectionProjection("exchanges", bodies=CODES)
    beaten = [BEATEN.encode(version) for version in (0, 1, 4)]
    other = MetadataResponse(throttle_time_ms=9, topics=[MetadataResponseTopic(error_code=3)])
    part = MetadataResponsePartition(error_code=9, replica_nodes=[1], isr_nodes=[1, 2])
    for _ in range(2):
        assert [made.outcome(12, version, body, 0) for version, body in zip((0, 1, 4), beaten, strict=True)] == [
            ((27,), 0),
            ((27,), 5),
            ((27,), 5),
        ]
        assert made.outcome(12, 4, b"head" + beaten[2], 4) == ((27,), 5)
        assert made.outcome(3, 12, other.encode(12), 0) == ((3,), 9)
        assert made.outcome(3, 4, other.encode(4), 0) == ((3,), 9)
        for body in (b"", beaten[2][:3], beaten[2][:-1]):
            assert made.outcome(12, 4, body, 0) == ((), None)
        replicas = MetadataResponse(topics=[MetadataResponseTopic(error_code=3, partitions=[part])]).encode(4)
        assert made.outcome(3, 4, replicas, 0) == ((3, 9), 0)
        assert [made.outcome(3, 4, replicas[:-cut], 0) for cut in range(1, len(replicas))] == [((), None)] * (
            len(replicas) - 1
        )
        assert made.outcome(3, 12, b"\0\0\0\1\xff\xff\xff\xff\xff\xff", 0) == ((), None)
        null = b"\xff\xff\xff\xff"
        assert made.outcome(3, 3, b"\0\0\0\5" + null + null[:2] + null + bytes(4), 0) == (
            (),
            None,
        ), "no brokers at all"
        assert made.outcome(3, 3, b"\0\0\0\5" + bytes(4) + null[:2] + null + bytes(4), 0) == ((), 5)
        assert made.outcome(17, 0, b"\0\1" + b"\0\0\0\1" + null[:2], 0) == ((), None), "a mechanism without a name"
        assert made.outcome(17, 0, b"\0\1" + b"\0\0\0\1" + bytes(2), 0) == ((1,), None)
        assert made.outcome(12, 99, beaten[2], 0) == ((), None)


@pytest.mark.parametrize("count", [255, 256, 257])
def test_error_codes_of_a_response_are_bounded(count: int) -> None:
    """In ascending order, each once, without 0."""
    topics = [MetadataResponseTopic(error_code=number) for number in [*range(count, 0, -1), 0, 1]]
    response = MetadataResponse(topics=topics)
    expected = tuple(range(1, min(count, 256) + 1))
    scan = scanner(MetadataResponse, 12)
    assert scan is not None
    assert (error_codes(response), scan(response.encode(12), 0)) == (expected, (expected, 0))


def peer(number: int) -> Connection:
    return Connection(Peer("10.0.0.1", 50000 + number), Peer("10.0.0.9", 9092), EPOCH, True)


def of(number: int, *segments: Segment | Piece, end: bool = False) -> list[Piece]:
    made = pieces(segments, connection=peer(number))
    return made if end else made[:-1]


def test_the_memory_that_a_piece_needs() -> None:
    """Its bytes; if it completes frames, also what they become, with the whole first frame."""
    connections = Connections(ConnectionProjection("exchanges"))
    size, two = len(REQUEST), REQUEST + asked(BEAT, 4, 2)[2]
    first, second, both, closed = of(
        1, (CLIENT, 0.0, REQUEST[:9]), (CLIENT, 0.1, REQUEST[9:]), (CLIENT, 0.2, two), end=True
    )
    closed_first = of(2, end=True)[0]
    found = [connections.feed(piece) for piece in (first, second, both, closed_first)]
    content = size - 4
    assert found == [9, 2 * (size - 9) + REQUEST_SIZE + content, 4 * size + 2 * REQUEST_SIZE + content, 0]
    assert connections.feed(closed) == 3 * REQUEST_SIZE
    assert [piece for _, _, piece in connections.decoded] == [second, both, closed_first, closed]
    assert len(connections.rows()) == 3
    assert connections.decoded == []
    assert connections.rows() == []
    unwanted = Connections(ConnectionProjection("exchanges", conditions=[Condition("server_port", "=", 1)]))
    assert [unwanted.feed(piece) for piece in (first, second, both)] == [9, size - 9, 2 * size]
    assert (unwanted.feed(closed), unwanted.rows()) == (0, [])
    undecided = late(THREE, swapped=True)
    whole = Connections(ConnectionProjection("exchanges"))
    decided = 3 * (2 * size + REQUEST_SIZE + content) + 3 * REQUEST_SIZE
    assert [whole.feed(piece) for piece in undecided] == [size, size, size, decided]


def test_a_connection_that_is_closed_is_forgotten() -> None:
    """Even if the next is the same object: its first request has the number 0."""
    given = of(1, asked(BEAT, 4, 1), answered(BEATEN, 4, 1), end=True)
    rows = values([*given, *given], "number", "correlation_id", "outcome", table="exchanges")
    assert rows == [(0, 1, "answered")] * 2


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([400, 500, 100], []),
        ([400, 500, 101], [0, 1]),
        ([400, 100, 501], [2]),
        ([400, 101, 501], [0, 2]),
        ([300, 300, 300, 300], [0, 1, 2]),
    ],
)
def test_the_largest_connections_are_dropped_at_the_limit(sizes: list[int], expected: list[int]) -> None:
    """Down to half of it. It is looked at whenever half of it has come."""
    wanted = ConnectionProjection("frames", budget=Budget(held=1000))
    connections = Connections(wanted)
    frames = [frame(asked(BEAT, 4, number)[2][4:] + bytes(2000)) for number in range(len(sizes))]
    starts = [of(number, (CLIENT, 0.0, whole[: sizes[number]]))[0] for number, whole in enumerate(frames)]
    assert [connections.feed(piece) for piece in starts] == sizes

    def dropped() -> list[int]:
        held = [one.held for one in connections._open.values() if isinstance(one, ConnectionRows)]
        return [number for number, size in enumerate(held) if size != sizes[number]]

    last = starts[-1]
    assert [connections.drop(last, 499), dropped()] == [[], []]
    assert [connections.drop(last, 1), dropped()] == [[], expected]
    for number, start in enumerate(starts):
        rest: Segment = CLIENT, 1.0, frames[number][sizes[number] :]
        for piece in of(number, rest, end=True):
            connections.feed(replace(piece, connection=start.connection))
    reasons = [row["reason"] for row in wanted.batch(connections.rows()).to_pylist() if row["kind"] != "unanswered"]
    told = "bytes were dropped because connections held more than 1000 bytes: see the option maxHeld"
    assert [number for number, reason in enumerate(reasons) if reason and reason.endswith(told)] == expected


def test_what_was_dropped_is_in_rows_at_the_piece_that_came_then() -> None:
    """Requests in flight are dropped with the rest. What only saves time is forgotten of all connections."""
    wanted = ConnectionProjection("exchanges", budget=Budget(held=6400))
    connections = Connections(wanted)
    for number, count in ((1, 4), (2, 2), (3, 1)):
        for piece in of(number, *(asked(BEAT, 4, each) for each in range(count))):
            connections.feed(piece)
    connections.rows()
    contexts = [one._table.contexts._known for one in connections._open.values() if isinstance(one, ConnectionRows)]
    assert [len(known) for known in contexts] == [1, 1, 1]
    [place] = of(9, (SERVER, 7.0, b"x"))
    rows = wanted.batch(connections.drop(replace(place, position=77, source="b.pcap"), 3200)).to_pylist()
    reason = "the request was dropped because connections held more than 6400 bytes: see the option maxHeld"
    assert [(row["client_port"], row["correlation_id"], row["outcome"], row["reason"]) for row in rows] == [
        (50001, number, "unanswered", reason) for number in range(4)
    ]
    assert [len(known) for known in contexts] == [0, 0, 0]
    connections.feed(of(1, asked(BEAT, 4, 9))[0])
    connections.rows()
    left = [one for one in connections._open.values() if isinstance(one, ConnectionRows)]
    assert connections.drop(place, 3199) == []
    assert sum(len(one._table.contexts._known) for one in left) == 1, "it was not looked at"
    assert connections.drop(place, 1) == []
    assert sum(len(one._table.contexts._known) for one in left) == 0


def test_connections_whose_client_is_unknown_have_the_same_budget() -> None:
    """What waited is told at the end. Memory is freed from the largest on."""
    connections = Connections(ConnectionProjection("exchanges", budget=Budget(held=2000)))
    given = [late([(CLIENT, 0.0, bytes(size))], swapped=False) for size in (300, 700, 600)]
    for piece, _ in given:
        connections.feed(piece)

    def held() -> list[int]:
        return [one.held for one in connections._open.values() if isinstance(one, UnorientedConnection)]

    assert held() == [556, 956, 856]
    assert connections.drop(given[0][0], 1000) == []
    assert held() == [556, 0, 0]
    for _, closed in given:
        connections.feed(closed)
    told = ConnectionProjection("exchanges").batch(connections.rows()).to_pylist()
    assert [row["unread"] for row in told] == [300, 700, 600]


@pytest.mark.parametrize("table", ["frames", "exchanges"])
def test_what_is_dropped_is_among_the_rows(monkeypatch: pytest.MonkeyPatch, table: Table) -> None:
    """Each request is there, whether it was dropped or waited until the end."""
    monkeypatch.setattr(batches, "TURN", 1)
    given = [piece for number in range(8) for piece in of(number, asked(BEAT, 4, number, number))]
    ends = [replace(piece, kind="closed", data=b"", size=0) for piece in given]
    read = frame_batches([*given, *ends], TABLES[table], table=table, budget=Budget(held=4 * 1100))
    found = [row for batch in read for row in batch.to_pylist() if row["reason"]]
    dropped = "the request was dropped because connections held more than 4400 bytes: see the option maxHeld"
    why = {row["correlation_id"]: row["reason"] for row in found}
    assert [why[number] for number in range(8)] == [dropped] * 4 + ["the connection ended"] * 4
    times = {row["correlation_id"]: row["time"].timestamp() - EPOCH for row in found}
    seen = [5] * 4 + [4, 5, 6, 7] if table == "frames" else list(range(8))
    assert [times[number] for number in range(8)] == seen
    assert len(found) == 8


@pytest.mark.parametrize(
    ("rows", "size", "turn", "turn_bytes", "expected"),
    [
        (5, 1 << 30, 1, 1 << 30, [5, 5, 2]),
        (6, 1 << 30, 1, 1 << 30, [6, 6]),
        (13, 1 << 30, 1, 1 << 30, [12]),
        (5, 1 << 30, 2, 1 << 30, [6, 6]),
        (1, 1 << 30, 100, 1 << 30, [12]),
        (1, 1 << 30, 100, 1, [1] * 12),
        (1, 1 << 30, 100, 3 * 1098, [3] * 4),
        (1, 1 << 30, 100, 3 * 1098 + 1, [4] * 3),
        (100, 2 * 1098, 1, 1 << 30, [2] * 6),
        (100, 2 * 1098 + 1, 1, 1 << 30, [3] * 4),
        (100, 0, 1, 1 << 30, [1] * 12),
    ],
)
def test_batches_end_after_rows_or_bytes(
    monkeypatch: pytest.MonkeyPatch, rows: int, size: int, turn: int, turn_bytes: int, expected: list[int]
) -> None:
    """Rows are made in turns of some pieces or bytes. Each piece here is a request, which counts 1,098 bytes."""
    for name, value in (("BATCH_ROWS", rows), ("BATCH_BYTES", size), ("TURN", turn), ("TURN_BYTES", turn_bytes)):
        monkeypatch.setattr(batches, name, value)
    given = of(1, *(asked(BEAT, 4, number) for number in range(12)))
    assert Connections(ConnectionProjection("frames")).feed(given[0]) == 1098
    found = list(frame_batches(given))
    assert [batch.num_rows for batch in found] == expected
    assert [row["number"] for batch in found for row in batch.to_pylist()] == list(range(12))


@pytest.mark.parametrize("table", ["frames", "exchanges"])
def test_broken_files_among_connections(table: Table) -> None:
    """All columns of their rows, in the order of the pieces. What does not pass the conditions is no row."""
    first, second = Broken("a.pcap", 5, "cut off", unread=7, packets=2), Broken("b.pcap", 6, "no capture")
    given: list[Piece | Broken] = [
        *of(1, asked(BEAT, 4, 1), answered(BEATEN, 4, 1)),
        first,
        *of(2, asked(BEAT, 4, 2), end=True),
        second,
    ]
    rows = [{name: value for name, value in row.items() if value is not None} for row in cells(given, table=table)]
    more: dict[str, int] = {"size": 7} if table == "frames" else {"unread": 7, "packets": 2}
    broken = [{"source": "a.pcap", "position": 5, "problem": "cut off", **more}]
    broken.append({"source": "b.pcap", "position": 6, "problem": "no capture"})
    places = [number for number, row in enumerate(rows) if "problem" in row]
    assert (places, [rows[number] for number in places]) == ([2, 5] if table == "frames" else [1, 3], broken)
    condition = Condition("problem", "=", "no capture")
    assert [row["position"] for row in cells(given, "position", table=table, conditions=[condition])] == [6]
