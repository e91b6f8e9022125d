"""Topic ids to names, across tables."""

from __future__ import annotations

from typing import Any
from unittest.mock import MagicMock

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from kwire.protocol import MessageRegistry
from kwire.uuids import Uuid
from kwire_inspect.schemas import EXCHANGES
from kwire_inspect.tables.names import NO_ID, TOPICS, named, names_of, topic_names_in, with_names
from kwire_kafka import (
    PROTOCOL,
    AssignReplicasToDirsRequest,
    CreateTopicsResponse,
    FetchRequest,
    FetchResponse,
    MetadataResponse,
)
from kwire_kafka.api.assign_replicas_to_dirs import AssignReplicasToDirsRequestDirectoryData as DirectoryData
from kwire_kafka.api.assign_replicas_to_dirs import AssignReplicasToDirsRequestTopicData as AssigningTopic
from kwire_kafka.api.create_topics import CreatableTopicResult
from kwire_kafka.api.fetch import FetchableTopicResponse
from kwire_kafka.api.metadata import MetadataResponseTopic
from kwire_spark import topics
from kwire_spark.topics import topic_names, with_topic_names
from kwire_spark.typed import messages
from tests.pipeline.report_rows import DATABASE, exchange, in_spark

ORDERS, OTHER = Uuid(b"0123456789abcdef"), Uuid(b"fedcba9876543210")


def test_names_come_from_metadata_and_go_into_what_has_ids_alone(spark: SparkSession) -> None:
    metadata = MetadataResponse(
        cluster_id="c1",
        topics=[
            MetadataResponseTopic(name="orders", topic_id=ORDERS),
            MetadataResponseTopic(name="old", topic_id=Uuid(bytes(16))),
        ],
    )
    fetch = FetchResponse(responses=[FetchableTopicResponse(topic_id=one, partitions=[]) for one in (ORDERS, OTHER)])
    table = in_spark(
        spark,
        EXCHANGES,
        exchange(3, 12, response=PROTOCOL.encode_response(metadata, version=12, correlation_id=1)),
        exchange(
            1,
            13,
            request=PROTOCOL.encode_request(FetchRequest(topics=[]), version=13, correlation_id=1),
            response=PROTOCOL.encode_response(fetch, version=13, correlation_id=1),
        ),
    )
    names = topic_names(table)
    assert [tuple(row) for row in names.collect()] == [(str(ORDERS), "orders", "c1")]
    typed = messages(table, "Fetch")
    filled = with_topic_names(typed, names)
    assert filled.schema.simpleString() == typed.schema.simpleString()
    (row,) = filled.collect()
    assert [one["topic"] for one in row["response"]["responses"]] == ["orders", None]
    assert row["request"]["topics"] == []


def test_a_name_that_a_message_has_stays(spark: SparkSession) -> None:
    """Another cluster may have the same id for a topic of another name."""
    answer = PROTOCOL.encode_response(metadata("own"), version=12, correlation_id=1)
    names = spark.createDataFrame([(str(ORDERS), "foreign")], "topic_id string, topic string")
    (row,) = with_topic_names(
        messages(in_spark(spark, EXCHANGES, exchange(3, 12, response=answer)), "Metadata"), names
    ).collect()
    assert [one["name"] for one in row["response"]["topics"]] == ["own"]


def test_a_name_whose_cluster_is_known_goes_before_one_without(spark: SparkSession) -> None:
    """Whatever the names are, and in whatever order they were seen."""
    answers: list[tuple[int, int, Any]] = [(19, 7, created("b")), (3, 12, metadata("a")), (19, 7, created("c"))]
    answers += [(3, 12, metadata("y", OTHER)), (19, 7, created("x", OTHER))]
    table = in_spark(
        spark,
        EXCHANGES,
        *(
            exchange(key, version, response=PROTOCOL.encode_response(answer, version=version, correlation_id=1))
            for key, version, answer in answers
        ),
    )
    assert {tuple(row) for row in topic_names(table).collect()} == {(str(ORDERS), "a", "c1"), (str(OTHER), "y", "c1")}


def metadata(name: str, id: Uuid = ORDERS) -> MetadataResponse:
    return MetadataResponse(cluster_id="c1", topics=[MetadataResponseTopic(name=name, topic_id=id)])


def created(name: str, id: Uuid = ORDERS) -> CreateTopicsResponse:
    return CreateTopicsResponse(topics=[CreatableTopicResult(name=name, topic_id=id)])


