"""Findings that a project accepts, for a reason and for a time::

    [tool.kwirec.diff]
    level = "source"                     # what --level is without being given

    [[tool.kwirec.diff.waivers]]
    rule = "VERSION_MIN_RAISED"
    message = "AlarmRequest"             # `*` for any
    versions = "0-1"                     # left out: all; the finding must be about nothing else
    field = "Zones.Name"                 # left out: the message and all its fields
    reason = "no client ever spoke them"
    expires = 2027-01-31                 # left out: never; the last day on which it holds

Takes the path of a ``pyproject.toml``. Mistakes are collected and raised together, as ``ConfigError``.
"""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kwirec.config import ConfigError
from kwirec.diagnostics.diagnostic import did_you_mean
from kwirec.diff.changes import Change, FieldChange
from kwirec.diff.rule import LEVELS, Level
from kwirec.diff.rules import BY_NAME
from kwirec.versions import ALL, VersionRange

KEYS = ("rule", "message", "versions", "field", "reason", "expires")


@dataclass(frozen=True, kw_only=True)
class Waiver:
    """One accepted finding. ``expires`` is the last day on which it holds."""

    rule: str
    message: str
    versions: VersionRange = ALL
    field: str = "*"
    reason: str
    expires: datetime.date | None = None

    def covers(self, rule: str, change: Change) -> bool:
        """Whether this is about a finding of ``rule`` in ``change``, by its names on either side."""
        names = {site.message.name for site in (change.old, change.new) if site is not None}
        fields = set()
        if isinstance(change, FieldChange):
            fields = {site.path for site in (change.before, change.after) if site is not None}
        return (
            rule == self.rule
            and (self.message == "*" or self.message in names)
            and (self.field == "*" or self.field in fields)
            and all(version in self.versions for version in change.versions)
        )

    def has_expired(self, today: datetime.date) -> bool:
        return self.expires is not None and self.expires < today


@dataclass(frozen=True, kw_only=True)
class DiffConfig:
    """The section ``[tool.kwirec.diff]``."""

    level: Level = Level.WIRE
    waivers: tuple[Waiver, ...] = ()


def load_diff_config(path: Path | None) -> DiffConfig:
    """What a project says about diffs; without file or section, nothing. Raises ``ConfigError``."""
    if path is None:
        return DiffConfig()
    problems: list[str] = []
    section = _section(path, problems)
    for key in section:
        if key not in ("level", "waivers"):
            problems.append(f"[tool.kwirec.diff] has no `{key}`; known are level, waivers")
    level = section.get("level", "wire")
    if level not in LEVELS:
        problems.append(f"level: `{level}` is none of {', '.join(LEVELS)}")
    tables = section.get("waivers", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        problems.append("waivers are written as [[tool.kwirec.diff.waivers]], one for each")
        tables = []
    waivers = [_waiver(table, f"waiver {number}", problems) for number, table in enumerate(tables, 1)]
    if problems:
        raise ConfigError(path, problems)
    return DiffConfig(level=Level[level.upper()], waivers=tuple(one for one in waivers if one is not None))


def _section(path: Path, problems: list[str]) -> dict[str, Any]:
    try:
        found: Any = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise ConfigError(path, [str(problem)]) from problem
    for name in ("tool", "kwirec", "diff"):
        found = found.get(name, {})
        if not isinstance(found, dict):
            problems.append(f"`{name}` has to be a table, as in [tool.kwirec.diff]")
            return {}
    return dict(found)


def _waiver(table: Mapping[str, Any], where: str, problems: list[str]) -> Waiver | None:
    before = len(problems)
    for key, value in table.items():
        if key not in KEYS:
            hint = did_you_mean(key, KEYS) or f"known are {', '.join(KEYS)}"
            problems.append(f"{where}: there is no `{key}`; {hint}")
        elif key == "expires":
            if not isinstance(value, datetime.date) or isinstance(value, datetime.datetime):
                problems.append(f"{where}: `expires` has to be a date such as 2027-01-31, without quotes")
        elif not isinstance(value, str):
            problems.append(f"{where}: `{key}` has to be a string")
    for key in ("rule", "message", "reason"):
        if not str(table.get(key, "")).strip():
            problems.append(f"{where}: no `{key}` is given")
    name = str(table.get("rule", "")).upper().replace("-", "_")
    if name and name not in BY_NAME:
        hint = did_you_mean(name, BY_NAME)
        problems.append(f"{where}: there is no rule `{table['rule']}`" + (f"; {hint}" if hint else ""))
    try:
        versions = VersionRange.parse(str(table.get("versions", "0+")))
    except ValueError as problem:
        problems.append(f"{where}: versions: {problem}")
    if len(problems) > before:
        return None
    return Waiver(
        rule=name,
        message=table["message"],
        versions=versions,
        field=table.get("field", "*"),
        reason=table["reason"],
        expires=table.get("expires"),
    )
