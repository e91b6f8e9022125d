"""Options of the sources, as Spark hands them over: strings, with names in any case.

Takes the options, gives paths, numbers, flags and times; whatever does not make sense is an :class:`OptionError` that
names the option, what was given and what would do. Options that a source does not know are ignored, as Spark's own
sources do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

PERMISSIVE, FAILFAST = "permissive", "failfast"

_GLOB = re.compile(r"[*?\[]")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
_SIZE = re.compile(r"(\d+)\s*([kmg]?)i?b?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


class OptionError(ValueError):
    """An option has a value that does not make sense, or a path is not there."""


class BrokenInputError(ValueError):
    """Something is broken and ``mode`` is ``failfast``. The text has the file and the position in it."""

    def __init__(self, source: str, position: int | None, reason: str) -> None:
        super().__init__(source, position, reason)
        self.source, self.position, self.reason = source, position, reason

    def __str__(self) -> str:
        place = self.source if self.position is None else f"{self.source}, byte {self.position}"
        return f"{place}: {self.reason}"


class Options:
    """The options of one source. Can be pickled."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = {name.lower(): value for name, value in given.items()}

    def text(self, name: str, default: str | None = None) -> str | None:
        """The option as it is; ``default`` if it was not given, or is empty."""
        return self._given.get(name.lower()) or default

    @property
    def failfast(self) -> bool:
        """Whether what is broken ends the job (``mode=failfast``), rather than being a ``_corrupt`` row, which is the
        default. Spark's third mode would drop it without a word: there is none."""
        return self.choice("mode", PERMISSIVE, (PERMISSIVE, FAILFAST)) == FAILFAST

    def choice(self, name: str, default: str, allowed: Collection[str]) -> str:
        """One of ``allowed``, which are in lower case."""
        value = (self.text(name) or default).strip().lower()
        if value not in allowed:
            raise self._error(name, f"one of {', '.join(allowed)}")
        return value

    def flag(self, name: str, default: bool) -> bool:
        value = (self.text(name) or str(default)).strip().lower()
        if value not in _TRUE + _FALSE:
            raise self._error(name, "true or false")
        return value in _TRUE

    def number(self, name: str, default: int, least: int = 0) -> int:
        """A whole number, ``least`` or more."""
        value = (self.text(name) or str(default)).strip()
        if not re.fullmatch(r"\d+", value) or int(value) < least:
            raise self._error(name, f"a whole number from {least} on")
        return int(value)

    def size(self, name: str, default: int, least: int = 1) -> int:
        """Bytes: a number, or one with k, m or g behind it, as ``64m``."""
        found = _SIZE.fullmatch((self.text(name) or str(default)).strip())
        size = int(found[1]) * _UNITS[found[2].lower()] if found else -1
        if size < least:
            raise self._error(name, f"a size of {least} bytes or more, as 65536, 512k or 64m")
        return size

    def names(self, name: str) -> tuple[str, ...]:
        """What stands between commas, without the blanks around."""
        return tuple(part.strip() for part in (self.text(name) or "").split(",") if part.strip())

    def ports(self, name: str) -> frozenset[int]:
        """Port numbers and ranges of them between commas, as ``9092,19092-19095``."""
        ports: set[int] = set()
        for part in self.names(name):
            found = re.fullmatch(r"(\d+)(?:\s*-\s*(\d+))?", part)
            first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
            if not 1 <= first <= last <= 65535:
                raise self._error(name, "port numbers between commas, as 9092,19092-19095")
            ports.update(range(first, last + 1))
        return frozenset(ports)

    def time(self, name: str) -> float | None:
        """Seconds since the epoch: a number of these, or a date with or without a time (UTC unless it says)."""
        value = (self.text(name) or "").strip()
        if not value:
            return None
        if re.fullmatch(r"\d+(\.\d+)?", value) and len(value) != 4:
            return float(value)
        try:
            time = datetime.fromisoformat(value)
        except ValueError:
            wanted = "a time, as 2026-11-21, 2026-11-21T16:33:41Z or seconds since 1970"
            raise self._error(name, wanted) from None
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()

    def files(self) -> list[str]:
        """The files of ``path`` and ``paths``, in order, each once: those named, and those in folders and matching
        patterns, at any depth. In folders, files are passed over that begin with ``.`` or ``_``, as Spark does.

        :class:`OptionError` for a path that does not exist, a pattern that matches nothing, or no path at all.
        """
        paths = self.paths()
        if not paths:
            raise OptionError("there is nothing to read: give a path to load()")
        return list(dict.fromkeys(file for path in paths for file in _files(path)))

    def paths(self) -> list[str]:
        """What was given as ``path`` and ``paths``, as local paths."""
        given = [self._given["path"]] if self._given.get("path") else []
        if several := self._given.get("paths"):
            try:
                given += [str(path) for path in json.loads(several)]
            except (ValueError, TypeError):
                raise self._error("paths", "a JSON list of strings") from None
        return [_local(path) for path in given]

    def _error(self, name: str, wanted: str) -> OptionError:
        return OptionError(f"the option {name} must be {wanted}, not {self._given.get(name.lower(), '')!r}")


def _local(path: str) -> str:
    found = _SCHEME.match(path)
    if not found:
        return path
    if found[1].lower() != "file":
        raise OptionError(f"{path}: only files that workers can open are read; mount or copy those of {found[1]}:")
    return re.sub(r"^//[^/]*(?=/)", "", path[5:])


def _files(path: str) -> Iterator[str]:
    if Path(path).is_dir():
        yield from _within(Path(path))
    elif Path(path).exists():
        yield path
    else:
        matches = sorted(_matches(path)) if _GLOB.search(path) else []
        if not matches:
            raise OptionError(f"{path}: nothing matches" if _GLOB.search(path) else f"{path}: no such file or folder")
        for match in matches:
            if match.is_dir():
                yield from _within(match)
            elif not match.name.startswith((".", "_")):
                yield str(match)


def _matches(pattern: str) -> Iterator[Path]:
    parts = Path(pattern).parts
    first = next(number for number, part in enumerate(parts) if _GLOB.search(part))
    return Path(*parts[:first]).glob(str(Path(*parts[first:])))


def _within(folder: Path) -> Iterator[str]:
    """Files below a folder. Folders may begin with ``_``: those of Kafka's internal topics do.

    A folder that cannot be listed stands for what is in it: who opens it will say what is wrong. A link to a folder
    that it is in leads nowhere new.
    """
    try:
        within = sorted(folder.iterdir())
    except OSError:
        yield str(folder)
        return
    for path in within:
        if path.name.startswith("."):
            continue
        if path.is_dir():
            if not (path.is_symlink() and folder.resolve().is_relative_to(path.resolve())):
                yield from _within(path)
        elif not path.name.startswith("_"):
            yield str(path)
