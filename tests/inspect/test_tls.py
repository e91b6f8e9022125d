"""TLS with a key log: the tables are those of the bare capture. Without secrets it stays encrypted, and says so."""

from __future__ import annotations

import random
import shutil
import ssl
import struct
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from kwire.command import main as run
from kwire.connection import CLIENT, SERVER
from kwire_inspect.capture import Broken, Piece, read_pieces
from kwire_inspect.command.live import live_report
from kwire_inspect.connections import frame_batches
from kwire_inspect.options import OptionError, Options
from kwire_inspect.readers.capture import CaptureReader
from kwire_inspect.reasons import ENDED_EARLY, HANDSHAKE_LOST, NO_LIBRARY, NO_SECRETS, OTHER_SECRETS, TLS
from kwire_kafka import PROTOCOL
from tests.support.capture_files import (
    EPOCH,
    Conversation,
    Segment,
    block,
    merged,
    packets,
    recorded,
    write_pcap,
    write_pcapng,
)
from tests.support.connection_pieces import pieces
from tests.support.effort import examples
from tests.support.tls_talks import Recorder, Tls, certificate

pytest.importorskip("cryptography")

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from kwire_inspect.tls import KeyLog, TlsConnection, decrypted, decryption, read_key_log
from kwire_inspect.tls.connection import TRIES
from kwire_inspect.tls.hello import Hello, NotDecryptedError, NotTlsError, client_random, server_hello
from kwire_inspect.tls.protection import Protection13, derive_tls12_keys, expand_label
from kwire_inspect.tls.records import MAX_HELLO, Messages, Records
from kwire_inspect.tls.suites import TLS12, TLS13, Suite

NO_ENCRYPT_THEN_MAC = 1 << 19
"""OpenSSL's option, which Python's ssl has no name for."""
V12, V13 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
RECORDING = "librdkafka-on-4.1.1"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "capture.pcap"


@cache
def talks() -> list[Conversation]:
    return recorded(RECORDING)


def written(path: Path, made: list[Conversation], **options: Any) -> Path:
    return write_pcap(path, merged(packets(talk, **options) for talk in made))


def rows(path: Path, keys: KeyLog | None = None) -> list[dict[str, Any]]:
    """EXCHANGES, without what packets have to do with."""
    pieces = read_pieces([str(path)])
    found = []
    for batch in frame_batches(decrypted(pieces, keys) if keys else pieces, table="exchanges"):
        found += batch.to_pylist()
    for row in found:
        for column in ("source", "position", "connection"):
            del row[column]
    return sorted(found, key=lambda row: (row["client_port"], row["number"] or 0, row["problem"] or ""))


def reasons(path: Path, keys: KeyLog) -> set[str]:
    return {row["problem"] for row in rows(path, keys) if row["problem"]}


def contents(path: Path, keys: KeyLog) -> tuple[bytes, bytes]:
    found = [one for one in decrypted(read_pieces([str(path)]), keys) if isinstance(one, Piece)]
    client, server = (b"".join(one.data for one in found if one.direction == side) for side in (CLIENT, SERVER))
    return client, server


SUITES = {
    "1.3": (V13, ""),
    **{f"1.2 {name}": (V12, name) for name in (
        "ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-CHACHA20-POLY1305",
        "AES256-CCM", "AES128-CCM8", "AES128-GCM-SHA256", "ECDHE-RSA-AES128-SHA",
        "ECDHE-RSA-AES256-SHA384", "AES256-SHA256", "ECDHE-RSA-AES128-SHA256",
    )},
}  # fmt: skip


@pytest.mark.parametrize("name", SUITES)
def test_what_is_encrypted_counts_as_if_it_were_not(path: Path, keys: Path, pem: Path, name: str) -> None:
    tls = Tls.make(pem, keys, *SUITES[name])
    bare = rows(written(path, talks()))
    assert len([row for row in bare if row["outcome"] == "answered"]) > 50
    written(path, [tls.through(talk) for talk in talks()])
    assert rows(path, read_key_log(str(keys))) == bare
    assert not [row for row in rows(path) if row["api"]]


@pytest.mark.parametrize("version", [V12, V13])
def test_both_ends_may_have_certificates(path: Path, keys: Path, pem: Path, version: ssl.TLSVersion) -> None:
    tls = Tls.make(pem, keys, version)
    tls.asks_for_certificates(pem)
    written(path, [tls.through(LONG)])
    assert contents(path, read_key_log(str(keys))) == SAID


def test_a_server_may_ask_for_a_second_hello(path: Path, keys: Path, pem: Path) -> None:
    tls = Tls.make(pem, keys)
    tls.server.set_ecdh_curve("secp384r1")
    talk = tls.through(LONG)
    assert [data[5] for direction, _, data in talk.segments if direction == CLIENT][:2] == [1, 1]
    written(path, [talk])
    assert contents(path, read_key_log(str(keys))) == SAID


def test_early_data_before_a_second_hello_is_passed_over(path: Path, keys: Path, pem: Path) -> None:
    """A server that asks for a second hello refuses the data that came with the first [RFC 8446 4.2.10]."""
    tls = Tls.make(pem, keys)
    tls.server.set_ecdh_curve("secp384r1")
    talk = tls.through(LONG)
    assert [direction for direction, _, _ in talk.segments[:3]] == [CLIENT, SERVER, CLIENT]
    early: Segment = CLIENT, 0.0, b"\x17\3\3\0\x40" + bytes(64)
    written(path, [replace(talk, segments=[*talk.segments[:2], early, *talk.segments[2:]])])
    assert contents(path, read_key_log(str(keys))) == SAID


