"""Groups with committed offsets and members, of the classic type or the new consumer type [KIP-848]."""

from __future__ import annotations

import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Generic, NamedTuple, TypeVar
from uuid import uuid4

from kwire import Uuid
from kwire_kafka import ConsumerGroupHeartbeatRequest, JoinGroupRequest, JoinGroupResponse, SyncGroupRequest
from kwire_kafka.api.join_group import JoinGroupResponseMember
from kwire_kafka.errors import ErrorCode
from kwire_testing.clock import Clock, Timer
from kwire_testing.refusal import Refused, make_room

EMPTY, PREPARING, COMPLETING, STABLE = "Empty", "PreparingRebalance", "CompletingRebalance", "Stable"
SESSION, HEARTBEAT = 45.0, 0.1
"""Session timeout and heartbeat interval of consumer-type members in seconds. Kafka's default interval of 5 would
slow down tests."""
JOIN, LEAVE, LEAVE_FOR_NOW = 0, -1, -2
ASSIGNORS = ("uniform", "range")
MAX_MEMBERS = 1000
"""Maximum number of members of a group, and of member ids that have not joined yet."""
MAX_REPEATS = 3
"""Maximum number of repetitions and inner alternatives in a regular expression. With more, matching in Python could
take hours."""

Places = set[tuple[Uuid, int]]
"""Partitions, each given by a topic id and an index."""
Topics = Mapping[str, tuple[Uuid, int]]
"""Id and number of partitions of each topic, by name."""


class Committed(NamedTuple):
    """A committed offset."""

    offset: int
    leader_epoch: int = -1
    metadata: str | None = ""


Offsets = dict[tuple[str, int], Committed]
"""Committed offsets by topic and partition."""


@dataclass(slots=True, eq=False)
class Member:
    """A group member of either type. ``timer`` ends its session."""

    id: str
    client_id: str
    host: str
    instance: str | None = None
    rebalance: float = 300.0
    timer: Timer | None = None


@dataclass(slots=True, eq=False)
class ClassicMember(Member):
    """A member of a classic group. ``waiting`` is set while one of its requests waits for other members."""

    session: float = 0.0
    protocols: dict[str, bytes] = field(default_factory=dict)
    assignment: bytes = b""
    waiting: asyncio.Future[None] | None = None

    def wait(self) -> asyncio.Future[None]:
        """Return a future that is done when the group lets the member continue."""
        self.go_on(ErrorCode.UNKNOWN_MEMBER_ID)
        self.waiting = asyncio.get_running_loop().create_future()
        return self.waiting

    @property
    def waits(self) -> bool:
        """Whether a request of the member is waiting."""
        return self.waiting is not None and not self.waiting.done()

    def go_on(self, error: ErrorCode | None = None) -> None:
        """Let a waiting request continue, or refuse it with ``error``. Do nothing if no request is waiting."""
        if self.waiting is not None and not self.waiting.done():
            if error is None:
                self.waiting.set_result(None)
            else:
                self.waiting.set_exception(Refused(error))


@dataclass(slots=True, eq=False)
class ConsumerMember(Member):
    """A member of the consumer type. It may read the partitions ``assigned``, and must release the
    partitions ``revoking``."""

    rack: str | None = None
    names: list[str] = field(default_factory=list)
    regex: str | None = None
    epoch: int = JOIN
    former: int = JOIN
    assigned: Places = field(default_factory=set)
    revoking: Places = field(default_factory=set)
    target: Places = field(default_factory=set)
    told: Places | None = None
    revoking_timer: Timer | None = None

    def wants(self, topics: Topics) -> set[str]:
        """Return the names of the topics to which the member is subscribed."""
        found = {name for name in self.names if name in topics}
        return found | {name for name in topics if self.regex and re.fullmatch(self.regex, name)}


M = TypeVar("M", bound=Member)


class Members(Generic[M]):
    """The members of a group and their sessions."""

    kind: ClassVar[str]
    state: str
    protocol_type: str

    def __init__(self, clock: Clock) -> None:
        self.members: dict[str, M] = {}
        self._clock = clock

    @property
    def used(self) -> bool:
        """Whether any member has ever joined."""
        raise NotImplementedError

    def check_commit(self, member_id: str, epoch: int, instance: str | None) -> None:
        """Raise ``Refused`` unless the member has this generation or epoch and may commit."""
        raise NotImplementedError

    def _expire(self, member: M) -> None:
        raise NotImplementedError

    def _add(self, member: M) -> None:
        if member.id not in self.members and len(self.members) >= MAX_MEMBERS:
            raise Refused(ErrorCode.GROUP_MAX_SIZE_REACHED)
        self.members[member.id] = member

    def _known(self, member_id: str) -> M:
        if member_id not in self.members:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        return self.members[member_id]

    def _static(self, instance: str | None) -> M | None:
        """Return the member with this instance id, or ``None`` if there is no such member."""
        return next((one for one in self.members.values() if instance and one.instance == instance), None)

    def _touch(self, member: M, seconds: float) -> None:
        """Restart a member's session."""
        if member.timer is not None:
            member.timer.cancel()
        member.timer = self._clock.later(seconds, lambda: self._expire(member))

    def _forget(self, member: M) -> None:
        self.members.pop(member.id, None)
        if member.timer is not None:
            member.timer.cancel()


