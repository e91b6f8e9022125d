"""Topic ids to names, across tables."""

from __future__ import annotations

from typing import Any
from unittest.mock import MagicMock

import pyarrow as pa
import pytest

from kwire.protocol import MessageRegistry
from kwire.uuids import Uuid
from kwire_inspect.schemas import EXCHANGES, RECORDS
from kwire_inspect.tables import names
from kwire_inspect.tables.database import LocalTable
from kwire_inspect.tables.names import (
    NO_ID,
    TOPICS,
    Names,
    Typed,
    named,
    names_by_id,
    topic_names,
    topic_names_in,
    with_names,
)
from kwire_inspect.tables.structs import ExchangeStructs
from kwire_kafka import (
    PROTOCOL,
    AssignReplicasToDirsRequest,
    CreateTopicsResponse,
    MetadataResponse,
)
from kwire_kafka.api.assign_replicas_to_dirs import AssignReplicasToDirsRequestDirectoryData as DirectoryData
from kwire_kafka.api.assign_replicas_to_dirs import AssignReplicasToDirsRequestTopicData as AssigningTopic
from kwire_kafka.api.create_topics import CreatableTopicResult
from kwire_kafka.api.metadata import MetadataResponseTopic
from kwire_kafka.metadata.topic_record import TopicRecord
from tests.support.report_rows import DATABASE, exchange

ORDERS, OTHER = Uuid(b"0123456789abcdef"), Uuid(b"fedcba9876543210")


def table(*rows: dict[str, Any]) -> LocalTable:
    return DATABASE.table(EXCHANGES).add(pa.Table.from_pylist([*rows], EXCHANGES).to_batches())


def metadata(name: str | None, id: Uuid = ORDERS) -> MetadataResponse:
    return MetadataResponse(cluster_id="c1", topics=[MetadataResponseTopic(name=name, topic_id=id)])


def created(name: str, id: Uuid = ORDERS) -> CreateTopicsResponse:
    return CreateTopicsResponse(topics=[CreatableTopicResult(name=name, topic_id=id)])


def answered(api_key: int, version: int, answer: Any) -> dict[str, Any]:
    return exchange(api_key, version, response=PROTOCOL.encode_response(answer, version=version, correlation_id=1))


def named_rows(api_key: int, given: LocalTable, names: Names) -> list[dict[str, Any]]:
    """The typed table of an API, with names of topics."""
    typed = Typed(ExchangeStructs(api_key), names)
    (made,) = typed(given.batches(EXCHANGES))
    assert [made.schema.field(field.name).type for field in typed.fields()] == [
        field.type for field in typed.fields()
    ]
    rows: list[dict[str, Any]] = made.to_pylist()
    return rows


def test_a_name_that_a_message_has_stays() -> None:
    """Another cluster may have the same id for a topic of another name."""
    (row,) = named_rows(3, table(answered(3, 12, metadata("own"))), (pa.array([str(ORDERS)]), pa.array(["foreign"])))
    assert [one["name"] for one in row["response"]["topics"]] == ["own"]


def test_a_name_whose_cluster_is_known_goes_before_one_without() -> None:
    """Whatever the names are, and in whatever order and table they were seen."""
    first = [answered(19, 7, created("b")), answered(3, 12, metadata("a")), answered(19, 7, created("c"))]
    second = [answered(3, 12, metadata("y", OTHER)), answered(19, 7, created("x", OTHER))]
    names = topic_names(table(*first), table(*second))
    assert {tuple(row.values()) for row in names.rows()} == {(str(ORDERS), "a", "c1"), (str(OTHER), "y", "c1")}


def test_a_topic_without_a_name_tells_none() -> None:
    """Brokers answer so if they do not know an id."""
    unknown = [answered(3, 12, metadata("", ORDERS)), answered(3, 12, metadata(None, OTHER))]
    names = topic_names(table(*unknown, answered(19, 7, created("orders"))))
    assert [tuple(row.values()) for row in names.rows()] == [(str(ORDERS), "orders", None)]


def test_names_are_told_by_records_of_the_metadata_too() -> None:
    value = b"\1\2\0" + TopicRecord(name="orders", topic_id=ORDERS).encode(0)
    mine = {"topic": "__cluster_metadata", "control": False, "value": value}
    records = pa.Table.from_pylist([mine, mine | {"topic": "orders"}, {"problem": "cut off"}], RECORDS)
    names = topic_names(DATABASE.table(RECORDS).add(records.to_batches()))
    assert [tuple(row.values()) for row in names.rows()] == [(str(ORDERS), "orders", None)]


