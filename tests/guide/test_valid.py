"""All pages are valid HTML for the Nu checker of the W3C, which knows elements, attributes and ARIA."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from kwire_guide.site import emit_site
from tests.guide.conftest import CLOCKWORK, inputs
from tests.guide.test_documents import WHOLE, project

pytestmark = [
    pytest.mark.skipif("KWIRE_VNU" not in os.environ, reason="KWIRE_VNU names no vnu.jar: make guide-check"),
    pytest.mark.slow,
]


def problems(site: Mapping[str, str], folder: Path) -> list[str]:
    """Write the pages to a folder and return what the checker says about them, without origins: files have none."""
    for path, text in site.items():
        if path.endswith(".html"):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, "utf-8")
    command = [
        "java",
        "-Xss4m",
        "-jar",
        os.environ["KWIRE_VNU"],
        "--format",
        "json",
        "--exit-zero-always",
        str(folder),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    found = [
        f"{one.get('url', '')}:{one.get('lastLine', 0)} {one['message']}"
        for one in json.loads(done.stderr)["messages"]
    ]
    return [one for one in found if "Content Security Policy" not in one]


def test_pages_of_kafka_are_valid(site: Mapping[str, str], tmp_path: Path) -> None:
    assert problems(site, tmp_path) == []


def test_pages_of_a_protocol_of_its_own_are_valid_and_an_error_is_found(tmp_path: Path) -> None:
    docs = project(tmp_path / "docs", README_md=WHOLE)
    small = {one.path: one.text for one in emit_site(inputs(CLOCKWORK, "clockwork_wire", [docs]))}
    assert problems(small, tmp_path / "small") == []
    broken = (
        small["types.html"].replace("<h1>", '<h1 onclik="">', 1).replace("<dl>", "<dl><div><a>no term</a></div>", 1)
    )
    found = [one.partition(" ")[2] for one in problems({"types.html": broken}, tmp_path / "broken")]
    assert found[0] == "Attribute “onclik” not allowed on element “h1” at this point."
    assert any("Element “a” not allowed as child of element “div”" in one for one in found), found
