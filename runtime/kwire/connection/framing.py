"""What a frame of either direction looks like, judged by its first bytes, and how sure one can be of a whole one."""

from __future__ import annotations

import re
from functools import lru_cache
from struct import Struct
from typing import TYPE_CHECKING, Protocol

from kwire.connection.in_flight import MAX_HEADS

if TYPE_CHECKING:
    from kwire.connection.api_catalog import ApiCatalog
    from kwire.connection.in_flight import InFlightRequests

MORE, GOOD, DOUBTFUL, TOKEN, BAD = range(5)
"""What the first bytes of a frame say: too few yet; a request or response as expected; one may be, but of an unknown
api, version or correlation id; a SASL token; impossible."""

SURE, NEWER, LIKELY, UNSURE, UNLIKELY = range(5)
"""How a whole frame weighs that stands where nobody knows whether a frame begins: it decodes; its version is slightly
above those that are known, or it answers a request of an api or version nobody knows; its header is fine; it does not
decode, or answers nothing; it makes no sense."""

MAX_TOKEN = 524_288
"""The default of Kafka's ``sasl.server.max.receive.size``, for the only frames without any header."""

HIGHEST_VERSION = 255
"""The highest version that is believed. A token of PLAIN looks like a request of a higher one: its user's name stands
there, and its password where the client id of a request does."""

_REQUEST = Struct(">hhih")
_ID = Struct(">i")


class Framing(Protocol):
    """One of the two sides, as a lane and a search know it."""

    head: int
    """Bytes by which frames are judged, with the four of their size."""

    outlook: int
    """Bytes behind a frame that one is not sure of, which show whether another begins within it."""

    def classify(self, buffer: bytearray, at: int, size: int) -> int:
        """What the frame of ``size`` bytes is whose size is at ``at``."""

    def candidate(self, buffer: bytearray, start: int, stop: int) -> int:
        """Where the first frame may begin from ``start`` on, of which the head ends at or before ``stop``; or -1."""

    def is_promising(self, buffer: bytearray, at: int) -> bool:
        """Whether the candidate at ``at`` is good enough to give up a frame one is not sure of."""

    def score(self, payload: bytes) -> int:
        """How sure it is that ``payload`` is a whole frame."""


class RequestFraming:
    """Requests, and tokens while ``tokens`` is set."""

    head = 14
    """Size, api key, version, correlation id and length of the client id: enough to judge by."""

    outlook = 64
    """A head and most client ids."""

    def __init__(self, apis: ApiCatalog, limit: int) -> None:
        self.tokens = False
        self._apis = apis
        self._pattern = _request_pattern(apis.keys, limit)

    def classify(self, buffer: bytearray, at: int, size: int) -> int:
        if self.tokens and size < self.head - 4:
            return TOKEN
        if size < self.head - 4:
            return BAD
        if len(buffer) < at + self.head:
            return MORE
        api_key, version, _, length = _REQUEST.unpack_from(buffer, at + 4)
        fits = -1 <= length <= size - 10
        header_version = self._apis.header_version(api_key, version)
        if header_version >= 0 and (fits or header_version == 0):
            return GOOD
        if (self.tokens and size <= MAX_TOKEN) or is_gssapi(buffer, at + 4, size):
            return TOKEN
        return DOUBTFUL if fits and api_key >= 0 and 0 <= version <= HIGHEST_VERSION else BAD

    def candidate(self, buffer: bytearray, start: int, stop: int) -> int:
        while found := self._pattern.search(buffer, start, stop):
            index: int = found.start()
            size, api_key, version = _SIZE_AND_API.unpack_from(buffer, index)
            if self._apis.header_version(api_key, version) >= 0 or self._apis.is_newer(api_key, version):
                if _LENGTH.unpack_from(buffer, index + 12)[0] <= size - 10:
                    return index
            start = index + 1
        return -1

    def is_promising(self, buffer: bytearray, at: int) -> bool:
        name, end = at + 14, at + 14 + _LENGTH.unpack_from(buffer, at + 12)[0]
        return name < end <= len(buffer) and is_name(buffer[name:end])

    def score(self, payload: bytes) -> int:
        if len(payload) < self.head - 4:
            return LIKELY if self.tokens else UNLIKELY
        api_key, version, _, length = _REQUEST.unpack_from(payload)
        if self._apis.reads_request(payload, api_key, version):
            return SURE
        if self.tokens or is_gssapi(payload, 0, len(payload)):
            return LIKELY
        if length <= 0 or not is_name(payload[10 : 10 + length]):
            return UNLIKELY
        if self._apis.header_version(api_key, version) >= 0:
            return UNSURE
        return NEWER if self._apis.is_newer(api_key, version) else LIKELY


