"""Where a message is cut short: trying every byte takes quadratic time."""

from __future__ import annotations

from kwire.message import Message
from kwire.trace import trace_message

MOST = 60


def cuts(cls: type[Message], data: bytes, version: int) -> list[int]:
    """Sizes below that of ``data``, at the borders of fields and one byte beside them, at most about ``MOST``."""
    borders = {border for span in trace_message(cls, data, version).spans for border in (span.start, span.end)}
    found = sorted({size for border in borders for size in (border - 1, border, border + 1) if 0 <= size < len(data)})
    return found[:: len(found) // MOST + 1]
