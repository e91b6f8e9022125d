"""Finds message classes by name and API key, and reads and writes whole frames with header and body."""

from __future__ import annotations

import sys

from librt.strings import BytesWriter, read_i16_be

from kwire.errors import (
    DecodeError,
    EncodeError,
    UnexpectedMessageError,
    UnknownApiError,
    UnknownLogError,
    UnknownRecordTypeError,
)
from kwire.frames import MAX_FRAME
from kwire.headers import RequestHeader, ResponseHeader
from kwire.lookup import MessageMapping
from kwire.message import decode_within
from kwire.policy import STRICT, Policy
from kwire_rules import API_VERSIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypeVar

    from kwire.message import Message
    from kwire.releases import Releases

    M = TypeVar("M", bound=Message)

UNSUPPORTED_VERSION = b"\0\x23"
"""Encoded error code 35, as in the first field of an ApiVersions response."""
MAX_HEADER = 1 << 16
"""Maximum size of a header in bytes. A client id can be 32767 bytes long, and tagged fields use 25 times their size
in memory."""

TAKE_IN = "to support a newer release, update kwire (make update), or generate a package and pass it with --protocol"
"""Advice on versions for which ``MessageRegistry.unknown`` returns a reason."""


def registry(package: str) -> MessageRegistry:
    """Return the message registry of the generated package with this name.

    Raise ``ImportError`` or ``ValueError`` if there is no such generated package.
    """
    if not all(part.isidentifier() for part in package.split(".")):
        raise ValueError(f"{package!r} is not a package name")
    try:
        protocol = getattr(_module(package), "PROTOCOL", None)
    except ModuleNotFoundError as problem:
        if problem.name is None or not f"{package}.".startswith(f"{problem.name}."):
            raise
        text = f"there is no package {package}: install it, or add its parent folder to PYTHONPATH"
        raise ModuleNotFoundError(text, name=problem.name) from problem
    if not isinstance(protocol, MessageRegistry):
        raise ValueError(f"{package} is not a generated package: it has no PROTOCOL")
    return protocol


def expected(message: Message | None, cls: type[M], otherwise: str = "an unknown API or version") -> M:
    """Return ``message`` if it is an instance of ``cls``, or raise ``UnexpectedMessageError``."""
    if isinstance(message, cls):
        return message
    found = otherwise if message is None else type(message).__name__
    raise UnexpectedMessageError(f"expected {cls.__name__}, got {found}")


class _Parsed:
    """A parsed frame. The body has the version ``version`` and starts at offset ``body_offset`` of ``payload``."""

    __slots__ = ("body_offset", "message", "payload", "version")

    def __init__(self, message: Message | None, payload: bytes, body_offset: int, version: int) -> None:
        self.message = message
        self.payload = payload
        self.body_offset = body_offset
        self.version = version

    @property
    def body(self) -> bytes:
        """The bytes of the frame after the header."""
        return self.payload[self.body_offset :]

    def expect(self, cls: type[M]) -> M:
        """Return the message if it is an instance of ``cls``, or raise ``UnexpectedMessageError``."""
        return expected(self.message, cls)


class Request(_Parsed):
    """A parsed request frame. ``message`` is ``None`` if the API key or version is unknown."""

    __slots__ = ("header",)

    def __init__(
        self, header: RequestHeader, message: Message | None, payload: bytes, body_offset: int, version: int
    ) -> None:
        super().__init__(message, payload, body_offset, version)
        self.header = header

    def __repr__(self) -> str:
        return f"Request(header={self.header!r}, message={self.message!r}, version={self.version})"


class Response(_Parsed):
    """A parsed response frame. ``message`` is ``None`` if the API key or version is unknown.

    ``version`` is the version of the body, which may differ from the version of the request.
    """

    __slots__ = ("header",)

    def __init__(
        self, header: ResponseHeader, message: Message | None, payload: bytes, body_offset: int, version: int
    ) -> None:
        super().__init__(message, payload, body_offset, version)
        self.header = header

    def __repr__(self) -> str:
        return f"Response(header={self.header!r}, message={self.message!r}, version={self.version})"


