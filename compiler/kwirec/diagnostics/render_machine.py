"""Findings for programs: JSON lines, GitHub workflow commands and JUnit XML."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any
from xml.etree import ElementTree

from kwirec.diagnostics.columns import printable
from kwirec.diagnostics.diagnostic import Diagnostic, Severity
from kwirec.diagnostics.render_text import render_text
from kwirec.diagnostics.source import Span

_GITHUB_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render_json(diagnostics: Iterable[Diagnostic]) -> str:
    """One object per line. Lines and columns count from 1 and in characters; ends are exclusive."""
    # Plain ASCII: a definition may spell out half a surrogate pair, which no encoding can write.
    return "".join(json.dumps(_as_dict(one)) + "\n" for one in diagnostics)


def _as_dict(one: Diagnostic) -> dict[str, Any]:
    labels = [
        {"primary": label is one.primary, **_place(label.span), "text": label.text}
        for label in (one.primary, *one.others)
    ]
    return {
        "code": one.code.number,
        "name": one.code.name,
        "severity": one.severity.value,
        "message": one.message,
        **_place(one.primary.span),
        "labels": labels,
        "notes": list(one.notes),
        "helps": list(one.helps),
        "message_name": one.message_name,
        "field": one.field_path,
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
    """Workflow commands that GitHub shows beside the lines of a pull request.

    https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
    """
    return "".join(_github(one) + "\n" for one in diagnostics)


def _github(one: Diagnostic) -> str:
    place = _place(one.primary.span)
    properties: dict[str, str | int] = {"file": place["file"]}
    if one.primary.span.source.text:
        properties["line"] = place["line"]
        if place["line"] == place["end_line"]:
            properties |= {"col": place["column"], "endColumn": place["end_column"]}
        else:  # columns count only within one line
            properties["endLine"] = place["end_line"]
    properties["title"] = f"{one.code} {one.code.name}"
    listed = ",".join(f"{name}={_github_property(value)}" for name, value in properties.items())
    text = f"{one.message}: {one.primary.text}" if one.primary.text else one.message
    lines = [text, *(f"note: {note}" for note in one.notes), *(f"help: {help_}" for help_ in one.helps)]
    return f"::{_GITHUB_COMMANDS[one.severity]} {listed}::{_github_data(chr(10).join(lines))}"


def _github_data(text: str) -> str:
    text = text.encode(errors="backslashreplace").decode()
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _github_property(value: str | int) -> str:
    return _github_data(str(value)).replace(":", "%3A").replace(",", "%2C")


def render_junit(diagnostics: Iterable[Diagnostic]) -> str:
    """A test suite with a test case per finding, or a single passing one."""
    found = list(diagnostics)
    failures = sum(one.severity is not Severity.NOTE for one in found)
    suite = ElementTree.Element("testsuite", name="kwirec", tests=str(max(1, len(found))), failures=str(failures))
    for one in found:
        _junit_case(suite, one)
    if not found:
        ElementTree.SubElement(suite, "testcase", classname="kwirec", name="no findings")
    ElementTree.indent(suite)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(suite, encoding="unicode")}\n'


def _junit_case(suite: ElementTree.Element, one: Diagnostic) -> None:
    # XML has no way to write most control characters, hence `printable` throughout.
    file = printable(one.primary.span.source.name)
    name = f"{one.code} {one.code.name} at {printable(str(one.primary.span))}"
    case = ElementTree.SubElement(suite, "testcase", classname=file, name=name)
    if one.severity is Severity.NOTE:
        text = ElementTree.SubElement(case, "system-out")
    else:
        text = ElementTree.SubElement(case, "failure", message=printable(one.message), type=one.severity.value)
    text.text = "\n" + render_text([one])
