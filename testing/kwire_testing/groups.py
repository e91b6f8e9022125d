"""Groups: committed offsets, and members that share partitions among themselves, led by one of them."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar
from uuid import uuid4

from kwire_kafka import JoinGroupRequest, JoinGroupResponse, SyncGroupRequest, SyncGroupResponse
from kwire_kafka.api.join_group import JoinGroupResponseMember
from kwire_kafka.errors import ErrorCode
from kwire_testing.clock import Clock, Timer
from kwire_testing.consumers import ConsumerGroup
from kwire_testing.refusal import Refused

EMPTY, PREPARING, COMPLETING, STABLE = "Empty", "PreparingRebalance", "CompletingRebalance", "Stable"


class Committed(NamedTuple):
    """A committed offset."""

    offset: int
    leader_epoch: int = -1
    metadata: str | None = ""


K = TypeVar("K", "ClassicGroup", ConsumerGroup)
Offsets = dict[tuple[str, int], Committed]
"""By topic and partition."""


class Group:
    """A group of any kind: its offsets, and its members while there are some."""

    def __init__(self, name: str, clock: Clock) -> None:
        self.name = name
        self.clock = clock
        self.offsets: Offsets = {}
        self.pending: dict[int, Offsets] = {}
        """Offsets in open transactions, by producer id."""
        self.members: ClassicGroup | ConsumerGroup | None = None

    @property
    def exists(self) -> bool:
        """Return whether it has, or has had, offsets or members."""
        return bool(self.offsets or self.pending or (self.members and self.members.used))

    @property
    def kind(self) -> str:
        """``classic`` or ``consumer``."""
        return self.members.kind if self.members else "classic"

    @property
    def state(self) -> str:
        """Return the state, as Kafka names it."""
        return self.members.state if self.members else EMPTY

    @property
    def protocol_type(self) -> str:
        """Return the type of the members' protocol."""
        return self.members.protocol_type if self.members else ""

    def classic(self) -> ClassicGroup:
        """Return the members of the classic kind.

        Raise ``Refused`` if the group has members of the new kind.
        """
        return self._of_kind(ClassicGroup, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)

    def consumer(self) -> ConsumerGroup:
        """Return the members of the new kind.

        Raise ``Refused`` if the group has members of the classic kind.
        """
        return self._of_kind(ConsumerGroup, ErrorCode.GROUP_ID_NOT_FOUND)

    def _of_kind(self, kind: type[K], error: ErrorCode) -> K:
        if not isinstance(self.members, kind):
            if self.members is not None and self.members.members:
                raise Refused(error)
            self.members = kind(self.clock)
        return self.members

    def check(self, member: str, epoch: int, instance: str | None) -> None:
        """Raise ``Refused`` unless this member may commit. ``epoch`` is its generation or member epoch."""
        if self.members is None or not self.members.members:
            if epoch >= 0:
                raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        else:
            self.members.check_commit(member, epoch, instance)

    def end(self, producer_id: int, *, commit: bool) -> None:
        """Keep or forget the offsets of a transaction."""
        offsets = self.pending.pop(producer_id, {})
        if commit:
            self.offsets |= offsets


@dataclass(slots=True, eq=False)
class Member:
    """A member of a classic group. ``waiting`` is set while a request of it waits for other members."""

    id: str
    instance: str | None
    client_id: str
    host: str
    session: float = 0.0
    rebalance: float = 0.0
    protocols: dict[str, bytes] = field(default_factory=dict)
    assignment: bytes = b""
    waiting: asyncio.Future[None] | None = None
    timer: Timer | None = None

    def wait(self) -> asyncio.Future[None]:
        """Return what ends when the group lets the member go on."""
        self.go_on(ErrorCode.UNKNOWN_MEMBER_ID)
        self.waiting = asyncio.get_running_loop().create_future()
        return self.waiting

    @property
    def waits(self) -> bool:
        """Return whether a request of the member waits."""
        return self.waiting is not None and not self.waiting.done()

    def go_on(self, error: ErrorCode | None = None) -> None:
        """Let the request go on that waits, if there is one, or refuse it."""
        if self.waiting is not None and not self.waiting.done():
            if error is None:
                self.waiting.set_result(None)
            else:
                self.waiting.set_exception(Refused(error))