@pytest.mark.parametrize("claimed", [MAX_HELLO + 1, (1 << 24) - 1])
def test_a_hello_that_is_too_large_is_not_waited_for(keys: Path, pem: Path, claimed: int) -> None:
    Tls.make(pem, keys).through(LONG)
    given = pieces([(CLIENT, 0.0, b"\x16\3\1\0\4\1" + claimed.to_bytes(3, "big")), (CLIENT, 1.0, b"more")])[:1]
    assert [*decrypted(given, read_key_log(str(keys)))] == given


@pytest.mark.parametrize("tickets", [True, False])
@pytest.mark.parametrize("version", [V12, V13])
def test_sessions_may_be_resumed(path: Path, keys: Path, pem: Path, version: ssl.TLSVersion, tickets: bool) -> None:
    tls = Tls.make(pem, keys, version)
    if not tickets:
        tls.server.options |= ssl.OP_NO_TICKET
    for resumed in (False, True, True):
        written(path, [tls.through(LONG)])
        assert tls.resumed == resumed
        assert contents(path, read_key_log(str(keys))) == SAID


LONG = Conversation(
    [(CLIENT, 0.0, b"question " * 300), (SERVER, 0.1, random.Random(1).randbytes(50_000)), (CLIENT, 0.2, b"bye")]
)
SAID = LONG.said(CLIENT), LONG.said(SERVER)


def small(data: bytes) -> Iterator[bytes]:
    """A record for each hundred bytes."""
    return (data[at : at + 100] for at in range(0, len(data), 100))


@pytest.mark.parametrize("size", [1, 7, 1448, 60_000])
@pytest.mark.parametrize("split", [None, small])
@pytest.mark.long
def test_records_may_be_cut_anywhere(
    path: Path, keys: Path, pem: Path, size: int, split: Callable[[bytes], Iterator[bytes]] | None
) -> None:
    talk = Tls.make(pem, keys).through(LONG, split)
    written(path, [talk], size=size, acks=False)
    assert contents(path, read_key_log(str(keys))) == SAID


@pytest.mark.parametrize("kind", ["another session", "half a handshake", "other secrets", "ended"])
def test_what_cannot_be_decrypted_says_why(path: Path, keys: Path, pem: Path, kind: str) -> None:
    tls = Tls.make(pem, keys)
    talk = tls.through(LONG)
    made = packets(talk)
    known = read_key_log(str(keys))
    if kind == "another session":
        keys.write_bytes(b"")
        Tls.make(pem, keys).through(LONG)
        known = read_key_log(str(keys))
    elif kind == "half a handshake":
        made = packets(talk, size=100, acks=False)
        first = next(n for n, one in enumerate(made) if one.source == LONG.server and one.data)
        del made[first + 1]
    elif kind == "ended":
        made = packets(replace(talk, segments=talk.segments[:1]))
    else:
        lines = [line[:-64] + "0" * 64 if "HANDSHAKE" in line else line for line in keys.read_text().splitlines()]
        keys.write_text("\n".join(lines))
        known = read_key_log(str(keys))
    write_pcap(path, made)
    why = {
        "another session": f"{TLS} ({NO_SECRETS})",
        "half a handshake": f"{TLS} ({HANDSHAKE_LOST})",
        "other secrets": f"{TLS} ({OTHER_SECRETS})",
        "ended": f"{TLS} ({ENDED_EARLY})",
    }
    assert why[kind] in reasons(path, known)
    assert not [row for row in rows(path, known) if row["api"]]
    assert sum(row["unread"] or 0 for row in rows(path, known)) == sum(row["unread"] or 0 for row in rows(path))


def test_a_cipher_that_is_not_decrypted_is_named(path: Path, keys: Path, pem: Path) -> None:
    written(path, [Tls.make(pem, keys, V12, "ECDHE-ARIA128-GCM-SHA256").through(LONG)])
    assert reasons(path, read_key_log(str(keys))) == {f"{TLS} (TLS with cipher suite 0xc060 is not decrypted)"}


