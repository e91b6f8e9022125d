"""Lines of the request log taken apart: what is in them, what is none, and what is broken."""

from __future__ import annotations

import json
import subprocess
import sys
from base64 import b64encode
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire import LIKE_KAFKA, DecodeError
from kwire.json_form import JsonFormError
from kwire.protocol import Request
from kwire.request_log import Address, LoggedHeader, RequestLogError, RequestLogLine, parse_line
from kwire_kafka import (
    PROTOCOL,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    EnvelopeResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
)
from kwire_kafka.models import MODELS

BODY: dict[str, Any] = {
    "isForwarded": False,
    "requestHeader": {
        "requestApiKey": 2,
        "requestApiVersion": 1,
        "correlationId": 7,
        "clientId": "älter",
        "requestApiKeyName": "LIST_OFFSETS",
        "requestApiVersionDeprecated": True,
    },
    "request": {"replicaId": -1, "topics": []},
    "response": {"topics": []},
    "connection": "10.0.0.1:9092-10.0.0.2:51198-2-1",
    "totalTimeMs": 2.5,
    "requestQueueTimeMs": 0.5,
    "localTimeMs": 1.0,
    "remoteTimeMs": 0.0,
    "throttleTimeMs": 0,
    "responseQueueTimeMs": 0.25,
    "sendTimeMs": 0.75,
    "securityProtocol": "PLAINTEXT",
    "principal": "User:ANONYMOUS",
    "listener": "PLAINTEXT",
    "clientInformation": {"softwareName": "unknown", "softwareVersion": "unknown"},
}


def logged(body: dict[str, Any] = BODY, **other: Any) -> str:
    text = json.dumps(body | other, separators=(",", ":"), ensure_ascii=False)
    return f"[2026-11-21 16:35:31,089] INFO Completed request:{text} (kafka.request.logger)\n"


def parsed(text: str) -> RequestLogLine:
    line = parse_line(text)
    assert line is not None
    return line


@pytest.mark.parametrize(
    ("connection", "local", "remote"),
    [
        ("127.0.0.1:9092-127.0.0.1:57344-0", ("127.0.0.1", 9092), ("127.0.0.1", 57344)),
        ("127.0.0.1:9092-127.0.0.1:57344-2-10", ("127.0.0.1", 9092), ("127.0.0.1", 57344)),
        ("0:0:0:0:0:0:0:1:9092-0:0:0:0:0:0:0:1:5-3", ("0:0:0:0:0:0:0:1", 9092), ("0:0:0:0:0:0:0:1", 5)),
        ("fe80:0:0:0:0:0:0:1%br-1a:9092-10.0.0.2:5-0-3", ("fe80:0:0:0:0:0:0:1%br-1a", 9092), ("10.0.0.2", 5)),
        ("10.0.0.2:5-fe80:0:0:0:0:0:0:1%br-1a:9092-0-3", ("10.0.0.2", 5), ("fe80:0:0:0:0:0:0:1%br-1a", 9092)),
    ],
)
def test_both_ends_of_a_connection(connection: str, local: tuple[str, int], remote: tuple[str, int]) -> None:
    line = parsed(logged(connection=connection))
    assert (line.connection, line.local, line.remote) == (connection, local, remote)


@pytest.mark.parametrize("connection", ["", "mock", "10.0.0.1-10.0.0.2-1", "1:2-" * 100_000])
def test_a_connection_of_another_form_is_kept(connection: str) -> None:
    line = parsed(logged(connection=connection))
    assert (line.connection, line.local, line.remote) == (connection, None, None)


def test_what_a_request_says_of_its_software_goes_before_what_the_broker_knew() -> None:
    said = {"clientSoftwareName": "new", "clientSoftwareVersion": "2.0"}
    known = {"softwareName": "old", "softwareVersion": "1.0"}
    assert parsed(logged(request=said, clientInformation=known)).software == ("new", "2.0")
    assert parsed(logged(clientInformation=known)).software == ("old", "1.0")
    assert parsed(logged(request={"clientSoftwareName": "new"}, clientInformation=known)).software == ("new", "1.0")
    assert parsed(logged()).software == (None, None)


