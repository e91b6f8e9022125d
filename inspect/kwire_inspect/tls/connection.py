"""A TLS connection: its handshake, the keys of both directions, and its plaintext [RFC 5246, RFC 8446]."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from kwire.connection.events import CLIENT, SERVER, Direction
from kwire_inspect.capture import Connection, Piece
from kwire_inspect.reasons import ENDED_EARLY, HANDSHAKE_LOST, NO_LIBRARY, NO_SECRETS, OTHER_SECRETS
from kwire_inspect.tls.hello import TLS_1_3, Hello, NotDecryptedError, NotTlsError, client_random, server_hello
from kwire_inspect.tls.records import (
    APPLICATION_DATA,
    CHANGE_CIPHER_SPEC,
    CLIENT_HELLO,
    FINISHED,
    KEY_UPDATE,
    SERVER_HELLO,
    Messages,
    Record,
    Records,
)
from kwire_inspect.tls.records import HANDSHAKE as HANDSHAKE_RECORD

if TYPE_CHECKING:
    from kwire_inspect.tls.decryption import KeyLog
    from kwire_inspect.tls.protection import Opened, Protection

MAX_HELD = 1 << 18
"""Maximum number of bytes of a connection to hold until the first record is decrypted. The bytes before this record
belong to the handshake.
"""
TRIES, MORE_TRIES, MAX_TRIES = 2000, 4, 20_000
"""Number of sequence numbers to try after a loss: initial number, increase per opened record, and maximum."""
MIN_RECORD = 22
"""Minimum size of a record in bytes, including its header."""
MAX_KEYS = 1000
"""Maximum number of key updates to repeat when a connection is unpickled."""
MASTER = "CLIENT_RANDOM"
"""Label of the TLS 1.2 master secret. ``HANDSHAKE`` and ``APPLICATION`` contain the client and server labels of TLS
1.3.
"""
HANDSHAKE = ("CLIENT_HANDSHAKE_TRAFFIC_SECRET", "SERVER_HANDSHAKE_TRAFFIC_SECRET")
APPLICATION = ("CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0")


class SecretsMissingError(NotDecryptedError):
    """The key log lacks secrets of a connection, but may receive them later."""


@dataclass(slots=True, eq=False)
class TlsDirection:
    """State of one direction of a connection.

    ``number`` is the sequence number of the next record, and ``protection`` contains the current keys. ``following``
    contains the next keys, if known. ``lost`` is the approximate number of bytes lost since a record was last opened.
    ``dropped`` is true if a loss has not been reported yet. The pickled state contains no keys. Unpickling derives
    the keys from the key log again, and then repeats the key changes that ``changed`` counts.
    """

    direction: Direction
    records: Records = field(default_factory=Records)
    messages: Messages = field(default_factory=Messages)
    protection: Protection | None = None
    following: Protection | None = None
    number: int = 0
    changed: int = 0
    lost: int = 0
    dropped: bool = False
    tries: int = TRIES

    def __getstate__(self) -> dict[str, Any]:
        hidden = {"protection": None, "following": None}
        return {slot.name: getattr(self, slot.name) for slot in fields(self)} | hidden

    def __setstate__(self, stored: dict[str, Any]) -> None:
        for name, value in stored.items():
            setattr(self, name, value)

    def restore(self, changed: int, number: int) -> None:
        """Restore the keys of an unpickled direction from its first keys."""
        self.changed = 0
        for _ in range(changed):
            self.advance()
        self.number = number

    def protect(self, protection: Protection, following: Protection | None = None) -> None:
        """Use these keys for the next record and all later records."""
        self.protection, self.following, self.number = protection, following, 0

    def advance(self) -> None:
        """Switch to the following keys."""
        if self.following is not None:
            self.protect(self.following, self.following.next())
            self.changed += 1

    def open(self, record: Record) -> Opened | None:
        """Return the content type and plaintext of the next record, or ``None`` if the keys cannot open it with any
        possible sequence number."""
        assert self.protection is not None
        opened = self.protection.open(self.number, record.header, record.fragment)
        if opened is None and self.lost:
            opened = self._after_loss(record, self.protection)
        if opened is not None:
            self.number += 1
            self.lost, self.tries = 0, min(self.tries + MORE_TRIES, MAX_TRIES)
        return opened

    def _after_loss(self, record: Record, protection: Protection) -> Opened | None:
        """Try the possible sequence numbers of a record after a loss, with the current and the following keys."""
        most = self.lost // MIN_RECORD + 2
        tries = [(protection, number) for number in range(self.number + 1, self.number + 1 + min(most, self.tries))]
        if self.following is not None:
            tries += [(self.following, number) for number in range(min(most, self.tries))]
        for keys, number in tries[: self.tries]:
            self.tries -= 1
            if (opened := keys.open(number, record.header, record.fragment)) is not None:
                if keys is not protection:
                    self.advance()
                self.number = number
                return opened
        return None


class TlsConnection:
    """Converts the pieces of a connection to pieces of its plaintext if the key log contains its secrets.

    Pieces are held until the first record is opened. If the first record cannot be opened, the held pieces and all
    later pieces are passed on with the reason, and ``passed`` becomes true. Missing secrets may still arrive within
    ``patience`` seconds, as measured by packet times. A pickler that knows the key log can pickle the connection
    between two pieces. No keys are pickled.
    """

    __slots__ = (
        *("_connection", "_held", "_hello", "_keys", "_known", "_lanes", "_lost_keys", "_patience", "_random"),
        *("_server", "_waiting", "opened", "passed"),
    )

    def __init__(self, connection: Connection, keys: KeyLog, patience: float = 0.0) -> None:
        self.passed = False
        self.opened = False
        self._connection = connection
        self._keys = keys
        self._patience = patience
        self._lost_keys = False  # whether keys could not be restored after unpickling
        self._known: int | None = None  # result of _progress when secrets were last missing
        self._server: Direction = SERVER
        self._begin()

    def _begin(self) -> None:
        self._lanes = {direction: TlsDirection(direction) for direction in (CLIENT, SERVER)}
        self._waiting: list[Piece] = []
        self._held = 0
        self._hello: Hello | None = None
        self._random = b""

    def __setstate__(self, stored: tuple[None, dict[str, Any]]) -> None:
        for name, value in stored[1].items():
            setattr(self, name, value)
        if self._hello is None or self._known is not None or self.passed:
            return
        places = [(lane, lane.changed, lane.number) for lane in self._lanes.values()]
        try:
            if any(changed > MAX_KEYS for _, changed, _ in places):
                raise SecretsMissingError
            self._agreed(self._hello, self._server)
            for lane, changed, number in places:
                lane.restore(changed, number)
        except NotDecryptedError:
            self._lost_keys = True

    @property
    def held(self) -> int:
        """Number of bytes that the connection holds."""
        return self._held + sum(lane.records.held for lane in self._lanes.values())

    @property
    def _is_13(self) -> bool:
        return self._hello is not None and self._hello.version == TLS_1_3

    def drop(self, piece: Piece) -> Iterator[Piece]:
        """Drop the held bytes. ``piece`` locates the loss."""
        if not self.opened:
            yield from self._pass_on(OTHER_SECRETS)
        for lane in self._lanes.values():
            lane.records.gap(0)
            lane.lost += 1
            lane.dropped = True

    def feed(self, piece: Piece) -> Iterator[Piece]:
        """Yield the pieces of plaintext that ``piece`` completes."""
        if self.passed:
            piece.connection = self._connection
            yield piece
            return
        if self._lost_keys:
            yield from self._closed_to(piece)
            return
        if not self.opened:
            self._waiting.append(piece)
            self._held += len(piece.data)
        if self._known is not None:
            yield from self.retry(piece)
            return
        try:
            yield from self._read(piece)
        except (NotDecryptedError, NotTlsError) as reason:
            if self.opened:
                self._lanes[piece.direction].records.search(len(piece.data))
                yield _gap(piece)
            elif isinstance(reason, SecretsMissingError) and self._has_patience(piece):
                self._known = self._progress()
            else:
                yield from self._pass_on(str(reason))

    def retry(self, now: Piece) -> Iterator[Piece]:
        """Search again for missing secrets. Give up if more than ``patience`` seconds have passed at the time of the
        piece ``now``.
        """
        if self._known is None:
            return
        if self._progress() != self._known:
            self._known, waiting = None, self._waiting
            self._begin()
            for piece in waiting:
                yield from self.feed(piece)
        elif not self._has_patience(now):
            self._known = None
            yield from self._pass_on(NO_SECRETS)

    def _secrets(self) -> Mapping[str, bytes]:
        """Return the connection's secrets in the key log. If the key log lacks them, return the secrets of the TLS
        session.
        """
        secrets = self._keys.of(self._random)
        return self._keys.of(self._hello.session) if not secrets and self._hello is not None else secrets

    def _progress(self) -> int:
        """Return a number that changes when the key log receives secrets that may belong to the connection."""
        return len(self._secrets()) + self._keys.has_sessions

    def _has_patience(self, now: Piece) -> bool:
        return now.kind != "closed" and self._held <= MAX_HELD and now.time - self._waiting[0].time < self._patience

    def _closed_to(self, piece: Piece) -> Iterator[Piece]:
        """End the decrypted connection because the key log no longer contains its secrets. Pass on the rest as a new
        connection that is not decrypted.
        """
        yield Piece(self._connection, "closed", CLIENT, b"", 0, piece.time, piece.source, piece.position)
        self._connection = replace(self._connection, started=piece.time)
        yield from self._pass_on(NO_SECRETS)
        yield from self.feed(piece)

    def _read(self, piece: Piece) -> Iterator[Piece]:
        lane = self._lanes[piece.direction]
        if piece.kind == "closed":
            yield from self._closed(piece)
            return
        if lane.dropped:
            lane.dropped = False
            yield _gap(piece)
        if piece.kind == "gap":
            if not self.opened:
                raise NotDecryptedError(HANDSHAKE_LOST)
            yield from self._lost(lane, piece)
            return
        for record in lane.records.feed(piece.data):
            yield from self._record(lane, record, piece)
        if not self.opened and self._held > MAX_HELD:
            raise NotDecryptedError(OTHER_SECRETS)

    def _closed(self, piece: Piece) -> Iterator[Piece]:
        """Yield the end of the connection, after gaps for incomplete records."""
        if not self.opened:
            raise NotDecryptedError(ENDED_EARLY)
        for lane in self._lanes.values():
            if lane.records.held or lane.dropped:
                yield replace(_gap(piece), direction=lane.direction)
        yield piece

    def _record(self, lane: TlsDirection, record: Record, piece: Piece) -> Iterator[Piece]:
        kind, contents = record.header[0], record.fragment
        if kind == CHANGE_CIPHER_SPEC:
            self._changed(lane)
            return
        if lane.protection is not None and (kind == APPLICATION_DATA or not self._is_13):
            lane.lost += record.lost
            opened = lane.open(record)
            if opened is None:
                yield from self._failed(lane, record, piece)
                return
            if not self.opened:
                self.opened, self._waiting, self._held = True, [], 0
            kind, contents = opened
        if kind == HANDSHAKE_RECORD:
            for message, body in lane.messages.feed(contents):
                self._message(lane, message, body)
        elif kind == APPLICATION_DATA and self.opened and contents:
            yield replace(piece, data=contents, size=len(contents))

    def _message(self, lane: TlsDirection, kind: int, body: bytes) -> None:
        if kind == CLIENT_HELLO:
            self._random = client_random(body)
            if not self._keys.of(self._random) and not self._keys.has_sessions:
                raise SecretsMissingError(NO_SECRETS)
        elif kind == SERVER_HELLO:
            if (hello := server_hello(body)) is not None:
                self._hello = hello
                self._agreed(hello, lane.direction)
        elif self._is_13 and kind in (FINISHED, KEY_UPDATE):
            lane.advance()

    def _agreed(self, hello: Hello, server: Direction) -> None:
        """Set the keys after the ServerHello. TLS 1.3 uses the keys at once, and TLS 1.2 uses them after
        ChangeCipherSpec.
        """
        secrets, self._server = self._secrets(), server
        try:
            from kwire_inspect.tls.protection import derive_tls12_keys, derive_tls13_keys

            if hello.version == TLS_1_3:
                first = derive_tls13_keys(hello.suite, secrets, HANDSHAKE)
                then = derive_tls13_keys(hello.suite, secrets, APPLICATION)
                for lane, now, following in zip(self._ordered(server), first, then, strict=True):
                    lane.protect(now, following)
            else:
                both = derive_tls12_keys(hello.suite, secrets[MASTER], self._random, hello.random, etm=hello.etm)
                for lane, later in zip(self._ordered(server), both, strict=True):
                    lane.following = later
        except KeyError:
            raise SecretsMissingError(NO_SECRETS) from None
        except ImportError:
            raise NotDecryptedError(NO_LIBRARY) from None

    def _ordered(self, server: Direction) -> tuple[TlsDirection, TlsDirection]:
        """Return the directions of the TLS client and the TLS server. The TLS client may be the connection's server
        if the connection's client and server were guessed.
        """
        client = CLIENT if server == SERVER else SERVER
        return self._lanes[client], self._lanes[server]

    def _changed(self, lane: TlsDirection) -> None:
        """Switch to the following keys in TLS 1.2. Do nothing in TLS 1.3."""
        if not self._is_13:
            lane.advance()

    def _lost(self, lane: TlsDirection, piece: Piece) -> Iterator[Piece]:
        """Yield the gap in the plaintext that results from a gap in the connection."""
        size = lane.records.gap(piece.size)
        if size is None:
            return
        lane.lost += max(piece.size, 1)
        overhead = lane.protection.overhead if lane.protection else 0
        known = max(size - overhead, 0) if size and overhead else 0
        yield replace(piece, size=known)

    def _failed(self, lane: TlsDirection, record: Record, piece: Piece) -> Iterator[Piece]:
        """Treat a record that cannot be opened as lost. Raise ``NotDecryptedError`` if no record was ever opened."""
        if not self.opened:
            raise NotDecryptedError(OTHER_SECRETS)
        lane.records.search(len(record.fragment))
        lane.lost += len(record.fragment)
        yield _gap(piece)

    def _pass_on(self, reason: str) -> Iterator[Piece]:
        """Yield the held pieces without decryption, and store the reason in ``Connection.encryption``."""
        self.passed = True
        if reason:
            self._connection = replace(self._connection, encryption=reason)
        for waiting in self._waiting:
            waiting.connection = self._connection
            yield waiting
        self._waiting, self._held, self._lanes = [], 0, {}


def _gap(piece: Piece) -> Piece:
    """Return a gap of unknown size at the position of a piece."""
    return replace(piece, kind="gap", data=b"", size=0)