CIPHERS = {
    "AES_128_GCM_SHA256": [*range(0x9C, 0xAE, 2), 0xC02B, 0xC02D, 0xC02F, 0xC031],
    "AES_256_GCM_SHA384": [*range(0x9D, 0xAE, 2), 0xC02C, 0xC02E, 0xC030, 0xC032],
    "CHACHA20_POLY1305_SHA256": [0xCCA8, 0xCCA9, 0xCCAA, 0xCCAB, 0xCCAC, 0xCCAD, 0xCCAE],
    "AES_128_CCM": [0xC09C, 0xC09E, 0xC0A4, 0xC0A6, 0xC0AC],
    "AES_256_CCM": [0xC09D, 0xC09F, 0xC0A5, 0xC0A7, 0xC0AD],
    "AES_128_CCM_8": [0xC0A0, 0xC0A2, 0xC0A8, 0xC0AA, 0xC0AE],
    "AES_256_CCM_8": [0xC0A1, 0xC0A3, 0xC0A9, 0xC0AB, 0xC0AF],
    "AES_128_CBC_SHA": [*range(0x2F, 0x35), 0xC004, 0xC009, 0xC00E, 0xC013, 0xC018],
    "AES_256_CBC_SHA": [*range(0x35, 0x3B), 0xC005, 0xC00A, 0xC00F, 0xC014, 0xC019],
    "AES_128_CBC_SHA256": [0x3C, 0x3E, 0x3F, 0x40, 0x67, 0x6C, 0xC023, 0xC025, 0xC027, 0xC029],
    "AES_256_CBC_SHA256": [0x3D, 0x68, 0x69, 0x6A, 0x6B, 0x6D],
    "AES_256_CBC_SHA384": [0xC024, 0xC026, 0xC028, 0xC02A],
}
"""The suites of TLS 1.2 by the ends of their names in IANA's registry."""
CIPHERS13 = {
    "AES_128_GCM_SHA256": [0x1301],
    "AES_256_GCM_SHA384": [0x1302],
    "CHACHA20_POLY1305_SHA256": [0x1303],
    "AES_128_CCM": [0x1304],
    "AES_128_CCM_8": [0x1305],
}


@pytest.mark.parametrize(("known", "ciphers"), [(TLS12, CIPHERS), (TLS13, CIPHERS13)])
def test_the_parts_of_all_cipher_suites(known: dict[int, Suite], ciphers: dict[str, list[int]]) -> None:
    """The kind, the size of keys, the hash that derives them, and that of the MAC, as the names of suites say."""
    kinds = {"_GCM": "gcm", "_CCM_8": "ccm8", "_CCM": "ccm", "_CBC": "cbc", "CHACHA": "chacha"}
    expected: dict[int, Suite] = {}
    for name, numbers in ciphers.items():
        kind: Any = next(kind for part, kind in kinds.items() if part in name)
        size = 16 if "128" in name else 32
        mac = (
            {"SHA": "sha1", "SHA256": "sha256", "SHA384": "sha384"}[name.rpartition("_")[2]] if kind == "cbc" else ""
        )
        expected |= dict.fromkeys(numbers, Suite(kind, size, "sha384" if "SHA384" in name else "sha256", mac))
    assert known == expected


def hello(version: int = 0x0303, suite: int = 0xC02F, session: bytes = b"", extensions: bytes = b"") -> bytes:
    """The body of a server's hello."""
    start = (
        version.to_bytes(2, "big") + b"r" * 32 + bytes([len(session)]) + session + suite.to_bytes(2, "big") + b"\0"
    )
    return start + (len(extensions).to_bytes(2, "big") + extensions if extensions else b"")


def test_what_a_server_chose() -> None:
    versions, etm, other = b"\0\x2b\0\2\3\4", b"\0\x16\0\0", b"\0\x17\0\3abc"
    assert server_hello(hello()) == Hello(b"r" * 32, b"", 0x0303, TLS12[0xC02F], False)
    assert server_hello(hello(session=b"s" * 32)) == Hello(b"r" * 32, b"s" * 32, 0x0303, TLS12[0xC02F], False)
    found = server_hello(hello(suite=0x2F, session=b"ab", extensions=other + etm))
    assert found == Hello(b"r" * 32, b"ab", 0x0303, TLS12[0x2F], True)
    found = server_hello(hello(suite=0x1301, extensions=other + versions))
    assert found == Hello(b"r" * 32, b"", 0x0304, TLS13[0x1301], False)
    for cut in (hello()[:-1], hello(session=b"s" * 32)[:-1], hello()[:20]):
        with pytest.raises(NotTlsError):
            server_hello(cut)
    assert client_random(b"\3\3" + b"c" * 32 + b"and more") == b"c" * 32
    with pytest.raises(NotTlsError):
        client_random(b"\3\3" + b"c" * 31)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (hello(0x0300), "SSL 3.0 is not decrypted"),
        (hello(0x0301), "TLS 1.0 is not decrypted"),
        (hello(0x0302), "TLS 1.1 is not decrypted"),
        (hello(0x0305), "TLS of an unknown version is not decrypted"),
        (hello(suite=0x1301), "TLS with cipher suite 0x1301 is not decrypted"),
        (hello(extensions=b"\0\x2b\0\2\3\4"), "TLS with cipher suite 0xc02f is not decrypted"),
    ],
)
def test_what_is_not_decrypted_is_named(body: bytes, reason: str) -> None:
    with pytest.raises(NotDecryptedError, match=f"^{reason}$"):
        server_hello(body)


@pytest.mark.parametrize("suite", sorted({*TLS12.values()}, key=str), ids=str)
@pytest.mark.parametrize("etm", [False, True])
def test_fragments_of_any_size_are_none_of_theirs(suite: Suite, etm: bool) -> None:
    both = [*derive_tls12_keys(suite, b"m" * 48, b"c" * 32, b"s" * 32, etm=etm)]
    if suite in TLS13.values():
        both.append(Protection13(suite, b"s" * (48 if suite.hash == "sha384" else 32)))
    for protection in both:
        for size in range(120):
            fragment = random.Random(size).randbytes(size)
            assert protection.open(size, b"\x17\3\3" + size.to_bytes(2, "big"), fragment) is None


