"""What a ``DecodeError`` says, and that nothing else leaves ``decode``."""

from __future__ import annotations

import copy
import pickle
from typing import Any
from unittest.mock import ANY

import pytest
from syrupy.assertion import SnapshotAssertion

from kwire import LIKE_KAFKA, STRICT, DecodeError, EncodeError, KwireError, Policy, is_native
from kwire.message import Message
from kwire_kafka import (
    PROTOCOL,
    ApiVersionsResponse,
    FetchResponse,
    HeartbeatRequest,
    ListGroupsRequest,
    MetadataResponse,
)
from kwire_kafka.api.fetch import EpochEndOffset, FetchableTopicResponse, PartitionData
from kwire_kafka.api.metadata import MetadataResponseBroker
from tests.properties.values import FIXED, each_message, make, message_class
from tests.runtime.cuts import cuts
from tests.support.effort import peak

NOT_A_NUMBER = "int object expected; got str" if is_native() else "'str' object cannot be interpreted as an integer"
"""What mypyc or Python says of a version that is a text."""

FETCHED = FetchResponse(
    session_id=5,
    responses=[
        FetchableTopicResponse(
            partitions=[
                PartitionData(partition_index=index, records=b"r" * 40, diverging_epoch=EpochEndOffset(epoch=index))
                for index in range(4)
            ]
        )
    ],
)


def broken(cls: type[Message], data: Any, version: int, policy: Policy = STRICT) -> DecodeError:
    with pytest.raises(DecodeError) as caught:
        cls.decode(data, version, policy)
    return caught.value


def test_an_error_knows_where_it_is() -> None:
    """The fourth partition's records say that they are longer than what is left."""
    data = FETCHED.encode(13)
    cut = data[: data.rindex(b"r" * 40) + 7]
    error = broken(FetchResponse, cut, 13)
    assert (error.message_name, error.version) == ("FetchResponse", 13)
    assert error.path == "responses[0].partitions[3].records"
    assert error.offset == data.rindex(b"r" * 40) - 1
    assert error.data == cut
    assert error.reason == "this block of records has length 40, 7 bytes left"


def test_errors_inside_of_tagged_structs() -> None:
    data = FETCHED.encode(13)
    at = data.rindex(b"r" * 40) + 40
    wrong = data[:at] + b"\x01\x00\x05\0\0\0\3\0"  # one tag, DivergingEpoch, five bytes of thirteen
    error = broken(FetchResponse, wrong, 13)
    assert error.path == "responses[0].partitions[3].diverging_epoch.end_offset"


def test_texts(snapshot: SnapshotAssertion) -> None:
    data = FETCHED.encode(13)
    api = ApiVersionsResponse(error_code=35, throttle_time_ms=1).encode(3)
    errors = [
        broken(FetchResponse, data[:-1], 13),
        broken(FetchResponse, data + b"\0\0", 13),
        broken(FetchResponse, data, 99),
        broken(FetchResponse, data[:4], 13),
        broken(FetchResponse, b"", 0),
        broken(ApiVersionsResponse, api[:-1] + bytes.fromhex("01 01 08 0000"), 3),
        broken(ApiVersionsResponse, api[:-1] + bytes.fromhex("02 09 00 08 00"), 3),
        broken(ApiVersionsResponse, api[:2] + b"\xff\xff\xff\xff\x07" + api[3:], 3),
        broken(ApiVersionsResponse, api[:2] + b"\0" + api[3:], 3),
        broken(HeartbeatRequest, b"\0\3a\xffb" + bytes(6), 0),
        broken(HeartbeatRequest, b"\xff\xff" + bytes(6), 0),
        broken(HeartbeatRequest, b"\x80\x80\x80\x80\x80\x01", 4),
        broken(MetadataResponse, b"\x7f\xff\xff\xff", 0),
    ]
    assert "\n".join(map(str, errors)) == snapshot


