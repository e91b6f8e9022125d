"""Producer ids, and the transactions of producers with a transactional id."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from kwire_kafka.errors import ErrorCode
from kwire_testing.clock import Clock, Timer
from kwire_testing.groups import Group
from kwire_testing.refusal import Refused, make_room

if TYPE_CHECKING:
    from kwire_testing.cluster import Partition

MAX_NAMES = 10_000
"""Maximum number of transactional ids in a cluster. A new id replaces the oldest id without an open transaction."""


@dataclass(slots=True, eq=False)
class Producer:
    """A producer with a transactional id, and its open transaction, if any."""

    id: int
    epoch: int = -1
    former: int = -1
    """Epoch that the producer had when it requested its current epoch."""
    timeout: float = 60.0
    open: bool = False
    partitions: set[Partition] = field(default_factory=set)
    groups: set[Group] = field(default_factory=set)
    committed: bool | None = None
    """Whether the last transaction was committed, or ``None`` before the first transaction."""
    timer: Timer | None = None


class Producers:
    """The producers of a cluster."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ids = count(1000)
        self._known: dict[str, Producer] = {}

    def begin(self, name: str | None, timeout: float, producer_id: int, epoch: int) -> Producer:
        """Return a producer with a new epoch. Abort the producer's open transaction, if any."""
        if name is None:
            return Producer(next(self._ids), 0)
        producer = self._known.get(name)
        if producer is None:
            make_room(self._known, MAX_NAMES, lambda one: not self._known[one].open)
            producer = self._known[name] = Producer(next(self._ids))
        elif producer_id >= 0 and (producer_id, epoch) != (producer.id, producer.epoch):
            if (producer_id, epoch) == (producer.id, producer.former):
                return producer  # a repeated request
            raise Refused(ErrorCode.PRODUCER_FENCED)
        if producer.open:
            self.fence(producer)
        producer.former = epoch
        producer.epoch += 1
        producer.timeout, producer.committed = timeout, None
        return producer

    def find(self, name: str, producer_id: int, epoch: int) -> Producer:
        """Return the producer with this transactional id. Raise ``Refused`` if a newer producer has replaced the
        producer.
        """
        producer = self._known.get(name)
        if producer is None or producer.id != producer_id:
            raise Refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        if epoch != producer.epoch:
            raise Refused(ErrorCode.PRODUCER_FENCED)
        return producer

    def open(self, producer: Producer, *partitions: Partition) -> None:
        """Add partitions to the transaction, which begins unless it is already open."""
        producer.partitions.update(partitions)
        if not producer.open:
            producer.open = True
            producer.timer = self._clock.later(producer.timeout, lambda: self.fence(producer))

    def end(self, name: str, producer_id: int, epoch: int, *, commit: bool, bump: bool) -> Producer:
        """End the transaction. With ``bump``, also start a new epoch [KIP-890]. A repeated request
        changes nothing.
        """
        known = self._known.get(name)
        repeated = known is not None and not known.open and known.committed is commit
        if known is not None and repeated and bump and (producer_id, epoch + 1) == (known.id, known.epoch):
            return known
        producer = self.find(name, producer_id, epoch)
        if not producer.open:
            if repeated and not bump:
                return producer
            if commit or not bump:
                raise Refused(ErrorCode.INVALID_TXN_STATE)
        if bump:
            producer.epoch += 1
        self._finish(producer, commit=commit)
        return producer

    def fence(self, producer: Producer) -> None:
        """Abort the transaction, and start a new epoch that fences the producer."""
        producer.epoch += 1
        self._finish(producer, commit=False)

    def _finish(self, producer: Producer, *, commit: bool) -> None:
        self._clock.cancel(producer.timer)
        for partition in sorted(producer.partitions, key=lambda one: (one.topic.name, one.index)):
            time, leader_epoch = self._clock.ms, partition.epoch
            partition.log.mark(producer.id, producer.epoch, commit=commit, time=time, leader_epoch=leader_epoch)
        for group in producer.groups:
            group.end(producer.id, commit=commit)
        producer.partitions.clear()
        producer.groups.clear()
        producer.open, producer.committed = False, commit
