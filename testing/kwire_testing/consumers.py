"""Consumer groups: the broker assigns partitions, and members take them over one after another [KIP-848]."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from uuid import uuid4

from kwire import Uuid
from kwire_kafka import ConsumerGroupHeartbeatRequest
from kwire_kafka.errors import ErrorCode
from kwire_testing.clock import Clock, Timer
from kwire_testing.refusal import Refused

SESSION, HEARTBEAT = 45.0, 0.1
"""Seconds. Kafka's default for heartbeats is 5: tests would wait for them."""
JOIN, LEAVE, LEAVE_FOR_NOW = 0, -1, -2
ASSIGNORS = ("uniform", "range")

Places = set[tuple[Uuid, int]]
"""Topic ids with numbers of partitions."""
Topics = Mapping[str, tuple[Uuid, int]]
"""Id and number of partitions of each topic, by name."""


@dataclass(slots=True, eq=False)
class ConsumerMember:
    """A member, which may read the partitions ``assigned`` and has yet to give up those ``revoking``."""

    id: str
    client_id: str
    host: str
    instance: str | None = None
    rack: str | None = None
    names: list[str] = field(default_factory=list)
    regex: str | None = None
    rebalance: float = 300.0
    epoch: int = JOIN
    former: int = JOIN
    assigned: Places = field(default_factory=set)
    revoking: Places = field(default_factory=set)
    target: Places = field(default_factory=set)
    told: Places | None = None
    session_timer: Timer | None = None
    revoking_timer: Timer | None = None

    def wants(self, topics: Topics) -> set[str]:
        """Return the names of the topics that it subscribes to."""
        found = {name for name in self.names if name in topics}
        return found | {name for name in topics if self.regex and re.fullmatch(self.regex, name)}


