"""Lines as brokers since 2.8 write them, read without a look into request and response, unless these are wanted.

Takes a line, gives the values of its row; nothing for a line in which anything is unlike what Kafka writes, which is
left to ``kwire.request_log``. What is said of the response, error codes and throttle time, is found by its keys: in
JSON a quotation mark with a colon behind it ends a key, as those in strings have a backslash in front.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from kwire.request_log import MARK, Json, LoggedHeader, RequestLogLine
from kwire_kafka import PROTOCOL
from kwire_spark.text_logs.bodies import payloads
from kwire_spark.text_logs.hosts import peers

if TYPE_CHECKING:
    from kwire_spark.frames.context import Row

API_VERSIONS, ENVELOPE, PRODUCE = 18, 58, 0
UNSUPPORTED_VERSION = 35
NAMELESS = "unknown"

_MARK = MARK.encode()
_NAMES = {key: PROTOCOL.api_name(key) for key in PROTOCOL.api_keys}
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
Wanted = Callable[[str, object], bool]
"""Whether rows can be wanted in which a column has a value."""


def quick_row(
    source: str, position: int, line: bytes, start: int, time: Time, wanted: Wanted, bodies: bool
) -> list[Row] | None:
    """The row of a line whose mark is at ``start``, none if it is not wanted; ``None`` if it has to be looked at
    properly. ``request`` and ``response`` are null unless ``bodies`` are wanted."""
    try:
        return _row(source, position, line, start, time, wanted, bodies)
    except (ValueError, RecursionError):  # a string or a number that only looks like one of JSON
        return None


def _row(
    source: str, position: int, line: bytes, start: int, time: Time, wanted: Wanted, bodies: bool
) -> list[Row] | None:
    head = _HEAD.match(line, start + len(_MARK))
    if head is None:
        return None
    forwarded, number, version, correlation, client = head.groups()
    api_key = int(number)
    api = _NAMES.get(api_key)
    if api_key == ENVELOPE:
        return None
    if not (wanted("api_key", api_key) and wanted("api", api) and wanted("version", int(version))):
        return []
    answered = line.find(_RESPONSE_BEGINS, head.end())
    end = line.rfind(_TAIL_BEGINS)
    tail = _TAIL.match(line, end) if end > answered > 0 else None
    if tail is None or line.find(_MARK, head.end()) > 0:
        return None
    header = _header(api_key, int(version), int(correlation), client)
    request, response, reason = _payloads(line, header, head.end(), answered, end) if bodies else (None, None, None)
    connection, total, queued, local, remote, queued_again, sending, protocol, *who = tail.groups()
    principal, listener, software, software_version = map(_text, who)
    return [
        (
            *(source, position, *_peers(connection, forwarded == b"true"), None, time(line[:start])),
            *(api_key, api, header.api_version, header.correlation_id, header.client_id),
            *_software(line, api_key, head.end(), software, software_version),
            principal,
            *_outcome(line, api_key, int(version), head.end(), answered, end),
            *(float(total), float(queued) + float(queued_again) + float(sending), float(local), float(remote)),
            *(None, None, _response_version(line, api_key, int(version), answered, end), forwarded == b"true"),
            *(listener, protocol.decode(), reason, request, response, None),
        )
    ]


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


def _software(line: bytes, api_key: int, begin: int, name: str, version: str) -> Row:
    """Name and version of the client's library: what this request tells is unknown to the broker before it."""
    if api_key == API_VERSIONS and (told := _SOFTWARE.match(line, begin)):
        return _told(_text(told[1]) or name), _told(_text(told[2]) or version)
    return _told(name), _told(version)


def _outcome(line: bytes, api_key: int, version: int, begin: int, answered: int, end: int) -> Row:
    """Outcome, error codes and throttle time."""
    if _has_no_response(line, answered, end):
        none = api_key == PRODUCE and _ACKS_0.search(line, begin, answered)
        return "none" if none else "answered", None, None
    throttle = _THROTTLE.search(line, answered, end)
    return "answered", _codes(line, answered, end), int(throttle[1]) if throttle else None


def _response_version(line: bytes, api_key: int, version: int, answered: int, end: int) -> int | None:
    if _has_no_response(line, answered, end):
        return None
    fell_back = api_key == API_VERSIONS and UNSUPPORTED_VERSION in _codes(line, answered, end)
    return 0 if fell_back else version


def _has_no_response(line: bytes, answered: int, end: int) -> bool:
    return end - answered <= len(_RESPONSE_BEGINS) + 2


def _codes(line: bytes, answered: int, end: int) -> list[int]:
    found = _ERROR_CODE.findall(line, answered, end)
    return sorted(set(map(int, found))) if found else []


@lru_cache(maxsize=4096)
def _text(string: bytes) -> str:
    """What a string of JSON says, given without its quotation marks."""
    text = string.decode("utf-8", "replace")
    return str(json.loads(f'"{text}"', strict=False)) if "\\" in text else text


def _told(software: str) -> str | None:
    return software if software and software != NAMELESS else None


@lru_cache(maxsize=1024)
def _peers(connection: bytes, forwarded: bool) -> Row:
    return peers(_text(connection), forwarded=forwarded)