class ClassicGroup(Members[ClassicMember]):
    """Classic group, whose leader assigns the partitions."""

    kind = "classic"

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.state = EMPTY
        self.generation = 0
        self.protocol_type = ""
        self.protocol: str | None = None
        self.leader = ""
        self._expected: dict[str, None] = {}
        """Member ids that were handed out but have not joined yet."""
        self._timer: Timer | None = None

    @property
    def used(self) -> bool:
        return bool(self.generation or self.members or self._expected)

    async def join(
        self, request: JoinGroupRequest, response: JoinGroupResponse, version: int, client_id: str, host: str
    ) -> None:
        """Add a member or let it rejoin. Wait until the generation is complete."""
        protocols = {one.name: one.metadata for one in request.protocols}
        self._check_protocols(request, protocols)
        member, replaced = self._static(request.group_instance_id), None
        if member is not None and request.member_id not in ("", member.id):
            raise Refused(ErrorCode.FENCED_INSTANCE_ID)
        if member is not None and member.id != request.member_id:
            replaced = self._renamed(member)
        elif member is None and not request.member_id:
            name = f"{request.group_instance_id or client_id}-{uuid4()}"
            if version >= 4 and request.group_instance_id is None:
                make_room(self._expected, MAX_MEMBERS, lambda _: True)
                self._expected[name] = None
                response.member_id = name
                raise Refused(ErrorCode.MEMBER_ID_REQUIRED)
            member = ClassicMember(name, client_id, host, request.group_instance_id)
        elif member is None and request.member_id in self._expected:
            del self._expected[request.member_id]
            member = ClassicMember(request.member_id, client_id, host)
        elif member is None:
            member = self._find(request.member_id, None)
        same = member.protocols == protocols and member.id in self.members
        self._add(member)
        member.session = request.session_timeout_ms / 1000
        member.rebalance = (request.rebalance_timeout_ms if version else request.session_timeout_ms) / 1000
        member.protocols, self.protocol_type = protocols, request.protocol_type
        self._touch(member, member.session)
        settled = self.state == COMPLETING or (self.state == STABLE and (replaced or member.id != self.leader))
        if not (same and settled):
            self._prepare()
            waiting, replaced = member.wait(), None
            self._begin()
            await waiting
        leads = member.id == self.leader
        response.skip_assignment = replaced is not None and leads and version >= 9
        response.generation_id, response.member_id = self.generation, member.id
        response.protocol_type, response.protocol_name = self.protocol_type, self.protocol
        response.leader = self.leader
        if replaced is not None and leads and not response.skip_assignment:
            response.leader = replaced  # the leader must not assign again
        elif leads:
            response.members = [
                JoinGroupResponseMember(
                    member_id=one.id, group_instance_id=one.instance, metadata=one.protocols[self.protocol or ""]
                )
                for one in self.members.values()
            ]

    async def sync(self, request: SyncGroupRequest) -> bytes:
        """Store the leader's assignments, or wait for them. Return the member's own assignment."""
        member = self.check(request.member_id, request.generation_id, request.group_instance_id)
        for asked, own in ((request.protocol_type, self.protocol_type), (request.protocol_name, self.protocol)):
            if asked is not None and asked != own:
                raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if self.state == PREPARING:
            raise Refused(ErrorCode.REBALANCE_IN_PROGRESS)
        self._touch(member, member.session)
        if self.state == COMPLETING and member.id == self.leader:
            given = {one.member_id: one.assignment for one in request.assignments}
            self.state = STABLE
            for one in self.members.values():
                one.assignment = given.get(one.id, b"")
                one.go_on()
        if self.state == COMPLETING:
            await member.wait()
        return member.assignment

    def heartbeat(self, member_id: str, generation: int, instance: str | None) -> None:
        """Extend a member's session. Raise ``Refused`` if it must rejoin."""
        member = self.check(member_id, generation, instance)
        self._touch(member, member.session)
        if self.state == PREPARING:
            raise Refused(ErrorCode.REBALANCE_IN_PROGRESS)

    def leave(self, member_id: str, instance: str | None) -> None:
        """Remove a member by its id or instance id."""
        static = None if member_id else self._static(instance)
        if member_id in self._expected:
            del self._expected[member_id]
        else:
            self._remove(static or self._find(member_id, instance))

    def check(self, member_id: str, generation: int, instance: str | None) -> ClassicMember:
        """Return the member. Raise ``Refused`` if it is unknown or belongs to another generation."""
        member = self._find(member_id, instance)
        if generation != self.generation:
            raise Refused(ErrorCode.ILLEGAL_GENERATION)
        return member

    def check_commit(self, member_id: str, epoch: int, instance: str | None) -> None:
        member = self.check(member_id, epoch, instance)
        if self.state == COMPLETING:
            raise Refused(ErrorCode.REBALANCE_IN_PROGRESS)
        self._touch(member, member.session)

    def _find(self, member_id: str, instance: str | None) -> ClassicMember:
        static = self._static(instance)
        if static is not None and static.id != member_id:
            raise Refused(ErrorCode.FENCED_INSTANCE_ID)
        return self._known(member_id)

    def _check_protocols(self, request: JoinGroupRequest, protocols: dict[str, bytes]) -> None:
        others = [one for one in self.members.values() if one.id != request.member_id]
        common = set(protocols).intersection(*(one.protocols for one in others))
        if not common or (others and request.protocol_type != self.protocol_type):
            raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)

    def _renamed(self, member: ClassicMember) -> str:
        """Give a returning static member a new id. Return the old one."""
        old = member.id
        member.go_on(ErrorCode.FENCED_INSTANCE_ID)
        del self.members[old]
        member.id = f"{member.instance}-{uuid4()}"
        self.members[member.id] = member
        if self.leader == old:
            self.leader = member.id
        return old

    def _prepare(self) -> None:
        """Require all members to rejoin."""
        if self.state != PREPARING:
            self.state = PREPARING
            for member in self.members.values():
                member.go_on(ErrorCode.REBALANCE_IN_PROGRESS)
            longest = max((member.rebalance for member in self.members.values()), default=0.0)
            self._timer = self._clock.later(longest, lambda: self._begin(late=True))

    def _begin(self, *, late: bool = False) -> None:
        """Begin the next generation if all members have joined or the time is over."""
        missing = [one for one in self.members.values() if not one.waits]
        if missing and not late:
            return
        for member in missing:
            self._forget(member)
        if self._timer is not None:
            self._timer.cancel()
        self.generation += 1
        if not self.members:
            self.state, self.protocol, self.leader = EMPTY, None, ""
            return
        self.state = COMPLETING
        self.protocol = self._elected()
        if self.leader not in self.members:
            self.leader = next(iter(self.members))
        for member in self.members.values():
            self._touch(member, member.session)
            member.go_on()

    def _elected(self) -> str:
        """Return the protocol that most members prefer among those that all support."""
        common = set.intersection(*(set(member.protocols) for member in self.members.values()))
        votes = Counter(next(name for name in member.protocols if name in common) for member in self.members.values())
        return votes.most_common(1)[0][0]

    def _expire(self, member: ClassicMember) -> None:
        if member.waits:
            self._touch(member, member.session)
        else:
            self._remove(member)

    def _remove(self, member: ClassicMember) -> None:
        self._forget(member)
        if self.state in (STABLE, COMPLETING):
            self._prepare()
        self._begin()

    def _forget(self, member: ClassicMember) -> None:
        super()._forget(member)
        member.go_on(ErrorCode.UNKNOWN_MEMBER_ID)


