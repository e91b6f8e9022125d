"""Clients that other people wrote against the fake broker. Runs with ``make fake-clients`` only.

A whole run without failures writes the table of what passed into the documentation.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest

collect_ignore_glob = [] if os.environ.get("KWIRE_FAKE_CLIENTS") == "1" else ["test_*.py"]
PAGE = Path(__file__).parents[2] / "docs" / "fake-broker.md"
BEGIN, END = "<!-- make fake-clients writes this table -->\n", "<!-- end of the table -->\n"
SCENARIOS = ("produce", "group with rebalance", "transactions", "topics")
Passed = Callable[..., None]
_passed: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))


@pytest.fixture
def passed() -> Passed:
    """Note that scenarios passed with a client and a release."""

    def note(client: str, release: str, *scenarios: str) -> None:
        for scenario in scenarios:
            assert scenario in SCENARIOS
            if release not in _passed[client][scenario]:
                _passed[client][scenario].append(release)

    return note


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if exitstatus == 0 and not session.config.option.keyword and _passed:
        page = PAGE.read_text()
        before, after = page[: page.index(BEGIN) + len(BEGIN)], page[page.index(END) :]
        PAGE.write_text(f"{before}\n{table()}\n{after}")


def table() -> str:
    """Return the releases with which each client passed each scenario."""
    rows = [["client", *SCENARIOS], ["---"] * (len(SCENARIOS) + 1)]
    for client, scenarios in sorted(_passed.items(), key=lambda row: row[0].lower()):
        rows.append([client, *(", ".join(scenarios[name]) or "–" for name in SCENARIOS)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)
