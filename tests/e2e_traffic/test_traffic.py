"""What clients of several ages say to real brokers: what the pipeline sees, against what they and the brokers say."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.e2e_traffic.cast import CAST
from tests.e2e_traffic.checks import CHECKS, Check, Run
from tests.e2e_traffic.languages import TOOLS, missing
from tests.e2e_traffic.named import named
from tests.real_kafka.releases import BEFORE, BROKERS, NEWEST, STRICT

Recorded = Callable[[str], Run]


@pytest.mark.parametrize("release", BROKERS)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_nothing_differs(recorded: Recorded, release: str, check: Check) -> None:
    assert not check(recorded(release))


@pytest.mark.parametrize("language", TOOLS)
def test_clients_in_every_language_were_there(recorded: Recorded, language: str) -> None:
    if reason := missing(language):
        pytest.skip(reason)
    clients = {member.client_id for member in CAST if member.environment == language}
    assert clients <= {row["client_id"] for row in recorded(NEWEST).exchanges}


def test_everybody_is_at_home_before(recorded: Recorded) -> None:
    assert recorded(BEFORE).refused == set()


@pytest.mark.parametrize("source", ["traffic.pcap", "kafka-request.log"])
@pytest.mark.parametrize("target", [STRICT, NEWEST])
def test_the_broker_is_the_judge(recorded: Recorded, target: str, source: str) -> None:
    """Who is named before the upgrade is refused after it, and nobody else: JoinGroup 1 by 4.0.0 alone."""
    judge = recorded(target)
    assert named([recorded(BEFORE).file(source)], target) == judge.refused
    assert ("standby-as-of-0.10.1" in judge.refused) == (target == STRICT)
