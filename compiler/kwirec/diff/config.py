"""The settings of ``kwirec diff`` in ``pyproject.toml``: a level, and waivers that may be limited in time::

[tool.kwirec.diff]
level = "source"                     # the default of --level

[[tool.kwirec.diff.waivers]] rule = "VERSION_MIN_RAISED" message = "AlarmRequest" # `*` for any versions = "0-1" #
default: all; a finding about other versions is not waived field = "Zones.Name" # default: the message and all its
fields reason = "no client ever used them" expires = 2027-01-31 # default: never; the last day on which it applies
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kwirec.config import ConfigError, read_section, read_waivers
from kwirec.diagnostics.diagnostic import Waiver, did_you_mean
from kwirec.diff.rule import LEVELS, Level
from kwirec.diff.rules import BY_NAME


@dataclass(frozen=True, kw_only=True)
class DiffConfig:
    """The section ``[tool.kwirec.diff]``."""

    level: Level = Level.WIRE
    waivers: tuple[Waiver, ...] = ()


def load_diff_config(path: Path | None) -> DiffConfig:
    """Return the settings in a file, or defaults if the section or file is missing. Raises :class:`ConfigError`."""
    if path is None:
        return DiffConfig()
    problems: list[str] = []
    section = read_section(path, "kwirec.diff", problems)
    for key in section:
        if key not in ("level", "waivers"):
            problems.append(f"[tool.kwirec.diff] has no `{key}`; the keys are level, waivers")
    level = section.get("level", "wire")
    if level not in LEVELS:
        problems.append(f"level: `{level}` is not one of {', '.join(LEVELS)}")
    waivers = read_waivers(section, "kwirec.diff", "rule", ("versions", "field", "expires"), _resolve, problems)
    if problems:
        raise ConfigError(path, problems)
    return DiffConfig(level=Level[level.upper()], waivers=waivers)


def _resolve(word: str) -> tuple[str, str]:
    name = word.upper().replace("-", "_")
    if name in BY_NAME:
        return name, ""
    hint = did_you_mean(name, BY_NAME)
    return "", f"unknown rule `{word}`" + (f"; {hint}" if hint else "")
