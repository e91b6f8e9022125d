"""Lines of brokers before 2.8: real ones of every release, and what is cut or odd."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.request_log import Address, RequestLogError, RequestLogLine, parse_line
from kwire.request_log.text import API_KEYS
from kwire_kafka import PROTOCOL

LOGS = Path(__file__).parents[1] / "data" / "request_logs"
RELEASES = ("0.11.0.3", "1.1.1", "2.2.2", "2.4.1", "2.7.2")
RESPONSES = ("1.1.1", "2.2.2", "2.4.1", "2.7.2")
"""Releases that log something of responses."""

SINCE_1_0 = (
    "[2026-11-21 18:20:18,737] DEBUG Completed request:RequestHeader(apiKey=PRODUCE, apiVersion=8, clientId=a, b=c, "
    "correlationId=4) -- {acks=-1,timeout=30000,numPartitions=1},response:{responses=[{topic=t,partition_responses=["
    "{partition=0,error_code=3,base_offset=0},{partition=1,error_code=0},{partition=2,error_code=3}]}],"
    "throttle_time_ms=7} from connection 10.0.0.1:9092-10.0.0.2:59016-2;totalTime:566.436,requestQueueTime:7.898,"
    "localTime:513.886,remoteTime:0.5,throttleTime:7,responseQueueTime:41.688,sendTime:2.963,"
    "securityProtocol:SASL_SSL,principal:User:CN=a,OU=b c,listener:EXTERNAL,clientInformation:ClientInformation("
    "softwareName=kafka-python, softwareVersion=3.0.12),temporaryMemoryBytes:128,messageConversionsTime:0.25 "
    "(kafka.request.logger)"
)
AT_0_9 = (
    "[2026-11-21 18:25:50,343] DEBUG Completed request:Name: TopicMetadataRequest; Version: 1; CorrelationId: 1; "
    "ClientId: ready? from connection 127.0.0.1:43779-127.0.0.1:54324;totalTime:502,requestQueueTime:422,"
    "localTime:69,remoteTime:0,responseQueueTime:1,sendTime:10,securityProtocol:PLAINTEXT,principal:User:ANONYMOUS "
    "(kafka.request.logger)",
    "[2026-11-21 18:25:50,592] DEBUG Completed request:Name:UpdateMetadataRequest;Version:1;Controller:1;"
    "ControllerEpoch:1;CorrelationId:0;ClientId:1;AliveBrokers:1 : (EndPoint(127.0.0.1,43779,PLAINTEXT)) from "
    "connection 127.0.0.1:43779-127.0.0.1:54346;totalTime:68,requestQueueTime:26,localTime:40,remoteTime:0,"
    "responseQueueTime:0,sendTime:2,securityProtocol:PLAINTEXT,principal:User:ANONYMOUS (kafka.request.logger)",
    "[2026-11-21 18:25:50,605] DEBUG Completed request:Name: ControlledShutdownRequest; Version: 1; CorrelationId: 0;"
    "ClientId:Some(1); BrokerId: 1 from connection 127.0.0.1:43779-127.0.0.1:54330;totalTime:88,requestQueueTime:10,"
    "localTime:76,remoteTime:0,responseQueueTime:2,sendTime:0,securityProtocol:PLAINTEXT,principal:User:ANONYMOUS "
    "(kafka.request.logger)",
)
"""What a broker of 0.9.0.1 wrote."""


def parsed(text: str) -> RequestLogLine:
    line = parse_line(text)
    assert line is not None
    return line


def entries(release: str) -> Iterator[str]:
    with gzip.open(LOGS / f"{release}.log.gz", "rt", encoding="utf-8") as log:
        yield from re.split(r"\n(?=\[2026)", log.read())


@pytest.mark.parametrize("release", RELEASES)
def test_every_line_of_a_real_log_is_taken_apart(release: str) -> None:
    found = [parsed(text) for text in entries(release)]
    assert len(found) > 70
    for line in found:
        header = line.header
        assert header.api_version in PROTOCOL.request(header.api_key).VALID_VERSIONS or header.api_version == 99
        assert header.api_name == API_KEYS[header.api_key]
        assert header.client_id is not None
        assert None not in (header.correlation_id, line.local, line.remote, line.send_time_ms, line.request_text)
        assert line.local is not None
        assert line.local.host == "127.0.0.1"
        assert (line.security_protocol, line.principal, line.listener) == ("PLAINTEXT", "User:ANONYMOUS", "PLAINTEXT")
        assert line.time(UTC) is not None
        assert (line.request, line.response) == (None, None)
    assert any(line.response_text for line in found) == (release in RESPONSES)
    assert any(35 in line.error_codes for line in found) == (release in RESPONSES)
    assert any(line.response_throttle_ms == 0 for line in found) == (release in RESPONSES)
    assert any(line.software_name == "kafka-python" for line in found) == (release == "2.7.2")


def test_a_line_has_all_that_the_broker_wrote_around_the_bodies() -> None:
    line = parsed(SINCE_1_0)
    header = line.header
    assert (header.api_key, header.api_version, header.api_name) == (0, 8, "PRODUCE")
    assert (header.correlation_id, header.client_id) == (4, "a, b=c")
    assert line.request_text == "{acks=-1,timeout=30000,numPartitions=1}"
    assert (line.response_text or "").endswith(",throttle_time_ms=7}")
    assert (line.error_codes, line.response_throttle_ms, line.throttle_time_ms) == ([3], 7, 7)
    assert (line.local, line.remote) == (Address("10.0.0.1", 9092), Address("10.0.0.2", 59016))
    assert (line.total_time_ms, line.request_queue_time_ms, line.local_time_ms) == (566.436, 7.898, 513.886)
    assert (line.remote_time_ms, line.response_queue_time_ms, line.send_time_ms) == (0.5, 41.688, 2.963)
    assert (line.security_protocol, line.principal, line.listener) == ("SASL_SSL", "User:CN=a,OU=b c", "EXTERNAL")
    assert (line.software_name, line.software_version) == ("kafka-python", "3.0.12")
    assert line.more == {"temporaryMemoryBytes": 128.0, "messageConversionsTime": 0.25}


@pytest.mark.parametrize(
    ("name", "key"), [("GROUP_COORDINATOR", 10), ("FIND_COORDINATOR", 10), ("ELECT_PREFERRED_LEADERS", 43)]
)
def test_apis_have_names_of_earlier_releases(name: str, key: int) -> None:
    line = parsed(SINCE_1_0.replace("=PRODUCE,", f"={name},").replace("{acks=-1,timeout=30000,numPartitions=1}", ""))
    assert (line.header.api_key, line.request_text) == (key, None)


NAMED = "{client_software_name=new,client_software_version=2.0"


@pytest.mark.parametrize(
    ("api", "request_text", "software"),
    [
        ("API_VERSIONS", NAMED + "}", ("new", "2.0")),
        ("API_VERSIONS", NAMED + ",more=1}", ("new", "2.0")),
        ("API_VERSIONS", "{}", ("kafka-python", "3.0.12")),
        ("PRODUCE", NAMED + "}", ("kafka-python", "3.0.12")),
    ],
)
def test_only_api_versions_says_the_software(api: str, request_text: str, software: tuple[str, str]) -> None:
    line = parsed(re.sub("apiKey=PRODUCE(.*?) -- {.*?}", rf"apiKey={api}\1 -- {request_text}", SINCE_1_0, count=1))
    assert (line.request_text, line.software) == (request_text, software)


def test_lines_of_0_9() -> None:
    told = [(parsed(text).header, parsed(text)) for text in AT_0_9]
    assert [(header.api_key, header.api_version, header.client_id) for header, _ in told] == [
        (3, 1, "ready?"),
        (6, 1, "1"),
        (7, 1, "1"),
    ]
    for _, line in told:
        assert (line.principal, line.local) == ("User:ANONYMOUS", Address("127.0.0.1", 43779))


@pytest.mark.parametrize(
    ("key", "name"), [(-1, None), (0, "PRODUCE"), (57, "UPDATE_FEATURES"), (58, None)], ids=["-1", "0", "57", "58"]
)
def test_a_key_of_no_api_of_that_time_has_no_name(key: int, name: str | None) -> None:
    header = f"{{api_key={key},api_version=8,correlation_id=4,client_id=a}} -- "
    line = parsed(re.sub(r"RequestHeader.*? -- ", header, SINCE_1_0))
    assert (line.header.api_key, line.header.api_name) == (key, name)


@pytest.mark.parametrize(
    "text",
    [
        SINCE_1_0.replace("errorCode", "error_code"),
        SINCE_1_0.replace("error_code", "errorCode").replace("throttle_time_ms", "throttleTimeMs"),
        SINCE_1_0.replace("{partition=2,error_code", "{partition=2,partition_error_code"),
    ],
)
def test_error_codes_in_either_notation(text: str) -> None:
    assert (parsed(text).error_codes, parsed(text).response_throttle_ms) == ([3], 7)


def test_constants_are_names_of_apis() -> None:
    renamed = {"ALTER_ISR": "AlterPartition"}
    for key, constant in enumerate(API_KEYS):
        name = renamed.get(constant) or constant.title().replace("_", "")
        assert PROTOCOL.api_name(key).lower() == name.lower()


def test_a_principal_may_end_in_brackets() -> None:
    line = parsed(SINCE_1_0.partition(",listener")[0].replace("b c", "b (c d)"))
    assert line.principal == "User:CN=a,OU=b (c d)"


def test_a_client_id_may_look_like_a_connection() -> None:
    name = "a from connection 1.1.1.1:1-2.2.2.2:2-0;totalTime:1,sendTime:2"
    line = parsed(SINCE_1_0.replace("clientId=a, b=c", f"clientId={name}"))
    assert (line.header.client_id, line.header.correlation_id) == (name, 4)
    assert (line.local, line.remote) == (Address("10.0.0.1", 9092), Address("10.0.0.2", 59016))
    assert (line.total_time_ms, line.send_time_ms) == (566.436, 2.963)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (SINCE_1_0[:60], "ends before"),
        (SINCE_1_0[:200], "ends before"),
        (SINCE_1_0.partition("responseQueueTime")[0], "ends in the middle of the times"),
        (SINCE_1_0.replace("PRODUCE", "PRODUCT"), "unknown API PRODUCT"),
        (AT_0_9[0].replace("Version", "Virsion"), "lacks the API or the version"),
        (SINCE_1_0[:60] + SINCE_1_0, "the line is cut off, and another line follows it"),
        (SINCE_1_0[:160] + SINCE_1_0, "the line is cut off, and another line follows it"),
        ("DEBUG Completed request:Reques", "ends before"),
        ("DEBUG Completed request:Reques\n", "ends before"),
        ("DEBUG Completed request:{api_ke", "ends before"),
    ],
)
def test_a_broken_line_is_a_typed_error(text: str, what: str) -> None:
    with pytest.raises(RequestLogError, match=what):
        parse_line(text)


@given(st.integers(0, len(SINCE_1_0) - 1), st.text(max_size=3))
def test_nothing_but_typed_errors(place: int, other: str) -> None:
    for text in (SINCE_1_0[:place], SINCE_1_0[:place] + other + SINCE_1_0[place + 1 :]):
        with suppress(RequestLogError):
            parse_line(text)


@pytest.mark.slow
@pytest.mark.timeout(10)
def test_hostile_lines_take_no_time() -> None:
    """A fraction of a second for a megabyte, whatever is repeated in it."""
    for part in (
        "RequestHeader(apiKey=A, apiVersion=1, clientId=",
        " from connection ;",
        ",principal:",
        "Name: a; ",
        ", correlationId=1",
    ):
        with suppress(RequestLogError):
            parse_line("Completed request:RequestHeader(" + part * (1_000_000 // len(part)))
        with suppress(RequestLogError):
            parse_line(SINCE_1_0 + part * (1_000_000 // len(part)))
