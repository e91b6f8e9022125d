"""From api keys to classes, and whole frames read and written: header and body together."""

from __future__ import annotations

from importlib import import_module

from librt.strings import read_i16_be

from kwire.errors import DecodeError, KwireError
from kwire.headers import RequestHeader, ResponseHeader
from kwire.policy import STRICT, Policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire.message import Message

API_VERSIONS = 18
UNSUPPORTED_VERSION = 35


class UnknownApi(KwireError):
    """An api key, a name, a log or a record type that the protocol does not have."""


class Request:
    """A request frame taken apart. ``message`` is ``None`` when api key or version are not known: then ``body`` is
    all there is to have."""

    __slots__ = ("body", "header", "message")

    def __init__(self, header: RequestHeader, message: Message | None, body: bytes) -> None:
        self.header = header
        self.message = message
        self.body = body

    def __repr__(self) -> str:
        return f"Request(header={self.header!r}, message={self.message!r})"


class Response:
    """A response frame taken apart. ``version`` is the version of the body: not always that of the request."""

    __slots__ = ("body", "header", "message", "version")

    def __init__(self, header: ResponseHeader, message: Message | None, body: bytes, version: int) -> None:
        self.header = header
        self.message = message
        self.body = body
        self.version = version

    def __repr__(self) -> str:
        return f"Response(header={self.header!r}, message={self.message!r}, version={self.version})"


class Protocol:
    """All messages of a generated package. Nothing is imported before it is asked for."""

    def __init__(
        self,
        package: str,
        modules: Mapping[str, str],
        aliases: Mapping[str, str],
        requests: Mapping[int, str],
        responses: Mapping[int, str],
        logs: Mapping[str, Mapping[int, tuple[str | None, str | None]]],
    ) -> None:
        self._package = package
        self._modules = modules
        self._aliases = aliases
        self._requests = requests
        self._responses = responses
        self._logs = logs
        self._classes: dict[str, type[Message]] = {}

    @property
    def api_keys(self) -> tuple[int, ...]:
        """All api keys, ascending."""
        return tuple(sorted(self._requests))

    def message(self, name: str) -> type[Message]:
        """The class of a message, by its name or a name it had in an earlier release."""
        known = self._classes.get(name)
        if known is not None:
            return known
        actual = self._aliases.get(name, name)
        if actual not in self._modules:
            raise UnknownApi(f"there is no message {name!r}")
        module = import_module(f"{self._package}.{self._modules[actual]}")
        found: type[Message] = getattr(module, actual)
        self._classes[name] = found
        return found

    def request(self, api_key: int) -> type[Message]:
        """The request class for an api key."""
        if api_key not in self._requests:
            raise UnknownApi(f"there is no request with api key {api_key}")
        return self.message(self._requests[api_key])

    def response(self, api_key: int) -> type[Message]:
        """The response class for an api key."""
        if api_key not in self._responses:
            raise UnknownApi(f"there is no response with api key {api_key}")
        return self.message(self._responses[api_key])

    @property
    def logs(self) -> tuple[str, ...]:
        """The logs whose records the protocol defines, by the folders of their definitions: ``group`` for what the
        group coordinator writes, ``metadata`` for the cluster's metadata, and so on."""
        return tuple(self._logs)

    def record_types(self, log: str) -> tuple[int, ...]:
        """The numbers of the record types of a log, ascending."""
        return tuple(self._types(log))

    def record(self, log: str, record_type: int) -> tuple[type[Message] | None, type[Message] | None]:
        """The classes of key and value of a record type; ``None`` for what such a record does not have."""
        names = self._types(log).get(record_type)
        if names is None:
            raise UnknownApi(f"the log {log!r} has no record type {record_type}")
        key, value = names
        return self.message(key) if key else None, self.message(value) if value else None

    def _types(self, log: str) -> Mapping[int, tuple[str | None, str | None]]:
        if log not in self._logs:
            raise UnknownApi(f"there is no log {log!r}, only {', '.join(self._logs)}")
        return self._logs[log]

    def encode_request(
        self, message: Message, version: int, *, correlation_id: int, client_id: str | None = None
    ) -> bytes:
        """Header and body of a request, as the payload of a frame."""
        body = message.encode(version)
        header = RequestHeader(
            api_key=_api_key(message), api_version=version, correlation_id=correlation_id, client_id=client_id
        )
        return header.encode(type(message).header_version(version)) + body

    def encode_response(self, message: Message, version: int, *, correlation_id: int) -> bytes:
        """Header and body of a response, as the payload of a frame."""
        body = message.encode(version)
        return ResponseHeader(correlation_id=correlation_id).encode(type(message).header_version(version)) + body

    def decode_request(self, payload: bytes | bytearray | memoryview, policy: Policy = STRICT) -> Request:
        """Take the payload of a request frame apart. An unknown api key or version is no error.

        The offset of a ``DecodeError`` counts from the start of the header or of the body, whichever it names.
        """
        payload = bytes(payload)
        if len(payload) < 8:
            raise DecodeError("a request has at least 8 bytes", message="RequestHeader", data=payload)
        api_key, version = read_i16_be(payload, 0), read_i16_be(payload, 2)
        cls = self.request(api_key) if api_key in self._requests else None
        if cls is None:
            # Client ids are coded alike in all headers that have one; what follows is left to the reader.
            header, end = RequestHeader.decode_from(payload, 0, 1)
            return Request(header, None, payload[end:])
        valid = cls.VALID_VERSIONS
        known = version in valid
        number = cls.header_version(version if known else (valid.start if version < valid.start else valid.stop - 1))
        header, end = RequestHeader.decode_from(payload, 0, number)
        body = payload[end:]
        return Request(header, cls.decode(body, version, policy) if known else None, body)

    def decode_response(
        self, payload: bytes | bytearray | memoryview, api_key: int, version: int, policy: Policy = STRICT
    ) -> Response:
        """Take the payload of a response frame apart, given api key and version of its request.

        An unknown api key or version is no error: then ``message`` is ``None``, and ``body`` is all there is.
        A broker that does not know the version of an ApiVersions request answers in version 0 with error 35
        [KIP-511]: that is recognised by its first two bytes.
        """
        payload = bytes(payload)
        cls = self.response(api_key) if api_key in self._responses else None
        known = cls is not None and version in cls.VALID_VERSIONS
        fallback = cls is not None and cls.__name__ == "ApiVersionsResponse" and api_key == API_VERSIONS
        header, end = ResponseHeader.decode_from(payload, 0, cls.header_version(version) if cls and known else 0)
        body = payload[end:]
        if fallback and len(body) >= 2 and read_i16_be(body, 0) == UNSUPPORTED_VERSION:
            version, known = 0, True
        message = cls.decode(body, version, policy) if cls and known else None
        return Response(header, message, body, version)


def _api_key(message: Message) -> int:
    key = type(message).API_KEY
    if key is None:
        raise UnknownApi(f"{type(message).__name__} is no request")
    return key
