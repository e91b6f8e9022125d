"""Recognising frames: classifying the first bytes of a frame and scoring a whole payload.

Requests and responses each have a framing, which works on raw bytes. A
``kwire.connection.frame_splitter.FrameSplitter`` uses a framing to classify the next frame. A
``kwire.connection.search.Search`` uses it to score candidates.
"""

from __future__ import annotations

import re
from functools import lru_cache
from struct import Struct
from typing import TYPE_CHECKING, Final

from kwire.connection.events import RequestEvent
from kwire.errors import DecodeError
from kwire.frames import MAX_FRAME
from kwire.headers import RequestHeader
from kwire.native import mypyc_attr
from kwire.policy import STRICT
from kwire.protocol import MAX_HEADER
from kwire.secrets import may_contain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire.connection.decoder import InFlightRequests
    from kwire.connection.events import RequestEvent, ResponseEvent
    from kwire.message import Message
    from kwire.protocol import MessageRegistry

INCOMPLETE: Final = 0
EXPECTED: Final = 1
POSSIBLE: Final = 2
TOKEN: Final = 3
IMPOSSIBLE: Final = 4
"""Classes of a frame by its first bytes. ``INCOMPLETE``: more bytes are needed. ``EXPECTED``: a known request or an
awaited response. ``POSSIBLE``: a request or response with an unknown API, version or correlation id. ``TOKEN``: a
SASL token. ``IMPOSSIBLE``: not a frame.
"""
DECODES: Final = 0
NEWER: Final = 1
PLAUSIBLE: Final = 2
UNDECODABLE: Final = 3
IMPLAUSIBLE: Final = 4
"""Confidence that a candidate at an unsynchronised position is a frame. ``DECODES``: its payload decodes. ``NEWER``:
its version is slightly newer than the known versions, or it answers a request with an unknown API or version.
``PLAUSIBLE``: its header is plausible. ``UNDECODABLE``: its payload does not decode, or it does not answer a request.
``IMPLAUSIBLE``: it cannot be a frame.
"""
MAX_TOKEN: Final = 524_288
"""Maximum size of a SASL token in bytes, the default of Kafka's ``sasl.server.max.receive.size``. Tokens are the only
frames without a header."""
MAX_VERSION: Final = 255
"""The highest plausible API version. A PLAIN token looks like a request with a higher version, because its user name
is in the place of the version and its password is in the place of the client id."""
_REQUEST: Final = Struct(">hhih")
_PREFIX: Final = Struct(">ihhih")
_ID: Final = Struct(">i")
_RESPONSE_PREFIX: Final = Struct(">ii")
MAX_VERSIONS_AHEAD = 2
"""Maximum number of versions by which a candidate frame may exceed the highest known version."""
MAX_TRAILING = 4
"""Maximum number of trailing bytes after a request [KAFKA-WIRE 10]. librdkafka 2.16 writes three such bytes after
Metadata version 13."""
MAX_ID_PREFIXES: Final = 16


@mypyc_attr(serializable=True)
class Framing:
    """Recognises the frames of one direction.

    ``prefix_size`` is the number of bytes needed to classify a frame, including its four-byte size. ``lookahead`` is
    the number of bytes to read after a doubtful frame to tell whether another frame starts within it.
    """

    __slots__ = ("lookahead", "prefix_size")

    def __init__(self, prefix_size: int, lookahead: int) -> None:
        self.prefix_size = prefix_size
        self.lookahead = lookahead

    def classify(self, buffer: bytes | bytearray, at: int, size: int) -> int:
        """Return the class of a frame, from ``INCOMPLETE`` to ``IMPOSSIBLE``. The size field of the frame is at index
        ``at`` and contains ``size``."""
        raise NotImplementedError

    def starts(self, buffer: bytearray, start: int, stop: int) -> Iterator[re.Match[bytes]]:
        """Yield a match at each index where a frame may begin and its prefix lies between ``start`` and ``stop``."""
        raise NotImplementedError

    def size_at(self, buffer: bytearray, at: int) -> int:
        """Return the payload size of a frame at an index from ``starts``, or -1 if no frame can begin there."""
        raise NotImplementedError

    def is_promising(self, buffer: bytearray, at: int) -> bool:
        """Return whether the candidate at ``at`` is plausible enough to discard a doubtful frame around it."""
        raise NotImplementedError

    def score(self, payload: bytes) -> int:
        """Return the confidence that ``payload`` belongs to a frame, from ``DECODES`` to ``IMPLAUSIBLE``."""
        raise NotImplementedError

    def harmless(self, buffer: bytearray, kind: int) -> int:
        """Return the number of leading payload bytes that cannot be secret. ``buffer`` is the part of the frame seen
        so far."""
        raise NotImplementedError


