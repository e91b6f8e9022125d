"""What a project says about findings in its ``pyproject.toml``.

Takes the path of the file, gives the severities and waivers for a ``Report``::

    [tool.kwirec]
    severity = { K207 = "off", tag-gap = "error" }

    [[tool.kwirec.waivers]]
    code = "K603"
    message = "FetchRequest"            # `*` for any
    field = "Topics.Partitions.Private" # left out: the whole message
    reason = "tags from 10000 on are ours"

Mistakes in it are collected and raised together.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kwirec import catalogue
from kwirec.diagnostics.diagnostic import Code, Severity, Waiver, did_you_mean

SECTION_KEYS = ("severity", "waivers")
WAIVER_KEYS = ("code", "message", "field", "reason")
SEVERITIES = tuple(severity.value for severity in Severity)


class ConfigError(Exception):
    """The configuration cannot be used. ``problems`` says why, a sentence each."""

    def __init__(self, path: Path, problems: list[str]) -> None:
        self.path = path
        self.problems = tuple(problems)
        super().__init__("\n".join(f"{path.as_posix()}: {problem}" for problem in problems))


@dataclass(frozen=True, kw_only=True)
class Config:
    """Severities by the number of their code, and waivers in the order in which they were written."""

    severities: Mapping[str, Severity] = field(default_factory=dict)
    waivers: tuple[Waiver, ...] = ()


def load_config(path: Path) -> Config:
    """The section ``[tool.kwirec]`` of a file; without the section nothing is changed. Raises ``ConfigError``."""
    try:
        tool = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {})
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise ConfigError(path, [str(problem)]) from problem
    section = tool.get("kwirec", {}) if isinstance(tool, dict) else {}
    problems: list[str] = []
    reader = _Reader(problems)
    config = Config(severities=reader.severities(section), waivers=reader.waivers(section))
    if problems:
        raise ConfigError(path, problems)
    return config


class _Reader:
    """Reads the parts of the section and notes what is wrong with them."""

    def __init__(self, problems: list[str]) -> None:
        self._problems = problems

    def severities(self, section: Mapping[str, Any]) -> dict[str, Severity]:
        for key in section:
            # Other parts of kwire may keep their settings here too, so only likely misspellings are mistakes.
            if key not in SECTION_KEYS and (hint := did_you_mean(key, SECTION_KEYS)):
                self._problems.append(f"[tool.kwirec] has no `{key}`; {hint}")
        found: dict[str, Severity] = {}
        table = section.get("severity", {})
        if not isinstance(table, dict):
            self._problems.append('`severity` has to be a table such as { K207 = "off" }')
            return found
        for key, value in table.items():
            code = self._code(key, "severity")
            if value not in SEVERITIES:
                self._problems.append(f"severity: `{value}` for {key} is none of {', '.join(SEVERITIES)}")
            elif code is not None:
                if code.number in found:
                    self._problems.append(f"severity: {code.number} is given twice, once as `{code.name}`")
                found[code.number] = Severity(value)
        return found

    def waivers(self, section: Mapping[str, Any]) -> tuple[Waiver, ...]:
        tables = section.get("waivers", [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            self._problems.append("waivers are written as [[tool.kwirec.waivers]], one for each")
            return ()
        read = (self._waiver(table, f"waiver {number}") for number, table in enumerate(tables, 1))
        return tuple(waiver for waiver in read if waiver is not None)

    def _waiver(self, table: Mapping[str, Any], where: str) -> Waiver | None:
        before = len(self._problems)
        for key, value in table.items():
            if key not in WAIVER_KEYS:
                hint = did_you_mean(key, WAIVER_KEYS) or f"known are {', '.join(WAIVER_KEYS)}"
                self._problems.append(f"{where}: there is no `{key}`; {hint}")
            elif not isinstance(value, str):
                self._problems.append(f"{where}: `{key}` has to be a string")
        for key in ("code", "message", "reason"):
            if not str(table.get(key, "")).strip():
                self._problems.append(f"{where}: no `{key}` is given")
        code = self._code(str(table["code"]), where) if table.get("code") else None
        if code is None or len(self._problems) > before:
            return None
        return Waiver(
            code=code.number, message=table["message"], field=table.get("field", "*"), reason=table["reason"]
        )

    def _code(self, word: str, where: str) -> Code | None:
        """A code that may be relaxed."""
        code = catalogue.find(word)
        if code is None:
            hint = catalogue.suggestion(word)
            self._problems.append(f"{where}: there is no code `{word}`" + (f"; {hint}" if hint else ""))
        elif not code.relaxable:
            self._problems.append(f"{where}: {code.number} ({code.name}) is an error that cannot be relaxed")
            return None
        return code