@pytest.mark.parametrize("padding", [0, 1, 1000])
@pytest.mark.parametrize("said", [b"\x17", b"said\x17", b"said\0\0\x17", b""])
def test_the_padding_of_a_record_is_none_of_its_contents(said: bytes, padding: int) -> None:
    """Zeros may follow what a record carries and its type, to hide its size [RFC 8446 5.4]. Without a type it is no
    record."""
    secret, header = b"s" * 32, b"\x17\3\3" + (len(said) + padding + 16).to_bytes(2, "big")
    key, nonce = (expand_label(secret, label, size, "sha256") for label, size in ((b"key", 16), (b"iv", 12)))
    fragment = AESGCM(key).encrypt(nonce, said + bytes(padding), header)
    assert Protection13(TLS13[0x1301], secret).open(0, header, fragment) == ((0x17, said[:-1]) if said else None)


def test_what_is_no_record_after_a_hello_is_passed_on_as_it_is(keys: Path, pem: Path) -> None:
    made = Tls.make(pem, keys).through(LONG)
    (side, time, first), *_ = made.segments
    for garbage in (b"GET / HTTP/1.1\r\n", b"\x17\3\3\x48\1" + bytes(20), b"\x17\2\3\0\4" + bytes(4)):
        given = pieces([(side, time, first), (SERVER, 0.1, garbage), (CLIENT, 0.2, b"more")])
        before = [(one.kind, one.direction, one.data) for one in given]
        found = [one for one in decrypted(given, read_key_log(str(keys))) if isinstance(one, Piece)]
        assert [(one.kind, one.direction, one.data) for one in found] == before
        assert not found[-1].connection.encryption


@pytest.mark.parametrize(("seconds", "waits"), [(0.0, True), (4.9, True), (5.0, False), (9.0, False)])
def test_secrets_are_awaited_for_a_while(keys: Path, pem: Path, seconds: float, waits: bool) -> None:
    """By the clock of packets, and not beyond the end of the connection."""
    hello, *_ = Tls.make(pem, keys).through(LONG).segments
    first, second, closed = pieces([hello, (CLIENT, seconds, b"\x16\3\1\0\1\1")])
    awaiting = TlsConnection(first.connection, KeyLog(), 5.0)
    assert [*awaiting.feed(first)] == []
    found = [*awaiting.feed(second)]
    assert (found == [], awaiting.passed) == (waits, not waits)
    found += awaiting.feed(closed)
    assert [one.kind for one in found] == ["data", "data", "closed"]
    assert {one.connection.encryption for one in found} == {NO_SECRETS}
    assert awaiting.passed


def test_secrets_that_come_late_are_used(keys: Path, pem: Path) -> None:
    given, known = pieces(Tls.make(pem, keys).through(LONG).segments), KeyLog()
    awaiting = TlsConnection(given[0].connection, known, 100.0)
    found = [one for piece in given[:5] for one in awaiting.feed(piece)]
    assert found == []
    assert awaiting.held >= sum(len(piece.data) for piece in given[:5])
    known.add(keys.read_bytes())
    found += [one for piece in given[5:] for one in awaiting.feed(piece)]
    assert b"".join(one.data for one in found if one.direction == CLIENT) == SAID[0]
    assert b"".join(one.data for one in found if one.direction == SERVER) == SAID[1]
    assert awaiting.opened


def test_what_is_dropped_before_anything_was_decrypted_is_passed_on(keys: Path, pem: Path) -> None:
    first, second, *_ = pieces(Tls.make(pem, keys).through(LONG).segments)
    connection = TlsConnection(first.connection, read_key_log(str(keys)))
    assert [*connection.feed(first)] == []
    found = [*connection.drop(first), *connection.feed(second)]
    assert [one.data for one in found] == [first.data, second.data]
    assert {one.connection.encryption for one in found} == {OTHER_SECRETS}
    assert connection.held == 0


def test_what_is_dropped_later_is_a_gap_in_each_direction_that_goes_on(keys: Path, pem: Path) -> None:
    talk = replace(LONG, segments=[((SERVER, CLIENT)[n % 2], n / 10, bytes([n]) * 500) for n in range(20)])
    *given, closed = pieces(Tls.make(pem, keys).through(talk).segments)
    connection = TlsConnection(given[0].connection, read_key_log(str(keys)))
    found: list[Piece] = []
    for number, piece in enumerate(given):
        found += connection.feed(piece)
        if number == 12:
            found += connection.drop(piece)
    found += connection.feed(closed)
    assert sorted(one.direction for one in found if one.kind == "gap") == [CLIENT, SERVER]
    assert [one.data for one in found if one.kind == "data"] == [data for _, _, data in talk.segments]
    assert found[-1].kind == "closed"


def test_lines_of_key_logs_that_are_not_known_are_passed_over() -> None:
    known = KeyLog()
    random, secret = b"ab" * 32, b"cd" * 48
    known.add(b"# made by hand\nEXPORTER_SECRET %b %b\nCLIENT_RANDOM %b %b \t\r\n" % (random, secret, random, secret))
    known.add(b"CLIENT_RANDOM %b %b and more\n CLIENT_RANDOM %b %b\n" % ((b"11" * 32, secret) * 2))
    known.add(b"CLIENT_HANDSHAKE_TRAFFIC_SECRET %b %b" % (random.upper(), b"EF" * 32))
    assert known.secrets == {
        bytes.fromhex("ab" * 32): {
            "CLIENT_RANDOM": bytes.fromhex("cd" * 48),
            "CLIENT_HANDSHAKE_TRAFFIC_SECRET": bytes.fromhex("ef" * 32),
        }
    }
    sessions = [known.has_sessions]
    known.add(b"RSA Session-ID:0102 Master-Key:%b\n" % secret)
    assert [*sessions, known.has_sessions] == [False, True]
    assert known.of(b"\1\2") == {"CLIENT_RANDOM": bytes.fromhex("cd" * 48)}
    assert known.of(b"\1") == {}


