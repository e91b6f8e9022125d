"""The controller's view of the cluster: topics, brokers, configurations, ACLs and users from metadata records.

The records of a metadata transaction take effect when it ends, or never if it is aborted [KIP-868].
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kwire.enums import ProtocolEnum
from kwire.redaction import redacted
from kwire_inspect.state.offsets import topic_id
from kwire_inspect.state.replay import Logged
from kwire_kafka import PROTOCOL
from kwire_kafka.enums import (
    AclOperation,
    AclPatternType,
    AclPermissionType,
    AclResourceType,
    BrokerFencingChange,
    BrokerShutdownChange,
    ConfigResourceType,
    ScramMechanism,
    SecurityProtocol,
)

SAME_LEADER = -2
"""Value of ``leader`` in a PartitionChangeRecord for an unchanged leader. A null list in the record means that the
list is unchanged."""
_LISTS = ("isr", "replicas", "adding_replicas", "removing_replicas", "eligible_leader_replicas", "last_known_elr")

Row = dict[str, Any]


def _name(names: type[ProtocolEnum], value: int) -> str:
    return names.name_of(value) or str(value)


class Cluster:
    """Metadata of the whole cluster."""

    def __init__(self) -> None:
        self.names: dict[Any, str] = {}
        self.partitions: dict[Any, dict[int, Row]] = {}
        self.brokers: dict[int, Row] = {}
        self.configs: dict[tuple[int, str, str], Any] = {}
        self.acls: dict[Any, Any] = {}
        self.users: dict[tuple[str, int], Any] = {}
        self.features: dict[str, int] = {}
        self.quotas: dict[tuple[Any, ...], Any] = {}
        self._transaction: list[Any] | None = None

    def add(self, row: Logged) -> None:
        record = row.record
        if record.control or record.value is None:
            return
        name, value = record.name, record.value
        if name == "BeginTransactionRecord":
            self._transaction = []
        elif name in ("EndTransactionRecord", "AbortTransactionRecord"):
            pending, self._transaction = self._transaction or [], None
            for change in pending if name == "EndTransactionRecord" else ():
                self._apply(change)
        elif self._transaction is not None:
            self._transaction.append(value)
        else:
            self._apply(value)

    def _apply(self, value: Any) -> None:
        if apply := _APPLY.get(type(value).__name__):
            apply(self, value)


class Topics(Cluster):
    """The topics of the cluster, with one row per partition."""

    def rows(self) -> Iterator[Row]:
        for id, name in self.names.items():
            for partition in self.partitions.get(id, {}).values():
                yield {
                    "topic": name,
                    "topic_id": topic_id(id),
                    "adding": partition["adding_replicas"],
                    "removing": partition["removing_replicas"],
                    "elr": partition["eligible_leader_replicas"],
                    **partition,
                }


class Brokers(Cluster):
    def rows(self) -> Iterator[Row]:
        return iter(self.brokers.values())


class Configs(Cluster):
    def rows(self) -> Iterator[Row]:
        for (kind, resource, name), value in self.configs.items():
            resource_type = _name(ConfigResourceType, kind)
            yield {
                "resource_type": resource_type,
                "resource": resource,
                "name": name,
                "value": redacted(PROTOCOL, value).value,
            }


class Acls(Cluster):
    def rows(self) -> Iterator[Row]:
        for id, rule in self.acls.items():
            yield {
                "id": str(id),
                "resource_type": _name(AclResourceType, rule.resource_type),
                "resource": rule.resource_name,
                "pattern_type": _name(AclPatternType, rule.pattern_type),
                "principal": rule.principal,
                "host": rule.host,
                "operation": _name(AclOperation, rule.operation),
                "permission": _name(AclPermissionType, rule.permission_type),
            }


class ScramUsers(Cluster):
    """Names and iteration counts of users, without salts or keys."""

    def rows(self) -> Iterator[Row]:
        for (name, kind), user in self.users.items():
            yield {
                "user": name,
                "mechanism": _name(ScramMechanism, kind).replace("_", "-"),
                "iterations": user.iterations,
            }


class Features(Cluster):
    def rows(self) -> Iterator[Row]:
        return ({"feature": name, "level": level} for name, level in self.features.items())


class Quotas(Cluster):
    def rows(self) -> Iterator[Row]:
        for quota in self.quotas.values():
            entity = [{"type": part.entity_type, "name": part.entity_name} for part in quota.entity]
            yield {"entity": entity, "key": quota.key, "value": quota.value}


def _partition(cluster: Cluster, value: Any) -> None:
    row = {"partition": value.partition_id, "leader": value.leader, "leader_epoch": value.leader_epoch}
    row |= {name: getattr(value, name) for name in _LISTS} | {"partition_epoch": value.partition_epoch}
    cluster.partitions.setdefault(value.topic_id, {})[value.partition_id] = row


def _partition_change(cluster: Cluster, value: Any) -> None:
    """Apply a PartitionChangeRecord, which contains only the changed fields. A new leader starts a new leader
    epoch."""
    row = cluster.partitions.get(value.topic_id, {}).get(value.partition_id)
    if row is None:
        return
    row |= {name: getattr(value, name) for name in _LISTS if getattr(value, name) is not None}
    row["partition_epoch"] += 1
    if value.leader != SAME_LEADER:
        row |= {"leader": value.leader, "leader_epoch": row["leader_epoch"] + 1}


def _remove_topic(cluster: Cluster, value: Any) -> None:
    """Remove a topic and its configuration."""
    name = cluster.names.pop(value.topic_id, None)
    cluster.partitions.pop(value.topic_id, None)
    for key in [key for key in cluster.configs if key[0] == ConfigResourceType.TOPIC and key[1] == name]:
        del cluster.configs[key]


def _clear_elr(cluster: Cluster, value: Any) -> None:
    for id, name in cluster.names.items():
        for row in cluster.partitions.get(id, {}).values() if value.topic_name in ("", name) else ():
            if row["eligible_leader_replicas"] or row["last_known_elr"]:
                row |= {"eligible_leader_replicas": [], "last_known_elr": []}
                row["partition_epoch"] += 1


def _register_broker(cluster: Cluster, value: Any) -> None:
    cluster.brokers[value.broker_id] = {
        "broker_id": value.broker_id,
        "epoch": value.broker_epoch,
        "incarnation_id": str(value.incarnation_id),
        "rack": value.rack,
        "fenced": value.fenced,
        "in_controlled_shutdown": value.in_controlled_shutdown,
        "endpoints": [
            {
                "name": endpoint.name,
                "host": endpoint.host,
                "port": endpoint.port,
                "protocol": _name(SecurityProtocol, endpoint.security_protocol),
            }
            for endpoint in value.end_points
        ],
    }


def _change_broker(cluster: Cluster, value: Any) -> None:
    row = cluster.brokers.get(value.broker_id)
    if row is not None:
        if value.fenced != BrokerFencingChange.NONE:
            row["fenced"] = value.fenced == BrokerFencingChange.FENCE
        if value.in_controlled_shutdown == BrokerShutdownChange.IN_CONTROLLED_SHUTDOWN:
            row["in_controlled_shutdown"] = True


def _fence(cluster: Cluster, value: Any) -> None:
    if value.id in cluster.brokers:
        cluster.brokers[value.id]["fenced"] = type(value).__name__ == "FenceBrokerRecord"


def _config(cluster: Cluster, value: Any) -> None:
    _put(cluster.configs, (value.resource_type, value.resource_name, value.name), value, value.value is None)


def _feature(cluster: Cluster, value: Any) -> None:
    _put(cluster.features, value.name, value.feature_level, value.feature_level == 0)


def _quota(cluster: Cluster, value: Any) -> None:
    entity = sorted((part.entity_type, part.entity_name or "", part.entity_name is None) for part in value.entity)
    _put(cluster.quotas, (*entity, value.key), value, value.remove)


def _put(entries: dict[Any, Any], key: Any, value: Any, removed: bool) -> None:
    if removed:
        entries.pop(key, None)
    else:
        entries[key] = value


_APPLY: dict[str, Callable[[Cluster, Any], Any]] = {
    "TopicRecord": lambda cluster, value: cluster.names.__setitem__(value.topic_id, value.name),
    "RemoveTopicRecord": _remove_topic,
    "PartitionRecord": _partition,
    "PartitionChangeRecord": _partition_change,
    "ClearElrRecord": _clear_elr,
    "RegisterBrokerRecord": _register_broker,
    "UnregisterBrokerRecord": lambda cluster, value: cluster.brokers.pop(value.broker_id, None),
    "BrokerRegistrationChangeRecord": _change_broker,
    "FenceBrokerRecord": _fence,
    "UnfenceBrokerRecord": _fence,
    "ConfigRecord": _config,
    "AccessControlEntryRecord": lambda cluster, value: cluster.acls.__setitem__(value.id, value),
    "RemoveAccessControlEntryRecord": lambda cluster, value: cluster.acls.pop(value.id, None),
    "UserScramCredentialRecord": lambda cluster, value: cluster.users.__setitem__(
        (value.name, value.mechanism), value
    ),
    "RemoveUserScramCredentialRecord": lambda cluster, value: cluster.users.pop((value.name, value.mechanism), None),
    "FeatureLevelRecord": _feature,
    "RemoveFeatureLevelRecord": lambda cluster, value: cluster.features.pop(value.name, None),
    "ClientQuotaRecord": _quota,
}
