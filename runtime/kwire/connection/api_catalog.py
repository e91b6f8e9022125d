"""Which api keys and versions there are, and whether bytes can be read as one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.errors import DecodeError
from kwire.headers import RequestHeader
from kwire.policy import STRICT

if TYPE_CHECKING:
    from kwire.message import Message
    from kwire.protocol import Protocol

NEWER_VERSIONS = 2
"""So many versions above the highest known one a frame may have that nobody expects where it is."""

MAX_SPARE = 4
"""So many bytes may stand behind a request [KAFKA-WIRE 10]: librdkafka 2.16 writes three behind Metadata 13."""


class ApiCatalog:
    """The apis of a protocol. Their classes are loaded as they are met.

    The checks tell no reasons, which would take long: most of what they are asked about is noise.
    """

    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol
        self.keys = frozenset(protocol.api_keys)
        self._classes: dict[int, type[Message]] = {}
        self._header_versions: dict[tuple[int, int], int] = {}  # of what is known: every frame is judged by them

    def name(self, api_key: int) -> str:
        """The name of an api, as ``Fetch``, or its number."""
        if api_key not in self.keys:
            return f"api key {api_key}"
        return self._request(api_key).__name__.removesuffix("Request")

    def header_version(self, api_key: int, version: int) -> int:
        """The version of the header of a request, -1 if api key or version are not known."""
        known = self._header_versions.get((api_key, version))
        if known is not None:
            return known
        if api_key not in self.keys:
            return -1
        cls = self._request(api_key)
        if version not in cls.VALID_VERSIONS:
            return -1
        found = self._header_versions[api_key, version] = cls.header_version(version)
        return found

    def is_newer(self, api_key: int, version: int) -> bool:
        """Whether a known api has slightly lower versions than this one."""
        return api_key in self.keys and 0 <= version - self._request(api_key).VALID_VERSIONS.stop < NEWER_VERSIONS

    def reads_request(self, payload: bytes, api_key: int, version: int) -> bool:
        """Whether ``payload`` is a request of this version, from its first to nearly its last byte."""
        header_version = self.header_version(api_key, version)
        if header_version < 0:
            return False
        try:
            header, offset = RequestHeader._read(payload, 0, header_version)
        except Exception:  # readers fail in any way they like
            return False
        if not (header.client_id or "").isprintable():
            return False
        return 0 <= _left(self._request(api_key), payload, offset, version) <= MAX_SPARE

    def reads_response(self, payload: bytes, api_key: int, version: int) -> bool | None:
        """Whether ``payload`` is the response to a request of this version; ``None`` if that is not known."""
        try:
            _, offset, cls, version = self.protocol.response_header(payload, api_key, version, STRICT)
        except DecodeError:
            return False
        return None if cls is None else _left(cls, payload, offset, version) == 0

    def _request(self, api_key: int) -> type[Message]:
        known = self._classes.get(api_key)
        if known is None:
            known = self._classes[api_key] = self.protocol.request(api_key)
        return known


def _left(cls: type[Message], payload: bytes, offset: int, version: int) -> int:
    """How many bytes there are behind the message that begins at ``offset``; -1 if none does."""
    try:
        return len(payload) - int(cls._read(payload, offset, version)[1])
    except Exception:  # as above
        return -1