class ResponseFraming:
    """Responses, known by the correlation ids of the requests that wait for them, and tokens."""

    head = 8
    """Size and correlation id."""

    outlook = 7

    def __init__(self, apis: ApiCatalog, waiting: InFlightRequests, limit: int) -> None:
        self.tokens = False
        self._apis = apis
        self._waiting = waiting
        self._limit = limit

    def classify(self, buffer: bytearray, at: int, size: int) -> int:
        if size < 4:
            return TOKEN if self.tokens else BAD
        if len(buffer) < at + self.head:
            return MORE
        if _ID.unpack_from(buffer, at + 4)[0] in self._waiting:
            return GOOD
        return TOKEN if self.tokens and size <= MAX_TOKEN else DOUBTFUL

    def candidate(self, buffer: bytearray, start: int, stop: int) -> int:
        if not len(self._waiting):
            return -1
        pattern = _response_pattern(self._limit, frozenset(self._waiting.heads))
        while found := pattern.search(buffer, start, stop):
            index: int = found.start()
            if _ID.unpack_from(buffer, index + 4)[0] in self._waiting:
                return index
            start = index + 1
        return -1

    def is_promising(self, buffer: bytearray, at: int) -> bool:
        return True

    def score(self, payload: bytes) -> int:
        if len(payload) < 4 or _ID.unpack_from(payload)[0] not in self._waiting:
            return LIKELY if self.tokens else UNSURE
        asked = self._waiting.first(_ID.unpack_from(payload)[0])
        reads = self._apis.reads_response(payload, asked.api_key, asked.version)
        return NEWER if reads is None else SURE if reads else UNSURE


def is_name(client_id: bytes | bytearray) -> bool:
    """Whether this can be a client id: people choose them, so they can be printed."""
    try:
        return client_id.decode().isprintable()
    except UnicodeDecodeError:
        return False


def is_gssapi(data: bytes | bytearray, at: int, size: int) -> bool:
    """Whether the frame at ``at`` is the first token of GSSAPI, as clients sent it without any handshake before Kafka
    4.0 [KAFKA-WIRE 9]: the DER header of RFC 2743, 3.1, with exactly this length, before an object identifier."""
    if size < 4 or data[at] != 0x60 or len(data) < at + 6:
        return False
    length, skip = data[at + 1], 2
    if length > 0x80:
        skip += length - 0x80
        if skip > 5:
            return False
        length = int.from_bytes(data[at + 2 : at + skip], "big")
    return skip + length == size and data[at + skip] == 0x06


_SIZE_AND_API = Struct(">ihh")
_LENGTH = Struct(">h")


@lru_cache(8)
def _request_pattern(keys: frozenset[int], limit: int) -> re.Pattern[bytes]:
    """14 bytes: a size, a known api key, a version, a correlation id, the length of a client id."""
    high = b"".join(re.escape(bytes([byte])) for byte in sorted({key >> 8 & 0xFF for key in keys}))
    low = b"".join(re.escape(bytes([byte])) for byte in sorted({key & 0xFF for key in keys}))
    return re.compile(
        rb"(?s)(?!\0\0\0[\0-\x09])[\0-%b]...[%b][%b]\0.....(?:[\0-\x7f].|\xff\xff)"
        % (_top(limit), high or b"\0", low or b"\0")
    )


@lru_cache(64)
def _response_pattern(limit: int, heads: frozenset[int]) -> re.Pattern[bytes]:
    """8 bytes: a size and a correlation id with one of these upper halves."""
    ids = b"|".join(re.escape(head.to_bytes(2, "big", signed=True)) for head in sorted(heads))
    if len(heads) > MAX_HEADS:
        ids = b".."
    return re.compile(rb"(?s)(?!\0\0\0[\0-\x03])[\0-%b]...(?:%b).." % (_top(limit), ids))


def _top(limit: int) -> bytes:
    """The highest first byte of a size, as part of a pattern."""
    return re.escape(bytes([limit >> 24]))