class _Known:
    """A request or response class with its header versions."""

    __slots__ = ("cls", "first", "headers")

    def __init__(self, cls: type[Message]) -> None:
        self.cls = cls
        self.first: int = cls.VALID_VERSIONS.start
        self.headers: list[int] = [cls.header_version(version) for version in cls.VALID_VERSIONS]

    def header(self, version: int) -> int:
        """Return the header version for a message version, or -1 if the class does not have this version."""
        number = version - self.first
        return self.headers[number] if 0 <= number < len(self.headers) else -1


class MessageRegistry(MessageMapping["type[Message]"]):
    """The message classes of a generated package by name, as in ``PROTOCOL["FetchRequest"]``.

    Each class is imported on first use.
    """

    def __init__(
        self,
        package: str,
        modules: Mapping[str, str],
        aliases: Mapping[str, str],
        requests: Mapping[int, str],
        responses: Mapping[int, str],
        logs: Mapping[str, Mapping[int, tuple[str | None, str | None]]],
    ) -> None:
        super().__init__(package, modules, aliases)
        self._requests = requests
        self._responses = responses
        self._logs = logs
        self._known_requests: dict[int, _Known] = {}
        self._known_responses: dict[int, _Known] = {}
        self.api_names: Mapping[int, str] = {key: requests[key].removesuffix("Request") for key in sorted(requests)}
        """API names by API key, in ascending order. An API name is the request name without its suffix."""

    def _load(self, name: str, module: str) -> type[Message]:
        cls: type[Message] = getattr(_module(f"{self._package}.{module}"), name)
        return cls

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle only the package name, so that the pickled state of a connection stays small."""
        if getattr(sys.modules.get(self._package), "PROTOCOL", None) is self:
            return _protocol, (self._package,)
        parts = self._package, self._modules, self._aliases, self._requests, self._responses, self._logs
        return MessageRegistry, parts

    @property
    def package(self) -> str:
        """The name of the generated package."""
        return self._package

    @property
    def api_keys(self) -> tuple[int, ...]:
        """All API keys in ascending order."""
        return tuple(self.api_names)

    def api_name(self, api_key: int) -> str:
        """Return the name of the API with this key."""
        if api_key not in self._requests:
            raise UnknownApiError(api_key)
        return self.api_names[api_key]

    def request(self, api_key: int) -> type[Message]:
        """Return the request class for an API key."""
        if api_key not in self._requests:
            raise UnknownApiError(api_key)
        return self[self._requests[api_key]]

    def response(self, api_key: int) -> type[Message]:
        """Return the response class for an API key."""
        if api_key not in self._responses:
            raise UnknownApiError(api_key)
        return self[self._responses[api_key]]

    def unknown(self, api_key: int, version: int) -> str:
        """Return the reason why this version of an API is unknown, or ``""`` if it is known.

        An example is ``Fetch 99 is newer than Kafka X.Y.Z, the newest known release``. Other reasons are an unknown
        API or a version that no release had.
        """
        if api_key not in self._requests:
            return f"API key {api_key} is not in {self._newest() or 'this protocol'}"
        name, valid = self.api_name(api_key), self.request(api_key).VALID_VERSIONS
        if version < valid.start:
            return f"{name} has no version {version}"
        if version < valid.stop:
            return ""
        return f"{name} {version} is newer than {self._newest() or f'{valid[-1]}, the newest known version'}"

    @property
    def releases(self) -> Releases:
        """The releases of the package. Raises ``ImportError`` if the package was generated without releases."""
        found: Releases = _module(f"{self._package}.releases").RELEASES
        return found

    @property
    def newest_release(self) -> str:
        """The name of the newest release of the package, or ``""`` if it was generated without releases."""
        try:
            *_, name = self.releases
        except ImportError:
            return ""
        return name

    def _newest(self) -> str:
        return f"Kafka {name}, the newest known release" if (name := self.newest_release) else ""

    @property
    def logs(self) -> tuple[str, ...]:
        """The names of logs whose records the protocol defines, such as ``group`` for the group coordinator and
        ``metadata`` for the cluster metadata. Each name is the name of a folder in the definitions."""
        return tuple(self._logs)

    def record_types(self, log: str) -> tuple[int, ...]:
        """Return the numbers of a log's record types in ascending order."""
        return tuple(self._types(log))

    def record(self, log: str, record_type: int) -> tuple[type[Message] | None, type[Message] | None]:
        """Return the key and value classes of a record type, or ``None`` for a missing key or value."""
        names = self._types(log).get(record_type)
        if names is None:
            raise UnknownRecordTypeError(record_type, of=f"log {log!r}")
        key, value = names
        return self[key] if key else None, self[value] if value else None

    def _types(self, log: str) -> Mapping[int, tuple[str | None, str | None]]:
        if log not in self._logs:
            raise UnknownLogError(log, self._logs)
        return self._logs[log]

    def encode_request(
        self, message: Message, version: int, *, correlation_id: int, client_id: str | None = None
    ) -> bytes:
        """Return a frame payload with the header and body of a request.

        Raise ``EncodeError`` if ``message`` is not a request of this protocol, or cannot be encoded.
        """
        key, known = self._of(message, version, self._known_requests, self._requests, "request")
        header = RequestHeader(api_key=key, api_version=version, correlation_id=correlation_id, client_id=client_id)
        return _framed(header, message, known.header(version), version)

    def encode_response(self, message: Message, version: int, *, correlation_id: int) -> bytes:
        """Return a frame payload with the header and body of a response.

        Raise ``EncodeError`` if ``message`` is not a response of this protocol, or cannot be encoded.
        """
        _, known = self._of(message, version, self._known_responses, self._responses, "response")
        return _framed(ResponseHeader(correlation_id=correlation_id), message, known.header(version), version)

    def _of(
        self, message: Message, version: int, known: dict[int, _Known], names: Mapping[int, str], role: str
    ) -> tuple[int, _Known]:
        """Return the API key of a message, and its class with the header versions."""
        key = message.API_KEY
        found = None if key is None else self._find(key, known, names)
        if key is None or found is None or not isinstance(message, found.cls):
            name = type(message).__name__
            raise EncodeError(f"not a {role} of {self._package}", message_name=name, version=version)
        return key, found

    def _find(self, api_key: int, known: dict[int, _Known], names: Mapping[int, str]) -> _Known | None:
        """Return the class for an API key from the cache ``known``, or ``None`` if the key is unknown."""
        found = known.get(api_key)
        if found is None and api_key in names:
            found = known[api_key] = _Known(self[names[api_key]])
        return found

    def decode_request(
        self, payload: bytes | bytearray | memoryview, policy: Policy = STRICT, *, max_decoded: int = MAX_FRAME
    ) -> Request:
        """Parse the payload of a request frame. An unknown API key or version is not an error.

        The ``message_name`` of a ``DecodeError`` is the name of the header or the body. In both cases, the offset of
        the error is relative to the start of ``payload``. See ``kwire.connection.ConnectionDecoder`` for
        ``max_decoded``.
        """
        if type(payload) is not bytes:
            payload = bytes(payload)
        header, offset, cls = self.request_header(payload, policy)
        message = None
        if cls is not None:
            message = decode_within(max_decoded, cls, payload, header.api_version, policy, offset)
        return Request(header, message, payload, offset, header.api_version)

    def request_header(
        self, payload: bytes, policy: Policy = STRICT
    ) -> tuple[RequestHeader, int, type[Message] | None]:
        """Return the header of a request, the offset of the body, and the class for the body.

        The class is ``None`` if the API key or version is unknown. In this case, the header version is taken from the
        nearest known version, or is 1 for an unknown API. If this guess fails, the header is read without tagged
        fields or client id. The API key, version and correlation id are at the same offsets in all headers. Raise
        ``DecodeError`` for a header of more than ``MAX_HEADER`` bytes.
        """
        if not 4 <= len(payload) <= MAX_HEADER:
            payload = payload[:MAX_HEADER]
            RequestHeader.decode_from(payload, 0, policy)  # raises an error if it is too short
        version = read_i16_be(payload, 2)
        known = self._find(read_i16_be(payload, 0), self._known_requests, self._requests)
        number = -1 if known is None else known.header(version)
        if known is not None and number >= 0:
            header, offset = _request_header(payload, number, policy)
            return header, offset, known.cls
        for number in range(1 if known is None else _nearest_header(known.cls, version), 0, -1):
            try:
                return *RequestHeader.decode_from(payload, number, policy), None
            except DecodeError:
                pass
        return *RequestHeader.decode_from(payload, 0, policy), None

    def decode_response(
        self,
        payload: bytes | bytearray | memoryview,
        api_key: int,
        version: int,
        policy: Policy = STRICT,
        *,
        max_decoded: int = MAX_FRAME,
    ) -> Response:
        """Parse the payload of a response frame, given the API key and version of its request.

        If the API key or version is unknown, ``message`` is ``None``. Errors and ``max_decoded`` are the same as for
        ``decode_request``.
        """
        if type(payload) is not bytes:
            payload = bytes(payload)
        header, offset, cls, version = self.response_header(payload, api_key, version, policy)
        message = None if cls is None else decode_within(max_decoded, cls, payload, version, policy, offset)
        return Response(header, message, payload, offset, version)

    def response_header(
        self, payload: bytes, api_key: int, version: int, policy: Policy = STRICT
    ) -> tuple[ResponseHeader, int, type[Message] | None, int]:
        """Return the header of a response, the offset of the body, and the class and version of the body.

        The class is ``None`` if the API key or version is unknown. In this case, the header version is taken from the
        nearest known version, or is 0 for an unknown API or if this guess fails. Any tagged fields are then part of
        the body.

        A broker that does not support the version of an ApiVersions request responds in version 0 with error code 35
        [KAFKA-WIRE 6]. Such a response is recognised by the first two bytes of the body.
        """
        if len(payload) > MAX_HEADER:
            payload = payload[:MAX_HEADER]
        found = self._find(api_key, self._known_responses, self._responses)
        if found is None:
            return *ResponseHeader.decode_from(payload, 0, policy), None, version
        cls, number = found.cls, found.header(version)
        known = number >= 0
        try:
            header, offset = _response_header(payload, number if known else _nearest_header(cls, version), policy)
        except DecodeError:
            if known:
                raise
            header, offset = ResponseHeader.decode_from(payload, 0, policy)
        if api_key == API_VERSIONS and cls.__name__ == "ApiVersionsResponse":
            if payload[offset : offset + 2] == UNSUPPORTED_VERSION:
                return header, offset, cls, 0
        return header, offset, cls if known else None, version


