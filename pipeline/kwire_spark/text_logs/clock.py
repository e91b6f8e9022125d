"""Parses the times before messages; most have the same layout and minute as the previous one."""

from __future__ import annotations

import re
from datetime import tzinfo

from kwire.request_log import micros

_USUAL = re.compile(rb"\[(\d{4}-\d\d-\d\d \d\d:\d\d):(\d\d)[,.](\d{3})\] [A-Z]+ ?")
_SECOND, _MILLISECOND = 1_000_000, 1_000


class Clock:
    """Reads the times of a log; ``zone`` is the time zone of the broker."""

    def __init__(self, zone: tzinfo) -> None:
        self._zone = zone
        self._minute = (b"", 0)

    def time(self, prefix: bytes) -> int | None:
        """Microseconds since the epoch; ``None`` if there is no time. ``prefix`` is everything before a message."""
        usual = _USUAL.fullmatch(prefix)
        if usual is None:
            return micros(prefix.decode("utf-8", "replace"), self._zone)
        minute, second, millisecond = usual.groups()
        if self._minute[0] != minute:
            begin = micros(f"{minute.decode()}:00", self._zone)
            if begin is None:
                return None
            self._minute = minute, begin
        return self._minute[1] + int(second) * _SECOND + int(millisecond) * _MILLISECOND
