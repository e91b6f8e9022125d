"""Real brokers and real clients, captured: runs with ``make e2e-traffic`` only, about ten minutes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache

import pytest

WANTED = os.environ.get("KWIRE_E2E_TRAFFIC") == "1"
collect_ignore_glob = [] if WANTED else ["test_*.py"]

if WANTED:
    from pyspark.sql import SparkSession

    from kwire_spark.session import spark_session
    from tests.e2e_traffic.checks import Run
    from tests.e2e_traffic.record import record
    from tests.real_kafka.broker import Broker

    @pytest.fixture(scope="session")
    def recorded() -> Iterator[Callable[[str], Run]]:
        """``recorded(release)``: the whole cast against a broker, once a session. No process may be left behind."""

        @cache
        def run(release: str) -> Run:
            return Run(record(release))

        yield run
        assert [process.pid for process in Broker.started if process.poll() is None] == []

    @pytest.fixture(scope="session")
    def spark() -> Iterator[SparkSession]:
        running = spark_session("local[2]")
        yield running
        running.stop()
