"""Reads the records and handshake messages in one direction of a connection, even after lost bytes [RFC 8446 4,
5.1]."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kwire_inspect.tls.hello import NotTlsError

HEADER = 5
CHANGE_CIPHER_SPEC, ALERT, HANDSHAKE, APPLICATION_DATA = 20, 21, 22, 23
TYPES = {CHANGE_CIPHER_SPEC, ALERT, HANDSHAKE, APPLICATION_DATA}
MAX_RECORD = (1 << 14) + 2048
"""Maximum size of a protected record in bytes [RFC 5246 6.2.3]."""
CLIENT_HELLO, SERVER_HELLO, FINISHED, KEY_UPDATE = 1, 2, 20, 24
MAX_HELLO = 1 << 16


@dataclass(slots=True, eq=False)
class Record:
    """A record. ``lost`` is the approximate number of bytes lost before the record, or 0 if the record's position was
    known.
    """

    header: bytes
    fragment: bytes
    lost: int = 0


class Records:
    """Divides a byte stream into records. After a loss within a single record, the position of the next record is
    known. After other losses, the next record is searched for."""

    __slots__ = ("_buffer", "_intact", "_lost", "_skip")

    def __init__(self) -> None:
        self._buffer = b""
        self._intact = True
        self._skip = 0  # remaining bytes of a partly lost record
        self._lost = 0  # bytes since the search for a record began, or 0 if its position is known

    @property
    def held(self) -> int:
        return len(self._buffer)

    def feed(self, data: bytes) -> Iterator[Record]:
        """Yield the records that end in ``data``. Raise ``NotTlsError`` if the stream does not continue with a record
        although no bytes were lost.
        """
        skipped = min(self._skip, len(data))
        self._skip -= skipped
        self._buffer = buffer = self._buffer + data[skipped:]
        at = 0
        while True:
            if self._lost:
                at, found = _searched(buffer, at)
                if not found:
                    break
            if len(buffer) < at + HEADER:
                break
            header = buffer[at : at + HEADER]
            if not _is_header(header):
                if self._intact:
                    raise NotTlsError
                self._lost = 1
                continue
            end = at + HEADER + int.from_bytes(header[3:], "big")
            if end > len(buffer):
                break
            lost, self._lost = self._lost, 0
            self._buffer = buffer[end:]  # keep the state consistent even if the caller raises an exception
            yield Record(header, buffer[at + HEADER : end], lost)
            at = end
        self._buffer = buffer[at:]

    def gap(self, size: int) -> int | None:
        """Record the loss of ``size`` bytes. A ``size`` of 0 means that the number of lost bytes is unknown.

        Return the size of the lost record without its header, or 0 if the size is unknown. Return ``None`` if the
        record was already known to be lost.
        """
        self._intact = False
        if self._skip >= size > 0:
            self._skip -= size
            return None
        buffer, self._buffer = self._buffer, b""
        if len(buffer) >= HEADER and not self._lost and not self._skip:
            known = int.from_bytes(buffer[3:5], "big")
            if 0 < size <= HEADER + known - len(buffer):
                self._skip = HEADER + known - len(buffer) - size
                return known
        self.search(len(buffer) + max(size - self._skip, 1))
        self._skip = 0
        return 0

    def search(self, lost: int) -> None:
        """Search for the next record after the loss of ``lost`` bytes."""
        self._lost += max(lost, 1)


def _searched(buffer: bytes, at: int) -> tuple[int, bool]:
    """Return the position of the first record at or after ``at``, and true. The record must be followed by another
    record or the end of the buffer.

    If there is no such record, return the position at which the next search starts, and false.
    """
    first = len(buffer)
    while (at := buffer.find(b"\x17\x03\x03", at)) >= 0:
        size = int.from_bytes(buffer[at + 3 : at + 5], "big")
        end = at + HEADER + size
        if len(buffer) < at + HEADER or (size <= MAX_RECORD and len(buffer) < end):
            first = min(first, at)
        elif 0 < size <= MAX_RECORD and (len(buffer) == end or _may_begin(buffer[end : end + HEADER])):
            return at, True
        at += 1
    return min(first, max(len(buffer) - 2, 0)), False


def _may_begin(header: bytes) -> bool:
    """Return whether ``header`` may be a record header or the beginning of a record header."""
    return header[0] in TYPES and header[1:2] in (b"", b"\3") and int.from_bytes(header[3:5], "big") <= MAX_RECORD


def _is_header(header: bytes) -> bool:
    return header[0] in TYPES and header[1] == 3 and int.from_bytes(header[3:], "big") <= MAX_RECORD


class Messages:
    """Divides the plaintext of handshake records into messages."""

    __slots__ = ("_buffer", "_kind", "_left")

    def __init__(self) -> None:
        self._buffer = b""
        self._kind = 0  # type of the incomplete message
        self._left = 0

    def feed(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Yield the type and body of each message that ends in ``data``. The body is empty unless the message is a
        ClientHello or ServerHello.
        """
        self._buffer += data
        while True:
            if self._left:
                skipped = min(self._left, len(self._buffer))
                self._buffer, self._left = self._buffer[skipped:], self._left - skipped
                if self._left:
                    return
                yield self._kind, b""
            if len(self._buffer) < 4:
                return
            kind, size = self._buffer[0], int.from_bytes(self._buffer[1:4], "big")
            if kind not in (CLIENT_HELLO, SERVER_HELLO):
                self._kind, self._left, self._buffer = kind, size, self._buffer[4:]
                if not size:
                    yield kind, b""
                continue
            if size > MAX_HELLO:
                raise NotTlsError
            if len(self._buffer) < 4 + size:
                return
            body, self._buffer = self._buffer[4 : 4 + size], self._buffer[4 + size :]
            yield kind, body
