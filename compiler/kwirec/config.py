"""Reads a project's settings from ``pyproject.toml``: severities, and waivers for individual findings.

::

    [tool.kwirec]
    severity = { K207 = "off", tag-gap = "error" }

    [[tool.kwirec.waivers]]
    code = "K603"
    message = "FetchRequest"            # `*` for any
    field = "Topics.Partitions.Private" # default: the message and all its fields
    reason = "tags from 10000 on are ours"

``kwirec.diff.config`` uses these functions to read the settings of ``kwirec diff``. Both modules collect all mistakes
and raise a single ``ConfigError``.
"""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from kwirec import catalogue
from kwirec.diagnostics.diagnostic import Report, Severity, Waiver, did_you_mean
from kwirec.files import read_regular
from kwirec.versions import ALL, VersionRange

SEVERITIES = tuple(severity.value for severity in Severity)


class ConfigError(Exception):
    """Raised for invalid settings. ``problems`` contains a sentence for each mistake."""

    def __init__(self, path: Path, problems: list[str]) -> None:
        self.path = path
        self.problems = tuple(problems)
        super().__init__("\n".join(f"{path.as_posix()}: {problem}" for problem in problems))


def load_report(path: Path | None) -> Report:
    """Return an empty report with the ``[tool.kwirec]`` settings of a file.

    If the section or the file is missing, the report has default settings. Raises :class:`ConfigError`.
    """
    if path is None:
        return Report()
    problems: list[str] = []
    section = read_section(path, "kwirec", problems)
    for key in section:
        # Other parts of kwire may have settings here, too, so only likely misspellings are reported.
        if key not in ("severity", "waivers") and (hint := did_you_mean(key, ("severity", "waivers"))):
            problems.append(f"[tool.kwirec] has no `{key}`; {hint}")
    report = Report(
        severities=_read_severities(section.get("severity", {}), problems),
        waivers=read_waivers(section, "kwirec", "code", ("field",), _relaxable, problems),
    )
    if problems:
        raise ConfigError(path, problems)
    return report


def read_section(path: Path, name: str, problems: list[str]) -> dict[str, Any]:
    """Return the table ``[tool.NAME]`` of a TOML file, or an empty table if the file has no such table."""
    try:
        table: Any = tomllib.loads(read_regular(path).decode())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise ConfigError(path, [str(problem)]) from problem
    for key in ("tool", *name.split(".")):
        table = table.get(key, {})
        if not isinstance(table, dict):
            problems.append(f"`{key}` must be a table, as in [tool.{name}]")
            return {}
    return dict(table)


def read_waivers(
    section: Mapping[str, Any],
    name: str,
    code_key: str,
    optional: tuple[str, ...],
    resolve: Callable[[str], tuple[str, str]],
    problems: list[str],
) -> tuple[Waiver, ...]:
    """Return the waivers in the array of tables ``[[tool.NAME.waivers]]``.

    ``code_key`` is the key that names the waived code or rule. ``resolve`` converts its value to a code, and also
    returns an error message, which is empty if the value is valid. ``optional`` lists the keys allowed besides
    ``code_key``, ``message`` and ``reason``.
    """
    tables = section.get("waivers", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        problems.append(f"write each waiver as its own [[tool.{name}.waivers]]")
        return ()
    waivers = []
    required = (code_key, "message", "reason")
    for number, table in enumerate(tables, 1):
        mistakes = list(_wrong_keys(table, required, optional))
        code, mistake = resolve(str(table[code_key])) if table.get(code_key) else ("", "")
        mistakes += [mistake] if mistake else []
        versions = ALL
        try:
            versions = VersionRange.parse(str(table.get("versions", versions)))
        except ValueError as problem:
            mistakes.append(f"versions: {problem}")
        problems += (f"waiver {number}: {mistake}" for mistake in mistakes)
        if not mistakes:
            others = {key: value for key, value in table.items() if key not in (code_key, "versions")}
            waivers.append(Waiver(code=code, versions=versions, **others))
    return tuple(waivers)


def _wrong_keys(table: Mapping[str, Any], required: tuple[str, ...], optional: tuple[str, ...]) -> Iterator[str]:
    keys = (*required, *optional)
    for key, value in table.items():
        if key not in keys:
            hint = did_you_mean(key, keys) or f"the keys are {', '.join(keys)}"
            yield f"unknown key `{key}`; {hint}"
        elif key == "expires":
            if not isinstance(value, datetime.date) or isinstance(value, datetime.datetime):
                yield "`expires` must be a date such as 2027-01-31, without quotes"
        elif not isinstance(value, str):
            yield f"`{key}` must be a string"
    yield from (f"`{key}` is missing" for key in required if not str(table.get(key, "")).strip())


def _read_severities(table: object, problems: list[str]) -> dict[str, Severity]:
    severities: dict[str, Severity] = {}
    if not isinstance(table, dict):
        problems.append('`severity` must be a table such as { K207 = "off" }')
        return severities
    for key, value in table.items():
        number, mistake = _relaxable(key)
        if mistake:
            problems.append(f"severity: {mistake}")
        if value not in SEVERITIES:
            problems.append(f"severity: `{value}` for {key} is not one of {', '.join(SEVERITIES)}")
        elif number in severities:
            problems.append(f"severity: {number} is set twice, once as `{catalogue.BY_NAME[number.lower()].name}`")
        elif number:
            severities[number] = Severity(value)
    return severities


def _relaxable(word: str) -> tuple[str, str]:
    """Return the number of a relaxable code and an empty string, or an empty string and an error message."""
    code = catalogue.find(word)
    if code is None:
        hint = catalogue.suggestion(word)
        return "", f"unknown code `{word}`" + (f"; {hint}" if hint else "")
    if not code.relaxable:
        return "", f"{code.number} ({code.name}) is an error that cannot be relaxed"
    return code.number, ""
