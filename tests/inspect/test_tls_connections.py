"""A TLS connection, piece by piece: what comes out of each, what waits, and what is tried after losses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from kwire.connection import CLIENT, SERVER, Direction
from kwire_inspect.capture import Piece
from kwire_inspect.connections.batches import ConnectionProjection
from kwire_inspect.tls import KeyLog, TlsConnection, decrypted, read_key_log
from kwire_spark.streams.ends import _Pickler, _Unpickler
from tests.support.capture_files import EPOCH, Conversation, Segment
from tests.support.connection_pieces import gap, pieces
from tests.support.tls_talks import Tls

pytest.importorskip("cryptography")

from cryptography.hazmat.primitives.ciphers.aead import AESCCM, AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256, SHA384, HashAlgorithm
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from kwire_inspect.tls import connection
from kwire_inspect.tls.connection import APPLICATION, HANDSHAKE, TlsDirection
from kwire_inspect.tls.hello import RETRY, Hello, NotTlsError, server_hello
from kwire_inspect.tls.protection import Opened, Protection, Protection12, Protection13
from kwire_inspect.tls.records import (
    APPLICATION_DATA,
    CLIENT_HELLO,
    FINISHED,
    KEY_UPDATE,
    SERVER_HELLO,
    Messages,
    Record,
    Records,
)
from kwire_inspect.tls.suites import TLS12, TLS13
from tests.inspect.test_tls import NO_ENCRYPT_THEN_MAC, SUITES, hello
from tests.inspect.test_tls_streams import Sealed

OTHER: dict[Direction, Direction] = {CLIENT: SERVER, SERVER: CLIENT}
SECRETS = {label: bytes([number + 1]) * 32 for number, label in enumerate((*HANDSHAKE, *APPLICATION))}
ALERT, TICKET = 21, 4


def log(*labels: str, name: bytes = b"c") -> bytes:
    """Lines of a key log with these secrets, or all."""
    return b"".join(
        f"{label} {name.hex() * 32} {secret.hex()}\n".encode()
        for label, secret in SECRETS.items()
        if not labels or label in labels
    )


def key_log(text: bytes) -> KeyLog:
    keys = KeyLog()
    keys.add(text)
    return keys


def record(kind: int, data: bytes) -> bytes:
    return bytes([kind]) + b"\3\3" + len(data).to_bytes(2, "big") + data


def message(kind: int, body: bytes) -> bytes:
    return bytes([kind]) + len(body).to_bytes(3, "big") + body


class Talk:
    """A connection of TLS 1.3 whose secrets are SECRETS. ``client`` is the direction of TLS's client."""

    def __init__(self, client: Direction = CLIENT) -> None:
        pairs = zip(HANDSHAKE, APPLICATION, strict=True)
        ends = client, OTHER[client]
        self.sides = {end: Sealed(*(SECRETS[label] for label in pair)) for end, pair in zip(ends, pairs, strict=True)}
        self.ends = ends

    def hellos(self, session: bytes = b"") -> list[Segment]:
        chosen = hello(suite=0x1301, session=session, extensions=b"\0\x2b\0\2\3\4")
        bodies = message(CLIENT_HELLO, b"\3\3" + b"c" * 32), message(SERVER_HELLO, chosen)
        return [(end, 0.0, record(22, body)) for end, body in zip(self.ends, bodies, strict=True)]

    def finished(self) -> list[Segment]:
        return [(end, 0.5, self.sides[end].renewing(FINISHED)) for end in reversed(self.ends)]

    def begin(self) -> list[Segment]:
        return [*self.hellos(), *self.finished()]

    def say(self, end: Direction, data: bytes, time: float = 1.0, kind: int = APPLICATION_DATA) -> Segment:
        return end, time, self.sides[end].record(kind, data)

    def renew(self, end: Direction, time: float = 1.0) -> Segment:
        return end, time, self.sides[end].renewing(KEY_UPDATE)


Step = Segment | Piece | str | bytes
"""A piece, lines that are added to the key log, ``drop``, ``retry`` or ``store without keys``."""


def transcript(steps: Sequence[Step], known: bytes, patience: float = 0.0) -> str:
    """What comes out at each step, and what the connection holds then; the same if it is stored after each step."""
    both = [_transcript(steps, key_log(known), patience, store) for store in (False, True)]
    assert both[0] == both[1]
    return both[0]


