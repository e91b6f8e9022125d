"""Run the scenarios of all clients, or of those that are named, and write the table of what passed into the page.

Each client has a process and a time of its own. So one that hangs or fails costs only its row.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence

from tests.fake_clients.clients import CLIENTS
from tests.fake_clients.conftest import PAGE, RESULTS, SCENARIOS
from tests.fake_clients.test_clients import RELEASE_LINES
from tests.fake_clients.test_languages import PROGRAMS

SECONDS = 900
"""Time for a client."""
BEGIN, END = "<!-- make fake-clients writes this table -->\n", "<!-- end of the table -->\n"


def run(client: str) -> str:
    """Return how the scenarios of a client ended."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{client}.json").unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-n", "0", "--timeout", "180", "-q", "tests/fake_clients"]
    try:
        done = subprocess.run(command, env=os.environ | {"KWIRE_FAKE_CLIENT": client}, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"not done after {SECONDS} s"
    return "passed" if done.returncode == 0 else "failed"


def table() -> str:
    """Return the releases with which each client passed each scenario, or ``all``."""

    def passed(releases: Sequence[str]) -> str:
        return "all" if {*releases} == {*RELEASE_LINES} else ", ".join(sorted(releases)) or "–"

    rows = [["client", *SCENARIOS], ["--"] * (len(SCENARIOS) + 1)]
    for path in sorted(RESULTS.glob("*.json"), key=lambda path: path.stem.lower()):
        found = json.loads(path.read_text())
        rows.append([path.stem, *(passed(found.get(name, ())) for name in SCENARIOS)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def main() -> int:
    """Return the number of clients that did not pass."""
    ended = {client: run(client) for client in sys.argv[1:] or [*CLIENTS, *PROGRAMS]}
    page = PAGE.read_text()
    before, after = page[: page.index(BEGIN) + len(BEGIN)], page[page.index(END) :]
    PAGE.write_text(f"{before}\n{table()}\n{after}")
    for client, how in ended.items():
        print(f"{client}: {how}")
    return sum(how != "passed" for how in ended.values())


if __name__ == "__main__":
    raise SystemExit(main())