def test_names_are_told_by_messages_of_the_package(newer: MessageRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    mapped = MagicMock(return_value=DATABASE.table(TOPICS))
    monkeypatch.setattr(names, "map_batches", mapped)
    topic_names(table(), DATABASE.table(RECORDS), protocol=newer)
    structs = [one for call in mapped.mock_calls for one in call.args[2].keywords["structs"]]
    assert [(one.name, one.protocol) for one in structs] == [
        ("Metadata", newer),
        ("CreateTopics", newer),
    ]


def test_names_are_told_by_exchanges_and_records_alone() -> None:
    with pytest.raises(ValueError, match="expected at least one table"):
        topic_names()
    with pytest.raises(
        ValueError, match="expected exchanges with responses, or records, got columns topic_id, topic"
    ):
        topic_names(DATABASE.table(TOPICS))


def test_structs_with_an_id_alone_get_a_name() -> None:
    topics = [AssigningTopic(topic_id=one, partitions=[]) for one in (ORDERS, OTHER)]
    request = AssignReplicasToDirsRequest(directories=[DirectoryData(topics=topics)])
    asked = PROTOCOL.encode_request(request, version=0, correlation_id=1)
    known = [(str(ORDERS), "orders", None), (None, "a name without an id", None)]
    names = DATABASE.table(TOPICS).add([pa.RecordBatch.from_arrays([*zip(*known, strict=True)], schema=TOPICS)])
    (row,) = named_rows(73, table(exchange(73, 0, request=asked, response=None)), names_by_id(names))
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
                    {
                        "topic_id": "a",
                        "name": "",
                        "parts": [{"topic_id": "b", "topic_name": name, "n": 1} for name in ("own", "")],
                    },
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
    rows[0]["value"]["topics"][0]["parts"][1]["topic_name"] = "two"
    rows[0]["value"]["others"][0]["topic"] = "two"
    assert found == rows


def test_what_names_are_told() -> None:
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
    assert [tuple(row.values()) for row in topic_names_in(answers, "topics").to_pylist()] == [
        ("a", "z", "c1"),
        (NO_ID, "old", "c1"),
        ("a", "b", None),
        ("e", "", None),
    ]
    records = pa.array([{"topic_id": "r", "name": "s"}, {"topic_id": "r", "name": "t"}], topic)
    assert [row["topic"] for row in topic_names_in(records, None).to_pylist()] == ["s", "t"]


def test_the_names_of_a_table_come_with_their_ids_each_once() -> None:
    rows = [("a", "one", "c"), ("a", "one", None), ("b", "two", None), (None, "three", "c"), ("d", None, None)]
    names = DATABASE.table(TOPICS).add([pa.RecordBatch.from_arrays([*zip(*rows, strict=True)], schema=TOPICS)])
    ids, topics = names_by_id(names)
    assert sorted(zip(ids.to_pylist(), topics.to_pylist(), strict=True)) == [("a", "one"), ("b", "two"), ("d", None)]


def test_of_several_clusters_with_an_id_the_last_is_named_and_of_several_names_the_first() -> None:
    def told(name: str, cluster: str | None) -> dict[str, Any]:
        return answered(3, 12, MetadataResponse(cluster_id=cluster, topics=metadata(name).topics))

    given = table(told("c", "c2"), told("b", "c3"), told("a", None), told("d", "c1"), answered(19, 7, created("")))
    assert [tuple(row.values()) for row in topic_names(given).rows()] == [(str(ORDERS), "b", "c3")]


def test_the_rows_of_an_api_become_a_typed_table_and_others_are_left_out() -> None:
    rows = [answered(3, 12, metadata(name)) | {"source": name} for name in "ab"] + [answered(19, 7, created("x"))]
    (batch,) = table(rows[0], rows[2], rows[1]).batches(EXCHANGES)
    found = [*Typed(ExchangeStructs(3))([batch, batch.slice(1, 1), batch.slice(0, 1)])]
    assert [one["source"].to_pylist() for one in found] == [["a", "b"], ["a"]]
    assert found[0].schema.names == [
        *(name for name in EXCHANGES.names if name not in ("request", "response", "problem")),
        "request",
        "response",
    ]
    assert [one["topics"][0]["name"] for one in found[0]["response"].to_pylist()] == ["a", "b"]
    alone = Typed(ExchangeStructs(3, ("response",)), (pa.array([str(ORDERS)]), pa.array(["orders"])))
    assert [field.name for field in alone.fields()] == ["response"]
    (row,) = [
        row
        for one in alone([pa.RecordBatch.from_pylist([answered(3, 12, metadata(""))], EXCHANGES)])
        for row in one.to_pylist()
    ]
    assert row["response"]["topics"][0]["name"] == "orders"
    assert "request" not in row


def test_a_name_goes_into_each_empty_field_for_it_and_no_other() -> None:
    names = pa.array(["a", "b", "x"]), pa.array(["one", "two", ""])
    kind = pa.struct(
        [("topic_name", pa.string()), ("topic", pa.string()), ("topic_id", pa.string()), ("other", pa.string())]
    )
    rows = [
        ("", "own", "a", ""),
        (None, None, "b", None),
        ("", "", "c", ""),
        ("", "", "x", ""),
        ("", "own", None, ""),
    ]
    values = [dict(zip(("topic_name", "topic", "topic_id", "other"), row, strict=True)) for row in rows]
    batch = pa.record_batch({"value": pa.array(values, kind), "topic_id": pa.array(["a", "b", "c", "x", "y"])})
    found = with_names(batch, *names)
    assert [tuple(row.values()) for row in found["value"].to_pylist()] == [
        ("one", "own", "a", ""),
        ("two", "two", "b", None),
        ("", "", "c", ""),
        ("", "", "x", ""),
        ("", "own", None, ""),
    ]
    assert found.schema.names == ["value", "topic_id"], "with_names leaves columns themselves alone"
    filled = named(batch, *names)
    assert filled.schema.names == ["value", "topic_id", "topic"]
    assert filled["topic"].to_pylist() == ["one", "two", None, "", None]
    plain = pa.record_batch({"topic": ["a"], "list": [["a"]], "deep": [[{"n": 1}]]})
    assert with_names(plain, *names).columns == plain.columns
    deep = pa.record_batch({"deep": [[{"inner": {"more": [{"topic_id": "b"}, None]}}, None], None]})
    assert with_names(deep, *names)["deep"].to_pylist() == [
        [{"inner": {"more": [{"topic_id": "b", "topic": "two"}, None]}}, None],
        None,
    ]
