"""The stored sample of real traffic (``tests/data/traffic``): what `make e2e-traffic` checks, without brokers."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import pytest

from kwire_spark.tables.relations import collect
from tests.e2e_traffic.checks import CHECKS, LAST, Check, Run
from tests.e2e_traffic.named import named, spoken
from tests.e2e_traffic.told import BEFORE_LOGIN

SAMPLE = Path(__file__).parents[1] / "data" / "traffic"
RELEASES = ("3.9.1", "4.0.0", "4.1.1")
OLD = {"kafka-python-as-of-0.10", "librdkafka-as-of-0.9", "java-0.10", "raw-old"}
JOINS = {"standby-as-of-0.10.1", "raw-group"}
"""Nothing that these say is too old but JoinGroup 1."""

NOT_LOGGED = {*BEFORE_LOGIN, LAST, "Envelope"}
"""What brokers do not log, or not always, or as what is in it."""


@cache
def sample(release: str) -> Run:
    return Run(SAMPLE / release)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_nothing_differs(release: str, check: Check) -> None:
    assert not check(sample(release))


def test_who_was_refused() -> None:
    assert [sample(release).refused for release in RELEASES] == [set(), OLD | JOINS, OLD]


@pytest.mark.parametrize("source", ["traffic.pcap", "kafka-request.log"])
def test_readiness_names_who_was_refused(source: str) -> None:
    """From what the clients said to 3.9.1, before the upgrade."""
    before = [sample("3.9.1").file(source)]
    assert named(before, "4.0.0") == sample("4.0.0").refused
    assert named(before, "4.1.1") == sample("4.1.1").refused


def test_clients_of_capture_and_logs_agree() -> None:
    """Who said what to 4.0.0: a request is in the request log, or the server log says that it was refused.

    One client does not wait for a response: the capture knows that the server did not close that connection."""
    run = sample("4.0.0")
    logs = ("traffic.pcap", "kafka-request.log", "server.log")
    requests: defaultdict[str, Counter[tuple[str, int]]] = defaultdict(Counter)
    refused: defaultdict[str, Counter[tuple[str, int]]] = defaultdict(Counter)
    for row in collect("SELECT * FROM {seen}", seen=spoken([run.file(name) for name in logs])):
        if row["api"] not in NOT_LOGGED:
            use = row["api"], row["version"]
            requests[row["seen_in"]][use] += row["requests"]
            refused[row["seen_in"]][use] += row["refused"]
    assert requests["capture"] == requests["request_log"] + requests["server_log"]
    assert refused["capture"] == refused["server_log"] == requests["server_log"]
    assert requests["server_log"]["JoinGroup", 1] > 1
