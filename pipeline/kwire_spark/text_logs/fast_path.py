"""The fast path for lines as brokers since 2.8 write them: request and response are not parsed unless needed.

Lines that differ in any way from what Kafka writes are left to ``kwire.request_log``. Error codes and throttle time
are found by their keys: in JSON, a quotation mark followed by a colon ends a key, because those inside strings are
escaped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from kwire.request_log import MARK, Json, LoggedHeader, RequestLogLine
from kwire_kafka import ApiKey
from kwire_spark.frames.context import API_NAMES, Columns
from kwire_spark.projection import may_pass
from kwire_spark.rows import LAYOUTS
from kwire_spark.text_logs.bodies import payloads
from kwire_spark.text_logs.hosts import peers

if TYPE_CHECKING:
    from kwire_spark.projection import Projection
    from kwire_spark.rows import Row

API_VERSIONS, ENVELOPE, PRODUCE = ApiKey.API_VERSIONS.value, ApiKey.ENVELOPE.value, ApiKey.PRODUCE.value
UNSUPPORTED_VERSION = 35
NAMELESS = "unknown"

_MARK = MARK.encode()
_build = LAYOUTS["logged_exchanges"].row
_STRING = rb'"((?:[^"\\]|\\.)*)"'
_MS = rb"([\d.]{1,30})"
_HEAD = re.compile(
    rb'\{"isForwarded":(true|false),"requestHeader":\{"requestApiKey":(\d{1,5}),"requestApiVersion":(\d{1,5}),'
    rb'"correlationId":(-?\d{1,10}),"clientId":(?:null|' + _STRING + rb'),"requestApiKeyName":"\w+"'
    rb'(?:,"requestApiVersionDeprecated":true)?\},"request":'
)
_TAIL = re.compile(
    rb',"connection":'
    + _STRING
    + rb',"totalTimeMs":'
    + _MS
    + rb',"requestQueueTimeMs":'
    + _MS
    + rb',"localTimeMs":'
    + _MS
    + rb',"remoteTimeMs":'
    + _MS
    + rb',"throttleTimeMs":\d+,"responseQueueTimeMs":'
    + _MS
    + rb',"sendTimeMs":'
    + _MS
    + rb',"securityProtocol":"(\w+)","principal":'
    + _STRING
    + rb',"listener":'
    + _STRING
    + rb',"clientInformation":'
    rb'\{"softwareName":' + _STRING + rb',"softwareVersion":' + _STRING + rb'\}(?:,"\w+":[\d.]+)*\}'
)
_SOFTWARE = re.compile(rb'\{"clientSoftwareName":' + _STRING + rb',"clientSoftwareVersion":' + _STRING + rb"[,}]")
_TAIL_BEGINS = b',"connection":"'
_RESPONSE_BEGINS = b',"response":'
_ERROR_CODE = re.compile(rb'rrorCode":(-?[1-9]\d{0,4})(?!\d)')
_THROTTLE = re.compile(rb'"throttleTimeMs":(\d{1,10})\b')
_ACKS_0 = re.compile(rb'"acks":0[,}]')

Time = Callable[[bytes], int | None]


def fast_row(
    source: str, position: int, line: bytes, start: int, time: Time, projection: Projection, bodies: bool
) -> list[Row] | None:
    """The row of a line whose mark is at ``start``, none if the projection leaves it out; ``None`` if the line needs
    the full parser. ``request`` and ``response`` are null unless ``bodies`` is set."""
    try:
        return _row(source, position, line, start, time, projection, bodies)
    except (ValueError, RecursionError):  # a string or number that is not valid JSON
        return None


def _row(
    source: str, position: int, line: bytes, start: int, time: Time, projection: Projection, bodies: bool
) -> list[Row] | None:
    head = _HEAD.match(line, start + len(_MARK))
    if head is None:
        return None
    forwarded, number, version, correlation, client = head.groups()
    api_key = int(number)
    api = API_NAMES.get(api_key)
    if api_key == ENVELOPE:
        return None
    if projection.conditions and not may_pass(
        projection.conditions, {"api_key": api_key, "api": api, "version": int(version)}
    ):
        return []
    answered = line.find(_RESPONSE_BEGINS, head.end())
    end = line.rfind(_TAIL_BEGINS)
    tail = _TAIL.match(line, end) if end > answered > 0 else None
    if tail is None or line.find(_MARK, head.end()) > 0:
        return None
    header = _header(api_key, int(version), int(correlation), client)
    request, response, reason = _payloads(line, header, head.end(), answered, end) if bodies else (None, None, None)
    connection, total, queued, local, remote, queued_again, sending, protocol, *who = tail.groups()
    principal, listener, name, name_version = map(_text, who)
    software_name, software_version = _software(line, api_key, head.end(), name, name_version)
    outcome, codes, throttle = _outcome(line, api_key, head.end(), answered, end)
    row = _build(
        source=source,
        position=position,
        **_peers(connection, forwarded == b"true"),
        time=time(line[:start]),
        api_key=api_key,
        api=api,
        version=header.api_version,
        correlation_id=header.correlation_id,
        client_id=header.client_id,
        software_name=software_name,
        software_version=software_version,
        principal=principal,
        outcome=outcome,
        error_codes=codes,
        throttle_ms=throttle,
        latency_ms=float(total),
        queue_ms=sum((float(queued), float(queued_again), float(sending))),  # since Python 3.12, + rounds differently
        local_ms=float(local),
        remote_ms=float(remote),
        response_version=_response_version(api_key, int(version), codes),
        forwarded=forwarded == b"true",
        listener=listener,
        security_protocol=protocol.decode(),
        reason=reason,
        request=request,
        response=response,
    )
    return [row]


def _header(api_key: int, version: int, correlation_id: int, client: bytes | None) -> LoggedHeader:
    client_id = None if client is None else _text(client)
    return LoggedHeader(api_key=api_key, api_version=version, correlation_id=correlation_id, client_id=client_id)


def _payloads(
    line: bytes, header: LoggedHeader, begin: int, answered: int, end: int
) -> tuple[bytes | None, bytes | None, str | None]:
    request = _object(line[begin:answered])
    response = None
    if not _has_no_response(line, answered, end):
        response = _object(line[answered + len(_RESPONSE_BEGINS) : end])
    return payloads(RequestLogLine(prefix="", header=header, request=request, response=response))


def _object(text: bytes) -> Json:
    found = json.loads(text.decode("utf-8", "replace"))
    if type(found) is not dict:
        raise ValueError("it should be an object")
    return found


def _software(line: bytes, api_key: int, begin: int, name: str, version: str) -> tuple[str | None, str | None]:
    """Name and version of the client library; the broker learns them only from this request."""
    if api_key == API_VERSIONS and (told := _SOFTWARE.match(line, begin)):
        return _told(_text(told[1]) or name), _told(_text(told[2]) or version)
    return _told(name), _told(version)


def _outcome(
    line: bytes, api_key: int, begin: int, answered: int, end: int
) -> tuple[str, list[int] | None, int | None]:
    """Outcome, error codes and throttle time."""
    if _has_no_response(line, answered, end):
        none = api_key == PRODUCE and _ACKS_0.search(line, begin, answered)
        return "none" if none else "answered", None, None
    throttle = _THROTTLE.search(line, answered, end)
    return "answered", _codes(line, answered, end), int(throttle[1]) if throttle else None


def _response_version(api_key: int, version: int, codes: list[int] | None) -> int | None:
    if codes is None:  # there is no response
        return None
    return 0 if api_key == API_VERSIONS and UNSUPPORTED_VERSION in codes else version


def _has_no_response(line: bytes, answered: int, end: int) -> bool:
    return end - answered <= len(_RESPONSE_BEGINS) + 2


def _codes(line: bytes, answered: int, end: int) -> list[int]:
    found = _ERROR_CODE.findall(line, answered, end)
    return sorted(set(map(int, found))) if found else []


@lru_cache(maxsize=4096)
def _text(string: bytes) -> str:
    """The value of a JSON string, given without its quotation marks."""
    text = string.decode("utf-8", "replace")
    return str(json.loads(f'"{text}"', strict=False)) if "\\" in text else text


def _told(software: str) -> str | None:
    return software if software and software != NAMELESS else None


@lru_cache(maxsize=1024)
def _peers(connection: bytes, forwarded: bool) -> Columns:
    return peers(_text(connection), forwarded=forwarded)
