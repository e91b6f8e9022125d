"""The entries of the search box, of a small protocol."""

from __future__ import annotations

import json
from pathlib import Path

from kwire_guide.site import emit_site
from kwirec.diagnostics.examples import enum, field, request, response, value
from tests.guide.conftest import inputs


def test_entries_of_the_search(tmp_path: Path) -> None:
    folder = tmp_path / "clocks"
    (folder / "guide").mkdir(parents=True)
    for name, text in {
        "ClockRequest": request(field("Zone", aliases=["Region"]), apiKey=0),
        "ClockResponse": response(field("Hour", "int8", enum="Phase"), apiKey=0),
        "Phase": enum(value("NEW", 4)),
    }.items():
        (folder / f"{name}.json").write_text(text)
    words = " ".join(f"word{number}" for number in range(100))
    (folder / "guide" / "10-clocks.md").write_text(f"# Clocks\n\nThey `tick`.\n\n## Hands\n\n{words}\n")
    [script] = [one.text for one in emit_site(inputs(folder)) if one.text.startswith("window.kwireSearch")]
    entries = json.loads(script.removeprefix("window.kwireSearch = ").removesuffix(";\n"))
    assert entries == [
        ["api/clock.html", "Clock", "clocks", "ClockRequest ClockResponse api key 0",
         "Asks for the time. Returns the time.", 4],
        ["api/clock.html#request.zone", "zone", "in ClockRequest", "region", "The zone.", 1],
        ["api/clock.html#response.hour", "hour", "in ClockResponse", "", "The hour.", 1],
        ["enums.html#Phase", "Phase", "enum", "", "A phase of the moon.", 3],
        ["enums.html#Phase.NEW", "NEW", "in Phase", "4", "It is new.", 2],
        ["guide/clocks.html", "Clocks", "guide", "tick", "They tick.", 3],
        ["guide/clocks.html#hands", "Hands", "in Clocks", "", words[:400], 2],
        ["types.html", "Types", "tables", "", "", 2],
        ["enums.html", "Enums", "tables", "", "", 2],
    ]  # fmt: skip
