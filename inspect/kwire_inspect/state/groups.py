"""The group coordinator's view of groups and members after it has loaded a partition, for all four group types."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kwire.errors import DecodeError
from kwire.logs import decode_assignment, decode_subscription
from kwire.policy import LIKE_KAFKA
from kwire_inspect.state.offsets import CommittedOffsets, moment, state_name, topic_id
from kwire_inspect.state.replay import Logged
from kwire_kafka import PROTOCOL
from kwire_kafka.enums import ConsumerMemberState, StreamsMemberState

CLASSIC = "classic"
MEMBER_STATES: Mapping[str, type[ConsumerMemberState] | type[StreamsMemberState]] = {
    "consumer": ConsumerMemberState,
    "share": ConsumerMemberState,
    "streams": StreamsMemberState,
}
"""Enum of the member states of each group type."""

_NAMES = re.compile(
    r"(?P<type>Consumer|Share|Streams)Group"
    r"(?P<part>Metadata|MemberMetadata|TargetAssignmentMetadata|TargetAssignmentMember|CurrentMemberAssignment)"
)


@dataclass(slots=True)
class Group:
    """A group and the values of its records. For a classic group, all values are in ``metadata``."""

    kind: str
    metadata: Any = None
    assignment_epoch: int | None = None
    members: dict[str, Any] = field(default_factory=dict)
    target: dict[str, Any] = field(default_factory=dict)
    current: dict[str, Any] = field(default_factory=dict)


class Groups:
    """The groups of a partition. A group that only committed offsets is treated as an empty classic group."""

    def __init__(self) -> None:
        self._groups: dict[str, Group] = {}
        self._offsets = CommittedOffsets()
        self._partition = -1

    def add(self, row: Logged) -> None:
        self._partition = row.partition
        self._offsets.add(row)
        record = row.record
        if record.reason is not None or record.control or record.name is None:
            return
        if record.name == "GroupMetadata":
            self._classic(record.key, record.value)
        elif match := _NAMES.fullmatch(record.name):
            self._modern(match["type"].lower(), match["part"], record.key, record.value)

    def rows(self) -> Iterator[dict[str, Any]]:
        for name in dict.fromkeys([*self._groups, *(group for group, *_ in self._offsets.committed)]):
            group = self._groups.get(name, Group(CLASSIC))
            yield {
                "group": name,
                "type": group.kind,
                "state": _state(group),
                "members": len(group.metadata.members if _is_classic(group) else group.members),
                "assignment_epoch": group.assignment_epoch,
                "log_partition": self._partition,
                **_details(group),
            }

    def _classic(self, key: Any, value: Any) -> None:
        if value is not None:
            group = self._groups[key.group] = Group(CLASSIC)
            group.metadata = value
        elif key.group in self._groups and self._groups[key.group].kind == CLASSIC:
            del self._groups[key.group]  # a tombstone does not delete a group whose type has since changed

    def _modern(self, kind: str, part: str, key: Any, value: Any) -> None:
        group = self._groups.get(key.group_id)
        if group is None or group.kind != kind:
            if value is None:
                return
            group = self._groups[key.group_id] = Group(kind)
        if part == "Metadata":
            group.metadata = value
            if value is None:
                del self._groups[key.group_id]
        elif part == "TargetAssignmentMetadata":
            group.assignment_epoch = None if value is None else value.assignment_epoch
        else:
            parts = {"MemberMetadata": group.members, "TargetAssignmentMember": group.target}
            values = parts.get(part, group.current)
            if value is None:
                values.pop(key.member_id, None)
            else:
                values[key.member_id] = value


class Members(Groups):
    """The members of a partition's groups."""

    def rows(self) -> Iterator[dict[str, Any]]:
        for name, group in self._groups.items():
            if _is_classic(group):
                yield from (_classic_member(name, group.metadata, member) for member in group.metadata.members)
            else:
                yield from (_modern_member(name, group, member_id) for member_id in group.members)


def _is_classic(group: Group) -> bool:
    return group.kind == CLASSIC and group.metadata is not None


