"""The parsed contents of a request log line, and the error for invalid lines."""

from __future__ import annotations

import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire.errors import DecodeError
from kwire.policy import STRICT, Policy
from kwire.request_log.layouts import micros
from kwire_rules import API_VERSIONS, ENVELOPE

if TYPE_CHECKING:
    from datetime import tzinfo

    from kwire.message import Message
    from kwire.protocol import MessageRegistry, Request, Response

UNSUPPORTED_VERSION = 35
UNKNOWN = "unknown"
"""The value logged for an unknown software name or version."""

Json = dict[str, Any]
"""A JSON object."""


class RequestLogError(DecodeError):
    """Raised for a request log line that was cut off, lacks a mandatory part, or is otherwise invalid.

    ``data`` is the line in UTF-8, ``offset`` is the position of the problem in ``data``, and ``path`` is the path in
    the line's JSON. If the line is in a JSON string, these attributes refer to the contents of that string.
    """


class Address(NamedTuple):
    """The address of one end of a connection. IPv6 hosts are not in brackets."""

    host: str
    port: int


_CONNECTION = re.compile(r"(.{1,255}?):(\d{1,5})-(.{1,255}):(\d{1,5})(?:-\d{1,10}){0,2}", re.ASCII)
"""Matches a connection name: two addresses and an index. Since 4.0, a processor number precedes the index. Before
0.11, there was no index. IPv6 zone names may contain a ``-``."""


def addresses(connection: str) -> tuple[Address, Address] | None:
    """Return the two addresses in a broker's name for a connection, or ``None`` if ``connection`` is not such a name.

    The broker's own address comes first.
    """
    ends = _CONNECTION.fullmatch(connection)
    return (Address(ends[1], int(ends[2])), Address(ends[3], int(ends[4]))) if ends else None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedHeader:
    """The header of a logged request. ``api_name`` is Kafka's constant for the API, such as ``LIST_OFFSETS``. Since
    3.7, brokers log whether the version is ``deprecated``."""

    api_key: int
    api_version: int
    api_name: str | None = None
    correlation_id: int | None = None
    client_id: str | None = None
    deprecated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLogLine:
    """A logged request and its response.

    Missing parts are ``None``. ``prefix`` is the text before the logged message. In Kafka's default layout, the
    prefix consists of the time and level, as in ``[2026-11-21 16:33:41,379] DEBUG``. For JSON layouts, the prefix
    contains the object's time and level. ``connection`` is the broker's name for the connection, and ``local`` and
    ``remote`` are the addresses of its ends. ``more`` contains all other parts under the broker's names, such as
    ``temporaryMemoryBytes``, ``messageConversionsTime`` and parts that later releases add.

    Times are in milliseconds. ``response`` is ``None`` if there was no response, as for a Produce request with acks
    0. For brokers before 2.8, ``request`` and ``response`` are ``None``, and ``request_text`` and ``response_text``
    are set instead. If ``is_forwarded`` is true, the request reached a controller in an Envelope, which is not
    logged.
    """

    prefix: str
    header: LoggedHeader
    request: Json | None = None
    response: Json | None = None
    request_text: str | None = None
    response_text: str | None = None
    is_forwarded: bool | None = None
    connection: str | None = None
    local: Address | None = None
    remote: Address | None = None
    total_time_ms: float | None = None
    request_queue_time_ms: float | None = None
    local_time_ms: float | None = None
    remote_time_ms: float | None = None
    throttle_time_ms: float | None = None
    response_queue_time_ms: float | None = None
    send_time_ms: float | None = None
    security_protocol: str | None = None
    principal: str | None = None
    listener: str | None = None
    software_name: str | None = None
    software_version: str | None = None
    more: Json = field(default_factory=dict)

    @property
    def body_version(self) -> int:
        """The version in which the request and response were logged.

        This is the version in the header, or 0 for an ApiVersions request whose version the broker does not know,
        because the broker then responds in version 0 [KAFKA-WIRE 6].
        """
        if self.header.api_key != API_VERSIONS:
            return self.header.api_version
        return 0 if UNSUPPORTED_VERSION in self.error_codes else self.header.api_version

    @property
    def error_codes(self) -> list[int]:
        """The distinct error codes in the response except 0, in ascending order."""
        if self.response:
            return sorted(_codes(self.response))
        return sorted({int(code) for code in _CODE_IN_TEXT.findall(self.response_text or "")} - {0})

    @property
    def response_throttle_ms(self) -> int | None:
        """The throttle time in the response, in milliseconds, or ``None`` if the response has no such field."""
        if self.response is not None:
            delay = self.response.get("throttleTimeMs")
            return delay if type(delay) is int else None
        found = _THROTTLE_IN_TEXT.search(self.response_text or "")
        return int(found[1]) if found else None

    @property
    def software(self) -> tuple[str | None, str | None]:
        """The name and version of the client library, each ``None`` if unknown. ApiVersions requests contain the name
        and version. For other requests, the broker logs the values from the ApiVersions request of the connection
        [KIP-511]."""
        request = self.request or _software_in_text(self)
        name = request.get("clientSoftwareName") or self.software_name
        version = request.get("clientSoftwareVersion") or self.software_version
        return known_software(name), known_software(version)

    def time(self, zone: tzinfo) -> int | None:
        """Return the time of the line, in microseconds since the epoch, or ``None`` if its layout has no time.

        ``zone`` is the broker's time zone, which is used if the layout does not contain a time zone.
        """
        return micros(self.prefix, zone)

    def request_message(self, protocol: MessageRegistry, *, empty_records: bool = False) -> Message | None:
        """Return the request as a codec object, or ``None`` if the line contains no request.

        Raise ``UnknownApiError`` or ``UnknownVersionError`` if the API key or its version is unknown. Raise
        ``JsonFormError`` if the JSON does not match the version, or if only the size of records was logged and
        ``empty_records`` is false.
        """
        if self.request is None:
            return None
        cls = protocol.request(self.header.api_key)
        return cls.from_json(self.request, self.body_version, empty_records=empty_records)

    def response_message(self, protocol: MessageRegistry, *, empty_records: bool = False) -> Message | None:
        """Return the response as a codec object, or ``None`` if the line contains no response.

        The errors are the same as for ``request_message``. Brokers log only the size of the records in a Fetch
        response, and omit the records of ShareFetch and FetchSnapshot responses.
        """
        if self.response is None:
            return None
        cls = protocol.response(self.header.api_key)
        return cls.from_json(self.response, self.body_version, empty_records=empty_records)

    def request_model(self, protocol: MessageRegistry, models: Mapping[str, Any]) -> Any:
        """Return the request as a model for its version, or ``None`` if the line contains no request.

        Raise ``UnknownApiError`` or ``UnknownVersionError`` if the API key or its version is unknown, and pydantic's
        ``ValidationError`` if the JSON does not match the version.
        """
        if self.request is None:
            return None
        return self._model(models, protocol.request(self.header.api_key).__name__, self.request)

    def response_model(self, protocol: MessageRegistry, models: Mapping[str, Any]) -> Any:
        """Return the response as a model for its version, or ``None`` if the line contains no response.

        The errors are the same as for ``request_model``.
        """
        if self.response is None:
            return None
        return self._model(models, protocol.response(self.header.api_key).__name__, self.response)

    def _model(self, models: Mapping[str, Any], name: str, body: Json) -> Any:
        return models[name].for_version(self.body_version).model_validate(body)

    def enveloped(self, protocol: MessageRegistry, policy: Policy = STRICT) -> tuple[Request, Response | None] | None:
        """Return the request in an Envelope and its response, or ``None`` if the line is not about an Envelope.

        The response is ``None`` if it was not logged. Brokers log an Envelope if the request in it must not be
        forwarded.
        """
        if self.header.api_key != ENVELOPE or self.request is None:
            return None
        request = protocol.decode_request(_bytes(self.request, "requestData"), policy)
        data = _bytes(self.response or {}, "responseData")
        if not data:
            return request, None
        return request, protocol.decode_response(data, request.header.api_key, request.header.api_version, policy)


