"""Members of a group and their sessions, for both group types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from kwire_kafka.errors import ErrorCode
from kwire_testing.clock import Clock, Timer
from kwire_testing.refusal import Refused

EMPTY, STABLE = "Empty", "Stable"
MAX_MEMBERS = 1000
"""Maximum number of members in a group, and maximum number of issued member ids that have not joined yet."""


@dataclass(slots=True, eq=False)
class Member:
    """A group member of either type. ``timer`` ends the member's session."""

    id: str
    client_id: str
    host: str
    instance: str | None = None
    rebalance: float = 300.0
    timer: Timer | None = None


M = TypeVar("M", bound=Member)


class Members(Generic[M]):
    """The members of a group and their sessions."""

    kind: ClassVar[str]
    other_kind: ClassVar[ErrorCode]
    """Error for requests about a group with members of the other type."""

    def __init__(self, clock: Clock) -> None:
        self.members: dict[str, M] = {}
        self.used = False
        """Whether a member has ever joined or received an id."""
        self._clock = clock

    def _expire(self, member: M) -> None:
        raise NotImplementedError

    def _add(self, member: M) -> None:
        if member.id not in self.members and len(self.members) >= MAX_MEMBERS:
            raise Refused(ErrorCode.GROUP_MAX_SIZE_REACHED)
        self.members[member.id], self.used = member, True

    def _known(self, member_id: str) -> M:
        if member_id not in self.members:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        return self.members[member_id]

    def _static(self, instance: str | None) -> M | None:
        """Return the member with this instance id, or ``None`` if there is no such member."""
        return next((one for one in self.members.values() if instance and one.instance == instance), None)

    def _touch(self, member: M, seconds: float) -> None:
        """Restart a member's session."""
        member.timer = self._clock.later(seconds, lambda: self._expire(member), member.timer)

    def _forget(self, member: M) -> None:
        self.members.pop(member.id, None)
        self._clock.cancel(member.timer)