def _details(group: Group) -> dict[str, Any]:
    metadata = group.metadata
    if metadata is None:
        return {"protocol_type": ""} if group.kind == CLASSIC else {}
    if group.kind != CLASSIC:
        return {"epoch": metadata.epoch}
    return {
        "protocol_type": metadata.protocol_type,
        "protocol": metadata.protocol,
        "epoch": metadata.generation,
        "leader": metadata.leader,
        "changed": moment(metadata.current_state_timestamp),
    }


def _state(group: Group) -> str:
    """Return the name of the group's state after the coordinator has loaded it. Share groups never reconcile."""
    if group.kind == CLASSIC:
        return "Stable" if group.metadata is not None and group.metadata.members else "Empty"
    if not group.members:
        return "Empty"
    if group.kind == "share":
        return "Stable"
    target, stable = group.assignment_epoch or 0, MEMBER_STATES[group.kind].STABLE
    if group.metadata is not None and group.metadata.epoch > target:
        return "Assigning"
    is_stable = all(
        (current := group.current.get(member)) and (current.state, current.member_epoch) == (stable, target)
        for member in group.members
    )
    return "Stable" if is_stable else "Reconciling"


def _classic_member(name: str, metadata: Any, member: Any) -> dict[str, Any]:
    row = {
        "group": name,
        "type": CLASSIC,
        "member_id": member.member_id,
        "instance_id": member.group_instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "epoch": metadata.generation,
        "session_timeout_ms": member.session_timeout,
        "rebalance_timeout_ms": member.rebalance_timeout,
        "leader": member.member_id == metadata.leader,
    }
    if metadata.protocol_type == "consumer":
        row |= _embedded(member)
    return row


def _embedded(member: Any) -> dict[str, Any]:
    """Return a classic member's subscription and assignment, decoded from the embedded consumer protocol
    [KAFKA-WIRE 40]."""
    columns: dict[str, Any] = {}
    try:
        if member.subscription:
            subscription: Any = decode_subscription(PROTOCOL, member.subscription, LIKE_KAFKA)
            columns |= {"topics": subscription.topics, "rack": subscription.rack_id}
        columns["assignment"] = []
        if member.assignment:
            assignment: Any = decode_assignment(PROTOCOL, member.assignment, LIKE_KAFKA)
            columns["assignment"] = [
                {"topic": topic.topic, "partitions": topic.partitions} for topic in assignment.assigned_partitions
            ]
    except DecodeError as error:
        columns["reason"] = str(error)
    return columns


def _modern_member(name: str, group: Group, member_id: str) -> dict[str, Any]:
    metadata: Any = group.members[member_id]
    target, current = group.target.get(member_id), group.current.get(member_id)
    classic = getattr(metadata, "classic_member_metadata", None)
    row = {
        "group": name,
        "type": group.kind,
        "member_id": member_id,
        "instance_id": getattr(metadata, "instance_id", None),
        "client_id": metadata.client_id,
        "client_host": metadata.client_host,
        "rack": metadata.rack_id,
        "topics": getattr(metadata, "subscribed_topic_names", None),
        "topic_regex": getattr(metadata, "subscribed_topic_regex", None) or None,
        "assignor": getattr(metadata, "server_assignor", None),
        "rebalance_timeout_ms": getattr(metadata, "rebalance_timeout_ms", None),
        "session_timeout_ms": classic.session_timeout_ms if classic is not None else None,
        "epoch": current.member_epoch if current else 0,
        "previous_epoch": current.previous_member_epoch if current else 0,
        "state": state_name(MEMBER_STATES[group.kind], current.state) if current else "Stable",
        "process_id": getattr(metadata, "process_id", None),
    }
    if group.kind == "streams":
        return row | {"tasks": list(_tasks(current))}
    row["assignment"] = _partitions(current.assigned_partitions if current else ())
    row["target"] = _partitions(target.topic_partitions if target else ())
    return row


def _partitions(topics: Iterable[Any]) -> list[dict[str, Any]]:
    return [{"topic_id": topic_id(topic.topic_id), "partitions": topic.partitions} for topic in topics]


def _tasks(current: Any) -> Iterator[dict[str, Any]]:
    for kind in ("active", "standby", "warmup"):
        for task in getattr(current, f"{kind}_tasks", None) or ():
            yield {"kind": kind, "subtopology": task.subtopology_id, "partitions": task.partitions}
