"""The APIs of a protocol: which API keys and versions exist, and whether bytes decode as one of them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from kwire.connection.events import RequestEvent
from kwire.errors import DecodeError
from kwire.frames import MAX_FRAME
from kwire.headers import RequestHeader
from kwire.native import mypyc_attr
from kwire.policy import STRICT
from kwire.protocol import MAX_HEADER

if TYPE_CHECKING:
    from kwire.connection.events import ResponseEvent
    from kwire.message import Message
    from kwire.protocol import MessageRegistry

MAX_VERSIONS_AHEAD = 2
"""Maximum distance above the highest known version for a candidate frame found by searching."""

MAX_TRAILING = 4
"""Maximum number of bytes after a request [KAFKA-WIRE 10]: librdkafka 2.16 writes three after Metadata 13."""


@lru_cache(8)
def _keys(protocol: MessageRegistry) -> frozenset[int]:
    """All API keys: one object for all connections."""
    return frozenset(protocol.api_keys)


@lru_cache(8)
def _requests(protocol: MessageRegistry) -> dict[int, int]:
    """Header versions of known requests by API key and version: one table for all connections."""
    return {}


@lru_cache(8)
def _versions(protocol: MessageRegistry) -> dict[int, range]:
    """The versions of requests by API key: one table for all connections."""
    return {}


@lru_cache(8)
def _responses(protocol: MessageRegistry) -> dict[tuple[int, int], tuple[int, type[Message] | None]]:
    """What is known of responses by API key and version: one table for all connections."""
    return {}


@mypyc_attr(serializable=True)
class ApiCatalog:
    """The APIs of ``protocol``. Its checks are fast and give no reasons: most of the bytes they see are noise."""

    __slots__ = ("_header_versions", "_versions", "keys", "max_decoded", "protocol")

    def __init__(self, protocol: MessageRegistry, max_decoded: int = MAX_FRAME) -> None:
        self.protocol = protocol
        self.max_decoded = max_decoded
        self.keys = _keys(protocol)
        self._header_versions = _requests(protocol)  # known ones only: every frame is classified by them
        self._versions = _versions(protocol)

    def __reduce__(self) -> tuple[object, ...]:
        return ApiCatalog, (self.protocol, self.max_decoded)

    def name(self, api_key: int) -> str:
        """The name of an API, such as ``Fetch``; ``api key 999`` if it is unknown."""
        return self.protocol.api_names.get(api_key) or f"api key {api_key}"

    def header_version(self, api_key: int, version: int) -> int:
        """The header version of a request; -1 if the API key or the version is unknown."""
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
        """The header version and the class of a response; -1 if the version is unknown."""
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
        """Whether a request may have this API key and version, which is known or slightly above the known ones."""
        versions = self._of(api_key)
        return versions is not None and versions.start <= version < versions.stop + MAX_VERSIONS_AHEAD

    def is_newer(self, api_key: int, version: int) -> bool:
        """Whether ``version`` is slightly above the known versions of a known API."""
        versions = self._of(api_key)
        return versions is not None and 0 <= version - versions.stop < MAX_VERSIONS_AHEAD

    def _of(self, api_key: int) -> range | None:
        """The known versions of requests with this API key."""
        versions = self._versions.get(api_key)
        if versions is None and api_key in self.keys:
            versions = self._versions[api_key] = self.protocol.request(api_key).VALID_VERSIONS
        return versions

    def reads_request(self, payload: bytes, api_key: int, version: int) -> bool:
        """Whether ``payload`` decodes as a request of this version with at most :data:`MAX_TRAILING` bytes left."""
        header_version = self.header_version(api_key, version)
        if header_version < 0:
            return False
        try:
            head = payload if len(payload) <= MAX_HEADER else payload[:MAX_HEADER]
            header, offset = RequestHeader._read(head, 0, header_version)
        except Exception:  # the fast path may raise anything
            return False
        if not (header.client_id or "").isprintable():
            return False
        return 0 <= self._bytes_after(self.protocol.request(api_key), payload, offset, version) <= MAX_TRAILING

    def reads_response(self, payload: bytes, api_key: int, version: int) -> bool | None:
        """Whether ``payload`` decodes as the response to a request of this version; ``None`` if that is unknown."""
        try:
            _, offset, cls, version = self.protocol.response_header(payload, api_key, version, STRICT)
        except DecodeError:
            return False
        return None if cls is None else self._bytes_after(cls, payload, offset, version) == 0

    def reads_body(self, event: RequestEvent | ResponseEvent) -> bool | None:
        """Whether the body of an event decodes, without bytes after it; ``None`` if its version is unknown."""
        cls: type[Message] | None
        if isinstance(event, RequestEvent):
            api_key, version = event.header.api_key, event.header.api_version
            cls = self.protocol.request(api_key) if self.header_version(api_key, version) >= 0 else None
        else:
            header, version = event.request.header, event.version
            cls = self.response(header.api_key, version)[1] if isinstance(header, RequestHeader) else None
        return None if cls is None else self._bytes_after(cls, event.data, event.body_offset, version) == 0

    def _bytes_after(self, cls: type[Message], payload: bytes, offset: int, version: int) -> int:
        """The number of bytes after the message that starts at ``offset``; -1 if there is no such message."""
        try:
            if len(payload) <= self.max_decoded:
                return len(payload) - int(cls._read(payload, offset, version)[1])
            from kwire.interpreter.large import read_large

            return len(payload) - read_large(cls, payload, offset, version, STRICT, whole=False)[1]
        except Exception:  # the fast path may raise anything
            return -1
