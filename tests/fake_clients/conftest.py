"""Clients that other people wrote against the fake broker. Runs with ``make fake-clients`` only.

A run of a client stores what passed in ``build/fake-clients``, a file for each client, scenario by scenario.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE, RESULTS = ROOT / "docs" / "fake-broker.md", ROOT / "build" / "fake-clients"
SCENARIOS = ("produce", "group with rebalance", "transactions", "topics")
CLIENT = os.environ.get("KWIRE_FAKE_CLIENT", "")
collect_ignore_glob = [] if CLIENT else ["test_*.py"]
Passed = Callable[..., None]
_passed: dict[str, list[str]] = {}


@pytest.fixture
def passed() -> Passed:
    """Store that scenarios passed with a client and a release."""

    def note(client: str, release: str, *scenarios: str) -> None:
        for scenario in scenarios:
            assert scenario in SCENARIOS
            _passed.setdefault(scenario, []).append(release)
        (RESULTS / f"{client}.json").write_text(json.dumps(_passed))

    return note


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the tests of the client that is asked for. Tests without a client are for the first."""
    for item in [*items]:
        params = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        if item.path.parent == Path(__file__).parent and params.get("client", "confluent-kafka") != CLIENT:
            items.remove(item)
