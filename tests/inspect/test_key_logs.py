"""Key logs as files: what is read of them, and when. Connections that are decrypted with them, among others."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kwire import is_native
from kwire.connection import CLIENT, SERVER
from kwire_inspect.capture import Broken, Connection, Peer, Piece
from kwire_inspect.options import OptionError
from kwire_inspect.reasons import NO_SECRETS
from kwire_inspect.tls import (
    KeyLog,
    begun,
    checked_key_log,
    decrypted,
    decryption,
    followed_key_log,
    growing_key_log,
    read_key_log,
)
from tests.support.capture_files import EPOCH
from tests.support.connection_pieces import gap, pieces

LINE = b"CLIENT_RANDOM %064x %096x\n"


def lines(*numbers: int) -> bytes:
    return b"".join(LINE % (number, number) for number in numbers)


def numbers(keys: KeyLog) -> list[int]:
    """The connections, of a few, whose secrets are known."""
    found = [number for number in range(200) if keys.of(number.to_bytes(32, "big"))]
    for number in found:
        assert keys.of(number.to_bytes(32, "big")) == {"CLIENT_RANDOM": number.to_bytes(48, "big")}
    return found


def test_what_each_change_of_a_followed_file_makes_known(keys: Path) -> None:
    def renamed(text: bytes) -> None:
        keys.with_name("new").write_bytes(text)
        keys.with_name("new").replace(keys)

    def appended(text: bytes) -> None:
        with keys.open("ab") as file:
            file.write(text)

    steps: list[tuple[Callable[[], object], list[int]]] = [
        (lambda: None, []),
        (keys.touch, []),
        (lambda: appended(lines(1) + lines(2)[:9]), [1]),
        (lambda: None, [1]),
        (lambda: appended(lines(2)[9:-1]), [1]),
        (lambda: appended(b"\n" + lines(3, 4)), [1, 2, 3, 4]),
        (lambda: keys.write_bytes(lines(5)), [1, 2, 3, 4, 5]),
        (lambda: appended(lines(6)[:9]), [1, 2, 3, 4, 5]),
        (lambda: renamed(lines(7, 8, 9)), [1, 2, 3, 4, 5, 7, 8, 9]),
        (keys.unlink, [1, 2, 3, 4, 5, 7, 8, 9]),
        (keys.mkdir, [1, 2, 3, 4, 5, 7, 8, 9]),
        (keys.rmdir, [1, 2, 3, 4, 5, 7, 8, 9]),
        (lambda: keys.write_bytes(lines(10)), [1, 2, 3, 4, 5, 7, 8, 9, 10]),
        (lambda: appended(b"SERVER_RANDOM" + lines(11)[13:] + lines(12)), [1, 2, 3, 4, 5, 7, 8, 9, 10, 12]),
    ]
    first = followed_key_log(str(keys))
    for number, (change, expected) in enumerate(steps):
        change()
        found = followed_key_log(str(keys))
        assert (numbers(found), len(found)) == (expected, len(expected)), number
        assert found is first


@pytest.mark.skipif(is_native(), reason="native code calls methods directly: none can be replaced")
def test_only_new_lines_of_a_followed_file_are_read(keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[bytes] = []
    monkeypatch.setattr(decryption.KeyLog, "add", lambda self, text: read.append(text))
    monkeypatch.setattr(decryption, "CHUNK", 100)
    for number in range(3):
        with keys.open("ab") as file:
            file.write(lines(number))
        followed_key_log(str(keys))
        followed_key_log(str(keys))
    assert b"".join(text + b"\n" for text in read if text) == lines(0, 1, 2)


def test_the_end_of_a_large_file_is_followed(keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a line that does not end is not kept."""
    size = len(lines(1))
    monkeypatch.setattr(decryption, "MAX_BYTES", 4 * size)
    monkeypatch.setattr(decryption, "CHUNK", 2 * size)
    keys.write_bytes(lines(*range(10)))
    assert numbers(followed_key_log(str(keys))) == [6, 7, 8, 9]
    with keys.open("ab") as file:
        file.write(b"x" * 3 * size + b"\n" + lines(11))
    assert numbers(followed_key_log(str(keys)))[-1] == 11
    other = keys.with_name("other")
    other.write_bytes(lines(1) + b"x" * 2 * size + lines(2))
    found = followed_key_log(str(other))
    assert numbers(found) == [1]
    assert isinstance(found, decryption.FollowedKeyLog)
    assert len(found._rest) <= 2 * size