def test_connections_with_and_without_tls_and_secrets_are_told_apart(path: Path, keys: Path, pem: Path) -> None:
    first, second, third = talks()[:3]
    other = Tls.make(pem, keys.with_name("other")).through(second)
    written(path, [first, other, Tls.make(pem, keys).through(third)])
    found = rows(path, read_key_log(str(keys)))
    written(path, [first, third])
    assert [row for row in found if not row["problem"]] == [row for row in rows(path) if not row["problem"]]
    assert {row["client_port"] for row in found if row["problem"]} == {second.client.port}


LOSSES = ("1.3", "1.2 ECDHE-RSA-AES128-GCM-SHA256", "1.2 ECDHE-RSA-CHACHA20-POLY1305", "1.2 AES256-SHA256")


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("lost", [1, 3, 40])
def test_after_lost_packets_the_rest_is_read(path: Path, keys: Path, pem: Path, name: str, lost: int) -> None:
    talk = replace(LONG, segments=[(SERVER, n / 10, bytes([n % 256]) * 500) for n in range(200)])
    made = packets(Tls.make(pem, keys, *SUITES[name]).through(talk), acks=False, size=300)
    data = [n for n, one in enumerate(made) if one.source == LONG.server and one.data]
    made = [one for n, one in enumerate(made) if n not in data[50 : 50 + lost]]
    write_pcap(path, made)
    found = [one for one in decrypted(read_pieces([str(path)]), read_key_log(str(keys))) if isinstance(one, Piece)]
    got = [one for one in found if one.kind == "data"]
    assert 200 - lost - 2 <= len(got) < 200
    assert [one.data[0] for one in got] == sorted(one.data[0] for one in got)
    assert all(one.data == bytes([one.data[0]]) * 500 for one in got)
    assert [one.kind for one in found].count("gap") >= 1


@pytest.mark.parametrize("name", LOSSES)
def test_a_few_lost_bytes_cost_one_record(path: Path, keys: Path, pem: Path, name: str) -> None:
    said = [bytes([n]) * 500 for n in range(10)]
    talk = replace(LONG, segments=[(SERVER, n / 10, one) for n, one in enumerate(said)])
    made = packets(Tls.make(pem, keys, *SUITES[name]).through(talk), acks=False, size=20)
    lost = max(n for n, one in enumerate(made) if one.time < EPOCH + 0.35 and one.data) - 9
    write_pcap(path, made[:lost] + made[lost + 1 :])
    found = [one for one in decrypted(read_pieces([str(path)]), read_key_log(str(keys))) if isinstance(one, Piece)]
    assert [one.data for one in found if one.kind == "data"] == said[:3] + said[4:]


@pytest.mark.parametrize("lost", [{2}, {1, 3}, {4, 5}, {1, 5}])
def test_a_loss_within_a_record_has_its_size(path: Path, keys: Path, pem: Path, lost: set[int]) -> None:
    """Whichever of its packets but the first are lost: the next record begins where this one ends."""
    talk = replace(LONG, segments=[(SERVER, n / 10, bytes([n]) * 5000) for n in range(10)])
    made = packets(Tls.make(pem, keys).through(talk), acks=False, size=1000)
    record = [one for one in made if one.source == LONG.server and EPOCH + 0.45 < one.time < EPOCH + 0.55]
    assert len(record) == 6
    missing = [record[n] for n in lost]
    write_pcap(path, [one for one in made if one not in missing])
    found = [one for one in decrypted(read_pieces([str(path)]), read_key_log(str(keys))) if isinstance(one, Piece)]
    assert [one.size for one in found if one.kind == "gap"] == [5000]
    assert len([one for one in found if one.kind == "data"]) == 9


@pytest.mark.parametrize(
    ("name", "options"), [*((name, 0) for name in LOSSES), ("1.2 AES256-SHA256", NO_ENCRYPT_THEN_MAC)]
)
def test_a_record_that_was_changed_is_a_gap(path: Path, keys: Path, pem: Path, name: str, options: int) -> None:
    sizes = (300, 400, 500)
    tls = Tls.make(pem, keys, *SUITES[name])
    tls.client.options |= options
    made = tls.through(replace(LONG, segments=[(SERVER, n / 10, bytes(size)) for n, size in enumerate(sizes)]))
    segments = [*made.segments]
    at = max(n for n, (direction, _, data) in enumerate(segments) if direction == SERVER and 400 < len(data) < 500)
    direction, time, data = segments[at]
    segments[at] = direction, time, data[:100] + bytes([data[100] ^ 1]) + data[101:]
    written(path, [replace(made, segments=segments)])
    found = [one for one in decrypted(read_pieces([str(path)]), read_key_log(str(keys))) if isinstance(one, Piece)]
    seen = [(one.kind, len(one.data)) for one in found]
    assert seen == [("data", 300), ("gap", 0), ("data", 500), ("closed", 0)]