@mypyc_attr(serializable=True)
class RequestFraming(Framing):
    """Recognises requests, and SASL tokens while ``expects_tokens`` is set.

    The prefix consists of the size, API key, version, correlation id and client id length. The lookahead covers a
    prefix and most client ids.
    """

    __slots__ = ("_catalog", "_pattern", "expects_tokens")

    def __init__(self, catalog: ApiCatalog, max_found: int) -> None:
        super().__init__(prefix_size=14, lookahead=64)
        self.expects_tokens = False
        self._catalog = catalog
        self._pattern = _request_pattern(catalog.keys, max_found.bit_length())

    def classify(self, buffer: bytes | bytearray, at: int, size: int) -> int:
        if self.expects_tokens and size < self.prefix_size - 4:
            return TOKEN
        if size < self.prefix_size - 4:
            return IMPOSSIBLE
        if len(buffer) < at + self.prefix_size:
            return INCOMPLETE
        api_key, version, _, length = _REQUEST.unpack_from(buffer, at + 4)
        fits = -1 <= length <= size - 10
        header_version = self._catalog.header_version(api_key, version)
        if header_version >= 0 and (fits or header_version == 0):
            return EXPECTED
        if (self.expects_tokens and size <= MAX_TOKEN) or is_gssapi(buffer, at + 4, size):
            return TOKEN
        return POSSIBLE if fits and api_key >= 0 and 0 <= version <= MAX_VERSION else IMPOSSIBLE

    def starts(self, buffer: bytearray, start: int, stop: int) -> Iterator[re.Match[bytes]]:
        return self._pattern.finditer(buffer, start, stop)

    def size_at(self, buffer: bytearray, at: int) -> int:
        size: int
        size, api_key, version, _, length = _PREFIX.unpack_from(buffer, at)
        return size if length <= size - 10 and self._catalog.is_plausible(api_key, version) else -1

    def is_promising(self, buffer: bytearray, at: int) -> bool:
        start = at + _PREFIX.size
        end = start + _PREFIX.unpack_from(buffer, at)[4]
        return start < end <= len(buffer) and is_client_id(buffer[start:end])

    def score(self, payload: bytes) -> int:
        if len(payload) < self.prefix_size - 4:
            return PLAUSIBLE if self.expects_tokens else IMPLAUSIBLE
        api_key, version, _, length = _REQUEST.unpack_from(payload)
        if self._catalog.reads_request(payload, api_key, version):
            return DECODES
        if self.expects_tokens or is_gssapi(payload, 0, len(payload)):
            return PLAUSIBLE
        if length <= 0 or not is_client_id(payload[10 : 10 + length]):
            return IMPLAUSIBLE
        if self._catalog.header_version(api_key, version) >= 0:
            return UNDECODABLE
        return NEWER if self._catalog.is_newer(api_key, version) else PLAUSIBLE

    def harmless(self, buffer: bytearray, kind: int) -> int:
        if kind != EXPECTED and self.expects_tokens:
            return 0
        if len(buffer) < 8:
            return 3
        api_key, version, _, length = _REQUEST.unpack_from(buffer.ljust(self.prefix_size), 4)
        header_version = self._catalog.header_version(api_key, version)
        if header_version < 0:
            return 0
        if not may_contain(f"{self._catalog.name(api_key)}Request", buffer):
            return len(buffer) - 4
        tags = header_version > 1  # the byte that counts tagged fields
        return _REQUEST.size + max(int(length), 0) + tags


