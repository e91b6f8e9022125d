"""TLS in streams: decrypted as in files, by a key log that grows, and without secrets in what is stored."""

from __future__ import annotations

import shutil
import ssl
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from kwire.command import main as run
from kwire.connection import CLIENT, SERVER, Direction
from kwire_inspect.capture import Piece
from kwire_inspect.capture.packet_files import file_packets
from kwire_inspect.capture.packets import Packet, reverse
from kwire_inspect.connections.batches import ConnectionProjection
from kwire_inspect.reasons import NO_SECRETS, TLS
from kwire_inspect.rows import Row
from kwire_inspect.tls import KeyLog, followed_key_log, growing_key_log, read_key_log
from kwire_spark.streams.ends import NO_KEYS, PATIENCE, Ends, _Pickler, _Unpickler
from tests.inspect.test_tls import LONG, SUITES, V13, by_session, hello
from tests.support.capture_files import Conversation, Segment, packets, recorded, write_pcap
from tests.support.connection_pieces import gap, pieces
from tests.support.tls_talks import Recorder, Tls

pytest.importorskip("cryptography")

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from kwire_inspect.tls import TlsConnection, connection, decryption
from kwire_inspect.tls.connection import APPLICATION, HANDSHAKE
from kwire_inspect.tls.protection import expand_label
from kwire_inspect.tls.records import (
    APPLICATION_DATA,
    CLIENT_HELLO,
    FINISHED,
    KEY_UPDATE,
    SERVER_HELLO,
)
from kwire_inspect.tls.records import (
    HANDSHAKE as MESSAGES,
)
from kwire_inspect.tls.suites import TLS13

RECORDING = "librdkafka-on-4.1.1"


def talk() -> Conversation:
    return max(recorded(RECORDING), key=lambda one: len(one.segments))


def sent(path: Path, said: Conversation, **options: Any) -> list[Packet]:
    found = [*file_packets(str(write_pcap(path / "a.pcap", packets(said, **options))))]
    return [packet for packet in found if isinstance(packet, Packet)]


def shown(wanted: ConnectionProjection, rows: list[Row]) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = wanted.batch(rows).to_pylist()
    for row in made:
        for column in ("source", "position", "connection"):
            del row[column]
    return made


class Stream:
    """The rows of packets, with the state stored after each ``every`` of them."""

    def __init__(self, first: Packet, keys: KeyLog) -> None:
        self.wanted = ConnectionProjection("exchanges")
        self.ends = Ends(min(first.key, reverse(first.key)), (), self.wanted, keys)
        self.stored = b""
        self.rows: list[Row] = []

    def take(self, found: list[Packet], every: int = 1, keys: KeyLog = NO_KEYS, *, pause: bool = False) -> None:
        for number, packet in enumerate(found):
            self.rows += self.ends.add(packet)
            if number % every == every - 1:
                if pause:
                    self.rows += self.ends.pause()
                self.store(keys)

    def store(self, keys: KeyLog) -> None:
        self.stored = self.ends.stored()
        self.ends = Ends.restored(self.stored, self.wanted, keys)

    def end(self) -> list[dict[str, Any]]:
        self.rows += self.ends.close()
        return shown(self.wanted, self.rows)


def plain(tmp_path: Path) -> list[dict[str, Any]]:
    found = sent(tmp_path, talk())
    stream = Stream(found[0], NO_KEYS)
    stream.take(found)
    return stream.end()


