"""What internal topics come to, as tables: offsets, groups, members, transactions, and the cluster's metadata.

Each function takes the RECORDS of ``kafka_log`` (more topics than needed do no harm) and gives what its topic says at
the end of the log, with the columns of ``kwire_spark.state.columns``. One partition of a topic is replayed in one
place, in order; memory is bounded by what is alive in it. Records of one cluster are expected: replicas of a
partition count once, but two clusters would be mixed up.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from kwire_spark.spark_types import spark_schema
from kwire_spark.state import columns
from kwire_spark.state.cluster import Acls, Brokers, Configs, Features, Quotas, ScramUsers, Topics
from kwire_spark.state.groups import Groups, Members
from kwire_spark.state.offsets import CommittedOffsets, Transactions
from kwire_spark.state.replay import COLUMNS, Several, replay
from kwire_spark.state.shares import ShareStates
from kwire_spark.state.undecodable import NEEDED, UNDECODABLE, undecodable_records
from kwire_spark.tables.topics import with_topic_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from kwire_spark.state.replay import State

OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"
METADATA_TOPIC = "__cluster_metadata"
SHARES_TOPIC = "__share_group_state"
INTERNAL = (OFFSETS_TOPIC, TRANSACTIONS_TOPIC, METADATA_TOPIC, SHARES_TOPIC)

_SNAPSHOT = r"(?:^|/)(?:(\d{20})-\d{10}|bootstrap)\.checkpoint$"


def committed_offsets(records: DataFrame) -> DataFrame:
    """Where groups go on: a row per group, topic and partition, as ``kwire.logs.committed_offsets`` finds it."""
    return _replayed(records, OFFSETS_TOPIC, CommittedOffsets, columns.COMMITTED)


def groups(records: DataFrame) -> DataFrame:
    """The groups, of all kinds: those with records of their own, and those that only committed offsets."""
    return _replayed(records, OFFSETS_TOPIC, Groups, columns.GROUPS)


def members(records: DataFrame) -> DataFrame:
    """The members of groups, with subscription and assignment. Topics that their records only have ids of get their
    names from ``__cluster_metadata``, if that is among the records."""
    return with_topic_names(_replayed(records, OFFSETS_TOPIC, Members, columns.MEMBERS), _names(records))


def share_states(records: DataFrame) -> DataFrame:
    """How far share groups are: a row per group and partition, from ``__share_group_state`` [KIP-932]. Topics get
    their names as in :func:`members`."""
    return with_topic_names(_replayed(records, SHARES_TOPIC, ShareStates, columns.SHARE_STATES), _names(records))


def coordinated(records: DataFrame) -> DataFrame:
    """Committed offsets, groups and members from one replay: columns ``committed``, ``groups`` and ``members``, which
    are structs with the columns of these tables. Each row has one of them."""
    kinds = {"committed": columns.COMMITTED, "groups": columns.GROUPS, "members": columns.MEMBERS}
    states: dict[str, Callable[[], State]] = {"committed": CommittedOffsets, "groups": Groups, "members": Members}
    schema = pa.schema([(name, pa.struct(list(kind))) for name, kind in kinds.items()])
    return _replayed(records, OFFSETS_TOPIC, partial(Several, states), schema)


def transactions(records: DataFrame) -> DataFrame:
    """Transactional ids and the state of their last transaction."""
    return _replayed(records, TRANSACTIONS_TOPIC, Transactions, columns.TRANSACTIONS)


def topics(records: DataFrame) -> DataFrame:
    """A row per partition: topic, id, leader, replicas, ISR."""
    return _replayed(records, METADATA_TOPIC, Topics, columns.TOPICS)


def brokers(records: DataFrame) -> DataFrame:
    """The registered brokers."""
    return _replayed(records, METADATA_TOPIC, Brokers, columns.BROKERS)


def configs(records: DataFrame) -> DataFrame:
    """What is configured dynamically, without secrets."""
    return _replayed(records, METADATA_TOPIC, Configs, columns.CONFIGS)


def acls(records: DataFrame) -> DataFrame:
    """The access control rules."""
    return _replayed(records, METADATA_TOPIC, Acls, columns.ACLS)


def scram_users(records: DataFrame) -> DataFrame:
    """Who can log in by SCRAM, without salts and keys."""
    return _replayed(records, METADATA_TOPIC, ScramUsers, columns.SCRAM_USERS)


def features(records: DataFrame) -> DataFrame:
    """The finalized levels of features."""
    return _replayed(records, METADATA_TOPIC, Features, columns.FEATURES)


def quotas(records: DataFrame) -> DataFrame:
    """The quotas of clients, users and addresses."""
    return _replayed(records, METADATA_TOPIC, Quotas, columns.QUOTAS)


def unread(records: DataFrame) -> DataFrame:
    """Records of internal topics that cannot be read, as those of a release to come: all other tables pass over them.

    A row for each ``topic``, ``kind`` and ``reason``: how many ``records``, and the first: its ``partition``,
    ``offset``, ``source`` and ``position``.
    """
    from pyspark.sql import functions as sql

    chosen = records.where(sql.col("topic").isin(*INTERNAL)).select(*NEEDED)
    found = chosen.mapInArrow(undecodable_records, spark_schema(UNDECODABLE))
    first = sql.min(sql.struct("partition", "offset", "source", "position")).alias("first")
    counted = found.groupBy("topic", "kind", "reason").agg(sql.count("*").alias("records"), first)
    return counted.select("topic", "kind", "reason", "records", "first.*")


def _names(records: DataFrame) -> DataFrame:
    return topics(records).select("topic_id", "topic").distinct()


def _replayed(records: DataFrame, topic: str, new: Callable[[], State], schema: pa.Schema) -> DataFrame:
    """Each partition in one place: snapshots first, the newest last of them, then the log by offset."""
    from pyspark.sql import functions as sql

    end = sql.regexp_extract("source", _SNAPSHOT, 1)
    is_snapshot = sql.col("source").rlike(_SNAPSHOT)
    ordered = (
        records.where(sql.col("topic") == topic)
        .select(*COLUMNS)
        .repartition("partition")
        .sortWithinPartitions("partition", ~is_snapshot, end, sql.when(is_snapshot, sql.col("source")), "offset")
    )
    return ordered.mapInArrow(partial(replay, new=new, schema=schema), spark_schema(schema))