@each_message
def test_versions_that_do_not_exist(name: str) -> None:
    cls = message_class(name)
    data = cls().encode(cls.VALID_VERSIONS[-1])
    for version in (cls.VALID_VERSIONS[0] - 1, cls.VALID_VERSIONS[-1] + 1, -1, 2**70):
        error = broken(cls, data, version)
        assert (error.message_name, error.version, error.path, error.data) == (name, version, "", data)
        assert error.reason.startswith(f"unknown version {version}, valid versions are ")
        with pytest.raises(DecodeError, match="unknown version"):
            cls.decode_from(data, version)


@pytest.mark.slow
@each_message
def test_every_cut_names_a_place(name: str) -> None:
    cls = message_class(name)
    version = cls.VALID_VERSIONS[-1]
    data = make(cls, version, FIXED["min"]).encode(version)
    for size in cuts(cls, data, version):
        for policy in (STRICT, LIKE_KAFKA):
            error = broken(cls, data[:size], version, policy)
            assert 0 <= error.offset <= size
            assert error.path
            assert error.path.split(".")[0].split("[")[0] in {*[field.name for field in cls.FIELDS], "tagged fields"}


@pytest.mark.parametrize("make_error", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
def test_errors_travel_between_processes(make_error: Any) -> None:
    error = broken(HeartbeatRequest, HeartbeatRequest(group_id="g").encode(4)[:-1], 4)
    twin = make_error(error)
    assert type(twin) is DecodeError
    assert vars(twin) == vars(error)
    assert str(twin) == str(error)
    with pytest.raises(EncodeError) as caught:
        HeartbeatRequest(generation_id=2**31).encode(0)
    other = make_error(caught.value)
    assert type(other) is EncodeError
    assert (vars(other), str(other)) == (vars(caught.value), str(caught.value))


def test_errors_are_of_one_family() -> None:
    assert issubclass(DecodeError, KwireError)
    assert issubclass(EncodeError, KwireError)
    assert not issubclass(DecodeError, EncodeError)
    assert str(DecodeError("no", offset=3, data=b"abcd")) == "byte 3 of 4: no"
    assert str(EncodeError("no")) == "no"


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_data_may_be_any_bytes(kind: Any) -> None:
    data = FETCHED.encode(13)
    assert FetchResponse.decode(kind(data), 13) == FETCHED
    assert FetchResponse.decode_from(kind(b"abc" + data + b"d"), 13, start=3) == (FETCHED, len(data) + 3)
    error = broken(FetchResponse, kind(data[:30]), 13)
    assert (error.data, type(error.data)) == (data[:30], bytes)


def test_a_version_is_a_whole_number_and_data_are_bytes() -> None:
    one: Any = True
    assert HeartbeatRequest().encode(one) == HeartbeatRequest().encode(1)
    assert HeartbeatRequest.decode(HeartbeatRequest().encode(1), one) == HeartbeatRequest()
    for read in (HeartbeatRequest.decode, HeartbeatRequest.decode_from):
        with pytest.raises(TypeError, match="data must be bytes, bytearray or memoryview, not str"):
            read("text", 4)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=NOT_A_NUMBER):
            read(b"", "4")  # type: ignore[arg-type]


def test_a_slice_of_a_view() -> None:
    data = FETCHED.encode(13)
    assert FetchResponse.decode(memoryview(b"xx" + data + b"yy")[2:-2], 13) == FETCHED


def test_a_decoded_message_does_not_change_with_its_buffer() -> None:
    buffer = bytearray(FETCHED.encode(13))
    message = FetchResponse.decode(buffer, 13)
    buffer[:] = bytes(len(buffer))
    assert message == FETCHED


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_the_bytes_of_a_decoded_frame_do_not_change_with_its_buffer(kind: Any) -> None:
    asked = PROTOCOL.encode_request(HeartbeatRequest(group_id="g"), 4, correlation_id=7)
    answered = PROTOCOL.encode_response(FETCHED, 13, correlation_id=7)
    for data, decode in (
        (asked, PROTOCOL.decode_request),
        (answered, lambda payload: PROTOCOL.decode_response(payload, 1, 13)),
    ):
        buffer = bytearray(data)
        found = decode(kind(buffer))
        buffer[:] = bytes(len(buffer))
        assert (type(found.payload), found.payload) == (bytes, data)


