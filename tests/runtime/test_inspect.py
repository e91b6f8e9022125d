"""Traces: every byte in exactly one line, what is said about it true, and shown as somebody would want to read it."""

from __future__ import annotations

import json
import pickle
import re
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from kwire import LIKE_KAFKA, STRICT, DecodeError, Policy
from kwire.command.names import notes
from kwire.compression import Codec
from kwire.frames import frame
from kwire.headers import RequestHeader
from kwire.logs import TOPICS, decode_record
from kwire.records import Record, RecordsError, encode_batch, encode_message_set, read_batches
from kwire.trace import (
    Span,
    Trace,
    annotate,
    as_json,
    expand_records,
    show,
    trace_frame,
    trace_message,
    trace_record,
    trace_request,
    trace_response,
)
from kwire.trace.batches import BEYOND, MAX_BYTES, MAX_HEADERS, MAX_RECORDS, RecordsBudget
from kwire.trace.json_spans import trace_json
from kwire.trace.view import columns
from kwire_kafka import (
    PROTOCOL,
    AccessControlEntryRecord,
    ApiVersionsResponse,
    ConfigRecord,
    DescribeTopicPartitionsRequest,
    EnvelopeRequest,
    FetchResponse,
    GetTelemetrySubscriptionsResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    OffsetCommitValue,
    ProduceRequest,
    SaslAuthenticateRequest,
    TopicRecord,
)
from kwire_kafka.api.describe_topic_partitions import DescribeTopicPartitionsRequestCursor as Cursor
from kwire_kafka.api.describe_topic_partitions import TopicRequest
from kwire_kafka.api.fetch import FetchableTopicResponse, PartitionData
from kwire_kafka.api.produce import PartitionProduceData, TopicProduceData
from kwire_kafka.releases import RELEASES
from tests.properties.values import FIXED, each_message, make, message_class
from tests.runtime.cuts import cuts
from tests.support.effort import examples, one_in, peak

FRAMES = Path(__file__).parents[1] / "data" / "real_frames" / "frames.jsonl"
POLICIES = (STRICT, LIKE_KAFKA, Policy(tags="preserve"))
SCALARS = ("bool", "int8", "int16", "int32", "int64", "uint16", "uint32", "float64", "uuid")
PLAIN = [
    Record(key=b"k", value=b"v" * 40, timestamp=1_700_000_000_000),
    Record(key=None, value=None, timestamp=1_700_000_000_500),
]
RECORDS = [Record(key=b"k", value=b"v" * 40, headers=(("h", None),), timestamp=1_700_000_000_000), PLAIN[1]]


@cache
def exchanges() -> list[dict[str, Any]]:
    return [json.loads(line) for line in FRAMES.read_text().splitlines()]


def real(api_key: int, version: int) -> bytes:
    """A response that a broker sent."""
    return next(
        bytes.fromhex(exchange["response"])
        for exchange in exchanges()
        if (exchange["api_key"], exchange["version"]) == (api_key, version)
    )


def assert_tiles(found: Trace) -> None:
    """The lines of a trace hold all bytes of the data, each once and in their order."""
    found.reveal()
    spans = as_json(found)["spans"]
    assert isinstance(spans, list)
    assert "".join(span["bytes"] for span in spans) == found.data.hex()
    assert sum(len(span["bytes"]) for span in spans) == 2 * len(found.data)
    assert show(found).count("\n") >= len(spans)


def at(message: object, path: str) -> Any:
    """The value of ``message`` at ``path``."""
    for name, index in re.findall(r"(\w+)|\[(\d+)\]", path):
        message = getattr(message, name) if name else message[int(index)]  # type: ignore[index]
    return message


@pytest.mark.slow
@each_message
def test_every_byte_of_every_message_is_in_one_line(name: str) -> None:
    cls = message_class(name)
    for version in cls.VALID_VERSIONS:
        message = make(cls, version, FIXED["min"])
        data = message.encode(version)
        found = trace_message(cls, data, version)
        assert found.error is None
        assert found.end == len(data)
        assert_tiles(found)
        assert found.spans[0].name == f"{name} v{version}"
        decoded = cls.decode(data, version)
        for span in found.spans[1:]:
            if span.kind in SCALARS or span.kind.endswith(("string", "bytes", "records")):
                assert at(decoded, span.path) == span.value
            elif span.kind.endswith("array"):
                items = at(decoded, span.path)
                assert span.value == (None if items is None else len(items))


@pytest.mark.long
@each_message
def test_every_cut_ends_in_the_error_of_decode(name: str) -> None:
    cls = message_class(name)
    version = cls.VALID_VERSIONS[-1]
    data = make(cls, version, FIXED["min"]).encode(version)
    for size in one_in(3, [*cuts(cls, data, version)], len(name)):
        found = trace_message(cls, data[:size], version)
        with pytest.raises(DecodeError) as caught:
            cls.decode(data[:size], version)
        assert found.error is not None
        assert str(found.error) == str(caught.value)
        assert_tiles(found)
        assert f"^^ {caught.value.reason}\n" in annotate(caught.value)


@pytest.mark.slow
def test_every_real_frame() -> None:
    for exchange in exchanges():
        payload = bytes.fromhex(exchange["request"])
        found = trace_frame(frame(payload), trace_request(PROTOCOL, payload, expand=expand_records))
        assert found.error is None
        assert_tiles(found)
        assert found.spans[0].value == len(payload)
        if exchange["response"]:
            payload = bytes.fromhex(exchange["response"])
            found = trace_response(PROTOCOL, payload, exchange["api_key"], exchange["version"], expand=expand_records)
            assert found.error is None
            assert found.end == len(payload)
            assert_tiles(found)


@pytest.mark.slow
@examples(3)
@given(st.data())
def test_damaged_frames(draw: st.DataObject) -> None:
    """What a trace ends with is what decoding raises, and the lines hold all bytes whatever they are."""
    exchange = draw.draw(st.sampled_from(exchanges()))
    policy = draw.draw(st.sampled_from(POLICIES))
    payload = bytearray.fromhex(exchange["response"] or exchange["request"])
    for _ in range(draw.draw(st.integers(1, 4))):
        payload[draw.draw(st.integers(0, len(payload) - 1))] = draw.draw(st.integers(0, 255))
    data = bytes(payload[: draw.draw(st.integers(0, len(payload)))])
    error = None
    try:
        if exchange["response"]:
            found = trace_response(
                PROTOCOL, data, exchange["api_key"], exchange["version"], policy, expand=expand_records
            )
            PROTOCOL.decode_response(data, exchange["api_key"], exchange["version"], policy)
        else:
            found = trace_request(PROTOCOL, data, policy, expand=expand_records)
            PROTOCOL.decode_request(data, policy)
    except DecodeError as problem:
        error = problem
    assert str(found.error) == str(error)
    assert_tiles(found)
    if error:
        assert annotate(error).startswith(str(error))