def _transcript(steps: Sequence[Step], keys: KeyLog, patience: float, store: bool) -> str:
    given = pieces([step for step in steps if not isinstance(step, str | bytes)])
    one = TlsConnection(given[0].connection, keys, patience)
    lines, left, last = list[str](), iter(given), given[0]
    for step in [*steps, "end"]:
        if isinstance(step, bytes):
            keys.add(step)
            lines.append("more secrets")
            continue
        if step == "store without keys":
            one = stored(one, keys, KeyLog())
            lines.append(step)
            continue
        if step in ("drop", "retry"):
            found = [*(one.drop(last) if step == "drop" else one.retry(last))]
        else:
            last = next(left)
            found = [*one.feed(last)]
        lines.append(f"{step if isinstance(step, str) else f'{last.kind} {last.direction}: {_data(last)}'}")
        lines += [f"  -> {_told(piece)}" for piece in found]
        state = [
            f"held {one.held}" if one.held else "",
            "opened" if one.opened else "",
            "passed" if one.passed else "",
        ]
        lines[-1 - len(found)] += f" [{', '.join(each for each in state if each)}]"
        if store:
            one = stored(one, keys, keys)
    return "\n".join(lines)


def stored(one: TlsConnection, keys: KeyLog, later: KeyLog) -> TlsConnection:
    wanted = ConnectionProjection("exchanges")
    _Pickler(file := BytesIO(), wanted, keys).dump(one)
    restored: TlsConnection = _Unpickler(file.getvalue(), wanted, later).load()
    return restored


def _told(piece: Piece) -> str:
    of = piece.connection
    more = f" {of.encryption}" if of.encryption else ""
    more += f" since {round(of.started - EPOCH, 3):g}" if of.started != EPOCH else ""
    return (
        f"{piece.kind} {piece.direction}: {_data(piece)} at {round(piece.time - EPOCH, 3):g}, {piece.position}{more}"
    )


def _data(piece: Piece) -> str:
    data = piece.data
    text = repr(data) if len(data) <= 9 else f"{len(data)} bytes of {data[:5].hex(' ')}"
    return text if piece.size == len(data) else f"{text}, size {piece.size}"


def whole(client: Direction = CLIENT) -> list[Step]:
    """A connection with all kinds of records."""
    talk, server = Talk(client), OTHER[client]
    plain: Segment = client, 0.1, record(20, b"\1")
    begin = [*talk.hellos(b"s" * 32), plain, *talk.finished(), talk.say(client, b"one")]
    second = talk.say(client, b"two")
    return [
        *begin,
        (client, 1.5, second[2][:3]),
        (client, 2.0, second[2][3:] + talk.say(client, b"three")[2] + talk.say(client, b"cut")[2][:9]),
        talk.say(server, b"", 2.5),
        talk.say(server, message(TICKET, b"ticket"), 2.5, 22),
        talk.renew(server, 2.6),
        talk.say(server, b"four", 3.0),
        talk.say(server, b"\1\0", 3.5, ALERT),
    ]


@pytest.mark.parametrize("client", [CLIENT, SERVER])
def test_pieces_of_a_whole_connection(snapshot: SnapshotAssertion, client: Direction) -> None:
    assert transcript(whole(client), log()) == snapshot


