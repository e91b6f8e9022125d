"""Lines of a request log as rows of EXCHANGES.

Takes lines with their place, gives rows with a value for every column; what takes time and is not wanted is null.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import tzinfo
from typing import TYPE_CHECKING

from kwire.errors import KwireError
from kwire.request_log import MARK, RequestLogError, RequestLogLine, parse_line
from kwire_kafka import PROTOCOL
from kwire_spark.columns import EXCHANGES
from kwire_spark.frames.answers import error_codes, throttle_ms
from kwire_spark.frames.context import corrupt, named
from kwire_spark.text_logs.bodies import ENVELOPE, inner_payloads, payloads
from kwire_spark.text_logs.clock import Clock
from kwire_spark.text_logs.hosts import peers
from kwire_spark.text_logs.quick import quick_row

if TYPE_CHECKING:
    from kwire_spark.frames.context import Row
    from kwire_spark.text_logs.chosen import Chosen

PRODUCE = 0
LAYOUT = 80
"""Characters in front of a message that may belong to its layout."""

_MARK = MARK.encode()
_NAMES = {key: PROTOCOL.api_name(key) for key in PROTOCOL.api_keys}
_ACKS_0 = re.compile(r"\backs=0\b")


class RequestRows:
    """Makes rows of lines. ``zone`` is where the broker is at home: its log does not say."""

    def __init__(self, chosen: Chosen, zone: tzinfo) -> None:
        self._zone = zone
        self._chosen = chosen
        self._clock = Clock(zone)
        self._shown = bool(chosen.columns & {"request", "response", "reason"})

    def rows(self, source: str, position: int, line: bytes) -> list[Row]:
        """The row of a line, and of what is in an Envelope; none for lines of other kinds.

        A line that is broken is a ``_corrupt`` row. Where a half-written line has a whole one behind it, as after a
        crash, both are told.
        """
        start = line.find(_MARK)
        if start < 0:
            return []
        quick = quick_row(source, position, line, start, self._clock.time, self._chosen.may, self._shown)
        if quick is not None:
            return quick
        try:
            found = parse_line(line.decode("utf-8", "replace"))
        except RequestLogError as error:
            rows = [corrupt(EXCHANGES, source, position, error.reason)]
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
        about = (
            *(header.api_key, _NAMES.get(header.api_key), header.api_version, header.correlation_id),
            *(header.client_id, *line.software, line.principal),
        )
        yield (
            *(source, position, *peers(line.connection, forwarded=bool(line.is_forwarded)), None, time, *about),
            *("none" if _asks_for_none(line) else "answered", line.error_codes if answered else None),
            *(line.response_throttle_ms, *_durations(line), None, None),
            *(line.body_version if answered else None, bool(line.is_forwarded), line.listener),
            *(line.security_protocol, reason, request, response, None),
        )
        if header.api_key == ENVELOPE:
            yield from self._enveloped(line, source, position, time)

    def _enveloped(self, line: RequestLogLine, source: str, position: int, time: int | None) -> Iterator[Row]:
        """What an Envelope holds that the controller refused; from whom it came only its principal would tell."""
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
        bodies = inner_payloads(request, response) if self._shown else (None, None)
        ends = peers(line.connection, forwarded=True)
        yield (
            *(source, position, *ends, None, time, *named(request.header)),
            *(None, None, None, "unanswered" if response is None else "answered", codes, throttle),
            *(*_durations(line), None, None, None if response is None else response.version, True, line.listener),
            *(line.security_protocol, None if response else "the response to its Envelope holds none", *bodies, None),
        )


def _asks_for_none(line: RequestLogLine) -> bool:
    """Whether the client wanted no response: Produce with acks 0."""
    if line.header.api_key != PRODUCE:
        return False
    if line.request is not None:
        return line.request.get("acks") == 0
    return _ACKS_0.search(line.request_text or "") is not None


def _durations(line: RequestLogLine) -> Row:
    waits = (line.request_queue_time_ms, line.response_queue_time_ms, line.send_time_ms)
    known = [wait for wait in waits if wait is not None]
    return line.total_time_ms, sum(known) if known else None, line.local_time_ms, line.remote_time_ms