_CODE_IN_TEXT = re.compile(r"\b(?:error_c|[a-z]*_error_c|errorC|\w*ErrorC)ode=(-?\d{1,5})\b")
_THROTTLE_IN_TEXT = re.compile(r"\bthrottle(?:_time_m|TimeM)s=(\d{1,10})\b")


_SOFTWARE_IN_TEXT = re.compile(r"\{client_software_name=([\w.-]+),client_software_version=([\w.-]+)[,}]")
"""Matches the name and version of client software, with only the characters that brokers accept."""


def _software_in_text(line: RequestLogLine) -> Json:
    found = _SOFTWARE_IN_TEXT.match(line.request_text or "") if line.header.api_key == API_VERSIONS else None
    return dict(zip(("clientSoftwareName", "clientSoftwareVersion"), found.groups(), strict=True)) if found else {}


def known_software(software: Any) -> str | None:
    """Return a logged software name or version, or ``None`` if it is unknown."""
    return software if type(software) is str and software and software != UNKNOWN else None


def _codes(body: Json) -> set[int]:
    """Return the non-zero values of keys such as ``errorCode`` and ``partitionErrorCode`` at any depth."""
    codes: set[int] = set()
    left: list[Any] = [body]
    while left:
        value = left.pop()
        if type(value) is list:
            left += value
        elif type(value) is dict:
            for name, inner in value.items():
                if type(inner) is int:
                    if inner and name.endswith(("errorCode", "ErrorCode")):
                        codes.add(inner)
                else:
                    left.append(inner)
    return codes


def _bytes(body: Json, name: str) -> bytes:
    value = body.get(name)
    if value is None:
        return b""
    try:
        return binascii.a2b_base64(value, strict_mode=True)
    except (TypeError, ValueError) as error:
        raise RequestLogError(f"invalid base64: {error}", message_name="request log", path=name) from None