def test_bodies_become_messages_and_models_of_their_version() -> None:
    line, nothing = parsed(logged()), parsed(logged(request="", response=""))
    asked, answered = ListOffsetsRequest(replica_id=-1), ListOffsetsResponse()
    assert (line.request_message(PROTOCOL), line.response_message(PROTOCOL)) == (asked, answered)
    for model, message in (
        (line.request_model(PROTOCOL, MODELS), asked),
        (line.response_model(PROTOCOL, MODELS), answered),
    ):
        assert (type(model).VERSION, model.to_codec()) == (1, message)
    assert nothing.request_message(PROTOCOL) is nothing.response_message(PROTOCOL) is None
    assert nothing.request_model(PROTOCOL, MODELS) is nothing.response_model(PROTOCOL, MODELS) is None


def test_only_the_size_of_records_is_an_error_unless_they_may_be_empty() -> None:
    numbers = dict.fromkeys(("partitionIndex", "errorCode", "highWatermark", "lastStableOffset"), 0)
    fetched = {**numbers, "abortedTransactions": None, "recordsSizeInBytes": 9}
    answer = {"throttleTimeMs": 0, "responses": [{"topic": "t", "partitions": [fetched]}]}
    topics = [{"name": "t", "partitionData": [{"index": 0, "recordsSizeInBytes": 9}]}]
    request = {"transactionalId": None, "acks": 1, "timeoutMs": 5, "topicData": topics}
    for key, part, body in ((1, "response", answer), (0, "request", request)):
        line = parsed(logged(requestHeader={"requestApiKey": key, "requestApiVersion": 4}, **{part: body}))
        read = getattr(line, f"{part}_message")
        with pytest.raises(JsonFormError, match="only the size"):
            read(PROTOCOL)
        assert "records=b''" in repr(read(PROTOCOL, empty_records=True))


@pytest.mark.parametrize(("name", "bits"), [("requestApiKey", 16), ("requestApiVersion", 16), ("correlationId", 32)])
def test_numbers_of_a_header_have_the_size_that_they_have_on_the_wire(name: str, bits: int) -> None:
    least, most = -1 << bits - 1, (1 << bits - 1) - 1
    for number in (least, most):
        assert parsed(logged(requestHeader=BODY["requestHeader"] | {name: number}))
    for number in (least - 1, most + 1):
        with pytest.raises(RequestLogError, match=f"is out of range: {number}$"):
            parse_line(logged(requestHeader=BODY["requestHeader"] | {name: number}))


@pytest.mark.parametrize(
    ("said", "found"),
    [({"throttleTimeMs": 7}, 7), ({}, None), *(({"throttleTimeMs": v}, None) for v in ("7", 7.5, True))],
)
def test_the_pause_that_a_response_asks_for_is_a_whole_number(said: Any, found: int | None) -> None:
    assert parsed(logged(response=said)).response_throttle_ms == found


@pytest.mark.parametrize(("code", "version"), [(35, 0), (42, 3), (0, 3)])
def test_only_an_unknown_version_is_answered_in_version_0(code: int, version: int) -> None:
    header = {"requestApiKey": 18, "requestApiVersion": 3, "correlationId": 1}
    assert parsed(logged(requestHeader=header, response={"errorCode": code})).body_version == version


@pytest.mark.parametrize("name", ["errorCode", "acknowledgeErrorCode", "partitionErrorCode"])
def test_error_codes_have_names_of_several_kinds(name: str) -> None:
    assert parsed(logged(response={"topics": [{name: 6, "timeoutMs": 7}]})).error_codes == [6]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "[2026-11-21 16:35:31,089] INFO Registered broker 1 (kafka.server.KafkaServer)",
        "[2026-11-21 16:35:31,089] INFO Completed request:by the way (kafka.server.KafkaServer)",
    ],
)
def test_other_lines_are_none(text: str) -> None:
    assert parse_line(text) is None


