"""What the tests of this folder share: definitions through parse, resolve and validate."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import pytest

from kwirec.diagnostics.diagnostic import Diagnostic, Report, Severity, Waiver
from kwirec.diagnostics.examples import ANOTHER_FILE
from kwirec.diagnostics.source import Source
from kwirec.frontend import parse, parse_errors
from kwirec.ir import resolve
from kwirec.validation import validate
from tests.rules.support import Check, CheckFiles


def sources(example: str) -> list[Source]:
    """The files of an example, named as its first comment says or else after their messages."""
    return [Source(_file_name(text), text) for text in example.split(ANOTHER_FILE)]


def _file_name(text: str) -> str:
    if comment := re.match(r"// (\S+\.json)\n|// (\S+)\n\n", text):
        return comment[1] or comment[2]
    name = re.search(r'"name": "(\w+)"', text)
    return f"{name[1]}.json" if name else "Example.krm" if re.search(r"=>| \(\n", text) else "Example.json"


def report_on(files: Iterable[Source], report: Report) -> Report:
    """The passes as the driver runs them: rules are applied only if the passes before left no error."""
    errors: list[Source] = []
    definitions: list[Source] = []
    for source in files:
        (errors if source.name == "errors.json" else definitions).append(source)
    parse_errors(errors, report)
    schema = resolve([parse(source, report) for source in definitions], report)
    if not report.has_errors():
        validate(schema, report)
    return report


@pytest.fixture
def check() -> Check:
    """``check(example)`` → its findings."""

    def run(
        example: str, severities: Mapping[str, Severity] | None = None, waivers: Iterable[Waiver] = ()
    ) -> list[Diagnostic]:
        report = Report(severities=severities or {}, waivers=tuple(waivers))
        return report_on(sources(example), report).diagnostics

    return run


@pytest.fixture
def check_files() -> CheckFiles:
    """``check_files({name: text})`` → the findings of definitions in files of these names."""

    def run(files: Mapping[str, str]) -> list[Diagnostic]:
        return report_on([Source(name, text) for name, text in files.items()], Report()).diagnostics

    return run
