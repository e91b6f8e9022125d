"""Chromium without a window and without a network, for pages that are opened as files."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from html import unescape
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next((found for name in NAMES if (found := shutil.which(name))), "")
"""The browser of this machine; empty if there is none."""
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-extensions"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps"),
    *("--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr", "--virtual-time-budget=8000"),
)


def opened(address: str, *options: str) -> tuple[str, list[str]]:
    """The page after its scripts ran, as HTML, and what the browser wrote to the console."""
    with tempfile.TemporaryDirectory() as profile:
        command = [BROWSER, *FLAGS, *options, f"--user-data-dir={profile}", "--dump-dom", address]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=True)
    return done.stdout, [line for line in done.stderr.splitlines() if ":CONSOLE" in line]


def told(address: str, *options: str) -> dict[str, Any]:
    """What a script in the page left as JSON in an element with the id ``told``, and the ``console``."""
    text, console = opened(address, *options)
    found = re.search(r'<pre id="told">(.*?)</pre>', text, re.DOTALL)
    assert found, console
    result: dict[str, Any] = json.loads(unescape(found[1]))
    return result | {"console": console}


def picture(address: str, file: Path, size: str, *options: str) -> None:
    """Write a picture of the page to ``file``."""
    with tempfile.TemporaryDirectory() as profile:
        given = (f"--screenshot={file}", f"--window-size={size}", f"--user-data-dir={profile}")
        subprocess.run([BROWSER, *FLAGS, *options, *given, address], capture_output=True, timeout=240, check=True)
