"""Committed offsets of groups, and transactions of producers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from kwire.enums import ProtocolEnum
from kwire.logs.offsets import OffsetHistory
from kwire_inspect.schemas import EPOCH
from kwire_inspect.state.replay import Logged
from kwire_kafka.enums import TransactionState

_TIMES = range(253_402_300_800_000)


def moment(milliseconds: int) -> datetime | None:
    """Convert a timestamp in milliseconds to a time. Return ``None`` for negative timestamps and for times after the
    year 9999."""
    return EPOCH + timedelta(milliseconds=milliseconds) if milliseconds in _TIMES else None


def topic_id(value: Any) -> str | None:
    """Return a topic id in Kafka's text form, or ``None`` for the zero id."""
    return str(value) if value is not None and any(value) else None


def state_name(states: type[ProtocolEnum], value: int) -> str:
    """Return a state as Kafka's tools print it, such as ``PrepareCommit`` for ``PREPARE_COMMIT``. Return a text such
    as ``unknown 99`` for an unknown number."""
    words = states.name_of(value).split("_")
    return "".join(word.capitalize() for word in words) or f"unknown {value}"


class CommittedOffsets(OffsetHistory[Logged]):
    """The last committed offsets of each group in a partition of ``__consumer_offsets``."""

    def rows(self) -> Iterator[dict[str, Any]]:
        for (group, topic, partition), row in self.committed.items():
            value: Any = row.record.value
            yield {
                "group": group,
                "topic": topic,
                "topic_id": topic_id(getattr(value, "topic_id", None)),
                "partition": partition,
                "offset": value.offset,
                "leader_epoch": getattr(value, "leader_epoch", -1),
                "metadata": value.metadata,
                "committed": moment(value.commit_timestamp),
                "expires": moment(getattr(value, "expire_timestamp", -1)),
                "log_partition": row.partition,
                "log_offset": row.offset,
            }


class Transactions:
    """The last transaction of each transactional id."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[int, Any]] = {}

    def add(self, row: Logged) -> None:
        record = row.record
        if record.name == "TransactionLog" and record.reason is None:
            key: Any = record.key
            value: Any = record.value
            if value is None or value.transaction_status == TransactionState.DEAD:
                self._last.pop(key.transactional_id, None)
            else:
                self._last[key.transactional_id] = row.partition, value

    def rows(self) -> Iterator[dict[str, Any]]:
        for transactional_id, (log_partition, value) in self._last.items():
            yield {
                "transactional_id": transactional_id,
                "state": state_name(TransactionState, value.transaction_status),
                "producer_id": value.producer_id,
                "producer_epoch": value.producer_epoch,
                "previous_producer_id": None if value.previous_producer_id == -1 else value.previous_producer_id,
                "timeout_ms": value.transaction_timeout_ms,
                "partitions": [
                    {"topic": topic.topic, "partitions": topic.partition_ids}
                    for topic in value.transaction_partitions or ()
                ],
                "started": moment(value.transaction_start_timestamp_ms),
                "updated": moment(value.transaction_last_update_timestamp_ms),
                "version": value.client_transaction_version,
                "log_partition": log_partition,
            }
