"""The command ``kwire decode``: what it takes, what it prints, and its exit codes."""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import json
import lzma
import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kwire import DecodeError
from kwire.command import decode, main, not_a_request
from kwire.command.input_bytes import read_input
from kwire.compression import compress
from kwire.frames import frame
from kwire.headers import RequestHeader
from kwire.interpreter import large
from kwire.protocol import TAKE_IN
from kwire.records import Record, encode_batch
from kwire.trace.batches import BEYOND
from kwire_kafka import (
    PROTOCOL,
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    ApiVersionsResponse,
    EnvelopeRequest,
    FetchRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    MetadataResponse,
    OffsetCommitValue,
    ProduceRequest,
    TopicRecord,
)
from kwire_kafka.api.alter_client_quotas import AlterClientQuotasRequestEntryData, OpData
from kwire_kafka.api.alter_client_quotas import AlterClientQuotasResponseEntryData as EntryData
from kwire_kafka.api.api_versions import ApiVersion
from kwire_kafka.api.metadata import MetadataResponseBroker
from kwire_kafka.api.produce import PartitionProduceData, TopicProduceData
from kwire_kafka.releases import RELEASES
from tests.runtime.records.test_record_reader import SMALLEST, around
from tests.support.effort import peak

REQUEST = PROTOCOL.encode_request(HeartbeatRequest(group_id="gruppe"), 4, correlation_id=7, client_id="c")
RESPONSE = PROTOCOL.encode_response(HeartbeatResponse(error_code=27), 4, correlation_id=7)


class Result:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err
        self.lines = [line.split(maxsplit=4) for line in out.splitlines()]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*arguments: str) -> Result:
        try:
            code = main(["decode", *arguments])
        except SystemExit as stopped:
            code = int(stopped.code or 0)
        return Result(code, *capsys.readouterr())

    return call


def test_a_request(run: Any) -> None:
    result = run(REQUEST.hex())
    assert (result.code, result.err) == (0, "")
    assert result.lines[0] == ["offset", "bytes", "field", "type", "value"]
    assert result.lines[2] == ["0", "000c", "api_key", "int16", "12  Heartbeat"]
    assert ["12", "07", "677275707065", "group_id", 'compact string  "gruppe"'] in result.lines


def test_a_response(run: Any) -> None:
    for api in ("12", "Heartbeat", "heartbeatresponse", "HeartbeatRequest"):
        result = run("--response", "--api-key", api, "--version", "4", RESPONSE.hex())
        assert result.code == 0
        assert ["9", "001b", "error_code", "int16", "27  REBALANCE_IN_PROGRESS"] in result.lines


def test_a_message(run: Any) -> None:
    data = TopicRecord(name="t7").encode(0)
    result = run("--message", "TopicRecord", "--version", "0", data.hex())
    assert result.code == 0
    assert result.lines[1] == ["TopicRecord", "v0"]


def test_a_frame_is_recognised_by_its_size(run: Any) -> None:
    result = run(frame(REQUEST).hex())
    assert result.lines[1] == ["0", f"{len(REQUEST):08x}", "size", "int32", str(len(REQUEST))]
    assert result.lines[3] == ["4", "000c", "api_key", "int16", "12  Heartbeat"]
    assert run("--payload", frame(REQUEST).hex()).code == 3  # API key 0 and an unknown version
    assert "api key 0 is" not in run("--payload", REQUEST.hex()).out
    cut = run("--frame", frame(REQUEST).hex()[:-2])
    assert cut.code == 1
    assert cut.lines[1][2:] == ["size", "int32", str(len(REQUEST))]
    assert run("--frame", "00").code == 2
    assert run("--frame", "00" * 4).code == 1
    empty = run("")
    assert (empty.code, empty.err.startswith("\nRequestHeader v0, field api_key, byte 0 of 0: ")) == (1, True)


@pytest.mark.parametrize("size", [-1, -2, -(2**31)])
def test_nothing_follows_a_frame_with_a_negative_size(run: Any, size: int) -> None:
    result = run("--frame", (size.to_bytes(4, "big", signed=True) + REQUEST + frame(REQUEST)).hex())
    assert result.code == 1
    assert "frame at byte" not in result.out
    assert result.lines[1] == ["0", f"{size % 2**32:08x}", "size", "int32", str(size)]


