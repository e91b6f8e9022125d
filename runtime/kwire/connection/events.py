"""The events of a connection: a small closed set of classes, for use with ``match``."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypeVar

from kwire.native import mypyc_attr
from kwire.protocol import expected
from kwire.wire import read_uvarint

if TYPE_CHECKING:
    from kwire.errors import DecodeError
    from kwire.headers import RequestHeader, ResponseHeader
    from kwire.message import Message

M = TypeVar("M", bound="Message")

_SOFTWARE = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9.-]*")
"""Software names and versions that brokers accept [KIP-511]."""

Direction = Literal["client", "server"]
"""The sender of bytes, ``CLIENT`` or ``SERVER``."""

CLIENT: Final = "client"
"""The client, which sends requests."""

SERVER: Final = "server"
"""The server, a broker or controller, which sends responses."""


@mypyc_attr(serializable=True)
@dataclass(slots=True, repr=False)
class BaseEvent:
    """An event. ``time`` is when the bytes that completed it were seen.

    ``direction`` is the sender of the bytes. ``position`` is the offset of the first of these bytes in the stream of
    that direction. Offsets count from the first byte fed and include bytes known to be missing.
    """

    time: float
    direction: Direction
    position: int

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._summary()} at {self.position} of {self.direction}>"

    def expect(self, cls: type[M]) -> M:
        """Return the message of a request or response, which must be a ``cls``.

        Otherwise raise ``kwire.protocol.UnexpectedMessageError``, which gives the reason if the message could not be
        decoded.
        """
        return expected(getattr(self, "message", None), cls, getattr(self, "reason", f"it is {self!r}"))

    def _summary(self) -> str:
        return ""


@dataclass(slots=True, repr=False)
class FrameEvent(BaseEvent):
    """A frame. ``data`` is its payload, and ``started`` is when its first byte was seen."""

    started: float
    data: bytes

    @property
    def size(self) -> int:
        """The size of the frame in bytes, including its four-byte size field."""
        return 4 + len(self.data)


@dataclass(slots=True, repr=False, init=False)
class RequestEvent(FrameEvent):
    """A request. ``data`` is the payload of its frame, and ``started`` is when its first byte was seen.

    ``message`` is ``None`` if the API key or version is unknown or only headers are decoded. ``inner`` is the request
    inside an Envelope, which has its own ``data`` and offsets. ``expects_response`` is false for a Produce request
    with ``acks=0`` [KAFKA-WIRE 8].
    """

    name: str
    header: RequestHeader
    body_offset: int
    message: Message | None
    expects_response: bool
    inner: RequestEvent | Undecodable | None

    def __init__(  # written by hand, because mypyc does not compile the constructor of a dataclass
        self,
        time: float,
        direction: Direction,
        position: int,
        started: float,
        data: bytes,
        name: str,
        header: RequestHeader,
        body_offset: int,
        message: Message | None = None,
        expects_response: bool = True,
        inner: RequestEvent | Undecodable | None = None,
    ) -> None:
        self.time = time
        self.direction = direction
        self.position = position
        self.started = started
        self.data = data
        self.name = name
        self.header = header
        self.body_offset = body_offset
        self.message = message
        self.expects_response = expects_response
        self.inner = inner

    @property
    def body(self) -> bytes:
        """The bytes after the header."""
        return self.data[self.body_offset :]

    @property
    def api_key(self) -> int:
        """The API key of the header."""
        return self.header.api_key

    @property
    def version(self) -> int:
        """The API version of the header."""
        return self.header.api_version

    @property
    def correlation_id(self) -> int:
        """The correlation id of the header."""
        return self.header.correlation_id

    @property
    def client_id(self) -> str | None:
        """The client id of the header."""
        return self.header.client_id

    @property
    def software(self) -> tuple[str, str]:
        """The name and version of the client software from an ApiVersions request, or empty strings [KIP-511].

        The name and version are the first fields of every flexible version. If ``message`` is ``None``, both are read
        from ``data``, and both are empty unless a broker would accept them.
        """
        if self.message is not None:
            name, version = (getattr(self.message, f"client_software_{part}", "") for part in ("name", "version"))
            return name, version
        if self.name != "ApiVersions" or self.version < 3:
            return "", ""
        try:
            name, at = _compact_string(self.data, self.body_offset)
            version, _ = _compact_string(self.data, at)
        except (IndexError, ValueError):
            return "", ""
        return (name, version) if _SOFTWARE.fullmatch(name) and _SOFTWARE.fullmatch(version) else ("", "")

    def _summary(self) -> str:
        inner = f", inner={self.inner.name!r}" if self.inner else ""
        return f"{self.name} v{self.version} #{self.correlation_id} from {self.client_id!r}, {self.size} bytes{inner}"


@dataclass(slots=True, repr=False, init=False)
class ResponseEvent(FrameEvent):
    """A response and its ``request``, which is a request event or an undecodable request.

    ``version`` is the version of the body, which is 0 if the server does not know the version of an ApiVersions
    request [KAFKA-WIRE 6]. ``inner`` is the response inside an Envelope.
    """

    name: str
    header: ResponseHeader
    body_offset: int
    version: int
    request: RequestEvent | Undecodable
    message: Message | None
    inner: ResponseEvent | Undecodable | None

    def __init__(  # written by hand, as in RequestEvent
        self,
        time: float,
        direction: Direction,
        position: int,
        started: float,
        data: bytes,
        name: str,
        header: ResponseHeader,
        body_offset: int,
        version: int,
        request: RequestEvent | Undecodable,
        message: Message | None = None,
        inner: ResponseEvent | Undecodable | None = None,
    ) -> None:
        self.time = time
        self.direction = direction
        self.position = position
        self.started = started
        self.data = data
        self.name = name
        self.header = header
        self.body_offset = body_offset
        self.version = version
        self.request = request
        self.message = message
        self.inner = inner

    @property
    def latency(self) -> float:
        """The time from the last byte of the request to the last byte of the response, in the unit of the times
        passed to the decoder."""
        return self.time - self.request.time

    @property
    def body(self) -> bytes:
        """The bytes after the header."""
        return self.data[self.body_offset :]

    @property
    def correlation_id(self) -> int:
        """The correlation id of the header."""
        return self.header.correlation_id

    def _summary(self) -> str:
        inner = f", inner={self.inner.name!r}" if self.inner else ""
        return (
            f"{self.name} v{self.version} #{self.correlation_id}, {self.size} bytes after {self.latency:.6f}{inner}"
        )


@dataclass(slots=True, repr=False)
class Unanswered(BaseEvent):
    """A request that expects a response, but whose response was not seen. ``position`` is the position of the
    request."""

    request: RequestEvent | Undecodable
    reason: str

    def _summary(self) -> str:
        return f"{self.request.name} #{self.request.correlation_id}: {self.reason}"


@dataclass(slots=True, repr=False)
class Undecodable(FrameEvent):
    """A frame that cannot be decoded. ``data`` is the part of its payload that was seen, and ``missing`` is the
    number of bytes that were not.

    ``reason`` is always set. ``error`` is set if decoding failed, ``header`` if the header could be decoded, and
    ``request`` if the frame is the response to a known request.
    """

    reason: str
    error: DecodeError | None = field(default=None, compare=False)
    name: str = ""
    header: RequestHeader | ResponseHeader | None = None
    request: RequestEvent | Undecodable | None = None
    missing: int = 0

    @property
    def size(self) -> int:
        """The size of the frame in bytes as it was sent, including its four-byte size field."""
        return 4 + len(self.data) + self.missing

    @property
    def correlation_id(self) -> int | None:
        """The correlation id, or ``None`` if the header cannot be decoded."""
        return None if self.header is None else self.header.correlation_id

    def _summary(self) -> str:
        return f"{self.name or 'frame'}, {self.size} bytes: {self.reason}"


@dataclass(slots=True, repr=False)
class SaslToken(FrameEvent):
    """A bare token of a SASL mechanism, as used after SaslHandshake version 0 [KAFKA-WIRE 9].

    ``data`` may be a secret, so ``repr`` does not show it.
    """

    def _summary(self) -> str:
        return f"{len(self.data)} bytes"


@dataclass(slots=True, repr=False)
class Skipped(BaseEvent):
    """``size`` bytes that belong to no frame. A long run is reported in several events.

    ``data`` contains these bytes. If the connection is not Kafka, ``data`` is empty, because the bytes are only
    counted. Gaps may lie between them.
    """

    size: int
    data: bytes
    reason: str

    def _summary(self) -> str:
        return f"{self.size} bytes: {self.reason}"


@dataclass(slots=True, repr=False)
class Gap(BaseEvent):
    """``size`` bytes that were sent but not seen by the decoder. A size of 0 means that the number is unknown."""

    size: int

    def _summary(self) -> str:
        return f"{self.size or 'unknown'} bytes"


@dataclass(slots=True, repr=False)
class NotKafka(BaseEvent):
    """The connection uses another protocol: ``TLS``, ``HTTP`` or ``unknown``. Further bytes are only counted."""

    protocol: Literal["TLS", "HTTP", "unknown"]
    data: bytes

    def _summary(self) -> str:
        return f"{self.protocol}, {len(self.data)} bytes"


Event: TypeAlias = RequestEvent | ResponseEvent | SaslToken | Undecodable | Unanswered | Skipped | Gap | NotKafka
"""The events that a decoder reports. Type checkers report cases that a ``match`` statement does not handle."""


def _compact_string(data: bytes, at: int) -> tuple[str, int]:
    length, start = read_uvarint(data, at)
    end = start + max(length - 1, 0)
    if end > len(data):
        raise IndexError("the string is cut off")
    return data[start:end].decode(), end


REQUEST_SIZE: Final = 1024
"""Approximate memory of a request without its payload and message, in bytes."""


def without_bytes(event: RequestEvent | Undecodable) -> tuple[RequestEvent | Undecodable, int]:
    """Return a copy of a request without its payload or message, and the approximate memory of the copy in bytes."""
    if isinstance(event, Undecodable):
        return replace(event, data=b"", missing=event.size - 4, error=None), REQUEST_SIZE + len(event.reason)
    inner: RequestEvent | Undecodable | None = None
    size, header = REQUEST_SIZE + event.body_offset, event.header
    if event.inner is not None:
        inner, inner_size = without_bytes(event.inner)
        size += inner_size
    if header.unknown_tags:
        header = header.replace(unknown_tags=())
    stripped = RequestEvent(
        event.time,
        event.direction,
        event.position,
        event.started,
        b"",
        event.name,
        header,
        event.body_offset,
        None,
        event.expects_response,
        inner,
    )
    return stripped, size
