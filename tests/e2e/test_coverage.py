"""Nothing was left out, and what we say about releases is true. Runs when all others have."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.brokers import ALL, each_of
from tests.e2e.tally import Api, Tally
from tests.e2e.walk import Walk

broker = each_of(*ALL)

RELEASES = Path(__file__).parents[2] / "message_defs" / "kafka" / "releases.json"


def test_all_that_listeners_list_was_asked(walk: Walk, at_controller: Walk, tally: Tally) -> None:
    for listed in (walk, at_controller):
        listener = listed.client.listener
        tally.advertised[listener] = listed.listed
        assert sorted(listed.listed - tally.exercised[listener]) == []


def test_listeners_answered_what_their_release_accepts(walk: Walk, at_controller: Walk, tally: Tally) -> None:
    for listener, asked in (("broker", walk), ("controller", at_controller)):
        assert tally.exercised[asked.client.listener] == accepted(asked, listener)


def accepted(walk: Walk, listener: str) -> set[Api]:
    """Api keys and versions, as ``releases.json`` has them."""
    apis = json.loads(RELEASES.read_text())[walk.broker.release]["apis"]
    without = "none" if walk.broker.unstable else "unstable"
    return {
        (int(key), version)
        for key, api in apis.items()
        if listener in api["listeners"]
        for version in {*versions(api["accepts"])} - {*versions(api.get(without, "none"))}
    }


def versions(text: str) -> range:
    if text == "none":
        return range(0)
    lowest, _, highest = text.partition("-")
    return range(int(lowest), int(highest or lowest) + 1)
