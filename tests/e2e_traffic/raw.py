"""Requests that no library sends any more, written by `kwire.connection`: each on a connection of its own."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass

from kwire.connection import ClientConnection
from kwire.message import Message
from kwire_kafka import (
    PROTOCOL,
    ApiVersionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DescribeAclsRequest,
    DescribeConfigsRequest,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListOffsetsRequest,
    MetadataRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetForLeaderEpochRequest,
)
from kwire_kafka.api.describe_configs import DescribeConfigsResource
from kwire_kafka.api.join_group import JoinGroupRequestProtocol
from tests.e2e_traffic.clients.steps import Steps, Task

SECONDS = 5.0


@dataclass(frozen=True)
class Asked:
    """What a raw client sent, which is known without asking anybody."""

    client_id: str
    api: str
    version: int
    answered: bool


Ask = Callable[[Message, int], Message | None]


def steps(task: Task, asked: list[Asked]) -> Steps:
    """As the client of a task; what is sent is added to ``asked``."""
    if task.client_id == "raw-group":
        return {"join": lambda: _join(Conversation(task, asked), task)}
    return {f"{type(one).__name__} {version}": _alone(task, asked, one, version) for one, version in old(task)}


def old(task: Task) -> list[tuple[Message, int]]:
    """Removed by 4.0, but for the last two."""
    resource = DescribeConfigsResource(resource_type=2, resource_name=task.topic, configuration_keys=None)
    return [
        (CreateTopicsRequest(timeout_ms=1000), 0),
        (CreateTopicsRequest(timeout_ms=1000), 1),
        (DeleteTopicsRequest(timeout_ms=1000), 0),
        (DescribeAclsRequest(resource_type_filter=1, operation=1, permission_type=1), 0),
        (DescribeConfigsRequest(resources=[resource]), 0),
        (ListOffsetsRequest(replica_id=-1), 0),
        (OffsetCommitRequest(group_id=task.group), 1),
        (OffsetFetchRequest(group_id=task.group), 0),
        (OffsetForLeaderEpochRequest(), 0),
        (MetadataRequest(topics=[]), 0),
        (FindCoordinatorRequest(key=task.group), 0),
    ]


def _alone(task: Task, asked: list[Asked], message: Message, version: int) -> Callable[[], object]:
    def step() -> None:
        with Conversation(task, asked) as ask:
            ask(message, version)

    return step


def _join(ask: Conversation, task: Task) -> None:
    """A member that says what a client of 0.10.1 says, and looks up nothing."""
    with ask:
        ask(ApiVersionsRequest(), 0)
        ask(FindCoordinatorRequest(key=task.group), 0)
        protocols = [JoinGroupRequestProtocol(name="range", metadata=bytes(10))]
        joining = JoinGroupRequest(
            group_id=task.group,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=10_000,
            protocol_type="consumer",
            protocols=protocols,
        )
        joined = ask(joining, 1)
        member, generation = getattr(joined, "member_id", ""), getattr(joined, "generation_id", 0)
        ask(HeartbeatRequest(group_id=task.group, generation_id=generation, member_id=member), 0)
        ask(LeaveGroupRequest(group_id=task.group, member_id=member), 0)


class Conversation:
    """One connection, on which a request is sent when the one before has been answered."""

    def __init__(self, task: Task, asked: list[Asked]) -> None:
        host, port = task.bootstrap.rsplit(":", 1)
        self._connection = ClientConnection(PROTOCOL, client_id=task.client_id)
        self._client_id = task.client_id
        self._asked = asked
        self._socket = socket.create_connection((host, int(port)), timeout=SECONDS)

    def __enter__(self) -> Conversation:
        return self

    def __exit__(self, *problem: object) -> None:
        self._socket.close()

    def __call__(self, message: Message, version: int) -> Message | None:
        """Raises ``ConnectionError`` if the broker closes the connection instead."""
        name = PROTOCOL.api_name(type(message).API_KEY or 0)
        self._socket.sendall(self._connection.send(message, version))
        while received := self._socket.recv(1 << 16):
            for answer in self._connection.receive(received):
                self._asked.append(Asked(self._client_id, name, version, True))
                return getattr(answer, "message", None)
        self._asked.append(Asked(self._client_id, name, version, False))
        raise ConnectionError(f"the broker closed the connection after {name} {version}")


def _conversation(task: Task, asked: list[Asked]) -> Conversation:
    return Conversation(task, asked)
