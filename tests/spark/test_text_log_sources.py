"""``kafka_request_log`` and ``kafka_server_log`` in Spark."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kwire_inspect.options import BrokenInputError, OptionError, Options
from kwire_inspect.readers.text_log import RequestLogReader
from kwire_inspect.schemas import EXCHANGES, REFUSALS
from kwire_inspect.text_logs import Split
from kwire_spark.sources.request_log import KafkaRequestLog
from kwire_spark.sources.server_log import KafkaServerLog
from kwire_spark.types import spark_schema

DATA = Path(__file__).parents[1] / "data"
FACTS = "api string, version smallint, client_id string, time timestamp, source string, problem string"

LINE = (
    "[2026-11-21 16:00:00,000] INFO Completed request:"
    '{"requestHeader":{"requestApiKey":3,"requestApiVersion":1,"clientId":"c"},'
    '"request":{"topics":[]},"response":{"brokers":[],"controllerId":1,"topics":[]}}\n'
)


@pytest.mark.slow
def test_request_logs_of_all_ages_in_one_table(spark: SparkSession) -> None:
    spark.dataSource.register(KafkaRequestLog)
    paths = [str(DATA / "request_logs" / f"{release}.log.gz") for release in ("0.11.0.3", "4.1.1")]
    logs = spark.read.format("kafka_request_log").schema(FACTS).load(paths)
    recent = "time > timestamp'2026-11-01'"
    wanted = f"api = 'JoinGroup' AND version < 2 AND client_id = 'kwire' AND {recent}"
    joins = logs.where(wanted).collect()
    pushed = spark.read.format("kafka_request_log").option("pushdown", "true").schema(FACTS).load(paths)
    assert sorted(pushed.where(wanted).collect()) == sorted(joins)
    assert {(row.source, row.version, row.problem) for row in joins} == {
        (path, version, None) for path in paths for version in (0, 1)
    }


@pytest.mark.slow
def test_the_whole_table_of_a_small_log(spark: SparkSession, tmp_path: Path) -> None:
    spark.dataSource.register(KafkaRequestLog)
    path = tmp_path / "kafka-request.log"
    path.write_text(LINE * 20 + LINE[:90])
    source = spark.read.format("kafka_request_log").option("timeZone", "+02:00").option("splitSize", "3k")
    logs = source.load(str(tmp_path))
    assert logs.schema == spark_schema(EXCHANGES)
    rows = logs.collect()
    assert [row.problem is None for row in rows] == [True] * 20 + [False]
    assert len({bytes(row.request) for row in rows if row.request}) == 1
    assert {row.time.timestamp() for row in rows if row.time} == {datetime(2026, 11, 21, 14, tzinfo=UTC).timestamp()}


def test_failfast_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "kafka-request.log"
    path.write_text(LINE * 2 + LINE[:90])
    reader = RequestLogReader(Options({"path": str(tmp_path), "mode": "failfast"}))
    (task,) = reader.tasks()
    with pytest.raises(BrokenInputError, match=rf"kafka-request\.log, byte {2 * len(LINE)}: invalid JSON"):
        list(reader.read(task))


@pytest.mark.slow
def test_server_logs(spark: SparkSession) -> None:
    spark.dataSource.register(KafkaServerLog)
    logs = spark.read.format("kafka_server_log").load(str(DATA / "server_logs" / "4.*.gz"))
    assert logs.schema == spark_schema(REFUSALS)
    joins = logs.where("api = 'JoinGroup' AND listener IS NULL").select("source", "version").collect()
    assert {(Path(row.source).name[:5], row.version) for row in joins} == {("4.0.0", 0), ("4.0.0", 1)}


def test_splits_are_planned_by_size(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"x" * 1000)
    options = Options({"path": str(path), "splitSize": "400"})
    assert RequestLogReader(options).tasks() == [
        Split(str(path), 0, 400),
        Split(str(path), 400, 800),
        Split(str(path), 800, None),
    ]


@pytest.mark.parametrize("zone", ["Mars", "+99", "../UTC", "++"])
def test_time_zones_that_there_are_not(zone: str) -> None:
    with pytest.raises(OptionError, match="timeZone must be a time zone"):
        RequestLogReader(Options({"path": ".", "timeZone": zone}))
