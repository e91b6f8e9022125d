"""Cells as text for people: what came from the wire is shown as it is, never obeyed and never without bounds.

Client ids and the like are whatever a client sent. Everything that a terminal or a browser would not show, and what
would change the order or the look of the text around it, becomes an escape as Python writes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from kwire_spark.reports.report import Cell

LONGEST = 200
"""Characters of a text that are shown; files have all of it."""


def shown(cell: Cell, longest: int = LONGEST) -> str:
    """A cell for reading: times in UTC, floats to four digits, texts visible and of bounded length."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, datetime):
        return time(cell)
    if isinstance(cell, float):
        return number(cell)
    if isinstance(cell, tuple):
        return listed([visible(str(one), longest) for one in cell], longest)
    return visible(str(cell), longest)


def visible(text: str, longest: int = LONGEST) -> str:
    """``text`` with escapes for what cannot be seen: controls, marks of direction, lone surrogates, unusual spaces.

    >>> visible("a\\x1b[31m b\\u202ec")
    'a\\\\x1b[31m b\\\\u202ec'
    """
    text = shortened(text, longest)
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def shortened(text: str, longest: int = LONGEST) -> str:
    """``text``, or its beginning and how long it is."""
    if len(text) <= longest:
        return text
    return f"{text[:longest]}… ({len(text):,} characters)"


def listed(texts: Sequence[str], longest: int = LONGEST) -> str:
    """Texts between commas: all, or the first of them and how many more there are.

    >>> listed(["Produce", "Fetch"]), listed(["Produce", "Fetch", "Metadata", "Heartbeat"], 20)
    ('Produce, Fetch', 'Produce, Fetch and 2 more')
    """
    shown = list(texts)
    while len(shown) > 1 and len(", ".join(shown)) > longest:
        shown.pop()
    more = f" and {len(texts) - len(shown):,} more" if len(shown) < len(texts) else ""
    return ", ".join(shown) + more


def file_name(place: str) -> str:
    """The last part of a path, with what stands behind it.

    >>> file_name("/var/captures/a.pcap:17")
    'a.pcap:17'
    """
    return place.replace("\\", "/").rsplit("/", 1)[-1]


def label(text: str, longest: int = 28) -> str:
    """A short form for the axis of a chart: beginning and end, since what tells names apart is often the end."""
    text = visible(text)
    return text if len(text) <= longest else f"{text[: longest - 9]}…{text[-8:]}"


def number(value: float) -> str:
    """
    >>> [number(0.0), number(12.3456), number(123456.7), number(1e-7), number(float("nan"))]
    ['0', '12.35', '123457', '1e-07', '']
    """
    if value != value:
        return ""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def in_utc(moment: datetime) -> datetime:
    """The moment with a zone. One without is local time: so Spark gives times to Python, whatever its own zone is."""
    return moment.astimezone(UTC)


def time(moment: datetime) -> str:
    """
    >>> time(datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC))
    '2026-01-02 03:04:05.678'
    """
    moment = in_utc(moment).replace(tzinfo=None)
    return moment.isoformat(" ", "milliseconds" if moment.microsecond else "seconds")


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """
    >>> counted(1, "client"), counted(1200, "client"), counted(2, "reply", "replies")
    ('1 client', '1,200 clients', '2 replies')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
