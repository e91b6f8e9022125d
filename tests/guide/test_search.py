"""The entries of the search box, of a small protocol."""

from __future__ import annotations

from pathlib import Path

from kwire_guide.site import emit_site
from kwirec.diagnostics.examples import enum, field, request, response, value
from tests.guide.conftest import inputs, search_data


def test_entries_of_the_search(tmp_path: Path) -> None:
    folder = tmp_path / "clocks"
    (folder / "guide").mkdir(parents=True)
    for name, text in {
        "ClockRequest": request(field("Zone", aliases=["Region"]), apiKey=0),
        "ClockResponse": response(field("Hour", "int8", enum="Phase"), apiKey=0),
        "Phase": enum(value("NEW", 4)),
    }.items():
        (folder / f"{name}.json").write_text(text)
    (folder / "guide" / "search.txt").write_text("# Words\n\nOld words = Hands\n")
    words = " ".join(f"word{number}" for number in range(100))
    (folder / "guide" / "10-clocks.md").write_text(f"# Clocks\n\nThey `tick`.\n\n## Hands\n\n{words}\n")
    [script] = [one.text for one in emit_site(inputs(folder)) if one.text.startswith("window.kwireSearch")]
    content = search_data(script)
    assert content["synonyms"] == {"old words": "Hands"}
    assert content["apis"] == {"0": ["api/clock.html", "Clock", 0, "1222"[: len(content["apis"]["0"][3])]]}
    assert [one for one in content["entries"] if not one[0].startswith("types.html#")] == [
        ["api/clock.html", "Clock", "clocks", "ClockRequest ClockResponse api key 0",
         "Asks for the time. Returns the time.", 4, 1],
        ["enums.html#Phase", "Phase", "enum", "ClockResponse.hour", "A phase of the moon.", 3, 2],
        ["enums.html#Phase.NEW", "NEW", "in Phase", "4 ClockResponse.hour", "It is new.", 2, 2],
        ["guide/clocks.html", "Clocks", "guide", "tick", "They tick.", 3, 0],
        ["guide/clocks.html#hands", "Hands", "in Clocks", "", words, 2, 0],
        ["types.html", "Types", "table", "", "", 2, 2],
        ["enums.html", "Enums", "table", "", "", 2, 2],
        ["api/clock.html#request.zone", "zone", "in ClockRequest", "region", "The zone.", 1, 3],
        ["api/clock.html#response.hour", "hour", "in ClockResponse", "", "The hour.", 1, 3],
    ]  # fmt: skip
    assert ["types.html#BOOLEAN", "BOOLEAN", "type", ""] in [one[:4] for one in content["entries"]]