@pytest.mark.parametrize(("policy", "problems"), [(STRICT, ["client_id", "tagged fields"]), (LIKE_KAFKA, [])])
def test_headers_are_traced_under_the_policy(policy: Policy, problems: list[str]) -> None:
    """A client id that is no text, and tagged fields that are there twice."""
    request = bytes.fromhex("000c 0004 00000001 0002 63ff 00") + HeartbeatRequest().encode(4)
    answer = bytes.fromhex("00000001 02 05 00 05 00") + HeartbeatResponse().encode(4)
    traces = trace_request(PROTOCOL, request, policy), trace_response(PROTOCOL, answer, 12, 4, policy)
    assert [found.error.path for found in traces if found.error] == problems
    cut = trace_request(PROTOCOL, request[:12], policy).error
    assert cut
    assert cut.path == [*problems, "tagged fields"][0]
    if not problems:
        assert [found.end for found in traces] == [len(request), len(answer)]


@given(st.binary(max_size=200), st.integers(0, 30))
def test_records_that_are_none(noise: bytes, cut: int) -> None:
    for block in (encode_batch(RECORDS) + noise, encode_batch(RECORDS)[:-cut] + noise, noise):
        spans = list(expand_records(block, 0, len(block), "records", 1))
        assert_tiles(Trace(block, spans))


def block(spans: list[Span], kind: str) -> list[str]:
    return [span.text for span in spans if span.kind == kind]


@pytest.mark.parametrize(
    "data",
    [
        encode_batch(RECORDS, base_offset=7),
        encode_batch(RECORDS, base_offset=7, codec=Codec.ZSTD),
        encode_message_set(PLAIN, magic=1, base_offset=7),
        encode_message_set(PLAIN, magic=1, base_offset=7, codec=Codec.GZIP),
    ],
    ids=["batch", "compressed batch", "message set", "compressed message set"],
)
def test_records_of_all_formats(data: bytes) -> None:
    spans = list(expand_records(data, 0, len(data), "records", 1))
    assert_tiles(Trace(data, spans))
    first, second = block(spans, "record")
    assert first.startswith(
        "offset 7, 2023-11-14 22:13:20.000 UTC, key 'k', value 'vvvvvvvvvvvvvvvvvvvv'… (40 bytes)"
    )
    assert second.startswith("offset 8, 2023-11-14 22:13:20.500 UTC, key null, value null")


GOOD = [
    *(encode_batch(RECORDS, base_offset=7, codec=codec) for codec in (0, 1, 4)),
    *(encode_message_set(PLAIN, magic=1, codec=codec) for codec in (0, 1)),
    encode_message_set([Record(b"k", b"v"), Record()], magic=0),
]
BLOCKS = [*GOOD, GOOD[0][:16] + b"\x03" + GOOD[0][17:], GOOD[0][:-1] + b"?", GOOD[1][:-9] + bytes(9)]
BLOCKS += [
    bytes(8) + size.to_bytes(4, "big") + b"\0\0\0\0" + magic for size in (5, 9, 48) for magic in (b"\1", b"\2")
]
"""Batches and message sets, of which some have a wrong magic, checksum or size, or are too short for their header."""


@examples(0.5)
@given(st.lists(st.sampled_from(BLOCKS), max_size=4), st.integers(0, 3), st.integers(0, 3))
def test_batches_in_a_row_are_told_like_each_alone(blocks: list[bytes], before: int, after: int) -> None:
    """Wherever they are, whatever is wrong with one of them; what is cut off belongs to none."""
    data = bytes(before) + b"".join(blocks) + bytes(after)
    found = list(expand_records(data, before, len(data) - after, "a[1].records", 3))
    expected: list[Span] = []
    start, number = before, 0
    for one in blocks:
        whole = one.ljust(12 + int.from_bytes(one[8:12], "big"), b"\0")
        if len(whole) > len(one):  # it ends with the bytes of the others
            rest = data[start : len(data) - after]
            expected += moved(rest, start, number)
            break
        expected += moved(one, start, number)
        start += len(one)
        number += len({span.path.partition(".")[0] for span in expand_records(one, 0, len(one), "", 3)})
    assert found == expected


def moved(data: bytes, start: int, number: int) -> list[Span]:
    """The spans of a block by itself, as they are at another place, after so many batches."""
    spans = list(expand_records(data, 0, len(data), "", 3))
    for span in spans:
        span.start, span.end, span.content = span.start + start, span.end + start, span.content + start
        name, dot, rest = span.path.partition(".")
        renamed = f"batch[{int(name[6:-1]) + number}]"
        span.path, span.name = f"a[1].records.{renamed}{dot}{rest}", span.name if rest else renamed
    return spans


def test_lines_left_out_of_a_message_with_secrets_are_counted() -> None:
    found = trace_message(SaslAuthenticateRequest, SaslAuthenticateRequest(auth_bytes=b"pw").encode(2), 2, most=1)
    gap = {"offset": 0, "bytes": "", "path": "", "name": "left out", "type": "", "value": None}
    assert as_json(found)["spans"][0] == gap | {"note": "2 lines left out"}  # type: ignore[index]
    assert "  2 lines left out\n" in show(found)


@examples(0.2)
@given(st.data())
def test_the_last_lines_of_a_trace_are_those_of_the_whole(draw: st.DataObject) -> None:
    """And one line says where the others were, and how many."""
    cls: Any = draw.draw(st.sampled_from([FetchResponse, DescribeTopicPartitionsRequest, ProduceRequest]))
    version = cls.VALID_VERSIONS[-1]
    data = b"??" + make(cls, version, FIXED["min"]).encode(version)
    data = data[: len(data) - draw.draw(st.sampled_from([0, 0, 1, 9]))]
    trace = partial(trace_message, cls, data, version, offset=2)
    whole = trace().spans
    most = draw.draw(st.integers(1, len(whole) + 1))
    found = trace(most=most)
    assert str(found.error) == str(trace().error)
    left_out = max(0, len(whole) - most)
    assert found.spans[-most:] == whole[-most:]
    if left_out:
        first, *_ = found.spans
        assert (first.start, first.end, first.name, first.value) == (2, whole[-most].start, "left out", left_out)
        assert first.text == ("1 line left out" if left_out == 1 else f"{left_out} lines left out")
    assert len(found.spans) == min(len(whole), most) + bool(left_out)


