"""One Spark session for all tests of a process, and one generated package."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from kwire.protocol import MessageRegistry
from kwire_spark.session import spark_session
from tests.pipeline.newer_kafka import newer_kafka


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    running = spark_session("local[2]", brief=True)
    yield running
    running.stop()


@pytest.fixture(scope="session")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MessageRegistry]:
    """The messages of a package newer than kwire_kafka: see ``newer_kafka``."""
    folder = tmp_path_factory.mktemp("newer")
    sys.path.insert(0, str(folder))
    yield newer_kafka(folder)
    sys.path.remove(str(folder))
