"""The pass as a whole: everything in one run, in order, once; severities and waivers; the real definitions."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import pytest

from kwirec import catalogue
from kwirec.diagnostics.diagnostic import Report, Severity, Waiver
from kwirec.diagnostics.examples import clock, field, files, struct
from kwirec.diagnostics.reading import read_sources
from kwirec.frontend import parse
from kwirec.ir import resolve
from kwirec.lowering import lower
from kwirec.lowering.layout import describe
from kwirec.validation import RULES, Rule, defaults, enums, messages, names, tags, types, validate, versions
from tests.rules.conftest import sources
from tests.rules.support import Check
from tests.rules.test_rules import FINDINGS

TAG = {"versions": "1+", "taggedVersions": "1+"}
DEFINITIONS = Path(__file__).parents[2] / "message_defs" / "kafka"

TEN_MISTAKES = clock(
    field("time-zone"),
    field("Hour", "int8", nullableVersions="0+"),
    field("Grid", "[][]int8"),
    field("Owner", "int32", entityType="brokerID"),
    field("Later", versions="3+"),
    field("Turned", versions="2-1"),
    field("Leap", "bool", **TAG, tag=0),
    field("Moon", "Moon", **TAG, tag=0, fields=[field("Phase", default="null"), field("Phase")]),
    deprecatedVersions="0-4",
)


def test_ten_mistakes_are_ten_findings(check: Check) -> None:
    codes = [(one.code.number, one.field_path) for one in check(TEN_MISTAKES)]
    assert codes == [
        ("K308", None),
        ("K201", "time-zone"),
        ("K402", "Hour"),
        ("K401", "Grid"),
        ("K403", "Owner"),
        ("K303", "Later"),
        ("K301", "Turned"),
        ("K602", "Moon"),
        ("K501", "Moon.Phase"),
        ("K203", "Moon.Phase"),
    ]


def test_findings_are_sorted_by_file_and_place(check: Check) -> None:
    found = check(files(clock(field("A-"), field("B-"), name="Zebra"), clock(field("C-"), name="Ant")))
    assert [one.field_path for one in found] == ["C-", "A-", "B-"]


def test_a_common_struct_is_judged_once(check: Check) -> None:
    """However many fields use it, and although every use reaches its mistake."""
    time = struct("Time", field("Millis", "int64", nullableVersions="0+"))
    found = check(clock(field("A", "Time"), field("B", "[]Time"), field("C", "Time"), commonStructs=[time]))
    assert [(one.code.number, one.field_path) for one in found] == [("K402", "Time.Millis")]


def test_validating_twice_finds_nothing_new(check: Check) -> None:
    report = Report()
    source = read_sources([DEFINITIONS / "headers"], report)
    schema = resolve([parse(one, report) for one in source], report)
    validate(schema, report)
    before = report.diagnostics
    validate(schema, report)
    assert report.diagnostics == before


def test_severities_of_relaxable_rules(check: Check) -> None:
    example = clock(field("Zone", about=""), field("Leap", "bool", **TAG, tag=1))
    changed = check(example, {"K207": Severity.OFF, "K603": Severity.ERROR})
    assert [(one.code.number, one.severity) for one in changed] == [("K603", Severity.ERROR)]


def test_severities_of_other_rules_stay(check: Check) -> None:
    found = check(clock(field("time-zone")), {"K201": Severity.OFF})
    assert [one.severity for one in found] == [Severity.ERROR]


def test_waiver_for_one_field(check: Check) -> None:
    undescribed = field("Zone", "Zone", fields=[field("City", about=""), field("Street", about="")])
    waiver = Waiver(code="K207", message="Clock", field="Zone.City", reason="the name says it all")
    found = check(clock(undescribed), waivers=[waiver])
    assert [one.field_path for one in found] == ["Zone.Street"]


def test_waiver_for_a_message(check: Check) -> None:
    waiver = Waiver(code="K207", message="Clock", field="*", reason="written by somebody else")
    example = files(clock(field("A", about=""), about=""), clock(field("B", about=""), name="Alarm"))
    assert [(one.message_name, one.field_path) for one in check(example, waivers=[waiver])] == [("Alarm", "B")]


def test_where_only_fields_are_described_one_finding_says_so(check: Check) -> None:
    """So are Kafka's own definitions: its generator knows no other descriptions."""
    inner = field("Zone", "Zone", structAbout="", fields=[field("City", about=""), field("Street")])
    example = files(clock(field("A"), inner, about=""), clock(field("B"), name="Alarm", about=""))
    found = check(example)
    assert [(one.message, one.message_name) for one in found] == [
        ("no message and no struct is described", "Clock"),
        ("field `City` has no description", "Clock"),
    ]
    nothing = check(files(clock(field("A", about=""), about="")))
    assert [one.message for one in nothing] == [
        "no message and no struct is described",
        "field `A` has no description",
    ]
    described = check(files(clock(field("A"), inner, about=""), clock(field("B"), name="Alarm", about="An alarm.")))
    assert [one.message for one in described] == [
        "message `Clock` has no description",
        "struct `Zone` has no description",
        "field `City` has no description",
    ]


