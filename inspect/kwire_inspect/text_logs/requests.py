"""Converts the lines of a request log to rows of EXCHANGES.

Columns that are slow to compute are null unless they are selected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import tzinfo
from typing import TYPE_CHECKING

from msgspec import MsgspecError

from kwire.request_log import RequestLogError, RequestLogLine, micros, parse_line
from kwire_inspect.connections.error_codes import error_codes, throttle_ms
from kwire_inspect.connections.request_context import Client, Columns, RequestContext
from kwire_inspect.rows import LAYOUTS
from kwire_inspect.text_logs.bodies import inner_payloads, opened, payloads
from kwire_inspect.text_logs.fast_path import MARK, fast_row
from kwire_inspect.text_logs.hosts import peers
from kwire_inspect.text_logs.lines import Line, Lines, Split
from kwire_kafka import ApiKey

if TYPE_CHECKING:
    from kwire.protocol import Request, Response
    from kwire_inspect.rows import Projection, Row

MAX_LINES, MAX_BYTES = 2_000, 4 << 20
"""Maximum number of lines and bytes to search for the end of an entry."""

LAYOUT = 80
"""Maximum length in characters of the text between the line's start and the message, such as the time and level."""

_LAYOUT = LAYOUTS["logged_exchanges"]
_USUAL_TIME = re.compile(rb"\[(\d{4}-\d\d-\d\d \d\d:\d\d):(\d\d)[,.](\d{3})\] [A-Z]+ ?")
_SECOND, _MILLISECOND = 1_000_000, 1_000
_TEXT = re.compile(rb"Completed request:\s*(?:RequestHeader\(|\{api_key=|Name:)")
_END = b";totalTime:"
_ACKS_0 = re.compile(r"\backs=0\b")


def request_entries(lines: Lines, split: Split) -> Iterator[Line]:
    """Yield the lines of a split that describe requests.

    Brokers before 2.8 may log values with line breaks. An entry then contains all lines up to the end of the message,
    even beyond the split.
    """
    for position, line in lines:
        if not split.has(position):
            return
        if MARK not in line:
            continue
        if _END not in line and _TEXT.search(line):
            line = _to_the_end(line, lines)
        yield position, line


def _to_the_end(line: bytes, lines: Lines) -> bytes:
    """Return ``line`` joined with the lines up to the end of the message, or only ``line`` if the end is not
    found."""
    ahead: list[Line] = []
    size = len(line)
    for position, other in lines:
        ahead.append((position, other))
        size += len(other)
        if _END in other and MARK not in other:
            return b"\n".join([line, *(part for _, part in ahead)])
        if MARK in other or len(ahead) >= MAX_LINES or size > MAX_BYTES:
            break
    for unused in reversed(ahead):
        lines.give_back(unused)
    return line


