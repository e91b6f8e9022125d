"""Computing committed offsets from the records in a partition of ``__consumer_offsets``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from kwire.logs.directory import internal_records
from kwire.policy import STRICT, Policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from kwire.errors import DecodeError
    from kwire.logs.directory import LoggedRecord
    from kwire.logs.internal import InternalRecord
    from kwire.protocol import MessageRegistry

    PartitionKey = tuple[str, str, int]


class _Row(Protocol):
    """A ``LoggedRecord``, or any object with these attributes."""

    @property
    def offset(self) -> int: ...
    @property
    def producer_id(self) -> int: ...
    @property
    def transactional(self) -> bool: ...
    @property
    def record(self) -> InternalRecord: ...


Row = TypeVar("Row", bound=_Row)


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """The offset that a group committed for a partition.

    ``timestamp`` is the commit time in milliseconds since the epoch. ``leader_epoch`` is -1 and ``metadata`` is empty
    if the consumer did not send them. ``record_offset`` is the offset of the record in ``__consumer_offsets``.
    """

    offset: int
    leader_epoch: int
    metadata: str
    timestamp: int
    record_offset: int


def committed_offsets(
    protocol: MessageRegistry,
    path: str | Path,
    *,
    verify: bool = True,
    errors: list[DecodeError] | None = None,
    limit: int | None = None,
    policy: Policy = STRICT,
) -> dict[PartitionKey, CommittedOffset]:
    """Return the committed offsets in a partition of ``__consumer_offsets``, by group, topic and partition.

    ``path`` is the folder of the partition. All offsets of a group are in the same partition. The other arguments
    work as in ``internal_records``. ``OffsetHistory`` explains how tombstones and transactions are handled.
    """
    history: OffsetHistory[LoggedRecord] = OffsetHistory()
    for row in internal_records(
        protocol, path, topic="__consumer_offsets", verify=verify, errors=errors, limit=limit, policy=policy
    ):
        history.add(row)
    committed = {}
    for key, row in history.committed.items():
        value: Any = row.record.value
        epoch = getattr(value, "leader_epoch", -1)
        committed[key] = CommittedOffset(value.offset, epoch, value.metadata, value.commit_timestamp, row.offset)
    return committed


class OffsetHistory(Generic[Row]):
    """Collects the last commit for each partition from records that are added in order.

    ``committed`` holds the commits by group, topic and partition. Tombstones delete commits. Commits in a transaction
    take effect at the commit marker of the transaction, unless a newer commit has already taken effect. Commits in
    open or aborted transactions never take effect.
    """

    def __init__(self) -> None:
        self.committed: dict[PartitionKey, Row] = {}
        self._pending: dict[int, dict[PartitionKey, Row]] = {}

    def add(self, row: Row) -> None:
        """Apply the next record of the partition."""
        record = row.record
        if record.control:
            pending = self._pending.pop(row.producer_id, {})
            for key, commit in pending.items() if record.name == "commit" else ():
                if key not in self.committed or self.committed[key].offset < commit.offset:
                    self.committed[key] = commit
        elif record.name in ("OffsetCommit", "LegacyOffsetCommit") and record.reason is None:
            commits = self._pending.setdefault(row.producer_id, {}) if row.transactional else self.committed
            partition: Any = record.key
            key = partition.group, partition.topic, partition.partition
            if record.value is None:
                commits.pop(key, None)
            else:
                commits[key] = row