def test_decode_from_goes_through_data() -> None:
    messages = [HeartbeatRequest(group_id="g" * number, generation_id=number) for number in (0, 1, 200)]
    data = b"".join(message.encode(4) for message in messages)
    offset, found = 0, []
    while offset < len(data):
        message, offset = HeartbeatRequest.decode_from(data, 4, start=offset)
        found.append(message)
    assert (found, offset) == (messages, len(data))


def test_decode_from_reports_offsets_in_all_data() -> None:
    data = b"prefix" + HeartbeatRequest(group_id="abc").encode(4)
    with pytest.raises(DecodeError) as caught:
        HeartbeatRequest.decode_from(data[:-1], 4, start=6)
    assert (caught.value.path, caught.value.offset, caught.value.data) == ("tagged fields", len(data) - 1, data[:-1])


@pytest.mark.parametrize("offset", [-1, -100, 4, 2**40])
def test_decode_from_outside_of_data(offset: int) -> None:
    with pytest.raises(DecodeError, match="outside the data") as caught:
        HeartbeatRequest.decode_from(b"abc", 4, start=offset)
    assert (caught.value.offset, caught.value.data) == (offset, b"abc")


def test_decode_from_at_the_end_of_data() -> None:
    with pytest.raises(DecodeError) as caught:
        HeartbeatRequest.decode_from(b"abc", 4, start=3)
    assert (caught.value.path, caught.value.offset) == ("group_id", 3)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_a_message_without_fields_may_be_at_the_end_of_data(kind: Any) -> None:
    assert ListGroupsRequest.decode(kind(b""), 0) == ListGroupsRequest()
    assert ListGroupsRequest.decode_from(kind(b"abc"), 0, start=3) == (ListGroupsRequest(), 3)


def test_a_tolerant_policy_reads_the_good_as_the_strict_one_does() -> None:
    data = FETCHED.encode(13)
    for policy in (Policy(tags="kafka"), Policy(tags="preserve"), Policy(utf8="replace"), LIKE_KAFKA):
        assert FetchResponse.decode(data, 13, policy) == FETCHED


@pytest.mark.parametrize("choice", [{"tags": "lax"}, {"utf8": "ignore"}, {"trailing": "warn"}])
def test_policies_are_checked(choice: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be one of"):
        Policy(**choice)


def test_policies_are_values() -> None:
    assert Policy(tags="kafka", utf8="replace", trailing="ignore") == LIKE_KAFKA
    assert hash(Policy()) == hash(STRICT)
    assert len({STRICT, Policy(), LIKE_KAFKA, pickle.loads(pickle.dumps(LIKE_KAFKA))}) == 2
    for choice in ({"tags": "preserve"}, {"utf8": "replace"}, {"trailing": "ignore"}):
        assert Policy(**choice) != STRICT  # type: ignore[arg-type]
    assert STRICT != "strict"
    assert ANY == STRICT == ANY  # others may know better


def test_policies_print() -> None:
    assert repr(LIKE_KAFKA) == "Policy(tags='kafka', utf8='replace', trailing='ignore')"
    assert repr(STRICT) == "Policy(tags='strict', utf8='strict', trailing='error')"


@pytest.mark.long
@pytest.mark.parametrize("trailing", [b"more", b""])
def test_the_second_reading_begins_with_the_memory_of_the_first_released(trailing: bytes) -> None:
    """The error of a large message does not take twice the memory of the message."""
    data = MetadataResponse(brokers=[MetadataResponseBroker(node_id=node) for node in range(20_000)]).encode(8)
    bad = data + trailing if trailing else data[:-1]

    def failed() -> None:
        broken(MetadataResponse, bad, 8)

    assert peak(failed) < 1.6 * peak(lambda: MetadataResponse.decode(data, 8))