def test_a_batch_that_cannot_be_read_is_shown_up_to_there() -> None:
    data = bytearray(encode_batch(RECORDS, codec=Codec.ZSTD))
    data[61:65] = bytes(4)
    spans = list(expand_records(bytes(data), 0, len(data), "records", 1))
    assert_tiles(Trace(bytes(data), spans))
    assert block(spans, "?")[0].startswith("not readable: ")


def described(name: str, data: bytes) -> str:
    """The text of the first span with this name, in a block of records."""
    return next(span.text for span in expand_records(data, 0, len(data), "", 0) if span.name == name)


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        (0, "uncompressed"),
        (1, "gzip"),
        (2, "snappy"),
        (3, "lz4"),
        (4, "zstd"),
        (5, "codec 5"),
        (8, "uncompressed, append time"),
        (16, "uncompressed, transactional"),
        (32, "uncompressed, control"),
        (64, "uncompressed, delete horizon"),
        (128, "uncompressed"),
        (4 + 8 + 16 + 32 + 64, "zstd, append time, transactional, control, delete horizon"),
    ],
)
def test_attributes_are_named(attributes: int, text: str) -> None:
    data = bytearray(encode_batch([]))
    data[22] = attributes
    assert described("attributes", bytes(data)) == f"{attributes}  {text}"


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (-1, ""),
        (0, "1970-01-01 00:00:00.000 UTC"),
        (253_402_300_799_999, "9999-12-31 23:59:59.999 UTC"),
        (253_402_300_800_000, ""),
        (2**63 - 1, ""),
    ],
)
def test_times_are_dates_up_to_the_year_9999(milliseconds: int, text: str) -> None:
    data = encode_batch([Record(timestamp=milliseconds)])
    assert described("base_timestamp", data) == f"{milliseconds}  {text}".rstrip()
    assert f", {text or 'no time'}, key" in described("record[0]", data)


def test_a_line_has_short_values_whole_and_the_start_of_others() -> None:
    data = encode_batch([Record(key=b"k" * 24, value=b"v" * 25, timestamp=-1, headers=(("h" * 49, b""),))])
    short, start, name = "k" * 24, "v" * 20, "h" * 47
    text = f"offset 0, no time, key '{short}', value '{start}'… (25 bytes), headers {name}…"
    assert described("record[0]", data) == text


@pytest.mark.parametrize("size", [12, 16, 17])
def test_a_batch_that_ends_before_its_magic_is_incomplete(size: int) -> None:
    data = (bytes(8) + (size - 12).to_bytes(4, "big") + bytes(8))[:size]
    kinds = {12: "incomplete batch", 16: "incomplete batch", 17: "?"}
    assert [(span.start, span.end, span.kind) for span in expand_records(data, 0, size, "", 0)] == [
        (0, size, kinds[size])
    ]


def test_a_line_has_the_first_headers_and_the_start_of_each() -> None:
    long = Record(headers=tuple((f"{number}" * 200, b"\xaa" * 200) for number in range(MAX_HEADERS + 1)))
    data = encode_batch([long])
    (line,) = [span for span in expand_records(data, 0, len(data), "", 0) if span.kind == "record"]
    most = MAX_BYTES // 10
    assert (MAX_HEADERS, most) == (8, 102)
    headers = [[f"{number}" * (most - 1) + "…", "aa" * (most - 1) + "a…"] for number in range(MAX_HEADERS)]
    assert isinstance(line.value, dict)
    assert line.value["headers"] == headers


def test_a_batch_that_has_a_wrong_checksum_and_cannot_be_read_shows_both() -> None:
    data = bytearray(encode_batch(RECORDS, codec=Codec.ZSTD))
    data[-1] ^= 1
    data[61:65] = bytes(4)
    assert "the stored checksum is " in described("crc", bytes(data))
    assert described("records", bytes(data)).startswith("not readable: the stored checksum is ")


def test_the_error_of_a_frame_counts_from_its_start() -> None:
    payload = PROTOCOL.encode_request(HeartbeatRequest(group_id="g"), 4, correlation_id=7)[:-1]
    with pytest.raises(DecodeError) as caught:
        PROTOCOL.decode_request(payload)
    found = trace_frame(frame(payload), trace_request(PROTOCOL, payload))
    assert found.error
    assert (found.error.offset, found.error.data) == (caught.value.offset + 4, frame(payload))


def fetched(records: bytes) -> bytes:
    topic = FetchableTopicResponse(partitions=[PartitionData(high_watermark=9, records=records)])
    return PROTOCOL.encode_response(FetchResponse(responses=[topic]), 13, correlation_id=3)


def test_an_api_versions_response(snapshot: SnapshotAssertion) -> None:
    """The answer to a version that the broker does not know, and the end of one that it does."""
    shown = [show(trace_response(PROTOCOL, real(18, 99), 18, 99))]
    shown.append(show(trace_response(PROTOCOL, real(18, 4), 18, 4), last=31))
    assert "\n".join(shown) == snapshot


def test_a_fetch_response_with_a_batch(snapshot: SnapshotAssertion) -> None:
    data = fetched(encode_batch(RECORDS, base_offset=7))
    assert show(trace_response(PROTOCOL, data, 1, 13, expand=expand_records)) == snapshot
    without = trace_response(PROTOCOL, data, 1, 13)
    assert [span.kind for span in without.spans if span.kind.endswith("records")] == ["compact records"]
    assert_tiles(without)


def test_records_in_the_request_of_an_envelope_are_expanded() -> None:
    inner = produced(encode_batch(RECORDS))
    found = trace_request(
        PROTOCOL,
        PROTOCOL.encode_request(EnvelopeRequest(request_data=inner), 0, correlation_id=1),
        expand=expand_records,
    )
    records = [span.path for span in found.spans if span.kind == "record"]
    assert records == [
        f"request_data.topic_data[0].partition_data[0].records.batch[0].record[{number}]" for number in (0, 1)
    ]
    cut = PROTOCOL.encode_request(HeartbeatRequest(group_id="gruppe"), 4, correlation_id=7)[:-12]
    envelope = PROTOCOL.encode_request(EnvelopeRequest(request_data=cut), 0, correlation_id=1)
    (rest,) = [span for span in trace_request(PROTOCOL, envelope).spans if span.kind == "?"]
    assert rest.value == envelope[rest.start : rest.end] == b"\x07g"


