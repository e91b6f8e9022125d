"""Comments about versions, as the guide shows them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from kwire_guide.inputs import Inputs
from kwire_guide.remarks import remarks
from kwire_guide.site import emit_site
from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.source import Source
from kwirec.frontend import parse
from tests.guide.conftest import inputs

HEAD = '"type": "data", "name": "Clock", "about": "A clock.", "validVersions": "0-6", "flexibleVersions": "none"'


def said(comments: str) -> Mapping[int, list[str]]:
    """The statements of a definition with these comments."""
    (message,) = parse(Source("Clock.json", f'{{ {HEAD},\n{comments}\n"fields": [] }}'), Report()).messages
    return {version: list(texts) for version, texts in remarks(message, range(7)).items()}


@pytest.mark.parametrize(
    ("comment", "versions"),
    [
        ("Version 3 adds it.", [3]),
        ("Versions 1 and 2 are the same as version 0.", [1, 2]),
        ("Version 1, 3, and 5 have it.", [1, 3, 5]),
        ("Versions 0 through 2 lack it.", [0, 1, 2]),
        ("Versions 1-2, 5–9 are ours.", [1, 2, 5, 6]),
        ("Starting in version 4, it is there.", [4]),
        ("Since v2 it is there.", [2]),
        ("From version 6 on it is there.", [6]),
        ("In Version 2: more.", [2]),
        ("version 1 is in small letters", [1]),
        ("Version 70000 is far away.", []),
        ("Version 4.1 of Kafka adds it.", []),
        ("The version 3 of it.", []),
        ("Conversions 3 are no versions.", []),
        ("Version 3x is none.", []),
    ],
)
def test_a_statement_starts_with_its_versions(comment: str, versions: list[int]) -> None:
    assert said(f"// {comment}") == {version: [comment] for version in versions}


def test_statements_end_with_the_next_one_a_list_or_a_paragraph() -> None:
    text = """
    // Of no version. Version 1 adds
    // one field.  It is
    //   large. Version 2 adds two (KIP-1). Version 3
    // adds three.
    //
    // Of no version.
    // Version 4 adds four. Errors:
    // - ERROR (version 5)
    // - Version 5
    // Version 6 adds six, with these:
    // A and B."""
    assert said(text) == {
        1: ["Version 1 adds one field. It is large."],
        2: ["Version 2 adds two (KIP-1)."],
        3: ["Version 3 adds three."],
        4: ["Version 4 adds four."],
        6: ["Version 6 adds six, with these: A and B."],
    }


def test_comments_of_all_nodes_count_each_for_itself() -> None:
    text = f"""// Version 1 is of the file,
{{ {HEAD}, /* Version 2 is
  * of the head. */
  "fields": [ {{ "name": "A", "type": "int8", "versions": "0+" }} // Version 3 is of A
  // and this is of the list.
  ] }}"""
    (message,) = parse(Source("Clock.json", text), Report()).messages
    assert remarks(message, range(7)) == {
        1: ["Version 1 is of the file,"],
        2: ["Version 2 is of the head. and this is of the list."],
        3: ["Version 3 is of A"],
    }


def test_the_page_shows_them_escaped(tmp_path: Path) -> None:
    comment = "// Version 1 adds <script>alert(1)</script> & {{ more }}."
    (tmp_path / "Clock.json").write_text(f'{{ {HEAD},\n{comment}\n"fields": [] }}')
    pages = {one.path: one.text for one in emit_site(inputs(tmp_path))}
    (page,) = [text for path, text in pages.items() if "Clock</h1>" in text and path.endswith("clock.html")]
    assert '<p class="remark">Version 1 adds &lt;script&gt;alert(1)&lt;/script&gt; &amp; {{ more }}.</p>' in page
    assert "<script>alert" not in page


def test_the_union_says_what_it_says(union: Inputs) -> None:
    told = {m.name: remarks(m.decl, union.layouts.by_message[m.name]) for m in union.schema.messages}
    assert set(told["ConnectMemberMetadata"]) == {1, 2}
    [reason] = told["FetchRequest"][14]
    assert reason.startswith("From version 14 on, ")
    assert reason.endswith(" (KIP-405).")


@pytest.mark.slow
def test_long_comments_take_linear_time() -> None:
    for text in ("Version 1" + " " * 100_000 + ",", "Version 1" + ", 2" * 50_000, "Version 1. " * 20_000):
        assert 1 in said(f"// {text}")
