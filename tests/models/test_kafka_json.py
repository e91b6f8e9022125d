"""The JSON form of models is that of Kafka's own converters, as the conformance vectors have it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kwire_kafka import PROTOCOL
from kwire_kafka.releases import RELEASES
from tests.conformance import vectors
from tests.models.support import model_of
from tests.support.each import each_release

RENAMED = {
    ("ListConfigResourcesResponse", 0): {"clientMetricsResources": "configResources", "name": "resourceName"},
    ("VoteRequest", 0): {"candidateEpoch": "replicaEpoch", "candidateId": "replicaId"},
    ("VoteRequest", 1): {
        "candidateEpoch": "replicaEpoch",
        "candidateId": "replicaId",
        "candidateDirectoryId": "replicaDirectoryId",
    },
    ("StreamsGroupHeartbeatResponse", 0): {"acceptableRecoveryLag": "acceptableRecoveryLagLegacy"},
    **{("TxnOffsetCommitRequest", version): {"generationId": "generationIdOrMemberEpoch"} for version in (3, 4, 5)},
}
"""What older releases called fields that have other names in the newest, which are those of models."""


def renamed(json: Any, names: dict[str, str]) -> Any:
    if isinstance(json, list):
        return [renamed(item, names) for item in json]
    if isinstance(json, dict):
        return {names.get(name, name): renamed(value, names) for name, value in json.items()}
    return json


@each_release(*vectors.RELEASES)
@pytest.mark.long
def test_models_print_what_kafka_prints(release: str) -> None:
    """Java's bytes → model → Java's JSON, with its fields in the same order."""
    found = 0
    for vector in vectors.messages(release):
        cls = PROTOCOL[vector.message]
        model = model_of(cls, vector.version).from_codec(cls.decode(vector.data, vector.version))
        assert model.to_codec().encode(vector.version) == vector.data
        names = RENAMED.get((vector.message, vector.version), {}) if release != RELEASES.newest.name else {}
        expected = renamed(vector.json, names)
        assert order(json.loads(model.model_dump_json())) == order(expected), f"{vector}"
        found += 1
    assert found > 2000


def order(json: Any) -> Any:
    """A form in which the order of names counts, True is not 1, and -0.0 is not 0.0."""
    if isinstance(json, list):
        return [order(item) for item in json]
    if isinstance(json, dict):
        return [(name, order(value)) for name, value in json.items()]
    return repr(json)


@pytest.mark.slow
@each_release(*vectors.RELEASES)
def test_models_read_what_kafka_prints(release: str) -> None:
    """Java's JSON, by the names of its release, is the model of Java's bytes but for records and unknown tags."""
    for vector in vectors.messages(release):
        cls = PROTOCOL[vector.message]
        model = model_of(cls, vector.version)
        read = model.model_validate_json(json.dumps(vector.json))
        if "SizeInBytes" not in str(vector.json):
            assert nested(read.to_codec()) == nested(cls.decode(vector.data, vector.version))
        assert model.model_validate(vector.json) == read
        assert model.model_validate_json(read.model_dump_json()) == read


def nested(struct: Any) -> Any:
    """A codec object as plain values, without the unknown tags that Kafka does not print."""
    if isinstance(struct, list):
        return [nested(item) for item in struct]
    if hasattr(struct, "FIELDS"):
        return {field.name: nested(getattr(struct, field.name)) for field in struct.FIELDS}
    return repr(struct)