@mypyc_attr(serializable=True)
class ResponseFraming(Framing):
    """Recognises responses by the correlation ids in flight, and SASL tokens while ``expects_tokens`` is set.

    The prefix consists of the size and the correlation id.
    """

    __slots__ = ("_catalog", "_in_flight", "_max_found", "expects_tokens")

    def __init__(self, catalog: ApiCatalog, in_flight: InFlightRequests, max_found: int) -> None:
        super().__init__(prefix_size=8, lookahead=7)
        self.expects_tokens = False
        self._catalog = catalog
        self._in_flight = in_flight
        self._max_found = max_found

    def classify(self, buffer: bytes | bytearray, at: int, size: int) -> int:
        if size < 4:
            return TOKEN if self.expects_tokens else IMPOSSIBLE
        if len(buffer) < at + self.prefix_size:
            return INCOMPLETE
        if _ID.unpack_from(buffer, at + 4)[0] in self._in_flight:
            return EXPECTED
        return TOKEN if self.expects_tokens and size <= MAX_TOKEN else POSSIBLE

    def starts(self, buffer: bytearray, start: int, stop: int) -> Iterator[re.Match[bytes]]:
        if not len(self._in_flight):
            return iter(())
        pattern = _response_pattern(self._max_found.bit_length(), frozenset(self._in_flight.id_prefixes))
        return pattern.finditer(buffer, start, stop)

    def size_at(self, buffer: bytearray, at: int) -> int:
        size, correlation_id = _RESPONSE_PREFIX.unpack_from(buffer, at)
        return int(size) if correlation_id in self._in_flight else -1

    def is_promising(self, buffer: bytearray, at: int) -> bool:
        return True

    def score(self, payload: bytes) -> int:
        if len(payload) < 4 or _ID.unpack_from(payload)[0] not in self._in_flight:
            return PLAUSIBLE if self.expects_tokens else UNDECODABLE
        answered = self._in_flight.oldest(_ID.unpack_from(payload)[0])
        decodes = self._catalog.reads_response(payload, answered.api_key, answered.version)
        return NEWER if decodes is None else DECODES if decodes else UNDECODABLE

    def harmless(self, buffer: bytearray, kind: int) -> int:
        if kind != EXPECTED:
            return 0 if self.expects_tokens or kind == TOKEN else self.prefix_size - 4
        if (correlation_id := _ID.unpack_from(buffer, 4)[0]) in self._in_flight:
            answered = self._in_flight.oldest(correlation_id)
            known = self._catalog.header_version(answered.api_key, answered.version) >= 0
            if known and not may_contain(f"{self._catalog.name(answered.api_key)}Response", buffer):
                return len(buffer) - 4
        return self.prefix_size - 4


def is_client_id(data: bytes | bytearray) -> bool:
    """Return whether ``data`` could be a client id, that is, printable UTF-8."""
    try:
        return data.decode().isprintable()
    except UnicodeDecodeError:
        return False


def is_gssapi(data: bytes | bytearray, at: int, size: int) -> bool:
    """Return whether the payload of ``size`` bytes at ``at`` is an initial GSSAPI token.

    Before Kafka 4.0, clients could send such a token without a handshake [KAFKA-WIRE 9]. The token starts with the
    DER header of RFC 2743, 3.1, whose length must match ``size``, followed by an object identifier.
    """
    if size < 4 or data[at] != 0x60 or len(data) < at + 6:
        return False
    length, skip = data[at + 1], 2
    if length > 0x80:
        skip += length - 0x80
        if skip > 5:
            return False
        length = int.from_bytes(data[at + 2 : at + skip], "big")
    return skip + length == size and data[at + skip] == 0x06