def losses() -> dict[str, list[Step]]:
    """Steps after the handshake, by what happens in them."""
    made: dict[str, list[Step]] = {}

    def begin(name: str) -> tuple[Talk, list[Step]]:
        talk = Talk()
        made[name] = [*talk.begin(), talk.say(CLIENT, b"first"), talk.say(SERVER, b"reply")]
        return talk, made[name]

    talk, steps = begin("a record")
    lost = talk.say(CLIENT, b"lost")
    steps += [gap(CLIENT, len(lost[2]), 2.0), talk.say(CLIENT, b"next"), talk.say(SERVER, b"other")]
    talk, steps = begin("an unknown number of bytes")
    talk.say(SERVER, b"lost")
    steps += [gap(SERVER, 0, 2.0), gap(SERVER, 0, 2.1), talk.say(SERVER, b"next"), talk.say(SERVER, b"last")]
    talk, steps = begin("bytes within a record")
    _, _, data = talk.say(CLIENT, bytes(range(200)))
    steps += [(CLIENT, 1.0, data[:50]), gap(CLIENT, 20, 2.0), (CLIENT, 2.0, data[70:90]), gap(CLIENT, 30, 2.1)]
    steps += [(CLIENT, 2.2, data[120:]), talk.say(CLIENT, b"next")]
    talk, steps = begin("all the rest of a record, bit by bit")
    _, _, data = talk.say(CLIENT, bytes(range(200)))
    steps += [(CLIENT, 1.0, data[:50]), gap(CLIENT, 20, 2.0), gap(CLIENT, len(data) - 70, 2.1)]
    steps += [talk.say(CLIENT, b"next"), talk.say(CLIENT, b"last")]
    talk, steps = begin("the end of a record and the beginning of the next")
    one, two = talk.say(CLIENT, bytes(100))[2], talk.say(CLIENT, bytes(100))[2]
    steps += [(CLIENT, 1.0, one[:90]), gap(CLIENT, 60, 2.0), (CLIENT, 2.0, two[150 - len(one) :])]
    steps += [talk.say(CLIENT, b"next"), talk.say(CLIENT, b"last")]
    talk, steps = begin("an update of keys")
    renewed = talk.renew(CLIENT)
    steps += [
        gap(CLIENT, len(renewed[2]), 2.0),
        talk.say(CLIENT, b"next"),
        talk.renew(CLIENT),
        talk.say(CLIENT, b"x"),
    ]
    talk, steps = begin("all of the keys between two updates")
    talk.renew(CLIENT)
    talk.renew(CLIENT)
    steps += [gap(CLIENT, 60, 2.0), talk.say(CLIENT, b"unread"), talk.say(CLIENT, b"too"), talk.say(SERVER, b"other")]
    talk, steps = begin("nothing, but a record was changed")
    _, _, data = talk.say(SERVER, b"changed")
    steps += [(SERVER, 2.0, data[:-1] + bytes([data[-1] ^ 1])), talk.say(SERVER, b"next"), talk.say(SERVER, b"last")]
    talk, steps = begin("nothing, but there is what is no record")
    steps += [(SERVER, 2.0, b"garbage"), talk.say(SERVER, b"next"), talk.say(SERVER, b"last")]
    talk, steps = begin("nothing, but the header of a record was changed")
    _, _, data = talk.say(SERVER, b"changed")
    steps += [(SERVER, 2.0, b"\x18" + data[1:]), talk.say(SERVER, b"next"), talk.say(SERVER, b"last")]
    talk, steps = begin("the end within a record")
    steps += [(SERVER, 2.0, talk.say(SERVER, b"cut")[2][:-1])]
    talk, steps = begin("what waited")
    second = talk.say(CLIENT, b"second")
    steps += [(CLIENT, 2.0, second[2][:20]), "drop", "drop", (CLIENT, 2.1, second[2][20:])]
    steps += [
        talk.say(CLIENT, b"third", 2.2),
        talk.say(SERVER, b"other", 2.3),
        "drop",
        talk.say(SERVER, b"last", 2.4),
    ]
    talk, steps = begin("what waited before the end")
    steps += ["drop"]
    return made


@pytest.mark.parametrize("name", losses())
def test_pieces_after_losses(snapshot: SnapshotAssertion, name: str) -> None:
    """What happens in the connection whose first messages were read."""
    steps = transcript(losses()[name], log()).split("\n")
    assert "\n".join(steps[8:]) == snapshot