class ConsumerGroup(Members[ConsumerMember]):
    """Group of the consumer type with a target assignment. Each heartbeat moves a member one step towards it."""

    kind = protocol_type = "consumer"

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.epoch = self.assigned_epoch = 0
        self.assignor = ASSIGNORS[0]
        self._basis: object = None

    @property
    def used(self) -> bool:
        return self.epoch > 0

    @property
    def state(self) -> str:  # type: ignore[override]
        """State of the group, with Kafka's name."""
        if not self.members:
            return EMPTY
        settled = all(one.epoch == self.epoch and one.assigned == one.target for one in self.members.values())
        return STABLE if settled else "Reconciling"

    def heartbeat(
        self, request: ConsumerGroupHeartbeatRequest, topics: Topics, client_id: str, host: str
    ) -> ConsumerMember:
        """Process a member's heartbeat, with which it may also join or leave. Return the member with its
        assignment."""
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
        member.epoch, member.told = JOIN, None
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
        """Revoke partitions that are not in the member's target. Once it has released them, assign it free partitions
        from its target."""
        member.revoking |= member.assigned - member.target
        member.assigned &= member.target
        if owned is not None:
            member.revoking &= owned
        if member.revoking:
            if member.revoking_timer is None:
                member.revoking_timer = self._clock.later(member.rebalance, lambda: self._expire(member))
            return
        if member.revoking_timer is not None:
            member.revoking_timer.cancel()
            member.revoking_timer = None
        if member.epoch != self.epoch:
            member.former, member.epoch = member.epoch, self.epoch
        held = {place for one in self.members.values() if one is not member for place in one.assigned | one.revoking}
        member.assigned |= member.target - held

    def _uniform(self, wanted: Mapping[str, set[str]], topics: Topics) -> dict[str, Places]:
        """Return an assignment with equal numbers of partitions. Members keep their partitions where possible."""
        places = list(_places(wanted, topics))
        share, more = divmod(len(places), max(len(self.members), 1))
        owners = {place: one.id for one in reversed(self.members.values()) for place in one.target}
        targets: dict[str, Places] = {name: set() for name in self.members}
        left = []
        for name, place in places:
            owner = owners.get(place)
            if owner and name in wanted[owner] and len(targets[owner]) < share + (more > 0):
                more -= len(targets[owner]) == share
                targets[owner].add(place)
            else:
                left.append((name, place))
        for name, place in left:
            chosen = min((one for one in self.members if name in wanted[one]), key=lambda one: len(targets[one]))
            targets[chosen].add(place)
        return targets

    def _expire(self, member: ConsumerMember) -> None:
        self._forget(member)
        if member.revoking_timer is not None:
            member.revoking_timer.cancel()


