"""The short version of ``brokers.py``."""

from __future__ import annotations

import pytest

from tests.fuzz.brokers import TOGETHER, run


@pytest.mark.slow
def test_broken_requests_stop_neither_a_broker_nor_a_proxy() -> None:
    outcomes = run(2_000, 1)
    assert sum(outcomes.values()) == 2_000 // TOGETHER
    assert outcomes["broker: answered"] > 10, "nothing is whole"
