"""Topic ids to names, with either engine."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from kwire.uuids import Uuid
from kwire_inspect.schemas import EXCHANGES
from kwire_inspect.tables.names import names_by_id, topic_names
from kwire_kafka import PROTOCOL, FetchRequest, FetchResponse
from kwire_kafka.api.fetch import FetchableTopicResponse
from kwire_kafka.api.metadata import MetadataResponseTopic
from kwire_spark.typed import messages
from tests.inspect.test_topic_names import ORDERS, OTHER, answered, metadata, named_rows, table
from tests.support.report_rows import exchange, in_spark


@pytest.mark.slow
def test_names_come_from_metadata_and_go_into_what_has_ids_alone(spark: SparkSession) -> None:
    """With either engine."""
    told = metadata("orders")
    told.topics = [*told.topics, MetadataResponseTopic(name="old", topic_id=Uuid(bytes(16)))]
    fetch = FetchResponse(responses=[FetchableTopicResponse(topic_id=one, partitions=[]) for one in (ORDERS, OTHER)])
    asked = PROTOCOL.encode_request(FetchRequest(topics=[]), version=13, correlation_id=1)
    rows = [answered(3, 12, told), answered(1, 13, fetch) | {"request": asked}, exchange(3, 12, response=None)]
    given, in_local = in_spark(spark, EXCHANGES, *rows), table(*rows)
    names = topic_names(given)
    assert [tuple(row) for row in names.collect()] == [(str(ORDERS), "orders", "c1")]
    assert [tuple(row.values()) for row in topic_names(in_local).rows()] == [(str(ORDERS), "orders", "c1")]
    typed, filled = messages(given, "Fetch"), messages(given, "Fetch", names=names)
    assert filled.schema.simpleString() == typed.schema.simpleString()
    (row,) = filled.collect()
    (local,) = named_rows(1, in_local, names_by_id(topic_names(in_local)))
    for response in (row["response"], local["response"]):
        assert [one["topic"] for one in response["responses"]] == ["orders", None]
    assert row["request"]["topics"] == local["request"]["topics"] == []
