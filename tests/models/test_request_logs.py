"""Lines that real brokers of 2.8 to 4.1 logged, as models of exactly their version and back."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kwire.models import WITH_RECORDS, ModelOf
from kwire.request_log import RequestLogLine, parse_line
from kwire_kafka import PROTOCOL
from kwire_kafka.models import MODELS
from tests.models.support import model_of

LOGS = Path(__file__).parents[1] / "data" / "request_logs"
RELEASES = ("2.8.2", "3.3.2", "3.9.1", "4.1.1")
SOMETIMES = {"temporaryMemoryBytes", "messageConversionsTime"}
"""Keys of lines about converted records."""

FORMER: dict[tuple[str, str], dict[str, str]] = {
    ("ADD_PARTITIONS_TO_TXN", "request"): {
        "v3AndBelowTransactionalId": "transactionalId",
        "v3AndBelowProducerId": "producerId",
        "v3AndBelowProducerEpoch": "producerEpoch",
        "v3AndBelowTopics": "topics",
    },
    ("ADD_PARTITIONS_TO_TXN", "response"): {
        "resultsByTopicV3AndBelow": "results",
        "resultsByPartition": "results",
        "partitionErrorCode": "errorCode",
    },
    ("DESCRIBE_LOG_DIRS", "request"): {"partitions": "partitionIndex"},
    ("ELECT_LEADERS", "request"): {"partitions": "partitionId"},
    ("FETCH", "response"): {
        "partitions": "partitionResponses",
        "partitionIndex": "partition",
        "recordsSizeInBytes": "recordSetSizeInBytes",
    },
    ("LEADER_AND_ISR", "request"): {"partitionEpoch": "zkVersion"},
    ("LIST_CLIENT_METRICS_RESOURCES", "response"): {
        "configResources": "clientMetricsResources",
        "resourceName": "name",
    },
    ("OFFSET_COMMIT", "request"): {"generationIdOrMemberEpoch": "generationId"},
    ("TXN_OFFSET_COMMIT", "request"): {"generationIdOrMemberEpoch": "generationId"},
    ("VOTE", "request"): {
        "replicaEpoch": "candidateEpoch",
        "replicaId": "candidateId",
        "replicaDirectoryId": "candidateDirectoryId",
    },
}
"""What fields were called in older releases, by the names that they have today and that models print."""

IN_FULL = {("SHARE_FETCH", "response"), ("FETCH_SNAPSHOT", "response")}
"""Where Kafka logs records as base64, and yet always that of nothing."""


def lines(release: str) -> Iterator[RequestLogLine]:
    with gzip.open(LOGS / f"{release}.log.gz", "rt", encoding="utf-8") as log:
        for text in log:
            line = parse_line(text)
            assert line is not None
            yield line


def halves(line: RequestLogLine) -> Iterator[tuple[str, Any, ModelOf[Any] | None]]:
    yield "request", line.request, line.request_model(PROTOCOL, MODELS)
    yield "response", line.response, line.response_model(PROTOCOL, MODELS)


@pytest.mark.parametrize("release", RELEASES)
def test_every_line_is_taken_apart_without_a_rest(release: str) -> None:
    found = list(lines(release))
    assert len(found) > 200
    for line in found:
        assert set(line.more) <= SOMETIMES
        assert None not in (line.local, line.remote, line.is_forwarded, line.software_name, line.software_version)
        assert line.remote is not None
        assert line.remote.host == "127.0.0.1"
        times = (
            line.request_queue_time_ms,
            line.local_time_ms,
            line.remote_time_ms,
            line.response_queue_time_ms,
            line.send_time_ms,
        )
        assert line.total_time_ms == pytest.approx(sum(time or 0 for time in times), abs=0.01)
        assert line.prefix.endswith("INFO" if line.header.deprecated else "DEBUG")
    assert any(line.header.deprecated for line in found) == (release == "3.9.1")
    assert any(line.is_forwarded for line in found) == (release != "2.8.2")
    assert any(line.software_name != "unknown" for line in found)


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
def test_bodies_are_models_of_exactly_their_version(release: str) -> None:
    for line in lines(release):
        for half, body, model in halves(line):
            if model is None:
                assert (line.header.api_name, half, body) == ("PRODUCE", "response", None)
                continue
            assert line.body_version == model.VERSION
            kind = line.header.api_name or "", half
            context = WITH_RECORDS if kind in IN_FULL else None
            printed = json.loads(model.model_dump_json(context=context))
            for former, name in renamed(body, printed):
                assert FORMER[kind][name] == former, line.header


def renamed(body: Any, printed: Any) -> Iterator[tuple[str, str]]:
    """Where the names of two bodies differ, old before new. Everything else in them must be the same: the values, and
    how many there are, in which order. (``repr``: True is not 1, and -0.0 is not 0.0.)"""
    if isinstance(body, list):
        for one, other in zip(body, printed, strict=True):
            yield from renamed(one, other)
    elif isinstance(body, dict):
        for (name, one), (other_name, other) in zip(body.items(), printed.items(), strict=True):
            if name != other_name:
                yield name, other_name
            yield from renamed(one, other)
    else:
        assert repr(body) == repr(printed)


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
def test_bodies_become_bytes_and_come_back(release: str) -> None:
    """Unless the broker left the records out."""
    kept = left_out = 0
    for line in lines(release):
        for _, body, model in halves(line):
            if model is None:
                continue
            if "SizeInBytes" in json.dumps(body):
                with pytest.raises(ValueError, match="left out"):
                    model.to_codec()
                left_out += 1
                continue
            message = model.to_codec()
            data = message.encode(line.body_version)
            again = type(message).decode(data, line.body_version)
            assert again == message
            assert model_of(type(message), line.body_version).from_codec(again) == model
            kept += 1
    assert kept > 400
    assert left_out > 10


@pytest.mark.parametrize("release", RELEASES)
def test_every_version_that_a_listener_lists_is_there(release: str) -> None:
    seen, listed = set(), set()
    for line in lines(release):
        seen.add((line.header.api_key, line.header.api_version))
        if line.header.api_name == "API_VERSIONS" and line.response and line.response["errorCode"] == 0:
            for api in line.response["apiKeys"]:
                listed |= {(api["apiKey"], version) for version in range(api["minVersion"], api["maxVersion"] + 1)}
    never_accepted = {(0, version) for version in range(3)} if release == "4.1.1" else set()
    assert len(listed) > 100
    assert listed - never_accepted <= seen


@pytest.mark.parametrize("release", RELEASES)
def test_trap_06_an_unknown_version_of_api_versions_is_logged_in_version_0(release: str) -> None:
    (line,) = [line for line in lines(release) if line.header.api_version == 99]
    assert line.body_version == 0
    assert (line.request, line.response and line.response["errorCode"]) == ({}, 35)
    assert line.response_model(PROTOCOL, MODELS) is not None


@pytest.mark.parametrize("release", RELEASES[1:])
def test_a_refused_envelope(release: str) -> None:
    (line,) = [line for line in lines(release) if line.header.api_name == "ENVELOPE"]
    opened = line.enveloped(PROTOCOL)
    assert opened is not None
    assert (opened[0].header.api_key, opened[0].header.client_id, opened[1]) == (3, "inner", None)
    assert opened[0].message is not None


@pytest.mark.parametrize("release", RELEASES)
def test_secrets_are_not_in_the_sample(release: str) -> None:
    def secrets(body: Any) -> Iterator[str]:
        if isinstance(body, list):
            for item in body:
                yield from secrets(item)
        elif isinstance(body, dict):
            for name, value in body.items():
                if name in ("saltedPassword", "salt", "hmac", "authBytes"):
                    yield value
                else:
                    yield from secrets(value)

    found = {secret for line in lines(release) for secret in secrets([line.request, line.response])}
    assert all(not secret.strip("A=") for secret in found)