@lru_cache(32)
def _request_pattern(keys: frozenset[int], bits: int) -> re.Pattern[bytes]:
    """Return a pattern for the prefix of a request: size, known API key, version, correlation id and client id
    length."""
    high = b"".join(re.escape(bytes([byte])) for byte in sorted({key >> 8 & 0xFF for key in keys}))
    low = b"".join(re.escape(bytes([byte])) for byte in sorted({key & 0xFF for key in keys}))
    rest = rb"[%b][%b]\0.....(?:[\0-\x7f].|\xff\xff)" % (high or b"\0", low or b"\0")
    return _pattern(10, bits, rest)


@lru_cache(64)
def _response_pattern(bits: int, id_prefixes: frozenset[int]) -> re.Pattern[bytes]:
    """Return a pattern for the prefix of a response: a size and a correlation id with one of these upper halves."""
    ids = b"|".join(re.escape(prefix.to_bytes(2, "big", signed=True)) for prefix in sorted(id_prefixes))
    if len(id_prefixes) > MAX_ID_PREFIXES:
        ids = b".."
    return _pattern(4, bits, b"(?:%b).." % ids)


def _pattern(least: int, bits: int, rest: bytes) -> re.Pattern[bytes]:
    """Return a pattern for the first byte of a size field that is followed by ``rest``.

    The size is at least ``least`` and has at most ``bits`` bits. The pattern consumes only one byte, so that the next
    match may begin within the frame.
    """
    digits = ((1 << bits) - 1).to_bytes(4, "big").lstrip(b"\0")
    parts = [rb"\0"] * (4 - len(digits)) + [rb"[\0-%b]" % re.escape(digits[:1])] + [b"."] * (len(digits) - 1)
    small = rb"(?!(?<=\0)\0\0[\0-\x%02x])" % (least - 1)
    return re.compile(b"(?s)%b%b(?=%b%b)" % (parts[0], small, b"".join(parts[1:]), rest))


@lru_cache(8)
def _keys(protocol: MessageRegistry) -> frozenset[int]:
    """Return all API keys as a single object, which all connections share."""
    return frozenset(protocol.api_keys)


@lru_cache(8)
def _requests(protocol: MessageRegistry) -> dict[int, int]:
    """Return the table of request header versions by API key and version. All connections share this table."""
    return {}


@lru_cache(8)
def _versions(protocol: MessageRegistry) -> dict[int, range]:
    """Return the table of request versions by API key. All connections share this table."""
    return {}


@lru_cache(8)
def _responses(protocol: MessageRegistry) -> dict[tuple[int, int], tuple[int, type[Message] | None]]:
    """Return the table of response header versions and classes by API key and version. All connections share this
    table."""
    return {}