def test_keys_of_offsets_of_kafka_connect_are_json() -> None:
    key, _ = trace_record(PROTOCOL, "connect-offsets", b'["c", {"p": 1}]', None)
    assert key
    assert [(span.kind, span.value) for span in key.spans[2:]] == [("string", "c"), ("object", ...), ("number", 1)]


def test_a_value_is_cut_to_a_line_and_a_name_in_json_to_half_of_it() -> None:
    found = trace_message(TopicRecord, TopicRecord(name="n" * 100).encode(0), 0)
    assert f'  "{"n" * 70}…\n' in show(found)
    assert " 3 lines before\n" in show(trace_json(b'{"left out": "x", "b": 1}', "JSON", None), last=1)
    traced = trace_json(json.dumps({"x" * 65: {"y" * 64: 1}}).encode(), "JSON", None)
    assert [span.path for span in traced.spans] == ["", "", "x" * 63 + "…", f"{'x' * 63}….{'y' * 64}"]


def test_a_frame_with_unknown_tags(snapshot: SnapshotAssertion) -> None:
    message = ApiVersionsResponse(finalized_features_epoch=5, unknown_tags=((9, b"later"), (1000, b"")))
    header = RequestHeader(api_key=12, api_version=4, client_id="c", unknown_tags=((3, b"\1\2"),))
    request = header.encode(2) + HeartbeatRequest(group_id="g").encode(4)
    answer = PROTOCOL.encode_response(message, 3, correlation_id=1)
    shown = [show(trace_request(PROTOCOL, request)), show(trace_response(PROTOCOL, answer, 18, 3))]
    assert "\n".join(shown) == snapshot


def test_broken_frames(snapshot: SnapshotAssertion) -> None:
    data = PROTOCOL.encode_request(HeartbeatRequest(group_id="gruppe"), 4, correlation_id=7, client_id="c")
    shown = [
        trace_request(PROTOCOL, data[:-3]),
        trace_request(PROTOCOL, data + b"more"),
        trace_request(PROTOCOL, data.replace(b"uppe", b"u\xffpe")),
        trace_request(PROTOCOL, data[:3]),
        trace_frame(frame(data[:-1]), trace_request(PROTOCOL, data[:-1])),
        trace_response(PROTOCOL, bytes.fromhex("00000001 0000 01 00000000 01 01 0a 0000000000000005 0000"), 18, 3),
        trace_response(PROTOCOL, b"\0\0\0\1body", 12, 99),
        trace_response(PROTOCOL, b"\0\0\0\1body", 500, 0),
        trace_message(HeartbeatRequest, b"\0\1g", 99),
    ]
    assert "\n".join(map(show, shown)).replace(f"Kafka {RELEASES.newest.name}", "Kafka NEWEST") == snapshot


def broken() -> DecodeError:
    data = PROTOCOL.encode_request(HeartbeatRequest(group_id="gruppe"), 4, correlation_id=7)[:-3]
    with pytest.raises(DecodeError) as caught:
        PROTOCOL.decode_request(data)
    return caught.value


@given(st.sampled_from(sorted(TOPICS)), st.binary(max_size=60), st.binary(max_size=60), st.sampled_from(POLICIES))
def test_records_of_internal_topics(topic: str, key: bytes, value: bytes, policy: Policy) -> None:
    """Every byte is in one line, and what ends a trace is what ends decoding."""
    row = decode_record(PROTOCOL, topic, key, value, policy)
    for raw, found in zip((key, value), trace_record(PROTOCOL, topic, key, value, policy), strict=True):
        assert found is not None
        assert found.data == raw
        assert_tiles(found)
        if row.reason is None:
            assert found.error is None
            assert found.end == len(raw) or policy.trailing == "ignore"


@examples(0.5)
@given(st.data())
def test_good_records_of_internal_topics(draw: st.DataObject) -> None:
    topic = draw.draw(st.sampled_from(sorted(TOPICS)))
    number = draw.draw(st.sampled_from(PROTOCOL.record_types(TOPICS[topic])))
    key_class, value_class = PROTOCOL.record(TOPICS[topic], number)
    assert value_class is not None
    version = draw.draw(st.sampled_from(list(value_class.VALID_VERSIONS) or [0]))
    message = value_class().encode(version)
    if key_class:
        key, value = number.to_bytes(2, "big") + key_class().encode(0), version.to_bytes(2, "big") + message
    else:
        key, value = b"", bytes((1, number, version)) + message
    read = trace_record(PROTOCOL, topic, key, value)
    for found in read:
        assert found is not None
        assert (found.error, found.end) == (None, len(found.data))
    assert read[1] is not None
    assert f"{value_class.__name__} v{version}" in [span.name for span in read[1].spans]


COMMIT_KEY = bytes.fromhex("0001 0001 67 0001 74 00000003")
COMMIT = OffsetCommitValue(offset=7).encode(3)
TOPIC = TopicRecord(name="t").encode(0)
TYPE = ("record type", "int16", 1, "OffsetCommit")