def undecided() -> dict[str, tuple[Sequence[Step], bytes, float]]:
    """Steps of connections that are not decrypted, or only later, by the reason."""
    talk, (first, *_) = Talk(), Talk().hellos()
    begin = [*talk.begin(), talk.say(CLIENT, b"said"), talk.say(SERVER, b"reply")]
    later: list[Segment] = [(CLIENT, 9.9, b""), (CLIENT, 10.0, b"")]
    half = log().replace(b"01" * 32, b"09" * 32).replace(b"03" * 32, b"09" * 32)
    wrong = half.replace(b"02" * 32, b"09" * 32)
    old: Segment = SERVER, 0.1, record(22, message(SERVER_HELLO, hello(0x0301)))
    cut: Segment = CLIENT, 0.1, record(22, message(CLIENT_HELLO, b"\3\3" + b"c" * 31))
    return {
        "no secrets": (begin[:3], b"", 0.0),
        "secrets of another connection": (begin[:3], log(name=b"d"), 0.0),
        "wrong secrets": (begin, wrong, 5.0),
        "wrong secrets of the client": (begin, half, 5.0),
        "not TLS 1.2 or newer": ([first, old, first], log(), 5.0),
        "no TLS": ([first, (SERVER, 0.1, b"HTTP/1.1 200 OK"), first], log(), 5.0),
        "a hello that is too short": ([cut, *begin], log(), 5.0),
        "a loss in the handshake": ([*begin[:2], gap(CLIENT, 9, 1.0), *begin[2:]], log(), 5.0),
        "the end in the handshake": (begin[:2], log(), 5.0),
        "what is dropped": ([*begin[:2], "drop", "drop", "retry", *begin[2:]], log(), 5.0),
        "no secrets for a while": ([*begin, "retry", *later, "retry", (SERVER, 10.1, b"")], b"", 10.0),
        "no secrets until the end": (begin, b"", 10.0),
        "secrets that come late": ([*begin[:4], log(), *begin[4:]], b"", 10.0),
        "secrets that come within a record": (
            [*begin[:2], (SERVER, 0.5, begin[2][2][:9]), log(), (SERVER, 0.6, begin[2][2][9:]), *begin[3:]],
            b"",
            10.0,
        ),
        "a last secret that comes late": (
            [*begin[:4], log(APPLICATION[1]), *begin[4:]],
            log(*HANDSHAKE, APPLICATION[0]),
            10.0,
        ),
        "secrets that come between two batches": ([*begin[:5], log(), "retry", "retry", begin[5]], b"", 10.0),
        "secrets that come one by one": (
            [*begin[:2], log(*HANDSHAKE), begin[2], log(APPLICATION[0]), *begin[3:5], log(APPLICATION[1]), begin[5]],
            b"",
            10.0,
        ),
    }


@pytest.mark.parametrize("name", undecided())
def test_pieces_that_are_not_decrypted_or_only_later(snapshot: SnapshotAssertion, name: str) -> None:
    steps, keys, patience = undecided()[name]
    assert transcript(steps, keys, patience) == snapshot


@pytest.mark.parametrize("at", [2, 4, 5, 8])
def test_pieces_after_the_secrets_have_gone(snapshot: SnapshotAssertion, at: int) -> None:
    """While the connection was stored: the rest is another connection, and is not decrypted."""
    steps = whole()
    steps[at:at] = ["store without keys"]
    assert _transcript(steps, key_log(log()), 0.0, False).split("store without keys")[1] == snapshot


@pytest.mark.parametrize(("more", "waits"), [(0, True), (1, False)])
def test_bytes_that_wait_for_secrets_are_bounded(monkeypatch: pytest.MonkeyPatch, more: int, waits: bool) -> None:
    """Also those of a handshake that does not end."""
    begin = Talk().begin()
    monkeypatch.setattr(connection, "MAX_HELD", sum(len(data) for *_, data in begin) - more)
    for keys, patience in ((KeyLog(), 10.0), (key_log(log()), 0.0)):
        given = pieces([*begin[:3], (begin[3][0], 0.5, begin[3][2][:-1] + b"?")])[:-1]
        if keys.secrets:  # records that are no part of the handshake
            other: Segment = CLIENT, 0.5, record(23, bytes(65))
            given = pieces([begin[0], other, other, other])[:-1]
            monkeypatch.setattr(connection, "MAX_HELD", sum(len(one.data) for one in given) - more)
        one = TlsConnection(given[0].connection, keys, patience)
        found = [piece for each in given for piece in one.feed(each)]
        assert (found == [], one.passed, one.held) == (waits, not waits, sum(len(p.data) for p in given) * waits)


class Fake(Protection):
    """Keys that fit the records with some numbers. ``tried`` has all that were tried."""

    def __init__(self, name: str, fits: Sequence[int], tried: list[str], after: Fake | None = None) -> None:
        self.name, self.fits, self.tried, self.after = name, fits, tried, after

    def open(self, number: int, header: bytes, fragment: bytes) -> Opened | None:
        self.tried.append(f"{self.name}{number}")
        return (header[0], fragment) if number in self.fits else None

    def next(self) -> Fake | None:
        return self.after


