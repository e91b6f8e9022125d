"""Every code has an example that shows it, an example without it, and one form in which it prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from kwirec import catalogue
from kwirec.diagnostics.diagnostic import Code, Report, Severity
from kwirec.diagnostics.reading import read_sources
from kwirec.diagnostics.render_text import render_text
from tests.rules.support import Check

READ_FROM_DISK = {"K001", "K002", "K009", "K027", "K028"}
"""Codes about files that cannot be read, or written: their examples are commands and bytes, not definitions."""

COMPILED = [code for code in catalogue.CODES if code.number not in READ_FROM_DISK and code.number < "K9"]
"""Codes from K901 on are about templates: ``tests/outputs`` renders their examples."""

DEFINITIONS = [pytest.param(code, id=f"{code.number}-{code.name}") for code in COMPILED]


@pytest.mark.parametrize("code", DEFINITIONS)
def test_offending(check: Check, code: Code, snapshot: SnapshotAssertion) -> None:
    findings = check(code.offending)
    assert {one.code.number for one in findings} == {code.number}
    assert {one.severity for one in findings} == {code.severity}
    assert render_text(findings) == snapshot


@pytest.mark.parametrize("code", [code for code in COMPILED if code.krammar], ids=lambda code: code.number)
def test_offending_in_the_indentation_notation(check: Check, code: Code, snapshot: SnapshotAssertion) -> None:
    findings = check(code.krammar)
    assert {one.code.number for one in findings} == {code.number}
    assert render_text(findings) == snapshot


@pytest.mark.parametrize("code", [code for code in COMPILED if code.number >= "K1"], ids=lambda code: code.number)
def test_corrected_in_the_other_notation(check: Check, code: Code) -> None:
    corrected = catalogue.in_other_notation(code.corrected)
    assert corrected
    assert [one for one in check(corrected) if one.severity is Severity.ERROR] == []


MISTAKES_OF_ONE = {
    "K004",
    "K007",
    "K010",
    "K016",
    "K020",
    "K022",
    "K024",
    "K025",
    "K026",
    "K110",
    "K201",
    "K717",
    "K802",
}
"""Codes whose mistake one notation has no way to make: its page shows only what is corrected in both."""


@pytest.mark.parametrize("code", [code for code in COMPILED if code.number != "K017"], ids=lambda code: code.number)
def test_the_page_of_a_rule_shows_its_examples_in_both_notations(code: Code) -> None:
    """K017 is about errors.json, which is in no notation."""
    page = (Path(__file__).parents[2] / "docs" / "rules" / f"{code.number}.md").read_text()
    before, after = page.partition("## Corrected")[0], page.partition("## Corrected")[2].partition("## Changing")[0]
    assert all(f"```{language}\n" in after for language in ("jsonc", "text"))
    both = all(f"```{language}\n" in before for language in ("jsonc", "text"))
    assert both is (code.number not in MISTAKES_OF_ONE)


@pytest.mark.parametrize("code", DEFINITIONS)
def test_corrected(check: Check, code: Code) -> None:
    assert render_text(check(code.corrected)) == ""


@pytest.mark.parametrize("code", DEFINITIONS)
def test_rules_name_the_message_of_their_findings(check: Check, code: Code) -> None:
    """Without it nobody could waive them."""
    if code.number >= "K1" and code.number not in ("K110", "K111"):  # which are about structs of no message
        assert all(one.message_name for one in check(code.offending))


@pytest.mark.parametrize("code", catalogue.CODES, ids=lambda code: code.number)
def test_explanation(code: Code) -> None:
    assert code.what.endswith(".")
    assert code.why.endswith(".")
    assert code.offending != code.corrected
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code.name)


@pytest.mark.parametrize("code", DEFINITIONS)
def test_wording(check: Check, code: Code) -> None:
    """Messages and labels start in lower case, or with a name, and have no full stop."""
    for one in check(code.offending):
        for text in (one.message, one.primary.text, *(label.text for label in one.others), *one.helps):
            assert not text.endswith(".")
            assert not re.match(r"[A-Z][a-z]", text)


def test_codes_are_unique_and_in_order() -> None:
    numbers = [code.number for code in catalogue.CODES]
    assert numbers == sorted(set(numbers))
    assert len({code.name for code in catalogue.CODES}) == len(numbers)
    assert {number[:2] for number in numbers} == set(catalogue.BLOCKS)


def test_an_error_is_since_a_release(check: Check) -> None:
    code = next(code for code in catalogue.CODES if code.number == "K017")
    wrong = code.corrected.replace('"retriable"', '"since": "next", "retriable"')
    assert [one.message for one in check(wrong)] == ["`next` is not a release"]
    assert not check(wrong.replace("next", "0.8.2"))


def test_path_that_does_not_exist(tmp_path: Path) -> None:
    report = Report()
    assert read_sources([tmp_path / "message_dfes"], report) == []
    assert [one.code.number for one in report.diagnostics] == ["K001"]


def test_file_that_is_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "Clock.json").write_bytes(b'{ "about": "\xff" }')
    report = Report()
    assert read_sources([tmp_path], report) == []
    assert [one.code.number for one in report.diagnostics] == ["K002"]
