"""Lines of a broker's request log: what Kafka writes through its logger ``kafka.request.logger``, since 2.8 as JSON.

::

    for text in open("kafka-request.log"):
        line = parse_line(text)
        if line and line.header.deprecated:
            print(line.header.client_id, line.remote, line.header.api_name, line.header.api_version)

A line knows the request and its response as JSON in the names of that broker's release; ``request_model`` and
``response_model`` make models of them, from which codec objects and bytes can be had.
"""

from __future__ import annotations

import binascii
import json
import re
import typing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire.errors import DecodeError
from kwire.policy import STRICT, Policy

if TYPE_CHECKING:
    from kwire.protocol import Protocol, Request, Response

MARK = "Completed request:"
API_VERSIONS, ENVELOPE = 18, 58
UNSUPPORTED_VERSION = 35

Json = dict[str, Any]


class RequestLogError(DecodeError):
    """A line of the request log that cannot be read: it was cut off, or lacks what every such line has.

    ``data`` is the line in UTF-8 and ``offset`` the byte where the problem is, ``path`` the name in its JSON.
    """


class Models(typing.Protocol):
    """``MODELS`` of the models of a generated package. They need pydantic, and what is here does not."""

    def message(self, name: str) -> Any: ...


class Address(NamedTuple):
    """An end of a connection. An IPv6 host is written without brackets."""

    host: str
    port: int


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
    the level: ``[2026-11-21 16:33:41,379] DEBUG``. ``connection`` is the broker's name for it, ``local`` and
    ``remote`` its two ends. ``more`` has everything else, by the broker's names: what is only there sometimes
    (``temporaryMemoryBytes``, ``messageConversionsTime``), and what later releases will add.

    Times are in milliseconds. ``request`` and ``response`` are ``None`` where there was none, as after a Produce with
    acks 0. A request with ``is_forwarded`` came to a controller in an Envelope, which itself is not logged.
    """

    prefix: str
    header: LoggedHeader
    request: Json | None
    response: Json | None
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
        refused = self.response is not None and self.response.get("errorCode") == UNSUPPORTED_VERSION
        return 0 if self.header.api_key == API_VERSIONS and refused else self.header.api_version

    def request_model(self, protocol: Protocol, models: Models) -> Any:
        """The request as a ``ModelOf`` its version, ``None`` if there is none.

        ``UnknownApi`` or ``LookupError`` if nobody knows the api key or its version, and pydantic's
        ``ValidationError`` where the JSON is not what this version is.
        """
        if self.request is None:
            return None
        return self._model(models, protocol.request(self.header.api_key).__name__, self.request)

    def response_model(self, protocol: Protocol, models: Models) -> Any:
        """The response as a model, as :meth:`request_model`.

        Of the records in a Fetch response brokers log the size; those in ShareFetch and FetchSnapshot responses they
        log as if there were none.
        """
        if self.response is None:
            return None
        return self._model(models, protocol.response(self.header.api_key).__name__, self.response)

    def _model(self, models: Models, name: str, body: Json) -> Any:
        return models.message(name).for_version(self.body_version).model_validate(body)

    def enveloped(self, protocol: Protocol, policy: Policy = STRICT) -> tuple[Request, Response | None] | None:
        """What is in an Envelope: header and body of the request and, if it was answered, of the response.

        ``None`` if the line is about anything else. An Envelope gets logged where what is in it may not be forwarded.
        """
        if self.header.api_key != ENVELOPE or self.request is None:
            return None
        request = protocol.decode_request(_bytes(self.request, "requestData"), policy)
        data = _bytes(self.response or {}, "responseData")
        if not data:
            return request, None
        return request, protocol.decode_response(data, request.header.api_key, request.header.api_version, policy)


def parse_line(text: str) -> RequestLogLine | None:
    """A line of the log, whatever the layout puts around the message; ``None`` for all lines of other kinds.

    Before 2.8 these lines were no JSON: for them it is ``None``, too. :class:`RequestLogError` if a line is broken.
    """
    start = text.find(MARK)
    if start < 0:
        return None
    begin = start + len(MARK)
    while text[begin : begin + 1].isspace():
        begin += 1
    if begin < len(text) and text[begin] != "{":
        return None
    return _line(_Place(text), text[:start].strip(), _json(text, begin))


class _Place:
    """Where a problem is, for its error."""

    def __init__(self, text: str, path: str = "") -> None:
        self.text = text
        self.path = path

    def within(self, name: str) -> _Place:
        return _Place(self.text, f"{self.path}.{name}" if self.path else name)

    def wrong(self, reason: str, position: int | None = None) -> RequestLogError:
        """An error at a character of the line, or at its JSON as a whole."""
        at = self.text.find(MARK) + len(MARK) if position is None else position
        return RequestLogError(
            reason, message="request log", path=self.path, offset=len(_utf8(self.text[:at])), data=_utf8(self.text)
        )


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _json(text: str, begin: int) -> Json:
    try:
        found: Json = json.JSONDecoder().raw_decode(text, begin)[0]
    except json.JSONDecodeError as error:
        raise _Place(text).wrong(f"this is no JSON: {error.msg}", error.pos) from None
    except (ValueError, RecursionError) as error:
        raise _Place(text).wrong(f"this JSON is beyond measure: {error}", begin) from None
    return found


_CONNECTION = re.compile(r"(.{1,255}?):(\d{1,5})-(.{1,255}):(\d{1,5})-\d+(?:-\d+)?", re.ASCII)
"""Both ends and an index, since 4.0 behind the number of a processor. Names of IPv6 zones may hold a ``-``."""

_Kind = type | tuple[type, ...]
_Keys = dict[str, tuple[str, _Kind]]
_NUMBER = (int, float)
_KEYS: _Keys = {
    "isForwarded": ("is_forwarded", bool),
    "connection": ("connection", str),
    "totalTimeMs": ("total_time_ms", _NUMBER),
    "requestQueueTimeMs": ("request_queue_time_ms", _NUMBER),
    "localTimeMs": ("local_time_ms", _NUMBER),
    "remoteTimeMs": ("remote_time_ms", _NUMBER),
    "throttleTimeMs": ("throttle_time_ms", _NUMBER),
    "responseQueueTimeMs": ("response_queue_time_ms", _NUMBER),
    "sendTimeMs": ("send_time_ms", _NUMBER),
    "securityProtocol": ("security_protocol", str),
    "principal": ("principal", str),
    "listener": ("listener", str),
}
_HEADER: _Keys = {
    "requestApiKey": ("api_key", int),
    "requestApiVersion": ("api_version", int),
    "requestApiKeyName": ("api_name", str),
    "correlationId": ("correlation_id", int),
    "clientId": ("client_id", str),
    "requestApiVersionDeprecated": ("deprecated", bool),
}
_CLIENT: _Keys = {
    "softwareName": ("software_name", str),
    "softwareVersion": ("software_version", str),
}


def _line(place: _Place, prefix: str, found: Json) -> RequestLogLine:
    request, response = (_body(place.within(name), found.pop(name, None)) for name in ("request", "response"))
    header = _inner(place, found, "requestHeader", _HEADER)
    for name in ("requestApiKey", "requestApiVersion"):
        if _HEADER[name][0] not in header:
            raise place.within("requestHeader").within(name).wrong("it is missing")
    values = _taken(place, found, _KEYS) | _inner(place, found, "clientInformation", _CLIENT)
    ends = _CONNECTION.fullmatch(values.get("connection", ""))
    if ends:
        values |= {"local": Address(ends[1], int(ends[2])), "remote": Address(ends[3], int(ends[4]))}
    return RequestLogLine(
        prefix=prefix, header=LoggedHeader(**header), request=request, response=response, **values, more=found
    )


def _body(place: _Place, found: Any) -> Json | None:
    """Kafka writes an empty string for what there is not."""
    return None if found is None or found == "" else _object(place, found)


def _inner(place: _Place, found: Json, name: str, keys: _Keys) -> dict[str, Any]:
    """The values of an object inside ``found``, where only its unknown keys stay."""
    inside = place.within(name)
    inner = _object(inside, found.pop(name, {}))
    values = _taken(inside, inner, keys)
    if inner:
        found[name] = inner
    return values


def _taken(place: _Place, found: Json, keys: _Keys) -> dict[str, Any]:
    """The values of ``keys``, by attribute; they are no longer in ``found``."""
    values = {}
    for name, (attribute, kind) in keys.items():
        value = found.pop(name, None)
        if value is None:
            continue
        if not isinstance(value, kind) or (type(value) is bool and kind is not bool):
            raise place.within(name).wrong(f"{type(value).__name__} is of the wrong type")
        values[attribute] = value
    return values


def _object(place: _Place, found: Any) -> Json:
    if type(found) is not dict:
        raise place.wrong("it should be an object")
    return found


def _bytes(body: Json, name: str) -> bytes:
    value = body.get(name)
    if value is None:
        return b""
    try:
        return binascii.a2b_base64(value, strict_mode=True)
    except (TypeError, ValueError) as error:
        raise RequestLogError(f"this is no base64: {error}", message="request log", path=name) from None
