"""The columns of the tables that internal topics come to, as Arrow schemas with comments."""

from __future__ import annotations

import pyarrow as pa

from kwire_spark.columns import TIME, schema

NAMES = pa.list_(pa.string())
NUMBERS = pa.list_(pa.int32())
PARTITIONS = pa.list_(pa.struct([("topic", pa.string()), ("topic_id", pa.string()), ("partitions", NUMBERS)]))
TASKS = pa.list_(pa.struct([("kind", pa.string()), ("subtopology", pa.string()), ("partitions", NUMBERS)]))
ENDPOINTS = pa.list_(
    pa.struct([("name", pa.string()), ("host", pa.string()), ("port", pa.int32()), ("protocol", pa.string())])
)
BATCHES = pa.list_(
    pa.struct(
        [
            ("first_offset", pa.int64()),
            ("last_offset", pa.int64()),
            ("state", pa.string()),
            ("deliveries", pa.int16()),
        ]
    )
)

COMMITTED = schema(
    ("group", pa.string(), "The group."),
    ("topic", pa.string(), "The topic."),
    ("topic_id", pa.string(), "Its id, if the group committed by it."),
    ("partition", pa.int32(), "The partition."),
    ("offset", pa.int64(), "Where the group goes on."),
    ("leader_epoch", pa.int32(), "Of the last record that was consumed; -1 if the consumer did not say."),
    ("metadata", pa.string(), "What the consumer added."),
    ("committed", TIME, "When it was committed."),
    ("expires", TIME, "When it is forgotten; null where the broker's retention decides."),
    ("log_partition", pa.int32(), "The partition of __consumer_offsets."),
    ("log_offset", pa.int64(), "The offset there."),
)
GROUPS = schema(
    ("group", pa.string(), "The group."),
    ("type", pa.string(), "classic, consumer [KIP-848], share [KIP-932] or streams [KIP-1071]."),
    ("protocol_type", pa.string(), "Of a classic group: consumer, connect and so on; empty if it only commits."),
    ("protocol", pa.string(), "Of a classic group: the assignor that its members agreed on."),
    ("state", pa.string(), "Empty, Assigning, Reconciling or Stable: what a coordinator makes of it on loading."),
    ("epoch", pa.int32(), "Group epoch; the generation of a classic group."),
    ("assignment_epoch", pa.int32(), "Epoch of the target assignment; null for classic groups."),
    ("leader", pa.string(), "Member id of the leader of a classic group."),
    ("members", pa.int32(), "How many members it has."),
    ("changed", TIME, "When a classic group came into its state."),
    ("log_partition", pa.int32(), "The partition of __consumer_offsets."),
)
MEMBERS = schema(
    ("group", pa.string(), "The group."),
    ("type", pa.string(), "Of the group: classic, consumer, share or streams."),
    ("member_id", pa.string(), "The member."),
    ("instance_id", pa.string(), "Of a static member [KIP-345]."),
    ("client_id", pa.string(), "What the client calls itself."),
    ("client_host", pa.string(), "Its address, as Java prints it."),
    ("rack", pa.string(), "Its rack, if it said so."),
    ("topics", NAMES, "The topics that it subscribed to by name."),
    ("topic_regex", pa.string(), "The pattern that it subscribed to."),
    ("assignor", pa.string(), "The assignor on the server that it wants."),
    ("epoch", pa.int32(), "Its epoch; the generation of a classic group."),
    ("previous_epoch", pa.int32(), "The one before; null in classic groups."),
    ("state", pa.string(), "Stable, UnrevokedPartitions, UnreleasedPartitions and so on; null in classic groups."),
    ("session_timeout_ms", pa.int32(), "Of classic members."),
    ("rebalance_timeout_ms", pa.int32(), "How long it may take to give partitions up."),
    ("leader", pa.bool_(), "Whether it leads a classic group."),
    ("assignment", PARTITIONS, "What it has; records of consumer and share groups have ids, see topics for names."),
    ("target", PARTITIONS, "What it is to have; null in classic groups."),
    ("tasks", TASKS, "What a member of a streams group runs."),
    ("process_id", pa.string(), "Of a streams member: members of one process have the same."),
    ("reason", pa.string(), "Why subscription or assignment of a classic member cannot be read."),
)
TRANSACTIONS = schema(
    ("transactional_id", pa.string(), "The transactional id."),
    ("state", pa.string(), "Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort or Dead."),
    ("producer_id", pa.int64(), "Its producer id."),
    ("producer_epoch", pa.int16(), "Its producer epoch."),
    ("previous_producer_id", pa.int64(), "Where transaction version 2 took a new producer id [KIP-890]."),
    ("timeout_ms", pa.int32(), "How long a transaction may take."),
    ("partitions", PARTITIONS, "The partitions of the transaction that is not finished."),
    ("started", TIME, "When the transaction began."),
    ("updated", TIME, "When this was written."),
    ("version", pa.int16(), "Transaction version of the client."),
    ("log_partition", pa.int32(), "The partition of __transaction_state."),
)
SHARE_STATES = schema(
    ("group", pa.string(), "The share group."),
    ("topic", pa.string(), "The topic; null if no record of the cluster's metadata tells its name."),
    ("topic_id", pa.string(), "Its id."),
    ("partition", pa.int32(), "The partition."),
    ("start_offset", pa.int64(), "All before is done; -1 until the group has begun."),
    ("batches", BATCHES, "What is not as it was before any delivery, from there on."),
    ("state_epoch", pa.int32(), "Epoch of the group's state; null if the log begins behind its snapshot."),
    ("snapshot_epoch", pa.int32(), "Counts the snapshots."),
    ("leader_epoch", pa.int32(), "Of the leader of the partition that wrote last."),
    ("updated", TIME, "When the snapshot was written to which later changes were added."),
    ("log_partition", pa.int32(), "The partition of __share_group_state."),
    ("log_offset", pa.int64(), "The offset of the last record there."),
)
TOPICS = schema(
    ("topic", pa.string(), "The topic."),
    ("topic_id", pa.string(), "Its id."),
    ("partition", pa.int32(), "The partition."),
    ("leader", pa.int32(), "Its leader; -1 if it has none."),
    ("leader_epoch", pa.int32(), "Counts its leaders."),
    ("partition_epoch", pa.int32(), "Counts its changes."),
    ("replicas", NUMBERS, "The brokers that have it."),
    ("isr", NUMBERS, "Those of them that are in sync."),
    ("adding", NUMBERS, "Replicas that a reassignment adds."),
    ("removing", NUMBERS, "Replicas that a reassignment removes."),
    ("elr", NUMBERS, "Eligible leaders outside of the ISR [KIP-966]."),
    ("last_known_elr", NUMBERS, "Those that were eligible last."),
)
BROKERS = schema(
    ("broker_id", pa.int32(), "Its number."),
    ("epoch", pa.int64(), "Offset of the record that registered it."),
    ("incarnation_id", pa.string(), "Of its process."),
    ("rack", pa.string(), "Its rack."),
    ("fenced", pa.bool_(), "Whether it is out of service."),
    ("in_controlled_shutdown", pa.bool_(), "Whether it is on its way down."),
    ("endpoints", ENDPOINTS, "Where it listens."),
)
CONFIGS = schema(
    ("resource_type", pa.string(), "TOPIC, BROKER, CLIENT_METRICS or GROUP."),
    ("resource", pa.string(), "Its name; empty for the default of all brokers."),
    ("name", pa.string(), "Name of the setting."),
    ("value", pa.string(), "Its value, [hidden] where it is a secret."),
)
ACLS = schema(
    ("id", pa.string(), "Of the rule."),
    ("resource_type", pa.string(), "TOPIC, GROUP, CLUSTER and so on."),
    ("resource", pa.string(), "Its name or the beginning of it."),
    ("pattern_type", pa.string(), "LITERAL or PREFIXED."),
    ("principal", pa.string(), "Who."),
    ("host", pa.string(), "From where."),
    ("operation", pa.string(), "READ, WRITE and so on."),
    ("permission", pa.string(), "ALLOW or DENY."),
)
SCRAM_USERS = schema(
    ("user", pa.string(), "The user."),
    ("mechanism", pa.string(), "SCRAM-SHA-256 or SCRAM-SHA-512."),
    ("iterations", pa.int32(), "How often the password is hashed."),
)
FEATURES = schema(
    ("feature", pa.string(), "metadata.version, group.version and so on."),
    ("level", pa.int16(), "The level that the cluster has finalized."),
)
QUOTAS = schema(
    ("entity", pa.list_(pa.struct([("type", pa.string()), ("name", pa.string())])), "For whom; null is the default."),
    ("key", pa.string(), "Which quota."),
    ("value", pa.float64(), "How much."),
)
