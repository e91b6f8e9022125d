"""Messages of strangers within bounded memory: large ones are only decoded if they have few values."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kwire.arrow import Columns
from kwire.compression import DecompressionLimitError
from kwire.connection.events import CLIENT, RequestEvent, without_bytes
from kwire.errors import DecodeError
from kwire.headers import RequestHeader
from kwire.interpreter import large
from kwire.logs import LogSegment, committed_offsets, decode_record, segment
from kwire.policy import Policy
from kwire.protocol import MAX_HEADER
from kwire.records import Record, decode_control, encode_batch, read_batches
from kwire.records.control import MAX_SIZE
from kwire.redaction import redacted
from kwire.trace import trace_message
from kwire_kafka import (
    PROTOCOL,
    ClientQuotaRecord,
    EnvelopeRequest,
    FetchRequest,
    GroupMetadataKey,
    GroupMetadataValue,
    MetadataRequest,
    MetadataResponse,
    ProduceRequest,
)
from kwire_kafka.api.fetch import FetchTopic
from kwire_kafka.api.metadata import MetadataResponseTopic
from kwire_kafka.api.produce import PartitionProduceData, TopicProduceData
from kwire_kafka.coordinator.group_metadata import MemberMetadata
from kwire_kafka.metadata.client_quota_record import EntityData
from tests.support.effort import peak

MANY = FetchRequest(topics=[FetchTopic(topic="t") for _ in range(50)])
FEW = ProduceRequest(
    topic_data=[TopicProduceData(name="t", partition_data=[PartitionProduceData(records=bytes(2000))])]
)
METADATA = MetadataResponse(topics=[MetadataResponseTopic(name="t", partitions=[]) for _ in range(50)])
COLUMNS = Columns(FetchRequest)
WITHIN: dict[str, Any] = {"max_decoded": 300}


@pytest.fixture(autouse=True)
def _few_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large._Counting, "left", 60)


def asked(message: Any, version: int) -> bytes:
    return PROTOCOL.encode_request(message, version, correlation_id=1, client_id="me")


def test_large_messages_of_many_values_are_not_decoded() -> None:
    many, few = asked(MANY, 4), asked(FEW, 3)
    assert PROTOCOL.decode_request(many, **WITHIN).message is None
    assert PROTOCOL.decode_request(many, max_decoded=len(many)).message == MANY
    assert PROTOCOL.decode_request(few, **WITHIN).message == FEW
    response = PROTOCOL.encode_response(METADATA, 4, correlation_id=1)
    assert PROTOCOL.decode_response(response, 3, 4, **WITHIN).message is None
    assert PROTOCOL.decode_response(response, 3, 4).message == METADATA


def test_each_value_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    data = FEW.encode(3)
    count = len(trace_message(ProduceRequest, data, 3).spans)
    for left, decoded in ((count, False), (count + 1, True), (count + 2, True)):
        monkeypatch.setattr(large._Counting, "left", left)
        assert (PROTOCOL.decode_request(asked(FEW, 3), **WITHIN).message == FEW) is decoded


def test_bytes_after_a_large_message_are_an_error_if_the_policy_says_so() -> None:
    data = asked(FEW, 3) + b"\0"
    with pytest.raises(DecodeError, match="1 trailing byte"):
        PROTOCOL.decode_request(data, **WITHIN)
    assert PROTOCOL.decode_request(data, Policy(trailing="ignore"), **WITHIN).message is not None


def test_headers_have_a_limit_and_waiting_requests_keep_no_tags_of_theirs() -> None:
    def request(size: int) -> bytes:
        header = RequestHeader(api_key=3, api_version=9, correlation_id=1, unknown_tags=((7, bytes(size)),))
        return header.encode(2) + MetadataRequest().encode(9)

    data = request(MAX_HEADER - 100)
    header, offset, _ = PROTOCOL.request_header(data)
    assert header.unknown_tags == ((7, bytes(MAX_HEADER - 100)),)
    event = RequestEvent(0.0, CLIENT, 0, 0.0, data, "Metadata", header, offset, None)
    kept, size = without_bytes(event)
    assert kept.header == header.replace(unknown_tags=())
    assert size > offset
    with pytest.raises(DecodeError, match="RequestHeader v2"):
        PROTOCOL.request_header(request(MAX_HEADER))
    with pytest.raises(DecodeError, match="ResponseHeader v1"):
        PROTOCOL.response_header(request(MAX_HEADER)[4:8] + request(MAX_HEADER)[10:], 3, 9)


def test_the_content_of_an_envelope_that_is_too_large_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwire.redaction.MAX_DECODED", 300)
    envelopes = [EnvelopeRequest(request_data=asked(one, version)) for one, version in ((MANY, 4), (FEW, 3))]
    assert [redacted(PROTOCOL, envelope).request_data for envelope in envelopes] == [b"", envelopes[1].request_data]


QUOTA = b"\1\x0e\0" + ClientQuotaRecord(entity=[EntityData(entity_type="u", entity_name="n")] * 60).encode(0)
GROUP = b"\0\3" + GroupMetadataValue(members=[MemberMetadata() for _ in range(40)]).encode(3)


@pytest.mark.parametrize(
    ("topic", "key", "value"),
    [("__cluster_metadata", None, QUOTA), ("__consumer_offsets", b"\0\2" + GroupMetadataKey().encode(0), GROUP)],
)
def test_large_values_of_records_have_a_reason(topic: str, key: bytes | None, value: bytes) -> None:
    assert decode_record(PROTOCOL, topic, key, value).reason is None
    record = decode_record(PROTOCOL, topic, key, value, **WITHIN)
    assert record.value is None
    assert record.reason == f"{len(value)} bytes contain too many values to decode: increase maxDecoded"


def test_control_records_are_small() -> None:
    record = Record(b"\0\0\0\2", b"\0\0" + bytes(MAX_SIZE - 1))
    control = decode_control(PROTOCOL, record)
    assert (control.name, control.message) == ("leader_change", None)
    assert control.reason == f"the value has {MAX_SIZE + 1} bytes, but the limit for control records is {MAX_SIZE}"


def test_skipped_batches_keep_a_bounded_number_of_bytes_and_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = encode_batch([Record(None, bytes(100))])
    path = tmp_path / f"{0:020}.log"
    path.write_bytes((batch[:-1] + b"\1") * 50 + batch)
    monkeypatch.setattr(segment, "WINDOW", 5 * len(batch))
    monkeypatch.setattr(segment, "MAX_ERRORS", 20)
    reader = LogSegment(path).batches(skip=True)
    assert len(list(reader)) == 1
    assert reader.skipped == 50
    assert [len(error.data) for error in reader.errors] == [len(batch)] * 5 + [0] * 15
    assert str(reader.errors[-1]).startswith(f"RecordBatch v2 at byte {19 * len(batch)}")
    reader = LogSegment(path).batches(skip=True, verify=False)
    assert len(list(reader.with_records())) == 1
    assert (reader.skipped, len(reader.errors)) == (50, 20)


def test_committed_offsets_have_the_limit_of_a_batch(tmp_path: Path) -> None:
    path = tmp_path / "__consumer_offsets-0" / f"{0:020}.log"
    path.parent.mkdir()
    path.write_bytes(encode_batch([Record(b"\0\7", bytes(5000))], codec=4))
    assert committed_offsets(PROTOCOL, path) == {}
    with pytest.raises(DecompressionLimitError):
        committed_offsets(PROTOCOL, path, limit=1000)


@pytest.fixture
def _no_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("_no_collector")
@pytest.mark.parametrize(
    "read",
    [
        lambda data: COLUMNS.decode([data], 4).errors,
        lambda data: list(read_batches(encode_batch([Record(None, data)])[:-1] + b"?", skip=True)),
    ],
    ids=["columns", "batches"],
)
def test_errors_that_are_kept_are_freed_with_what_has_them(read: Callable[[bytes], object]) -> None:
    """Whoever reads many objects without cycles has the collector run seldom, as workers do."""

    def many() -> None:
        for _ in range(20):
            read(bytes(1 << 20))

    read(b"")  # imports
    assert peak(many) < 8 << 20