class ClassicGroup:
    """Members that join. Their leader assigns the partitions."""

    kind = "classic"

    def __init__(self, clock: Clock) -> None:
        self.state = EMPTY
        self.generation = 0
        self.protocol_type = ""
        self.protocol: str | None = None
        self.leader = ""
        self.members: dict[str, Member] = {}
        self._clock = clock
        self._expected: set[str] = set()
        self._timer: Timer | None = None

    @property
    def used(self) -> bool:
        """Return whether anybody has joined."""
        return bool(self.generation or self.members or self._expected)

    async def join(
        self, request: JoinGroupRequest, response: JoinGroupResponse, version: int, client_id: str, host: str
    ) -> None:
        """Add a member, or let it rejoin, and wait until the generation is complete."""
        protocols = {one.name: one.metadata for one in request.protocols}
        self._check_protocols(request, protocols)
        member, replaced = self._static(request), None
        if member is not None and member.id != request.member_id:
            replaced = self._renamed(member)
        elif member is None and not request.member_id:
            name = f"{request.group_instance_id or client_id}-{uuid4()}"
            if version >= 4 and request.group_instance_id is None:
                self._expected.add(name)
                response.member_id = name
                raise Refused(ErrorCode.MEMBER_ID_REQUIRED)
            member = Member(name, request.group_instance_id, client_id, host)
        elif member is None and request.member_id in self._expected:
            self._expected.remove(request.member_id)
            member = Member(request.member_id, None, client_id, host)
        elif member is None:
            member = self._find(request.member_id, None)
        same = member.protocols == protocols and member.id in self.members
        member.session = request.session_timeout_ms / 1000
        member.rebalance = (request.rebalance_timeout_ms if version else request.session_timeout_ms) / 1000
        member.protocols, self.protocol_type = protocols, request.protocol_type
        self.members[member.id] = member
        self._touch(member)
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
            response.leader = replaced  # it must not assign again
        elif leads:
            response.members = [
                JoinGroupResponseMember(
                    member_id=one.id, group_instance_id=one.instance, metadata=one.protocols[self.protocol or ""]
                )
                for one in self.members.values()
            ]

    async def sync(self, request: SyncGroupRequest, response: SyncGroupResponse) -> None:
        """Take the assignments of the leader, or wait for them."""
        member = self.check(request.member_id, request.generation_id, request.group_instance_id)
        for asked, own in ((request.protocol_type, self.protocol_type), (request.protocol_name, self.protocol)):
            if asked is not None and asked != own:
                raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if self.state == PREPARING:
            raise Refused(ErrorCode.REBALANCE_IN_PROGRESS)
        self._touch(member)
        if self.state == COMPLETING and member.id == self.leader:
            given = {one.member_id: one.assignment for one in request.assignments}
            self.state = STABLE
            for one in self.members.values():
                one.assignment = given.get(one.id, b"")
                one.go_on()
        if self.state == COMPLETING:
            await member.wait()
        response.protocol_type, response.protocol_name = self.protocol_type, self.protocol
        response.assignment = member.assignment

    def heartbeat(self, member_id: str, generation: int, instance: str | None) -> None:
        """Note that a member is alive.

        Raise ``Refused`` if it has to join again.
        """
        member = self.check(member_id, generation, instance)
        self._touch(member)
        if self.state == PREPARING:
            raise Refused(ErrorCode.REBALANCE_IN_PROGRESS)

    def leave(self, member_id: str, instance: str | None) -> None:
        """Remove a member, by its id or its instance id."""
        if instance is not None and not member_id:
            member_id = next((one.id for one in self.members.values() if one.instance == instance), "")
        if member_id in self._expected:
            self._expected.remove(member_id)
            return
        self._remove(self._find(member_id, instance))

    def check(self, member_id: str, generation: int, instance: str | None) -> Member:
        """Return the member.

        Raise ``Refused`` if it is unknown, or has missed a generation.
        """
        member = self._find(member_id, instance)
        if generation != self.generation:
            raise Refused(ErrorCode.ILLEGAL_GENERATION)
        return member

    def check_commit(self, member_id: str, generation: int, instance: str | None) -> None:
        """Raise ``Refused`` unless the member may commit."""
        member = self.check(member_id, generation, instance)
        if self.state == COMPLETING:
            raise Refused(ErrorCode.REBALANCE_IN_PROGRESS)
        self._touch(member)

    def _find(self, member_id: str, instance: str | None) -> Member:
        if instance is not None:
            for member in self.members.values():
                if member.instance == instance and member.id != member_id:
                    raise Refused(ErrorCode.FENCED_INSTANCE_ID)
        if member_id not in self.members:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        return self.members[member_id]

    def _check_protocols(self, request: JoinGroupRequest, protocols: dict[str, bytes]) -> None:
        others = [one for one in self.members.values() if one.id != request.member_id]
        common = set(protocols).intersection(*(one.protocols for one in others))
        if not common or (others and request.protocol_type != self.protocol_type):
            raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)

    def _static(self, request: JoinGroupRequest) -> Member | None:
        """Return the member with the instance id of a request."""
        instance = request.group_instance_id
        member = next((one for one in self.members.values() if instance and one.instance == instance), None)
        if member is not None and request.member_id not in ("", member.id):
            raise Refused(ErrorCode.FENCED_INSTANCE_ID)
        return member

    def _renamed(self, member: Member) -> str:
        """Give a static member that comes back a new id, and return the old one."""
        old = member.id
        member.go_on(ErrorCode.FENCED_INSTANCE_ID)
        del self.members[old]
        member.id = f"{member.instance}-{uuid4()}"
        self.members[member.id] = member
        if self.leader == old:
            self.leader = member.id
        return old

    def _prepare(self) -> None:
        """Ask all members to join again."""
        if self.state != PREPARING:
            self.state = PREPARING
            for member in self.members.values():
                member.go_on(ErrorCode.REBALANCE_IN_PROGRESS)
            longest = max((member.rebalance for member in self.members.values()), default=0.0)
            self._timer = self._clock.later(longest, lambda: self._begin(late=True))

    def _begin(self, *, late: bool = False) -> None:
        """Begin the next generation if all members have joined, or time is over."""
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
            self._touch(member)
            member.go_on()

    def _elected(self) -> str:
        """Return the protocol that all members have and most prefer."""
        common = set.intersection(*(set(member.protocols) for member in self.members.values()))
        votes = Counter(next(name for name in member.protocols if name in common) for member in self.members.values())
        return votes.most_common(1)[0][0]

    def _touch(self, member: Member) -> None:
        """Begin the session of a member again."""
        if member.timer is not None:
            member.timer.cancel()
        member.timer = self._clock.later(member.session, lambda: self._expire(member))

    def _expire(self, member: Member) -> None:
        if member.waits:
            self._touch(member)
        else:
            self._remove(member)

    def _remove(self, member: Member) -> None:
        self._forget(member)
        if self.state in (STABLE, COMPLETING):
            self._prepare()
        self._begin()

    def _forget(self, member: Member) -> None:
        self.members.pop(member.id, None)
        if member.timer is not None:
            member.timer.cancel()
        member.go_on(ErrorCode.UNKNOWN_MEMBER_ID)
