"""Columns of the tables derived from internal topics, as Arrow schemas with descriptions."""

from __future__ import annotations

import pyarrow as pa

from kwire_inspect.schemas import TIME, schema

NAMES = pa.list_(pa.string())
NUMBERS = pa.list_(pa.int32())


def _structs(**fields: pa.DataType) -> pa.DataType:
    return pa.list_(pa.struct(fields))


PARTITIONS = _structs(topic=pa.string(), topic_id=pa.string(), partitions=NUMBERS)
TASKS = _structs(kind=pa.string(), subtopology=pa.string(), partitions=NUMBERS)
ENDPOINTS = _structs(name=pa.string(), host=pa.string(), port=pa.int32(), protocol=pa.string())
BATCHES = _structs(first_offset=pa.int64(), last_offset=pa.int64(), state=pa.string(), deliveries=pa.int16())
ENTITY = _structs(type=pa.string(), name=pa.string())

COMMITTED = schema(
    ("group", pa.string(), "The group."),
    ("topic", pa.string(), "The topic."),
    ("topic_id", pa.string(), "Its id, if the group committed by it."),
    ("partition", pa.int32(), "The partition."),
    ("offset", pa.int64(), "Offset from which the group continues."),
    ("leader_epoch", pa.int32(), "Of the last consumed record; -1 if unknown."),
    ("metadata", pa.string(), "Free text of the consumer."),
    ("committed", TIME, "When it was committed."),
    ("expires", TIME, "When it expires; null where the broker's retention decides."),
    ("log_partition", pa.int32(), "The partition of __consumer_offsets."),
    ("log_offset", pa.int64(), "The offset there."),
)
GROUPS = schema(
    ("group", pa.string(), "The group."),
    ("type", pa.string(), "classic, consumer [KIP-848], share [KIP-932] or streams [KIP-1071]."),
    ("protocol_type", pa.string(), "Of a classic group, such as consumer or connect; empty if it only commits."),
    ("protocol", pa.string(), "Assignor that the members of a classic group agreed on."),
    ("state", pa.string(), "Empty, Assigning, Reconciling or Stable, as a coordinator computes it on loading."),
    ("epoch", pa.int32(), "Group epoch; the generation of a classic group."),
    ("assignment_epoch", pa.int32(), "Epoch of the target assignment; null for classic groups."),
    ("leader", pa.string(), "Member id of the leader of a classic group."),
    ("members", pa.int32(), "Number of members."),
    ("changed", TIME, "When a classic group entered its state."),
    ("log_partition", pa.int32(), "The partition of __consumer_offsets."),
)
MEMBERS = schema(
    ("group", pa.string(), "The group."),
    ("type", pa.string(), "Type of the group: classic, consumer, share or streams."),
    ("member_id", pa.string(), "The member."),
    ("instance_id", pa.string(), "Instance id of a static member [KIP-345]."),
    ("client_id", pa.string(), "Client id."),
    ("client_host", pa.string(), "Address of the client, as Java prints it."),
    ("rack", pa.string(), "Its rack, if known."),
    ("topics", NAMES, "Topics subscribed to by name."),
    ("topic_regex", pa.string(), "Pattern subscribed to."),
    ("assignor", pa.string(), "Server-side assignor requested by the member."),
    ("epoch", pa.int32(), "Its epoch; the generation of a classic group."),
    ("previous_epoch", pa.int32(), "Previous epoch; null in classic groups."),
    ("state", pa.string(), "Stable, UnrevokedPartitions, UnreleasedPartitions and so on; null in classic groups."),
    ("session_timeout_ms", pa.int32(), "Session timeout of a classic member."),
    ("rebalance_timeout_ms", pa.int32(), "Time allowed to give up partitions."),
    ("leader", pa.bool_(), "Whether it leads a classic group."),
    (
        "assignment",
        PARTITIONS,
        "Current assignment; consumer and share groups use topic ids, see the table of topics.",
    ),
    ("target", PARTITIONS, "Target assignment; null in classic groups."),
    ("tasks", TASKS, "Tasks of a member of a streams group."),
    ("process_id", pa.string(), "Process id of a streams member, the same for all members in one process."),
    ("reason", pa.string(), "Why subscription or assignment of a classic member cannot be decoded."),
)
TRANSACTIONS = schema(
    ("transactional_id", pa.string(), "The transactional id."),
    ("state", pa.string(), "Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort or Dead."),
    ("producer_id", pa.int64(), "Its producer id."),
    ("producer_epoch", pa.int16(), "Its producer epoch."),
    ("previous_producer_id", pa.int64(), "Producer id before transaction version 2 changed it [KIP-890]."),
    ("timeout_ms", pa.int32(), "Transaction timeout."),
    ("partitions", PARTITIONS, "Partitions of an unfinished transaction."),
    ("started", TIME, "When the transaction began."),
    ("updated", TIME, "When the record was written."),
    ("version", pa.int16(), "Transaction version of the client."),
    ("log_partition", pa.int32(), "The partition of __transaction_state."),
)
SHARE_STATES = schema(
    ("group", pa.string(), "The share group."),
    ("topic", pa.string(), "The topic; null if the cluster's metadata does not have its name."),
    ("topic_id", pa.string(), "Its id."),
    ("partition", pa.int32(), "The partition."),
    ("start_offset", pa.int64(), "All records before it are finished; -1 until the group has started."),
    ("batches", BATCHES, "Batches from the start offset on that were delivered at least once."),
    ("state_epoch", pa.int32(), "Epoch of the group's state; null if the log starts after its snapshot."),
    ("snapshot_epoch", pa.int32(), "Number of the snapshot."),
    ("leader_epoch", pa.int32(), "Leader epoch of the last partition leader that wrote."),
    ("updated", TIME, "When the snapshot was written, without later changes."),
    ("log_partition", pa.int32(), "The partition of __share_group_state."),
    ("log_offset", pa.int64(), "Offset of the last record in that partition."),
)
TOPICS = schema(
    ("topic", pa.string(), "The topic."),
    ("topic_id", pa.string(), "Its id."),
    ("partition", pa.int32(), "The partition."),
    ("leader", pa.int32(), "Its leader; -1 if it has none."),
    ("leader_epoch", pa.int32(), "Increases with each new leader."),
    ("partition_epoch", pa.int32(), "Increases with each change."),
    ("replicas", NUMBERS, "Brokers that have a replica."),
    ("isr", NUMBERS, "In-sync replicas."),
    ("adding", NUMBERS, "Replicas that a reassignment adds."),
    ("removing", NUMBERS, "Replicas that a reassignment removes."),
    ("elr", NUMBERS, "Eligible leaders outside of the ISR [KIP-966]."),
    ("last_known_elr", NUMBERS, "The last eligible leaders."),
)
BROKERS = schema(
    ("broker_id", pa.int32(), "Id of the broker."),
    ("epoch", pa.int64(), "Offset of the record that registered it."),
    ("incarnation_id", pa.string(), "Id of its process."),
    ("rack", pa.string(), "Its rack."),
    ("fenced", pa.bool_(), "Whether it is out of service."),
    ("in_controlled_shutdown", pa.bool_(), "Whether it is shutting down."),
    ("endpoints", ENDPOINTS, "Its listeners."),
)
CONFIGS = schema(
    ("resource_type", pa.string(), "TOPIC, BROKER, CLIENT_METRICS or GROUP."),
    ("resource", pa.string(), "Name of the resource; empty for the default of all brokers."),
    ("name", pa.string(), "Name of the setting."),
    ("value", pa.string(), "Its value; [hidden] if it is a secret."),
)
ACLS = schema(
    ("id", pa.string(), "Id of the rule."),
    ("resource_type", pa.string(), "TOPIC, GROUP, CLUSTER and so on."),
    ("resource", pa.string(), "Its name or prefix."),
    ("pattern_type", pa.string(), "LITERAL or PREFIXED."),
    ("principal", pa.string(), "Principal to which the rule applies."),
    ("host", pa.string(), "Client host to which the rule applies."),
    ("operation", pa.string(), "READ, WRITE and so on."),
    ("permission", pa.string(), "ALLOW or DENY."),
)
SCRAM_USERS = schema(
    ("user", pa.string(), "The user."),
    ("mechanism", pa.string(), "SCRAM-SHA-256 or SCRAM-SHA-512."),
    ("iterations", pa.int32(), "Number of iterations of the hash."),
)
FEATURES = schema(
    ("feature", pa.string(), "metadata.version, group.version and so on."),
    ("level", pa.int16(), "Finalized level."),
)
QUOTAS = schema(
    ("entity", ENTITY, "Entity that it applies to; a null name is the default."),
    ("key", pa.string(), "Name of the quota."),
    ("value", pa.float64(), "Its value."),
)
UNDECODABLE = schema(
    ("topic", pa.string(), "The internal topic."),
    ("partition", pa.int32(), "Its partition."),
    ("offset", pa.int64(), "Offset of the record."),
    ("source", pa.string(), "Path of its file."),
    ("position", pa.int64(), "Byte offset of its batch in that file."),
    ("kind", pa.string(), "Kind of record, such as OffsetCommit, if known."),
    ("reason", pa.string(), "Why it cannot be decoded."),
)
