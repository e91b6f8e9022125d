"""Pages of reports in a real browser, where there is one: charts drawn, tables sorted, nothing asked of a network."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from report_samples import all_charts, report

from kwire_spark.reports.page import page

BROWSER = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-default-apps", "--disable-extensions"),
    *("--window-size=1200,2000", "--enable-logging=stderr", "--virtual-time-budget=10000", "--dump-dom"),
)
PROBE = """
const column = (number) => [...document.querySelectorAll("tbody tr")].map(row => row.cells[number].textContent);
const press = (number) => { document.querySelectorAll("th button")[number].click(); return column(number); };
const ids = column(1);
const result = {
  title: document.title,
  charts: document.querySelectorAll(".plot .main-svg").length > 0
    ? [...document.querySelectorAll(".plot")].filter(plot => plot.querySelector(".main-svg")).map(plot => plot.dataset.figure)
    : [],
  labels: [...document.querySelectorAll(".plot[data-figure=bars] .ytick text")].map(tick => tick.textContent),
  wider: document.documentElement.scrollWidth > innerWidth,
  dark: matchMedia("(prefers-color-scheme: dark)").matches,
  ink: getComputedStyle(document.querySelector(".plot[data-figure=bars] .ytick text")).fill,
  ids, up: press(1), down: press(1), texts: press(0), sorted: document.querySelector("th").getAttribute("aria-sort"),
};
document.body.replaceChildren(Object.assign(document.createElement("pre"), { id: "result", textContent: JSON.stringify(result) }));
"""

pytestmark = pytest.mark.skipif(not BROWSER, reason="no browser is installed")


def looked_at(folder: Path, *flags: str) -> tuple[dict[str, Any], str, set[str]]:
    """What a script in the page found, what the browser logged of it, and the addresses that it asked for."""
    allowed = f"'sha256-{b64encode(sha256(PROBE.encode()).digest()).decode()}'"
    text = page(report()).replace("script-src ", f"script-src {allowed} ", 1)
    place, net = folder / "page.html", folder / "net.json"
    place.write_text(text.replace("</body>", f"<script>{PROBE}</script></body>"), "utf-8")
    command = [
        BROWSER,
        *FLAGS,
        *flags,
        f"--user-data-dir={folder / 'profile'}",
        f"--log-net-log={net}",
        place.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    found = re.search(r'<pre id="result">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr
    result = json.loads(found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    asked = set(re.findall(r'"url":\s*"((?:http|ws)s?:[^"]*)"', net.read_text("utf-8")))
    return result, "\n".join(line for line in done.stderr.splitlines() if ":CONSOLE" in line), asked


def test_a_page_in_a_browser(tmp_path: Path) -> None:
    result, console, asked = looked_at(tmp_path)
    assert not console
    assert not asked
    assert result["title"] == report().title
    assert result["charts"] == [chart.name for chart in all_charts()]
    assert result["labels"][0] == "<script>document.ti…'</script>"[:19] + "…" + "/script>"
    requests = [str(cell) for cell in report().tables[0].column("requests")]
    assert result["ids"] == result["up"] == requests
    assert result["down"] == requests[::-1]
    assert result["texts"] != result["texts"][::-1]
    assert result["sorted"] == "ascending"
    assert not result["dark"]


def test_a_page_on_a_phone_in_the_dark(tmp_path: Path) -> None:
    result, console, _ = looked_at(tmp_path, "--window-size=500,900", "--blink-settings=preferredColorScheme=0")
    assert not console
    assert result["dark"]
    assert not result["wider"]
    assert result["ink"] == "rgb(232, 235, 240)"
    assert result["charts"] == [chart.name for chart in all_charts()]
