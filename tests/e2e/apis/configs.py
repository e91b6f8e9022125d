"""Configurations, quotas, features, telemetry."""

from __future__ import annotations

from functools import partial
from typing import Any

from kwire.uuids import ZERO_UUID
from tests.e2e.walk import SOFTWARE, Walk
from tests.real_kafka.broker import NODE

TOPIC, BROKER, CLIENT_METRICS = 2, 4, 16
SET, DELETE = 0, 1
EXACT, ANY = 0, 2


def configs(walk: Walk) -> None:
    name = walk.prefix + "configured"
    walk.topic(name)
    topic = {"resource_type": TOPIC, "resource_name": name}
    changes = [
        {"name": "retention.ms", "config_operation": SET, "value": "88888888"},
        {"name": "cleanup.policy", "config_operation": DELETE, "value": None},
    ]
    walk.every("AlterConfigs", resources=[{**topic, "configs": [{"name": "retention.ms", "value": "77777777"}]}])
    walk.every("IncrementalAlterConfigs", resources=[{**topic, "configs": changes}])

    keys = {"configuration_keys": ["retention.ms", "cleanup.policy"]}
    broker = {"resource_type": BROKER, "resource_name": str(NODE), "configuration_keys": None}
    asked = {"resources": [{**topic, **keys}, broker], "include_synonyms": True, "include_documentation": True}

    def changed(version: int) -> bool:
        results = walk.ask("DescribeConfigs", version, **asked).results
        values = {config.name: config.value for config in results[0].configs}
        return values == {"retention.ms": "88888888", "cleanup.policy": "delete"}

    for version in walk.versions("DescribeConfigs"):
        walk.wait("the new values", partial(changed, version))


def client_metrics(walk: Walk) -> None:
    metrics = {"name": "metrics", "config_operation": SET, "value": "org.apache.kafka."}
    resource = {"resource_type": CLIENT_METRICS, "resource_name": "our-metrics", "configs": [metrics]}
    walk.latest("IncrementalAlterConfigs", resources=[resource])
    walk.every("ListConfigResources", resource_types=[CLIENT_METRICS])


def quotas(walk: Walk) -> None:
    entity = [{"entity_type": "user", "entity_name": "bob"}, {"entity_type": "client-id", "entity_name": None}]
    limits = [{"key": "producer_byte_rate", "value": 1234.0, "remove": False}]
    walk.every("AlterClientQuotas", entries=[{"entity": entity, "ops": limits}])
    who = [
        {"entity_type": "user", "match_type": EXACT, "match": "bob"},
        {"entity_type": "client-id", "match_type": ANY, "match": None},
    ]

    def limits_found(version: int) -> Any:
        return walk.ask("DescribeClientQuotas", version, components=who).entries

    for version in walk.versions("DescribeClientQuotas"):
        found = walk.wait("the quota", partial(limits_found, version))
        assert [value.value for value in found[0].values] == [1234.0]


def features(walk: Walk) -> None:
    """A feature is set to the level it has: nothing changes, and nobody objects."""
    level = {item.name: item.max_version_level for item in walk.latest("ApiVersions", **SOFTWARE).finalized_features}
    same = {"feature": "metadata.version", "max_version_level": level["metadata.version"], "upgrade_type": 1}
    walk.every("UpdateFeatures", feature_updates=[same], timeout_ms=5000)


def telemetry(walk: Walk) -> None:
    """Answered though not listed, as long as the broker has nobody to hand the metrics to."""
    wanted = walk.ask("GetTelemetrySubscriptions", 0, client_instance_id=ZERO_UUID)
    assert wanted.client_instance_id != ZERO_UUID
    pushing = {"client_instance_id": wanted.client_instance_id, "subscription_id": wanted.subscription_id}
    walk.ask("PushTelemetry", 0, **pushing, terminating=True, metrics=b"")
