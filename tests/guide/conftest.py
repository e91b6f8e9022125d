"""The guide of the whole protocol, made once for all tests of a worker."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from kwire_guide.inputs import Inputs, read_inputs
from kwire_guide.site import emit_site
from kwirec.diagnostics.diagnostic import Report
from kwirec.driver import Loaded, load

ROOT = Path(__file__).parents[2]
UNION = ROOT / "message_defs" / "kafka"
DOCS = [
    ROOT / name for name in ("README.md", "docs", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
]
CLOCKWORK = ROOT / "tests" / "data" / "clockwork"


def loaded(folder: Path) -> Loaded:
    report = Report()
    found = load([folder], report)
    assert not report.has_errors(), [diagnostic.message for diagnostic in report.diagnostics]
    return found


def inputs(folder: Path, package: str = "", docs: Sequence[Path] = ()) -> Inputs:
    return read_inputs(loaded(folder), [folder], title="Kafka protocol", package=package, docs=docs)


def search_data(script: str) -> dict[str, Any]:
    """The content of the script of the search, with the fields among the entries as find.js has them."""
    found: dict[str, Any] = json.loads(script.removeprefix("window.kwireSearch = ").removesuffix(";\n"))
    page = ""
    for entry in found["entries"]:
        entry[0] = page + entry[0] if entry[0].startswith("#") else entry[0]
        page = entry[0].partition("#")[0]
    for start, (message, rows) in found.pop("fields").items():
        for place, former, doc in rows:
            found["entries"].append([start + place, place.split(".")[-1], f"in {message}", former, doc, 1, 3])
    return found


@pytest.fixture(scope="session")
def union() -> Inputs:
    return inputs(UNION, "kwire_kafka", DOCS)


@pytest.fixture(scope="session")
def site(union: Inputs) -> Mapping[str, str]:
    """The texts of all files by path."""
    return {artifact.path: artifact.text for artifact in emit_site(union)}