def test_names_are_told_by_messages_of_the_package(newer: MessageRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in: Any = MagicMock()
    for name in ("F", "names_of", "messages", "typed_records"):
        monkeypatch.setattr(topics, name, getattr(stand_in, name))
    topic_names(MagicMock(columns=["response"]), MagicMock(columns=["key"]), protocol=newer)
    assert [call.args[1:] for call in stand_in.messages.mock_calls if call.args and call.args[-1] is newer] == [
        ("Metadata", ("response",), newer),
        ("CreateTopics", ("response",), newer),
    ]
    (_, *kind), _ = stand_in.typed_records.call_args
    assert kind == ["TopicRecord", newer]


def test_structs_with_an_id_alone_get_a_name(spark: SparkSession) -> None:
    topics = [AssigningTopic(topic_id=one, partitions=[]) for one in (ORDERS, OTHER)]
    request = AssignReplicasToDirsRequest(directories=[DirectoryData(topics=topics)])
    table = in_spark(
        spark,
        EXCHANGES,
        exchange(73, 0, request=PROTOCOL.encode_request(request, version=0, correlation_id=1), response=None),
    )
    named = [(str(ORDERS), "orders"), (None, "a name without an id")]
    names = spark.createDataFrame(named, "topic_id string, topic string")
    (row,) = with_topic_names(messages(table, "AssignReplicasToDirs"), names).collect()
    (directory,) = row["request"]["directories"]
    assert [(one["topic_id"], one["topic"]) for one in directory["topics"]] == [
        (str(ORDERS), "orders"),
        (str(OTHER), None),
    ]
    assert row["response"] is None


def test_the_id_that_is_none() -> None:
    assert str(Uuid(bytes(16))) == NO_ID


def test_a_null_struct_keeps_fields_that_are_never_null() -> None:
    """Parquet refuses null in a field that is not nullable, even within a null struct."""
    fields = [pa.field("topic_id", pa.string()), pa.field("offset", pa.int64(), nullable=False)]
    values = pa.StructArray.from_arrays([["a", "b"], [1, 2]], fields=fields, mask=pa.array([True, False]))
    batch = named(pa.record_batch({"value": values}), pa.array(["a", "b"]), pa.array(["one", "two"]))
    assert batch["value"].to_pylist() == [None, {"topic_id": "b", "offset": 2, "topic": "two"}]
    assert batch["value"].field(1).null_count == 0


def test_names_are_filled_in_at_any_depth_and_what_is_null_stays() -> None:
    ids, names = pa.array(["a", "b"]), pa.array(["one", "two"])
    rows: list[dict[str, Any]] = [
        {
            "value": {
                "topics": [
                    {"topic_id": "a", "name": "", "parts": [{"topic_id": "b", "topic_name": "own", "n": 1}]},
                    None,
                    {"topic_id": "x", "name": "", "parts": None},
                ],
                "others": [{"topic_id": "b"}],
                "plain": [1],
            }
        },
        {"value": None},
        {"value": {"topics": None, "others": [], "plain": None}},
    ]
    part = pa.struct([("topic_id", pa.string()), ("topic_name", pa.string()), ("n", pa.int32())])
    topic = pa.struct([("topic_id", pa.string()), ("name", pa.string()), ("parts", pa.list_(part))])
    other = pa.list_(pa.struct([("topic_id", pa.string())]))
    kind = pa.struct([("topics", pa.list_(topic)), ("others", other), ("plain", pa.list_(pa.int64()))])
    found = with_names(pa.RecordBatch.from_pylist(rows, pa.schema([("value", kind)])), ids, names).to_pylist()
    rows[0]["value"]["topics"][0]["name"] = "one"
    rows[0]["value"]["others"][0]["topic"] = "two"
    assert found == rows


def test_what_names_are_told_and_which_of_them_is_taken() -> None:
    topic = pa.struct([("topic_id", pa.string()), ("name", pa.string())])
    answers = pa.array(
        [
            {"cluster_id": "c1", "topics": [{"topic_id": "a", "name": "z"}, {"topic_id": NO_ID, "name": "old"}]},
            None,
            {"cluster_id": None, "topics": [{"topic_id": "a", "name": "b"}, {"topic_id": "e", "name": ""}]},
            {"cluster_id": None, "topics": None},
        ],
        pa.struct([("cluster_id", pa.string()), ("topics", pa.list_(topic))]),
    )
    records = pa.array([{"topic_id": "r", "name": "s"}, {"topic_id": "r", "name": "t"}], topic)
    told = DATABASE.table(TOPICS).add(
        [topic_names_in(answers, "topics", "name"), topic_names_in(records, None, "name")]
    )
    assert sorted(tuple(row.values()) for row in names_of(told).rows()) == [("a", "z", "c1"), ("r", "s", None)]
