"""What clients of several ages say to real brokers: what the pipeline sees, against what they and the brokers say."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.e2e_traffic.checks import CHECKS, Check, Run
from tests.e2e_traffic.named import named
from tests.e2e_traffic.record import RELEASES
from tests.e2e_traffic.verdicts import BEFORE

Recorded = Callable[[str], Run]


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_nothing_differs(recorded: Recorded, release: str, check: Check) -> None:
    assert not check(recorded(release))


def test_everybody_is_at_home_before(recorded: Recorded) -> None:
    assert recorded(BEFORE).refused == set()


@pytest.mark.parametrize("source", ["traffic.pcap", "kafka-request.log"])
@pytest.mark.parametrize("target", ["4.0.0", "4.1.1"])
def test_the_broker_is_the_judge(recorded: Recorded, target: str, source: str) -> None:
    """Who is named before the upgrade is refused after it, and nobody else: JoinGroup 1 by 4.0.0 alone."""
    judge = recorded(target)
    assert named([recorded(BEFORE).file(source)], target) == judge.refused
    assert ("standby-as-of-0.10.1" in judge.refused) == (target == "4.0.0")
