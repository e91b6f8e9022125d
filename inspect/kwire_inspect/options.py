"""Options of the sources that read captures, logs and metrics. Spark passes option values as strings, which this
module parses into paths, numbers, flags and times.

Option names are case-insensitive. An unknown name or an invalid value raises an :class:`OptionError`. The message
names the option, the value and the expected values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

from kwire.errors import suggestion
from kwire.protocol import MessageRegistry, registry
from kwire_inspect.storage import place

FOUND = "found"
"""Option that is set if the paths are files that ``find`` has returned. If such a file disappears later, a row with a
problem reports it."""
COUNT = "count"
"""Option that is set if exchanges are read only so that ``tables.clients`` can count them."""
_OWN = ("path", "paths", "rows", FOUND, COUNT)
"""Options that the table functions set themselves, and that callers therefore cannot pass."""
_ALL = ("path", "paths", FOUND, "mode", "protocol")
_LINES = (*_ALL, "timeZone", "splitSize", "maxLine", "pushdown")
OPTIONS: dict[str, tuple[str, ...]] = {
    "captures": (
        *(*_ALL, "rows", "ports", "start", "end", "partitions", "maxDecoded", "maxHeld", "bodies", "keyLog"),
        *("pushdown", COUNT),
    ),
    "request_logs": (*_LINES, COUNT),
    "server_logs": _LINES,
    "logs": (
        *(*_ALL, "record", "topics", "start", "end", "startOffset", "endOffset", "control", "checkpoints", "states"),
        *("secrets", "splitSize", "limit", "maxRecord", "maxDecoded", "pushdown"),
    ),
    "metrics": _ALL,
    "packets": ("path", "paths", FOUND, "settled", "filesAtOnce", "consume"),
}
"""Options for each type of input. Spark adds ``path`` or ``paths`` and passes all names in lower case."""
KINDS: dict[str, tuple[str, ...]] = {
    "frames": ("captures",),
    "exchanges": ("captures", "request_logs"),
    "refusals": ("server_logs",),
    "records": ("logs",),
    "metrics": ("metrics",),
    "clients": (),
    "problems": (),
}
"""Types of input from which each table can be read."""

PERMISSIVE, FAILFAST = "permissive", "failfast"

_FILE = re.compile(r"file:/", re.IGNORECASE)
_SIZE = re.compile(r"(\d+)\s*([kmg]?)i?b?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


class OptionError(ValueError):
    """An option is unknown or has an invalid value, or a path does not exist."""


class BrokenInputError(ValueError):
    """Raised for broken input if ``mode`` is ``failfast``. The message starts with the file and the byte offset."""

    def __init__(self, source: str, position: int | None, reason: str) -> None:
        super().__init__(source, position, reason)
        self.source, self.position, self.reason = source, position, reason

    def __str__(self) -> str:
        place = self.source if self.position is None else f"{self.source}, byte {self.position}"
        return f"{place}: {self.reason}"


class Options:
    """Options of a source. Instances can be pickled.

    Raises :class:`OptionError` for a name that is not in ``known``, if ``known`` is given.
    """

    def __init__(self, values: Mapping[str, str], known: Collection[str] | None = None) -> None:
        if known is not None:
            _refuse_unknown(values, known)
        self._values = {name.lower(): value for name, value in values.items()}

    def text(self, name: str, default: str | None = None) -> str | None:
        """Return the value of an option, or ``default`` if the value is missing or empty."""
        return self._values.get(name.lower()) or default

    @property
    def failfast(self) -> bool:
        """Whether broken input ends the job (``mode=failfast``).

        In permissive mode, broken input becomes a row with a ``problem``. Spark's third mode, which silently drops
        broken input, is not supported.
        """
        return self.choice("mode", PERMISSIVE, (PERMISSIVE, FAILFAST)) == FAILFAST

    def choice(self, name: str, default: str, allowed: Collection[str]) -> str:
        """Return the value of an option in lower case. The value must be one of ``allowed``."""
        value = (self.text(name) or default).strip().lower()
        if value not in allowed:
            raise self._error(name, f"one of {', '.join(allowed)}")
        return value

    def protocol(self) -> MessageRegistry:
        """Return the messages of the generated package that the option ``protocol`` names. The default is Kafka's
        messages."""
        try:
            return registry((self.text("protocol") or "kwire_kafka").strip())
        except (ImportError, ValueError) as error:
            raise OptionError(f"the option protocol must name a package that kwirec generated: {error}") from None

    def flag(self, name: str, default: bool) -> bool:
        return self.choice(name, str(default).lower(), _TRUE + _FALSE) in _TRUE

    def number(self, name: str, default: int, least: int = 0) -> int:
        """Return the value of an option as an integer. The value must be at least ``least``."""
        value = (self.text(name) or str(default)).strip()
        if not re.fullmatch(r"\d+", value) or int(value) < least:
            raise self._error(name, f"a whole number, {least} or more")
        return int(value)

    def size(self, name: str, default: int) -> int:
        """Return a size in bytes. The value may end in the unit k, m or g, as in ``64m``."""
        match = _SIZE.fullmatch((self.text(name) or str(default)).strip())
        size = int(match[1]) * _UNITS[match[2].lower()] if match else 0
        if not size:
            raise self._error(name, "a size of at least one byte, such as 65536, 512k or 64m")
        return size

    def names(self, name: str) -> tuple[str, ...]:
        """Return the items of a comma-separated list, without the spaces around them."""
        return tuple(part.strip() for part in (self.text(name) or "").split(",") if part.strip())

    def ports(self, name: str) -> frozenset[int]:
        """Return the ports in a comma-separated list of numbers and ranges, such as ``9092,19092-19095``."""
        ports: set[int] = set()
        for part in self.names(name):
            match = re.fullmatch(r"(\d+)(?:\s*-\s*(\d+))?", part)
            first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
            if not 1 <= first <= last <= 65535:
                raise self._error(name, "comma-separated port numbers, such as 9092,19092-19095")
            ports.update(range(first, last + 1))
        return frozenset(ports)

    def duration(self, name: str) -> int:
        """Return a duration in seconds, or 0 if the option is missing. The value ends in the unit s, m or h, as in
        ``90s``."""
        value = (self.text(name) or "0s").strip()
        if not (match := re.fullmatch(r"(\d+)\s*([smh])", value)) or (self.text(name) and not int(match[1])):
            raise self._error(name, "a duration, such as 90s, 10m or 1h")
        return int(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]]

    def time(self, name: str) -> float | None:
        """Return a time in seconds since the epoch. The value is either a number of seconds or an ISO date with an
        optional time of day. A time without a time zone is in UTC."""
        value = (self.text(name) or "").strip()
        if not value:
            return None
        if re.fullmatch(r"(?!\d{4}$)\d+(\.\d+)?", value):  # a four-digit number is a year
            return float(value)
        try:
            time = datetime.fromisoformat(value)
        except ValueError:
            expected = "a time, such as 2026-11-21, 2026-11-21T16:33:41Z or seconds since 1970"
            raise self._error(name, expected) from None
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()

    def time_zone(self, name: str) -> tzinfo:
        """Return the time zone that the value names, either in the tz database or as an offset from UTC. The default
        is UTC."""
        value = (self.text(name) or "UTC").strip()
        if value.upper() in ("UTC", "Z", "GMT"):
            return UTC
        try:
            offset = datetime.strptime(value, "%z").tzinfo if value[0] in "+-" else None
            return offset or ZoneInfo(value)
        except (ValueError, OSError, LookupError):
            raise self._error(name, "a time zone, such as Europe/Berlin, UTC or +02:00") from None

    def files(self) -> list[str]:
        """Return the files that ``path`` and ``paths`` name. Folders are searched recursively, and patterns are
        expanded.

        Each file is listed once. As in Spark, files in folders are omitted if their names start with ``.`` or ``_``.
        Raises :class:`OptionError` if a path does not exist, a pattern has no match, or no path is given.
        """
        paths = self.paths()
        if not paths:
            raise OptionError("nothing to read: pass a path to load()")
        if self.flag(FOUND, False):
            return list(dict.fromkeys(paths))
        return list(dict.fromkeys(file for path in paths for file in _files(path)))

    def paths(self) -> list[str]:
        """Return the values of ``path`` and ``paths``, without the prefix ``file:``."""
        paths = [self._values["path"]] if self._values.get("path") else []
        if several := self._values.get("paths"):
            try:
                paths += [str(path) for path in json.loads(several)]
            except (ValueError, TypeError):
                raise self._error("paths", "a JSON list of strings") from None
        return [_local(path) for path in paths]

    def _error(self, name: str, expected: str) -> OptionError:
        return OptionError(f"the option {name} must be {expected}, not {self._values.get(name.lower(), '')!r}")


def passed(options: Mapping[str, object], table: str) -> dict[str, str]:
    """Return the keyword arguments of a table function as options. Underscores in names are ignored.

    Raises :class:`OptionError` for an option that none of the table's sources supports.
    """
    known = {name for kind in KINDS[table] for name in OPTIONS[kind]} - {*_OWN}
    texts = {name.replace("_", ""): str(value) for name, value in options.items()}
    _refuse_unknown(texts, known)
    return texts


def only(options: Mapping[str, str], *kinds: str) -> dict[str, str]:
    """Return the options that apply to at least one of the input types ``kinds``. Underscores in names are
    ignored."""
    known = {name.lower() for kind in kinds for name in OPTIONS[kind]}
    return {name: value for name, value in options.items() if name.replace("_", "").lower() in known}


def _refuse_unknown(names: Iterable[str], known: Collection[str]) -> None:
    lower = {name.lower() for name in known}
    if unknown := [name for name in names if name.lower() not in lower]:
        raise OptionError(f"unknown option {unknown[0]!r}{suggestion(unknown[0], sorted({*known} - {FOUND, COUNT}))}")


def _local(path: str) -> str:
    """Return a path without the prefix ``file:``."""
    return re.sub(r"^file:(//[^/]*(?=/))?", "", path, flags=re.IGNORECASE) if _FILE.match(path) else path


def _files(path: str) -> Iterator[str]:
    try:
        yield from place(path).files()
    except FileNotFoundError as error:
        raise OptionError(str(error)) from None
    except OSError as error:
        raise OptionError(f"{error.filename or path}: {error.strerror or error}") from None
    except ValueError as error:
        raise OptionError(str(error)) from None