def test_the_end_within_a_record_is_a_gap(path: Path, keys: Path, pem: Path) -> None:
    made = Tls.make(pem, keys).through(replace(LONG, segments=LONG.segments[:2]))
    at = next(n for n, (_, _, data) in enumerate(made.segments) if len(data) > 50_000)
    direction, time, data = made.segments[at]
    written(path, [replace(made, segments=[*made.segments[:at], (direction, time, data[:-10])])])
    found = [one for one in decrypted(read_pieces([str(path)]), read_key_log(str(keys))) if isinstance(one, Piece)]
    assert [(one.kind, one.direction) for one in found[-2:]] == [("gap", SERVER), ("closed", CLIENT)]


def test_no_guess_goes_on_for_ever(path: Path, keys: Path, pem: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a loss, records that are none are tried with some numbers, and then not any more."""
    tried: list[int] = []
    monkeypatch.setattr(Protection13, "open", _counting(Protection13.open, tried))
    made = packets(Tls.make(pem, keys).through(LONG), ending=0)
    last = made[-1]
    late = replace(last, source=LONG.server, target=LONG.client, seq=last.ack + 5000, ack=last.seq)
    record = b"\x17\3\3\0\x64" + bytes(100)
    garbage = [
        replace(late, seq=late.seq + n * 105 & 0xFFFFFFFF, data=record, time=last.time + 2 + n) for n in range(300)
    ]
    write_pcap(path, made + garbage)
    assert contents(path, read_key_log(str(keys))) == SAID
    assert 1000 < len(tried) < 2 * TRIES


def _counting(function: Callable[..., Any], calls: list[int]) -> Callable[..., Any]:
    def counted(*arguments: Any) -> Any:
        calls.append(1)
        return function(*arguments)

    return counted


@pytest.mark.parametrize("held", [1000, 40_000])
def test_what_waits_is_bounded(path: Path, keys: Path, pem: Path, monkeypatch: pytest.MonkeyPatch, held: int) -> None:
    monkeypatch.setattr(decryption, "HELD", held)
    tls = Tls.make(pem, keys)
    written(path, [tls.through(replace(LONG, client=replace(LONG.client, port=40000 + n))) for n in range(20)])
    found = [*decrypted(read_pieces([str(path)]), read_key_log(str(keys)))]
    for side in (CLIENT, SERVER):
        said = b"".join(one.data for one in found if isinstance(one, Piece) and one.direction == side)
        assert len(said) > 0
    gaps = {one.connection.id for one in found if isinstance(one, Piece) and one.kind == "gap"}
    whole = {one.connection.id for one in found if isinstance(one, Piece)} - gaps
    for name in whole:
        said = b"".join(one.data for one in found if isinstance(one, Piece) and one.connection.id == name)
        assert len(said) >= len(SAID[0]) + len(SAID[1])


@pytest.mark.slow
@examples(1)
@given(st.lists(st.tuples(st.integers(0, 60_000), st.binary(min_size=1, max_size=20)), max_size=5), st.booleans())
def test_no_bytes_whatsoever_raise(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, bytes]], old: bool
) -> None:
    folder, name = tmp_path_factory.getbasetemp(), f"random{old}"
    made, keys = _made(folder, name, V12 if old else V13)
    stream = bytearray(b"".join(data for _, _, data in made.segments))
    for at, new in changes:
        stream[at % len(stream) : at % len(stream) + len(new)] = new
    segments, at = [], 0
    for direction, time, data in made.segments:
        segments.append((direction, time, bytes(stream[at : at + len(data)])))
        at += len(data)
    path = written(folder / f"{name}.pcap", [replace(made, segments=segments)])
    found = [*decrypted(read_pieces([str(path)]), keys)]
    assert all(isinstance(one, Piece | Broken) for one in found)
    assert [one.kind for one in found if isinstance(one, Piece)].count("closed") == 1


@cache
def _made(folder: Path, name: str, version: ssl.TLSVersion) -> tuple[Conversation, KeyLog]:
    talk = Tls.make(certificate(folder), folder / name, version).through(LONG)
    return talk, read_key_log(str(folder / name))


def by_session(path: Path, keys: Path) -> str:
    """The key log of TLS 1.2 as an agent in a JVM writes it: with the id of each session, which the server's hello
    has, in place of the client's random."""
    lines, known = [], read_key_log(str(keys))
    for piece in read_pieces([str(path)]):
        if isinstance(piece, Piece) and piece.direction == SERVER and piece.data[:1] == b"\x16":
            hello = piece.data[9:]
            session = hello[35 : 35 + hello[34]]
            lines.append(f"RSA Session-ID:{session.hex().upper()} Master-Key:")
    masters = [secret["CLIENT_RANDOM"].hex() for secret in known.secrets.values()]
    return "".join(f"{line}{master}\n" for line, master in zip(lines[: len(masters)], masters, strict=True))


def test_a_key_log_may_name_sessions(path: Path, keys: Path, pem: Path) -> None:
    tls = Tls.make(pem, keys, V12)
    tls.server.options |= ssl.OP_NO_TICKET
    written(path, [tls.through(LONG)])
    text = by_session(path, keys)
    keys.write_text(text)
    assert contents(path, read_key_log(str(keys))) == SAID
    keys.write_text("RSA Session-ID:00 Master-Key:" + "0" * 96)
    assert f"{TLS} ({NO_SECRETS})" in reasons(path, read_key_log(str(keys)))


def test_key_logs_take_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [b"CLIENT_RANDOM %064x %096x\n" % (number, number) for number in range(10)]
    monkeypatch.setattr(decryption, "MAX_BYTES", 5 * len(lines[0]))
    known = KeyLog()
    for line in lines:
        known.add(line)
    assert len(known) == 5


def test_secrets_are_never_shown(keys: Path, pem: Path) -> None:
    Tls.make(pem, keys).through(LONG)
    known = read_key_log(str(keys))
    assert (len(known), repr(known)) == (1, "<KeyLog of 1 connections>")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "has no secrets"),
        (b"CLIENT_RANDOM 00 11\n", "has no secrets"),
        (b"\xff" * 1000, "has no secrets"),
        (None, "cannot be read: No such file"),
    ],
)
def test_a_key_log_without_secrets_is_an_error(keys: Path, text: bytes | None, reason: str) -> None:
    if text is not None:
        keys.write_bytes(text)
    with pytest.raises(OptionError, match=reason) as caught:
        read_key_log(str(keys))
    assert "11" not in str(caught.value).replace(str(keys), "")


