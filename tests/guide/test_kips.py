"""Reasons of versions: remarks and proposals, the page of proposals, and versions that lack a reason."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from syrupy.assertion import SnapshotAssertion

from kwire_guide.inputs import Inputs
from kwire_guide.reasons import unexplained
from kwire_guide.site import emit_site
from kwirec.diagnostics.examples import field, request, response, tagged
from tests.guide.conftest import inputs, search_data

REMARKS = (
    "// Version 1 asks twice (KIP-7).\n// From version 3 on, `noon` is 12 (KIP-7, KIP-12).\n// Version 4 is silent.\n"
)
SAME = {"validVersions": "0-5", "flexibleVersions": "5+", "apiKey": 7}


def small(folder: Path, kips: Mapping[str, object]) -> Inputs:
    """An API with six versions: 1, 3 and 4 have remarks, and 2 adds a field to the request."""
    asked = request(field("Zone"), field("Moon", "int8", versions="2+"), **SAME)
    (folder / "ClockRequest.json").write_text(REMARKS + asked, "utf-8")
    (folder / "ClockResponse.json").write_text(
        response(field("Minute"), tagged("Late", 0, taggedVersions="5+"), **SAME)
    )
    (folder / "kips.json").write_text(json.dumps(kips))
    return inputs(folder)


def test_each_version_of_kafka_has_a_reason(union: Inputs) -> None:
    assert list(unexplained(union.schema, union.layouts, union.kips)) == []


def test_a_proposal_is_a_reason_only_where_the_bytes_show_what_it_brought(tmp_path: Path) -> None:
    kips = {"ClockRequest": {"0": [3], "2": [9], "5": [11]}, "ClockResponse": {"1": [7], "5": [11]}}
    small_one = small(tmp_path, kips)
    assert list(unexplained(small_one.schema, small_one.layouts, small_one.kips)) == [
        ("ClockResponse", version) for version in (2, 3, 4)
    ]
    assert list(unexplained(small_one.schema, small_one.layouts, {})) == [
        ("ClockRequest", 2),
        ("ClockRequest", 5),
        *(("ClockResponse", version) for version in (1, 2, 3, 4, 5)),
    ]


def test_the_page_of_proposals(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    kips = {"ClockRequest": {"0": [3], "2": [9], "5": [11]}, "ClockResponse": {"2": [9], "4": [9], "5": [11]}}
    pages = {one.path: one.text for one in emit_site(small(tmp_path, kips))}
    main = re.search(r"<main.*</main>", pages["kips.html"], re.DOTALL)
    assert main is not None
    assert main[0] == snapshot(name="page")
    history = re.search(r'<section class="history">.*?</section>', pages["api/clock.html"], re.DOTALL)
    assert history is not None
    assert history[0] == snapshot(name="history")
    found = {
        path: text
        for path, _, place, _, text, *_ in search_data(pages["assets/search.js"])["entries"]
        if place == "proposal"
    }
    assert found == {
        "kips.html#KIP-3": "ClockRequest 0",
        "kips.html#KIP-7": "ClockRequest 1, 3",
        "kips.html#KIP-9": "ClockRequest 2, ClockResponse 2, 4",
        "kips.html#KIP-11": "ClockRequest 5, ClockResponse 5",
        "kips.html#KIP-12": "ClockRequest 3",
    }
    assert list(found) == [f"kips.html#{anchor}" for anchor in reversed(re.findall(r'<h2 id="(.*?)">', main[0]))]


def test_a_guide_without_proposals_has_no_page_of_them(tmp_path: Path) -> None:
    (tmp_path / "ClockRequest.json").write_text(request(field("Zone"), **SAME))
    (tmp_path / "ClockResponse.json").write_text(response(field("Minute"), **SAME))
    assert "kips.html" not in {one.path for one in emit_site(inputs(tmp_path))}