@pytest.mark.parametrize("name", ["1.3", *(f"1.2 {one}" for one in ("AES128-GCM-SHA256", "ECDHE-RSA-AES256-SHA384"))])
@pytest.mark.parametrize("every", [1, 7, 40])
def test_a_connection_may_be_stored_between_any_packets_and_its_keys_are_not(
    tmp_path: Path, keys: Path, pem: Path, name: str, every: int
) -> None:
    wanted = plain(tmp_path)
    assert len([row for row in wanted if row["outcome"] == "answered"]) > 5
    found = sent(tmp_path, Tls.make(pem, keys, *SUITES[name]).through(talk()))
    known = read_key_log(str(keys))
    stream = Stream(found[0], known)
    stream.take(found[: len(found) // 2], every, known)
    stream.store(known)
    secrets = [secret for each in known.secrets.values() for secret in each.values()]
    assert secrets
    assert not [one for one in (b"Protection", b"KeyLog", *secrets) if one in stream.stored]
    stream.take(found[len(found) // 2 :], every, known)
    assert stream.end() == wanted


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl here")
def test_keys_that_were_updated_follow_again_from_the_key_log(tmp_path: Path, keys: Path, pem: Path) -> None:
    said = Recorder(pem, keys).talk([b"first\n", b"k\n", b"second\n", b"K\n", b"third\n"])
    found, known = sent(tmp_path, said), read_key_log(str(keys))
    heard = []
    for every in (10_000, 1):
        stream = Stream(found[0], known)
        stream.take(found, every, known)
        heard.append(stream.end())
    assert heard[0] == heard[1]
    assert sum(row["unread"] or 0 for row in heard[0]) == 2 * len(b"first\nsecond\nthird\n"), "what is no Kafka"


@pytest.mark.parametrize("missing", [("",), ("CLIENT_TRAFFIC", "SERVER_TRAFFIC"), ("SERVER_HANDSHAKE",)])
def test_secrets_may_be_logged_after_their_connection_was_captured(
    tmp_path: Path, keys: Path, pem: Path, missing: tuple[str, ...]
) -> None:
    wanted = plain(tmp_path)
    found = sent(tmp_path, Tls.make(pem, keys, V13).through(talk()))
    lines = keys.read_text().splitlines(keepends=True)
    late = [line for line in lines if line.startswith(missing)]
    assert late
    keys.write_text("".join(line for line in lines if line not in late))
    known = followed_key_log(str(keys))
    stream = Stream(found[0], known)
    stream.take(found[:-30], 5, known, pause=True)
    assert not stream.rows
    with keys.open("a") as file:
        file.writelines(late)
    stream.take(found[-30:], 5, followed_key_log(str(keys)), pause=True)
    assert stream.end() == wanted


def test_sessions_may_be_logged_late_too(tmp_path: Path, keys: Path, pem: Path) -> None:
    wanted = plain(tmp_path)
    tls = Tls.make(pem, keys, *SUITES["1.2 ECDHE-RSA-AES128-GCM-SHA256"])
    tls.server.options |= ssl.OP_NO_TICKET
    found = sent(tmp_path, tls.through(talk()))
    text = by_session(tmp_path / "a.pcap", keys)
    for early in ("", "RSA Session-ID:00 Master-Key:" + "0" * 96 + "\n"):
        log = tmp_path / f"late{len(early)}"
        log.write_text(early)
        stream = Stream(found[0], followed_key_log(str(log)))
        stream.take(found[:-30], 5, followed_key_log(str(log)), pause=True)
        assert not stream.rows
        with log.open("a") as file:
            file.write(text)
        stream.take(found[-30:], 5, followed_key_log(str(log)), pause=True)
        assert stream.end() == wanted


def test_a_connection_does_not_wait_for_ever(tmp_path: Path, keys: Path, pem: Path) -> None:
    keys.touch()
    found = sent(tmp_path, Tls.make(pem, keys.with_name("others")).through(LONG))
    stream = Stream(found[0], followed_key_log(str(keys)))
    stream.take(found[:20], 1, followed_key_log(str(keys)), pause=True)
    assert not stream.rows
    late = Packet(found[0].key, found[0].time + PATIENCE + 1, "", 0, found[0].seq, 0, 16, b"")
    stream.take([late], 1, followed_key_log(str(keys)), pause=True)
    assert stream.rows
    rows = stream.end()
    assert {row["problem"] for row in rows} == {f"{TLS} ({NO_SECRETS})"}
    assert sum(row["unread"] for row in rows) == sum(len(packet.data) for packet in found[:20])


def test_a_connection_whose_secrets_are_gone_says_so(tmp_path: Path, keys: Path, pem: Path) -> None:
    found = sent(tmp_path, Tls.make(pem, keys).through(talk()))
    known = read_key_log(str(keys))
    stream = Stream(found[0], known)
    middle = len(found) // 2
    stream.take(found[:middle], 5, known)
    stream.store(NO_KEYS)
    stream.take(found[middle:])
    rows = stream.end()
    assert len([row for row in rows if row["outcome"] == "answered"]) > 2
    assert f"{TLS} ({NO_SECRETS})" in {row["problem"] for row in rows}
    hidden = sum(row["unread"] or 0 for row in rows if TLS in (row["problem"] or ""))
    assert hidden == sum(len(packet.data) for packet in found[middle:])


def test_updates_of_keys_that_do_not_end_are_not_followed(
    tmp_path: Path, keys: Path, pem: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "MAX_KEYS", 0)
    found = sent(tmp_path, Tls.make(pem, keys).through(LONG))
    known = read_key_log(str(keys))
    stream = Stream(found[0], known)
    stream.take(found, 5, known)
    assert f"{TLS} ({NO_SECRETS})" in {row["problem"] for row in stream.end()}


LINE = "CLIENT_RANDOM {:064x} {:096x}\n"


def test_a_key_log_is_followed(keys: Path) -> None:
    known = followed_key_log(str(keys))
    assert len(known) == 0, "it is not there yet"
    keys.write_text(LINE.format(1, 1) + LINE.format(2, 2)[:100])
    assert len(followed_key_log(str(keys))) == 1
    with keys.open("a") as file:
        file.write(LINE.format(2, 2)[100:])
    assert followed_key_log(str(keys)) is known
    assert len(known) == 2
    keys.write_text(LINE.format(3, 3))
    followed_key_log(str(keys))
    (fresh := keys.with_name("new")).write_text(LINE.format(4, 4))
    fresh.replace(keys)
    followed_key_log(str(keys))
    assert len(known) == 4
    assert known.of((4).to_bytes(32, "big"))["CLIENT_RANDOM"] == (4).to_bytes(48, "big")


def test_of_a_large_key_log_the_oldest_secrets_are_forgotten(keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = len(LINE.format(1, 1))
    monkeypatch.setattr(decryption, "MAX_BYTES", 20 * size)
    monkeypatch.setattr(decryption, "CHUNK", size)
    known = followed_key_log(str(keys))
    for number in range(100):
        with keys.open("a") as file:
            file.write(LINE.format(number, number))
        followed_key_log(str(keys))
    there = [number for number in range(100) if known.of(number.to_bytes(32, "big"))]
    assert there == [*range(there[0], 100)]
    assert 5 < len(there) <= 20


def test_secrets_of_a_connection_may_lie_far_apart_in_a_large_key_log(
    keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those after a handshake are logged later than those of the handshake: both are known until they are old."""
    monkeypatch.setattr(decryption, "MAX_BYTES", 20 * len(LINE.format(1, 1)))
    known = followed_key_log(str(keys))
    name = (0).to_bytes(32, "big")
    for number in range(15):
        label = HANDSHAKE[0] if number == 0 else APPLICATION[0]
        with keys.open("a") as file:
            file.write(f"{label} {number % 14:064x} {number:096x}\n")
        followed_key_log(str(keys))
    assert {label: int.from_bytes(secret, "big") for label, secret in known.of(name).items()} == {
        HANDSHAKE[0]: 0,
        APPLICATION[0]: 14,
    }


def test_a_key_log_may_be_empty_and_has_to_be_there(tmp_path: Path, keys: Path) -> None:
    keys.touch()
    assert growing_key_log(str(keys)) == str(keys)
    assert run(["watch", str(tmp_path), "--key-log", str(tmp_path / "missing")]) == 2


class Sealed:
    """One side of TLS 1.3 that can renew its keys, as Python's ssl cannot: each record follows from what was sent."""

    suite, nonce = TLS13[0x1301], 12

    def __init__(self, shaking: bytes, secret: bytes) -> None:
        self.secret, self.following, self.number = shaking, secret, 0

    def record(self, kind: int, data: bytes) -> bytes:
        parts = ((b"key", self.suite.key), (b"iv", self.nonce))
        key, first = (expand_label(self.secret, label, size, self.suite.hash) for label, size in parts)
        nonce = (int.from_bytes(first, "big") ^ self.number).to_bytes(self.nonce, "big")
        header = b"\x17\3\3" + (len(data) + 1 + 16).to_bytes(2, "big")
        self.number += 1
        sealed: bytes = AESGCM(key).encrypt(nonce, data + bytes([kind]), header)
        return header + sealed

    def renewing(self, message: int) -> bytes:
        """A message after which the keys are others: the last of the handshake, or an update."""
        made = self.record(MESSAGES, bytes([message]) + b"\0\0\1\0")
        self.secret, self.number = self.following, 0
        self.following = expand_label(self.secret, b"traffic upd", 32, self.suite.hash)
        return made


def renewed(client: Direction) -> tuple[list[Segment], list[bytes], KeyLog]:
    """The records of a connection, what each says, and the key log; ``client`` is the direction of TLS's client."""
    server: Direction = SERVER if client == CLIENT else CLIENT
    secrets = {label: bytes([n]) * 32 for n, label in enumerate((*HANDSHAKE, *APPLICATION))}
    known = KeyLog()
    known.add(b"".join(f"{label} {b'c'.hex() * 32} {one.hex()}\n".encode() for label, one in secrets.items()))
    shaking, then = ([secrets[label] for label in labels] for labels in (HANDSHAKE, APPLICATION))
    sides = {
        side: Sealed(*pair) for side, pair in zip((client, server), zip(shaking, then, strict=True), strict=True)
    }
    chosen = hello(suite=0x1301, extensions=b"\0\x2b\0\2\3\4")
    made: list[tuple[Direction, bytes, bytes]] = []
    for side, kind, body in ((client, CLIENT_HELLO, b"\3\3" + b"c" * 32), (server, SERVER_HELLO, chosen)):
        message = bytes([kind]) + len(body).to_bytes(3, "big") + body
        made.append((side, b"\x16\3\3" + len(message).to_bytes(2, "big") + message, b""))
    made += [(side, sides[side].renewing(FINISHED), b"") for side in (server, client)]
    for number, side in enumerate([client, server, *[client, server, client, server, server, client, client] * 3]):
        if number % 5 == 3:
            made.append((side, sides[side].renewing(KEY_UPDATE), b""))
        said = bytes([number]) * (number + 1)
        made.append((side, sides[side].record(APPLICATION_DATA, said), said))
    return [(side, n / 10, data) for n, (side, data, _) in enumerate(made)], [said for *_, said in made], known


def heard(given: list[Piece], known: KeyLog, *, store: bool) -> list[tuple[str, Direction, bytes, int]]:
    """What the pieces of one connection carry. With ``store`` it is stored and restored after each of them."""
    one, wanted = TlsConnection(given[0].connection, known), ConnectionProjection("exchanges")
    found: list[Piece] = []
    for piece in given:
        found += one.feed(piece)
        if store:
            _Pickler(file := BytesIO(), wanted, known).dump(one)
            one = _Unpickler(file.getvalue(), wanted, known).load()
    return [(piece.kind, piece.direction, piece.data, piece.size) for piece in found]


@pytest.mark.slow
@pytest.mark.parametrize("store", [False, True], ids=["at once", "stored after each record"])
@pytest.mark.parametrize("client", [CLIENT, SERVER])
@pytest.mark.parametrize("run", [1, 3])
def test_whichever_records_are_lost_the_others_are_read(client: Direction, store: bool, run: int) -> None:
    """Also after updates of keys on both sides, or if such an update is lost, and whoever is the client of TLS."""
    segments, said, known = renewed(client)
    for first in range(4, len(segments) + 1):
        lost = range(first, first + run)
        given = [gap(one[0], len(one[2])) if n in lost else one for n, one in enumerate(segments)]
        wanted = [
            ("gap", side, b"", 0) if n in lost else ("data", side, said[n], len(said[n]))
            for n, (side, *_) in enumerate(segments)
            if said[n] or n in lost
        ]
        assert heard(pieces(given), known, store=store) == [*wanted, ("closed", CLIENT, b"", 0)], first


@pytest.mark.slow
@pytest.mark.parametrize("client", [CLIENT, SERVER])
def test_a_connection_may_be_stored_within_records(client: Direction) -> None:
    """Whichever bytes are lost: the record that they belong to is missing, and all others are there."""
    segments, said, known = renewed(client)
    size = 12
    cut = [(n, at) for n, (*_, data) in enumerate(segments) for at in range(0, len(data), size)]
    parts = [(segments[n][0], n / 10, segments[n][2][at : at + size]) for n, at in cut]
    begin = cut.index((4, 0))
    for lost in range(begin, len(parts) + 1, 5):
        given = [gap(one[0], len(one[2])) if n == lost else one for n, one in enumerate(parts)]
        found = heard(pieces(given), known, store=True)
        assert found == heard(pieces(given), known, store=False)
        missing = cut[lost][0] if lost < len(cut) else None
        wanted = [(segments[n][0], what) for n, what in enumerate(said) if what and n != missing]
        assert [(side, data) for kind, side, data, _ in found if kind == "data"] == wanted


@pytest.mark.parametrize("together", [False, True])
def test_what_cannot_be_understood_is_lost_and_the_rest_is_read(together: bool) -> None:
    """As a hello of a size that none has, in the middle of a connection: the bytes after it are still records."""
    segments, _, known = renewed(CLIENT)
    side = Sealed(b"\0" * 32, b"\2" * 32)
    side.renewing(FINISHED)
    made = [side.record(APPLICATION_DATA, b"one"), side.record(MESSAGES, b"\1\xff\xff\xff")]
    made += [side.record(APPLICATION_DATA, data) for data in (b"two", b"three", b"four")]
    if together:
        made[1:3] = [made[1] + made[2]]
    found = heard(pieces([*segments[:4], *((CLIENT, 1.0, one) for one in made)]), known, store=True)
    assert [data or kind for kind, _, data, _ in found] == [b"one", "gap", b"two", b"three", b"four", "closed"]
