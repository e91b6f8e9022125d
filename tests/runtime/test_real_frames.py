"""What brokers of Kafka 4.1.1 and 3.9.1 received and sent: read strictly, written again to the same bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kwire.policy import STRICT
from kwire_kafka.api.api_versions import ApiVersionsResponse
from kwire_kafka.index import PROTOCOL
from tests.support.each import each

DATA = Path(__file__).parents[1] / "data" / "real_frames"
RELEASES = Path(__file__).parents[2] / "message_defs" / "kafka" / "releases.json"
UNKNOWN_VERSION = 99


class Exchange(NamedTuple):
    broker: str
    listener: str
    api_key: int
    version: int
    request: bytes
    response: bytes | None


def _exchanges() -> list[Exchange]:
    found = []
    with (DATA / "frames.jsonl").open() as lines:
        for line in lines:
            frame: dict[str, Any] = json.loads(line)
            response = frame.pop("response")
            found.append(
                Exchange(
                    request=bytes.fromhex(frame.pop("request")),
                    response=None if response is None else bytes.fromhex(response),
                    **frame,
                )
            )
    return found


EXCHANGES = _exchanges()


def _api(exchange: Exchange) -> tuple[int, str, int]:
    return exchange.api_key, exchange.broker, exchange.version


def _groups() -> Iterator[tuple[str, tuple[list[Exchange]]]]:
    for (key, broker, version), members in groupby(sorted(EXCHANGES, key=_api), key=_api):
        api = PROTOCOL.request(key).__name__.removesuffix("Request")
        yield f"{api} v{version} of {broker}", (list(members),)


each_api_version = each(_groups)


@each_api_version
def test_requests_are_written_as_they_were_read(exchanges: list[Exchange]) -> None:
    for exchange in exchanges:
        request = PROTOCOL.decode_request(exchange.request, STRICT)
        header = request.header
        assert (header.api_key, header.api_version) == (exchange.api_key, exchange.version)
        if exchange.version == UNKNOWN_VERSION:
            assert request.message is None
            continue
        assert request.message is not None
        written = PROTOCOL.encode_request(
            request.message, exchange.version, correlation_id=header.correlation_id, client_id=header.client_id
        )
        assert written == exchange.request


@each_api_version
def test_responses_are_written_as_they_were_read(exchanges: list[Exchange]) -> None:
    for exchange in exchanges:
        if exchange.response is None:  # Produce with acks=0
            assert exchange.api_key == 0
            continue
        response = PROTOCOL.decode_response(exchange.response, exchange.api_key, exchange.version, STRICT)
        assert response.message is not None
        assert response.version == (0 if exchange.version == UNKNOWN_VERSION else exchange.version)
        written = PROTOCOL.encode_response(
            response.message, response.version, correlation_id=response.header.correlation_id
        )
        assert written == exchange.response
        request = PROTOCOL.decode_request(exchange.request, STRICT)
        assert response.header.correlation_id == request.header.correlation_id


def _versions(text: str) -> range:
    if text == "none":
        return range(0)
    lowest, _, highest = text.partition("-")
    return range(int(lowest), int(highest or lowest) + 1)


@pytest.mark.parametrize("release", ["4.1.1", "3.9.1"])
def test_frames_cover_all_that_the_listeners_accept(release: str) -> None:
    apis = json.loads(RELEASES.read_text())[release]["apis"]
    accepted = {
        (int(key), version)
        for key, api in apis.items()
        if {"broker", "controller"} & set(api["listeners"])
        for version in _versions(api["accepts"])
    }
    recorded = {(exchange.api_key, exchange.version) for exchange in EXCHANGES}
    assert accepted <= recorded


@pytest.fixture
def advertised() -> ApiVersionsResponse:
    payload = bytes.fromhex((DATA / "api_versions_4.1.1.hex").read_text())
    message = PROTOCOL.decode_response(payload, 18, 4).message
    assert isinstance(message, ApiVersionsResponse)
    return message


def test_advertised_versions_are_those_of_the_release(advertised: ApiVersionsResponse) -> None:
    expected = {}
    for key, api in json.loads(RELEASES.read_text())["4.1.1"]["apis"].items():
        stable = [
            version
            for version in _versions(api.get("advertises", api["accepts"]))
            if "unstable" not in api or version not in _versions(api["unstable"])
        ]
        if "broker" in api["listeners"] and stable:
            expected[int(key)] = (stable[0], stable[-1])
    assert {api.api_key: (api.min_version, api.max_version) for api in advertised.api_keys} == expected


def test_produce_is_advertised_from_0_but_accepted_from_3(advertised: ApiVersionsResponse) -> None:
    """KAFKA-18659: librdkafka looks for version 0 to learn which compression it may use."""
    produce = next(api for api in advertised.api_keys if api.api_key == 0)
    assert (produce.min_version, produce.max_version) == (0, 13)
    answered = {exchange.version for exchange in EXCHANGES if exchange[:3] == ("4.1.1", "broker", 0)}
    assert answered == set(range(3, 14))


def test_features_are_in_the_tagged_fields(advertised: ApiVersionsResponse) -> None:
    supported = {feature.name: feature.max_version for feature in advertised.supported_features}
    finalized = {feature.name: feature.max_version_level for feature in advertised.finalized_features}
    assert supported["metadata.version"] == finalized["metadata.version"] == 27
    assert advertised.finalized_features_epoch > 0
    assert advertised.unknown_tags == ()


def test_an_unknown_version_is_answered_in_version_0() -> None:
    answers = [exchange for exchange in EXCHANGES if exchange.version == UNKNOWN_VERSION]
    assert {exchange.broker for exchange in answers} == {"4.1.1", "3.9.1"}
    for exchange in answers:
        assert exchange.response is not None
        message = PROTOCOL.decode_response(exchange.response, 18, UNKNOWN_VERSION).message
        assert isinstance(message, ApiVersionsResponse)
        assert message.error_code == 35
        assert [(api.api_key, api.min_version, api.max_version) for api in message.api_keys] == [(18, 0, 4)]