K = TypeVar("K", ClassicGroup, ConsumerGroup)


class Group:
    """A group of any type, with its offsets and its current members."""

    def __init__(self, clock: Clock) -> None:
        self.offsets: Offsets = {}
        self.pending: dict[int, Offsets] = {}
        """Offsets in open transactions, by producer id."""
        self.members: ClassicGroup | ConsumerGroup = ClassicGroup(clock)
        self._clock = clock

    @property
    def exists(self) -> bool:
        """Whether the group has, or ever had, offsets or members."""
        return bool(self.offsets or self.pending or self.members.used)

    @property
    def idle(self) -> bool:
        """Whether the group has neither members nor open transactions."""
        return not (self.members.members or self.pending)

    def classic(self) -> ClassicGroup:
        """Return the group as a classic group. Raise ``Refused`` if it has members of the consumer type."""
        return self._of_kind(ClassicGroup, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)

    def consumer(self) -> ConsumerGroup:
        """Return the group as a consumer-type group. Raise ``Refused`` if it has classic members."""
        return self._of_kind(ConsumerGroup, ErrorCode.GROUP_ID_NOT_FOUND)

    def _of_kind(self, kind: type[K], error: ErrorCode) -> K:
        if not isinstance(self.members, kind):
            if self.members.members:
                raise Refused(error)
            self.members = kind(self._clock)
        return self.members

    def check(self, member: str, epoch: int, instance: str | None) -> None:
        """Raise ``Refused`` unless this member may commit. ``epoch`` is its generation or member epoch."""
        if self.members.members:
            self.members.check_commit(member, epoch, instance)
        elif epoch >= 0:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)

    def end(self, producer_id: int, *, commit: bool) -> None:
        """Commit or discard the offsets of a transaction."""
        offsets = self.pending.pop(producer_id, {})
        if commit:
            self.offsets |= offsets


def _places(wanted: Mapping[str, set[str]], topics: Topics) -> Iterable[tuple[str, tuple[Uuid, int]]]:
    for name in sorted({name for names in wanted.values() for name in names}):
        topic_id, partitions = topics[name]
        for index in range(partitions):
            yield name, (topic_id, index)


def _ranges(wanted: Mapping[str, set[str]], topics: Topics) -> dict[str, Places]:
    """Return an assignment in which each member gets contiguous partitions of each topic."""
    targets: dict[str, Places] = defaultdict(set)
    for name, (topic_id, index) in _places(wanted, topics):
        readers = sorted(member for member in wanted if name in wanted[member])
        share, more = divmod(topics[name][1], len(readers))
        longer = more * (share + 1)
        number = index // (share + 1) if index < longer else more + (index - longer) // share
        targets[readers[number]].add((topic_id, index))
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