def in_pcapng(path: Path, made: Conversation, text: bytes, *, order: str = "<") -> Path:
    """A capture that has the key log before its packets."""
    data = write_pcapng(path, packets(made), order=order).read_bytes()
    first = data.index(struct.pack(order + "I", 6), 40)
    secrets = block(10, struct.pack(order + "II", 0x544C534B, len(text)) + text, order)
    path.write_bytes(data[:first] + secrets + data[first:])
    return path


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("more", [0, 1, 100, 0x7FFFFFFF])
def test_no_more_than_a_block_is_taken_for_secrets(path: Path, more: int, order: str) -> None:
    """Whatever size it claims: what follows are packets."""
    texts: list[bytes] = []
    for size in range(5):
        text = b"CLIENT"[:size]
        data = write_pcapng(path, packets(LONG), order=order).read_bytes()
        head = struct.pack(order + "II", 0x544C534B, size + more)
        path.write_bytes(data[:48] + block(10, head + text, order) + data[48:])
        found = [*read_pieces([str(path)], secrets=texts.append)]
        assert not [one for one in found if isinstance(one, Broken)]
        assert texts.pop() == (text + bytes(-size % 4))[: size + more]


@pytest.mark.parametrize("order", ["<", ">"])
def test_secrets_in_pcapng(path: Path, keys: Path, pem: Path, order: str) -> None:
    in_pcapng(path, Tls.make(pem, keys).through(LONG), keys.read_bytes(), order=order)
    known = KeyLog()
    found = [*decrypted(read_pieces([str(path)], secrets=known.add), known)]
    assert b"".join(one.data for one in found if isinstance(one, Piece) and one.direction == SERVER) == SAID[1]
    other, texts = in_pcapng(path.with_name("other.pcapng"), LONG, b"more", order=order), list[bytes]()
    assert [*read_pieces([str(path), str(other)], secrets=texts.append)]
    assert sorted(texts) == sorted([keys.read_bytes(), b"more"]), "of both files, which are read at once"


def reported(path: Path, **options: str) -> list[dict[str, Any]]:
    """The rows that the source of captures gives."""
    reader = CaptureReader(Options({"path": str(path), "rows": "exchanges", **options}))
    return [row for task in reader.tasks() for batch in reader.read(task) for row in batch.to_pylist()]


def test_the_source_takes_key_logs_from_files_and_captures(path: Path, keys: Path, pem: Path) -> None:
    talk = max(talks(), key=lambda one: len(one.segments))
    wanted = [row["api"] for row in reported(written(path, [talk]))]
    assert all(wanted)
    hidden = Tls.make(pem, keys).through(talk)
    written(path, [hidden])
    assert [row["api"] for row in reported(path, keyLog=str(keys))] == wanted
    assert [row["api"] for row in reported(in_pcapng(path, hidden, keys.read_bytes()))] == wanted
    assert {row["problem"] for row in reported(written(path, [hidden]))} == {TLS}