def test_the_newest_secret_of_a_label_counts(keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the older is among those that will be forgotten next."""
    for most in (1 << 20, 2 * len(lines(1))):
        monkeypatch.setattr(decryption, "MAX_BYTES", most)
        path = keys.with_name(f"{most}")
        path.touch()
        for secret in (1, 2, 3):
            with path.open("ab") as file:
                file.write(LINE % (1, secret))
            known = followed_key_log(str(path))
            assert known.of((1).to_bytes(32, "big")) == {"CLIENT_RANDOM": secret.to_bytes(48, "big")}


@pytest.mark.parametrize("count", [10, 11])
def test_secrets_are_forgotten_by_halves(keys: Path, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """When more than half of what may be known has come since, it is what was known before that goes."""
    monkeypatch.setattr(decryption, "MAX_BYTES", 10 * len(lines(1)[:-1]))
    keys.touch()
    for number in range(count):
        with keys.open("ab") as file:
            file.write(lines(number))
        followed_key_log(str(keys))
    assert numbers(followed_key_log(str(keys))) == [*range(6 if count > 12 else 0, count)]
    for number in range(count, 40):
        with keys.open("ab") as file:
            file.write(lines(number))
        followed_key_log(str(keys))
    assert numbers(followed_key_log(str(keys))) == [*range(30, 40)]


def test_key_logs_are_read_to_the_limit_of_all_together(monkeypatch: pytest.MonkeyPatch) -> None:
    for more, expected in ((0, [1, 2]), (-1, [1])):
        monkeypatch.setattr(decryption, "MAX_BYTES", len(lines(1, 2)) + more)
        known = KeyLog()
        for number in (1, 2, 3):
            known.add(lines(number))
        assert numbers(known) == expected


def test_lines_of_each_size() -> None:
    """A secret has 32 to 64 bytes, a session's id 1 to 32, and a master secret 48."""

    def found(text: str) -> dict[bytes, list[int]]:
        known = KeyLog()
        known.add(text.encode())
        assert known.has_sessions == ("RSA" in text and bool(known.secrets))
        return {name: [len(secret) for secret in secrets.values()] for name, secrets in known.secrets.items()}

    random = "ab" * 32
    for size in (31, 32, 33, 48, 64, 65):
        expected = {bytes.fromhex(random): [size]} if 32 <= size <= 64 else {}
        assert found(f"CLIENT_RANDOM {random} {'cd' * size}") == expected
    for size in (0, 1, 2, 31, 32, 33):
        expected = {b"\xef" * size: [48]} if 1 <= size <= 32 else {}
        assert found(f"RSA Session-ID:{'EF' * size} Master-Key:{'cd' * 48}") == expected
    for text in (
        f"CLIENT_RANDOM {random}c {'cd' * 48}",
        f"RSA Session-ID:01 Master-Key:{'cd' * 47}",
        "CLIENT_RANDOM",
    ):
        assert found(text) == {}


def test_secrets_are_not_pickled(keys: Path) -> None:
    known = KeyLog()
    known.add(lines(1, 2))
    assert repr(known) == "<KeyLog of 2 connections>"
    keys.write_bytes(lines(1))
    for each in (known, followed_key_log(str(keys))):
        with pytest.raises(TypeError, match=r"^secrets are not pickled$"):
            pickle.dumps(each)


def refused(call: Callable[[str], object], path: Path | str) -> str:
    with pytest.raises(OptionError) as caught:
        call(str(path))
    return str(caught.value)


def test_paths_of_key_logs(keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path becomes absolute. A file that grows has to be there, and another has to have secrets."""
    monkeypatch.chdir(tmp_path)
    assert [call(path) for call in (growing_key_log, checked_key_log) for path in (None, "")] == [""] * 4
    assert refused(growing_key_log, "keys") == (
        "the key log keys cannot be read: No such file or directory (create it if no client has written it yet)"
    )
    assert refused(checked_key_log, "keys") == "the key log keys cannot be read: No such file or directory"
    for call in (growing_key_log, checked_key_log):
        assert refused(call, tmp_path) == f"the key log {tmp_path} cannot be read: not a regular file"
    keys.touch()
    assert growing_key_log("keys") == str(keys)
    without = "the key log keys has no secrets: expected lines with a label, a random and a secret"
    assert refused(checked_key_log, "keys") == without
    keys.write_bytes(lines(1))
    assert (growing_key_log("keys"), checked_key_log("keys")) == (str(keys), str(keys))
    monkeypatch.setattr(decryption, "find_spec", lambda name: None)
    for call in (growing_key_log, checked_key_log):
        assert call("") == ""
        install = "to decrypt with a key log, install cryptography: pip install 'kwire[tls]'"
        assert refused(call, "keys") == install


@pytest.mark.skipif(os.name != "posix", reason="pipes have names only there")
def test_a_pipe_is_no_key_log(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for call in (growing_key_log, checked_key_log):
        assert refused(call, pipe) == f"the key log {pipe} cannot be read: not a regular file"
    assert len(followed_key_log(str(pipe))) == 0


def test_a_key_log_that_is_too_large_is_refused(keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decryption, "MAX_BYTES", 3 << 20)
    text = lines(1, 2)
    keys.write_bytes(text + b"#" * ((3 << 20) - len(text)))
    assert numbers(read_key_log(str(keys))) == [1, 2]
    with keys.open("ab") as file:
        file.write(b"#" * (2 << 20))
    assert (
        refused(read_key_log, keys)
        == f"the key log {keys} is larger than 3 MB: remove the secrets of other connections"
    )


def first(data: bytes, kind: str = "data") -> Piece:
    piece, _ = pieces([(CLIENT, 0.0, data)])
    return replace(piece, kind=kind)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("piece", "expected"),
    [
        (first(b"\x16\3\1\0\4"), True),
        (first(b"\x16\3"), True),
        (first(b"\x16"), True),
        (first(b"\x16\2\1"), False),
        (first(b"\x17\3\3"), False),
        (first(b"GET / HTTP/1.1"), False),
        (first(b"\x16\3\1", "gap"), False),
        (first(b"\x16\3\1", "closed"), False),
    ],
)
def test_the_first_bytes_of_tls(piece: Piece, expected: bool) -> None:
    """One byte may be the beginning of it."""
    found = begun(piece, KeyLog(), 7.0)
    assert (found is not None) == expected
    assert found is None or found._patience == 7.0


def peer(number: int) -> Connection:
    return Connection(Peer("10.0.0.1", 50000 + number), Peer("10.0.0.9", 9093), EPOCH, True)


def told(found: Sequence[Piece | Broken]) -> list[tuple[object, ...]]:
    return [
        (
            (one.connection.client.port - 50000, one.kind, one.data[:9], one.connection.encryption)
            if isinstance(one, Piece)
            else (one.reason,)
        )
        for one in found
    ]


def test_connections_of_all_kinds_and_secrets_that_come_meanwhile() -> None:
    """A connection that began before its secrets stays as it is. One that is closed is forgotten, even if the next
    looks the same to Python."""
    pytest.importorskip("cryptography")
    from tests.inspect.test_tls_connections import Talk, log

    def talk(of: Connection, end: bool = True) -> list[Piece]:
        one = Talk()
        made = pieces([*one.begin(), one.say(SERVER, b"said")], connection=of)
        return made if end else made[:-1]

    keys, early, plain, again = KeyLog(), peer(1), peer(2), peer(3)
    broken = Broken("a.pcap", 5, "cut off")
    unknown = KeyLog()
    unknown.add(log(name=b"d"))

    def given() -> list[Piece | Broken]:
        whole = talk(early)
        return [
            *whole[:2],
            broken,
            *whole[2:],
            *talk(again),
            *talk(again),
            *pieces([(CLIENT, 0.0, b"bare")], connection=again),
            *pieces([(CLIENT, 0.0, b"plain"), gap(CLIENT, 3), (CLIENT, 0.0, b"\x16\3\1")], connection=plain),
            broken,
        ]

    hello, reply = b"\x16\3\3\0\x26\1\0\0\x22", b"\x16\3\3\0\x32\2\0\0\x2e"
    rest = [
        (2, "data", b"plain", ""),
        (2, "gap", b"", ""),
        (2, "data", b"\x16\3\1", ""),
        (2, "closed", b"", ""),
    ]
    seen = told([*decrypted(given(), keys)])
    assert [one for one in seen if one[0] == 1 or len(one) == 1][:3] == [
        (1, "data", hello, ""),
        (1, "data", reply, ""),
        ("cut off",),
    ]
    assert len(seen) == len(given())
    assert not [one for one in seen if one[-1] == NO_SECRETS]
    keys.add(log())
    bare = [(3, "data", b"bare", ""), (3, "closed", b"", "")]
    said = [(3, "data", b"said", ""), (3, "closed", b"", "")]
    assert told([*decrypted(given(), keys)]) == [
        ("cut off",),
        (1, "data", b"said", ""),
        (1, "closed", b"", ""),
        *said,
        *said,
        *bare,
        *rest,
        ("cut off",),
    ]
    late, found = KeyLog(), list[Piece | Broken]()
    for piece in decrypted(iter(given()), late):
        found.append(piece)
        if len(found) == 4:
            late.add(log())
    assert told(found[:3] + found[-11:]) == [*seen[:3], *said, *said, *bare, *rest, ("cut off",)]
    assert [len(one.data) for one in found[3:7] if isinstance(one, Piece)] == [27, 27, 26, 0]
    assert {one[-1] for one in told([*decrypted(given(), unknown)]) if one[0] == 1} == {NO_SECRETS}


def waiting(of: Connection, size: int) -> Piece:
    """A piece with the beginning of a record."""
    data = b"\x16\3\3\x40\0" + bytes(size - 5)
    return Piece(of, "data", CLIENT, data, size, EPOCH, "a.pcap", of.client.port)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([30, 40, 30], []),
        ([30, 41, 30], [2, 1]),
        ([30, 30, 41], [3, 1]),
        ([51, 50, 10], [1]),
        ([10, 20, 71], [3]),
        ([10, 39, 10, 42, 10], [4, 2]),
        ([60, 20, 30, 51, 20], [1]),
        ([60, 20, 30, 51, 50], [1, 4, 5]),
    ],
)
def test_the_largest_of_many_connections_go_on_undecrypted(
    monkeypatch: pytest.MonkeyPatch, sizes: list[int], expected: list[int]
) -> None:
    """If more than 200 bytes wait, which is checked after more than 100. A part of a record waits twice: as it came,
    and for its rest."""
    monkeypatch.setattr(decryption, "HELD", 200)
    keys = KeyLog()
    keys.add(lines(1))
    given = [waiting(peer(number), size) for number, size in enumerate(sizes, 1)]
    found = [piece for piece in decrypted(given, keys) if isinstance(piece, Piece)]
    assert [one.connection.client.port - 50000 for one in found] == expected
    assert [one.size for one in found] == [sizes[number - 1] for number in expected]
