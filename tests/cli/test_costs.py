"""What hostile definitions cost: a full report ends all work, and memory is in proportion to the text."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest

from kwirec.diagnostics import diagnostic
from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.render_text import render_text
from kwirec.diff import pairing
from kwirec.driver import load
from kwirec.versions import VersionRange
from tests.support.effort import peak

FIELD = '{"name": "A", "type": "%s", "versions": "%s", "about": "a"}'
MESSAGE = (
    '{"type": "data", "name": "M", "about": "a", "validVersions": "0", "flexibleVersions": "none", "fields": [%s]}'
)
HEADER = '{"type": "header", "name": "H", "headerVersions": {%s}, "validVersions": "0", "fields": []}'
INDENTED = "A => data, max version 0\n"

MISTAKES = {
    "tokens": ("a.json", MESSAGE % ("," * 100)),
    "nodes": ("a.json", MESSAGE % ",".join(["{}"] * 100)),
    "attributes": ("a.json", "{" + ",".join(f'"k{n}": 1' for n in range(100)) + "}"),
    "header versions": ("a.json", HEADER % ",".join(f'"x{n}": 1' for n in range(100))),
    "lines": ("a.krm", " a\n" * 100),
    "heads": ("a.krm", "A =>\n\n" * 100),
    "owned structs": ("a.krm", "A => not top level, of B\n" * 100),
    "fields": ("a.krm", INDENTED + "  A: (\n" * 100),
    "messages": ("a.jsonl", "\n".join([MESSAGE % ""] * 100)),
    "types": ("a.json", MESSAGE % ",".join(FIELD % (f"x{n}", "0") for n in range(100))),
    "enums": ("a.krm", "A int8 (\n)\n" * 100),
    "rules": ("a.json", MESSAGE % ",".join(FIELD % ("int8", n) for n in range(1, 100))),
}


@pytest.mark.parametrize(("name", "text"), MISTAKES.values(), ids=MISTAKES)
def test_a_full_report_ends_the_search_for_more(
    name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each text has a hundred mistakes of a kind."""
    monkeypatch.setattr(diagnostic, "MAX_FINDINGS", 3)
    found: list[object] = []
    for method in ("add", "record"):
        original = getattr(Report, method)

        def noted(*args: object, original: object = original, **details: object) -> None:
            found.append(args)
            original(*args, **details)  # type: ignore[operator]

        monkeypatch.setattr(Report, method, noted)
    (tmp_path / name).write_text(text)
    report = Report()
    load([tmp_path / name], report)
    assert "K028" in [one.code.number for one in report.diagnostics]
    assert len(found) < 40


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", MESSAGE % ",".join(["{}"] * 20_000)),
        ("a.json", MESSAGE % ('{"name": "%s"}' % ("a" * 100_000))),
        ("a.json", "//\n" * 30_000 + "{}"),
        ("a.jsonl", "1\n" * 30_000),
        ("a.krm", "A =>\n" + "  A: =>\n" * 10_000),
        ("a.krm", "A => " + '"' * 100_000),
        ("a.krm", INDENTED + "  A: int8\r\n" * 10_000),
    ],
)
def test_memory_is_in_proportion_to_the_text(
    name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diagnostic, "MAX_FINDINGS", 100)
    (tmp_path / name).write_text(text)
    assert peak(lambda: load([tmp_path / name], Report())) < 190 * len(text)


@pytest.mark.slow
def test_a_long_line_with_many_mistakes_is_not_laid_out_again_for_each(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(MESSAGE % ",".join(["1"] * 100_000))
    report = Report()
    load([tmp_path / "a.json"], report)
    some = report.diagnostics[:3]
    assert peak(lambda: render_text(some)) < 2 * len(some[0].primary.span.source.text)


def test_fields_are_not_compared_with_all_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []
    intersect = VersionRange.intersect

    def counted(one: VersionRange, other: VersionRange) -> VersionRange:
        compared.append(one)
        return intersect(one, other)

    monkeypatch.setattr(VersionRange, "intersect", counted)
    fields = (
        f'{{"name": "F{n}", "type": "int8", "versions": "0", "taggedVersions": "0", "tag": {n}, "aliases": ["A{n}"]}}'
        for n in range(200)
    )
    (tmp_path / "a.json").write_text((MESSAGE % ",".join(fields)).replace('"none"', '"0+"'))
    load([tmp_path / "a.json"], Report())
    assert len(compared) < 20 * 200


def test_messages_are_compared_only_with_those_that_may_be_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = Mock(return_value=False)
    monkeypatch.setattr(pairing, "_once_named", compared)
    sides = []
    for side in "ON":
        text = "\n".join(MESSAGE.replace('"M",', f'"{side}{n}",') % "" for n in range(300))
        (tmp_path / f"{side}.jsonl").write_text(text.replace('"O7",', '"O7", "aliases": ["N7"],'))
        schema = load([tmp_path / f"{side}.jsonl"], Report()).schema
        assert schema is not None
        sides.append(schema)
    assert not pairing.pair_messages(*sides).persisted
    assert [(old.name, new.name) for old, new in (call.args for call in compared.call_args_list)] == [("O7", "N7")]