@pytest.mark.parametrize(
    ("text", "path", "what"),
    [
        ("Completed request:", "", "invalid JSON"),
        ("Completed request: {", "", "invalid JSON"),
        (logged()[:200], "", "invalid JSON"),
        ("Completed request:" + '{"a":' * 100_000, "", "nested too deeply"),
        ('Completed request:{"a":' + "9" * 10_000 + "}", "", "nested too deeply"),
        ("Completed request:{}", "requestHeader.requestApiKey", "missing"),
        (logged(requestHeader=None), "requestHeader", "object"),
        (logged(requestHeader={"requestApiKey": 2}), "requestHeader.requestApiVersion", "missing"),
        (logged(requestHeader={"requestApiKey": "2"}), "requestHeader.requestApiKey", "unexpected type"),
        (logged(requestHeader={"requestApiKey": True}), "requestHeader.requestApiKey", "unexpected type"),
        (logged(request=[]), "request", "object"),
        (logged(response="-"), "response", "object"),
        (logged(totalTimeMs="2"), "totalTimeMs", "unexpected type"),
        (logged(clientInformation="me"), "clientInformation", "object"),
        (logged(totalTimeMs=1e18), "totalTimeMs", r"1e\+18 ms is not a valid duration"),
        (logged(sendTimeMs=-1e18), "sendTimeMs", r"-1e\+18 ms is not a valid duration"),
        (logged(remoteTimeMs=float("nan")), "remoteTimeMs", "nan ms is not a valid duration"),
    ],
)
def test_a_broken_line_is_a_typed_error(text: str, path: str, what: str) -> None:
    with pytest.raises(RequestLogError, match=what) as error:
        parse_line(text)
    assert error.value.path == path
    assert error.value.data == text.encode()
    if path:  # a place in the JSON, which begins there
        assert error.value.offset == text.index("request:") + len("request:")


def test_an_error_in_a_line_with_half_a_character_is_typed() -> None:
    """As ``json.loads`` makes of an escape: UTF-8 lacks it."""
    text = logged(requestHeader=BODY["requestHeader"] | {"clientId": "\ud800"}).partition('"response"')[0]
    with pytest.raises(RequestLogError, match="invalid JSON") as error:
        parse_line(text)
    assert error.value.offset == len(error.value.data) == len(text.encode("utf-8", "surrogatepass"))


def test_an_error_counts_bytes() -> None:
    """The client id is not ASCII, and stands before the place where the line ends."""
    cut = logged().partition('"response"')[0]
    with pytest.raises(RequestLogError) as error:
        parse_line(cut)
    assert error.value.offset == len(cut.encode())


@given(st.integers(0, len(logged()) - 1), st.text(max_size=3))
def test_nothing_but_typed_errors(place: int, other: str) -> None:
    for text in (logged()[:place], logged()[:place] + other + logged()[place + 1 :]):
        with suppress(RequestLogError):
            parse_line(text)


def envelope(request: bytes | str, response: bytes | str | None = None) -> RequestLogLine:
    body = {"requestData": in_base64(request), "requestPrincipal": None, "clientHostAddress": "fwAAAQ=="}
    answer = {"responseData": in_base64(response), "errorCode": 0}
    return parsed(logged(requestHeader={"requestApiKey": 58, "requestApiVersion": 0}, request=body, response=answer))


def in_base64(data: bytes | str | None) -> str | None:
    return b64encode(data).decode() if isinstance(data, bytes) else data


def test_an_envelope_is_opened() -> None:
    asked, answered = DescribeGroupsRequest(groups=["g"]), DescribeGroupsResponse(throttle_time_ms=3)
    line = envelope(
        PROTOCOL.encode_request(asked, 5, correlation_id=4711, client_id="inner"),
        PROTOCOL.encode_response(answered, 5, correlation_id=4711),
    )
    opened = line.enveloped(PROTOCOL)
    assert opened is not None
    request, response = opened
    assert isinstance(request, Request)
    assert (request.header.client_id, request.message) == ("inner", asked)
    assert response is not None
    assert (response.header.correlation_id, response.message) == (4711, answered)


def test_an_envelope_is_read_as_the_policy_allows() -> None:
    asked = PROTOCOL.encode_request(DescribeGroupsRequest(), 5, correlation_id=1) + b"?"
    answered = PROTOCOL.encode_response(DescribeGroupsResponse(), 5, correlation_id=1) + b"?"
    opened = envelope(asked, answered).enveloped(PROTOCOL, LIKE_KAFKA)
    assert opened
    assert opened[1]
    assert (opened[0].message, opened[1].message) == (DescribeGroupsRequest(), DescribeGroupsResponse())
    for data in ((asked, answered), (asked[:-1], answered)):
        with pytest.raises(DecodeError, match="1 trailing byte"):
            envelope(*data).enveloped(PROTOCOL)
    assert (
        parsed(logged(requestHeader={"requestApiKey": 58, "requestApiVersion": 0}, request="")).enveloped(PROTOCOL)
        is None
    )


def test_a_refused_envelope_has_no_response_in_it() -> None:
    line = envelope(PROTOCOL.encode_request(DescribeGroupsRequest(), 5, correlation_id=1))
    for one in (line, replace(line, response=None)):
        opened = one.enveloped(PROTOCOL)
        assert opened is not None
        assert opened[1] is None