@pytest.mark.parametrize(
    ("lost", "fits", "tries", "expected"),
    [
        (0, [4], 9, (["a4"], 5, 0, 9 + 4, 0)),
        (0, [5], 9, (["a4"], 4, 0, 9, 0)),
        (1, [4], 9, (["a4"], 5, 0, 9 + 4, 0)),
        (1, [5], 9, (["a4", "a5"], 6, 0, 8 + 4, 0)),
        (21, [], 9, (["a4", "a5", "a6", "b0", "b1"], 4, 21, 5, 0)),
        (22, [], 9, (["a4", "a5", "a6", "a7", "b0", "b1", "b2"], 4, 22, 3, 0)),
        (44, [8], 9, (["a4", "a5", "a6", "a7", "a8"], 9, 0, 5 + 4, 0)),
        (44, [9], 4, (["a4", "a5", "a6", "a7", "a8"], 4, 44, 0, 0)),
        (44, [9], 0, (["a4"], 4, 44, 0, 0)),
        (44, [9], 6, (["a4", "a5", "a6", "a7", "a8", "b0", "b1"], 4, 44, 0, 0)),
        (22, "b0", 9, (["a4", "a5", "a6", "a7", "b0"], 1, 0, 5 + 4, 1)),
        (22, "b2", 9, (["a4", "a5", "a6", "a7", "b0", "b1", "b2"], 3, 0, 3 + 4, 1)),
        (22, "b3", 9, (["a4", "a5", "a6", "a7", "b0", "b1", "b2"], 4, 22, 3, 0)),
        (0, [4], 19_997, (["a4"], 5, 0, 20_000, 0)),
    ],
)
def test_numbers_that_are_tried_after_losses(
    lost: int, fits: list[int] | str, tries: int, expected: tuple[list[str], int, int, int, int]
) -> None:
    """With the keys a and the following keys b, if 4 is the next number."""
    tried: list[str] = []
    of_a, of_b = ([], [int(fits[1])]) if isinstance(fits, str) else (fits, [])
    last = Fake("c", [], tried)
    one = TlsDirection(CLIENT, protection=Fake("a", of_a, tried), following=Fake("b", of_b, tried, last), number=4)
    one.lost, one.tries = lost, tries
    opened = one.open(Record(b"\x17\3\3\0\3", b"abc"))
    assert (tried, one.number, one.lost, one.tries, one.changed) == expected
    assert opened == ((23, b"abc") if one.number != 4 else None)
    keys = [each and each.name for each in (one.protection, one.following) if isinstance(each, Fake)]
    assert keys == (["b", "c"] if one.changed else ["a", "b"])


def test_keys_of_a_stored_direction_are_those_after_its_updates() -> None:
    tried: list[str] = []
    c = Fake("c", [], tried, None)
    b = Fake("b", [], tried, c)
    one = TlsDirection(CLIENT, protection=Fake("a", [], tried, b), following=b, number=7, changed=2)
    one.restore(2, 5)
    assert (one.protection, one.following, one.number, one.changed) == (c, None, 5, 2)
    one.advance()
    assert (one.protection, one.following, one.number, one.changed) == (c, None, 5, 2), "none follow"
    one.restore(0, 6)
    assert (one.protection, one.number, one.changed) == (c, 6, 0)


@pytest.mark.parametrize(("most", "read"), [(3, True), (2, False)])
def test_updates_of_keys_are_followed_up_to_a_number(monkeypatch: pytest.MonkeyPatch, most: int, read: bool) -> None:
    """If the connection is stored. One use of new keys is that after the handshake."""
    monkeypatch.setattr(connection, "MAX_KEYS", most)
    talk, keys = Talk(), key_log(log())
    given = pieces([*talk.begin(), talk.renew(SERVER), talk.renew(SERVER), talk.say(SERVER, b"said")])
    one = TlsConnection(given[0].connection, keys)
    for piece in given[:6]:
        assert [*one.feed(piece)] == []
    found = [*stored(one, keys, keys).feed(given[6])]
    assert [piece.data for piece in found if piece.kind == "data"] == ([b"said"] if read else [given[6].data])