@pytest.mark.parametrize(
    ("topic", "key", "value", "keys", "values"),
    [
        (
            "__consumer_offsets",
            COMMIT_KEY,
            b"\0\3" + COMMIT,
            [TYPE, "OffsetCommitKey v0"],
            [("version", "int16", 3, ""), "OffsetCommitValue v3"],
        ),
        (  # type 0 had the values of type 1
            "__consumer_offsets",
            b"\0\0" + COMMIT_KEY[2:],
            b"\0\3" + COMMIT,
            [("record type", "int16", 0, "LegacyOffsetCommit"), "LegacyOffsetCommitKey v0"],
            [("version", "int16", 3, ""), "OffsetCommitValue v3"],
        ),
        (
            "__consumer_offsets",
            COMMIT_KEY,
            b"\0\x63rest",
            [TYPE, "OffsetCommitKey v0"],
            [("version", "int16", 99, ""), "unknown version 99 of OffsetCommitValue"],
        ),
        (
            "__consumer_offsets",
            b"\0\x63rest",
            b"\0\3" + COMMIT,
            [("record type", "int16", 99, ""), "unknown record type 99"],
            [("version", "int16", 3, ""), "unknown record type 99"],
        ),
        (
            "__cluster_metadata",
            b"k",
            b"\1\2\0" + TOPIC,
            [("key", "bytes", b"k", "")],
            [
                ("frame version", "uvarint", 1, ""),
                ("record type", "uvarint", 2, "TopicRecord"),
                ("version", "uvarint", 0, ""),
                "TopicRecord v0",
            ],
        ),
        (
            "__cluster_metadata",
            None,
            b"\1\2\7" + TOPIC,
            [],
            [
                ("frame version", "uvarint", 1, ""),
                ("record type", "uvarint", 2, "TopicRecord"),
                ("version", "uvarint", 7, ""),
                "unknown version 7 of TopicRecord",
            ],
        ),
        (
            "__remote_log_metadata",
            None,
            b"\2\0\0",
            [],
            [
                ("frame version", "uvarint", 2, ""),
                ("record type", "uvarint", 0, ""),
                ("version", "uvarint", 0, ""),
                "unknown frame version 2",
            ],
        ),
    ],
)
def test_numbers_before_the_messages_of_records(
    topic: str, key: bytes | None, value: bytes, keys: list[object], values: list[object]
) -> None:
    """And what follows: the heading of the message, or why there is none."""
    for data, found, lines in zip(
        (key, value), trace_record(PROTOCOL, topic, key, value), (keys, values), strict=True
    ):
        assert (found is None) == (data is None)
        if found:
            numbers = [
                (span.name, span.kind, span.value, span.meaning)
                for span in found.spans[: len([line for line in lines if isinstance(line, tuple)])]
            ]
            rest = found.spans[len(numbers) : len(numbers) + 1]
            assert numbers + [found.unknown or span.name for span in rest] == lines


@pytest.mark.parametrize("policy", [STRICT, LIKE_KAFKA, Policy(utf8="replace"), Policy(tags="kafka")])
@pytest.mark.parametrize(
    "value",
    [TOPIC, TOPIC + b"more", TOPIC.replace(b"t", b"\xff"), TOPIC[:-1] + b"\2\6\0\5\0"],
    ids=["good", "trailing", "no text", "tags"],
)
def test_records_of_the_metadata_are_traced_under_the_policy_that_they_are_decoded_under(
    value: bytes, policy: Policy
) -> None:
    row = decode_record(PROTOCOL, "__cluster_metadata", None, b"\1\2\0" + value, policy)
    _, found = trace_record(PROTOCOL, "__cluster_metadata", None, b"\1\2\0" + value, policy)
    assert found
    assert (str(found.error) if found.error else None) == row.reason


RECORD_TYPES: dict[str, int | str] = {
    "__consumer_offsets": 1,
    "__transaction_state": 0,
    "__share_group_state": 0,
    "__cluster_metadata": 2,
    "__remote_log_metadata": 0,
    "heartbeats": "MirrorHeartbeat",
    "a.checkpoints.internal": "MirrorCheckpoint",
    "mm2-offset-syncs.a.internal": "MirrorOffsetSync",
}
"""A type of record, by number or by name, in each kind of internal topic."""


def record_of(topic: str) -> tuple[bytes, bytes]:
    """Key and value of a record in an internal topic."""
    kind = RECORD_TYPES[topic]
    if isinstance(kind, str):
        key, value = (make(PROTOCOL[kind + part], 0, FIXED["min"]).encode(0) for part in ("Key", "Value"))
        return key, value if kind == "MirrorOffsetSync" else b"\0\0" + value
    key_class, value_class = PROTOCOL.record(TOPICS[topic], kind)
    assert value_class is not None
    version = value_class.VALID_VERSIONS[-1]
    value = make(value_class, version, FIXED["min"]).encode(version)
    if key_class is None:
        return b"", bytes((1, kind, version)) + value
    start = key_class.VALID_VERSIONS.start
    key = make(key_class, start, FIXED["min"]).encode(start)
    return kind.to_bytes(2, "big") + key, version.to_bytes(2, "big") + value


@pytest.mark.parametrize("topic", RECORD_TYPES)
def test_a_record_with_any_wrong_byte_is_traced_to_the_error_of_its_decoding(topic: str) -> None:
    """In its key or in its value, under every policy: what decoding allows is traced, and what it refuses is said."""
    good = record_of(topic)
    for part, raw in enumerate(good):
        wrong = [raw[:place] + b"\xff" + raw[place + 1 :] for place in range(len(raw))]
        more = (Policy(utf8="replace"), Policy(trailing="ignore"))
        for bad, policy in product([raw, raw + b"?", raw[:-1], raw[:1], *wrong], (*POLICIES, *more)):
            key, value = (bad, good[1]) if part == 0 else (good[0], bad)
            reason = decode_record(PROTOCOL, topic, key, value, policy).reason
            traces = [found for found in trace_record(PROTOCOL, topic, key, value, policy) if found]
            told = [str(found.error or found.unknown) for found in traces if found.error or found.unknown]
            assert told[:1] == ([reason] if reason else []), (bad, policy)


@pytest.mark.parametrize("topic", RECORD_TYPES)
def test_records_of_internal_topics_without_key_or_value(topic: str) -> None:
    key, value = record_of(topic)
    assert trace_record(PROTOCOL, topic, None, None) == (None, None)
    (traced, none), (absent, alone) = trace_record(PROTOCOL, topic, key, None), trace_record(
        PROTOCOL, topic, None, value
    )
    assert (none, absent) == (None, None)
    assert traced == trace_record(PROTOCOL, topic, key, value)[0]
    assert alone
    keyless = (
        "the record has no key"
        if topic in ("__consumer_offsets", "__transaction_state", "__share_group_state")
        else ""
    )
    assert (alone.unknown, alone.error, alone.end) == (keyless, None, len(value))
    with pytest.raises(ValueError, match="unknown internal topic"):
        trace_record(PROTOCOL, "mine", b"", b"")


def test_an_error_shows_the_last_lines_before_it() -> None:
    error = broken()
    lines = annotate(error, 3).splitlines()
    assert lines[0] == str(error)
    assert re.fullmatch(r"     … +\d lines before", lines[3])
    assert [line.split()[0] for line in lines[4:]] == ["11", "18", "22", "^^"]
    assert lines[-1].endswith(f"^^ {error.reason}")


def test_an_error_shows_the_same_in_another_process() -> None:
    error = broken()
    assert annotate(pickle.loads(pickle.dumps(error))) == annotate(error)


