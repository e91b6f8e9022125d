"""The clients in Go and JavaScript of ``make e2e-traffic``, against the fake broker as three releases."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from kwire_testing import FakeBroker
from tests.e2e_traffic.languages import command, missing
from tests.fake_clients.test_clients import again, behind, each_release

SECONDS = 100
VERSIONS = {"franzgo": {"version": "3.9.0"}, "sarama": {"version": "2.8.0"}}
"""The newest release that a client may speak with, for those that ask."""


@pytest.mark.parametrize("filters", [None, [], [again]], ids=["no proxy", "a proxy", "encoded again"])
@each_release
@pytest.mark.parametrize(
    ("language", "client"), [("go", "franzgo"), ("go", "sarama"), ("go", "kafkago"), ("node", "kafkajs")]
)
def test_a_client_produces_reads_in_a_group_and_makes_a_topic(
    language: str, client: str, release: str, filters: list[Any] | None
) -> None:
    if why := missing(language):
        pytest.skip(why)
    with FakeBroker(release, {"orders": 2}) as broker, behind(broker, filters) as servers:
        task = {
            "bootstrap": servers,
            "client_id": "c",
            "topic": "orders",
            **dict.fromkeys(("mechanism", "user", "password"), ""),
            "only": [],
            "settings": VERSIONS.get(client, {}),
        }
        done = subprocess.run(
            [*command(language, client), json.dumps(task)],
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        assert {one["step"]: one["error"] for one in told} == dict.fromkeys(
            ("produce", "consume", "create", "describe")
        ), done.stderr[-2000:]
        assert len(broker.records("orders")) == 20
        assert broker.offsets("c-group")
