"""What the scripts make of pages of a small protocol: what the browser has after each step of a reader."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import ndiff
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.guide.test_browser import pytestmark, seen  # noqa: F401
from tests.guide.test_pages import Shown, clocks  # noqa: F401


@pytest.fixture(scope="module")
def folder(clocks: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    folder = tmp_path_factory.mktemp("site")
    for path, text in clocks.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")
    return folder


STEPS = {
    "a comparison": "",
    "a click on a version": """current().querySelector("[name=request-version][value='1']").click()""",
    "a version to compare with": """
        const select = current().querySelector("select");
        select.value = "2";
        select.dispatchEvent(new Event("change"));
    """,
    "the other half": """one(".parts [data-part=response]").click()""",
    "versions that are none": """location.hash = "#request-v9-vs-8" """,
    "a field that this version lacks": """location.hash = "#request-v2.alarms.hour" """,
    "a pointer over a byte": """
        all(".current .hex b")[9].dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
    """,
    "a click on a line of the grammar": """all(".current .shown .line")[1].lastChild.parentElement.click()""",
    "a pointer elsewhere": """
        all(".current .box")[1].dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
    """,
    "a click on a box": """all(".current .box")[1].click()""",
    "a pointer that leaves": """current().dispatchEvent(new PointerEvent("pointerleave"))""",
}


def test_what_readers_see_step_by_step(folder: Path, snapshot: SnapshotAssertion) -> None:
    """The whole message at first, then what each step changes."""
    steps = ",".join(f"async () => {{ {step} }}" for step in STEPS.values())
    script = f"""
        const states = [];
        for (const step of [{steps}]) {{
          await step();
          await soon();
          await soon();
          const copy = current().cloneNode(true);
          const still = "script, .definition, .python, .conversions, .releases > :not(summary), .fields .doc, .signs";
          for (const gone of copy.querySelectorAll(still)) gone.remove();
          copy.querySelector(".bar").removeAttribute("style");
          const boxes = copy.querySelectorAll("input, select");
          for (const [at, box] of [...current().querySelectorAll("input, select")].entries()) {{
            boxes[at].setAttribute("value", `${{box.value}} ${{box.checked ?? ""}}`);
          }}
          states.push([`${{location.hash}} ${{history.length}}`, one(".parts").outerHTML + copy.outerHTML]);
        }}
        tell({{ states }});
    """
    before: list[str] = []
    told = []
    for name, (place, html) in zip(
        STEPS, seen(folder, "api/clock.html#request-v2-vs-0", script)["states"], strict=True
    ):
        now = [line for line in Shown(f"<main>{html}</main>", "main").lines if line]
        changes = [line for line in ndiff(before, now) if line[0] in "+-"]
        told += [f"{name}: {place}, {sum(line[0] == '-' for line in changes)} lines gone"]
        told += [line for line in changes if line[0] == "+"]
        before = now
    assert "\n".join(told) == snapshot
