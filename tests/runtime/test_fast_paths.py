"""What is usual is read and written by the fast paths: the slow ones would hide that one of them is broken."""

from __future__ import annotations

from typing import Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire import interpreter, is_native
from kwire.arrow import RecordBuilder
from kwire.headers import RequestHeader, ResponseHeader
from kwire.message import Message, decode_within
from kwire.protocol import MessageRegistry
from kwire.records import BatchBuilder, Record, build, builder, encode_batch, read_batches
from kwire.records import interpreter as slow_records
from kwire_kafka import PROTOCOL, HeartbeatRequest, HeartbeatResponse, MetadataRequest, MetadataResponse
from tests.properties.values import FIXED, as_decoded, exact, make
from tests.runtime.connection.conversations import answered, asked, decoder, play
from tests.runtime.records.test_record_properties import logs
from tests.support.effort import examples


def refuse(*_: object, **__: object) -> NoReturn:
    pytest.fail("a slow path was taken")


@pytest.fixture(autouse=True)
def no_slow_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in (
        (interpreter, "decode"),
        (interpreter, "encode"),
        (slow_records, "read_records"),
        (build, "record_slowly"),
        (builder, "record_slowly"),
    ):
        monkeypatch.setattr(module, name, refuse)


TAGS = ((), ((0, b""), (300, b"x" * 200)))


@pytest.mark.parametrize("client_id", [None, "", "me", "ü" * 200])
@pytest.mark.parametrize("tags", TAGS, ids=["", "tags"])
def test_headers(client_id: str | None, tags: Any) -> None:
    requests = [RequestHeader(api_key=-1, api_version=7, correlation_id=-5, client_id=client_id)] * 3
    requests[0] = requests[0].replace(client_id="")
    headers: list[list[Message]] = [[*requests], [ResponseHeader(correlation_id=1 << 30)] * 2]
    for versions in headers:
        for version, header in enumerate(versions):
            flexible = version in type(header).FLEXIBLE_VERSIONS
            sent = header.replace(unknown_tags=tags if flexible else ())
            data = sent.encode(version)
            assert type(header).decode(data, version) == sent
            assert type(header).decode_from(b"??" + data + b"?", version, start=2) == (sent, 2 + len(data))
            assert decode_within(len(data) + 1, type(header), b"?" + data, version, start=1) == sent


def test_frames_of_every_api_in_every_version() -> None:
    for key in PROTOCOL.api_keys:
        request, response = PROTOCOL.request(key), PROTOCOL.response(key)
        for version in request.VALID_VERSIONS:
            asked, answered = (make(cls, version, FIXED["min"]) for cls in (request, response))
            data = PROTOCOL.encode_request(asked, version, correlation_id=version, client_id="me")
            found = PROTOCOL.decode_request(data)
            assert (found.header.api_key, found.header.correlation_id, found.version) == (key, version, version)
            assert exact(found.message) == exact(as_decoded(asked, version))
            data = PROTOCOL.encode_response(answered, version, correlation_id=-version)
            back = PROTOCOL.decode_response(data, key, version)
            assert (back.header.correlation_id, back.version) == (-version, version)
            assert exact(back.message) == exact(as_decoded(answered, version))


@pytest.mark.skipif(is_native(), reason="native code calls functions directly: none can be replaced")
def test_headers_of_a_conversation_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    segments = [asked(HeartbeatRequest(), 4, 1), asked(MetadataRequest(), 12, 2)]
    segments += [answered(HeartbeatResponse(), 4, 1), answered(MetadataResponse(), 12, 2)]
    first, second = play(segments), []
    for name in ("request_header", "response_header"):
        monkeypatch.setattr(MessageRegistry, name, refuse)
    for keep_requests in (True, False):
        second = play(segments * 2, decoder(keep_requests=keep_requests))
        assert [type(event) for event in second] == [type(event) for event in first] * 2


@examples(0.5)
@given(logs(), st.integers(0, 4))
def test_records(records: list[Record], codec: int) -> None:
    """Of times as there are, with up to three headers."""
    for number, record in enumerate(records):
        record.timestamp = 1_700_000_000_000 + (record.timestamp + number) % (1 << 36)
    data = encode_batch(records, codec=codec)
    (batch,) = read_batches(data)
    assert batch.records() == list(batch) == records
    assert batch.encode() == data
    made = BatchBuilder()
    for record in records:
        made.append(record.key, record.value, record.headers, record.timestamp, record.offset)
    assert made.build(codec=codec) == data
    columns = RecordBuilder()
    assert columns.take(batch, data)
    assert columns.rows == len(records)
