"""Headers of requests that were read before: nearly all of a connection are alike but for the correlation id."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from kwire.connection.events import CLIENT, RequestEvent
from kwire.headers import RequestHeader
from kwire.native import mypyc_attr

if TYPE_CHECKING:
    from kwire.message import Message
    from kwire.policy import Policy
    from kwire.protocol import MessageRegistry

HEAD: Final = 256
"""The longest header that is kept, in bytes."""

MAX_KNOWN: Final = 64
"""Headers kept per connection. Clients send fewer kinds, but bytes may be any number of them."""


@mypyc_attr(serializable=True)
class KnownHeader:
    """A header that was read: ``rest`` are its bytes after the correlation id, up to the body.

    ``wanted`` is whether bodies of these requests are decoded. ``answer`` is where the body begins in the frame of a
    response whose header has no tagged fields; -1 if responses have to be read.
    """

    __slots__ = ("answer", "cls", "header", "name", "offset", "rest", "wanted")

    def __init__(
        self,
        rest: bytes,
        header: RequestHeader,
        offset: int,
        cls: type[Message],
        name: str,
        wanted: bool,
        answer: int,
    ) -> None:
        self.rest = rest
        self.header = header
        self.offset = offset
        self.cls = cls
        self.name = name
        self.wanted = wanted
        self.answer = answer

    def with_id(self, correlation_id: int) -> RequestHeader:
        """This header with another correlation id."""
        return RequestHeader(
            api_key=self.header.api_key,
            api_version=self.header.api_version,
            correlation_id=correlation_id,
            client_id=self.header.client_id,
        )

    def event(self, time: float, position: int, correlation_id: int) -> RequestEvent:
        """The event, without bytes, of such a request."""
        header = self.with_id(correlation_id)
        return RequestEvent(time, CLIENT, position, time, b"", self.name, header, self.offset)


Known = dict[bytes, KnownHeader]
"""By API key and version, as they are in the bytes."""


@lru_cache(8)
def known_headers(protocol: MessageRegistry, policy: Policy, bodies: frozenset[str] | None) -> Known:
    """The last header of every kind on any connection: one of each known version of an API."""
    return {}
