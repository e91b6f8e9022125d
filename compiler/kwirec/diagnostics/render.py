"""Renders diagnostics as text with source lines, as lines for editors, JSON Lines, GitHub commands or JUnit XML."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from kwirec.diagnostics.columns import printable
from kwirec.diagnostics.diagnostic import Diagnostic, Severity
from kwirec.diagnostics.render_text import render_text
from kwirec.diagnostics.source import Span
from kwirec.files import repository
from kwirec.json_text import json_line

_GITHUB_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render_short(diagnostics: Iterable[Diagnostic]) -> str:
    """Return one line per finding with its place, severity, code and message, in the format that editors parse."""
    return "".join(
        f"{printable(str(one.primary.span) if one.primary.span.source.text else one.primary.span.source.name)}: "
        f"{one.severity.value}[{one.code}]: {printable(one.message)}\n"
        for one in diagnostics
    )


def render_json(diagnostics: Iterable[Diagnostic]) -> str:
    """Return one line of JSON per finding. Lines and columns (in characters) start at 1. Ends are exclusive."""
    return "".join(json_line(_as_dict(diagnostic)) + "\n" for diagnostic in diagnostics)


def _as_dict(diagnostic: Diagnostic) -> dict[str, Any]:
    labels = [
        {"primary": label is diagnostic.primary, **_place(label.span), "text": label.text}
        for label in (diagnostic.primary, *diagnostic.others)
    ]
    return {
        "code": diagnostic.code.number,
        "name": diagnostic.code.name,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        **_place(diagnostic.primary.span),
        "labels": labels,
        "notes": list(diagnostic.notes),
        "helps": list(diagnostic.helps),
        "message_name": diagnostic.message_name,
        "field": diagnostic.field_path,
        **({"guide": diagnostic.guide} if diagnostic.guide else {}),
        **({"fix": [{**_place(one.span), "text": one.text} for one in diagnostic.fix]} if diagnostic.fix else {}),
    }


def _place(span: Span) -> dict[str, str | int]:
    line, column = span.source.line_and_column(span.start)
    end_line, end_column = span.source.line_and_column(span.end)
    return {
        "file": span.source.name,
        "line": line,
        "column": column,
        "end_line": end_line,
        "end_column": end_column,
    }


def render_github(diagnostics: Iterable[Diagnostic]) -> str:
    """Return GitHub workflow commands. GitHub shows each finding next to its line in the pull request.

    https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
    """
    return "".join(_github(diagnostic) + "\n" for diagnostic in diagnostics)


def _github(diagnostic: Diagnostic) -> str:
    place = _place(diagnostic.primary.span)
    properties: dict[str, str | int] = {"file": _from_top(diagnostic.primary.span.source.name)}
    if diagnostic.primary.span.source.text:
        properties["line"] = place["line"]
        if place["line"] == place["end_line"]:
            properties |= {"col": place["column"], "endColumn": place["end_column"]}
        else:  # columns are only valid within one line
            properties["endLine"] = place["end_line"]
    properties["title"] = f"{diagnostic.code} {diagnostic.code.name}"
    listed = ",".join(f"{name}={_github_property(value)}" for name, value in properties.items())
    text = f"{diagnostic.message}: {diagnostic.primary.text}" if diagnostic.primary.text else diagnostic.message
    lines = [text, *(f"note: {note}" for note in diagnostic.notes), *(f"help: {help_}" for help_ in diagnostic.helps)]
    lines += [f"guide: {diagnostic.guide}"] if diagnostic.guide else []
    return f"::{_GITHUB_COMMANDS[diagnostic.severity]} {listed}::{_github_data(chr(10).join(lines))}"


def _from_top(name: str) -> str:
    """Return a file name relative to the top of its repository, as GitHub expects it. Outside a GitHub workflow,
    return the name unchanged.
    """
    here = Path.cwd()
    top = repository(here)
    path = Path(os.path.normpath(here / name))
    if not os.environ.get("GITHUB_ACTIONS") or top is None or not path.is_relative_to(top):
        return name
    return path.relative_to(top).as_posix()


def _github_data(text: str) -> str:
    return "%0A".join(printable(line).replace("%", "%25") for line in text.split("\n"))


def _github_property(value: str | int) -> str:
    return _github_data(str(value)).replace(":", "%3A").replace(",", "%2C")


def render_junit(diagnostics: Iterable[Diagnostic]) -> str:
    """Return a JUnit test suite with one test case per finding, or one passing test case if there are no findings."""
    found = list(diagnostics)
    failures = sum(diagnostic.severity is not Severity.NOTE for diagnostic in found)
    suite = ElementTree.Element("testsuite", name="kwirec", tests=str(max(1, len(found))), failures=str(failures))
    for diagnostic in found:
        _junit_case(suite, diagnostic)
    if not found:
        ElementTree.SubElement(suite, "testcase", classname="kwirec", name="no findings")
    ElementTree.indent(suite)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(suite, encoding="unicode")}\n'


def _junit_case(suite: ElementTree.Element, diagnostic: Diagnostic) -> None:
    # XML cannot represent most control characters, so all texts pass through `printable`.
    file = printable(diagnostic.primary.span.source.name)
    name = f"{diagnostic.code} {diagnostic.code.name} at {printable(str(diagnostic.primary.span))}"
    case = ElementTree.SubElement(suite, "testcase", classname=file, name=name)
    if diagnostic.severity is Severity.NOTE:
        text = ElementTree.SubElement(case, "system-out")
    else:
        text = ElementTree.SubElement(
            case, "failure", message=printable(diagnostic.message), type=diagnostic.severity.value
        )
    text.text = "\n" + render_text([diagnostic])


_FOR_PROGRAMS: Mapping[str, Callable[[Iterable[Diagnostic]], str]] = {
    "short": render_short,
    "json": render_json,
    "github": render_github,
    "junit": render_junit,
}

FORMATS = ("text", *_FOR_PROGRAMS)
"""The output formats: ``text``, ``short`` (one line per finding), ``json`` (one object per line), ``github``
(workflow commands) and ``junit`` (XML)."""


def render(diagnostics: Iterable[Diagnostic], format: str = "text", color: bool = False) -> str:
    """Return the diagnostics in ``format``. ``color`` applies only to ``text``."""
    return render_text(diagnostics, color=color) if format == "text" else _FOR_PROGRAMS[format](diagnostics)
