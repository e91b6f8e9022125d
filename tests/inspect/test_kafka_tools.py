"""Tables of internal topics equal what Kafka's own tools printed about the same broker; a stored run of 4.1.1."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kwire_inspect.schemas import RECORDS
from kwire_inspect.segments import record_batches, segment_files, splits
from kwire_inspect.state import cluster, columns, groups, offsets
from kwire_inspect.state.replay import replay
from tests.support.log_files import LOGS
from tests.support.tool_checks import CHECKS, Rows, Table

RUN = LOGS / "4.1.1-groups"
STATES: dict[str, tuple[str, Any, Any]] = {
    "committed_offsets": ("__consumer_offsets", offsets.CommittedOffsets, columns.COMMITTED),
    "groups": ("__consumer_offsets", groups.Groups, columns.GROUPS),
    "members": ("__consumer_offsets", groups.Members, columns.MEMBERS),
    "transactions": ("__transaction_state", offsets.Transactions, columns.TRANSACTIONS),
    "topics": ("__cluster_metadata", cluster.Topics, columns.TOPICS),
    "brokers": ("__cluster_metadata", cluster.Brokers, columns.BROKERS),
    "configs": ("__cluster_metadata", cluster.Configs, columns.CONFIGS),
    "features": ("__cluster_metadata", cluster.Features, columns.FEATURES),
}


@cache
def table(name: str) -> Rows:
    topic, new, schema = STATES[name]
    files = segment_files([str(RUN / f"{topic}-0" / f"{0:020}.log")])
    read = (batch for group in splits(files) for batch in record_batches(group, RECORDS))
    return [row for batch in replay(read, new, schema) for row in batch.to_pylist()]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_tables_equal_what_kafka_prints(check: Callable[[Path, Table], None]) -> None:
    check(RUN, table)
