"""Tables of the state in internal topics: offsets, groups, members, transactions, and cluster metadata.

Each function computes a table from the RECORDS of ``kafka_log``. Records of other topics are ignored. The result is
the state at the end of the log, as a table of the same engine with the columns in ``kwire_inspect.state.columns``.
One task replays each partition in order, and needs memory for the live state of the partition. All records must come
from one cluster. Replicas of a partition are counted once, but partitions of two clusters would be mixed up.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from kwire_inspect.schemas import RECORDS
from kwire_inspect.state import columns
from kwire_inspect.state.cluster import Acls, Brokers, Configs, Features, Quotas, ScramUsers, Topics
from kwire_inspect.state.groups import Groups, Members
from kwire_inspect.state.offsets import CommittedOffsets, Transactions
from kwire_inspect.state.replay import COLUMNS, NEEDED, Several, replay, undecodable_records
from kwire_inspect.state.shares import ShareStates
from kwire_inspect.tables.names import Names, named, names_by_id
from kwire_inspect.tables.relations import R, kept, map_batches, query
from kwire_kafka import PROTOCOL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kwire.protocol import MessageRegistry
    from kwire_inspect.state.replay import State

OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"
METADATA_TOPIC = "__cluster_metadata"
SHARES_TOPIC = "__share_group_state"
REPLAYED = pa.schema([RECORDS.field(name) for name in COLUMNS])
FAILED = pa.schema([RECORDS.field(name) for name in NEEDED])
_SNAPSHOT = "endswith(source, '.checkpoint')"
ORDER = (
    f"CASE WHEN {_SNAPSHOT} THEN 0 ELSE 1 END",
    "regexp_extract(source, '([0-9]+)-[0-9]+[.]checkpoint$', 1)",  # empty for bootstrap.checkpoint, the oldest
    f"CASE WHEN {_SNAPSHOT} THEN source END",
    "`offset`",
)
"""SQL expressions for the replay order."""
INTERNAL = (OFFSETS_TOPIC, TRANSACTIONS_TOPIC, METADATA_TOPIC, SHARES_TOPIC)


def _replayed(
    topic: str,
    new: Callable[[], State],
    schema: pa.Schema,
    records: R,
    protocol: MessageRegistry = PROTOCOL,
    names: Names | None = None,
) -> R:
    """Return the state after replaying each partition in one task. Snapshots are replayed from oldest to newest,
    followed by the log.
    """
    of_topic = query(f"SELECT * FROM {{records}} WHERE topic = '{topic}'", records=records)
    work = partial(_rows, new=new, schema=schema, protocol=protocol, names=names)
    return map_batches(of_topic, REPLAYED, work, schema, by="partition", order=ORDER)


def _rows(
    batches: Iterable[pa.RecordBatch],
    new: Callable[[], State],
    schema: pa.Schema,
    protocol: MessageRegistry,
    names: Names | None,
) -> Iterator[pa.RecordBatch]:
    for batch in replay(batches, new, schema, protocol):
        yield named(batch, *names) if names else batch


def _with_names(replayed: Callable[..., R], records: R, protocol: MessageRegistry = PROTOCOL) -> R:
    return replayed(records, protocol, names_by_id(topics(records, protocol)))


committed_offsets = partial(_replayed, OFFSETS_TOPIC, CommittedOffsets, columns.COMMITTED)
"""Committed offsets, one row per group, topic and partition, as in ``kwire.logs.committed_offsets``."""
groups = partial(_replayed, OFFSETS_TOPIC, Groups, columns.GROUPS)
"""Groups of all types, including groups that have only committed offsets."""
members = partial(_with_names, partial(_replayed, OFFSETS_TOPIC, Members, columns.MEMBERS))
"""Group members, with their subscriptions and assignments. Names of topics that are identified only by id come from
``__cluster_metadata``, if the records include it.
"""
share_states = partial(_with_names, partial(_replayed, SHARES_TOPIC, ShareStates, columns.SHARE_STATES))
"""Progress of share groups from ``__share_group_state`` [KIP-932], one row per group and partition. Topic names come
from ``__cluster_metadata``, if the records include it.
"""
transactions = partial(_replayed, TRANSACTIONS_TOPIC, Transactions, columns.TRANSACTIONS)
"""Last transaction of each transactional id."""
topics = partial(_replayed, METADATA_TOPIC, Topics, columns.TOPICS)
"""Partitions of topics, with topic name and id, leader, replicas and in-sync replicas."""
brokers = partial(_replayed, METADATA_TOPIC, Brokers, columns.BROKERS)
"""Registered brokers."""
configs = partial(_replayed, METADATA_TOPIC, Configs, columns.CONFIGS)
"""Dynamic configurations, without secrets."""
acls = partial(_replayed, METADATA_TOPIC, Acls, columns.ACLS)
"""Access control rules."""
scram_users = partial(_replayed, METADATA_TOPIC, ScramUsers, columns.SCRAM_USERS)
"""Users that can log in with SCRAM, without salts or keys."""
features = partial(_replayed, METADATA_TOPIC, Features, columns.FEATURES)
"""Finalized feature levels."""
quotas = partial(_replayed, METADATA_TOPIC, Quotas, columns.QUOTAS)
"""Quotas of clients, users and addresses."""


@contextmanager
def coordinated(records: R, protocol: MessageRegistry = PROTOCOL) -> Iterator[dict[str, R]]:
    """Provide the tables ``committed``, ``groups`` and ``members`` for a ``with`` block. Replay the log only once.

    Topic names are filled in as for ``members``.
    """
    schemas = {"committed": columns.COMMITTED, "groups": columns.GROUPS, "members": columns.MEMBERS}
    states: dict[str, Callable[[], State]] = {"committed": CommittedOffsets, "groups": Groups, "members": Members}
    schema = pa.schema([(name, pa.struct(list(fields))) for name, fields in schemas.items()])
    replayed = partial(_replayed, OFFSETS_TOPIC, partial(Several, states), schema)
    with kept(_with_names(replayed, records, protocol)) as rows:
        yield {name: query(f"SELECT {name}.* FROM {{rows}} WHERE {name} IS NOT NULL", rows=rows) for name in schemas}


def undecodable(records: R, protocol: MessageRegistry = PROTOCOL) -> R:
    """Return a table of the records of internal topics that cannot be decoded, such as records of a newer release.

    The table has one row per ``topic``, ``kind`` and ``reason``, with the number of ``records``, and the
    ``partition``, ``offset``, ``source`` and ``position`` of the first record. Other tables skip these records.
    """
    topics = ", ".join(f"'{topic}'" for topic in INTERNAL)
    internal = query(f"SELECT * FROM {{records}} WHERE topic IN ({topics})", records=records)
    failures = map_batches(internal, FAILED, partial(undecodable_records, protocol=protocol), columns.UNDECODABLE)
    first = ("partition", "offset", "source", "position")
    return query(
        f"""
        SELECT topic, kind, reason, count(*) AS records, {", ".join(f"min_by(`{n}`, place) AS `{n}`" for n in first)}
        FROM (SELECT *, struct({", ".join(f"`{n}`" for n in first)}) AS place FROM {{failures}}) AS failures
        GROUP BY topic, kind, reason""",
        failures=failures,
    )
