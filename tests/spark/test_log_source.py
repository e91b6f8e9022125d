"""``kafka_log`` in Spark: the same rows as without it, options, filters, and tables of internal topics."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from kwire_inspect.tables.groups import committed_offsets, members, undecodable
from kwire_inspect.tables.relations import map_batches
from kwire_spark.reading import read_records
from kwire_spark.sources.log import KafkaLog
from tests.support.log_files import LOGS, batch_at, segment


def read(spark: SparkSession, path: Path, schema: str = "", **options: str) -> DataFrame:
    spark.dataSource.register(KafkaLog)
    reader = spark.read.format("kafka_log").options(**options)
    return (reader.schema(schema) if schema else reader).load(str(path))


@pytest.mark.slow
def test_a_data_directory_with_damage_is_a_table(spark: SparkSession, tmp_path: Path) -> None:
    broken = bytearray(batch_at(10))
    broken[-1] ^= 1
    segment(tmp_path, batch_at(0), bytes(broken), batch_at(20))
    segment(tmp_path, batch_at(0), name="payments-0")
    log = read(spark, tmp_path, splitSize="100")
    assert sorted(row.offset for row in log.where("topic = 'orders' AND offset > 5").collect()) == [
        *range(6, 10),
        *range(20, 30),
    ]
    [report] = log.where("problem IS NOT NULL").collect()
    assert "checksum" in report.problem
    assert (report.position, report.topic) == (len(batch_at(0)), None)
    narrow = read(spark, tmp_path, "topic string, offset long", topics="pay*", endOffset="4")
    assert sorted(map(tuple, narrow.collect())) == [("payments", offset) for offset in range(4)]
    with pytest.raises(PySparkException, match="checksum"):
        read(spark, tmp_path, mode="failfast").count()


@pytest.mark.slow
def test_paths_are_relative_to_the_folder_of_this_process(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    segment(tmp_path, batch_at(0))
    monkeypatch.chdir(tmp_path)
    assert read_records("orders-3", columns=("offset",), spark=spark).count() == 10


@pytest.mark.slow
def test_each_group_is_mapped_in_order_by_one_worker(spark: SparkSession) -> None:
    table = spark.createDataFrame([(at % 2, -at) for at in range(40)], "part int, at int").repartition(8)
    schema = pa.schema([("part", pa.int32()), ("at", pa.int32())])
    found = map_batches(table, schema, lambda batches: batches, schema, by="part", order=["at"]).collect()
    for part in (0, 1):
        assert [row.at for row in found if row.part == part] == sorted(-at for at in range(40) if at % 2 == part)


@pytest.mark.slow
def test_queries_on_one_table_do_not_disturb_each_other(spark: SparkSession) -> None:
    """As they would with filters pushed down: Spark keeps those of one query for the next."""
    log = read(spark, LOGS / "4.1.1-groups")
    offsets, metadata = (log.where(f"topic = '{topic}'") for topic in ("__consumer_offsets", "__cluster_metadata"))
    alone = offsets.count(), metadata.count()
    assert all(alone)
    assert log.count() > sum(alone)
    assert offsets.union(metadata).count() == sum(alone)


@pytest.mark.slow
def test_filters_spare_files_where_that_is_asked_for(spark: SparkSession, tmp_path: Path) -> None:
    segment(tmp_path, b"broken" * 9, name="other-0")
    segment(tmp_path, batch_at(0), batch_at(10))
    log = read(spark, tmp_path, pushdown="true", mode="failfast").where("topic = 'orders' AND offset >= 12")
    assert sorted(row.offset for row in log.collect()) == list(range(12, 20))


@pytest.mark.slow
def test_times_are_compared_in_the_zone_of_the_session(spark: SparkSession, tmp_path: Path) -> None:
    segment(tmp_path, batch_at(0))
    log = read(spark, tmp_path)
    assert log.where("time >= timestamp '2023-11-14 22:13:20.004'").count() == 6
    assert read(spark, tmp_path, start="2023-11-14T22:13:20.004Z").count() == 6


@pytest.mark.slow
def test_committed_offsets_are_a_table(spark: SparkSession) -> None:
    found = committed_offsets(read(spark, LOGS / "4.1.1-running", splitSize="500")).collect()
    assert {(row.group, row.topic, row.partition, row.offset) for row in found} == {
        (group, "orders", 0, 3000) for group in ("coop", "python", "mixed")
    }


@pytest.mark.slow
def test_topics_of_assignments_have_names_and_what_cannot_be_read_is_counted(spark: SparkSession) -> None:
    found = members(read(spark, LOGS / "4.1.1-groups")).where("type = 'consumer'").collect()
    assert {(each.topic, *each.partitions) for row in found for each in row.assignment} == {("orders", 0, 1, 2)}
    [row] = undecodable(read(spark, LOGS / "3.9.1")).collect()
    assert (row.topic, row.records) == ("__consumer_offsets", 2)
    assert row.reason


@pytest.mark.slow
def test_a_kind_of_records_is_a_typed_table(spark: SparkSession) -> None:
    log = read(spark, LOGS / "4.1.1-running", record="OffsetCommit")
    assert {
        (row.group, row.last)
        for row in log.groupBy("key.group").agg({"value.offset": "max"}).toDF("group", "last").collect()
    } == {(group, 3000) for group in ("coop", "python", "mixed")}
    with pytest.raises(PySparkException, match="did you mean OffsetCommit"):
        read(spark, LOGS, record="OffsetComit").count()
