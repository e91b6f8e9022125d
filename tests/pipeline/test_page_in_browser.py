"""Pages of reports in a real browser, where there is one: charts drawn, tables sorted, nothing asked of a network."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from typing import Any

import pytest

from kwire_spark.reports.page import page
from tests.browser import BROWSER, told
from tests.pipeline.report_samples import all_charts, report

PROBE = """
const texts = (selector) => [...document.querySelectorAll(selector)].map(found => found.textContent);
const column = (number) => texts(`tbody td:nth-child(${number})`);
const heading = (number) => document.querySelector(`th:nth-child(${number})`);
const press = (number) => { heading(number).firstElementChild.click(); return column(number); };
const drawn = (plot) => plot.querySelector(".main-svg");
const result = {
  title: document.title,
  charts: [...document.querySelectorAll(".plot")].filter(drawn).map(plot => plot.dataset.figure),
  labels: texts(".plot[data-figure=bars] .ytick text"),
  ink: getComputedStyle(document.querySelector(".plot[data-figure=bars] .ytick text")).fill,
  loaded: performance.getEntriesByType("resource").map(entry => entry.name),
  wider: document.documentElement.scrollWidth > innerWidth,
  before: column(2), up: press(2), down: press(2), state: heading(2).ariaSort,
};
const told = Object.assign(document.createElement("pre"), { id: "told", textContent: JSON.stringify(result) });
document.body.replaceChildren(told);
"""

pytestmark = pytest.mark.skipif(not BROWSER, reason="no browser is installed")


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a script in the page found on a small dark screen, and what the browser had to say (``console``)."""
    folder = tmp_path_factory.mktemp("browser")
    allowed = f"'sha256-{b64encode(sha256(PROBE.encode()).digest()).decode()}'"
    text = page(report()).replace("script-src ", f"script-src {allowed} ", 1)
    place = folder / "page.html"
    place.write_text(text.replace("</body>", f"<script>{PROBE}</script></body>"), "utf-8")
    return told(place.as_uri(), "--blink-settings=preferredColorScheme=0", "--window-size=500,900")  # dark


def test_all_charts_are_drawn_without_a_complaint(seen: dict[str, Any]) -> None:
    assert seen["charts"] == [chart.name for chart in all_charts()]
    assert seen["console"] == []


def test_nothing_is_loaded_and_no_text_is_run(seen: dict[str, Any]) -> None:
    assert seen["loaded"] == []
    assert seen["title"] == report().title
    assert seen["labels"][0] == "<script>document.ti…/script>"


def test_tables_sort_by_number_and_back(seen: dict[str, Any]) -> None:
    requests = [str(cell) for cell in report().tables[0].column("requests")]
    assert seen["before"] == seen["up"] == requests
    assert seen["down"] == requests[::-1]
    assert seen["state"] == "descending"


def test_a_small_screen_and_the_dark(seen: dict[str, Any]) -> None:
    assert not seen["wider"]
    assert seen["ink"] == "rgb(232, 235, 240)"