def test_an_error_of_a_tolerant_policy_is_shown_under_it() -> None:
    data = b"\0\3a\xffb" + bytes(5)
    with pytest.raises(DecodeError) as caught:
        HeartbeatRequest.decode(data, 0, Policy(utf8="replace"))
    assert '"a\ufffdb"' in annotate(caught.value)


def test_an_error_that_was_made_by_hand() -> None:
    text = annotate(DecodeError("no", offset=3, data=b"abcdef"))
    assert text.splitlines()[0] == "byte 3 of 6: no"
    assert re.search(r"^ +3 .*3 bytes not read, hidden\n +\^\^ no$", text, re.MULTILINE)
    assert "646566" not in text
    assert annotate(DecodeError("no")).endswith("^^ no\n")
    at_the_end = annotate(DecodeError("n\x1bo", offset=3, data=b"abc"))
    in_a_batch = annotate(DecodeError("n\x1bo", data=b"abc", position=0))
    assert [text for text in (at_the_end, in_a_batch) if not text.replace("\n", "").isprintable()] == []
    assert re.search(r"3 bytes not read, hidden\n +3 +\? +the end of the data\n +\^\^ n\\u001bo\n$", at_the_end)


def test_an_error_in_records_shows_the_batch() -> None:
    data = bytearray(encode_batch(RECORDS) * 2)
    data[-1] ^= 1
    with pytest.raises(RecordsError) as caught:
        list(read_batches(bytes(data)))
    text = annotate(caught.value)
    assert text.startswith(f"{caught.value}\n\nthe batch:\noffset ")
    assert re.search(r"^ +17  [0-9a-f]{8} +crc .*\n +\^\^ the stored checksum is ", text, re.MULTILINE)


def test_the_wrong_byte_is_shown_wherever_it_stands() -> None:
    """A wrong checksum stands in the header, with any number of records behind it."""
    data = bytearray(encode_batch([Record(b"k", b"v")] * 50))
    data[-2] ^= 1  # the last value
    with pytest.raises(RecordsError) as caught:
        list(read_batches(bytes(data)))
    lines = annotate(caught.value, 3).splitlines()[4:]
    assert [line.split()[0] for line in lines] == ["…", "12", "16", "17", "^^", "…"]
    assert lines[0].endswith("3 lines before")
    assert lines[-1].endswith("58 lines after")
    assert len(annotate(caught.value, 20).splitlines()) == 3 + 1 + 20 + 2


def test_as_data() -> None:
    data = fetched(encode_batch(RECORDS))
    found = json.loads(json.dumps(as_json(trace_response(PROTOCOL, data, 1, 13, expand=expand_records))))
    assert (found["size"], found["error"]) == (len(data), None)
    record = next(span for span in found["spans"] if span["type"] == "record")
    assert record["path"] == "responses[0].partitions[0].records.batch[0].record[0]"
    assert record["note"].startswith("offset 0, 2023-11-14 22:13:20.000 UTC, key 'k', value ")
    assert record["value"] == {
        "offset": 0,
        "timestamp": 1_700_000_000_000,
        "key": "6b",
        "value": "76" * 40,
        "headers": [["h", None]],
    }
    failed = as_json(trace_response(PROTOCOL, data[:-1], 1, 13))
    assert failed["error"] == {
        "message_name": "FetchResponse",
        "version": 13,
        "path": "tagged fields",
        "offset": len(data) - 1,
        "reason": "the number of tagged fields needs 1 byte, 0 left",
    }


def produced(records: bytes) -> bytes:
    topic = TopicProduceData(name="t", partition_data=[PartitionProduceData(records=records)])
    return PROTOCOL.encode_request(ProduceRequest(topic_data=[topic]), 9, correlation_id=1)


def test_records_are_shown_up_to_a_number_and_counted_after_it() -> None:
    count = MAX_RECORDS + 700
    for codec in (Codec.NONE, Codec.ZSTD):
        data = produced(encode_batch([Record(value=b"v")] * count, codec=codec))
        found = trace_request(PROTOCOL, data, expand=expand_records)
        assert_tiles(found)
        assert len(block(found.spans, "record")) == MAX_RECORDS
        assert "  700 records more\n" in show(found)


@pytest.mark.parametrize("more", [0, 1])
def test_the_most_records_that_have_lines(more: int) -> None:
    data = encode_batch([Record(value=b"v")] * (MAX_RECORDS + more))
    spans = list(expand_records(data, 0, len(data), "", 0))
    assert [span.text for span in spans if span.kind == "records"] == ["1 record more"] * more


@pytest.mark.parametrize(
    "small", [RecordsBudget(records=MAX_RECORDS + 500), RecordsBudget(size=20_000)], ids=["records", "bytes"]
)
def test_all_compressed_batches_together_have_a_limit_of_records_and_of_bytes(small: RecordsBudget) -> None:
    """One of three batches is whole; the others say that they go too far, and what is not compressed is read."""
    records = [Record(value=b"v")] * (MAX_RECORDS + 400)
    data = encode_batch(records, codec=Codec.GZIP) * 3 + encode_batch([Record(value=b"end")])
    spans = list(expand_records(data, 0, len(data), "", 0, small))
    assert next(span.text for span in spans if span.kind == "records") == "400 records more"
    beyond = [span for span in spans if BEYOND in span.text]
    assert {span.path for span in beyond} == {"batch[1].records", "batch[2].records"}
    assert {span.kind for span in beyond} == {"?"}
    assert "value 'end'" in spans[-1].text


PACKED = encode_batch(RECORDS, codec=1)
PAYLOAD = len(encode_batch(RECORDS)) - 61


@pytest.mark.parametrize(
    ("data", "records", "size"),
    [
        (encode_batch(RECORDS), 0, 0),
        (PACKED, 2, PAYLOAD),
        (PACKED + encode_batch(RECORDS, codec=4), 4, 2 * PAYLOAD),
        (PACKED[:17] + bytes(4) + PACKED[21:], 2, PAYLOAD),  # its checksum is wrong
        (PACKED[:57] + bytes([0, 0, 0, 3]) + PACKED[61:], 0, PAYLOAD),  # it counts another record
        (PACKED[:61] + bytes(len(PACKED) - 61), 0, 1000 * len(PACKED)),  # it cannot be decompressed
    ],
    ids=["plain", "compressed", "two", "checksum", "count", "garbage"],
)
def test_what_compressed_batches_take_of_their_limits(data: bytes, records: int, size: int) -> None:
    """What cannot be decompressed counts for a thousand times its bytes: nobody knows how far it got."""
    left = RecordsBudget()
    assert len(list(expand_records(data, 0, len(data), "", 0, left))) > 10
    whole = RecordsBudget()
    assert (whole.records - left.records, whole.size - left.size) == (records, size)


