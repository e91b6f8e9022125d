"""Chapters in prose: titles, anchors and tables, and nothing that a browser would run."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from kwire_guide.chapters import ChapterError, read_chapters
from kwire_guide.fields import field_rows
from kwire_guide.inputs import Inputs
from kwire_guide.kips import kip_address
from kwire_guide.rendering import breakable, coded
from tests.guide.conftest import UNION


def folder(tmp_path: Path, **texts: str) -> Path:
    (tmp_path / "guide").mkdir()
    for name, text in texts.items():
        (tmp_path / "guide" / name.replace("_", "-").replace("-md", ".md")).write_text(text, "utf-8")
    return tmp_path


def test_a_chapter_has_title_summary_anchors_and_tables(tmp_path: Path) -> None:
    table = "| a | b |\n|---|---:|\n| 1 | 2 |\n"
    text = f"# All clocks\n\nA `clock` [ticks](other.html). It stops.\n\n## Hands\n\n## Hands\n\n{table}"
    (chapter,) = read_chapters([folder(tmp_path, **{"10_clocks_md": text})])
    found = chapter.prose
    assert (chapter.path, found.title, found.about) == ("guide/clocks.html", "All clocks", "A clock ticks.")
    assert [(one.anchor, one.title) for one in found.headings] == [("hands", "Hands"), ("hands-1", "Hands")]
    assert found.headings[1].text == "a b 1 2"
    assert found.names == ("clock",)
    assert '<h2 id="hands-1">' in found.body
    assert '<div class="scroll"' in found.body
    assert '<td class="number">2</td>' in found.body
    assert "style" not in found.body


def test_html_and_addresses_that_run_are_text(tmp_path: Path) -> None:
    text = "# <b>T</b>\n\n<script>alert(1)</script>\n\n[x](javascript:alert(1)) \u202e <img src=x onerror=a()>\n"
    found = read_chapters([folder(tmp_path, x_md=text)])[0].prose
    assert "<script" not in found.body
    assert "<img" not in found.body
    assert "<b>" not in found.body
    assert 'href="javascript' not in found.body
    assert "\u202e" not in found.body


def test_proposals_are_links_outside_of_links(tmp_path: Path) -> None:
    where = folder(tmp_path, x_md="# T\n\nSee KIP-848, [KIP-1](a.html) and `KIP-2`, not XKIP-3 but KIP-4.\n")
    body = read_chapters([where])[0].prose.body
    assert (
        f'See <a href="{kip_address(848)}">KIP-848</a>, <a href="a.html">KIP-1</a> and <code>KIP-2</code>, ' in body
    )
    assert f'not XKIP-3 but <a href="{kip_address(4)}">KIP-4</a>.' in body


def test_chapters_are_in_the_order_of_their_names(tmp_path: Path) -> None:
    where = folder(tmp_path, **{"20_b_md": "# B\n", "10_c_md": "# Größe\n", "30_kip_848_md": "# K\n"})
    assert [(found.path, found.prose.title) for found in read_chapters([where])] == [
        ("guide/c.html", "Größe"),
        ("guide/b.html", "B"),
        ("guide/kip-848.html", "K"),
    ]


@pytest.mark.parametrize(("name", "text"), [("10_Clock_md", "# T\n"), ("clock_md", "no title\n"), ("clock_md", "")])
def test_what_is_no_chapter_is_refused_by_name(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(ChapterError, match=r"lock\.md: "):
        read_chapters([folder(tmp_path, **{name: text})])


@pytest.mark.slow
def test_apis_that_never_became_flexible_are_named(union: Inputs) -> None:
    text = (UNION / "guide" / "40-flexible.md").read_text("utf-8")
    classic = {
        message.name.removesuffix("Request").removesuffix("Response")
        for message in union.schema.messages
        if message.is_rpc and not any(one.is_flexible for one in union.layouts.by_message[message.name].values())
    }
    named = re.search(r"(\w+) and (\w+) have no flexible version", text)
    assert named
    assert set(named.groups()) == classic


def test_every_api_has_its_broker(union: Inputs) -> None:
    """Once, in the tables of which broker answers what."""
    text = (UNION / "guide" / "20-bootstrapping.md").read_text("utf-8")
    rows = re.findall(r"^\| (.*?) \|", text, re.MULTILINE)
    named = Counter(name for row in rows for name in row.split(", ") if re.fullmatch(r"([A-Z]\w+)", name))
    apis = [one.name.removesuffix("Request") for one in union.schema.messages if one.name.endswith("Request")]
    assert named == Counter(apis)


def test_words_between_backticks_are_code() -> None:
    assert coded("Is `ignorable`, <b>`x<y`</b>.") == (
        "Is <code>ignorable</code>, &lt;b&gt;<code>x&lt;y</code>&lt;/b&gt;."
    )
    assert coded("a ` b") == "a ` b"
    assert coded("a `b\nc` d") == "a `b\nc` d"
    assert coded(f"`{'x' * 29}_y`") == f"<code>{'x' * 29}_<wbr>y</code>"
    assert coded(f"`{'x' * 28}_y`") == f"<code>{'x' * 28}_y</code>"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("ShortNameXyz", "ShortNameXyz"),
        ("topics.partition_id", "topics.<wbr>partition_<wbr>id"),
        ("ScramSha256Hash", "Scram<wbr>Sha256<wbr>Hash"),
        ("num_of_<partitions>", "num_<wbr>of_<wbr>&lt;partitions&gt;"),
    ],
)
def test_long_names_may_be_broken_between_their_words(name: str, shown: str) -> None:
    assert breakable(name) == shown


@pytest.mark.slow
def test_chapters_name_errors_and_fields_that_there_are(union: Inputs) -> None:
    errors = {error.name.value for error in union.errors}
    fields = {row.name for message in union.schema.messages for row in field_rows(message)}
    settings = {"acks", "base_offset", "base_timestamp"}  # of producers, and of record batches
    named = {
        name
        for file in (UNION / "guide").glob("*.md")
        for name in re.findall(r"`([A-Za-z]+_[A-Za-z_]+)`", file.read_text("utf-8"))
    }
    assert len(named) > 40
    assert {name for name in named if name.isupper()} - errors == {
        "COMPACT_ARRAY",
        "SASL_PLAINTEXT",
        "SASL_SSL",
        "TAG_BUFFER",
    }
    assert {name for name in named if name.islower()} - fields - settings == set()
