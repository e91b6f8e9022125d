"""Finding a logged message and its time in the surrounding layout, which may be JSON with the message as a string.

Supported layouts are log4j patterns, the prefixes of Docker, Kubernetes and journald, and JSON layouts such as those
of log4j and Logstash.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Any

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_CLOCK = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9}))?"
_ZONE = r"(?: ?(?P<zone>Z|UTC|GMT|[+-]\d\d:?\d\d)(?!\w))?"
_DATES = (
    re.compile(rf"(?<!\d)(?P<year>\d{{4}})([-/.])(?P<month>\d\d)\2(?P<day>\d\d)[T _]{_CLOCK}{_ZONE}"),
    re.compile(rf"(?<!\d)(?P<day>\d\d)[ /-](?P<month>[A-Za-z]{{3}})[ /-](?P<year>\d{{4}})[ :]{_CLOCK}{_ZONE}"),
)
_EPOCH = re.compile(r"(?<!\S)\[?(?P<seconds>\d{10})\.?(?P<fraction>\d{1,9})?(?![\w.,:-])")
_SECOND = 1_000_000

_TIMES = ("@timestamp", "timestamp", "timeMillis", "time", "ts", "date", "asctime", "__REALTIME_TIMESTAMP")
_LEVELS = ("level", "severity", "loglevel")
_ATTEMPTS = 3
_LATEST = 1 << 33
"""Exclusive upper limit of times, in seconds since the epoch. This limit is in the year 2242. Later times and times
before the epoch are ignored, because Python and Spark cannot represent them in all time zones."""


def micros(prefix: str, zone: tzinfo) -> int | None:
    """Return the time in the text before a message, in microseconds since the epoch, or ``None`` if the text contains
    no time.

    The time may be an ISO date, a log4j variant (``[2026-11-21 16:33:41,379]``, ``21 Nov 2026 16:33:41,379``), or a
    number of seconds since the epoch, with or without a fraction. If the text contains several times, the first time
    with a time zone is returned, or the first time if no time has a zone. ``zone`` applies to times without a time
    zone.
    """
    first = None
    for pattern in _DATES:
        for found in pattern.finditer(prefix):
            own = _zone(found["zone"])
            try:
                time = _minute(*found.group("year", "month", "day", "hour", "minute"), own or zone)
            except (ValueError, OverflowError):
                continue
            time += int(found["second"]) * _SECOND + _fraction(found["fraction"])
            if own:
                return time
            first = time if first is None else first
    if first is None and (epoch := _EPOCH.search(prefix)) and int(epoch["seconds"]) < _LATEST:
        return int(epoch["seconds"]) * _SECOND + _fraction(epoch["fraction"])
    return first


def located(text: str, mark: str) -> tuple[str, str, int] | None:
    """Return the place of the message that begins with ``mark``, or ``None`` if the text does not contain it.

    The place consists of the text before the message, the text that contains the message, and the offset of the
    message in that text. The containing text is ``text``, unless ``text`` is or ends with a JSON object. In that
    case, the containing text is the string in the object that contains the mark, and the text before the message
    includes the object's time and level.
    """
    start = text.find(mark)
    if start < 0:
        return None
    if "{" in text[:start] and (found := _unwrapped(text, mark, start)):
        outer, text = found
        start = text.index(mark)
        return f"{outer} {text[:start]}".strip(), text, start
    return text[:start].strip(), text, start


def _unwrapped(text: str, mark: str, start: int) -> tuple[str, str] | None:
    brace = -1
    for _ in range(_ATTEMPTS):
        brace = text.find("{", brace + 1, start)
        if brace < 0:
            return None
        try:
            found = json.JSONDecoder().raw_decode(text, brace)[0]
        except (ValueError, RecursionError):
            continue
        inner = next(_strings(found, mark), None)
        if inner is not None:
            return " ".join([text[:brace].strip(), *_facts(found)]), inner
    return None


def _strings(found: Any, mark: str, depth: int = 0) -> Iterator[str]:
    """Yield the JSON strings that contain ``mark``. Log collectors nest such strings two or three levels deep."""
    for value in found.values() if depth < 4 else ():
        if type(value) is str and mark in value:
            yield value
        elif type(value) is dict:
            yield from _strings(value, mark, depth + 1)


def _facts(found: dict[str, Any]) -> Iterator[str]:
    instant = found.get("instant")
    if type(instant) is dict and type(instant.get("epochSecond")) is int:
        nanos = instant.get("nanoOfSecond")
        yield f"{instant['epochSecond']}.{nanos if type(nanos) is int else 0:09}"
    for names in (_TIMES, _LEVELS):
        value = next((found[name] for name in names if isinstance(found.get(name), str | int | float)), None)
        if value is not None:
            yield str(value)


@lru_cache(maxsize=64)
def _minute(year: str, month: str, day: str, hour: str, minute: str, zone: tzinfo) -> int:
    """Return the start of a minute, in microseconds since the epoch.

    Results are cached, because most lines were logged in the same minute as the previous line. Raise ``ValueError``
    or ``OverflowError`` if the time is out of range.
    """
    number = int(month) if month.isdigit() else _MONTHS.index(month.lower()) + 1
    begin = datetime(int(year), number, int(day), int(hour), int(minute), tzinfo=zone)
    seconds = int(begin.timestamp())
    if not 0 <= seconds < _LATEST:
        raise OverflowError(seconds)
    return seconds * _SECOND


@lru_cache(maxsize=64)
def _zone(text: str | None) -> tzinfo | None:
    if text is None:
        return None
    if text[0] not in "+-":
        return UTC
    offset = timedelta(hours=int(text[1:3]), minutes=int(text[-2:]))
    return timezone(-offset if text[0] == "-" else offset) if offset < timedelta(days=1) else UTC


def _fraction(digits: str | None) -> int:
    return int(digits[:6].ljust(6, "0")) if digits else 0