@pytest.mark.parametrize("spent", [RecordsBudget(records=0), RecordsBudget(size=0)], ids=["records", "bytes"])
def test_nothing_is_decompressed_once_either_limit_is_reached(spent: RecordsBudget) -> None:
    before = spent.records, spent.size
    spans = list(expand_records(PACKED + encode_batch(RECORDS), 0, len(PACKED) + 200, "", 0, spent))
    assert [span.path for span in spans if BEYOND in span.text] == ["batch[0].records"]
    assert (spent.records, spent.size) == before


@pytest.mark.parametrize("less", [0, 1])
def test_a_batch_that_goes_beyond_the_limit_takes_the_rest_of_it(less: int) -> None:
    left = RecordsBudget(size=PAYLOAD - less)
    spans = list(expand_records(PACKED * 2, 0, 2 * len(PACKED), "", 0, left))
    read = [span.path for span in spans if span.kind == "record"]
    assert read == ([] if less else ["batch[0].record[0]", "batch[0].record[1]"])
    beyond = [span.path for span in spans if BEYOND in span.text]
    assert beyond == ["batch[0].records", "batch[1].records"][1 - less :]
    assert left.size == 0


@pytest.mark.parametrize(("left", "beyond"), [(-1, True), (0, False), (1, False)])
def test_a_batch_larger_than_any_may_be_is_told_from_one_beyond_the_rest(
    monkeypatch: pytest.MonkeyPatch, left: int, beyond: bool
) -> None:
    monkeypatch.setattr("kwire.trace.batches.DEFAULT_LIMIT", PAYLOAD - 1)
    budget = RecordsBudget(size=PAYLOAD - 1 + left)
    texts = [span.text for span in expand_records(PACKED, 0, len(PACKED), "", 0, budget)]
    assert any(BEYOND in text for text in texts) is beyond
    assert budget.size == max(0, left)


@pytest.mark.slow
def test_a_small_batch_cannot_make_a_large_tree() -> None:
    """Half a kilobyte of millions of records, and of one with a value of megabytes."""
    record = Record(b"k" * MAX_BYTES, b"v" * MAX_BYTES, (("h", b"w" * 10),) * MAX_HEADERS)
    larger = Record(b"k" * 1_000_000, b"v" * 10_000_000, (("h" * 1000, b"w" * 1000),) * 2000)
    value: Any = {}
    for size in (300, 3000):
        payload = produced(encode_batch([record, larger, *[Record()] * size * 100], codec=Codec.ZSTD))
        found = trace_request(PROTOCOL, payload, expand=expand_records)
        value[size] = [span.value for span in found.spans if span.kind == "record"]
    whole, short = value[300][:2]
    assert value[300] == value[3000]
    assert (whole["key"], whole["value"]) == ("6b" * MAX_BYTES, "76" * MAX_BYTES)
    assert short["value"] == "76" * (MAX_BYTES - 1) + "7…"
    assert len(json.dumps(short)) < 20 * MAX_BYTES


@pytest.mark.parametrize("end", [b"", b"\1"])
def test_a_tree_keeps_its_last_lines_and_counts_the_others(end: bytes) -> None:
    message = HeartbeatRequest(group_id="g", unknown_tags=tuple((tag, b"") for tag in range(1000)))
    data = message.encode(4) + end
    everything = trace_message(HeartbeatRequest, data, 4)
    found = trace_message(HeartbeatRequest, data, 4, most=10)
    assert_tiles(found)
    assert found.spans[1:] == everything.spans[-10:]
    left_out = len(everything.spans) - 10
    assert (found.spans[0].name, found.spans[0].value) == ("left out", left_out)
    assert f"  {left_out} lines left out\n" in show(found)
    assert show(found, last=5) == show(everything, last=5)
    assert trace_message(HeartbeatRequest, data, 4, most=len(everything.spans)).spans == everything.spans
    for most in (0, 1):
        assert trace_message(HeartbeatRequest, data, 4, most=most).spans[1:] == everything.spans[-1:]


def test_secrets_stay_hidden_where_lines_are_left_out() -> None:
    """Both the secret among these lines, and a secret whose name is among them."""
    tags = tuple((tag, b"") for tag in range(100))
    sasl = SaslAuthenticateRequest(auth_bytes=b"hunter2", unknown_tags=tags)
    config = ConfigRecord(resource_name="b", name="retention.ms", value="hunter2", unknown_tags=tags)
    for message, version in ((sasl, 2), (config, 0)):
        data = message.encode(version)
        for most in (1, 50, 102, 103, 104, 105, 1000):
            found = trace_message(type(message), data, version, most=most)
            if message is sasl or most < 103:
                assert "hunter2" not in show(found) + json.dumps(as_json(found))
                assert b"hunter2".hex() not in show(found) + json.dumps(as_json(found))


def test_a_note_shows_no_secret() -> None:
    message = SaslAuthenticateRequest(auth_bytes=b"hunter2")
    found = trace_message(SaslAuthenticateRequest, message.encode(2), 2)

    def note(span: Span) -> str:
        return repr(span.value)

    for secret in (True, False):
        shown = [show(found, note), json.dumps(as_json(found, note))]
        assert ["hunter2" in text for text in shown] == [not secret] * 2
        found.reveal()


def test_an_unreadable_batch_is_noticed_even_if_its_line_is_left_out() -> None:
    unknown = encode_batch([])[:16] + b"\x09" + encode_batch([])[17:]
    data = FetchResponse(responses=[FetchableTopicResponse(partitions=[PartitionData(records=unknown)])]).encode(13)
    for most in (2, 100):
        found = trace_message(FetchResponse, data, 13, expand=expand_records, most=most)
        assert found.error is None
        assert [span.name for span in found.spans if span.kind == "?"] == ["left out" if most == 2 else "batch[0]"]


