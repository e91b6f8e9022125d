"""Groups of the classic type, whose leader assigns the partitions."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from uuid import uuid4

from kwire_kafka import JoinGroupRequest, JoinGroupResponse, SyncGroupRequest
from kwire_kafka.api.join_group import JoinGroupResponseMember
from kwire_kafka.errors import ErrorCode
from kwire_testing.clock import Clock, Timer
from kwire_testing.groups import members
from kwire_testing.groups.members import EMPTY, STABLE, Member, Members
from kwire_testing.refusal import Refused, make_room

PREPARING, COMPLETING = "PreparingRebalance", "CompletingRebalance"


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
        if self.waiting is None or self.waiting.done():
            return
        if error is None:
            self.waiting.set_result(None)
        else:
            self.waiting.set_exception(Refused(error))


class ClassicGroup(Members[ClassicMember]):
    """A classic group, whose leader assigns the partitions."""

    kind, other_kind = "classic", ErrorCode.INCONSISTENT_GROUP_PROTOCOL

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.state = EMPTY
        self.generation = 0
        self.protocol_type = ""
        self.protocol: str | None = None
        self.leader = ""
        self._expected: dict[str, None] = {}
        """Member ids that were issued to clients that have not joined yet."""
        self._timer: Timer | None = None

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
                make_room(self._expected, members.MAX_MEMBERS, lambda _: True)
                self._expected[name], self.used = None, True
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
            if member.id not in self.members:  # it left before this task went on
                raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
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
        """Extend a member's session. Raise ``Refused`` if the member must rejoin."""
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
        """Return the member. Raise ``Refused`` if the member is unknown or belongs to another generation."""
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
        """Give a returning static member a new id, and return the old id."""
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
        """Begin the next generation if all members have joined or the time is up."""
        missing = [one for one in self.members.values() if not one.waits]
        if missing and not late:
            return
        for member in missing:
            self._forget(member)
        self._clock.cancel(self._timer)
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
        """Return the protocol that most members prefer among the protocols that all members support."""
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
