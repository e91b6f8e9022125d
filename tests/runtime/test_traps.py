"""The traps of the wire format, by their numbers in the notes on Kafka's wire semantics, with bytes written by hand.

Java's generated classes are the reference for what the policy ``kafka`` accepts.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

from kwire import LIKE_KAFKA, STRICT, ZERO_UUID, DecodeError, EncodeError, Policy, Uuid
from kwire.headers import RequestHeader
from kwire.message import Message
from kwire.schema import walk
from kwire_kafka import (
    PROTOCOL,
    AbortTransactionRecord,
    ApiVersionsRequest,
    ApiVersionsResponse,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupMemberMetadataValue,
    ControlledShutdownRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DescribeClientQuotasResponse,
    FetchRequest,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    HeartbeatRequest,
    InitProducerIdRequest,
    MetadataRequest,
    MetadataResponse,
    OffsetFetchRequest,
    PartitionChangeRecord,
    ProduceRequest,
    ProducerSnapshot,
    SaslAuthenticateRequest,
    TransactionLogValue,
    UpdateMetadataRequest,
    UpdateRaftVoterRequest,
    VoteRequest,
)
from kwire_kafka.api.api_versions import FinalizedFeatureKey, SupportedFeatureKey
from kwire_kafka.api.consumer_group_heartbeat import Assignment
from kwire_kafka.api.fetch import ReplicaState
from kwire_kafka.api.update_raft_voter import Listener
from kwire_kafka.coordinator.consumer_group_member_metadata import ClassicMemberMetadata, ClassicProtocol
from kwire_kafka.index import MODULES
from tests.runtime.as_columns import decode

KAFKA = Policy(tags="kafka")
PRESERVE = Policy(tags="preserve")
REPLACE = Policy(utf8="replace")
IGNORE = Policy(trailing="ignore")


def raw(text: str) -> bytes:
    """Bytes from hexadecimal digits, with a ``|`` wherever it helps."""
    return bytes.fromhex(text.replace("|", " "))


def refused(cls: type[Message], data: bytes, version: int, policy: Policy = STRICT) -> DecodeError:
    with pytest.raises(DecodeError) as caught:
        decode(cls, data, version, policy)
    return caught.value


def test_trap_01_header_versions_follow_from_flexibility() -> None:
    for name in MODULES:
        cls = PROTOCOL[name]
        if cls.API_KEY is None or not name.endswith(("Request", "Response")):
            continue
        for version in cls.VALID_VERSIONS:
            flexible = version in cls.FLEXIBLE_VERSIONS
            expected = 1 + flexible if name.endswith("Request") else int(flexible)
            if (name, version) == ("ControlledShutdownRequest", 0) or name == "ApiVersionsResponse":
                expected = 0
            assert cls.header_version(version) == expected, (name, version)


def test_trap_02_api_versions_response_has_no_tags_in_its_header() -> None:
    assert [ApiVersionsResponse.header_version(version) for version in range(5)] == [0] * 5
    assert [ApiVersionsRequest.header_version(version) for version in range(5)] == [1, 1, 1, 2, 2]
    payload = PROTOCOL.encode_response(ApiVersionsResponse(), 3, correlation_id=7)
    assert payload == raw("00000007 | 0000 01 00000000 00")
    assert PROTOCOL.decode_response(payload, 18, 3).message == ApiVersionsResponse()


def test_trap_03_controlled_shutdown_0_has_no_client_id() -> None:
    assert [ControlledShutdownRequest.header_version(version) for version in range(4)] == [0, 1, 1, 2]
    payload = raw("0007 0000 00000009 | 00000003")
    assert PROTOCOL.encode_request(ControlledShutdownRequest(broker_id=3), 0, correlation_id=9) == payload
    request = PROTOCOL.decode_request(payload)
    assert request.header == RequestHeader(api_key=7, correlation_id=9)
    assert request.message == ControlledShutdownRequest(broker_id=3)


def test_trap_04_client_ids_are_classic_in_header_2() -> None:
    payload = raw("0012 0003 00000001 0003 616263 00 | 02 78 02 79 00")
    request = PROTOCOL.decode_request(payload)
    assert request.header.client_id == "abc"
    assert request.message == ApiVersionsRequest(client_software_name="x", client_software_version="y")
    assert request.message is not None
    assert PROTOCOL.encode_request(request.message, 3, correlation_id=1, client_id="abc") == payload


def test_trap_05_unknown_api_keys_are_no_error() -> None:
    request = PROTOCOL.decode_request(raw("01f4 0002 00000005 0001 61 | deadbeef"))
    assert (request.header.api_key, request.header.api_version, request.header.client_id) == (500, 2, "a")
    assert (request.message, request.body) == (None, raw("deadbeef"))
    response = PROTOCOL.decode_response(raw("00000005 | deadbeef"), 500, 2)
    assert (response.header.correlation_id, response.message, response.body) == (5, None, raw("deadbeef"))


@pytest.mark.parametrize("keys", ["00000000", "00000001 0012 0000 0004"])
def test_trap_06_a_broker_that_does_not_know_the_version_answers_in_version_0(keys: str) -> None:
    """Before 2.4 with no keys at all, since then with its range for ApiVersions."""
    response = PROTOCOL.decode_response(raw("00000001 | 0023" + keys), 18, 4)
    assert response.version == 0
    assert isinstance(response.message, ApiVersionsResponse)
    assert response.message.error_code == 35
    assert [key.max_version for key in response.message.api_keys] == [4] * (len(response.message.api_keys))
    beyond = PROTOCOL.decode_response(raw("00000001 | 0023" + keys), 18, 99)
    assert (beyond.version, beyond.message) == (0, response.message)
    good = PROTOCOL.decode_response(raw("00000001 | 0000 01 00000000 00"), 18, 4)
    assert (good.version, good.message) == (4, ApiVersionsResponse())


def test_trap_07_the_body_of_an_unknown_version_is_kept() -> None:
    request = PROTOCOL.decode_request(raw("0012 0063 00000005 0001 61 00 | deadbeef"))
    assert (request.header.api_version, request.message, request.body) == (99, None, raw("deadbeef"))


def test_trap_10_trailing_bytes() -> None:
    data = raw("00000003 | ff")
    error = refused(ControlledShutdownRequest, data, 0)
    assert (error.offset, error.path, error.reason) == (4, "", "1 trailing byte")
    refused(ControlledShutdownRequest, data, 0, KAFKA)
    assert decode(ControlledShutdownRequest, data, 0, IGNORE) == ControlledShutdownRequest(broker_id=3)
    assert decode(ControlledShutdownRequest, data, 0, LIKE_KAFKA) == ControlledShutdownRequest(broker_id=3)
    assert ControlledShutdownRequest.decode_from(data, 0) == (ControlledShutdownRequest(broker_id=3), 4)


@pytest.mark.parametrize("byte", ["01", "02", "7f", "80", "ff"])
def test_trap_11_any_byte_but_zero_is_true(byte: str) -> None:
    message = decode(MetadataRequest, raw("00000000" + byte), 4)
    assert message.allow_auto_topic_creation is True
    assert message.encode(4) == raw("00000000 01")
    assert decode(MetadataRequest, raw("00000000 00"), 4).allow_auto_topic_creation is False


def test_trap_11_unsigned_numbers() -> None:
    snapshot = ProducerSnapshot(crc=0xFEDCBA98)
    assert snapshot.encode(1) == raw("fedcba98 00000000")
    assert decode(ProducerSnapshot, raw("fedcba98 00000000"), 1) == snapshot
    voter = UpdateRaftVoterRequest(listeners=[Listener(name="", host="", port=0xFFFE)])
    data = raw("01 00000000 00000000" + "00" * 16 + "02 01 01 fffe 00 | 0000 0000 00 | 00")
    assert voter.encode(0) == data
    assert decode(UpdateRaftVoterRequest, data, 0) == voter


@pytest.mark.parametrize("bits", ["3ff8000000000000", "8000000000000000", "7ff0000000000000", "7ff8000000000001"])
def test_trap_11_floats_keep_their_bits(bits: str) -> None:
    data = raw("00000000 0000 ffff 00000001 | 00000000 | 00000001 0001 6b" + bits)
    message = decode(DescribeClientQuotasResponse, data, 0)
    assert message.entries
    value = message.entries[0].values[0].value
    assert math.isnan(value) or value in (1.5, 0.0, math.inf)
    assert message.encode(0) == data


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        ("00", None),
        ("01", ""),
        ("8000", None),  # zero in two bytes
        ("80808000", None),
        ("8080808000", None),
        ("8100", ""),  # one in two bytes
        ("8180808000", ""),
        ("ffffffff0f", None),  # 2**32 - 1 is -1 for Java
        ("8180808008", None),  # 2**31 + 1
        ("ffffffff7f", None),  # the fifth byte has seven bits, three of which fall off
        ("8180808010", ""),
    ],
)
def test_trap_12_varints(length: str, expected: str | None) -> None:
    message = decode(InitProducerIdRequest, raw(length + "00000005 00"), 2)
    assert message == InitProducerIdRequest(transactional_id=expected, transaction_timeout_ms=5)
    assert message.encode(2) == raw(("00" if expected is None else "01") + "00000005 00")


@pytest.mark.parametrize("length", ["00", "8000", "80808000", "ffffffff0f", "8180808008", "ffffffff7f"])
def test_trap_12_null_where_it_may_not_be(length: str) -> None:
    """Bytes, strings and arrays have their own code for lengths of several bytes."""
    error = refused(SaslAuthenticateRequest, raw(length + "00"), 2)
    assert (error.path, error.offset) == ("auth_bytes", 0)
    assert "null is not allowed" in error.reason
    assert refused(HeartbeatRequest, raw(length + "00000000 01 00 00"), 4).path == "group_id"
    assert refused(ProduceRequest, raw("00 0000 00000000" + length + "00"), 9).path == "topic_data"


def test_trap_12_the_smallest_number_becomes_the_largest_length() -> None:
    """2**31 is the smallest number to Java, and one less than that the largest."""
    error = refused(InitProducerIdRequest, raw("8080808008 00000005 00"), 2)
    assert (error.path, error.offset) == ("transactional_id", 0)
    assert "length 2147483647" in error.reason


def test_trap_12_null_bytes_and_arrays_in_long_varints() -> None:
    topic = "02 | 02 74 | 02 | 00000000 8000 00 | 00"
    message = decode(ProduceRequest, raw("00 0000 00000000" + topic + "00"), 9)
    assert message.topic_data[0].partition_data[0].records is None
    assert decode(MetadataRequest, raw("8000 00 00 00 00"), 9).topics is None
    assert decode(MetadataRequest, raw("8100 00 00 00 00"), 9).topics == []


def test_trap_12_a_long_null_at_the_end_is_null_and_does_not_step_back() -> None:
    assert "null is not allowed" in refused(SaslAuthenticateRequest, raw("8000"), 2).reason
    for records in ("8000", "80808000", "00"):
        cut = f"00 0000 00000000 02 | 02 74 | 02 | 00000000 {records} | 00 | 00"
        assert refused(ProduceRequest, raw(cut), 9).path == "tagged fields"


def test_trap_12_short_lengths_in_two_bytes() -> None:
    for size in range(127):
        data = bytes([size + 1 | 128, 0]) + b"x" * size + b"\0"
        assert SaslAuthenticateRequest._read(data, 0, 2) == (
            SaslAuthenticateRequest(auth_bytes=b"x" * size),
            len(data),
        )


def test_trap_12_a_varint_has_at_most_five_bytes() -> None:
    error = refused(InitProducerIdRequest, raw("818080808000 00000005 00"), 2)
    assert (error.path, error.offset) == ("transactional_id", 0)
    assert "more than five bytes" in error.reason


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 128, 16381, 16382, 16383, 16384, 100_000])
def test_trap_12_lengths_at_the_edges_of_varints(size: int) -> None:
    message = SaslAuthenticateRequest(auth_bytes=b"x" * size)
    data = message.encode(2)
    assert len(data) == size + 1 + (1 if size < 127 else 2 if size < 16383 else 3)
    assert SaslAuthenticateRequest._read(data, 0, 2) == (message, len(data))


@pytest.mark.parametrize("length", ["ffff", "fffe", "8000"])
def test_trap_13_any_negative_length_is_null(length: str) -> None:
    message = decode(InitProducerIdRequest, raw(length + "00000005"), 0)
    assert message.transactional_id is None
    assert message.encode(0) == raw("ffff 00000005")
    error = refused(HeartbeatRequest, raw(length + "00000000 0000"), 0)
    assert (error.path, error.offset) == ("group_id", 0)


@pytest.mark.parametrize("length", ["ffffffff", "fffffffb", "80000000"])
def test_trap_13_any_negative_count_is_null(length: str) -> None:
    assert decode(MetadataRequest, raw(length), 1).topics is None
    assert refused(MetadataRequest, raw(length), 0).path == "topics"
    assert refused(SaslAuthenticateRequest, raw(length), 0).path == "auth_bytes"


def test_trap_14_a_long_compact_string_is_refused() -> None:
    longest = "808002" + "78" * 0x7FFF + "00000005 00"
    assert decode(InitProducerIdRequest, raw(longest), 2).transactional_id == "x" * 0x7FFF
    for policy in (STRICT, LIKE_KAFKA):
        error = refused(InitProducerIdRequest, raw("818002" + "78" * 0x8000 + "00000005 00"), 2, policy)
        assert (error.path, error.reason) == (
            "transactional_id",
            "a string of 32768 bytes exceeds Kafka's limit of 32767",
        )


def test_trap_14_invalid_utf8() -> None:
    data = raw("05 61 ff fe 62 00000005 00")
    error = refused(InitProducerIdRequest, data, 2)
    assert (error.path, error.offset, error.data) == ("transactional_id", 2, data)
    message = decode(InitProducerIdRequest, data, 2, REPLACE)
    assert message.transactional_id == "a\ufffd\ufffdb"
    assert decode(InitProducerIdRequest, data, 2, LIKE_KAFKA) == message
    half = raw("06 ed a0 80 ed b0 00000005 00")  # half of a pair of surrogates, and the beginning of another
    refused(InitProducerIdRequest, half, 2)
    assert decode(InitProducerIdRequest, half, 2, REPLACE).transactional_id == "\ufffd\ufffd"


def test_trap_15_counts_are_checked_before_anything_is_made() -> None:
    error = refused(MetadataRequest, raw("7fffffff 0001 61"), 1)
    assert (error.path, error.offset, error.reason) == (
        "topics",
        0,
        "this array has length 2147483647, 3 bytes left",
    )
    assert refused(ProduceRequest, raw("00 0000 00000000 ffffffff07"), 9).path == "topic_data"
    for data in (raw("7fffffff"), raw("00100000") + bytes(100)):
        assert refused(SaslAuthenticateRequest, data, 0).path == "auth_bytes"


def test_trap_15_null_elements() -> None:
    assert refused(MetadataRequest, raw("00000002 0001 61 ffff"), 1).path == "topics[1].name"
    error = refused(ConsumerGroupMemberMetadataValue, raw("01 01 01 01 | 03 02 61 00 | 01 ffffffff 01 00"), 0)
    assert error.path == "subscribed_topic_names[1]"


def test_trap_16_uuids_are_never_null() -> None:
    for name in MODULES:
        cls = PROTOCOL[name]
        assert not [field for field in cls.FIELDS if field.type == "uuid" and field.nullable]
    assert decode(MetadataRequest, raw("02" + "00" * 16 + "00 00 | 00 00 00"), 11).topics[0].topic_id == ZERO_UUID  # type: ignore[index]


def test_trap_17_structs_in_tagged_fields_end_with_tags() -> None:
    fetch = "00000000 00000000 00000000 00 00000000 00000000 01 01 01"
    state = "00000005 0000000000000007"
    message = FetchRequest(replica_state=ReplicaState(replica_id=5, replica_epoch=7), max_bytes=0, session_epoch=0)
    assert message.encode(15) == raw(f"{fetch} 01 | 01 0d {state} 00")
    tagged = raw(f"{fetch} 01 | 01 10 {state} 01 09 01 ff")
    decoded = decode(FetchRequest, tagged, 15)
    assert decoded.replica_state.unknown_tags == ((9, b"\xff"),)
    assert decoded.encode(15) == tagged


def test_trap_18_the_count_of_tags_is_a_plain_one() -> None:
    message = HeartbeatRequest(unknown_tags=((5, b"\xaa"), (300, b"")))
    data = raw("01 00000000 01 00 | 02 05 01 aa ac02 00")
    assert message.encode(4) == data
    assert decode(HeartbeatRequest, data, 4) == message


def test_trap_19_tags_are_written_in_ascending_order() -> None:
    """Fields stand in another order than their tags, and unknown tags go between known ones."""
    value = TransactionLogValue(
        next_producer_epoch=1, client_transaction_version=2, unknown_tags=((1, b"u"), (9, b""))
    )
    start = "0000000000000000 0000 00000000 00 01 0000000000000000 0000000000000000"
    assert value.encode(1) == raw(start + "04 | 01 01 75 | 02 02 0002 | 03 02 0001 | 09 00")
    value.unknown_tags = ()
    assert value.encode(1) == raw(start + "02 | 02 02 0002 | 03 02 0001")
    with pytest.raises(EncodeError, match="tag 3 is a known field"):
        value.replace(unknown_tags=((3, b""),)).encode(1)


API_VERSIONS = "0000 01 00000000"
EPOCH = "01 08 000000000000004d"
READY = "03 01 01"


@pytest.mark.parametrize(
    ("tags", "reason"),
    [
        (f"02 {READY} {EPOCH}", "tag 1 after tag 3: tags must ascend"),
        (f"02 {EPOCH} {EPOCH}", "tag 1 after tag 1: tags must ascend"),
        ("01 03 02 01", "tag 3 has size 2, 1 byte left"),
        ("02 03 02 01 09 00", "tag 3 has size 2, but its value has 1 byte"),
        ("01 01 01 000000000000004d", "tag 1 has size 1, but its value has 8 bytes"),
    ],
)
def test_trap_20_what_only_javas_generated_code_accepts(tags: str, reason: str) -> None:
    data = raw(API_VERSIONS + tags)
    for policy in (STRICT, PRESERVE):
        assert refused(ApiVersionsResponse, data, 3, policy).reason == reason
    message = decode(ApiVersionsResponse, data, 3, KAFKA)
    assert message.finalized_features_epoch == (77 if "4d" in tags else -1)
    assert message.zk_migration_ready == ("03" in tags.split())


def test_trap_20_the_last_of_duplicates_wins() -> None:
    data = raw(API_VERSIONS + f"02 {EPOCH} 01 08 0000000000000001")
    assert decode(ApiVersionsResponse, data, 3, KAFKA).finalized_features_epoch == 1


def test_trap_20_unknown_tags_keep_their_declared_size() -> None:
    message = decode(ApiVersionsResponse, raw(API_VERSIONS + "02 09 02 aabb 0a 00"), 3)
    assert message.unknown_tags == ((9, b"\xaa\xbb"), (10, b""))
    for policy in (STRICT, KAFKA, PRESERVE):
        assert "has size 3" in refused(ApiVersionsResponse, raw(API_VERSIONS + "01 09 03 aabb"), 3, policy).reason


def test_trap_20_a_count_of_tags_that_is_negative() -> None:
    """Java loops over no tags, and reads a negative tag that it could not write."""
    for policy in (STRICT, PRESERVE):
        refused(ApiVersionsResponse, raw(API_VERSIONS + "ffffffff0f"), 3, policy)
        refused(ApiVersionsResponse, raw(API_VERSIONS + "01 ffffffff0f 00"), 3, policy)
        refused(ApiVersionsResponse, raw(API_VERSIONS + "01 09 ffffffff0f"), 3, policy)
    assert decode(ApiVersionsResponse, raw(API_VERSIONS + "ffffffff0f"), 3, KAFKA) == ApiVersionsResponse()
    odd = decode(ApiVersionsResponse, raw(API_VERSIONS + "01 ffffffff0f 00"), 3, KAFKA)
    assert odd.unknown_tags == ((-1, b""),)
    with pytest.raises(EncodeError):
        odd.encode(3)
    refused(ApiVersionsResponse, raw(API_VERSIONS + "01 09 ffffffff0f"), 3, KAFKA)


def test_trap_21_a_known_tag_below_its_versions() -> None:
    """ReplicaState is tag 1 since version 15; versions 12 to 14 are flexible without it."""
    data = raw("ffffffff 00000000 00000000 00000000 00 00000000 00000000 01 01 01 | 01 01 02 abcd")
    for policy in (STRICT, KAFKA):
        error = refused(FetchRequest, data, 12, policy)
        assert "tag 1 is `replica_state`, which version 12 lacks" in error.reason
    message = decode(FetchRequest, data, 12, PRESERVE)
    assert message.unknown_tags == ((1, b"\xab\xcd"),)
    assert message.replica_state == ReplicaState()
    assert message.encode(12) == data


def test_trap_22_unknown_tags_survive() -> None:
    data = raw("01 00000000 01 00 | 01 feffffff07 03 010203")
    message = decode(HeartbeatRequest, data, 4)
    assert message.unknown_tags == ((2**31 - 2, b"\1\2\3"),)
    assert message.encode(4) == data


def test_trap_22_the_tag_that_kafka_does_not_write() -> None:
    data = raw("01 00000000 01 00 | 01 ffffffff07 00")
    refused(HeartbeatRequest, data, 4)
    odd = decode(HeartbeatRequest, data, 4, KAFKA)
    assert odd.unknown_tags == ((2**31 - 1, b""),)
    with pytest.raises(EncodeError):
        odd.encode(4)


def test_trap_23_tagged_fields_at_their_default_are_left_out() -> None:
    plain = raw(API_VERSIONS + "00")
    touched = ApiVersionsResponse(supported_features=[], finalized_features_epoch=-1, zk_migration_ready=False)
    assert ApiVersionsResponse().encode(3) == touched.encode(3) == plain
    assert ApiVersionsResponse(finalized_features_epoch=0).encode(3) == raw(API_VERSIONS + "01 01 08" + "00" * 8)
    full = ApiVersionsResponse(
        supported_features=[SupportedFeatureKey(name="f", min_version=1, max_version=2)],
        finalized_features=[FinalizedFeatureKey(name="g", max_version_level=3, min_version_level=2)],
    )
    data = raw(API_VERSIONS + "02 | 00 08 02 0266 0001 0002 00 | 02 08 02 0267 0003 0002 00")
    assert full.encode(3) == data
    assert decode(ApiVersionsResponse, data, 3) == full


def test_trap_23_a_default_that_arrives_is_not_written_again() -> None:
    message = decode(ApiVersionsResponse, raw(API_VERSIONS + "01 03 01 00"), 3)
    assert message == ApiVersionsResponse()
    assert message.encode(3) == raw(API_VERSIONS + "00")


def test_trap_23_null_by_default_differs_from_empty() -> None:
    null, empty = FetchSnapshotRequest(cluster_id=None), FetchSnapshotRequest(cluster_id="")
    assert empty.encode(0) == null.encode(0)[:-1] + raw("01 00 01 01")
    assert decode(FetchSnapshotRequest, empty.encode(0), 0) == empty != null
    nobody, unset = PartitionChangeRecord(isr=[]), PartitionChangeRecord()
    assert nobody.encode(0) == unset.encode(0)[:-1] + raw("01 00 01 01")
    assert decode(PartitionChangeRecord, nobody.encode(0), 0).isr == []
    assert decode(PartitionChangeRecord, unset.encode(0), 0).isr is None


def test_trap_23_a_struct_at_its_default_is_left_out() -> None:
    message = FetchRequest()
    plain = message.encode(15)
    assert message.replica_state == ReplicaState()
    message.replica_state = ReplicaState(replica_id=-1)
    assert message.encode(15) == plain
    message.replica_state.unknown_tags = ((0, b""),)
    assert message.encode(15) != plain


def test_trap_24_tagged_values_on_a_classic_version() -> None:
    with pytest.raises(EncodeError, match="version 0 lacks this field") as caught:
        TransactionLogValue(next_producer_id=5).encode(0)
    assert caught.value.path == "next_producer_id"
    with pytest.raises(EncodeError, match="is not flexible"):
        HeartbeatRequest(unknown_tags=((0, b""),)).encode(3)
    assert ApiVersionsResponse(zk_migration_ready=True).encode(0) == raw("0000 00000000")  # ignorable


HEARTBEAT = "00000000 0000 00 00 00000000 00000000"


@pytest.mark.parametrize("mark", ["ff", "fe", "80"])
def test_trap_25_an_untagged_struct_that_is_null(mark: str) -> None:
    message = decode(ConsumerGroupHeartbeatResponse, raw(HEARTBEAT + mark + "00"), 0)
    assert message.assignment is None
    assert message.encode(0) == raw(HEARTBEAT + "ff 00")


@pytest.mark.parametrize("mark", ["ff", "fe", "80"])
def test_trap_25_what_follows_the_mark_of_null_is_not_of_the_struct(mark: str) -> None:
    """Here the tags after it could be read as an assignment too."""
    message = decode(ConsumerGroupHeartbeatResponse, raw(HEARTBEAT + mark + "01 00 00"), 0)
    assert (message.assignment, message.unknown_tags) == (None, ((0, b""),))


@pytest.mark.parametrize("mark", ["01", "00", "02", "7f"])
def test_trap_25_an_untagged_struct_that_is_there(mark: str) -> None:
    message = decode(ConsumerGroupHeartbeatResponse, raw(HEARTBEAT + mark + "01 00 | 00"), 0)
    assert message.assignment == Assignment()
    assert message.encode(0) == raw(HEARTBEAT + "01 | 01 00 | 00")


MEMBER = "01 01 01 01 01 01 ffffffff 01"


@pytest.mark.parametrize("mark", ["00", "8000", "ffffffff0f", "8080808008"])
def test_trap_25_a_tagged_struct_that_is_null(mark: str) -> None:
    """Java asks whether the varint is at most zero."""
    size = f"{len(raw(mark)):02x}"
    message = decode(ConsumerGroupMemberMetadataValue, raw(f"{MEMBER} 01 | 00 {size} {mark}"), 0)
    assert message.classic_member_metadata is None
    assert message.encode(0) == raw(f"{MEMBER} 01 | 00 01 00")


@pytest.mark.parametrize("mark", ["00", "8080808008"])
def test_trap_25_nothing_follows_the_mark_of_null_in_a_tagged_field(mark: str) -> None:
    member = "0000afc8 | 02 | 02 70 03 beef 00 | 00"
    size = f"{len(raw(mark)) + len(raw(member)):02x}"
    with pytest.raises(DecodeError, match="classic_member_metadata"):
        decode(ConsumerGroupMemberMetadataValue, raw(f"{MEMBER} 01 | 00 {size} {mark} {member}"), 0)


@pytest.mark.parametrize("mark", ["01", "02", "8100", "ffffffff07"])
def test_trap_25_a_tagged_struct_that_is_there(mark: str) -> None:
    """The mark is a varint, and counts to the size of the tag."""
    member = "0000afc8 | 02 | 02 70 03 beef 00 | 00"
    size = f"{len(raw(mark)) + len(raw(member)):02x}"
    message = decode(ConsumerGroupMemberMetadataValue, raw(f"{MEMBER} 01 | 00 {size} {mark} {member}"), 0)
    protocols = [ClassicProtocol(name="p", metadata=b"\xbe\xef")]
    expected = ClassicMemberMetadata(session_timeout_ms=45000, supported_protocols=protocols)
    assert message.classic_member_metadata == expected
    assert message.encode(0) == raw(f"{MEMBER} 01 | 00 0d 01 {member}")


def test_trap_25_a_mark_of_two_bytes_is_not_one_and_the_first_byte_of_the_struct() -> None:
    """These bytes would be an assignment too if the struct began at the second byte of its mark."""
    message = decode(ConsumerGroupMemberMetadataValue, raw(f"{MEMBER} 01 | 00 0b 8100 00000001 01 01 02 01 aa"), 0)
    assert message.classic_member_metadata == ClassicMemberMetadata(
        session_timeout_ms=1, unknown_tags=((2, b"\xaa"),)
    )


def test_trap_26_a_tagged_null() -> None:
    """A string, an array: one byte, zero."""
    record = decode(AbortTransactionRecord, raw("01 | 00 01 00"), 0)
    assert record == AbortTransactionRecord(reason=None)
    assert record.encode(0) == raw("00")
    assert decode(AbortTransactionRecord, raw("01 | 00 01 01"), 0).encode(0) == raw("01 | 00 01 01")
    change = decode(PartitionChangeRecord, raw("00000000" + "00" * 16 + "01 | 00 01 00"), 0)
    assert change == PartitionChangeRecord(partition_id=0)


def test_trap_27_null_in_json_is_no_null_default() -> None:
    assert ConsumerGroupMemberMetadataValue().classic_member_metadata == ClassicMemberMetadata()
    assert ConsumerGroupMemberMetadataValue().encode(0) == raw(MEMBER + "00")
    decoded = decode(ConsumerGroupMemberMetadataValue, raw(MEMBER + "00"), 0)
    assert decoded.classic_member_metadata == ClassicMemberMetadata()
    null = ConsumerGroupMemberMetadataValue(classic_member_metadata=None)
    assert null != decoded
    assert null.encode(0) == raw(MEMBER + "01 | 00 01 00")


def test_trap_28_records_are_compact_in_flexible_versions() -> None:
    topic = "0000000{} | 0001 74 | 00000001 | 00000000"
    classic = raw("ffff 0000 00000000" + topic.format(1) + "00000003 aabbcc")
    compact = raw("00 0000 00000000 | 02 | 02 74 | 02 | 00000000 04 aabbcc 00 | 00 | 00")
    message = decode(ProduceRequest, classic, 3)
    assert message.topic_data[0].partition_data[0].records == b"\xaa\xbb\xcc"
    assert decode(ProduceRequest, compact, 9) == message
    assert (message.encode(3), message.encode(9)) == (classic, compact)


def test_trap_28_records_are_null_by_default_even_where_they_may_not_be() -> None:
    module: Any = __import__(FetchSnapshotResponse.__module__, fromlist=["*"])
    partition = module.FetchSnapshotResponsePartitionSnapshot()
    assert partition.unaligned_records is None
    message = FetchSnapshotResponse(topics=[module.FetchSnapshotResponseTopicSnapshot(partitions=[partition])])
    with pytest.raises(EncodeError, match="null is not allowed") as caught:
        message.encode(0)
    assert caught.value.path == "topics[0].partitions[0].unaligned_records"
    partition.unaligned_records = b""
    assert decode(FetchSnapshotResponse, message.encode(0), 0) == message


def test_trap_29_absent_fields_read_as_their_defaults() -> None:
    message = decode(VoteRequest, raw("00 01 00"), 0)
    assert (message.voter_id, message.cluster_id, message.topics) == (-1, None, [])
    assert decode(FetchRequest, raw("ffffffff 00000000 00000000 00000000"), 0).max_bytes == 0x7FFFFFFF


def test_trap_30_defaults_in_hexadecimal() -> None:
    assert FetchRequest().max_bytes == 0x7FFFFFFF


def test_trap_31_versions_that_follow_from_tagged_versions() -> None:
    """ClusterId of FetchSnapshotRequest states no versions of its own."""
    cluster_id = FetchSnapshotRequest.FIELDS[0]
    assert (cluster_id.name, cluster_id.type, cluster_id.tag) == ("cluster_id", "string", 0)
    assert cluster_id.versions == cluster_id.nullable == cluster_id.tagged == range(2)
    data = FetchSnapshotRequest(cluster_id="c").encode(0)
    assert data.endswith(raw("01 00 02 02 63"))
    assert decode(FetchSnapshotRequest, data, 0).cluster_id == "c"


def test_trap_32_nullable_only_where_the_field_exists() -> None:
    """ErrorMessage may be null in 0+ and exists in 1+; Topics of OffsetFetch exist in 0-7, nullable from 2."""
    field = next(field for field in _create_topics_result().FIELDS if field.name == "error_message")
    assert field.versions == field.nullable == range(1, 8)
    result = decode(CreateTopicsResponse, raw("00000001 0001 74 0000 ffff"), 1).topics[0]
    assert result.error_message is None
    assert decode(OffsetFetchRequest, raw("0001 67 ffffffff"), 2).topics is None
    assert refused(OffsetFetchRequest, raw("0001 67 ffffffff"), 1).path == "topics"
    with pytest.raises(EncodeError) as caught:
        OffsetFetchRequest(group_id="g", topics=None).encode(1)
    assert caught.value.path == "topics"


def _create_topics_result() -> type[Any]:
    return type(decode(CreateTopicsResponse, raw("00000001 0001 74 0000"), 0).topics[0])


def test_trap_35_structs_live_within_the_versions_of_their_message() -> None:
    """One struct, used by two fields: its fields follow the version of the message, wherever it stands."""
    ungrouped = raw("00000001 00000002 | 00000001 | 0001 74")
    partition = "00000003 00000002 00000001 00000005 00000000 00000007 00000000"
    old = decode(UpdateMetadataRequest, ungrouped + raw(partition + "00000000"), 0)
    assert old.ungrouped_partition_states[0].topic_name == "t"
    assert old.ungrouped_partition_states[0].offline_replicas == []
    data = raw(
        "00000001 00000002 ffffffffffffffff | 00000001 | 0001 74 | 00000001" + partition + "00000000 | 00000000"
    )
    new = decode(UpdateMetadataRequest, data, 5)
    state = new.topic_states[0].partition_states[0]
    assert (state.topic_name, state.partition_index, state.zk_version) == ("", 3, 7)
    assert new.encode(5) == data


def test_trap_36_duplicates_in_a_map_are_kept_in_order() -> None:
    data = raw("00000003 0001 62 0001 61 0001 62")
    message = decode(MetadataRequest, data, 0)
    assert [topic.name for topic in message.topics or ()] == ["b", "a", "b"]
    assert message.encode(0) == data


TOPIC_ID = "000102030405060708090a0b0c0d0e0f"


def test_trap_46_topic_ids_replace_names() -> None:
    """Fetch is the same in 12 and 13 but for the name, which an id takes the place of."""
    partition = "02 00000007 ffffffff 0000000000000005 ffffffff ffffffffffffffff 00000400 00 | 00"
    fetch = "00000000 00000001 00000400 00 00000000 ffffffff 02 | {} " + partition + " | 01 01 00"
    named = decode(FetchRequest, raw("ffffffff" + fetch.format("03 7431")), 12)
    known = decode(FetchRequest, raw("ffffffff" + fetch.format(TOPIC_ID)), 13)
    assert [(topic.topic, topic.topic_id) for topic in named.topics] == [("t1", ZERO_UUID)]
    assert [(topic.topic, topic.topic_id) for topic in known.topics] == [("", Uuid(raw(TOPIC_ID)))]
    assert named.topics[0].partitions == known.topics[0].partitions
    # Both are ignorable: whoever sets the wrong one asks for a topic without a name, as with Java.
    assert known.encode(12) == raw("ffffffff" + fetch.format("01"))
    assert named.encode(13) == raw("ffffffff" + fetch.format("00" * 16))


@pytest.mark.parametrize(
    ("name", "path", "first"),
    [
        ("FetchRequest", "topics", 13),
        ("FetchRequest", "forgotten_topics_data", 13),
        ("FetchResponse", "responses", 13),
        ("ProduceRequest", "topic_data", 13),
        ("ProduceResponse", "responses", 13),
        ("OffsetCommitRequest", "topics", 10),
        ("OffsetCommitResponse", "topics", 10),
        ("OffsetFetchRequest", "groups.topics", 10),
        ("OffsetFetchResponse", "groups.topics", 10),
    ],
)
def test_trap_46_since_when_topics_have_ids_alone(name: str, path: str, first: int) -> None:
    cls: Any = PROTOCOL[name]
    fields = {place: field.versions for place, _, field in walk(cls)}
    named = fields.get(f"{path}.topic") or fields[f"{path}.name"]
    assert (named.stop, fields[f"{path}.topic_id"]) == (first, range(first, cls.VALID_VERSIONS.stop))


def test_trap_46_metadata_tells_which_id_has_which_name() -> None:
    """Since version 12 a topic may be asked for by its id alone, and then the name is null until it is known."""
    request = decode(MetadataRequest, raw(f"02 {TOPIC_ID} 00 00 | 00 00 00"), 12)
    assert request.topics is not None
    assert (request.topics[0].topic_id, request.topics[0].name) == (Uuid(raw(TOPIC_ID)), None)
    topic = f"0064 00 {TOPIC_ID} 00 01 80000000 00"
    response = raw(f"00000000 01 00 ffffffff 02 | {topic} | 00")
    answer = decode(MetadataResponse, response, 12)
    assert (answer.topics[0].topic_id, answer.topics[0].name) == (Uuid(raw(TOPIC_ID)), None)
    assert refused(MetadataResponse, response[:-2] + raw("00 00"), 11).path == "topics[0].name"
    by_id = raw(f"02 00 {TOPIC_ID} 00 | 00000001 00")
    assert decode(DeleteTopicsRequest, by_id, 6).topics[0].topic_id == Uuid(raw(TOPIC_ID))