@pytest.mark.slow
@pytest.mark.long
def test_the_lines_before_an_error_take_a_bounded_number_of_spans() -> None:
    """Beyond that number, a field before the error takes no memory for a span."""
    peaks = []
    for count in (25_000, 75_000):
        tags = tuple((tag, b"") for tag in range(count))
        data = HeartbeatRequest(unknown_tags=tags).encode(4) + b"\0"
        with pytest.raises(DecodeError) as caught:
            HeartbeatRequest.decode(data, 4)
        shown = annotate(caught.value)
        assert shown.count("\n") == 25
        assert f"  {count - 13} lines before\n" in shown
        peaks.append(peak(partial(annotate, caught.value)))
    assert (peaks[1] - peaks[0]) / 50_000 < 20  # bytes for a field: the message is read again, and not kept


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_a_batch_of_an_unknown_codec_is_shown(codec: int) -> None:
    """Even one without records, where nothing is decompressed."""
    batch = bytearray(encode_batch([]))
    batch[22] = codec
    batch[17:21] = crc32c(bytes(batch[21:])).to_bytes(4, "big")
    found = trace_request(PROTOCOL, produced(bytes(batch)), expand=expand_records)
    assert_tiles(found)
    assert f"codec {codec}\n" in show(found)
    assert json.dumps(as_json(found))


@pytest.mark.parametrize("version", [0, 4, 6, 12])
def test_every_cut_of_a_header_ends_in_the_error_of_decoding(version: int) -> None:
    """Headers have versions, too: what the error says of one is what its trace shows."""
    for cls in (HeartbeatRequest, ProduceRequest):
        if version not in cls.VALID_VERSIONS:
            continue
        payload = PROTOCOL.encode_request(cls(), version, correlation_id=1, client_id="client")
        for size in range(PROTOCOL.request_header(payload)[1]):
            with pytest.raises(DecodeError) as caught:
                PROTOCOL.decode_request(payload[:size])
            found = trace_request(PROTOCOL, payload[:size])
            assert found.error is not None
            assert str(found.error) == str(caught.value)


@pytest.mark.parametrize(
    ("size", "digits", "value"),
    [
        (9, "0a " + "78" * 9, "x" * 9),
        (10, "0b " + "78" * 10, "x" * 10),
        (11, "0c " + "78" * 10 + "…", "x" * 11),
        (70, "47 " + "78" * 10 + "…", "x" * 70),
        (71, "48 " + "78" * 10 + "…", "x" * 70 + "…"),
    ],
)
def test_a_line_is_cut_to_its_columns(size: int, digits: str, value: str) -> None:
    found = trace_message(TopicRecord, TopicRecord(name="x" * size).encode(0), 0)
    shown = value if value.endswith("…") else f'{value}"'
    assert columns(found.spans[1], found.data)[1::3] == (digits, f'"{shown}')
    for most in (size - 1, size, size + 1):
        spans: Any = as_json(found, most=most)["spans"]
        length = bytes((size + 1,)).hex()
        assert spans[1]["value"] == ("x" * size if most >= size else "x" * most + "…")
        assert spans[1]["bytes"] == (length + "78" * size if most > size else length + "78" * (most - 1) + "…")


def test_the_request_in_an_envelope_is_indented_below_it() -> None:
    inside = PROTOCOL.encode_request(HeartbeatRequest(group_id="g"), 4, correlation_id=7)
    payload = PROTOCOL.encode_request(EnvelopeRequest(request_data=inside), 0, correlation_id=1)
    found = trace_request(PROTOCOL, payload)
    depths = {span.name: span.depth for span in found.spans if span.path.startswith("request_data")}
    assert depths | {"request_data": 1, "HeartbeatRequest v4": 2, "group_id": 3} == depths


def test_a_nullable_struct_is_null_or_there() -> None:
    for cursor in (None, Cursor(topic_name="t")):
        data = DescribeTopicPartitionsRequest(cursor=cursor).encode(0)
        text = show(trace_message(DescribeTopicPartitionsRequest, data, 0))
        assert re.findall(r"cursor +struct or null *(.*)$", text, re.MULTILINE) == ["" if cursor else "null"]


def test_fields_after_tagged_ones_are_as_deep_as_those_before() -> None:
    data = DescribeTopicPartitionsRequest(topics=[TopicRequest(name=name) for name in "abc"]).encode(0)
    data = data.replace(b"a\0", b"a\1\x05\1x")  # with a tagged field that is not known
    found = trace_message(DescribeTopicPartitionsRequest, data, 0, LIKE_KAFKA)
    assert not found.error
    assert {span.depth for span in found.spans if span.path.endswith("].name")} == {3}
    assert {span.depth for span in found.spans if span.path.count(".") == 0 and span.kind == "int32"} == {1}


def test_a_value_of_an_enum_has_its_name() -> None:
    data = AccessControlEntryRecord(resource_type=2).encode(0)
    found = trace_message(AccessControlEntryRecord, data, 0)
    for text in (show(found), show(found, lambda span: "a note")):
        assert re.search(r" resource_type +int8 +2  TOPIC$", text, re.MULTILINE)
    assert show(found, lambda span: "a note").count("a note") > 1
    produced = show(trace_message(ProduceRequest, ProduceRequest(acks=-1).encode(9), 9))
    assert re.search(r" acks +int16 +-1  ALL$", produced, re.MULTILINE)
    types = GetTelemetrySubscriptionsResponse(accepted_compression_types=[4, 2, 9])
    found = trace_message(type(types), types.encode(0), 0)
    rows = [(span.kind, span.value, span.meaning) for span in found.spans if "compression" in span.path]
    assert rows == [("compact array", 3, ""), ("int8", 4, "ZSTD"), ("int8", 2, "SNAPPY"), ("int8", 9, "")]


@pytest.mark.parametrize(
    ("name", "kind", "value", "text"),
    [
        ("error_code", "int16", 3, "UNKNOWN_TOPIC_OR_PARTITION"),
        ("inner_error_code", "int16", 3, "UNKNOWN_TOPIC_OR_PARTITION"),
        ("error_code", "int32", 3, ""),
        ("error_code", "int16", 12345, ""),
        ("api_key", "int16", 1, "Fetch"),
        ("api_key", "int32", 1, ""),
        ("api_key", "int16", 12345, ""),
        ("key", "int16", 1, ""),
        ("error_code", "int16", None, ""),
        ("transaction_timeout_time_ms", "int64", 0, "1970-01-01 00:00:00.000 UTC"),
        ("transaction_timeout_time_ms", "int32", 0, ""),
    ],
)
def test_notes_tell_the_meaning_of_numbers_by_name_and_type(name: str, kind: str, value: Any, text: str) -> None:
    assert notes(PROTOCOL, "kwire_kafka")(Span(0, 2, name, name, kind, value, depth=0)) == text
