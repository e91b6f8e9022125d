"""State of a cluster: nodes, topics and partitions."""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING
from zlib import crc32

from kwire import Uuid
from kwire.releases import Release
from kwire_kafka.errors import ErrorCode
from kwire_testing.clock import Clock
from kwire_testing.control import Rule
from kwire_testing.groups import Group
from kwire_testing.log import PartitionLog, Store
from kwire_testing.refusal import Refused, make_room
from kwire_testing.sessions import Sessions
from kwire_testing.transactions import MAX_NAMES, Producers

if TYPE_CHECKING:
    from kwire_testing.call import Call

_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")
MAX_PARTITIONS = 100_000
"""Maximum number of partitions in a cluster, so that clients cannot exhaust the memory of the process."""
MAX_CONFIGS = 4096
"""Maximum total length of all names and values in a topic's configuration, in characters."""
MAX_KEPT = 256 << 20
"""Maximum total size, in bytes, of the frames of all requests that are kept."""


@dataclass(slots=True)
class Node:
    """A broker of the cluster, with the address on which it listens."""

    id: int
    host: str = ""
    port: int = 0


@dataclass(slots=True, eq=False)
class Partition:
    """A partition with its leader and its log."""

    topic: Topic
    index: int
    leader: int
    log: PartitionLog
    epoch: int = 0
    epochs: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0)])
    """Leader epochs, and the offset at which each began."""

    def move(self, leader: int) -> None:
        """Make another node the leader."""
        self.leader, self.epoch = leader, self.epoch + 1
        self.epochs.append((self.epoch, self.log.end))
        self.log.wake()


@dataclass(slots=True, eq=False)
class Topic:
    """A topic. A topic that is deleted and created again has a different id."""

    name: str
    id: Uuid
    partitions: list[Partition] = field(default_factory=list)
    configs: dict[str, str | None] = field(default_factory=dict)


class Cluster:
    """State shared by all brokers of a cluster."""

    def __init__(self, release: Release, nodes: int, auto_create: bool, users: Mapping[str, str], kept: int) -> None:
        self.release, self.auto_create, self.users = release, auto_create, users
        self.requests: deque[Call] = deque()
        self.problems: list[Exception] = []
        """Exceptions raised by a test's handlers."""
        self.connections = count(1)
        self.clock = Clock()
        self.id = "kwire-fake-cluster-id0"
        self.nodes = {number: Node(number) for number in range(1, nodes + 1)}
        self.topics: dict[str, Topic] = {}
        self.ids: dict[bytes, Topic] = {}
        self.sessions = Sessions()
        self.groups: dict[str, Group] = {}
        self.producers = Producers(self.clock)
        self.rules: list[Rule] = []
        self.coordinators: dict[str, int] = {}
        """Coordinators set by a test, by group or transactional id."""
        self._made = count()
        self._partitions = 0
        self._store = Store()
        self._kept, self._kept_bytes = kept, 0

    def keep(self, call: Call) -> None:
        """Keep a request so that tests can examine it. Discard the oldest requests beyond the limits on their number
        and total size.
        """
        self.requests.append(call)
        self._kept_bytes += call.size
        while len(self.requests) > self._kept or self._kept_bytes > MAX_KEPT:
            self._kept_bytes -= self.requests.popleft().size

    def create(self, name: str, partitions: int = 1, configs: Mapping[str, str | None] | None = None) -> Topic:
        """Create a topic. Raise ``Refused`` if the topic exists or an argument is invalid."""
        check_name(name)
        if name in self.topics:
            raise Refused(ErrorCode.TOPIC_ALREADY_EXISTS)
        if partitions < 1:
            raise Refused(ErrorCode.INVALID_PARTITIONS)
        if sum(len(key) + len(value or "") for key, value in (configs or {}).items()) > MAX_CONFIGS:
            raise Refused(ErrorCode.INVALID_CONFIG)
        number = next(self._made)
        topic_id = Uuid(hashlib.sha256(f"{number} {name}".encode()).digest()[:16])
        topic = Topic(name, topic_id, configs=dict(configs or {}))
        self.extend(topic, partitions)
        self.topics[name] = self.ids[topic_id] = topic
        return topic

    def extend(self, topic: Topic, partitions: int) -> None:
        """Add partitions to a topic. Raise ``Refused`` if the cluster would have too many partitions."""
        more = range(len(topic.partitions), partitions)
        if self._partitions + len(more) > MAX_PARTITIONS:
            raise Refused(ErrorCode.INVALID_PARTITIONS)
        self._partitions += len(more)
        topic.partitions += [
            Partition(topic, index, index % len(self.nodes) + 1, PartitionLog(self._store)) for index in more
        ]

    def delete(self, topic: Topic) -> None:
        """Delete a topic with its records and committed offsets."""
        del self.topics[topic.name], self.ids[topic.id]
        self._partitions -= len(topic.partitions)
        for partition in topic.partitions:
            partition.log.drop()
        for group in self.groups.values():
            group.offsets = {place: offset for place, offset in group.offsets.items() if place[0] != topic.name}

    def find(self, name: str | None, topic_id: bytes = bytes(16)) -> Topic | None:
        """Return the topic with this name or, without a name, with this id. Return ``None`` if no such
        topic exists.
        """
        return self.topics.get(name) if name else self.ids.get(topic_id)

    def group(self, name: str) -> Group:
        """Return a group, and create it if it does not exist. If there are too many groups, remove the oldest idle
        group.
        """
        if name not in self.groups:
            make_room(self.groups, MAX_NAMES, lambda one: self.groups[one].idle)
            self.groups[name] = Group(self.clock)
        return self.groups[name]

    def has(self, name: str, index: int) -> bool:
        """Return whether the partition exists."""
        return name in self.topics and 0 <= index < len(self.topics[name].partitions)

    def coordinator(self, key: str) -> Node:
        """Return the node that coordinates a group or transactional id."""
        return self.nodes[self.coordinators.get(key) or crc32(key.encode()) % len(self.nodes) + 1]


def check_name(name: str) -> None:
    """Raise ``Refused`` if ``name`` is not a valid topic name."""
    if not _NAME.fullmatch(name) or name in (".", ".."):
        raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION)