@pytest.mark.parametrize("number", TLS13)
def test_keys_of_each_suite_and_those_that_follow(number: int) -> None:
    """Made by another library: records of the first keys, and of those after one update and two."""
    suite = TLS13[number]
    hashes: dict[str, HashAlgorithm] = {"sha256": SHA256(), "sha384": SHA384()}
    hashed = hashes[suite.hash]
    secret, protection = b"s" * hashed.digest_size, Protection13(suite, b"s" * hashed.digest_size)

    def expanded(label: bytes, size: int) -> bytes:
        info = size.to_bytes(2, "big") + bytes([len(label) + 6]) + b"tls13 " + label + b"\0"
        derived: bytes = HKDFExpand(hashed, size, info).derive(secret)
        return derived

    tag = 8 if suite.kind == "ccm8" else 16
    assert protection.overhead == tag + 1
    for _ in range(3):
        key, first = expanded(b"key", suite.key), int.from_bytes(expanded(b"iv", 12), "big")
        cipher = {
            "gcm": lambda key: AESGCM(key),
            "ccm": lambda key: AESCCM(key),
            "ccm8": lambda key: AESCCM(key, 8),
            "chacha": lambda key: ChaCha20Poly1305(key),
        }[suite.kind](key)
        header = b"\x17\3\3" + (5 + tag).to_bytes(2, "big")
        for place in (0, 1, 2**32):
            fragment = cipher.encrypt((first ^ place).to_bytes(12, "big"), b"said\x17", header)
            opened = [protection.open(each, header, fragment) for each in (place, place + 1)]
            assert opened == [(23, b"said"), None]
            assert protection.open(place, header[:-1] + b"\xff", fragment) is None
        secret, protection = expanded(b"traffic upd", hashed.digest_size), protection.next()


@pytest.mark.parametrize(
    ("steps", "lost"),
    [
        ([9], 9),
        ([0], 1),
        ([b"\x17\3\3", 9], 3 + 9),
        ([9, 4], 9 + 4),
        ([9, b"other", 4], 9 + 2 + 4),
        ([b"\x17\3\3\0\x0a", 9], 0),
        ([b"\x17\3\3\0\x0a", 10], 0),
        ([b"\x17\3\3\0\x0a", 11], 5 + 11),
        ([b"\x17\3\3\0\x0a", 6, 4], 0),
        ([b"\x17\3\3\0\x0a", 6, 5], 1),
        ([b"\x17\3\3\0\x0a", 6, 9], 5),
        ([b"\x17\3\3\0\x0a", 6, b"abc", 9], 8),
    ],
)
def test_the_bytes_lost_before_a_record(steps: list[bytes | int], lost: int) -> None:
    """Of pieces and losses before it: about as many as were lost, or that were no record."""
    made, (_, _, last) = Records(), (CLIENT, 0.0, b"\x17\3\3\0\4said")
    for step in steps:
        if isinstance(step, int):
            made.gap(step)
        else:
            assert [*made.feed(step)] == []
    rest = bytes(1) if steps[-1] == 9 and steps[0] == b"\x17\3\3\0\x0a" and len(steps) == 2 else b""
    [found] = made.feed(rest + last)
    assert (found.fragment, found.lost) == (b"said", lost)
    [again] = made.feed(last)
    assert (again.fragment, again.lost) == (b"said", 0)


def test_a_loss_within_what_may_be_a_record_is_of_no_known_size() -> None:
    made = Records()
    assert made.gap(0) == 0
    assert [*made.feed(b"\x17\3\3\0\x10abcd")] == []
    assert made.gap(5) == 0
    assert [one.fragment for one in made.feed(b"\x17\3\3\0\4said")] == [b"said"]


def test_what_follows_a_record_after_a_loss_has_to_begin_like_one() -> None:
    for after, found in (
        (b"", 1),
        (b"\x16", 1),
        (b"\x16\3", 1),
        (b"\x16\2", 0),
        (b"\x18\3", 0),
        (b"\x17\3\3\x48\1", 0),
    ):
        made = Records()
        made.gap(9)
        assert len([*made.feed(b"\x17\3\3\0\4said" + after)]) == found, after


def test_the_largest_hello() -> None:
    assert [*Messages().feed(b"\x0e\0\0\0")] == [(14, b"")], "one without a body"
    for size in (65_535, 65_536):
        assert [*Messages().feed(b"\1" + size.to_bytes(3, "big") + bytes(size))] == [(1, bytes(size))]
    with pytest.raises(NotTlsError):
        [*Messages().feed(b"\1" + (65_537).to_bytes(3, "big"))]


def test_the_largest_record() -> None:
    """Also where one is searched after a loss."""
    for size, lost in ((18_432, False), (18_432, True)):
        made = Records()
        if lost:
            made.gap(9)
        assert [len(one.fragment) for one in made.feed(b"\x17\3\3" + size.to_bytes(2, "big") + bytes(size))] == [size]
    with pytest.raises(NotTlsError):
        [*Records().feed(b"\x17\3\3\x48\1")]
    made = Records()
    made.gap(9)
    assert [*made.feed(b"\x17\3\3\x48\1" + bytes(18_433))] == []


