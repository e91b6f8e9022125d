"""Lines of request logs as rows of EXCHANGES: what brokers of all ages wrote, and lines that are broken."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64encode
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from kwire.protocol import Request
from kwire.request_log import parse_line
from kwire_inspect.options import BrokenInputError
from kwire_inspect.rows import Condition, Projection
from kwire_inspect.schemas import EXCHANGES
from kwire_inspect.text_logs import Split, request_batches, requests, splits
from kwire_kafka import (
    PROTOCOL,
    DescribeConfigsRequest,
    EnvelopeResponse,
    ProduceRequest,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from tests.support.effort import examples

LOGS = Path(__file__).parents[1] / "data" / "request_logs"
TEXT = ("0.11.0.3", "1.1.1", "2.2.2", "2.4.1", "2.7.2")
JSON = ("2.8.2", "3.3.2", "3.9.1", "4.1.1")
BYTES = {"request", "response", "reason"}
FACTS = [name for name in EXCHANGES.names if name not in BYTES]

Rows = list[dict[str, Any]]


def rows(
    *cut: Split,
    columns: Sequence[str] = FACTS,
    conditions: Sequence[Condition] = (),
    failfast: bool = False,
    zone: Any = UTC,
) -> Rows:
    chosen = Projection("logged_exchanges", pa.schema([EXCHANGES.field(name) for name in columns]), conditions)
    found = [batch for split in cut for batch in request_batches(split, chosen, zone, failfast=failfast)]
    assert all(batch.schema.names == list(columns) for batch in found)
    return [row for batch in found for row in batch.to_pylist()]


def log(release: str) -> Split:
    return Split(str(LOGS / f"{release}.log.gz"))


def lines(release: str) -> list[bytes]:
    return gzip.decompress((LOGS / f"{release}.log.gz").read_bytes()).splitlines(keepends=True)


def of(tmp_path: Path, data: bytes, **options: Any) -> Rows:
    path = tmp_path / "kafka-request.log"
    path.write_bytes(data)
    return rows(Split(str(path)), **options)


@pytest.mark.parametrize("release", TEXT + JSON)
def test_a_row_for_every_line_and_for_what_an_envelope_holds(release: str) -> None:
    found = rows(log(release))
    marked = sum(b"Completed request:" in line for line in lines(release))
    assert len(found) == marked + (release in JSON[1:])
    assert not [row for row in found if row["problem"] or not row["api"] or not row["time"]]
    assert {row["client_host"] for row in found if row["client_host"]} == {"127.0.0.1"}
    assert {row["outcome"] for row in found} <= {"answered", "none", "unanswered"}
    assert any(row["outcome"] == "none" and row["api"] == "Produce" for row in found)
    assert any(row["error_codes"] for row in found) == (release != "0.11.0.3")
    assert any(row["software_name"] for row in found) == (release in (*JSON, "2.7.2", "2.4.1"))
    for row in found:
        parts = [row[name] for name in ("queue_ms", "local_ms", "remote_ms")]
        if release in JSON:
            assert sum(parts) == pytest.approx(row["latency_ms"], abs=0.01)


def test_the_columns_of_a_line() -> None:
    row, *_ = rows(log("3.9.1"))
    assert row == {
        **dict.fromkeys(FACTS),
        "source": log("3.9.1").path,
        "position": 0,
        "connection": "127.0.0.1:43447-127.0.0.1:41236-0",
        "client_host": None,  # the connection is that of a broker, which passed the request on
        "client_port": None,
        "server_host": "127.0.0.1",
        "server_port": 43447,
        "time": datetime(2026, 11, 21, 16, 44, 21, 981_000, UTC),
        "api_key": 19,
        "api": "CreateTopics",
        "version": 0,
        "correlation_id": 1,
        "client_id": "kwire",
        "principal": "User:ANONYMOUS",
        "outcome": "answered",
        "error_codes": [],
        "latency_ms": 122.478,
        "queue_ms": pytest.approx(6.168),
        "local_ms": 19.636,
        "remote_ms": 96.673,
        "response_version": 0,
        "forwarded": True,
        "listener": "CONTROLLER",
        "security_protocol": "PLAINTEXT",
    }


@pytest.mark.parametrize("release", JSON)
def test_the_quick_way_gives_what_the_thorough_one_does(release: str, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = rows(log(release), columns=EXCHANGES.names)
    assert [{name: row[name] for name in FACTS} for row in quick] == rows(log(release))
    monkeypatch.setattr(requests, "fast_row", lambda *_: None)
    assert rows(log(release), columns=EXCHANGES.names) == quick


TEXTS = st.sampled_from(
    [
        "",
        "c",
        "unknown",
        "2.3.0",
        'a"b',
        "\u00e9\n",
        ',"connection":"x"',
        "127.0.0.1:9092-10.0.0.1:5-0",
        "[::1]:1-/::2:3-0",
    ]
) | st.text(max_size=5)
NUMBERS = st.sampled_from([0, 1, -1, 5, 2**15 - 1, 2**15, 2**31 - 1, 2**31, -(2**31)])
MILLISECONDS = st.sampled_from([0, 0.1, 0.2, 1.5, 12, 1234.567])
WITHIN = st.fixed_dictionaries(
    {},
    optional={
        "errorCode": st.sampled_from([0, 3, 35, -1, 2**15 - 1]),
        "partitionErrorCode": st.just(7),
        "throttleTimeMs": st.sampled_from([0, 40]),
        "acks": st.sampled_from([1, -1, 0.5]),
        "name": TEXTS,
        "topics": st.lists(st.fixed_dictionaries({"name": TEXTS, "errorCode": st.sampled_from([0, 5])}), max_size=2),
    },
)


@st.composite
def logged(draw: st.DrawFn) -> bytes:
    """A line with the members that brokers write, in their order."""
    header = {
        "requestApiKey": draw(st.sampled_from([0, 1, 3, 18, 18, 0, 9999, 2**15])),
        "requestApiVersion": draw(st.sampled_from([0, 3, 9, 2**15 - 1, 2**15])),
        "correlationId": draw(NUMBERS),
        "clientId": draw(st.none() | TEXTS),
        "requestApiKeyName": "X",
    }
    header |= draw(st.sampled_from([{}, {"requestApiVersionDeprecated": True}]))
    software = {"clientSoftwareName": draw(TEXTS), "clientSoftwareVersion": draw(TEXTS)}
    first = software if header["requestApiKey"] == 18 and draw(st.booleans()) else {}
    response = draw(st.sampled_from([None, ""]) | WITHIN)
    last = {"acks": 0} if not isinstance(response, dict) and draw(st.booleans()) else {}
    times = ["totalTimeMs", "requestQueueTimeMs", "localTimeMs", "remoteTimeMs"]
    whole = {
        "isForwarded": draw(st.booleans()),
        "requestHeader": header,
        "request": first | draw(WITHIN) | last,
        "response": response,
        "connection": draw(TEXTS),
        **{name: draw(MILLISECONDS) for name in times},
        "throttleTimeMs": 0,
        **{name: draw(MILLISECONDS) for name in ("responseQueueTimeMs", "sendTimeMs")},
        "securityProtocol": "SASL_SSL",
        "principal": draw(TEXTS),
        "listener": draw(TEXTS),
        "clientInformation": {"softwareName": draw(TEXTS), "softwareVersion": draw(TEXTS)},
    }
    if draw(st.booleans()):
        whole["temporaryMemoryBytes"] = 5
    separators = draw(st.sampled_from([(",", ":"), (",", ":"), (", ", ": ")]))
    line = json.dumps(whole, separators=separators, ensure_ascii=draw(st.booleans())).encode("utf-8", "replace")
    begin = draw(st.sampled_from([b"", b"[2026-01-02 12:00:00,5] ", b"[2026-01-02 12:00:59,123] INFO "]))
    return begin + b"Completed request:" + line + draw(st.sampled_from([b"", b" (kafka.request.logger)"]))


def one(api_key: int, request: str, response: str, connection: str = "[::1]:9092-/::2:3-0") -> bytes:
    """A line as the quick way takes it."""
    header = (
        f'"requestApiKey":{api_key},"requestApiVersion":4,"correlationId":1,"clientId":null,"requestApiKeyName":"X"'
    )
    times = '"totalTimeMs":1,"requestQueueTimeMs":0,"localTimeMs":1,"remoteTimeMs":0,"throttleTimeMs":0'
    who = '"securityProtocol":"SSL","principal":"p","listener":"l"'
    software = '"clientInformation":{"softwareName":"lib","softwareVersion":"1.2"}'
    last = f'"connection":"{connection}",{times},"responseQueueTimeMs":0,"sendTimeMs":0,{who},{software}'
    head = f'{{"isForwarded":false,"requestHeader":{{{header}}},"request":{request},"response":{response}'
    return f"Completed request:{head},{last}}}".encode()


@pytest.mark.parametrize("quick", [True, False])
def test_facts_that_few_lines_have(monkeypatch: pytest.MonkeyPatch, quick: bool) -> None:
    if not quick:
        monkeypatch.setattr(requests, "fast_row", lambda *_: None)
    maker = requests.RequestRows(Projection("logged_exchanges"), UTC)

    def row(*parts: Any) -> dict[str, Any]:
        (found,) = maker.rows("log", 0, one(*parts))
        return dict(zip(EXCHANGES.names, found, strict=True))

    named = row(18, '{"clientSoftwareName":"","clientSoftwareVersion":"3"}', '{"errorCode":35}')
    assert (named["software_name"], named["software_version"]) == ("lib", "3")
    assert named["response_version"] == 0
    other = row(0, "{}", '{"errorCode":35,"inner":{"errorCode":12345}}')
    assert (other["response_version"], list(other["error_codes"])) == (4, [35, 12345])  # only ApiVersions falls back
    assert (other["server_host"], other["client_host"]) == ("::1", "::2")


@pytest.mark.slow
@examples(2)
@given(logged())
def test_the_quick_way_gives_what_the_thorough_one_does_of_any_line(line: bytes) -> None:
    facts = pa.schema([EXCHANGES.field(name) for name in FACTS])
    maker = requests.RequestRows(Projection("logged_exchanges", facts), UTC)
    quick = maker.rows("log", 7, line)
    with patch.object(requests, "fast_row", lambda *_: None):
        assert maker.rows("log", 7, line) == quick


@pytest.mark.parametrize(
    ("told", "instead", "corrupt"),
    [
        (b'"clientId":"kwire"', rb'"clientId":"a\q"', True),  # no escape of JSON
        (b'"clientId":"kwire"', rb'"clientId":"a\u12"', True),
        (b'"totalTimeMs":', b'"totalTimeMs":1.2.3', True),
        (b'"totalTimeMs":', b'"totalTimeMs":1e999,"more":', True),
        (b'"totalTimeMs":', b'"totalTimeMs":NaN,"more":', True),
        (b'"requestApiVersion":', b'"requestApiVersion":99999', True),
        (b'"requestApiVersion":', b'"requestApiVersion":4000', True),  # of five digits, and too large
        (b'"request":{', b'"request":{"a" 1,', True),  # though no column needs it
        (b'"response":{', b'"response":{"a":"\1",', True),
        (b'"response":{', b'"response":[],"more":{', True),
    ],
)
def test_what_only_looks_like_json_is_told_and_stops_nothing(
    tmp_path: Path, told: bytes, instead: bytes, corrupt: bool
) -> None:
    line = lines("3.9.1")[0]
    assert told in line
    broken, whole = of(tmp_path, line.replace(told, instead, 1) + line)
    assert (broken["problem"] is not None) == corrupt
    assert whole["problem"] is None
    assert whole["latency_ms"] == 122.478


@pytest.mark.parametrize("release", ["3.9.1"])
def test_bytes_are_those_of_the_messages(release: str) -> None:
    """What is decoded of them is what the line says; records are empty."""
    few = [line for line in lines(release) if b"Completed" in line][::9]
    for line, (row,) in zip(few, map(bytes_of, few), strict=True):
        told = parse_line(line.decode())
        assert told is not None
        request = PROTOCOL.decode_request(row["request"])
        assert (request.header.correlation_id, request.header.client_id) == (row["correlation_id"], row["client_id"])
        assert request.message is not None
        if row["outcome"] == "answered":
            response = PROTOCOL.decode_response(row["response"], row["api_key"], row["version"])
            assert response.message is not None
            assert response.version == row["response_version"]
        if isinstance(request.message, ProduceRequest):
            assert not [
                part.records for topic in request.message.topic_data for part in topic.partition_data if part.records
            ]
        assert row["reason"] is None


def bytes_of(line: bytes) -> Rows:
    maker = requests.RequestRows(Projection("logged_exchanges"), UTC)
    return [dict(zip(EXCHANGES.names, row, strict=True)) for row in maker.rows("log", 0, line)]


def test_a_line_without_a_correlation_id_has_bytes_with_zero() -> None:
    (row,) = bytes_of(WITH_SECRETS[0].replace(b'"correlationId":1,', b""))
    assert row["correlation_id"] is None
    assert PROTOCOL.decode_request(row["request"]).header.correlation_id == 0
    assert row["response"][:4] == bytes(4)


def test_text_has_no_bytes_and_says_why(tmp_path: Path) -> None:
    (row,) = of(tmp_path, lines("1.1.1")[0], columns=["request", "response", "reason"])
    assert (row["request"], row["response"]) == (None, None)
    assert "as text" in row["reason"]


@pytest.mark.slow
@examples(0.2)
@given(st.sampled_from(["2.7.2", "4.1.1"]), st.integers(500, 100_000))
def test_splits_of_any_size_give_the_same_rows(tmp_path: Path, release: str, size: int) -> None:
    """2.7.2 has a message of many lines."""
    path = tmp_path / "kafka-request.log"
    path.write_bytes(b"".join(lines(release)[:150]))
    assert rows(*splits([str(path)], size)) == rows(Split(str(path)))


@pytest.mark.parametrize("release", ["2.4.1", "3.9.1"])
@pytest.mark.parametrize("columns", [FACTS, EXCHANGES.names])
def test_a_half_written_line_is_told_and_the_rest_is_read(tmp_path: Path, release: str, columns: list[str]) -> None:
    first, second, third = lines(release)[:3]
    for cut in (first[: len(first) // 2], first[:60], first[: first.index(b"sendTime")]):
        for data in (
            cut + b"\n" + second + third,
            cut + second + third,
            b"\0\xff" * 40 + cut + b"\n" + second + third,
        ):
            found = of(tmp_path, data, columns=columns)
            assert [row["problem"] is None for row in found] == [False, True, True]
            assert [row["time"] for row in found[1:]] == [row["time"] for row in of(tmp_path, second + third)]
            with pytest.raises(BrokenInputError, match=r"kafka-request\.log, byte 0: "):
                of(tmp_path, data, failfast=True)
        found = of(tmp_path, third + cut)
        assert [(row["position"], row["problem"] is None) for row in found] == [(0, True), (len(third), False)]


def test_a_file_without_requests_is_corrupt(tmp_path: Path) -> None:
    foreign = b"[2026-11-21 16:44:21,981] INFO something else (kafka.server.KafkaServer)\n"
    (row,) = of(tmp_path, foreign * 3)
    assert "no line" in row["problem"]
    assert of(tmp_path, b"")[0]["problem"]
    path = tmp_path / "late.log"
    path.write_bytes(foreign * 50 + lines("4.1.1")[0])
    assert [row["problem"] for row in rows(*splits([str(path)], 200))] == [None]
    assert len(of(tmp_path, foreign + lines("4.1.1")[0] + foreign)) == 1


def test_conditions_choose_rows_and_spare_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = rows(log("4.1.1"))
    for condition, test in (
        (Condition("api", "=", "Fetch"), lambda row: row["api"] == "Fetch"),
        (Condition("api_key", "in", (0, 18)), lambda row: row["api_key"] in (0, 18)),
        (Condition("client_id", "=", "kafka-python"), lambda row: row["client_id"] == "kafka-python"),
    ):
        wanted = [row for row in everything if test(row)]
        assert 0 < len(wanted) < len(everything)
        assert rows(log("4.1.1"), conditions=[condition]) == wanted
    times = sorted(row["time"] for row in everything)
    middle = int(times[len(times) // 2].timestamp() * 1_000_000 + 0.5)
    late = rows(log("4.1.1"), conditions=[Condition("time", ">", middle)])
    assert len(late) == sum(int(time.timestamp() * 1_000_000 + 0.5) > middle for time in times)
    parsed: list[str] = []
    monkeypatch.setattr(requests, "parse_line", lambda text: parsed.append(text))
    rows(log("4.1.1"), columns=EXCHANGES.names, conditions=[Condition("api", "=", "Fetch")])
    assert 0 < len(parsed) < 30


def test_batches_end_when_their_lines_have_many_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwire_inspect.text_logs.batches.BATCH_BYTES", 1)
    path = tmp_path / "kafka-request.log"
    path.write_bytes(b"".join(lines("4.1.1")[:3]))
    found = request_batches(Split(str(path)), Projection("logged_exchanges"), UTC)
    assert [batch.num_rows for batch in found] == [1, 1, 1]


def test_times_are_those_of_the_broker(tmp_path: Path) -> None:
    (row,) = of(tmp_path, lines("4.1.1")[0], zone=ZoneInfo("Europe/Berlin"))
    assert row["time"].astimezone(UTC).hour == 15


def test_each_line_has_its_own_time(tmp_path: Path) -> None:
    """Whatever the time, the day and the layout of the line before are; also of a line without a time."""
    zone, start = ZoneInfo("Europe/Berlin"), datetime(2025, 10, 24, 10, 15, 41, 379_000)
    steps = {"microseconds": 1000, "seconds": 1, "minutes": 1, "hours": 1, "days": 1, "weeks": 1}
    times = [start, *(start + timedelta(**{unit: count}) for unit, count in steps.items()), start.replace(year=2026)]
    usual = [f"[{time:%Y-%m-%d %H:%M:%S},{time.microsecond // 1000:03}] DEBUG " for time in times]
    layouts = [*zip(usual, times, strict=True), (f"{start:%d %b %Y %H:%M:%S},379 ", start), ("DEBUG ", None)]
    layouts.append((usual[0].replace("-10-", "-13-"), None))
    message = lines("4.1.1")[0].partition(b"Completed request:")[2]
    given = [one for pair in product(layouts, repeat=2) for one in pair]
    text = b"".join(b"%sCompleted request:%s" % (prefix.encode(), message) for prefix, _ in given)
    found = of(tmp_path, text, columns=["time"], zone=zone)
    assert [row["time"] for row in found] == [time and time.replace(tzinfo=zone) for _, time in given]


def line_of(header: dict[str, Any], request: dict[str, Any], response: dict[str, Any]) -> bytes:
    body = {
        "isForwarded": False,
        "requestHeader": {"correlationId": 1, "clientId": "c", **header},
        "request": request,
        "response": response,
    }
    return b"DEBUG Completed request:" + json.dumps(body, separators=(",", ":")).encode() + b"\n"


def base64(data: bytes) -> str:
    return b64encode(data).decode()


PASSWORD = b"correct-horse"
WRAPPED = PROTOCOL.encode_request(
    SaslAuthenticateRequest(auth_bytes=b"\0alice\0" + PASSWORD), 1, correlation_id=1, client_id="inner"
)
WRAPPED_ANSWER = PROTOCOL.encode_response(SaslAuthenticateResponse(auth_bytes=PASSWORD), 1, correlation_id=1)
WITH_SECRETS = [
    line_of(
        {"requestApiKey": 36, "requestApiVersion": 1},
        {"authBytes": base64(b"\0alice\0" + PASSWORD)},
        {"errorCode": 0, "errorMessage": None, "authBytes": base64(PASSWORD), "sessionLifetimeMs": 0},
    ),
    line_of(
        {"requestApiKey": 51, "requestApiVersion": 0},
        {
            "deletions": [],
            "upsertions": [
                {
                    "name": "a",
                    "mechanism": 1,
                    "iterations": 1,
                    "salt": base64(PASSWORD),
                    "saltedPassword": base64(PASSWORD),
                }
            ],
        },
        {"throttleTimeMs": 0, "results": []},
    ),
    line_of(
        {"requestApiKey": 19, "requestApiVersion": 2},
        {
            "topics": [
                {
                    "name": "t",
                    "numPartitions": 1,
                    "replicationFactor": 1,
                    "assignments": [],
                    "configs": [{"name": "sasl.jaas.config", "value": PASSWORD.decode()}],
                }
            ],
            "timeoutMs": 1,
            "validateOnly": False,
        },
        {"throttleTimeMs": 0, "topics": []},
    ),
    line_of(
        {"requestApiKey": 58, "requestApiVersion": 0},
        {"requestData": base64(WRAPPED), "requestPrincipal": None, "clientHostAddress": base64(bytes(4))},
        {"responseData": None, "errorCode": 31},
    ),
    line_of(
        {"requestApiKey": 58, "requestApiVersion": 0},
        {"requestData": base64(WRAPPED), "requestPrincipal": None, "clientHostAddress": base64(bytes(4))},
        {"responseData": base64(WRAPPED_ANSWER), "errorCode": 0},
    ),
]
UNREADABLE = [
    line_of(
        {"requestApiKey": 36, "requestApiVersion": 1},
        {"authBytes": PASSWORD.decode() + "!"},
        {"errorCode": 0, "errorMessage": None, "authBytes": [PASSWORD.decode()], "sessionLifetimeMs": 0},
    ),
    line_of(
        {"requestApiKey": 33, "requestApiVersion": 1},
        {"resources": [{"resourceType": 4, "configs": [{"name": "x", "value": {"is": PASSWORD.decode()}}]}]},
        {"throttleTimeMs": 0, "responses": []},
    ),
    line_of(
        {"requestApiKey": 33, "requestApiVersion": 1},
        {"resources": [{"resourceType": 4, "resourceName": "", "configs": [{"name": "x", PASSWORD.decode(): ""}]}]},
        {"throttleTimeMs": 0, "responses": []},
    ),
    line_of(
        {"requestApiKey": 58, "requestApiVersion": 0},
        {
            "requestData": base64(WRAPPED[:2] + b"\0\x63" + WRAPPED[4:]),  # of a version that nobody knows
            "requestPrincipal": None,
            "clientHostAddress": base64(bytes(4)),
        },
        {"responseData": base64(WRAPPED_ANSWER), "errorCode": 0},
    ),
]
"""Lines whose secrets are not where or what they should be."""


@pytest.mark.parametrize("line", WITH_SECRETS)
def test_secrets_are_in_no_cell(line: bytes) -> None:
    found = bytes_of(line)
    assert not leaks(found)
    assert found[0]["request"] is not None
    assert found[0]["response"] is not None
    assert found[0]["reason"] is None
    assert [row["response"] for row in found if row["response_version"] is not None and not row["response"]] == []


def test_the_answer_to_an_envelope_is_there_without_its_secrets() -> None:
    outer, inner = bytes_of(WITH_SECRETS[-1])
    clean = PROTOCOL.encode_response(SaslAuthenticateResponse(), 1, correlation_id=1)
    assert inner["response"] == clean
    assert PROTOCOL.decode_response(outer["response"], 58, 0).message == EnvelopeResponse(response_data=clean)


@pytest.mark.parametrize("line", UNREADABLE)
def test_secrets_that_cannot_be_read_are_in_no_cell_either(line: bytes) -> None:
    """Not even in the reason, which says where they are."""
    outer, *inner = bytes_of(line)
    assert not leaks([outer, *inner])
    if inner:
        assert [(row["api"], row["version"], row["request"], row["response"]) for row in inner] == [
            ("SaslAuthenticate", 99, None, None)
        ]
    else:
        assert outer["request"] is None
        assert ", field " in outer["reason"]


def leaks(found: Rows) -> list[str]:
    """The columns in which the password is."""
    return [
        name
        for row in found
        for name, value in row.items()
        for data in [value if isinstance(value, bytes) else str(value).encode()]
        if PASSWORD in data or b64encode(PASSWORD)[:12] in data
    ]


def test_what_an_envelope_holds_is_a_row_of_its_own() -> None:
    inner = PROTOCOL.encode_request(DescribeConfigsRequest(), 4, correlation_id=9, client_id="inner")
    body = {"requestData": base64(inner), "requestPrincipal": None, "clientHostAddress": base64(bytes(4))}
    outer, row = bytes_of(
        line_of({"requestApiKey": 58, "requestApiVersion": 0}, body, {"responseData": None, "errorCode": 31})
    )
    assert (outer["api"], outer["forwarded"], outer["error_codes"]) == ("Envelope", False, [31])
    assert (row["api"], row["version"], row["client_id"], row["forwarded"]) == ("DescribeConfigs", 4, "inner", True)
    assert (row["outcome"], row["request"]) == ("unanswered", inner)
    assert row["reason"] == "the response to its Envelope contains no response"
    assert isinstance(PROTOCOL.decode_request(outer["request"]), Request)
    cut = line_of({"requestApiKey": 58, "requestApiVersion": 0}, body | {"requestData": base64(inner[:5])}, {})
    assert [(row["api"], row["forwarded"]) for row in bytes_of(cut)] == [("Envelope", False)]


def test_the_content_of_an_envelope_has_no_address_but_the_times_of_its_line(tmp_path: Path) -> None:
    """The connection is that of the broker which passed it on, the time was spent on both."""
    body = {"requestData": base64(WRAPPED), "requestPrincipal": None, "clientHostAddress": base64(bytes(4))}
    header = {"requestApiKey": 58, "requestApiVersion": 0}
    line = line_of(header, body, {"responseData": base64(WRAPPED_ANSWER), "errorCode": 0}).rstrip(b"\n}")
    line += b'},"connection":"10.0.0.9:9092-10.0.0.1:5-0","totalTimeMs":4,"requestQueueTimeMs":0,"localTimeMs":2,'
    line += b'"remoteTimeMs":1,"listener":"CONTROLLER","securityProtocol":"SSL","principal":"User:broker"}'
    outer, inner = of(tmp_path, b"[2026-01-02 12:00:00,000] " + line)
    usual = {**dict.fromkeys(FACTS), "source": str(tmp_path / "kafka-request.log"), "position": 0}
    usual |= {"connection": "10.0.0.9:9092-10.0.0.1:5-0", "server_host": "10.0.0.9", "server_port": 9092}
    usual |= {"time": datetime(2026, 1, 2, 12, tzinfo=UTC), "listener": "CONTROLLER", "security_protocol": "SSL"}
    usual |= {"latency_ms": 4, "queue_ms": 0, "local_ms": 2, "remote_ms": 1, "outcome": "answered", "error_codes": []}
    own = {"api_key": 36, "api": "SaslAuthenticate", "version": 1, "correlation_id": 1, "client_id": "inner"}
    assert inner == usual | own | {"response_version": 1, "forwarded": True}
    own = {"api_key": 58, "api": "Envelope", "version": 0, "correlation_id": 1, "client_id": "c"}
    own |= {"principal": "User:broker", "client_host": "10.0.0.1", "client_port": 5}
    assert outer == usual | own | {"response_version": 0, "forwarded": False}


def test_a_line_that_is_too_long_is_told_once_however_a_file_is_split(tmp_path: Path) -> None:
    path, line = tmp_path / "kafka-request.log", lines("4.1.1")[0]
    path.write_bytes(line + b"x" * (len(line) + 1) + b"\n" + line)
    chosen = Projection("logged_exchanges", pa.schema([EXCHANGES.field(name) for name in ("position", "problem")]))
    for size in (1 << 20, 1000, 100):
        cut = splits([str(path)], size)
        batches = [batch for one in cut for batch in request_batches(one, chosen, UTC, longest=len(line))]
        found = sorted((row for batch in batches for row in batch.to_pylist()), key=lambda row: row["position"])
        assert [row["position"] for row in found] == [0, len(line), 2 * len(line) + 2]
        assert [row["problem"] is None for row in found] == [True, False, True]


def test_a_file_that_cannot_be_read_is_told_once(tmp_path: Path) -> None:
    (row,) = rows(Split(str(tmp_path / "missing.log")))
    assert row["problem"] == "cannot be read: No such file or directory"


def test_an_entry_that_is_cut_off_does_not_swallow_the_next(tmp_path: Path) -> None:
    """In logs of brokers before 2.8 an entry may have line breaks. If its end is lost, the next one ends it."""
    whole = [line for line in lines("2.7.2") if b"Completed request:" in line and b";totalTime:" in line][:2]
    cut = whole[0][: whole[0].index(b";totalTime:")] + b"\n"
    found = of(tmp_path, cut + whole[1])
    (expected,) = of(tmp_path, whole[1])
    (last,) = [row for row in found if not row["problem"]]
    assert last == expected | {"position": len(cut)}
    broken = whole[1].replace(b" from connection", b"\n from connection", 1)
    assert broken != whole[1]
    assert [row["position"] for row in of(tmp_path, cut + broken) if not row["problem"]] == [len(cut)]


def test_lines_after_an_entry_that_is_cut_off_are_read_in_their_order(tmp_path: Path) -> None:
    """So none of them gets into the next entry, whose client id has a line break."""
    entry = next(line for line in lines("2.7.2") if b"Completed request:" in line and b";totalTime:" in line)
    cut = entry[: entry.index(b" from connection")] + b"\nthe rest of a value\n"
    broken = entry.replace(b"clientId=", b"clientId=a\nb", 1)
    (expected,) = of(tmp_path, broken)
    assert expected["client_id"].startswith("a\nb")
    assert of(tmp_path, cut + broken)[1:] == [expected | {"position": len(cut)}]


@pytest.mark.parametrize("code", [35, 42])
def test_only_a_refused_api_versions_is_answered_in_version_0(tmp_path: Path, code: int) -> None:
    line = next(line for line in lines("4.1.1") if b'"requestApiKey":18,' in line and b'"errorCode":0' in line)
    line, changed = re.subn(rb'"errorCode":0', b'"errorCode":%d' % code, line, count=1)
    assert changed
    (fast,) = of(tmp_path, line)
    (slow,) = of(tmp_path, line, columns=[*EXCHANGES.names])
    assert fast["error_codes"] == [code]
    assert (fast["response_version"] == 0) == (code == 35)
    assert {name: slow[name] for name in FACTS} == fast


@pytest.mark.parametrize(("between", "is_whole"), [(1999, True), (2000, False)])
def test_an_entry_of_too_many_lines_is_not_read_as_one(tmp_path: Path, between: int, is_whole: bool) -> None:
    entry = next(line for line in lines("2.7.2") if b"Completed request:" in line and b";totalTime:" in line)
    broken = entry.replace(b" from connection", b"\n" * (between + 1) + b" from connection", 1)
    first, *others = of(tmp_path, broken)
    assert (first["problem"] is None, others) == (is_whole, [])


@pytest.mark.parametrize(("size", "is_whole"), [(1_900_000, True), (2_200_000, False)])
def test_an_entry_that_is_too_long_is_not_read_as_one(tmp_path: Path, size: int, is_whole: bool) -> None:
    entry = next(line for line in lines("2.7.2") if b"Completed request:" in line and b";totalTime:" in line)
    at = entry.index(b" from connection")
    first, *others = of(tmp_path, entry[:at] + 2 * (b"\n" + b"x" * size) + b"\n" + entry[at:])
    assert (first["problem"] is None, others) == (is_whole, [])


MEMBERS: dict[str, Any] = {
    "connection": "10.0.0.9:9092-10.0.0.1:5-0",
    "totalTimeMs": 10.5,
    "requestQueueTimeMs": 0.5,
    "localTimeMs": 2.5,
    "remoteTimeMs": 4.25,
    "throttleTimeMs": 0,
    "responseQueueTimeMs": 0.25,
    "sendTimeMs": 0.125,
    "securityProtocol": "SASL_SSL",
    "principal": "User:alice",
    "listener": "EXTERNAL",
    "clientInformation": {"softwareName": "app", "softwareVersion": "1.0"},
}
FETCHED: dict[str, Any] = {"throttleTimeMs": 7, "errorCode": 0, "sessionId": 3, "responses": []}
FETCH: dict[str, Any] = {
    "maxWaitMs": 1,
    "minBytes": 1,
    "maxBytes": 1,
    "isolationLevel": 0,
    "sessionId": 3,
    "sessionEpoch": 1,
}
FETCH |= {
    "topics": [],
    "forgottenTopicsData": [],
    "rackId": "",
    "replicaState": {"replicaId": -1, "replicaEpoch": -1},
}
PRODUCE: dict[str, Any] = {"transactionalId": None, "acks": 0, "timeoutMs": 5, "topicData": []}
OWN = {"clientSoftwareName": "own", "clientSoftwareVersion": "2.0"}
VERSIONS: dict[str, Any] = {"errorCode": 0, "apiKeys": [], "throttleTimeMs": 0}
UNKNOWN = {"softwareName": "unknown", "softwareVersion": "unknown"}
PASSWORDS = {"authBytes": base64(b"\0alice\0" + PASSWORD)}
AUTHENTICATED: dict[str, Any] = {"errorCode": 58, "errorMessage": "no", "authBytes": "", "sessionLifetimeMs": 0}
CREATED: dict[str, Any] = {"errorMessage": None, "numPartitions": 1, "replicationFactor": 1}
TWO_CODES: dict[str, Any] = {
    "throttleTimeMs": 3,
    "topics": [
        CREATED | {"name": "b", "errorCode": 36, "configs": None},
        CREATED | {"name": "a", "errorCode": -1, "configs": []},
        CREATED | {"name": "c", "errorCode": 36, "configs": []},
    ],
}
CREATE: dict[str, Any] = {"topics": [], "timeoutMs": 1, "validateOnly": False}
BODIES: dict[str, tuple[int, int, Any, Any, dict[str, Any]]] = {
    "a Fetch": (1, 15, FETCH, FETCHED, {}),
    "a Fetch that was forwarded": (1, 15, FETCH, FETCHED, {"isForwarded": True}),
    "a Produce without acks": (0, 9, PRODUCE, "", {}),
    "a Produce with acks": (0, 9, PRODUCE | {"acks": 1}, "", {}),
    "a Fetch without a response": (1, 15, FETCH | {"acks": 0}, None, {}),
    "ApiVersions with its own software": (18, 3, OWN, VERSIONS, {}),
    "ApiVersions that is refused": (18, 99, {}, {"errorCode": 35, "apiKeys": []}, {}),
    "ApiVersions of an old version": (18, 0, {}, {"errorCode": 0, "apiKeys": []}, {}),
    "a code 35 of another API": (1, 15, FETCH, FETCHED | {"errorCode": 35}, {}),
    "two codes": (19, 5, CREATE, TWO_CODES, {}),
    "unknown software": (1, 15, FETCH, FETCHED, {"clientInformation": UNKNOWN}),
    "a password": (36, 1, PASSWORDS, AUTHENTICATED, {}),
    "a request that is wrong": (1, 15, FETCH | {"maxWaitMs": "x"}, FETCHED, {}),
    "a response that is wrong": (1, 15, FETCH, FETCHED | {"sessionId": "x"}, {}),
    "both are wrong": (1, 15, FETCH | {"maxBytes": "x"}, FETCHED | {"sessionId": "y"}, {}),
    "a secret in a response that is wrong": (36, 1, PASSWORDS, AUTHENTICATED | {"authBytes": "!x"}, {}),
    "a password that is wrong": (36, 1, {"authBytes": "!x"}, AUTHENTICATED | {"authBytes": [1]}, {}),
    "a version that is unknown": (1, 99, FETCH, FETCHED, {}),
    "an API that is unknown": (999, 0, {"a": 1}, {"errorCode": 4}, {}),
    "a name that is too long": (1, 15, FETCH, FETCHED, {"connection": "h" * 590 + ":9092-c:5-0"}),
    "IPv6": (1, 15, FETCH, FETCHED, {"connection": "0:0:0:0:0:0:0:1:9092-2001:db8:0:0:0:0:0:5:50000-1"}),
}  # fmt: skip


def whole_line(name: str) -> bytes:
    key, version, request, response, changed = BODIES[name]
    header = {"requestApiKey": key, "requestApiVersion": version, "correlationId": 8, "clientId": "me"}
    body = {"isForwarded": False, "requestHeader": header, "request": request, "response": response} | MEMBERS
    before = b"[2026-01-02 12:00:00,250] DEBUG Completed request:"
    return before + json.dumps(body | changed, separators=(",", ":")).encode() + b" (kafka.request.logger)\n"


@pytest.mark.parametrize("name", BODIES)
def test_whole_rows_of_requests_and_responses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, snapshot: SnapshotAssertion
) -> None:
    """All columns of the first, and what differs from it in the others. On the slow path, and without the columns
    with bytes, rows are the same."""
    usual, row = (of(tmp_path, whole_line(one), columns=EXCHANGES.names)[0] for one in ("a Fetch", name))
    text = {column: value.hex(" ") if isinstance(value, bytes) else str(value) for column, value in row.items()}
    shown = [
        column for column in text if (name == "a Fetch" and row[column] is not None) or row[column] != usual[column]
    ]
    assert "\n".join(f"{column}: {text[column][:200]}" for column in shown if column != "source") == snapshot
    assert of(tmp_path, whole_line(name)) == [{column: row[column] for column in FACTS}]
    monkeypatch.setattr(requests, "fast_row", lambda *_: None)
    assert of(tmp_path, whole_line(name), columns=EXCHANGES.names) == [row]


@pytest.mark.parametrize("most", [(100, 100, [5]), (2, 100, [2, 2, 1]), (100, 2, [2, 2, 1]), (100, 3, [3, 2])])
def test_batches_end_at_their_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: tuple[int, int, list[int]]
) -> None:
    """At so many rows, or at the bytes of so many lines."""
    line = lines("4.1.1")[0]
    path = tmp_path / "kafka-request.log"
    path.write_bytes(line * 5)
    monkeypatch.setattr("kwire_inspect.text_logs.batches.BATCH_ROWS", most[0])
    monkeypatch.setattr("kwire_inspect.text_logs.batches.BATCH_BYTES", most[1] * (len(line) - 1))
    found = list(request_batches(Split(str(path)), Projection("logged_exchanges"), UTC))
    assert [batch.num_rows for batch in found] == most[2]
    places = [row["position"] for batch in found for row in batch.to_pylist()]
    assert places == [len(line) * number for number in range(5)]


def test_the_first_broken_line_fails_where_it_should(tmp_path: Path) -> None:
    """With its file, place and reason, and before any row is given."""
    line, path = lines("4.1.1")[0], tmp_path / "kafka-request.log"
    path.write_bytes(line + b"Completed request:{\n" + line + b"Completed request:[\n")
    with pytest.raises(BrokenInputError) as failed:
        rows(Split(str(path)), failfast=True)
    assert (failed.value.source, failed.value.position) == (str(path), len(line))
    (reason,) = [row["problem"] for row in rows(Split(str(path))) if row["position"] == len(line)]
    assert failed.value.reason == reason
