"""Messages become columns and come back as they were: every message, every version, nothing lost."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.arrow import Columns
from kwire.errors import UnknownMessageError, UnknownVersionError
from kwire.message import Message
from kwire.uuids import Uuid
from kwire_kafka import PROTOCOL, FetchResponse, HeartbeatRequest, MetadataRequest, ProduceRequest
from kwire_kafka.api.fetch import FetchableTopicResponse, LeaderIdAndEpoch, PartitionData
from kwire_kafka.api.metadata import MetadataRequestTopic
from kwire_kafka.api.produce import PartitionProduceData, TopicProduceData
from kwire_kafka.arrow import ARROW
from tests.conformance import vectors
from tests.properties.values import FIXED, NAMES, as_decoded, exact, instances, make
from tests.support.each import each_release
from tests.support.effort import examples
from tests.support.wrong_types import built

SOURCES = [FIXED[name] for name in ("zero", "max", "min", "null", "unknown tags")]


def whole(columns: Columns, array: pa.Array) -> pa.Array:
    """The array, valid in itself, as Parquet keeps it; that writer refuses nulls in columns that have none."""
    array.validate(full=True)
    table = pa.table([array], schema=pa.schema([("message", columns.type)]))
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="none")
    return pq.read_table(pa.BufferReader(sink.getvalue())).column(0).combine_chunks()


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_every_message_and_version_comes_back(part: int) -> None:
    for name in NAMES[part::4]:
        columns = ARROW[name]
        pairs = [(version, source) for version in columns.message.VALID_VERSIONS for source in SOURCES]
        messages: list[Any] = [make(columns.message, *pair) for pair in pairs]
        versions = [version for version, _ in pairs]
        back = columns.messages(whole(columns, columns.array([None, *messages], [-1, *versions])), [-1, *versions])
        assert back[0] is None
        for version, sent, came in zip(versions, messages, back[1:], strict=True):
            assert exact(came) == exact(as_decoded(sent, version)), f"{name} v{version}"


@pytest.mark.parametrize("count", [1, 3, 200])
def test_bytes_come_back_and_one_large_value_is_not_copied(count: int) -> None:
    """The records of a request may have 40 MB."""
    values = [None, *(bytes([number]) * number for number in range(1, count))] if count > 1 else [bytes(100_000)]
    partitions = [PartitionProduceData(records=value) for value in values]
    array = ARROW["ProduceRequest"].array(
        [ProduceRequest(topic_data=[TopicProduceData(partition_data=partitions)])], 9
    )
    records = array.field("topic_data").values.field("partition_data").values.field("records")
    assert records.to_pylist() == values
    assert (records.buffers()[2].address == pa.py_buffer(values[0] or b"").address) is (count == 1)


@pytest.mark.slow
@each_release(*vectors.RELEASES)
def test_what_kafka_wrote_comes_back(release: str) -> None:
    by_message: dict[str, list[tuple[int, Message]]] = {}
    for one in vectors.messages(release):
        message = PROTOCOL[one.message].decode(one.data, one.version)
        by_message.setdefault(one.message, []).append((one.version, message))
    assert len(by_message) > 200
    for name, found in by_message.items():
        versions = [version for version, _ in found]
        messages = [message for _, message in found]
        back = ARROW[name].messages(ARROW[name].array(messages, versions), versions)
        assert [exact(one) for one in back] == [exact(one) for one in messages]


@pytest.mark.slow
@examples(0.6)
@given(st.data())
def test_any_messages_of_any_versions_come_back_in_their_order(data: st.DataObject) -> None:
    columns = ARROW[data.draw(st.sampled_from(NAMES))]
    versions = data.draw(st.lists(st.sampled_from(columns.message.VALID_VERSIONS), max_size=5))
    messages = [data.draw(st.none() | instances(columns.message, version)) for version in versions]
    array = columns.array(messages, versions)
    array.validate(full=True)
    assert array.type == columns.type
    expected = [as_decoded(message, version) for message, version in zip(messages, versions, strict=True)]
    assert [exact(one) for one in columns.messages(array, versions)] == [exact(one) for one in expected]


def values(rows: Iterable[Any], *path: str) -> list[Any]:
    for name in path:
        rows = [row[name] for row in rows]
    return list(rows)


def test_what_a_version_lacks_is_null_and_what_it_has_is_its_value() -> None:
    topic = MetadataRequestTopic(name="t", topic_id=Uuid(range(16)))
    message = MetadataRequest(topics=[topic], allow_auto_topic_creation=True)
    rows = ARROW["MetadataRequest"].array([message] * 3, [0, 4, 12]).to_pylist()
    assert values(rows, "allow_auto_topic_creation") == [None, True, True]
    assert [row["topics"][0]["topic_id"] for row in rows] == [None, None, "AAECAwQFBgcICQoLDA0ODw"]
    assert values(rows, "include_topic_authorized_operations") == [None, None, False]


def test_null_and_empty_are_not_the_same() -> None:
    messages = [MetadataRequest(topics=topics) for topics in (None, [], [MetadataRequestTopic(name="t")])]
    rows = ARROW["MetadataRequest"].array(messages, 9).to_pylist()
    assert [topics and len(topics) for topics in values(rows, "topics")] == [None, [], 1]


def test_structs_that_nobody_asked_for_have_their_defaults_and_are_not_made() -> None:
    """They are made on first access, which would cost more than all the rest."""
    set_one = PartitionData(current_leader=LeaderIdAndEpoch(leader_id=7, leader_epoch=8))
    parts = [PartitionData(), set_one, PartitionData()]
    message = FetchResponse(responses=[FetchableTopicResponse(partitions=parts)])
    (row,) = ARROW["FetchResponse"].array([message], 16).to_pylist()
    leaders = values(row["responses"][0]["partitions"], "current_leader")
    assert [(leader["leader_id"], leader["leader_epoch"]) for leader in leaders] == [(-1, -1), (7, 8), (-1, -1)]
    assert [part._current_leader is None for part in parts] == [True, False, True]


def test_unknown_tags_are_null_when_there_are_none() -> None:
    messages = [HeartbeatRequest(), HeartbeatRequest(unknown_tags=((5, b"x"), (900, b"")))]
    rows = ARROW["HeartbeatRequest"].array(messages, 4).to_pylist()
    assert values(rows, "unknown_tags") == [None, [{"tag": 5, "data": b"x"}, {"tag": 900, "data": b""}]]


def test_batches_have_the_schema_with_its_descriptions() -> None:
    columns = ARROW["HeartbeatRequest"]
    batch = columns.batch([HeartbeatRequest(group_id="g"), HeartbeatRequest(group_id="h")], [0, 4])
    assert batch.schema.equals(columns.schema, check_metadata=True)
    assert batch.column("group_id").to_pylist() == ["g", "h"]
    assert columns.messages(batch, [0, 4]) == [HeartbeatRequest(group_id="g"), HeartbeatRequest(group_id="h")]
    assert columns.batch([], 0).num_rows == 0
    with pytest.raises(ValueError, match="a message is None"):
        columns.batch([HeartbeatRequest(), None], 0)  # type: ignore[list-item]


def test_a_part_of_an_array_is_read_like_the_whole() -> None:
    columns = ARROW["ProduceRequest"]
    messages = [make(ProduceRequest, version, FIXED["max"]) for version in ProduceRequest.VALID_VERSIONS]
    versions = list(ProduceRequest.VALID_VERSIONS)
    array = columns.array(messages, versions)
    assert columns.messages(array[3:6], versions[3:6]) == [
        as_decoded(message, version) for message, version in zip(messages[3:6], versions[3:6], strict=True)
    ]


@pytest.mark.parametrize(
    ("messages", "versions", "error", "says"),
    [
        (
            [HeartbeatRequest()],
            5,
            UnknownVersionError,
            "unknown version 5 of HeartbeatRequest",
        ),
        ([MetadataRequest()], 0, TypeError, "columns of HeartbeatRequest, not of MetadataRequest"),
        ([HeartbeatRequest(generation_id=2**31)], 0, OverflowError, "greater than maximum"),
        (
            [built(lambda: HeartbeatRequest(group_id=None))],  # type: ignore[arg-type]
            0,
            ValueError,
            "HeartbeatRequest.group_id must not be null",
        ),
        (
            [HeartbeatRequest()],
            [0, 0],
            ValueError,
            "expected a version for each message, got 2 versions for 1 messages",
        ),
    ],
)
def test_what_cannot_be_columns_is_an_error(messages: Any, versions: Any, error: type[Exception], says: str) -> None:
    if None in messages:
        return
    with pytest.raises(error, match=says):
        ARROW["HeartbeatRequest"].array(messages, versions)


def test_the_error_of_a_frame_keeps_nothing_of_what_read_it() -> None:
    found = ARROW["HeartbeatRequest"].decode([b"", HeartbeatRequest().encode(0)], 0)
    error = found.errors[0]
    assert [*found.errors] == [0]
    assert (error.__traceback__, error.__context__, error.__cause__) == (None, None, None)


def test_a_uuid_of_another_length_is_an_error() -> None:
    for size in (0, 5, 15, 17, 20, 34):
        topics = [MetadataRequestTopic(topic_id=bytes(size))]  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="16 bytes"):
            ARROW["MetadataRequest"].array([MetadataRequest(topics=topics)], 12)


def test_messages_are_found_by_name_and_former_name() -> None:
    assert ARROW["ListClientMetricsResourcesRequest"] is ARROW["ListConfigResourcesRequest"]
    assert set(ARROW) == set(NAMES)
    assert len(ARROW) == len(NAMES)
    assert "FetchRequest" in ARROW
    assert "Fetch" not in ARROW
    with pytest.raises(UnknownMessageError, match="unknown message 'Fetch'"):
        ARROW["Fetch"]


def test_the_schema_travels() -> None:
    """As to the workers of a cluster."""
    schema = ARROW["FetchResponse"].schema
    assert pickle.loads(pickle.dumps(schema)).equals(schema, check_metadata=True)


@pytest.mark.parametrize(
    ("missing", "reason"),
    [
        ("pyarrow", "Arrow columns need pyarrow: pip install 'kwire[arrow]'"),
        ("kwire.arrow.wire", "import of kwire.arrow.wire halted; None in sys.modules"),
    ],
)
def test_who_lacks_pyarrow_is_told_what_to_install(missing: str, reason: str) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None; import kwire.arrow"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.endswith(f"ModuleNotFoundError: {reason}\n")
