"""The layout around a logged message, with its time, and the JSON string that may contain it.

Covers log4j patterns, the prefixes of docker, Kubernetes and journald, and JSON layouts such as log4j's and
Logstash's.
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
"""Seconds since the epoch, in 2242: times from then on, or before the epoch, are not read. Neither Python nor Spark
can represent all of them in every zone."""


def micros(prefix: str, zone: tzinfo) -> int | None:
    """Return the time before a message, in microseconds since the epoch, or ``None`` if it has no time.

    Reads ISO dates and log4j's variants (``[2026-11-21 16:33:41,379]``, ``21 Nov 2026 16:33:41,379``), and seconds or
    fractions of seconds since the epoch. If there are several times, the first with a zone wins, else the first.
    Times without a zone are in ``zone``.
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
    """Return the message that starts with ``mark``, or ``None`` if the text has none.

    The result has the text before the message, the text that contains it, and its offset there. The containing text
    is ``text`` itself or, if that is or ends with a JSON object, the string inside it that has the mark. Then time
    and level of the object stand before the message.
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
            return " ".join([text[:brace].strip(), *_facts(found)]).strip(), inner
    return None


def _strings(found: Any, mark: str, depth: int = 0) -> Iterator[str]:
    """Yield strings that contain ``mark``. Collectors nest them two or three levels deep."""
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
    """Return the start of a minute in microseconds since the epoch. Cached: most lines share it with the one before.

    ``ValueError`` or ``OverflowError`` if it is out of range.
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
