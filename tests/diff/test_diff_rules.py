"""Every rule has a case that shows it and nothing else of its level, and one form in which it prints."""

from __future__ import annotations

import json
import re

import pytest
from syrupy.assertion import SnapshotAssertion

from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.examples import ANOTHER_FILE, clock, field, request, response, tagged
from kwirec.diagnostics.render_text import render_text
from kwirec.diagnostics.source import Source
from kwirec.diff import RULES, Judgement, Rule
from kwirec.diff.report import list_rules
from kwirec.frontend import parse
from kwirec.ir import resolve
from kwirec.validation import validate
from tests.diff.support import Diff

CASES = [pytest.param(rule, id=rule.name) for rule in RULES]


A = field("A")
FORMS = {
    "FIELD_REMOVED_FROM_VERSION one": (clock(field("B")), clock(field("B", versions="0-1"))),
    "FIELD_ADDED_TO_VERSION one": (clock(field("B", versions="1+")), clock(field("B"))),
    "TAG_REMOVED one": (clock(tagged("B", 0)), clock(tagged("B", 0, versions="1", taggedVersions="1"))),
    "FIELD_RENAMED known": (clock(field("B")), clock(field("C", aliases=["B"]))),
    "MESSAGE_RENAMED known": (clock(A), clock(A, name="Alarm", aliases=["Clock"])),
    "FIELD_LENGTH_CODING_CHANGED back": (clock(field("B", flexibleVersions="none")), clock(field("B"))),
    "FIELD_TAGGING_CHANGED back": (clock(tagged("B", 0)), clock(field("B", versions="1+"))),
    "FIELD_NULLABILITY_NARROWED all": (clock(field("B", nullableVersions="1+")), clock(field("B"))),
    "FLEXIBLE_VERSIONS_CHANGED back": (clock(flexibleVersions="2+"), clock()),
    "LISTENERS_CHANGED both": (request(listeners=["broker", "controller"]), request(listeners=["tool", "broker"])),
    "LISTENERS_CHANGED none": (request(listeners=["broker"]), request()),
    "MESSAGE_REMOVED whole": (clock(type="metadata", apiKey=5, validVersions="0-1"), ""),
    "MESSAGE_REMOVED data": (clock(validVersions="0"), ""),
    "MESSAGE_ADDED key": ("", clock(type="coordinator-key", apiKey=5, validVersions="0", flexibleVersions="none")),
    "VERSION_ADDED flexible": (
        clock(A, field("B", versions="0-2"), field("C"), flexibleVersions="3+"),
        clock(A, field("B", versions="0-2"), field("C", nullableVersions="3+"), tagged("D", 0, versions="3+",
            taggedVersions="3+"), flexibleVersions="3+", validVersions="0-3"),
    ),
    "VERSION_ADDED far": (clock(A), clock(A, validVersions="4")),
    "VERSION_MIN_RAISED_UNDEPRECATED none": (request(), request(validVersions="1-2")),
    "VERSION_MIN_RAISED_UNDEPRECATED response": (response(), response(validVersions="1-2")),
    "VERSION_MIN_RAISED_UNDEPRECATED deprecated": (request(deprecatedVersions="0"), request(validVersions="1-2")),
    "DEPRECATED_VERSIONS_CHANGED none": (request(deprecatedVersions="0-1"), request()),
    "DEPRECATED_VERSIONS_CHANGED fewer": (request(deprecatedVersions="0-1"), request(deprecatedVersions="0")),
    "HEADER_VERSION_CHANGED lower": (
        request(field("BrokerId", "int32"), name="StopRequest", apiKey=7),
        request(field("BrokerId", "int32"), name="ControlledShutdownRequest", apiKey=7),
    ),
}  # fmt: skip
"""Findings that a rule words otherwise than that about its example, or does not have."""


def case(diff: Diff, rule: Rule) -> Judgement:
    judgement: Judgement = diff(rule.code.offending, rule.code.corrected, rule.level)
    return judgement


@pytest.mark.parametrize("rule", CASES)
def test_case(diff: Diff, rule: Rule, snapshot: SnapshotAssertion) -> None:
    alike = [
        one for one in case(diff, rule).findings if (one.rule.level, one.severity) == (rule.level, rule.code.severity)
    ]
    assert {one.rule.name for one in alike} == {rule.name}
    assert render_text([one.diagnostic for one in alike]) == snapshot


@pytest.mark.parametrize("form", FORMS)
def test_other_forms(diff: Diff, form: str, snapshot: SnapshotAssertion) -> None:
    found = diff(*FORMS[form]).findings
    assert render_text([one.diagnostic for one in found if one.rule.name == form.split()[0]]) == snapshot


@pytest.mark.parametrize("rule", CASES)
def test_nothing_is_found_where_nothing_changed(diff: Diff, rule: Rule) -> None:
    for example in (rule.code.offending, rule.code.corrected):
        assert diff(example, example).findings == ()


@pytest.mark.parametrize("rule", CASES)
def test_case_is_made_of_definitions_that_compile(rule: Rule) -> None:
    """Only rules about what the compiler refuses between messages (K7xx) may have others."""
    for example in (rule.code.offending, rule.code.corrected):
        report = Report()
        texts = enumerate(example.split(ANOTHER_FILE))
        schema = resolve([parse(Source(f"{number}.json", text), report) for number, text in texts], report)
        validate(schema, report)
        serious = {one.code.number for one in report.diagnostics if not one.code.relaxable}
        assert serious <= ({"K706"} if rule.name == "REQUEST_RESPONSE_VERSIONS_DIVERGED" else set())


@pytest.mark.parametrize("rule", CASES)
def test_wording(diff: Diff, rule: Rule) -> None:
    """A purpose is one sentence; messages and labels start in lower case or with a name and have no full stop."""
    assert re.fullmatch(r"[A-Z]+(_[A-Z]+)+", rule.name)
    assert re.fullmatch(r"[^.]+\.", rule.purpose)
    assert rule.code.why.endswith(".")
    for one in (one.diagnostic for one in case(diff, rule).findings):
        for text in (one.message, one.primary.text, *(label.text for label in one.others), *one.helps, *one.notes):
            assert not text.endswith(".")
            assert not re.match(r"[A-Z][a-z]", text)


def test_names_are_unique() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)


def test_the_list_names_every_rule(snapshot: SnapshotAssertion) -> None:
    assert list_rules(RULES) == snapshot
    assert [json.loads(line)["rule"] for line in list_rules(RULES, "json").splitlines()] == [r.name for r in RULES]
    assert all(f"| `{rule.name}` | {rule.level.word} |" in list_rules(RULES, "markdown") for rule in RULES)