def test_what_is_no_envelope_has_nothing_in_it() -> None:
    assert parsed(logged()).enveloped(PROTOCOL) is None
    assert EnvelopeResponse.API_KEY == 58


def test_an_envelope_that_is_no_base64() -> None:
    for wrong in ("*", "A", 5):
        with pytest.raises(RequestLogError) as error:
            envelope(wrong).enveloped(PROTOCOL)  # type: ignore[arg-type]
        assert error.value.path == "requestData"


def test_it_does_without_pydantic() -> None:
    code = "import sys, kwire.request_log; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"pydantic", "pydantic_core", "kwire.models", "kwire_kafka"} & set(done.stdout.split())


# Whole lines, compared with what they were made of


TIMES = {
    "totalTime": "total_time_ms",
    "requestQueueTime": "request_queue_time_ms",
    "localTime": "local_time_ms",
    "remoteTime": "remote_time_ms",
    "throttleTime": "throttle_time_ms",
    "responseQueueTime": "response_queue_time_ms",
    "sendTime": "send_time_ms",
}
WORDS = st.sampled_from(["a", "b c", "ü,d=e", "x;y:z", "-1"])
NUMBERS = st.sampled_from([0, 2, -1, 0x7FFF])
ENDS = (("10.0.0.1", 9092), ("fe80:0:0:0:0:0:0:1%br-1", 5))


def maybe(**values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=values)


@st.composite
def json_lines(draw: st.DrawFn) -> tuple[dict[str, Any], RequestLogLine]:
    """The JSON of a line in which anything but API and version may be absent, and what is in it."""
    header: dict[str, Any] = {"api_key": draw(NUMBERS), "api_version": draw(NUMBERS)}
    header |= draw(maybe(api_name=WORDS, correlation_id=NUMBERS, client_id=WORDS, deprecated=st.booleans()))
    bodies = draw(maybe(request=st.just({"a": [1]}), response=st.just({"errorCode": 3, "b": {"errorCode": 3}})))
    times = draw(maybe(**dict.fromkeys(TIMES, st.sampled_from([0, 0.25, 7, 1e6]))))
    names = draw(maybe(security_protocol=WORDS, principal=WORDS, listener=WORDS))
    client = draw(maybe(software_name=WORDS, software_version=WORDS))
    forwarded = draw(maybe(is_forwarded=st.booleans()))
    ends = draw(st.none() | st.permutations(ENDS))
    more = draw(maybe(temporaryMemoryBytes=NUMBERS, later=st.just({"x": [None]})))
    inner = draw(maybe(requestHeader=st.just({"later": 1}), clientInformation=st.just({"later": 2})))

    in_json = {
        "api_key": "requestApiKey",
        "api_version": "requestApiVersion",
        "api_name": "requestApiKeyName",
        "correlation_id": "correlationId",
        "client_id": "clientId",
        "deprecated": "requestApiVersionDeprecated",
        "is_forwarded": "isForwarded",
        "security_protocol": "securityProtocol",
        "software_name": "softwareName",
        "software_version": "softwareVersion",
    }

    def renamed(values: dict[str, Any]) -> dict[str, Any]:
        return {in_json.get(name, name): value for name, value in values.items()}

    body = {"requestHeader": renamed(header) | inner.get("requestHeader", {})}
    body |= bodies | {f"{name}Ms": value for name, value in times.items()} | renamed(names) | renamed(forwarded)
    if client or "clientInformation" in inner:
        body["clientInformation"] = renamed(client) | inner.get("clientInformation", {})
    body |= more
    there: dict[str, Any] = {}
    if ends:
        body["connection"] = "-".join(f"{host}:{port}" for host, port in ends) + draw(
            st.sampled_from(["-0", "-2-13"])
        )
        local, remote = ends
        there = {"connection": body["connection"], "local": Address(*local), "remote": Address(*remote)}
    order = draw(st.permutations(list(body)))
    return {name: body[name] for name in order}, RequestLogLine(
        prefix="[2026-11-21 16:35:31,089] INFO",
        header=LoggedHeader(**header),
        **bodies,
        **there,
        **{TIMES[name]: value for name, value in times.items()},
        **names,
        **client,
        **forwarded,
        more=more | inner,
    )


