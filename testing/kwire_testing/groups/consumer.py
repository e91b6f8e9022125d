"""Groups of the consumer type, to whose members the broker assigns the partitions [KIP-848]."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import uuid4

from kwire import Uuid
from kwire_kafka import ConsumerGroupHeartbeatRequest
from kwire_kafka.errors import ErrorCode
from kwire_testing.clock import Clock, Timer
from kwire_testing.groups.members import EMPTY, STABLE, Member, Members
from kwire_testing.refusal import Refused

SESSION, HEARTBEAT = 45.0, 0.1
"""Session timeout and heartbeat interval in seconds. Kafka's default heartbeat interval of 5 seconds would slow down
tests.
"""
JOIN, LEAVE, LEAVE_FOR_NOW = 0, -1, -2
ASSIGNORS = ("uniform", "range")
MAX_REPEATS = 3
"""Maximum number of repetitions and inner alternatives in a regular expression. With more repetitions, matching in
Python could last hours.
"""

Places = set[tuple[Uuid, int]]
"""Partitions, each as a topic id and a partition index."""
Topics = Mapping[str, tuple[Uuid, int]]
"""Id and number of partitions of each topic, by name."""


@dataclass(slots=True, eq=False)
class ConsumerMember(Member):
    """A member of the consumer type. The member may read the partitions in ``assigned``, and must release the
    partitions in ``revoking``.
    """

    rack: str | None = None
    names: list[str] = field(default_factory=list)
    regex: str | None = None
    epoch: int = JOIN
    former: int = JOIN
    assigned: Places = field(default_factory=set)
    revoking: Places = field(default_factory=set)
    target: Places = field(default_factory=set)
    sent: Places | None = None
    revoking_timer: Timer | None = None

    def wants(self, topics: Topics) -> set[str]:
        """Return the names of the topics to which the member is subscribed."""
        found = {name for name in self.names if name in topics}
        return found | {name for name in topics if self.regex and re.fullmatch(self.regex, name)}


class ConsumerGroup(Members[ConsumerMember]):
    """A group of the consumer type, with a target assignment. Each heartbeat moves a member one step towards its
    target.
    """

    kind = protocol_type = "consumer"
    other_kind = ErrorCode.GROUP_ID_NOT_FOUND

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.epoch = self.assigned_epoch = 0
        self.assignor = ASSIGNORS[0]
        self._basis: object = None

    @property
    def state(self) -> str:
        """Name of the group's state, as in Kafka."""
        if not self.members:
            return EMPTY
        settled = all(one.epoch == self.epoch and one.assigned == one.target for one in self.members.values())
        return STABLE if settled else "Reconciling"

    def heartbeat(
        self, request: ConsumerGroupHeartbeatRequest, topics: Topics, client_id: str, host: str
    ) -> ConsumerMember:
        """Process a heartbeat, with which a member may also join or leave. Return the member with its assignment."""
        names, regex = request.subscribed_topic_names, request.subscribed_topic_regex
        if request.member_epoch == JOIN and (
            request.rebalance_timeout_ms <= 0 or request.topic_partitions != [] or not (names or regex)
        ):
            raise Refused(ErrorCode.INVALID_REQUEST)
        if request.server_assignor not in (None, *ASSIGNORS):
            raise Refused(ErrorCode.UNSUPPORTED_ASSIGNOR)
        if regex and not _is_regex(regex):
            raise Refused(ErrorCode.INVALID_REGULAR_EXPRESSION)
        member = self._join(request, client_id, host) if request.member_epoch == JOIN else self._find(request)
        if request.member_epoch in (LEAVE, LEAVE_FOR_NOW):
            return self._leave(member, request.member_epoch, topics)
        self._update(member, request)
        self._touch(member, SESSION)
        self.assign(topics)
        owned = None
        if request.topic_partitions is not None:
            owned = {(one.topic_id, index) for one in request.topic_partitions for index in one.partitions}
        self._reconcile(member, owned)
        return member

    def check_commit(self, member_id: str, epoch: int, instance: str | None) -> None:
        if self._known(member_id).epoch != epoch:
            raise Refused(ErrorCode.STALE_MEMBER_EPOCH)

    def assign(self, topics: Topics) -> None:
        """Compute the target assignment in a new epoch if members, subscriptions or topics have changed."""
        subscribed = {one.id: one.wants(topics) for one in self.members.values()}
        topics = {name: topics[name] for name in sorted(set[str]().union(*subscribed.values()))}
        basis = subscribed, topics, self.assignor
        if basis == self._basis:
            return
        self._basis = basis
        self.epoch += 1
        if self.members:
            self.assigned_epoch = self.epoch
        targets = _ranges(subscribed, topics) if self.assignor == "range" else self._uniform(subscribed, topics)
        for member in self.members.values():
            member.target = targets[member.id]

    def _join(self, request: ConsumerGroupHeartbeatRequest, client_id: str, host: str) -> ConsumerMember:
        former = self._static(request.instance_id)
        if former is not None and former.id != request.member_id:
            if former.epoch != LEAVE_FOR_NOW:
                raise Refused(ErrorCode.UNRELEASED_INSTANCE_ID)
            self._expire(former)
        member = self.members.get(request.member_id)
        if member is None:
            member = ConsumerMember(request.member_id or str(uuid4()), client_id, host, request.instance_id)
            self._add(member)
        if former is not None:
            member.target = former.target
        member.epoch, member.sent = JOIN, None
        member.assigned, member.revoking = set(), set()
        return member

    def _find(self, request: ConsumerGroupHeartbeatRequest) -> ConsumerMember:
        member = self._known(request.member_id)
        if request.member_epoch > 0 and request.member_epoch not in (member.epoch, member.former):
            raise Refused(ErrorCode.FENCED_MEMBER_EPOCH)
        return member

    def _leave(self, member: ConsumerMember, epoch: int, topics: Topics) -> ConsumerMember:
        if epoch == LEAVE:
            self._expire(member)
            self.assign(topics)
        member.epoch = epoch
        return member

    def _update(self, member: ConsumerMember, request: ConsumerGroupHeartbeatRequest) -> None:
        names, regex, rack = request.subscribed_topic_names, request.subscribed_topic_regex, request.rack_id
        member.names = member.names if names is None else names
        member.regex = member.regex if regex is None else regex
        member.rack = member.rack if rack is None else rack
        self.assignor = request.server_assignor or self.assignor
        if request.rebalance_timeout_ms > 0:
            member.rebalance = request.rebalance_timeout_ms / 1000

    def _reconcile(self, member: ConsumerMember, owned: Places | None) -> None:
        """Revoke partitions that are not in the member's target. Once the member has released these partitions,
        assign free partitions from its target.
        """
        member.revoking |= member.assigned - member.target
        member.assigned &= member.target
        if owned is not None:
            member.revoking &= owned
        if member.revoking:
            if member.revoking_timer is None:
                member.revoking_timer = self._clock.later(member.rebalance, lambda: self._expire(member))
            return
        self._clock.cancel(member.revoking_timer)
        member.revoking_timer = None
        if member.epoch != self.epoch:
            member.former, member.epoch = member.epoch, self.epoch
        held = {place for one in self.members.values() if one is not member for place in one.assigned | one.revoking}
        member.assigned |= member.target - held

    def _uniform(self, subscribed: Mapping[str, set[str]], topics: Topics) -> dict[str, Places]:
        """Return a balanced assignment. Members keep their partitions where possible."""
        places = [(name, (number, index)) for name, (number, count) in topics.items() for index in range(count)]
        share, more = divmod(len(places), max(len(self.members), 1))
        owners = {place: one.id for one in reversed(self.members.values()) for place in one.target}
        targets: dict[str, Places] = {name: set() for name in self.members}
        left = []
        for name, place in places:
            owner = owners.get(place)
            if owner and name in subscribed[owner] and len(targets[owner]) < share + (more > 0):
                more -= len(targets[owner]) == share
                targets[owner].add(place)
            else:
                left.append((name, place))
        for name, place in left:
            chosen = min((one for one in self.members if name in subscribed[one]), key=lambda one: len(targets[one]))
            targets[chosen].add(place)
        return targets

    def _expire(self, member: ConsumerMember) -> None:
        self._forget(member)
        self._clock.cancel(member.revoking_timer)


def _ranges(subscribed: Mapping[str, set[str]], topics: Topics) -> dict[str, Places]:
    """Return an assignment in which each member gets contiguous partitions of each topic."""
    targets: dict[str, Places] = {member: set() for member in subscribed}
    for name, (topic_id, count) in topics.items():
        readers = sorted(member for member in subscribed if name in subscribed[member])
        share, more = divmod(count, len(readers))
        for number, reader in enumerate(readers):
            first = number * share + min(number, more)
            targets[reader] |= {(topic_id, index) for index in range(first, first + share + (number < more))}
    return targets


def _is_regex(text: str) -> bool:
    """Return whether a regular expression is valid and simple enough to select topics."""
    plain = re.sub(r"\\.|\[\^?\]?[^]]*\]|\(\?:", "", text)
    repeats = len(re.findall(r"[*+?{]", plain)) + plain.count("|") * ("(" in text)
    try:
        re.compile(text)
    except re.error:
        return False
    return repeats <= MAX_REPEATS
