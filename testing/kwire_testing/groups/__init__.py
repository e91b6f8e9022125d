"""Groups with committed offsets and members, of the classic type or the consumer type."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

from kwire_kafka.errors import ErrorCode
from kwire_testing.clock import Clock
from kwire_testing.groups.classic import ClassicGroup
from kwire_testing.groups.consumer import ConsumerGroup
from kwire_testing.refusal import Refused


class Committed(NamedTuple):
    """A committed offset."""

    offset: int
    leader_epoch: int = -1
    metadata: str | None = ""


Offsets = dict[tuple[str, int], Committed]
"""Committed offsets by topic and partition."""


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

    def of_kind(self, kind: type[K]) -> K:
        """Return the group's members of this type. Raise ``Refused`` if the group has members of the other type."""
        if not isinstance(self.members, kind):
            if self.members.members:
                raise Refused(kind.other_kind)
            self.members = kind(self._clock)
        return self.members

    def check(self, member: str, epoch: int, instance: str | None) -> None:
        """Raise ``Refused`` unless this member may commit. ``epoch`` is the member's generation or member epoch."""
        if self.members.members:
            self.members.check_commit(member, epoch, instance)
        elif epoch >= 0:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)

    def end(self, producer_id: int, *, commit: bool) -> None:
        """Commit or discard the offsets of a transaction."""
        offsets = self.pending.pop(producer_id, {})
        if commit:
            self.offsets |= offsets


__all__ = ["ClassicGroup", "Committed", "ConsumerGroup", "Group", "Offsets"]