def test_without_the_library_captures_are_read_and_say_so(
    path: Path, keys: Path, pem: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_pcapng(path, Tls.make(pem, keys).through(LONG), keys.read_bytes())
    monkeypatch.setitem(sys.modules, "kwire_inspect.tls.protection", None)
    assert {row["problem"] for row in reported(path)} == {f"{TLS} ({NO_LIBRARY})"}
    monkeypatch.setattr(decryption, "find_spec", lambda name: None)
    with pytest.raises(OptionError, match="install cryptography"):
        reported(path, keyLog=str(keys))


@pytest.mark.slow
def test_the_command_decrypts(
    path: Path, keys: Path, pem: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = [Tls.make(pem, keys).through(talk) for talk in talks()]
    written(path, made)
    arguments = ["clients", str(path), "--engine", "local", "--out", str(tmp_path / "out"), "--key-log"]
    assert run([*arguments, str(keys)]) == 0
    told = capsys.readouterr()
    assert "100 % of the bytes and 100 % of the connections were read" in " ".join(told.out.split())
    secret = keys.read_text().split()[2]
    assert secret not in told.out + told.err
    assert not [one for one in (tmp_path / "out").rglob("*") if one.is_file() and secret.encode() in one.read_bytes()]
    assert run(arguments[:-1]) == 4
    assert "INCOMPLETE" in capsys.readouterr().out
    _, line = (tmp_path / "out" / "clients-encrypted.csv").read_text().splitlines()
    hidden = sum(len(data) for talk in made for _, _, data in talk.segments)
    assert line == f'"10.0.0.1",9092,"{TLS}",{hidden}'
    assert run([*arguments, str(path)]) == 2
    assert "has no secrets" in capsys.readouterr().err


@pytest.mark.slow
def test_the_live_page_has_the_encrypted_connections(path: Path, keys: Path, pem: Path, tmp_path: Path) -> None:
    (hidden,) = made = [Tls.make(pem, keys).through(talks()[0])]
    written(path, [*talks()[1:], *made])
    assert run(["clients", str(path), "--engine", "local", "-q", "--min-coverage", "0", "--out", str(tmp_path)]) == 0
    live = live_report(str(tmp_path), "parquet", ["4.1.1"], None, PROTOCOL, Console(stderr=True))
    assert live.update()
    assert "Encrypted connections" in (tmp_path / "readiness.html").read_text()
    _, line = (tmp_path / "readiness-encrypted.csv").read_text().splitlines()
    size = sum(len(data) for _, _, data in hidden.segments)
    assert line == f'"10.0.0.1",9092,"{TLS}",{size}'


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl here")
def test_keys_may_be_updated(path: Path, keys: Path, pem: Path) -> None:
    """As OpenSSL's own client does it at the letters k and K, K asking the other end for the same."""
    said = Recorder(pem, keys).talk([b"first\n", b"k\n", b"second\n", b"K\n", b"third\n", b"K\n", b"fourth\n"])
    written(path, [said])
    client, server = contents(path, read_key_log(str(keys)))
    assert client == b"first\nsecond\nthird\nfourth\n"
    assert server == client.upper()


def test_a_record_after_a_loss_is_found_whatever_there_is_of_the_next() -> None:
    record = b"\x17\3\3\0\4" + bytes(4)
    for size in range(6):
        records = Records()
        records.gap(9)
        assert [one.fragment for one in records.feed(b"lost" + record + record[:size])] == [bytes(4)]


RECORDS = [
    b"\x17\3\3" + len(one).to_bytes(2, "big") + one for one in (b"a", b"bcde", b"fghijklmn", b"opq", b"rstuvw")
]


def test_whichever_bytes_are_lost_all_other_records_are_found() -> None:
    """Losses begin and end anywhere, and what was sent and what was lost are cut anywhere."""
    sent, chance = b"".join(RECORDS), random.Random(1)
    at = [sum(map(len, RECORDS[:n])) for n in range(len(RECORDS))]
    for _ in range(3000):
        places = sorted({0, *chance.choices(range(len(sent)), k=chance.randint(1, 6)), len(sent)})
        records, found, missing = Records(), list[bytes](), set[int]()
        for start, end in pairwise(places):
            if chance.random() < 0.4:
                records.gap(end - start)
                missing |= {*range(start, end)}
            else:
                found += (one.fragment for one in records.feed(sent[start:end]))
        there = [one for n, one in zip(at, RECORDS, strict=True) if missing.isdisjoint(range(n, n + len(one)))]
        assert found == [one[5:] for one in there], (places, missing)


def test_the_size_of_a_record_of_which_bytes_are_lost_is_known_after_its_header() -> None:
    first = RECORDS[2]
    for start in range(len(first)):
        for end in range(start, len(first) + 3):
            records = Records()
            assert [*records.feed(first[:start])] == []
            assert records.gap(end - start) == (len(first) - 5 if start >= 5 and start < end <= len(first) else 0)


@pytest.mark.parametrize(
    "other", [b"", b"lost", b"\x17\3", b"\x17\3\3", b"\x17\3\3\0\0", b"\x17\3\3\xff\xff", b"\x17\3\3\0\1xy"]
)
def test_what_looks_like_a_record_after_a_loss_is_none(other: bytes) -> None:
    """A record is one if another follows; also in its contents there may be what looks like one."""
    whole = b"\x17\3\3\0\x0c" + b"a\x17\3\3\x40\0abcdef"
    sent = other + whole + RECORDS[0]
    for cut in range(len(other), len(sent) + 1):
        records = Records()
        if other == b"lost":  # where a record was known to begin
            assert [*records.feed(RECORDS[2][:7])] == []
        records.gap(len(RECORDS[2]) - 7)
        found = [one.fragment for part in (sent[:cut], sent[cut:]) for one in records.feed(part)]
        assert found == [whole[5:], b"a"], cut


def test_messages_of_a_handshake_may_be_cut_anywhere() -> None:
    """Of hellos their bodies are told, of others that they ended."""
    said = [(1, b"hello"), (11, b"\x18\0\0\0"), (14, b""), (2, b""), (20, b"x" * 9), (24, b"\0"), (1, b"again")]
    sent = b"".join(bytes([kind]) + len(body).to_bytes(3, "big") + body for kind, body in said)
    for first in range(len(sent)):
        for second in range(first, len(sent)):
            messages = Messages()
            parts = sent[:first], sent[first:second], sent[second:]
            found = [one for part in parts for one in messages.feed(part)]
            assert found == [(kind, body if kind < 3 else b"") for kind, body in said]
