"""Quickly converts log lines in the format used since Kafka 2.8. Request and response bodies are parsed only if
``bodies`` is true.

``kwire.request_log`` parses lines that differ in any way from this format. Error codes and throttle times are found
by searching for their JSON keys. The search is safe because quotation marks inside strings are escaped, so a
quotation mark followed by a colon always ends a key.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Raw, Struct
from msgspec.json import Decoder

from kwire import request_log
from kwire.request_log import LoggedHeader, RequestLogLine
from kwire.request_log.line import UNSUPPORTED_VERSION, known_software
from kwire_inspect.connections.request_context import Columns
from kwire_inspect.rows import LAYOUTS, may_pass
from kwire_inspect.text_logs.bodies import payloads
from kwire_inspect.text_logs.hosts import peers
from kwire_kafka import ApiKey
from kwire_rules import API_VERSIONS, ENVELOPE

if TYPE_CHECKING:
    from kwire_inspect.rows import Projection, Row

MARK = request_log.MARK.encode()
PRODUCE = ApiKey.PRODUCE.value

_build = LAYOUTS["logged_exchanges"].row
_NO_RESPONSE = (b'""', b"null")
_ERROR_CODE = re.compile(rb'rrorCode"\s*:\s*(-?[1-9]\d{0,4})(?![\d.eE])')
_THROTTLE = re.compile(rb'"throttleTimeMs"\s*:\s*(\d{1,10})\b')
_ACKS_0 = re.compile(rb'"acks"\s*:\s*0\s*[,}]')

Time = Callable[[bytes], int | None]
Int16 = Annotated[int, Meta(ge=0, le=0x7FFF)]
Int32 = Annotated[int, Meta(ge=-0x80000000, le=0x7FFFFFFF)]


class Header(Struct, rename="camel", gc=False):
    """Header of a logged request."""

    request_api_key: Int16
    request_api_version: Int16
    correlation_id: Int32
    client_id: str | None


class Information(Struct, rename="camel", gc=False):
    """Name and version of a client's software, as known to the broker from the connection."""

    software_name: str
    software_version: str


class OwnInformation(Struct, rename="camel", gc=False):
    """Name and version of a client's software in an ApiVersions request of version 3 or later."""

    client_software_name: str = ""
    client_software_version: str = ""


class Logged(Struct, rename="camel", gc=False):
    """Members of the JSON object in every log line."""

    is_forwarded: bool
    request_header: Header
    request: Raw
    response: Raw
    connection: str
    total_time_ms: float
    request_queue_time_ms: float
    local_time_ms: float
    remote_time_ms: float
    response_queue_time_ms: float
    send_time_ms: float
    security_protocol: str
    principal: str
    listener: str
    client_information: Information

    @property
    def queue_ms(self) -> float:
        """Time spent in queues and on sending, in milliseconds."""
        # sum() adds floats differently since Python 3.12. The full parser uses sum(), so the rows agree.
        return sum((self.request_queue_time_ms, self.response_queue_time_ms, self.send_time_ms))


_logged = Decoder(Logged).decode
_own_information = Decoder(OwnInformation).decode
_object = Decoder(dict[str, Any]).decode


def fast_row(
    source: str, position: int, line: bytes, start: int, time: Time, projection: Projection, bodies: bool
) -> list[Row] | None:
    """Return a list with the row of the line in which ``MARK`` is at ``start``, or an empty list if the projection
    excludes the row.

    Returns ``None`` if the line requires the full parser. ``request`` and ``response`` are null unless ``bodies`` is
    true. Raises ``MsgspecError`` or ``ValueError`` for invalid JSON and for members that Kafka never writes, and
    ``RecursionError`` for deep nesting.
    """
    logged = _logged(memoryview(line)[start + len(MARK) : line.rfind(b"}") + 1])
    header = logged.request_header
    api_key, version, client_id = header.request_api_key, header.request_api_version, header.client_id
    if api_key == ENVELOPE:
        return None
    api = {"api_key": api_key, "api": projection.protocol.api_names.get(api_key), "version": version}
    if projection.conditions and not may_pass(projection.conditions, api):
        return []
    software = logged.client_information
    software_name, software_version = software.software_name, software.software_version
    if api_key == API_VERSIONS:
        own = _own_information(logged.request)
        software_name = own.client_software_name or software_name
        software_version = own.client_software_version or software_version
    response = bytes(logged.response)
    if not response.startswith(b"{"):
        if response not in _NO_RESPONSE:
            return None
        response = b""
    shown = {}
    if bodies:
        body = RequestLogLine(
            prefix="",
            header=LoggedHeader(
                api_key=api_key, api_version=version, correlation_id=header.correlation_id, client_id=client_id
            ),
            request=_object(logged.request),
            response=_object(response) if response else None,
        )
        shown = payloads(projection.protocol, body)
    row = _build(
        source=source,
        position=position,
        **peers(logged.connection, forwarded=logged.is_forwarded),
        time=time(line[:start]),
        **api,
        correlation_id=header.correlation_id,
        client_id=client_id,
        software_name=known_software(software_name),
        software_version=known_software(software_version),
        principal=logged.principal,
        **_outcome(logged.request, response, api_key, version),
        latency_ms=logged.total_time_ms,
        queue_ms=logged.queue_ms,
        local_ms=logged.local_time_ms,
        remote_ms=logged.remote_time_ms,
        forwarded=logged.is_forwarded,
        listener=logged.listener,
        security_protocol=logged.security_protocol,
        **shown,
    )
    return [row]


def _outcome(request: Raw, response: bytes, api_key: int, version: int) -> Columns:
    """Return the columns that describe the response."""
    if not response:
        return {"outcome": "none" if api_key == PRODUCE and _ACKS_0.search(request) else "answered"}
    found = _ERROR_CODE.findall(response)
    codes = sorted(set(map(int, found))) if found else []
    throttle = _THROTTLE.search(response)
    return {
        "outcome": "answered",
        "error_codes": codes,
        "throttle_ms": int(throttle[1]) if throttle else None,
        "response_version": 0 if api_key == API_VERSIONS and UNSUPPORTED_VERSION in codes else version,
    }
