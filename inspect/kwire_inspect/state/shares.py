"""The progress of share groups in partitions, as the share coordinator sees it after loading its log [KIP-932]."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from kwire_inspect.state.offsets import moment, state_name, topic_id
from kwire_inspect.state.replay import Logged
from kwire_kafka.enums import DeliveryState

Place = tuple[str, Any, int]
Batch = tuple[int, int, int, int]
"""First offset, last offset, delivery count and delivery state."""


class ShareStates:
    """State of each share group in each partition. Snapshots replace the state, updates change it, and tombstones
    delete it."""

    def __init__(self) -> None:
        self._states: dict[Place, dict[str, Any]] = {}

    def add(self, row: Logged) -> None:
        record = row.record
        if record.reason is not None or record.control or record.name not in ("ShareSnapshot", "ShareUpdate"):
            return
        key: Any = record.key
        place = key.group_id, key.topic_id, key.partition
        if record.value is not None:
            old = self._states.get(place) if record.name == "ShareUpdate" else None
            place_in_log = {"log_partition": row.partition, "log_offset": row.offset}
            self._states[place] = (_updated(old, record.value) if old else _state(record.value)) | place_in_log
        elif record.name == "ShareSnapshot":
            self._states.pop(place, None)

    def rows(self) -> Iterator[dict[str, Any]]:
        for (group, id, partition), state in self._states.items():
            batches = [
                {
                    "first_offset": first,
                    "last_offset": last,
                    "state": state_name(DeliveryState, number),
                    "deliveries": count,
                }
                for first, last, count, number in state["batches"]
            ]
            place = {"group": group, "topic_id": topic_id(id), "partition": partition}
            yield place | state | {"batches": batches, "updated": moment(state["updated"])}


def combined(batches: Iterable[Batch], start: int) -> list[Batch]:
    """Return batches without overlaps or offsets below ``start``. Merge adjacent batches that have equal states.

    Where batches overlap, the higher delivery count wins. If the counts are equal, the higher delivery state wins.
    The coordinator's ``PersisterStateBatchCombiner`` assigns the same states, but merges slightly fewer adjacent
    batches.

    >>> combined([(0, 9, 1, 0), (5, 14, 2, 0), (15, 15, 2, 0)], 3)
    [(3, 4, 1, 0), (5, 15, 2, 0)]
    """
    alive = [(max(first, start), last, kind) for first, last, *kind in batches if last >= max(first, start)]
    edges = sorted({edge for first, last, _ in alive for edge in (first, last + 1)})
    merged: list[Batch] = []
    for first, end in pairwise(edges):
        covering = [kind for start, last, kind in alive if start <= first and last >= end - 1]
        if not covering:
            continue
        count, state = max(covering)
        if merged and merged[-1][1:] == (first - 1, count, state):
            first = merged.pop()[0]
        merged.append((first, end - 1, count, state))
    return merged


def _state(value: Any) -> dict[str, Any]:
    return {
        "start_offset": value.start_offset,
        "snapshot_epoch": value.snapshot_epoch,
        "state_epoch": getattr(value, "state_epoch", None),
        "leader_epoch": value.leader_epoch,
        "updated": getattr(value, "write_timestamp", -1),
        "batches": combined(_batches(value), value.start_offset),
    }


def _updated(old: dict[str, Any], value: Any) -> dict[str, Any]:
    """Return the state after an update. In an update, a start offset or leader epoch of -1 means "unchanged"."""
    start = old["start_offset"] if value.start_offset == -1 else value.start_offset
    leader_epoch = old["leader_epoch"] if value.leader_epoch == -1 else value.leader_epoch
    batches = combined([*old["batches"], *_batches(value)], start)
    return old | {"start_offset": start, "leader_epoch": leader_epoch, "batches": batches}


def _batches(value: Any) -> list[Batch]:
    return [
        (batch.first_offset, batch.last_offset, batch.delivery_count, batch.delivery_state)
        for batch in value.state_batches
    ]
