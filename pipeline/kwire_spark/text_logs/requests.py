"""Lines of a request log as rows of EXCHANGES.

Columns that take time to compute and are not needed are null.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import tzinfo
from typing import TYPE_CHECKING

from kwire.errors import KwireError
from kwire.request_log import MARK, RequestLogError, RequestLogLine, parse_line
from kwire_kafka import PROTOCOL, ApiKey
from kwire_spark.frames.answers import error_codes, throttle_ms
from kwire_spark.frames.context import API_NAMES, Columns, RequestContext
from kwire_spark.frames.identity import Client
from kwire_spark.rows import LAYOUTS
from kwire_spark.text_logs.bodies import inner_payloads, payloads
from kwire_spark.text_logs.clock import Clock
from kwire_spark.text_logs.fast_path import fast_row
from kwire_spark.text_logs.hosts import peers

if TYPE_CHECKING:
    from kwire_spark.projection import Projection
    from kwire_spark.rows import Row

LAYOUT = 80
"""The number of characters before a message that may belong to its layout."""

_MARK = MARK.encode()
_LAYOUT = LAYOUTS["logged_exchanges"]
_ACKS_0 = re.compile(r"\backs=0\b")


class RequestRows:
    """Makes rows from lines. ``zone`` is the time zone of the broker, which its log does not include."""

    def __init__(self, projection: Projection, zone: tzinfo) -> None:
        self._zone = zone
        self._projection = projection
        self._clock = Clock(zone)
        self._shown = bool(projection.columns & {"request", "response", "reason"})

    def rows(self, source: str, position: int, line: bytes) -> list[Row]:
        """The row of a line, and one for the content of an Envelope; no rows for lines of other kinds.

        A broken line is a ``_corrupt`` row. If a whole line follows a half-written one, as after a crash, both have
        a row.
        """
        start = line.find(_MARK)
        if start < 0:
            return []
        rows = fast_row(source, position, line, start, self._clock.time, self._projection, self._shown)
        if rows is not None:
            return rows
        try:
            found = parse_line(line.decode("utf-8", "replace"))
        except RequestLogError as error:
            rows = [_LAYOUT.corrupt(source, position, error.reason)]
            again = line.find(_MARK, start + len(_MARK))
            if again >= 0:
                begin = max(start + len(_MARK), again - LAYOUT)
                rows += self.rows(source, position + begin, line[begin:])
            return rows
        return list(self._of(found, source, position)) if found else []

    def _of(self, line: RequestLogLine, source: str, position: int) -> Iterator[Row]:
        time = line.time(self._zone)
        request, response, reason = payloads(line) if self._shown else (None, None, None)
        answered = line.response is not None or line.response_text is not None
        header = line.header
        software_name, software_version = line.software
        yield _LAYOUT.row(
            source=source,
            position=position,
            **peers(line.connection, forwarded=bool(line.is_forwarded)),
            time=time,
            api_key=header.api_key,
            api=API_NAMES.get(header.api_key),
            version=header.api_version,
            correlation_id=header.correlation_id,
            client_id=header.client_id,
            software_name=software_name,
            software_version=software_version,
            principal=line.principal,
            outcome="none" if _asks_for_none(line) else "answered",
            error_codes=line.error_codes if answered else None,
            throttle_ms=line.response_throttle_ms,
            **_durations(line),
            response_version=line.body_version if answered else None,
            forwarded=bool(line.is_forwarded),
            listener=line.listener,
            security_protocol=line.security_protocol,
            reason=reason,
            request=request,
            response=response,
        )
        if header.api_key == ApiKey.ENVELOPE:
            yield from self._enveloped(line, source, position, time)

    def _enveloped(self, line: RequestLogLine, source: str, position: int, time: int | None) -> Iterator[Row]:
        """The content of an Envelope that the controller refused; only its principal would identify the client."""
        try:
            opened = line.enveloped(PROTOCOL)
        except KwireError:
            return
        if opened is None:
            return
        request, response = opened
        codes = throttle = None
        if response is not None and response.message is not None:
            codes, throttle = error_codes(response.message), throttle_ms(response.message)
        request_bytes, response_bytes = inner_payloads(request, response) if self._shown else (None, None)
        yield _LAYOUT.row(
            source=source,
            position=position,
            **peers(line.connection, forwarded=True),
            time=time,
            **RequestContext(request.header, Client()).columns,
            correlation_id=request.header.correlation_id,
            outcome="unanswered" if response is None else "answered",
            error_codes=codes,
            throttle_ms=throttle,
            **_durations(line),
            response_version=None if response is None else response.version,
            forwarded=True,
            listener=line.listener,
            security_protocol=line.security_protocol,
            reason=None if response else "the response to its Envelope contains none",
            request=request_bytes,
            response=response_bytes,
        )


def _asks_for_none(line: RequestLogLine) -> bool:
    """Whether the client expects no response: Produce with acks 0."""
    if line.header.api_key != ApiKey.PRODUCE:
        return False
    if line.request is not None:
        return line.request.get("acks") == 0
    return _ACKS_0.search(line.request_text or "") is not None


def _durations(line: RequestLogLine) -> Columns:
    waits = (line.request_queue_time_ms, line.response_queue_time_ms, line.send_time_ms)
    known = [wait for wait in waits if wait is not None]
    return {
        "latency_ms": line.total_time_ms,
        "queue_ms": sum(known) if known else None,
        "local_ms": line.local_time_ms,
        "remote_ms": line.remote_time_ms,
    }
