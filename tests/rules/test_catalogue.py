"""Lookup of codes, what ``explain`` prints, and the pages in ``docs/rules/``."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from kwirec import catalogue
from kwirec.diagnostics.diagnostic import closest, did_you_mean

PAGES = Path(__file__).parents[2] / "docs" / "rules"


@pytest.mark.parametrize("word", ["K602", "k602", "duplicate-tag", " Duplicate-Tag "])
def test_find(word: str) -> None:
    code = catalogue.find(word)
    assert code is not None
    assert code.number == "K602"


def test_find_nothing() -> None:
    assert catalogue.find("K999") is None
    assert catalogue.find("") is None
    assert catalogue.suggestion("dupplicate-tag") == "did you mean `duplicate-tag`?"


@pytest.mark.parametrize("number", ["K603", "K703", "K001", "K409"])
def test_explanation(number: str, snapshot: SnapshotAssertion) -> None:
    code = catalogue.find(number)
    assert code is not None
    assert catalogue.explain_text(code) == snapshot


def test_pages_are_up_to_date() -> None:
    """`kwirec.catalogue.write_pages` writes them anew."""
    there = {path.name: path.read_text(encoding="utf-8") for path in PAGES.glob("*.md") if path.name != "changes.md"}
    assert there == catalogue.pages()


@pytest.mark.slow
def test_write_pages(tmp_path: Path) -> None:
    folder, expected = tmp_path / "docs" / "rules", {name: text.encode() for name, text in catalogue.pages().items()}
    catalogue.write_pages(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == expected
    (folder / "K999.md").write_text("a rule that was removed")
    (folder / "notes.md").write_text("not ours")
    catalogue.write_pages(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == expected | {"notes.md": b"not ours"}


def test_a_suggestion_is_spelled_as_codes_are() -> None:
    assert catalogue.suggestion("k6022") == "did you mean `K602`?"


def test_index_links_every_page() -> None:
    for code in catalogue.CODES:
        assert f"[{code.number}]({code.number}.md)" in catalogue.index()


@pytest.mark.parametrize(
    ("word", "found"),
    [("abcxy", "ABCde"), ("abcxyz", None), ("String", "string"), ("strng", "string"), ("", None)],
)
def test_a_hint_shares_three_fifths_of_its_letters(word: str, found: str | None) -> None:
    assert closest(word, ["string", "ABCde"]) == found
    assert did_you_mean(word, ["string", "ABCde"]) == (f"did you mean `{found}`?" if found else "")