def test_waivers_of_other_rules_have_no_effect(check: Check) -> None:
    waiver = Waiver(code="K201", message="*", field="*", reason="we like it")
    assert [one.code.number for one in check(clock(field("time-zone")), waivers=[waiver])] == ["K201"]


@pytest.mark.parametrize(
    ("block", "module"),
    [("K2", names), ("K3", versions), ("K4", types), ("K5", defaults), ("K6", tags), ("K7", messages)],
)
def test_the_block_of_a_code_names_its_file(block: str, module: ModuleType) -> None:
    defined = [value for value in vars(module).values() if isinstance(value, Rule)]
    assert {rule.code.number[:2] for rule in defined} == {block}
    assert defined == [rule for rule in RULES if rule.code.number.startswith(block)]


@pytest.mark.slow
def test_the_definitions_of_kafka() -> None:
    """They hold what every release from 0.8 on had, so a rule that complains about them is too strict."""
    report = Report()
    documents = [parse(source, report) for source in read_sources([DEFINITIONS], report)]
    validate(resolve(documents, report), report)
    assert [f"{one.primary.span}: {one.message}" for one in report.diagnostics] == []


@pytest.mark.slow
def test_the_largest_messages_of_kafka_are_far_below_the_limits() -> None:
    """The page of K413 says how large they are, so that whoever reads it knows how much room is left."""
    report = Report()
    documents = [parse(source, report) for source in read_sources([DEFINITIONS], report)]
    sizes = [
        [sum(not line.endswith("@*") for line in describe(layout.body)) for layout in set(versions.values())]
        for versions in lower(resolve(documents, report)).by_message.values()
    ]
    largest, described = max(map(max, sizes)), max(map(sum, sizes))
    assert 10 * largest <= types.MAX_FIELDS
    assert 10 * described <= types.MAX_LAYOUT_FIELDS
    text = " ".join(types.large_message.code.why.split())
    assert f"more than {largest} fields, or more than {described} in all its layouts" in text


@pytest.mark.slow
def test_every_finding_of_every_rule_has_an_example() -> None:
    """A rule with several conditions needs an example for each: those of its code, or of ``test_rules``."""
    modules = (names, versions, types, defaults, tags, messages, enums)
    files = {str(module.__file__) for module in modules}
    reached: set[tuple[str, int]] = set()

    def note(frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code.co_filename not in files:
            return None
        reached.add((frame.f_code.co_filename, frame.f_lineno))
        return note

    examples = [code.offending for code in catalogue.CODES if "K2" <= code.number < "K9"]
    for example in (*examples, *(example for example, _ in FINDINGS.values())):
        report = Report()
        schema = resolve([parse(one, report) for one in sources(example) if one.name != "errors.json"], report)
        if report.has_errors() or len(example) > 20_000:
            continue
        before = sys.gettrace()
        sys.settrace(note)
        try:
            validate(schema, report)
        finally:
            sys.settrace(before)
    found = {
        (file, node.lineno)
        for file in files
        for node in ast.walk(ast.parse(Path(file).read_text("utf-8")))
        if isinstance(node, ast.Yield | ast.YieldFrom)
    }
    assert len(found) > 80
    assert sorted(found - reached) == []
