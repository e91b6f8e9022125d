"""Committed offsets: what the history in ``__consumer_offsets`` comes to."""

from __future__ import annotations

from kwire.logs.directory import internal_records
from kwire.policy import STRICT, Policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from kwire.errors import DecodeError
    from kwire.logs.directory import LoggedRecord
    from kwire.protocol import MessageRegistry

    Place = tuple[str, str, int]

TOPIC = "__consumer_offsets"
OFFSETS = ("OffsetCommit", "LegacyOffsetCommit")
COMMIT = "commit"


class CommittedOffset:
    """The offset that a group committed for a partition.

    ``timestamp`` is when it was committed, in milliseconds since the epoch; ``leader_epoch`` is -1 and ``metadata``
    empty if the consumer gave none; ``record_offset`` is the offset of the record in ``__consumer_offsets``.
    """

    __slots__ = ("leader_epoch", "metadata", "offset", "record_offset", "timestamp")

    def __init__(self, value: Any, record_offset: int) -> None:
        self.offset: int = value.offset
        self.leader_epoch: int = getattr(value, "leader_epoch", -1)
        self.metadata: str = value.metadata
        self.timestamp: int = value.commit_timestamp
        self.record_offset = record_offset

    def __repr__(self) -> str:
        return f"CommittedOffset(offset={self.offset}, timestamp={self.timestamp}, metadata={self.metadata!r})"


def committed_offsets(
    protocol: MessageRegistry,
    path: str | Path,
    *,
    verify: bool = True,
    errors: list[DecodeError] | None = None,
    policy: Policy = STRICT,
) -> dict[Place, CommittedOffset]:
    """The committed offsets at the end of a partition of ``__consumer_offsets``, by group, topic and partition.

    A group is in one partition of the topic, whose folder ``path`` is; the other arguments are those of
    :func:`internal_records`. Tombstones delete what was committed. Offsets that belong to a transaction count from
    its commit marker on, unless the group has committed others since; those of open and aborted ones do not count.
    """
    committed: dict[Place, CommittedOffset] = {}
    pending: dict[int, dict[Place, CommittedOffset]] = {}
    for row in internal_records(protocol, path, topic=TOPIC, verify=verify, errors=errors, policy=policy):
        if row.record.control:
            ended = pending.pop(row.producer_id, {})
            if row.record.name == COMMIT:
                for place, value in ended.items():
                    if place not in committed or committed[place].record_offset < value.record_offset:
                        committed[place] = value
        elif row.record.name in OFFSETS and row.record.reason is None:
            _take(row, pending.setdefault(row.producer_id, {}) if row.transactional else committed)
    return committed


def _take(row: LoggedRecord, into: dict[Place, CommittedOffset]) -> None:
    key: Any = row.record.key
    place = key.group, key.topic, key.partition
    if row.record.value is None:
        into.pop(place, None)
    else:
        into[place] = CommittedOffset(row.record.value, row.offset)
