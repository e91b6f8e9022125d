"""Joins lines of log files into entries: all lines of one message of the logger."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kwire import request_log
from kwire_spark.text_logs.lines import Line, Lines, Split

MARK = request_log.MARK.encode()
MOST_LINES, MOST_BYTES = 2_000, 4 << 20
"""How many bytes are searched for the end of an entry."""

_TEXT = re.compile(rb"Completed request:\s*(?:RequestHeader\(|\{api_key=|Name:)")
_END = b";totalTime:"


def request_entries(lines: Lines, split: Split) -> Iterator[Line]:
    """The lines of a split that are about requests. In logs of brokers before 2.8, values may contain line breaks:
    then an entry has all lines up to the end of the message, even after the split."""
    for position, line in lines:
        if not split.has(position):
            return
        if MARK not in line:
            continue
        if _END not in line and _TEXT.search(line):
            line = _to_the_end(line, lines)
        yield position, line


def _to_the_end(line: bytes, lines: Lines) -> bytes:
    """``line`` and the lines after it up to the end of the message; ``line`` alone if there is no such end."""
    ahead: list[Line] = []
    size = len(line)
    for position, other in lines:
        ahead.append((position, other))
        size += len(other)
        if _END in other and MARK not in other:
            return b"\n".join([line, *(part for _, part in ahead)])
        if MARK in other or len(ahead) >= MOST_LINES or size > MOST_BYTES:
            break
    for unused in reversed(ahead):
        lines.give_back(unused)
    return line
