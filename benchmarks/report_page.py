"""Measures the time to make a report about many clients, and to open the report in a browser.

``python -m benchmarks.report_page [--clients 10000] [--rounds 3]``

Artificial clients are stored in a table like the one that ``clients`` writes. Each client has three rows, and every
seventh client is refused. ``kwire readiness --engine local`` reports on the table. Chromium, if installed, opens the
page. *opened* is the time until the page is loaded and its scripts have run, without the start of the browser.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from operator import methodcaller
from pathlib import Path

import pyarrow as pa

from benchmarks.readiness import finished
from benchmarks.timing import table
from kwire_inspect.schemas import CLIENTS, PROBLEMS
from kwire_inspect.tables.files import write_parquet
from tests.support.browser import BROWSER, FLAGS

SPOKEN = (
    (("Fetch", 1, 13), ("Produce", 0, 9), ("Metadata", 3, 12)),
    (("Fetch", 1, 2), ("Produce", 0, 1), ("Metadata", 3, 0)),
)
"""The API name, key and version of each request, for an accepted client and for a refused client."""
START = datetime(2026, 1, 2, tzinfo=UTC)
PROBE = """
addEventListener("load", () => {
  const told = Object.assign(document.createElement("pre"), { id: "told", textContent: performance.now() });
  document.body.replaceChildren(told);
});"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--clients", type=int, default=10_000)
    options.add_argument("--rounds", type=int, default=3)
    given = options.parse_args()
    rows = []
    for count in (1, given.clients):
        made, opened, size = [], [], 0
        with tempfile.TemporaryDirectory() as folder:
            write_parquet(methodcaller("__call__", [clients(count)]), folder, {"clients": iter})
            write_parquet(
                methodcaller("__call__", [pa.RecordBatch.from_pylist([], PROBLEMS)]), folder, {"problems": iter}
            )
            words = ["readiness", "--engine", "local", "--target", "4.4.0", folder, "--out", f"{folder}/out", "-q"]
            page = Path(folder, "out", "readiness.html")
            for _ in range(given.rounds):
                made.append(finished(sys.executable, "-m", "kwire", *words)[0])
                size = page.stat().st_size
                if BROWSER:
                    opened.append(milliseconds(page))
        middle = given.rounds // 2
        shown = f"{sorted(opened)[middle]:.0f}" if opened else "no browser"
        rows.append([str(count), f"{sorted(made)[middle]:.2f}", f"{size / 1e6:.1f}", shown])
    print(f"load {os.getloadavg()[0]:.1f}, medians")
    print(table(["clients", "s of CPU to make", "MB of page", "ms until opened"], rows))


def clients(count: int) -> pa.RecordBatch:
    """Return a batch of the table CLIENTS with three rows for each of ``count`` clients."""
    rows = []
    for number in range(count):
        for api, key, version in SPOKEN[number % 7 == 0]:
            rows.append(
                {
                    "input_kind": "capture",
                    "client_host": f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}",
                    "server_port": 9092,
                    "client_id": f"team-{number % 40}-service-{number}",
                    "software_name": ("librdkafka", "apache-kafka-java", "sarama")[number % 3],
                    "software_version": f"2.{number % 13}.0",
                    "api_key": key,
                    "api": api,
                    "version": version,
                    "first_seen": START,
                    "last_seen": START + timedelta(seconds=number),
                    "requests": number + 1,
                    "errors": 0,
                    "refused": 0,
                    "connections": 1,
                    "source": "capture.pcap",
                    "position": number * 1000,
                    "bytes": 1000,
                    "begun": 1,
                }
            )
    return pa.RecordBatch.from_pylist(rows, CLIENTS)


def milliseconds(page: Path) -> float:
    """Return the time to load a page, in milliseconds, as measured by a script that is added to a copy of it."""
    allowed = f"'sha256-{b64encode(sha256(PROBE.encode()).digest()).decode()}'"
    text = page.read_text("utf-8").replace("script-src ", f"script-src {allowed} ", 1)
    probed = page.with_name("probed.html")
    probed.write_text(text.replace("</body>", f"<script>{PROBE}</script></body>"), "utf-8")
    with tempfile.TemporaryDirectory() as profile:
        own = [flag for flag in FLAGS if not flag.startswith("--virtual-time")]
        words = [BROWSER, *own, f"--user-data-dir={profile}", "--dump-dom", probed.as_uri()]
        done = subprocess.run(words, capture_output=True, text=True, timeout=240, check=True)
    return float(done.stdout.split('<pre id="told">')[1].split("<")[0])


if __name__ == "__main__":
    main()