class ConsumerGroup:
    """Members with an assignment as it shall be, towards which each heartbeat goes a step."""

    kind = protocol_type = "consumer"

    def __init__(self, clock: Clock) -> None:
        self.epoch = self.assigned_epoch = 0
        self.assignor = ASSIGNORS[0]
        self.members: dict[str, ConsumerMember] = {}
        self._clock = clock
        self._basis: object = None

    @property
    def used(self) -> bool:
        """Return whether anybody has joined."""
        return self.epoch > 0

    @property
    def state(self) -> str:
        """Return the state, as Kafka names it."""
        if not self.members:
            return "Empty"
        settled = all(one.epoch == self.epoch and one.assigned == one.target for one in self.members.values())
        return "Stable" if settled else "Reconciling"

    def heartbeat(
        self, request: ConsumerGroupHeartbeatRequest, topics: Topics, client_id: str, host: str
    ) -> ConsumerMember:
        """Let a member join, stay or leave, and return it with its assignment."""
        names, regex = request.subscribed_topic_names, request.subscribed_topic_regex
        if request.member_epoch == JOIN and (
            request.rebalance_timeout_ms <= 0 or request.topic_partitions != [] or not (names or regex)
        ):
            raise Refused(ErrorCode.INVALID_REQUEST)
        if request.server_assignor not in (None, *ASSIGNORS):
            raise Refused(ErrorCode.UNSUPPORTED_ASSIGNOR)
        if regex and not _is_regex(regex):
            raise Refused(ErrorCode.INVALID_REGULAR_EXPRESSION)
        if request.member_epoch == JOIN:
            member = self._join(request, client_id, host)
        else:
            member = self._find(request)
        if request.member_epoch in (LEAVE, LEAVE_FOR_NOW):
            return self._leave(member, request.member_epoch, topics)
        self._update(member, request)
        self._touch(member)
        self.assign(topics)
        owned = None
        if request.topic_partitions is not None:
            owned = {(one.topic_id, index) for one in request.topic_partitions for index in one.partitions}
        self._reconcile(member, owned)
        return member

    def check_commit(self, member_id: str, epoch: int, instance: str | None) -> None:
        """Raise ``Refused`` unless the member has this epoch."""
        if member_id not in self.members:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        if self.members[member_id].epoch != epoch:
            raise Refused(ErrorCode.STALE_MEMBER_EPOCH)

    def assign(self, topics: Topics) -> None:
        """Decide who shall read what, in a new epoch if members, subscriptions or topics have changed."""
        wanted = {one.id: one.wants(topics) for one in self.members.values()}
        names = sorted({name for chosen in wanted.values() for name in chosen})
        basis = (wanted, {name: topics[name] for name in names}, self.assignor)
        if basis == self._basis:
            return
        self._basis = basis
        self.epoch += 1
        if self.members:
            self.assigned_epoch = self.epoch
        targets = _ranges(wanted, topics) if self.assignor == "range" else self._uniform(wanted, topics)
        for member in self.members.values():
            member.target = targets[member.id]

    def _join(self, request: ConsumerGroupHeartbeatRequest, client_id: str, host: str) -> ConsumerMember:
        instance = request.instance_id
        former = next((one for one in self.members.values() if instance and one.instance == instance), None)
        if former is not None and former.id != request.member_id:
            if former.epoch != LEAVE_FOR_NOW:
                raise Refused(ErrorCode.UNRELEASED_INSTANCE_ID)
            self._remove(former)
        member = self.members.get(request.member_id)
        if member is None:
            member = ConsumerMember(request.member_id or str(uuid4()), client_id, host, instance)
            self.members[member.id] = member
        if former is not None:
            member.target = former.target
        member.epoch, member.told = JOIN, None
        member.assigned, member.revoking = set(), set()
        return member

    def _find(self, request: ConsumerGroupHeartbeatRequest) -> ConsumerMember:
        member = self.members.get(request.member_id)
        if member is None:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        if request.member_epoch > 0 and request.member_epoch not in (member.epoch, member.former):
            raise Refused(ErrorCode.FENCED_MEMBER_EPOCH)
        return member

    def _leave(self, member: ConsumerMember, epoch: int, topics: Topics) -> ConsumerMember:
        if epoch == LEAVE:
            self._remove(member)
            self.assign(topics)
        member.epoch = epoch
        return member

    def _update(self, member: ConsumerMember, request: ConsumerGroupHeartbeatRequest) -> None:
        if request.subscribed_topic_names is not None:
            member.names = request.subscribed_topic_names
        if request.subscribed_topic_regex is not None:
            member.regex = request.subscribed_topic_regex
        if request.rebalance_timeout_ms > 0:
            member.rebalance = request.rebalance_timeout_ms / 1000
        if request.rack_id is not None:
            member.rack = request.rack_id
        if request.server_assignor is not None:
            self.assignor = request.server_assignor

    def _reconcile(self, member: ConsumerMember, owned: Places | None) -> None:
        """Revoke partitions that other members shall have. After the member released them, assign it free ones."""
        member.revoking |= member.assigned - member.target
        member.assigned &= member.target
        if owned is not None:
            member.revoking &= owned
        if member.revoking:
            if member.revoking_timer is None:
                member.revoking_timer = self._clock.later(member.rebalance, lambda: self._remove(member))
            return
        if member.revoking_timer is not None:
            member.revoking_timer.cancel()
            member.revoking_timer = None
        if member.epoch != self.epoch:
            member.former, member.epoch = member.epoch, self.epoch
        held = {place for one in self.members.values() if one is not member for place in one.assigned | one.revoking}
        member.assigned |= member.target - held

    def _uniform(self, wanted: Mapping[str, set[str]], topics: Topics) -> dict[str, Places]:
        """Return equal numbers of partitions; members keep what they have."""
        places = list(_places(wanted, topics))
        share, more = divmod(len(places), max(len(self.members), 1))
        targets: dict[str, Places] = {name: set() for name in self.members}
        left = []
        for name, place in places:
            owner = next(
                (one for one in self.members.values() if place in one.target and name in wanted[one.id]), None
            )
            if owner is not None and len(targets[owner.id]) < share + (more > 0):
                more -= len(targets[owner.id]) == share
                targets[owner.id].add(place)
            else:
                left.append((name, place))
        for name, place in left:
            chosen = min(
                (member for member in self.members if name in wanted[member]), key=lambda one: len(targets[one])
            )
            targets[chosen].add(place)
        return targets

    def _touch(self, member: ConsumerMember) -> None:
        if member.session_timer is not None:
            member.session_timer.cancel()
        member.session_timer = self._clock.later(SESSION, lambda: self._remove(member))

    def _remove(self, member: ConsumerMember) -> None:
        self.members.pop(member.id, None)
        for timer in (member.session_timer, member.revoking_timer):
            if timer is not None:
                timer.cancel()


def _places(wanted: Mapping[str, set[str]], topics: Topics) -> Iterable[tuple[str, tuple[Uuid, int]]]:
    for name in sorted({name for names in wanted.values() for name in names}):
        topic_id, partitions = topics[name]
        for index in range(partitions):
            yield name, (topic_id, index)


def _ranges(wanted: Mapping[str, set[str]], topics: Topics) -> dict[str, Places]:
    """Return neighbouring partitions of each topic."""
    targets: dict[str, Places] = defaultdict(set)
    for name, (topic_id, index) in _places(wanted, topics):
        readers = sorted(member for member in wanted if name in wanted[member])
        share, more = divmod(topics[name][1], len(readers))
        longer = more * (share + 1)
        number = index // (share + 1) if index < longer else more + (index - longer) // share
        targets[readers[number]].add((topic_id, index))
    return targets


def _is_regex(text: str) -> bool:
    try:
        re.compile(text)
    except re.error:
        return False
    return True