def _module(name: str) -> Any:
    """Import and return a module without ``importlib``, which is as slow to import as a codec."""
    __import__(name)
    return sys.modules[name]


def _protocol(package: str) -> MessageRegistry:
    found: MessageRegistry = _module(package).PROTOCOL
    return found


def _request_header(payload: bytes, number: int, policy: Policy) -> tuple[RequestHeader, int]:
    """Decode a request header. Fall back to ``RequestHeader.decode_from`` for errors and tolerant policies."""
    try:
        header, end = RequestHeader._read(payload, 0, number)
        if end <= len(payload):
            return header, end
    except Exception:  # decode_from raises or tolerates this error
        pass
    return RequestHeader.decode_from(payload, number, policy)


def _response_header(payload: bytes, number: int, policy: Policy) -> tuple[ResponseHeader, int]:
    """Decode a response header. Fall back to ``ResponseHeader.decode_from`` for errors and tolerant policies."""
    try:
        header, end = ResponseHeader._read(payload, 0, number)
        if end <= len(payload):
            return header, end
    except Exception:
        pass
    return ResponseHeader.decode_from(payload, number, policy)


def _framed(header: Message, message: Message, number: int, version: int) -> bytes:
    """Return the encoded header and body. ``number`` is the header version, or -1 for an unknown ``version``."""
    if number >= 0:
        try:
            out = BytesWriter()
            header._write(out, number)
            message._write(out, version)
            return out.getvalue()
        except Exception:  # encode raises the error
            pass
    body = message.encode(version)
    return header.encode(message.header_version(version)) + body


def _nearest_header(cls: type[Message], version: int) -> int:
    """Return the header version for the known version nearest to an unknown version."""
    valid = cls.VALID_VERSIONS
    return cls.header_version(valid.start if version < valid.start else valid.stop - 1)


__all__ = ["MessageRegistry", "Request", "Response", "registry"]
