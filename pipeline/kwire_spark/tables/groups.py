"""The state in internal topics as tables: offsets, groups, members, transactions, and the cluster's metadata.

Each table is a function that takes RECORDS of ``kafka_log``, ignores other topics, and returns the state at the end
of the log, with the columns of ``kwire_spark.state.columns``. Each partition is replayed in one task, in order;
memory is bounded by its live state. Records must be of one cluster: replicas of a partition count once, but two
clusters would be mixed up.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kwire.logs.segment import FILE_NAME
from kwire_kafka import PROTOCOL
from kwire_spark.spark_types import spark_schema
from kwire_spark.state import columns
from kwire_spark.state.cluster import Acls, Brokers, Configs, Features, Quotas, ScramUsers, Topics
from kwire_spark.state.groups import Groups, Members
from kwire_spark.state.offsets import CommittedOffsets, Transactions
from kwire_spark.state.replay import COLUMNS, NEEDED, Several, replay, undecodable_records
from kwire_spark.state.shares import ShareStates
from kwire_spark.tables.topics import with_topic_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire.protocol import MessageRegistry
    from kwire_spark.state.replay import State

OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"
METADATA_TOPIC = "__cluster_metadata"
SHARES_TOPIC = "__share_group_state"
INTERNAL = (OFFSETS_TOPIC, TRANSACTIONS_TOPIC, METADATA_TOPIC, SHARES_TOPIC)


def _replayed(
    topic: str,
    new: Callable[[], State],
    schema: pa.Schema,
    records: DataFrame,
    protocol: MessageRegistry = PROTOCOL,
) -> DataFrame:
    """Each partition in one task, sorted: snapshots first, the newest last of them, then the log by offset."""
    is_snapshot = F.col("source").endswith(".checkpoint")
    end = F.regexp_extract("source", f"(?:{FILE_NAME.pattern})$", 1)  # empty for bootstrap.checkpoint, the oldest
    ordered = (
        records.where(F.col("topic") == topic)
        .select(*COLUMNS)
        .repartition("partition")
        .sortWithinPartitions("partition", ~is_snapshot, end, F.when(is_snapshot, F.col("source")), "offset")
    )
    return ordered.mapInArrow(partial(replay, new=new, schema=schema, protocol=protocol), spark_schema(schema))


def _with_names(
    replayed: Callable[..., DataFrame], records: DataFrame, protocol: MessageRegistry = PROTOCOL
) -> DataFrame:
    names = topics(records, protocol).select("topic_id", "topic").distinct()
    return with_topic_names(replayed(records, protocol), names)


committed_offsets = partial(_replayed, OFFSETS_TOPIC, CommittedOffsets, columns.COMMITTED)
"""A row per group, topic and partition, with the same result as ``kwire.logs.committed_offsets``."""
groups = partial(_replayed, OFFSETS_TOPIC, Groups, columns.GROUPS)
"""Groups of all types: those with group records, and those that only committed offsets."""
members = partial(_with_names, partial(_replayed, OFFSETS_TOPIC, Members, columns.MEMBERS))
"""Members of groups, with subscription and assignment. Names of topics that have only an id there are taken from
``__cluster_metadata``, if that is among the records."""
share_states = partial(_with_names, partial(_replayed, SHARES_TOPIC, ShareStates, columns.SHARE_STATES))
"""Progress of share groups, a row per group and partition, from ``__share_group_state`` [KIP-932], with names of
topics as in ``members``."""
transactions = partial(_replayed, TRANSACTIONS_TOPIC, Transactions, columns.TRANSACTIONS)
"""The last transaction of each transactional id."""
topics = partial(_replayed, METADATA_TOPIC, Topics, columns.TOPICS)
"""A row per partition: topic, id, leader, replicas, in-sync replicas."""
brokers = partial(_replayed, METADATA_TOPIC, Brokers, columns.BROKERS)
"""The registered brokers."""
configs = partial(_replayed, METADATA_TOPIC, Configs, columns.CONFIGS)
"""Dynamic configurations, without secrets."""
acls = partial(_replayed, METADATA_TOPIC, Acls, columns.ACLS)
"""The access control rules."""
scram_users = partial(_replayed, METADATA_TOPIC, ScramUsers, columns.SCRAM_USERS)
"""Users that can log in by SCRAM, without salts and keys."""
features = partial(_replayed, METADATA_TOPIC, Features, columns.FEATURES)
"""The finalized levels of features."""
quotas = partial(_replayed, METADATA_TOPIC, Quotas, columns.QUOTAS)
"""The quotas of clients, users and addresses."""


def coordinated(records: DataFrame, protocol: MessageRegistry = PROTOCOL) -> DataFrame:
    """Committed offsets, groups and members from one replay, as structs ``committed``, ``groups`` and ``members``
    with the columns of these tables. Each row has one of them, the others are null. Names of topics are those of
    ``members``, in all three."""
    schemas = {"committed": columns.COMMITTED, "groups": columns.GROUPS, "members": columns.MEMBERS}
    states: dict[str, Callable[[], State]] = {"committed": CommittedOffsets, "groups": Groups, "members": Members}
    schema = pa.schema([(name, pa.struct(list(fields))) for name, fields in schemas.items()])
    return _with_names(partial(_replayed, OFFSETS_TOPIC, partial(Several, states), schema), records, protocol)


def undecodable(records: DataFrame, protocol: MessageRegistry = PROTOCOL) -> DataFrame:
    """Records of internal topics that cannot be decoded, such as those of a newer release; other tables skip them.

    A row for each ``topic``, ``kind`` and ``reason``: the number of ``records``, and ``partition``, ``offset``,
    ``source`` and ``position`` of the first.
    """
    internal = records.where(F.col("topic").isin(*INTERNAL)).select(*NEEDED)
    failures = internal.mapInArrow(partial(undecodable_records, protocol=protocol), spark_schema(columns.UNDECODABLE))
    first = F.min(F.struct("partition", "offset", "source", "position")).alias("first")
    counted = failures.groupBy("topic", "kind", "reason").agg(F.count("*").alias("records"), first)
    return counted.select("topic", "kind", "reason", "records", "first.*")
