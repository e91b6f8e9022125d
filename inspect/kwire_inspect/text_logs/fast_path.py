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

from kwire import request_log
from kwire.request_log import Json, LoggedHeader, RequestLogLine
from kwire.request_log.line import UNSUPPORTED_VERSION, known_software
from kwire_inspect.connections.context import Columns
from kwire_inspect.projection import may_pass
from kwire_inspect.row_layout import LAYOUTS
from kwire_inspect.text_logs.bodies import payloads
from kwire_inspect.text_logs.hosts import peers
from kwire_kafka import ApiKey
from kwire_rules import API_VERSIONS, ENVELOPE

if TYPE_CHECKING:
    from kwire_inspect.projection import Projection
    from kwire_inspect.row_layout import Row

MARK = request_log.MARK.encode()
PRODUCE = ApiKey.PRODUCE.value
MAX_INT16, MAX_INT32 = 0x7FFF, 0x7FFFFFFF

_build = LAYOUTS["logged_exchanges"].row
_VALUE = {b"text": rb'"([^"\\]{0,600}+(?:\\.[^"\\]{0,60}+){0,8}+)"', b"ms": rb"([\d.]{1,30})"}
"""Longer strings, and those with many escapes, need the full parser: strings are cached."""
_HEAD = re.compile(
    rb'\{"isForwarded":(true|false),"requestHeader":\{"requestApiKey":(\d{1,5}),"requestApiVersion":(\d{1,5}),'
    rb'"correlationId":(-?\d{1,10}),"clientId":(?:null|%(text)b),"requestApiKeyName":"\w+"'
    rb'(?:,"requestApiVersionDeprecated":true)?\},"request":' % _VALUE
)
_TAIL = re.compile(
    rb',"connection":%(text)b,"totalTimeMs":%(ms)b,"requestQueueTimeMs":%(ms)b,"localTimeMs":%(ms)b,'
    rb'"remoteTimeMs":%(ms)b,"throttleTimeMs":\d+,"responseQueueTimeMs":%(ms)b,"sendTimeMs":%(ms)b,'
    rb'"securityProtocol":"(\w+)","principal":%(text)b,"listener":%(text)b,'
    rb'"clientInformation":\{"softwareName":%(text)b,"softwareVersion":%(text)b\}(?:,"\w+":[\d.]+)*\}' % _VALUE
)
_SOFTWARE = re.compile(rb'\{"clientSoftwareName":%(text)b,"clientSoftwareVersion":%(text)b[,}]' % _VALUE)
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
    the full parser. ``request`` and ``response`` are null unless ``bodies`` is set.

    Raises ``ValueError`` or ``RecursionError`` for strings and numbers that are not valid JSON, and deep nesting.
    """
    head = _HEAD.match(line, start + len(MARK))
    if head is None:
        return None
    api_key, version, correlation_id = int(head[2]), int(head[3]), int(head[4])
    if api_key == ENVELOPE or api_key > MAX_INT16 or version > MAX_INT16 or abs(correlation_id) > MAX_INT32:
        return None
    api = {"api_key": api_key, "api": projection.protocol.api_names.get(api_key), "version": version}
    if projection.conditions and not may_pass(projection.conditions, api):
        return []
    begin = head.end()
    answered = line.find(_RESPONSE_BEGINS, begin)
    end = line.rfind(_TAIL_BEGINS)
    tail = _TAIL.match(line, end) if end > answered > 0 else None
    if tail is None or line.find(MARK, begin) > 0:
        return None
    connection, total, queued, local, remote, queued_again, sending, protocol, *who = tail.groups()
    principal, listener, software_name, software_version = map(_text, who)
    if api_key == API_VERSIONS and (software := _SOFTWARE.match(line, begin)):  # other requests do not have it
        software_name, software_version = _text(software[1]) or software_name, _text(software[2]) or software_version
    client_id = None if head[5] is None else _text(head[5])
    shown = {}
    if bodies:
        header = LoggedHeader(
            api_key=api_key, api_version=version, correlation_id=correlation_id, client_id=client_id
        )
        shown = payloads(projection.protocol, _line(line, header, begin, answered, end))
    forwarded = head[1] == b"true"
    row = _build(
        source=source,
        position=position,
        **peers(_text(connection), forwarded=forwarded),
        time=time(line[:start]),
        **api,
        correlation_id=correlation_id,
        client_id=client_id,
        software_name=known_software(software_name),
        software_version=known_software(software_version),
        principal=principal,
        **_outcome(line, api_key, version, begin, answered, end),
        latency_ms=float(total),
        queue_ms=sum((float(queued), float(queued_again), float(sending))),  # since Python 3.12, + rounds differently
        local_ms=float(local),
        remote_ms=float(remote),
        forwarded=forwarded,
        listener=listener,
        security_protocol=protocol.decode(),
        **shown,
    )
    return [row]


def _outcome(line: bytes, api_key: int, version: int, begin: int, answered: int, end: int) -> Columns:
    """The columns of the response."""
    if not _has_response(line, answered):
        none = api_key == PRODUCE and _ACKS_0.search(line, begin, answered)
        return {"outcome": "none" if none else "answered"}
    found = _ERROR_CODE.findall(line, answered, end)
    codes = sorted(set(map(int, found))) if found else []
    throttle = _THROTTLE.search(line, answered, end)
    return {
        "outcome": "answered",
        "error_codes": codes,
        "throttle_ms": int(throttle[1]) if throttle else None,
        "response_version": 0 if api_key == API_VERSIONS and UNSUPPORTED_VERSION in codes else version,
    }


def _has_response(line: bytes, answered: int) -> bool:
    """Whether there is one: else brokers write an empty text in its place."""
    return line.startswith(b"{", answered + len(_RESPONSE_BEGINS))


def _line(line: bytes, header: LoggedHeader, begin: int, answered: int, end: int) -> RequestLogLine:
    """The parts of the line from which its bodies are encoded."""
    response = _object(line[answered + len(_RESPONSE_BEGINS) : end]) if _has_response(line, answered) else None
    return RequestLogLine(prefix="", header=header, request=_object(line[begin:answered]), response=response)


def _object(text: bytes) -> Json:
    found = json.loads(text.decode("utf-8", "replace"))
    if type(found) is not dict:
        raise ValueError("it should be an object")
    return found


@lru_cache(maxsize=4096)
def _text(string: bytes) -> str:
    """The value of a JSON string, given without its quotation marks."""
    text = string.decode("utf-8", "replace")
    return str(json.loads(f'"{text}"', strict=False)) if "\\" in text else text
