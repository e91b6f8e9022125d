"""One Spark session for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from kwire_spark.session import spark_session
from tests.inspect.conftest import keys as keys
from tests.inspect.conftest import newer as newer
from tests.inspect.conftest import pem as pem


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    running = spark_session("local[2]", brief=True)
    yield running
    running.stop()
