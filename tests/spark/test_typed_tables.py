"""Typed tables in Spark: only the rows that are asked for, their schema with comments, written and read again."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kwire.errors import UnknownApiError
from kwire.logs import committed_offsets, internal_records
from kwire.protocol import MessageRegistry
from kwire_inspect.schemas import EXCHANGES, RECORDS
from kwire_inspect.tables.names import Typed
from kwire_inspect.tables.record_structs import RecordStructs, record_kind, record_kinds
from kwire_inspect.tables.structs import ExchangeStructs
from kwire_kafka import PROTOCOL, HeartbeatRequest, MetadataRequest, MetadataResponse
from kwire_kafka.arrow import ARROW
from kwire_spark.typed import messages, typed_records
from kwire_spark.types import spark_schema, spark_type
from tests.inspect.test_typed_structs import records_of_kinds
from tests.properties.values import FIXED, make

LOG = "tests/data/logs/4.1.1/__consumer_offsets-0"
METADATA, HEARTBEAT = 3, 12


def table(spark: SparkSession, schema: pa.Schema, rows: list[dict[str, Any]]) -> DataFrame:
    whole = [{name: row.get(name) for name in schema.names} for row in rows]
    return spark.createDataFrame(pa.Table.from_pylist(whole, schema=schema))


@pytest.fixture(scope="module")
def exchanges(spark: SparkSession) -> DataFrame:
    rows: list[dict[str, Any]] = [{"problem": "cut off"}]
    for version in MetadataRequest.VALID_VERSIONS:
        asked, answered = (make(cls, version, FIXED["min"]) for cls in (MetadataRequest, MetadataResponse))
        request = PROTOCOL.encode_request(asked, version, correlation_id=version)
        response = PROTOCOL.encode_response(answered, version, correlation_id=version)
        facts = {"api_key": METADATA, "version": version, "correlation_id": version, "principal": "User:me"}
        rows.append(facts | {"request": request, "response": response})
    beat = PROTOCOL.encode_request(HeartbeatRequest(group_id="g"), 4, correlation_id=0)
    rows.append({"api_key": HEARTBEAT, "version": 4, "request": beat, "reason": "the connection ended"})
    rows.append({"api_key": HEARTBEAT, "version": 4, "request": beat[:-2]})
    return table(spark, EXCHANGES, rows).cache()


@pytest.mark.slow
def test_a_table_has_the_facts_and_the_structs_and_survives_parquet(exchanges: DataFrame, tmp_path: Path) -> None:
    typed = messages(exchanges, "Metadata")
    gone = {"request", "response", "problem"}
    assert typed.columns == [*(name for name in EXCHANGES.names if name not in gone), "request", "response"]
    for part, name in (("request", "MetadataRequest"), ("response", "MetadataResponse")):
        assert typed.schema[part].dataType == spark_type(ARROW[name].type)
    typed.write.parquet(str(tmp_path / "t"))
    read = exchanges.sparkSession.read.parquet(str(tmp_path / "t"))
    rows = read.orderBy("version").collect()
    assert [row.version for row in rows] == list(MetadataRequest.VALID_VERSIONS)
    assert {(row.principal, row.reason) for row in rows} == {("User:me", None)}
    epochs = {tuple(part.leader_epoch for topic in row.response.topics for part in topic.partitions) for row in rows}
    assert epochs == {(None,) * 4, (-(2**31),) * 4}
    comment = read.schema["request"].dataType["topics"].metadata["comment"]  # type: ignore[index]
    assert comment == ARROW["MetadataRequest"].schema.field("topics").metadata[b"comment"].decode()


@pytest.mark.slow
def test_only_what_is_asked_for(exchanges: DataFrame) -> None:
    few = exchanges.select("api_key", "version", "request", "reason")
    unanswered, broken = messages(few, HEARTBEAT, ["request"]).collect()
    assert unanswered.asDict(recursive=True)["request"]["group_id"] == "g"
    assert (unanswered.reason, broken.request) == ("the connection ended", None)
    assert broken.reason.startswith("HeartbeatRequest v4, field ")
    assert list(broken.asDict()) == ["api_key", "version", "reason", "request"]


@pytest.mark.slow
def test_names_of_apis(exchanges: DataFrame) -> None:
    assert messages(exchanges, "ListClientMetricsResources").count() == 0  # what ListConfigResources was called
    with pytest.raises(UnknownApiError, match="unknown API 'Ping'"):
        messages(exchanges, "Ping")
    with pytest.raises(ValueError, match="expected parts request and response, got none"):
        messages(MagicMock(), "Fetch", ())
    with pytest.raises(ValueError, match="expected parts request and response, got body"):
        messages(exchanges, "Metadata", ["body"])


def test_workers_get_the_package_and_the_limit(newer: MessageRegistry) -> None:
    given: Any = MagicMock()
    given.schema, given.drop.return_value = spark_schema(EXCHANGES), given
    messages(given, "Metadata", ("request",), newer, max_decoded=7)
    (of_workers, _), _ = given.where().mapInArrow.call_args
    assert of_workers == Typed(ExchangeStructs(METADATA, ("request",), newer, 7))
    typed_records(given, "ConnectorConfig", newer, max_decoded=7)
    (of_workers, _), _ = given.where().mapInArrow.call_args
    assert of_workers == Typed(RecordStructs(record_kind("ConnectorConfig", newer), newer, 7))


@pytest.mark.slow
def test_conditions_in_sql_find_the_kinds_that_are_found_in_arrow(spark: SparkSession) -> None:
    records, _ = records_of_kinds()
    kinds = [RecordStructs(kind) for kind in record_kinds().values()]
    table = spark.createDataFrame(pa.Table.from_batches([records]))
    found = table.select(*(F.expr(f"coalesce({kind.where}, false)") for kind in kinds)).collect()
    assert [[*row] for row in found] == [
        [*of] for of in zip(*([of is True for of in kind.of(records).to_pylist()] for kind in kinds), strict=True)
    ]


@pytest.mark.slow
def test_records_of_connectors_have_json(spark: SparkSession) -> None:
    row = {"topic": "connect-configs", "control": False, "key": b"connector-a", "value": b'{"properties":{}}'}
    others = [row | {"topic": "orders"}, row | {"control": True}, row | {"key": b"task-a-0"}, row | {"key": None}]
    logged = table(spark, RECORDS, [row, *others]).select("topic", "control", "key", "value")
    (found,) = typed_records(logged, "ConnectorConfig").collect()
    assert (found.key, found.value, found.version, found.reason) == ("connector-a", '{"properties":{}}', None, None)


@pytest.mark.slow
def test_commits_are_those_that_are_added_up_elsewhere(spark: SparkSession) -> None:
    found = list(internal_records(PROTOCOL, LOG))
    rows = [
        {
            "topic": one.record.topic,
            "offset": one.offset,
            "control": one.record.control,
            "key": one.record.raw_key,
            "value": one.record.raw_value,
        }
        for one in found
    ]
    rows.append(rows[0] | {"topic": "another"})
    logged = table(spark, RECORDS, rows).select("topic", "offset", "control", "key", "value")
    commits = typed_records(logged, "OffsetCommit").collect()
    names = [one.record.name for one in found if not one.record.control]
    assert len(commits) == names.count("OffsetCommit") > 10
    assert typed_records(logged, "EndTxnMarker").count() == sum(one.record.control for one in found)
    last = {(row.key.group, row.key.topic, row.key.partition): row for row in commits}
    for key, offset in committed_offsets(PROTOCOL, LOG).items():
        assert last[key].value.offset <= offset.offset
