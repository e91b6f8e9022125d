"""What a connection is made of, as events: a small closed set of classes, to be told apart with ``match``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from kwire.protocol import expected

if TYPE_CHECKING:
    from kwire.errors import DecodeError
    from kwire.headers import RequestHeader, ResponseHeader
    from kwire.message import Message

M = TypeVar("M", bound="Message")

Direction = Literal["client", "server"]

CLIENT: Final = "client"
"""Bytes that the client sent: requests."""

SERVER: Final = "server"
"""Bytes that the server, a broker or controller, sent: responses."""


@dataclass(slots=True, repr=False)
class Event:
    """Something that happened at ``time``, the one fed with the bytes that settled it.

    ``direction`` says who sent the bytes, ``position`` where they begin: the offset in the stream of that direction,
    counted from the first byte fed, bytes that are known to be missing included.
    """

    time: float
    direction: Direction
    position: int

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._told()} at {self.position} of {self.direction}>"

    def expect(self, cls: type[M]) -> M:
        """The message of the request or response, if it is one of ``cls``; ``kwire.protocol.UnexpectedMessage``
        otherwise, with the reason if it could not be read."""
        return expected(getattr(self, "message", None), cls, getattr(self, "reason", f"it is {self!r}"))

    def _told(self) -> str:
        return ""


@dataclass(slots=True, repr=False)
class FrameEvent(Event):
    """A frame. ``data`` is its payload, ``started`` the time of its first byte."""

    started: float
    data: bytes

    @property
    def size(self) -> int:
        """Bytes of the frame, with the four in front that tell its size."""
        return 4 + len(self.data)


@dataclass(slots=True, repr=False)
class RequestEvent(FrameEvent):
    """A request. ``data`` is the payload of its frame; ``started`` the time of the first byte of it.

    ``message`` is ``None`` if api key or version are not known, and where only headers are decoded. ``inner`` is the
    request in an Envelope, with ``data`` and offsets of its own. ``expects_response`` is false for a Produce
    request with ``acks=0`` [KAFKA-WIRE 8].
    """

    name: str
    header: RequestHeader
    body_offset: int
    message: Message | None = None
    expects_response: bool = True
    inner: RequestEvent | Undecodable | None = None

    @property
    def body(self) -> bytes:
        """What follows the header."""
        return self.data[self.body_offset :]

    @property
    def api_key(self) -> int:
        return self.header.api_key

    @property
    def version(self) -> int:
        return self.header.api_version

    @property
    def correlation_id(self) -> int:
        return self.header.correlation_id

    @property
    def client_id(self) -> str | None:
        return self.header.client_id

    def _told(self) -> str:
        inner = f", inner={self.inner.name!r}" if self.inner else ""
        return f"{self.name} v{self.version} #{self.correlation_id} from {self.client_id!r}, {self.size} bytes{inner}"


@dataclass(slots=True, repr=False)
class ResponseEvent(FrameEvent):
    """A response with its ``request``: the event of it, be it a request or one that could not be decoded.

    ``version`` is that of the body: 0 where a server answers an ApiVersions request that it does not know
    [KAFKA-WIRE 6]. ``inner`` is the response in an Envelope.
    """

    name: str
    header: ResponseHeader
    body_offset: int
    version: int
    request: RequestEvent | Undecodable
    message: Message | None = None
    inner: ResponseEvent | Undecodable | None = None

    @property
    def latency(self) -> float:
        """From the last byte of the request to the last byte of the response, in the unit of the times fed."""
        return self.time - self.request.time

    @property
    def body(self) -> bytes:
        """What follows the header."""
        return self.data[self.body_offset :]

    @property
    def correlation_id(self) -> int:
        return self.header.correlation_id

    def _told(self) -> str:
        inner = f", inner={self.inner.name!r}" if self.inner else ""
        return (
            f"{self.name} v{self.version} #{self.correlation_id}, {self.size} bytes after {self.latency:.6f}{inner}"
        )


@dataclass(slots=True, repr=False)
class Unanswered(Event):
    """A request that expects a response and will not be seen to get one. ``position`` is that of the request."""

    request: RequestEvent | Undecodable
    reason: str

    def _told(self) -> str:
        return f"{self.request.name} #{self.request.correlation_id}: {self.reason}"


@dataclass(slots=True, repr=False)
class Undecodable(FrameEvent):
    """A frame that cannot be read: ``data`` is what was seen of its payload, ``missing`` how many bytes were not.

    ``error`` is what decoding said, if it came to that; ``reason`` is always there. ``header`` is that of the frame
    if it could be read; ``request`` the request that this should be the response to.
    """

    reason: str
    error: DecodeError | None = field(default=None, compare=False)
    name: str = ""
    header: RequestHeader | ResponseHeader | None = None
    request: RequestEvent | Undecodable | None = None
    missing: int = 0

    @property
    def size(self) -> int:
        """Bytes of the frame as it was sent, with the four in front that tell its size."""
        return 4 + len(self.data) + self.missing

    @property
    def correlation_id(self) -> int | None:
        return None if self.header is None else self.header.correlation_id

    def _told(self) -> str:
        return f"{self.name or 'frame'}, {self.size} bytes: {self.reason}"


@dataclass(slots=True, repr=False)
class SaslToken(FrameEvent):
    """A bare token of a SASL mechanism, as they follow version 0 of SaslHandshake [KAFKA-WIRE 9].

    ``data`` may be a secret: it is not printed.
    """

    def _told(self) -> str:
        return f"{len(self.data)} bytes"


@dataclass(slots=True, repr=False)
class Skipped(Event):
    """Bytes that belong to no frame: ``size`` of them. A long run comes in several events.

    ``data`` has them all, except of a connection that was found not to speak Kafka: those are only counted.
    """

    size: int
    data: bytes
    reason: str

    def _told(self) -> str:
        return f"{self.size} bytes: {self.reason}"


@dataclass(slots=True, repr=False)
class Gap(Event):
    """``size`` bytes were sent that the decoder has not seen; 0 if nobody knows how many."""

    size: int

    def _told(self) -> str:
        return f"{self.size or 'unknown'} bytes"


@dataclass(slots=True, repr=False)
class NotKafka(Event):
    """The port speaks something else: ``protocol`` is ``TLS``, ``HTTP`` or ``unknown``. The rest is only counted."""

    protocol: Literal["TLS", "HTTP", "unknown"]
    data: bytes

    def _told(self) -> str:
        return f"{self.protocol}, {self.data!r}"