@mypyc_attr(serializable=True)
class ApiCatalog:
    """The APIs of ``protocol``. The checks are fast and do not give reasons, because most of the bytes checked are
    noise."""

    __slots__ = ("_header_versions", "_versions", "keys", "max_decoded", "protocol")

    def __init__(self, protocol: MessageRegistry, max_decoded: int = MAX_FRAME) -> None:
        self.protocol = protocol
        self.max_decoded = max_decoded
        self.keys = _keys(protocol)
        self._header_versions = _requests(protocol)  # holds only known versions, so that noise does not make it grow
        self._versions = _versions(protocol)

    def __reduce__(self) -> tuple[object, ...]:
        return ApiCatalog, (self.protocol, self.max_decoded)

    def name(self, api_key: int) -> str:
        """Return the name of an API, such as ``Fetch``, or ``api key 999`` if it is unknown."""
        return self.protocol.api_names.get(api_key) or f"api key {api_key}"

    def header_version(self, api_key: int, version: int) -> int:
        """Return the header version of a request, or -1 if the API key or the version is unknown."""
        known = self._header_versions.get(api_key << 16 | version)
        if known is not None:
            return known
        if api_key not in self.keys:
            return -1
        cls = self.protocol.request(api_key)
        if version not in cls.VALID_VERSIONS:
            return -1
        header_version = self._header_versions[api_key << 16 | version] = cls.header_version(version)
        return header_version

    def response(self, api_key: int, version: int) -> tuple[int, type[Message] | None]:
        """Return the header version and class of a response, or -1 and ``None`` if its version is unknown."""
        responses = _responses(self.protocol)
        known = responses.get((api_key, version))
        if known is not None:
            return known
        cls = self.protocol.response(api_key) if api_key in self.keys else None
        if cls is None or version not in cls.VALID_VERSIONS:
            return -1, None
        known = responses[api_key, version] = cls.header_version(version), cls
        return known

    def is_plausible(self, api_key: int, version: int) -> bool:
        """Return whether this version of an API is known or slightly newer than the known versions."""
        versions = self._of(api_key)
        return versions is not None and versions.start <= version < versions.stop + MAX_VERSIONS_AHEAD

    def is_newer(self, api_key: int, version: int) -> bool:
        """Return whether ``version`` is slightly newer than the known versions of a known API."""
        versions = self._of(api_key)
        return versions is not None and 0 <= version - versions.stop < MAX_VERSIONS_AHEAD

    def _of(self, api_key: int) -> range | None:
        """Return the known request versions of an API, or ``None`` if the API is unknown."""
        versions = self._versions.get(api_key)
        if versions is None and api_key in self.keys:
            versions = self._versions[api_key] = self.protocol.request(api_key).VALID_VERSIONS
        return versions

    def reads_request(self, payload: bytes, api_key: int, version: int) -> bool:
        """Return whether ``payload`` decodes as a request of this API and version, followed by at most
        ``MAX_TRAILING`` bytes."""
        header_version = self.header_version(api_key, version)
        if header_version < 0:
            return False
        try:
            head = payload if len(payload) <= MAX_HEADER else payload[:MAX_HEADER]
            header, offset = RequestHeader._read(head, 0, header_version)
        except Exception:  # the fast path may raise any exception
            return False
        if not (header.client_id or "").isprintable():
            return False
        return 0 <= self._bytes_after(self.protocol.request(api_key), payload, offset, version) <= MAX_TRAILING

    def reads_response(self, payload: bytes, api_key: int, version: int) -> bool | None:
        """Return whether ``payload`` decodes as the response to a request of this version, or ``None`` if the version
        is unknown.
        """
        try:
            _, offset, cls, version = self.protocol.response_header(payload, api_key, version, STRICT)
        except DecodeError:
            return False
        return None if cls is None else self._bytes_after(cls, payload, offset, version) == 0

    def reads_body(self, event: RequestEvent | ResponseEvent) -> bool | None:
        """Return whether the body of an event decodes completely, or ``None`` if its version is unknown."""
        cls: type[Message] | None
        if isinstance(event, RequestEvent):
            api_key, version = event.header.api_key, event.header.api_version
            cls = self.protocol.request(api_key) if self.header_version(api_key, version) >= 0 else None
        else:
            header, version = event.request.header, event.version
            cls = self.response(header.api_key, version)[1] if isinstance(header, RequestHeader) else None
        return None if cls is None else self._bytes_after(cls, event.data, event.body_offset, version) == 0

    def _bytes_after(self, cls: type[Message], payload: bytes, offset: int, version: int) -> int:
        """Return the number of bytes after the message at ``offset``, or -1 if no message starts there."""
        try:
            if len(payload) <= self.max_decoded:
                return len(payload) - int(cls._read(payload, offset, version)[1])
            from kwire.interpreter.large import read_large

            return len(payload) - read_large(cls, payload, offset, version, STRICT, whole=False)[1]
        except Exception:  # the fast path may raise any exception
            return -1