@pytest.mark.slow
@given(json_lines(), st.sampled_from([" (kafka.request.logger)\n", "\n", "", ' {"x":1}']))
def test_a_line_is_all_that_was_written_and_nothing_else(
    written: tuple[dict[str, Any], RequestLogLine], after: str
) -> None:
    """In any order, whatever is absent."""
    body, expected = written
    for ascii_only in (True, False):
        text = json.dumps(body, ensure_ascii=ascii_only, separators=(",", ":"))
        assert parse_line(f"[2026-11-21 16:35:31,089] INFO Completed request:{text}{after}") == expected
    assert expected.error_codes == ([3] if expected.response else [])


@st.composite
def text_lines(draw: st.DrawFn) -> tuple[str, RequestLogLine]:
    """A line of a broker before 2.8, and what is in it."""
    key, name = draw(st.sampled_from([(0, "PRODUCE"), (3, "METADATA"), (18, "API_VERSIONS")]))
    version, number = draw(st.sampled_from([0, 12])), draw(st.sampled_from([-5, 0, 99]))
    client = draw(st.sampled_from(["me", "a, b=c", "null", "", "x)"]))
    layout = draw(st.sampled_from(["1.0", "0.9", "0.8"] if client not in ("", "x)") else ["1.0", "0.9"]))
    request = draw(st.sampled_from(["{a=1,b=[c]}", "{}"]))
    response = draw(st.sampled_from(["", "{error_code=35,throttle_time_ms=7,x=[{error_code=-1}]}"]))
    if layout == "1.0":
        start = f"RequestHeader(apiKey={name}, apiVersion={version}, clientId={client}, correlationId={number})"
    elif layout == "0.9":
        start = f"{{api_key={key},api_version={version},correlation_id={number},client_id={client}}}"
    else:
        scala = {0: "ProducerRequest", 3: "TopicMetadataRequest", 18: "API_VERSIONS"}[key]
        start = request = f"Name: {scala}; Version: {version}; CorrelationId: {number}; ClientId: {client}; Topics: t"
    message = start if layout == "0.8" else f"{start} -- {request}"
    if layout != "0.8" and draw(st.booleans()):
        message += f",response:{response}"
    else:
        response = ""
    times = draw(maybe(**{time: st.sampled_from(["0", "7", "566.436"]) for time in TIMES if time != "sendTime"}))
    times = {"totalTime": times.pop("totalTime", "1"), **times, "sendTime": "2.5"}
    names = draw(maybe(security_protocol=st.just("SASL_SSL"), principal=st.just("User:CN=a b,OU=c")))
    more = draw(maybe(temporaryMemoryBytes=st.just("128"), messageConversionsTime=st.just("0.25")))
    tail = [f"{time}:{value}" for time, value in times.items()]
    tail += [f"{ {'security_protocol': 'securityProtocol'}.get(one, one)}:{value}" for one, value in names.items()]
    software = draw(st.booleans())
    tail += ["clientInformation:ClientInformation(softwareName=lib, softwareVersion=1.2)"] * software
    tail += [f"{one}:{value}" for one, value in more.items()]
    connection = draw(st.sampled_from(["10.0.0.1:9092-10.0.0.2:5-2", "10.0.0.1:9092-10.0.0.2:5"]))
    text = f"[2026-11-21 18:20:18,737] DEBUG Completed request:{message} from connection {connection};"
    text += ",".join(tail) + draw(st.sampled_from(["", "\n", " (kafka.request.logger)", " (kafka.request.logger)\n"]))
    facts: dict[str, Any] = {TIMES[time]: float(value) for time, value in times.items()}
    facts |= {"software_name": "lib", "software_version": "1.2"} if software else {}
    return text, RequestLogLine(
        prefix="[2026-11-21 18:20:18,737] DEBUG",
        header=LoggedHeader(
            api_key=key,
            api_version=version,
            api_name=name,
            correlation_id=number,
            client_id=None if client == "null" else client,
        ),
        request_text=request,
        response_text=response or None,
        connection=connection,
        local=Address("10.0.0.1", 9092),
        remote=Address("10.0.0.2", 5),
        more={one: float(value) for one, value in more.items()},
        **names,
        **facts,
    )


@pytest.mark.slow
@given(text_lines())
def test_a_line_of_text_is_all_that_was_written_and_nothing_else(written: tuple[str, RequestLogLine]) -> None:
    text, expected = written
    assert parse_line(text) == expected
    assert expected.error_codes == ([-1, 35] if expected.response_text else [])
    assert expected.response_throttle_ms == (7 if expected.response_text else None)
    wrong = 35 in expected.error_codes and expected.header.api_key == 18
    assert expected.body_version == (0 if wrong else expected.header.api_version)