def test_frames_in_a_row_are_shown_one_by_one(run: Any) -> None:
    data = frame(REQUEST) + frame(REQUEST[:-1]) + frame(REQUEST)
    result = run(data.hex())
    assert result.code == 1
    titles = [line for line in result.out.splitlines() if line.startswith("frame")]
    size = len(frame(REQUEST))
    assert titles == ["frame at byte 0:", f"frame at byte {size}:", f"frame at byte {2 * size - 1}:"]
    assert "\n\n\n" not in result.out
    assert result.lines.count(["4", "000c", "api_key", "int16", "12  Heartbeat"]) == 3
    assert result.out.count("^^") == 1
    found = json.loads(run("--format", "json", data.hex()).out)
    assert [part["error"] is None for part in found.values()] == [True, False, True]
    answers = run("--response", "--api-key", "12", "--version", "4", (frame(RESPONSE) * 2).hex())
    assert (answers.code, answers.out.count("REBALANCE_IN_PROGRESS")) == (0, 2)


def test_each_frame_is_printed_before_the_next_is_read(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of many frames needs no more memory than the largest of them."""
    done: list[str] = []

    def noted(name: str, work: Any) -> Any:
        def work_noted(*args: Any, **how: Any) -> Any:
            done.append(name)
            return work(*args, **how)

        return work_noted

    for name in ("trace_request", "show"):
        monkeypatch.setattr(decode, name, noted(name, getattr(decode, name)))
    assert run((frame(REQUEST) * 3).hex()).code == 0
    assert done == ["trace_request", "show"] * 3


@pytest.mark.parametrize("form", ["text", "json", "message"])
def test_all_frames_together_have_a_limit_of_lines(run: Any, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    lines = 2 * len(json.loads(run("--format", "json", frame(REQUEST).hex()).out)["spans"])
    monkeypatch.setattr(decode, "MAX_LINES", lines)
    result = run("--format", form, (frame(REQUEST) * 5).hex())
    size = len(frame(REQUEST))
    assert result.code == 1
    assert f"stopped before frame at byte {2 * size}: the output has reached the limit of {lines} lines" in result.err
    names = [f"frame at byte {start}" for start in (0, size)]
    if form == "text":
        assert [line for line in result.out.splitlines() if line.startswith("frame")] == [f"{n}:" for n in names]
    else:
        assert [*json.loads(result.out)] == names
        assert result.out == json.dumps(json.loads(result.out), indent=1) + "\n"


@pytest.mark.slow
def test_all_frames_together_have_a_limit_of_compressed_records(run: Any) -> None:
    """Small frames with 600,000 records each: those of the second beyond a million are not counted."""
    count = 600_000
    data = frame(bytes.fromhex(produced(around(compress(4, SMALLEST * count), count, codec=4))))
    result = run((data * 2).hex())
    assert result.code == 1, "bytes were not read"
    assert "599000 records more\n" in result.out
    assert f"at least 399001 records more: {BEYOND}\n" in result.out


def test_the_last_of_several_frames_may_be_cut_off(run: Any) -> None:
    data = frame(REQUEST) * 2
    assert "frame at byte" not in run(data[:-1].hex()).out  # who knows whether these are frames
    for cut in (1, len(REQUEST) + 1):
        result = run("--frame", data[:-cut].hex())
        assert (result.code, result.out.count("^^")) == (1, 1)
        assert f"frame at byte {len(data) // 2}:" in result.out
    assert "a frame must have at least 4 bytes" in result.err


def test_a_frame_may_be_empty(run: Any) -> None:
    result = run("--frame", (frame(b"") + frame(REQUEST)).hex())
    assert result.code == 1
    assert [line for line in result.out.splitlines() if line.startswith("frame")] == [
        "frame at byte 0:",
        "frame at byte 4:",
    ]
    assert "12  Heartbeat" in result.out


def test_an_envelope_is_opened(run: Any) -> None:
    def envelope(inner: bytes) -> str:
        message = EnvelopeRequest(request_data=inner, client_host_address=b"")
        return PROTOCOL.encode_request(message, 0, correlation_id=1).hex()

    result = run(envelope(REQUEST))
    assert result.code == 0
    start = bytes.fromhex(envelope(REQUEST)).index(REQUEST)
    assert [str(start), "000c", "api_key", "int16", "12  Heartbeat"] in result.lines
    found = json.loads(run("--format", "json", envelope(REQUEST)).out)
    assert "".join(span["bytes"] for span in found["spans"]) == envelope(REQUEST)
    assert "request_data.group_id" in [span["path"] for span in found["spans"]]
    broken = run(envelope(REQUEST[:-1]))
    assert broken.code == 1
    found = json.loads(run("--format", "json", envelope(REQUEST[:-1])).out)
    assert "".join(span["bytes"] for span in found["spans"]) == envelope(REQUEST[:-1])
    assert "not readable: the number of tagged fields needs 1 byte, 0 left" in broken.out
    twice = run(envelope(bytes.fromhex(envelope(REQUEST))))
    assert (twice.code, twice.out.count("Heartbeat")) == (0, 0)  # Kafka does not forward what was forwarded


@pytest.mark.parametrize(
    "words",
    [
        [REQUEST.hex()],
        [REQUEST.hex(" ")],
        REQUEST.hex(" ").split(),
        ["0x" + REQUEST.hex().upper()],
        ["0X" + REQUEST.hex()],
        [REQUEST.hex("_")],
        [REQUEST.hex("|")],
        [REQUEST.hex(":")],
        [" ".join(f"0x{byte:02x}," for byte in REQUEST)],
        [base64.b64encode(REQUEST).decode()],
        [base64.urlsafe_b64encode(REQUEST).decode()],
    ],
)
def test_ways_to_give_bytes(words: list[str]) -> None:
    assert read_input(words) == REQUEST


@pytest.mark.parametrize("data", [REQUEST.hex().encode(), REQUEST.hex("\n").encode(), base64.encodebytes(REQUEST)])
def test_files(tmp_path: Path, data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "frame"
    for content in (data, REQUEST):
        path.write_bytes(content)
        assert read_input([str(path)]) == REQUEST
        for words in ([], ["-"]):
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
            assert read_input(words) == REQUEST


def test_input_has_a_limit(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Devices and wrong files have no end."""
    path = tmp_path / "frame"
    path.write_bytes(REQUEST.hex().encode() + b" " * (1 << 20))
    record = ("--topic", "__consumer_offsets")
    for words in ([str(path)], ["-"], [*record, "--key", str(path)], [*record, "--key", "00", "--value", str(path)]):
        with path.open() as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            result = run(*words, "--max-input", "1")
        assert result.code == 2
        assert " is larger than 1 MiB: increase --max-input" in result.err
    assert run(str(path)).code == 0
    path.write_bytes(REQUEST.hex().encode().ljust(1 << 20))
    assert run(str(path), "--max-input", "1").code == 0


@pytest.mark.parametrize("data", [b"ab " * 100_000, b"aB=\n" * 100_000], ids=["hex", "base64"])
def test_digits_take_little_more_memory_than_their_bytes(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "frame"
    path.write_bytes(data)

    def read() -> None:
        with suppress(ValueError):
            read_input([str(path)], most=len(data))

    assert peak(read) < 8 * len(data)


@pytest.mark.parametrize(
    "text", ["00000000: 000c 0004 0000 0007  ........\n", "00000000  00 0c 00 04  |....|\n", "frame.bin\n"]
)
def test_text_that_is_neither_hex_nor_base64_is_no_frame(tmp_path: Path, text: str) -> None:
    path = tmp_path / "frame"
    path.write_text(text)
    with pytest.raises(ValueError, match="xxd -p"):
        read_input([str(path)])
    assert read_input([str(path)], "raw") == text.encode()


def test_codings_can_be_said(tmp_path: Path) -> None:
    assert read_input(["abcd"], "base64") == base64.b64decode("abcd")
    assert read_input(["-_-_"], "base64") == base64.urlsafe_b64decode("-_-_") == base64.b64decode("+/+/")
    assert read_input(["abcd"], "hex") == b"\xab\xcd"
    assert read_input(["0X000c", "0xAB", "0x:01_02|03"]) == b"\0\x0c\xab\1\2\3"
    with pytest.raises(ValueError, match="is not hex, base64"):
        read_input(["ab!cd"], "base64")
    path = tmp_path / "frame"
    path.write_bytes(b"abcd")
    assert read_input([str(path)], "raw") == b"abcd"
    with pytest.raises(ValueError, match="is not hex, base64"):
        read_input(["xyz"], "hex")
    with pytest.raises(FileNotFoundError):
        read_input(["abcd"], "raw")
    assert read_input(["f" * 5000]) == b"\xff" * 2500
    with pytest.raises(ValueError, match="is not hex, base64"):
        read_input(["f" * 4999])


def test_a_broken_frame(run: Any) -> None:
    result = run(REQUEST[:-3].hex())
    assert result.code == 1
    assert result.lines[-1][0] == "^^"
    with pytest.raises(DecodeError) as caught:
        PROTOCOL.decode_request(REQUEST[:-3])
    assert result.err.startswith(f"\n{caught.value}\n")


KEY = "0001 0001 67 0001 74 00000003"
VALUE = "0003 0000000000000007 ffffffff 0001 6d 0000018bcfe56800"


def test_a_record_of_an_internal_topic(run: Any) -> None:
    result = run("--topic", "__consumer_offsets", "--key", KEY, "--value", VALUE)
    assert (result.code, result.err) == (0, "")
    key, value = result.out.split("\n\n")
    assert [key.splitlines()[0], value.splitlines()[0]] == ["key:", "value:"]
    assert ["8", "00000003", "partition", "int32", "3"] in result.lines
    assert ["2", "0000000000000007", "offset", "int64", "7"] in result.lines
    broken = run("--topic", "__consumer_offsets", "--key", KEY[:-2], "--format", "json")
    assert (broken.code, list(json.loads(broken.out))) == (1, ["key"])
    assert broken.err.startswith("\nOffsetCommitKey v0, field partition, byte 8 of 11: ")
    unknown = run("--topic", "__transaction_state", "--key", "0063")
    assert (unknown.code, "unknown record type 99" in unknown.out) == (3, True)


@pytest.mark.parametrize("part", ["--key", "--value"])
def test_a_part_of_a_record_has_the_coding_of_the_options(run: Any, tmp_path: Path, part: str) -> None:
    file = tmp_path / "part"
    file.write_text("00010002")
    for coding, size in (("hex", 4), ("base64", 6), ("raw", 8)):
        options = ("--topic", "__consumer_offsets", "--coding", coding, "--format", "json")
        assert json.loads(run(*options, part, str(file)).out)[part[2:]]["size"] == size


BATCH = encode_batch([Record(value=b"v")])
CAPTURE = "a packet capture, not a frame: use kwire tables"
DECOMPRESS = ", not a frame: decompress it, or pass it to kwire tables if it is a capture or a log"


@pytest.mark.parametrize(
    ("start", "named"),
    [
        *((bytes.fromhex(start), CAPTURE) for start in ("a1b2c3d4", "d4c3b2a1", "a1b23c4d", "4d3cb2a1")),
        *((bytes.fromhex(start), CAPTURE) for start in ("a1b2cd34", "34cdb2a1", "0a0d0d0a")),
        (gzip.compress(b"capture", mtime=0), "compressed by gzip" + DECOMPRESS),
        (bytes.fromhex("28b52ffd"), "compressed by zstd" + DECOMPRESS),
        (bytes.fromhex("04224d18"), "compressed by lz4" + DECOMPRESS),
        (bz2.compress(b"capture"), "compressed by bzip2" + DECOMPRESS),
        (lzma.compress(b"capture"), "compressed by xz" + DECOMPRESS),
        (
            BATCH,
            "a log segment or a record batch, not a frame: kwire tables reads log files, and kwire.records",
        ),
    ],
)
def test_a_file_of_another_kind_is_named(run: Any, tmp_path: Path, start: bytes, named: str) -> None:
    file = tmp_path / "input"
    file.write_bytes(start + bytes(40))
    result = run(str(file))
    assert (result.code, result.out) == (2, "")
    assert f"the input is {named}" in " ".join(result.err.split())


@pytest.mark.parametrize(("size", "named"), [(48, False), (49, True)])
def test_a_batch_is_one_by_its_magic_and_size(run: Any, size: int, named: bool) -> None:
    """Whatever its offset is."""
    start = (0x0102030405060708).to_bytes(8, "big") + size.to_bytes(4, "big") + bytes(4) + b"\2" + bytes(40)
    result = run("--payload", start.hex())
    assert (result.code, "record batch" in result.err) == ((2, True) if named else (3, False))
    assert run("--payload", start[:16].hex()).code == 3


def test_a_response_that_was_taken_for_a_request_is_named(run: Any) -> None:
    broker = MetadataResponseBroker(node_id=1, host="broker.example", port=9092)
    payload = PROTOCOL.encode_response(MetadataResponse(brokers=[broker], topics=[]), 5, correlation_id=3)
    for data in (payload, frame(payload)):
        result = run(data.hex())
        assert result.code == 1
        assert "fit a response of Metadata 3-7: use --response --api-key Metadata --version 7\n" in result.err
    short = run(PROTOCOL.encode_response(HeartbeatResponse(error_code=27), 3, correlation_id=7).hex())
    assert "Heartbeat 1-3" in short.err
    assert short.err.endswith(": use --response --api-key KEY --version N\n")
    assert "fit a response of Metadata 3-7:" in run((frame(payload) + frame(b"\0\0")).hex()).err, "the first is named"
    neither = run(payload.hex() + "00")
    assert neither.err.endswith("\nif the input is a response, use --response --api-key KEY --version N\n")
    key = ApiVersion(api_key=18, max_version=3)
    refused = PROTOCOL.encode_response(ApiVersionsResponse(error_code=35, api_keys=[key]), 0, correlation_id=7)
    assert "response of ApiVersions 0: use --response --api-key ApiVersions --version 0\n" in run(refused.hex()).err
    for arguments in (
        ["--response", "--api-key", "12", "--version", "4"],
        ["--message", "TopicRecord", "--version", "0"],
    ):
        assert "--response" not in run(*arguments, payload.hex()).err


def test_as_many_apis_as_are_named_leave_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(not_a_request, "MAX_NAMED", 1000)
    count = len(not_a_request.responses(PROTOCOL, RESPONSE).partition(" fit ")[2].partition(": ")[0].split(", "))
    for most, more in ((count, ""), (count - 1, " and 1 more")):
        monkeypatch.setattr(not_a_request, "MAX_NAMED", most)
        named = not_a_request.responses(PROTOCOL, RESPONSE).partition(": ")[0]
        assert named.endswith(more)
        assert ("more" in named) is bool(more)


def test_large_payloads_are_not_tried_as_responses(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    broker = MetadataResponseBroker(node_id=1, host="broker.example", port=9092)
    payload = PROTOCOL.encode_response(MetadataResponse(brokers=[broker], topics=[]), 5, correlation_id=3)
    for limit, named in ((len(payload), True), (len(payload) - 1, False)):
        monkeypatch.setattr(not_a_request, "MAX_TRIED", limit)
        assert ("fit a response of Metadata" in run(payload.hex()).err) is named


def test_an_interrupted_command_has_the_exit_code_of_a_shell(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(decode, "registry", interrupted)
    assert run("00").code == 130


NEWER = HeartbeatRequest.VALID_VERSIONS.stop
NEWEST = f"Kafka {RELEASES.newest.name}, the newest known release"


def newer_payload(api_key: int = 12) -> bytes:
    return RequestHeader(api_key=api_key, api_version=NEWER, client_id="c").encode(2) + b"body"


def test_what_is_newer_than_the_newest_release_has_its_own_exit_code(run: Any) -> None:
    result = run(newer_payload().hex())
    reason = f"Heartbeat {NEWER} is newer than {NEWEST}"
    assert (result.code, result.err) == (3, f"\n{reason}\n{TAKE_IN}\n")
    assert reason in result.out
    assert run("--response", "--api-key", "12", "--version", str(NEWER), "0000000900").code == 3
    assert run((frame(REQUEST) + frame(newer_payload())).hex()).code == 3
    assert run((frame(REQUEST[:-1]) + frame(newer_payload())).hex()).code == 1


def test_an_unknown_api_is_reported_by_its_number(run: Any) -> None:
    assert run(newer_payload(999).hex()).err.startswith(f"\nAPI key 999 is not in {NEWEST}\n")
    response = run("--response", "--api-key", "-1", "--version", "0", "00000007")
    assert (response.code, "API key -1 is not in" in response.err) == (3, True)


def test_unknown_apis_are_listed_up_to_a_limit(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode, "MAX_UNKNOWN", 2)
    err = run(b"".join(frame(newer_payload(key)) for key in (901, 901, 902, 903)).hex()).err
    assert re.findall("API key ([0-9]+)", err) == ["901", "902"]


def test_what_an_envelope_has_may_be_newer_too(run: Any) -> None:
    envelope = EnvelopeRequest(request_data=newer_payload(), client_host_address=b"\x7f\0\0\1")
    payload = PROTOCOL.encode_request(envelope, 0, correlation_id=1)
    assert run(payload.hex()).code == 3


def test_policies(run: Any) -> None:
    data = (REQUEST + b"more").hex()
    assert run(data).code == 1
    assert run("--policy", "kafka", data).code == 0
    assert run("--policy", "preserve", data).code == 1
    as_message = ("--policy", "kafka", "--format", "message")
    assert json.loads(run(*as_message, data).out)["groupId"] == "gruppe"
    of_response = ("--response", "--api-key", "12", "--version", "4")
    assert json.loads(run(*as_message, *of_response, (RESPONSE + b"more").hex()).out)["errorCode"] == 27
    body = HeartbeatRequest(group_id="g").encode(4) + b"more"
    assert (
        json.loads(run(*as_message, "--message", "HeartbeatRequest", "--version", "4", body.hex()).out)["groupId"]
        == "g"
    )


def produced(records: bytes) -> str:
    topic = TopicProduceData(name="t", partition_data=[PartitionProduceData(records=records)])
    return PROTOCOL.encode_request(ProduceRequest(topic_data=[topic]), 9, correlation_id=1).hex()


def test_records(run: Any) -> None:
    batch = encode_batch([Record(key=b"k", value=b"v", timestamp=1_700_000_000_000)])
    result = run(produced(batch))
    assert result.code == 0
    assert "key 'k', value 'v'" in result.out
    without = run("--no-records", produced(batch))
    assert "key 'k'" not in without.out
    assert re.search(rf"records +compact records +{len(batch)} bytes$", without.out, re.MULTILINE)
    assert run(produced(batch[:61] + b"\x7f" + batch[62:])).code == 1


def test_json(run: Any) -> None:
    result = run("--format", "json", frame(REQUEST).hex())
    found = json.loads(result.out)
    assert (result.code, found["size"], found["error"]) == (0, len(REQUEST) + 4, None)
    assert "".join(span["bytes"] for span in found["spans"]) == frame(REQUEST).hex()
    assert found["spans"][2]["note"] == "Heartbeat"
    failed = run("--format", "json", REQUEST[:-1].hex())
    assert failed.code == 1
    assert json.loads(failed.out)["error"]["message_name"] == "HeartbeatRequest"


def test_large_values_are_cut_in_json(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode, "MAX_BYTES", 5)
    found = json.loads(run("--format", "json", REQUEST.hex()).out)
    (group,) = (span for span in found["spans"] if span["name"] == "group_id")
    assert (group["bytes"], group["value"]) == (b"\x07grup".hex() + "…", "grupp…")
    found = json.loads(run("--format", "json", "--no-records", produced(encode_batch([]))).out)
    (records,) = (span for span in found["spans"] if span["name"] == "records")
    assert records["value"] == "0000000000…"


def test_a_large_message_of_many_values_is_not_decoded(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode, "MAX_DECODED", 100)
    monkeypatch.setattr(large._Counting, "left", 60)
    message = AlterClientQuotasRequest(entries=[AlterClientQuotasRequestEntryData() for _ in range(99)])
    request = PROTOCOL.encode_request(message, 1, correlation_id=1).hex()
    body = ["--message", "AlterClientQuotasRequest", "--version", "1", message.encode(1).hex()]
    answer = AlterClientQuotasResponse(entries=[EntryData() for _ in range(99)])
    response = ["--response", "--api-key", "49", "--version", "1", bytes(5).hex() + answer.encode(1).hex()]
    for given in ([request], body, response):
        refused = run("--format", "message", *given)
        assert (refused.code, refused.out) == (1, "{}\n")
        assert "bytes contain too many values" in refused.err
    assert run("--format", "message", produced(bytes(1000))).code == 0, "large because of its records"


def test_json_has_no_numbers_that_are_none(run: Any) -> None:
    entry = AlterClientQuotasRequestEntryData(ops=[OpData(key="k", value=float("nan"))])
    data = PROTOCOL.encode_request(AlterClientQuotasRequest(entries=[entry]), 1, correlation_id=1).hex()

    def refuse(number: str) -> None:
        raise AssertionError(number)

    found = json.loads(run("--format", "json", data).out, parse_constant=refuse)
    assert [span["value"] for span in found["spans"] if span["name"] == "value"] == ["nan"]


def test_what_others_chose_does_not_reach_the_terminal(run: Any) -> None:
    record = Record(key=b"k", value=b"v", headers=(("h\n\x1b[2J" + "x" * 100, b""), ("y", b"")))
    topic = TopicProduceData(
        name="t\u202e\x9b\x7f\U000e0041é", partition_data=[PartitionProduceData(records=encode_batch([record]))]
    )
    frame = PROTOCOL.encode_request(ProduceRequest(topic_data=[topic]), 9, correlation_id=1).hex()
    result = run(frame)
    assert all(line.isprintable() for line in result.out.split("\n"))
    assert r'"t\u202e\u009b\u007f\udb40\udc41é"' in result.out
    assert r"headers h\u000a\u001b[2Jx" in result.out
    assert max(map(len, result.out.splitlines())) < 260
    as_json = run("--format", "json", frame).out
    assert all(line.isprintable() for line in as_json.split("\n"))
    assert [span["value"] for span in json.loads(as_json)["spans"] if span["name"] == "name"] == [topic.name]


def test_times_have_notes(run: Any) -> None:
    data = OffsetCommitValue(offset=5, commit_timestamp=1_700_000_000_123).encode(3).hex()
    result = run("--message", "OffsetCommitValue", "--version", "3", data)
    assert "1700000000123  2023-11-14 22:13:20.123 UTC" in result.out


def test_the_examples_of_its_help_run(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    examples = [line.split()[2:] for line in decode._EPILOG.splitlines() if line.startswith("  kwire decode")]
    assert len(examples) == 5
    for words in examples:
        if words[-1] != "fetch.bin":
            assert run(*words).code == 0


def test_terminals_that_lack_characters() -> None:
    command = [sys.executable, "-m", "kwire", "decode", "--message", "TopicRecord", "--version", "0"]
    data = TopicRecord(name="ü").encode(0)
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, input=data, capture_output=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert rb'"\xfc"' in done.stdout


def test_a_reader_may_close_the_pipe() -> None:
    """As ``head`` does."""
    command = [sys.executable, "-m", "kwire", "describe", "FetchResponse", "--format", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert (process.stderr.read(), process.wait()) == (b"", 0)


def test_as_a_program() -> None:
    command = [sys.executable, "-m", "kwire", "decode", "--format", "json"]
    data = PROTOCOL.encode_request(FetchRequest(), 15, correlation_id=1)
    done = subprocess.run(command, input=data, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["size"] == len(data)
