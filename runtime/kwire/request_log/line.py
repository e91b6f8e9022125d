"""What is in a line of the request log: header, bodies, connection, times; and the error of those that are broken."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire.errors import DecodeError
from kwire.policy import STRICT, Policy
from kwire.request_log.layouts import micros

if TYPE_CHECKING:
    from datetime import tzinfo

    from kwire.message import Message
    from kwire.protocol import MessageRegistry, Request, Response

API_VERSIONS, ENVELOPE = 18, 58
UNSUPPORTED_VERSION = 35
UNKNOWN = "unknown"
"""What brokers write for software that did not tell its name or version."""

Json = dict[str, Any]
"""A JSON object."""


class RequestLogError(DecodeError):
    """A line of the request log that cannot be parsed: it was cut off, or lacks a mandatory part.

    ``data`` is the line in UTF-8 and ``offset`` the byte where the problem is, ``path`` the name in its JSON. Of a
    line inside a string of JSON they are about what that string says.
    """


class Address(NamedTuple):
    """An end of a connection. An IPv6 host is written without brackets."""

    host: str
    port: int


_CONNECTION = re.compile(r"(.{1,255}?):(\d{1,5})-(.{1,255}):(\d{1,5})(?:-\d+){0,2}", re.ASCII)
"""Both ends and an index, since 4.0 behind the number of a processor; before 0.11 there was no index. Names of IPv6
zones may hold a ``-``."""


def addresses(connection: str) -> tuple[Address, Address] | None:
    """The two ends in a broker's name of a connection, its own first; ``None`` if it is of another form."""
    ends = _CONNECTION.fullmatch(connection)
    return (Address(ends[1], int(ends[2])), Address(ends[3], int(ends[4]))) if ends else None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedHeader:
    """The header of the request. ``api_name`` is Kafka's constant, as ``LIST_OFFSETS``; brokers since 3.7 say whether
    the version is ``deprecated``."""

    api_key: int
    api_version: int
    api_name: str | None = None
    correlation_id: int | None = None
    client_id: str | None = None
    deprecated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLogLine:
    """One request and its response.

    What a line lacks is ``None``. ``prefix`` is what stands before the message of the logger, by default the time and
    the level: ``[2026-11-21 16:33:41,379] DEBUG``; where the line is JSON it is put together from its keys.
    ``connection`` is the broker's name for it, ``local`` and ``remote`` its two ends. ``more`` has everything else,
    by the broker's names: what is only there sometimes (``temporaryMemoryBytes``, ``messageConversionsTime``), and
    what later releases will add.

    Times are in milliseconds. ``request`` and ``response`` are ``None`` where there was none, as after a Produce with
    acks 0, and in lines of brokers before 2.8: these have ``request_text`` and ``response_text`` instead. A request
    with ``is_forwarded`` came to a controller in an Envelope, which itself is not logged.
    """

    prefix: str
    header: LoggedHeader
    request: Json | None
    response: Json | None
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
        """The version in which request and response were logged: that of the header, or 0 for an ApiVersions request
        in a version that the broker does not have, which it answers so [KAFKA-WIRE 6]."""
        if self.header.api_key != API_VERSIONS:
            return self.header.api_version
        return 0 if UNSUPPORTED_VERSION in self.error_codes else self.header.api_version

    @property
    def error_codes(self) -> list[int]:
        """The error codes in the response, each once, ascending, without 0."""
        found = _codes(self.response) if self.response else map(int, _CODE_IN_TEXT.findall(self.response_text or ""))
        return sorted({code for code in found if code})

    @property
    def response_throttle_ms(self) -> int | None:
        """How long the response asks the client to pause; ``None`` if it does not have that field."""
        if self.response is not None:
            asked = self.response.get("throttleTimeMs")
            return asked if type(asked) is int else None
        found = _THROTTLE_IN_TEXT.search(self.response_text or "")
        return int(found[1]) if found else None

    @property
    def software(self) -> tuple[str | None, str | None]:
        """Name and version of the client library, each ``None`` if unknown: from the connection, or from this request
        if it is an ApiVersions request, which the broker did not know before [KIP-511]."""
        told = self.request or _software_in_text(self)
        name = told.get("clientSoftwareName") or self.software_name
        version = told.get("clientSoftwareVersion") or self.software_version
        return _told(name), _told(version)

    def time(self, zone: tzinfo) -> int | None:
        """The time of the line, in microseconds since the epoch; ``None`` if the layout has none.

        ``zone`` is the broker's time zone, used where the layout has none.
        """
        return micros(self.prefix, zone)

    def request_message(self, protocol: MessageRegistry, *, empty_records: bool = False) -> Message | None:
        """The request as a codec object, ``None`` if there is none.

        ``UnknownApiError`` or ``UnknownVersionError`` if the API key or its version is unknown, ``JsonFormError`` if
        the JSON does not fit this version, or if records were left out, which ``empty_records`` takes as ``b""``.
        """
        if self.request is None:
            return None
        cls = protocol.request(self.header.api_key)
        return cls.from_json(self.request, self.body_version, empty_records=empty_records)

    def response_message(self, protocol: MessageRegistry, *, empty_records: bool = False) -> Message | None:
        """The response as a codec object, ``None`` if there is none; see :meth:`request_message`.

        Of the records in a Fetch response brokers log the size; those in ShareFetch and FetchSnapshot responses they
        log as if there were none.
        """
        if self.response is None:
            return None
        cls = protocol.response(self.header.api_key)
        return cls.from_json(self.response, self.body_version, empty_records=empty_records)

    def request_model(self, protocol: MessageRegistry, models: Mapping[str, Any]) -> Any:
        """The request as a model of its version, ``None`` if there is none.

        ``UnknownApiError`` or ``UnknownVersionError`` if the API key or its version is unknown, and pydantic's
        ``ValidationError`` where the JSON is not what this version is.
        """
        if self.request is None:
            return None
        return self._model(models, protocol.request(self.header.api_key).__name__, self.request)

    def response_model(self, protocol: MessageRegistry, models: Mapping[str, Any]) -> Any:
        """The response as a model of its version, ``None`` if there is none; see :meth:`request_model`."""
        if self.response is None:
            return None
        return self._model(models, protocol.response(self.header.api_key).__name__, self.response)

    def _model(self, models: Mapping[str, Any], name: str, body: Json) -> Any:
        return models[name].for_version(self.body_version).model_validate(body)

    def enveloped(self, protocol: MessageRegistry, policy: Policy = STRICT) -> tuple[Request, Response | None] | None:
        """The request in an Envelope, and its response if it was answered.

        ``None`` if the line is about anything else. An Envelope gets logged where what is in it may not be forwarded.
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
"""Brokers take no other characters."""


def _software_in_text(line: RequestLogLine) -> Json:
    found = _SOFTWARE_IN_TEXT.match(line.request_text or "") if line.header.api_key == API_VERSIONS else None
    return dict(zip(("clientSoftwareName", "clientSoftwareVersion"), found.groups(), strict=True)) if found else {}


def _told(software: Any) -> str | None:
    return software if type(software) is str and software and software != UNKNOWN else None


def _codes(body: Any) -> Iterator[int]:
    """Values of keys as ``errorCode`` and ``partitionErrorCode``, however deep."""
    if type(body) is list:
        for element in body:
            if type(element) is dict:
                yield from _codes(element)
        return
    for name, value in body.items():
        kind = type(value)
        if kind is dict or kind is list:
            yield from _codes(value)
        elif kind is int and name.endswith(("errorCode", "ErrorCode")):
            yield value


def _bytes(body: Json, name: str) -> bytes:
    value = body.get(name)
    if value is None:
        return b""
    try:
        return binascii.a2b_base64(value, strict_mode=True)
    except (TypeError, ValueError) as error:
        raise RequestLogError(f"this is no base64: {error}", message_name="request log", path=name) from None