@pytest.mark.parametrize("number", [0xC02F, 0xC09C, 0xC0A0, 0xCCA8])
def test_records_of_tls_1_2_may_be_empty(number: int) -> None:
    """One that is shorter than what its cipher adds is none."""
    suite, header = TLS12[number], b"\x17\3\3\0\0"
    iv = b"i" * (12 if suite.kind == "chacha" else 4)
    explicit = b"" if suite.kind == "chacha" else b"12345678"
    nonce = iv + explicit if explicit else (int.from_bytes(iv, "big") ^ 5).to_bytes(12, "big")
    key, tag = b"k" * suite.key, 8 if suite.kind == "ccm8" else 16
    cipher = {"gcm": AESGCM, "ccm": AESCCM, "ccm8": AESCCM, "chacha": ChaCha20Poly1305}[suite.kind]
    made = cipher(key, 8) if suite.kind == "ccm8" else cipher(key)
    protection = Protection12(suite, key, iv)
    assert protection.overhead == len(explicit) + tag
    for said in (b"", b"x"):
        text = (5).to_bytes(8, "big") + header[:3] + len(said).to_bytes(2, "big")
        fragment = explicit + made.encrypt(nonce, said, text)
        assert protection.open(5, header, fragment) == (23, said)
        assert protection.open(6, header, fragment) is None
    assert protection.open(5, header, fragment[: protection.overhead - 1]) is None


def test_extensions_of_a_server_end_where_their_size_says() -> None:
    """Or with the hello, if that ends before. A hello that asks for another has no choices."""
    versions, etm = b"\0\x2b\0\2\3\4", b"\0\x16\0\0"
    cbc, body = TLS12[0x2F], hello(suite=0x2F, extensions=etm + versions)
    start = body[: -len(etm + versions) - 2]
    usual = Hello(b"r" * 32, b"", 0x0303, cbc, True)
    for size, given, expected in (
        (4, etm + versions, usual),
        (3, etm + versions, replace(usual, etm=False)),
        (0, etm, replace(usual, etm=False)),
        (7, etm + versions, usual),
        (200, etm, usual),
        (200, etm + versions[:2], usual),
        (200, etm + versions[:3], usual),
    ):
        assert server_hello(start + size.to_bytes(2, "big") + given) == expected, (size, given)
    assert server_hello(body.replace(b"r" * 32, RETRY)) is None


CBC = ("1.2 ECDHE-RSA-AES128-SHA", "1.2 ECDHE-RSA-AES128-SHA256", "1.2 ECDHE-RSA-AES256-SHA384", "1.2 AES256-SHA256")


@pytest.mark.parametrize(
    ("name", "options"), [*((name, 0) for name in SUITES), *((name, NO_ENCRYPT_THEN_MAC) for name in CBC)]
)
def test_records_of_any_size(keys: Path, pem: Path, name: str, options: int) -> None:
    """Each is a piece of its own, of the size of its contents. One of which bytes are lost has its size too, where
    the cipher adds as many bytes to each."""
    tls = Tls.make(pem, keys, *SUITES[name])
    tls.client.options |= options
    sides: tuple[Direction, ...] = SERVER, CLIENT, CLIENT
    sizes = (*range(1, 50), 100, 1 << 14)
    said: list[Segment] = [(sides[size % 3], 1.0, bytes([size % 256]) * size) for size in sizes]
    made = tls.through(Conversation(said))
    log = read_key_log(str(keys))
    given = pieces(made.segments)
    found = [piece for piece in decrypted(given, log) if isinstance(piece, Piece)]
    assert [(one.kind, one.direction, one.data, one.size) for one in found] == [
        *(("data", side, data, len(data)) for side, _, data in said),
        ("closed", CLIENT, b"", 0),
    ]
    last = max(range(len(given) - 1), key=lambda n: given[n].size)
    begin, end = given[last].data[:20], len(given[last].data) - 20
    cut = [replace(given[last], data=begin, size=20), replace(given[last], kind="gap", data=b"", size=end)]
    found = [piece for piece in decrypted([*given[:last], *cut, *given[last + 1 :]], log) if isinstance(piece, Piece)]
    size = 0 if name in CBC else 1 << 14
    assert [(one.direction, one.size) for one in found if one.kind == "gap"] == [(said[-1][0], size)]
