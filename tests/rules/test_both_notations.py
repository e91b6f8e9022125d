"""The findings of definitions in JSON and in the indentation notation: the same, in the words of each."""

from __future__ import annotations

import json
import re
from pathlib import PurePosixPath
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from kwirec import catalogue
from kwirec.convert import krammar_files
from kwirec.diagnostics.diagnostic import Diagnostic, Finding, Report
from kwirec.diagnostics.source import Source
from kwirec.frontend import parse
from kwirec.validation.wording import in_krammar
from tests.rules.conftest import report_on, sources
from tests.rules.test_rules import FINDINGS
from tests.support.findings import told

EXAMPLES = {code.number: code.offending for code in catalogue.CODES if "K1" <= code.number < "K9"}
EXAMPLES |= {name: example for name, (example, _) in FINDINGS.items() if len(example) < 5_000}


def in_the_other_notation(name: str) -> list[Source] | None:
    """The example in the indentation notation; ``None`` if that cannot express it."""
    report = Report()
    definitions = [
        (PurePosixPath(), one)
        for source in sources(EXAMPLES[name])
        for one in parse(source, report).definitions
        if source.name != "errors.json"
    ]
    files = krammar_files(definitions, report)
    return None if report.has_errors() or report.diagnostics else [Source(*file) for file in files.items()]


OTHERS = {name: files for name in EXAMPLES if (files := in_the_other_notation(name))}

DIFFERENT = {
    "K105": ["- K105 Clock: there is no enum `Fase`", "+ K101 Clock: there is no enum `Fase`"],
    "K110": [
        "- K110: struct `Hour` is used before it is defined",
        "+ K101 ClockRequest: there is no struct `Hour`",
    ],
    "K111": ["- K111: no message uses struct `Hour`: it is left out"],
    "K209": ["- K209 Clock: message `Clock` is in a file named `Watch.json`"],
    "K307": ["- K307 Clock: message `Clock` has no `flexible`"],
    "K502": ["- K502 Clock.Zones: the default of `Zones` is empty, not null"],
    "K808": ["- K808 Clock.Phase: enum `Phase` needs type `int8`, not `int16`"],
    "every kind that needs a key": [
        "- K701 Alarm: coordinator value `Alarm` has no `key`",
        "- K701 Clock: coordinator key `Clock` has no `key`",
        "- K701 ClockRequest: request `ClockRequest` has no `key`",
        "- K701 ClockResponse: response `ClockResponse` has no `key`",
        "+ K013: the request has no `key N`",
    ],
    "file named in lower case": ["- K209 Clock: message `Clock` is in a file named `clock.json`"],
    "headers without a range": ["- K714 ClockRequest: `header` of `ClockRequest` leaves out versions 0-2"],
    "no descriptions at all": [
        "- K207 Clock: no message and no struct is described",
        "+ K207 Clock.Time: struct `Time` has no description",
        "+ K207 Clock: message `Clock` has no description",
        "+ K207 Clock.Zone: struct `Zone` has no description",
    ],
    "null is no default of a number": ["- K502 Clock.Hour: null is not a default"],
    "null is no default where only later versions may have it": ["- K502 Clock.Zone: null is not a default"],
    "request that does not say when it is flexible": [
        "- K307 ClockRequest: message `ClockRequest` has no `flexible`"
    ],
    "request without a key has no partner to miss": [
        "- K701 ClockRequest: request `ClockRequest` has no `key`",
        "+ K013: the request has no `key N`",
    ],
    "response that does not say when it is flexible": [
        "- K307 ClockResponse: message `ClockResponse` has no `flexible`"
    ],
    "tagged in a message that does not say": ["- K307 Clock: message `Clock` has no `flexible`"],
}
"""Findings about what only one notation can say."""


@pytest.mark.slow
def test_findings_are_the_same_in_both_notations() -> None:
    found = {}
    for name, other in OTHERS.items():
        here = [facts(in_krammar(one)) for one in report_on(sources(EXAMPLES[name]), Report()).diagnostics]
        there = [facts(one) for one in report_on(other, Report()).diagnostics]
        found[name] = [f"- {one}" for one in here if one not in there] + [
            f"+ {one}" for one in there if one not in here
        ]
        assert found[name] or len(here) == len(there), name
    assert {name: lines for name, lines in found.items() if lines} == DIFFERENT
    assert len(found) > 150


def facts(one: Finding) -> str:
    """The code, the place and the message of a finding."""
    code = one.code.number if isinstance(one, Diagnostic) else ""
    return f"{code} {'.'.join(filter(None, (one.message_name, one.field_path)))}".strip() + f": {one.message}"


def test_what_is_said_in_the_words_of_the_indentation_notation(snapshot: SnapshotAssertion) -> None:
    said = (f"{name}\n{told(report_on(other, Report()).diagnostics)}" for name, other in OTHERS.items())
    assert "\n".join(said) == snapshot


def turned(value: Any) -> Any:
    """A JSON value with the attributes of all objects in the reverse order; versions of headers keep theirs."""
    if isinstance(value, list):
        return [turned(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: item if key == "headerVersions" else turned(item) for key, item in reversed(value.items())}


@pytest.mark.slow
def test_the_order_of_attributes_does_not_matter() -> None:
    compared = 0
    for name, example in EXAMPLES.items():
        given = sources(example)
        try:
            values = [json.loads(re.sub(r"\A(//.*\n)+", "", source.text)) for source in given]
        except ValueError:  # in the other notation
            continue
        if any(
            json.dumps(value).count('"') != source.text.count('"')
            for value, source in zip(values, given, strict=True)
        ):
            continue  # an attribute is written twice
        other = [
            Source(one.name, json.dumps(turned(value), ensure_ascii=False))
            for one, value in zip(given, values, strict=True)
        ]
        expected = sorted(map(whole, report_on(given, Report()).diagnostics))
        assert sorted(map(whole, report_on(other, Report()).diagnostics)) == expected, name
        compared += 1
    assert compared > 150


def whole(one: Diagnostic) -> str:
    """Everything that a finding says, and the values that it points at."""
    labels = [f"{label.span.text} {label.text}" for label in (one.primary, *one.others) if len(label.span.text) < 30]
    return f"{facts(one)} {labels} {one.notes} {one.helps}"