class RequestRows:
    """Converts lines to rows. ``zone`` is the broker's time zone, which the log does not state."""

    def __init__(self, projection: Projection, zone: tzinfo) -> None:
        self._zone = zone
        self._projection = projection
        self._protocol = projection.protocol
        self._clock = Clock(zone)
        self._shown = bool(projection.columns & {"request", "response", "reason"})

    def rows(self, source: str, position: int, line: bytes, *, retry: bool = True) -> list[Row]:
        """Return the row of a line, and a second row for the request inside an Envelope. Return no rows for other
        kinds of lines.

        A broken line becomes a row with a ``problem``. If ``retry`` is true, also return the row of a complete entry
        that follows a partly written entry, as after a crash.
        """
        start = line.find(MARK)
        try:
            rows = fast_row(source, position, line, start, self._clock.time, self._projection, self._shown)
        except (MsgspecError, ValueError, RecursionError):
            rows = None
        if rows is not None:
            return rows
        try:
            found = parse_line(line.decode("utf-8", "replace"))
            return list(self._of(found, source, position)) if found else []
        except RequestLogError as error:
            reason = f"{error.path}: {error.reason}" if error.path else error.reason
            rows = [_LAYOUT.corrupt(source, position, reason)]
            last = line.rfind(MARK, start + len(MARK))
            if last >= 0 and retry:
                begin = max(line.rfind(MARK, 0, last) + len(MARK), last - LAYOUT)
                rows += self.rows(source, position + begin, line[begin:], retry=False)
            return rows

    def _of(self, line: RequestLogLine, source: str, position: int) -> Iterator[Row]:
        header = line.header
        shared = {"source": source, "position": position, "time": line.time(self._zone), **_of_connection(line)}
        answered = line.response is not None or line.response_text is not None
        software_name, software_version = line.software
        yield _LAYOUT.row(
            **shared,
            **peers(line.connection, forwarded=bool(line.is_forwarded)),
            api_key=header.api_key,
            api=self._protocol.api_names.get(header.api_key),
            version=header.api_version,
            correlation_id=header.correlation_id,
            client_id=header.client_id,
            software_name=software_name,
            software_version=software_version,
            principal=line.principal,
            outcome="none" if _asks_for_none(line) else "answered",
            error_codes=line.error_codes if answered else None,
            throttle_ms=line.response_throttle_ms,
            response_version=line.body_version if answered else None,
            forwarded=bool(line.is_forwarded),
            **(payloads(self._protocol, line) if self._shown else {}),
        )
        if content := opened(self._protocol, line):
            yield self._enveloped(line, shared, *content)

    def _enveloped(self, line: RequestLogLine, shared: Columns, request: Request, response: Response | None) -> Row:
        """Return the row of the request inside an Envelope that the controller refused. The row does not identify the
        client's software or principal."""
        codes = throttle = None
        if response is not None and response.message is not None:
            codes, throttle = error_codes(response.message), throttle_ms(response.message)
        return _LAYOUT.row(
            **shared,
            **peers(line.connection, forwarded=True),
            **RequestContext(request.header, Client(), self._protocol).columns,
            correlation_id=request.header.correlation_id,
            outcome="unanswered" if response is None else "answered",
            error_codes=codes,
            throttle_ms=throttle,
            response_version=None if response is None else response.version,
            forwarded=True,
            reason=None if response else "the response to its Envelope contains no response",
            **(inner_payloads(self._protocol, request, response) if self._shown else {}),
        )


def _of_connection(line: RequestLogLine) -> Columns:
    """Return the columns that also apply to the request inside an Envelope: the durations and the listener."""
    waits = (line.request_queue_time_ms, line.response_queue_time_ms, line.send_time_ms)
    known = [wait for wait in waits if wait is not None]
    return {
        "latency_ms": line.total_time_ms,
        "queue_ms": sum(known) if known else None,
        "local_ms": line.local_time_ms,
        "remote_ms": line.remote_time_ms,
        "listener": line.listener,
        "security_protocol": line.security_protocol,
    }


def _asks_for_none(line: RequestLogLine) -> bool:
    """Return whether the client expects no response, as for Produce requests with acks 0."""
    if line.header.api_key != ApiKey.PRODUCE:
        return False
    if line.request is not None:
        return line.request.get("acks") == 0
    return _ACKS_0.search(line.request_text or "") is not None


class Clock:
    """Parses the times before log messages. Most times have the same format, and the same minute as the previous
    time.
    """

    def __init__(self, zone: tzinfo) -> None:
        self._zone = zone
        self._minute = (b"", 0)

    def time(self, prefix: bytes) -> int | None:
        """Return the time in microseconds since the epoch, or ``None`` if ``prefix``, the text before the message,
        contains no time.
        """
        usual = _USUAL_TIME.fullmatch(prefix)
        if usual is None:
            return micros(prefix.decode("utf-8", "replace"), self._zone)
        minute, second, millisecond = usual.groups()
        if self._minute[0] != minute:
            begin = micros(f"{minute.decode()}:00", self._zone)
            if begin is None:
                return None
            self._minute = minute, begin
        return self._minute[1] + int(second) * _SECOND + int(millisecond) * _MILLISECOND
