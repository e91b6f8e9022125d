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
    ("group", pa.string(), "Id of the group."),
    ("topic", pa.string(), "Name of the topic."),
    ("topic_id", pa.string(), "Topic id, if the offset was committed by topic id."),
    ("partition", pa.int32(), "Number of the partition."),
    ("offset", pa.int64(), "Committed offset, which is the offset of the next record to consume."),
    ("leader_epoch", pa.int32(), "Leader epoch of the last consumed record, or -1 if unknown."),
    ("metadata", pa.string(), "Free text from the consumer."),
    ("committed", TIME, "When the offset was committed."),
    ("expires", TIME, "When the offset expires, or null if the broker's retention applies."),
    ("log_partition", pa.int32(), "Partition of __consumer_offsets."),
    ("log_offset", pa.int64(), "Offset of the record in the partition of __consumer_offsets."),
)
GROUPS = schema(
    ("group", pa.string(), "Id of the group."),
    ("type", pa.string(), "Type of the group: classic, consumer [KIP-848], share [KIP-932] or streams [KIP-1071]."),
    ("protocol_type", pa.string(), "Protocol type of a classic group, or empty if the group only commits offsets."),
    ("protocol", pa.string(), "Assignor that the members of a classic group agreed on."),
    ("state", pa.string(), "State after loading by a coordinator: Empty, Assigning, Reconciling or Stable."),
    ("epoch", pa.int32(), "Group epoch, or the generation of a classic group."),
    ("assignment_epoch", pa.int32(), "Epoch of the target assignment, or null for classic groups."),
    ("leader", pa.string(), "Member id of a classic group's leader."),
    ("members", pa.int32(), "Number of members."),
    ("changed", TIME, "When a classic group entered its state."),
    ("log_partition", pa.int32(), "Partition of __consumer_offsets."),
)
MEMBERS = schema(
    ("group", pa.string(), "Id of the group."),
    ("type", pa.string(), "Type of the group: classic, consumer, share or streams."),
    ("member_id", pa.string(), "Member id."),
    ("instance_id", pa.string(), "Instance id of a static member [KIP-345]."),
    ("client_id", pa.string(), "Client id."),
    ("client_host", pa.string(), "Address of the client, as printed by Java."),
    ("rack", pa.string(), "Rack of the member, if known."),
    ("topics", NAMES, "Names of the topics to which the member subscribes."),
    ("topic_regex", pa.string(), "Topic name pattern to which the member subscribes."),
    ("assignor", pa.string(), "Server-side assignor that the member requests."),
    ("epoch", pa.int32(), "Member epoch, or the generation of a classic group."),
    ("previous_epoch", pa.int32(), "Previous member epoch, or null in classic groups."),
    ("state", pa.string(), "Member state, such as Stable or UnrevokedPartitions, or null in classic groups."),
    ("session_timeout_ms", pa.int32(), "Session timeout of a classic member, in milliseconds."),
    ("rebalance_timeout_ms", pa.int32(), "Time that a member has to give up partitions, in milliseconds."),
    ("leader", pa.bool_(), "Whether the member leads a classic group."),
    (
        "assignment",
        PARTITIONS,
        "Current assignment. For consumer and share groups, look up the topic ids in the table of topics.",
    ),
    ("target", PARTITIONS, "Target assignment, or null in classic groups."),
    ("tasks", TASKS, "Tasks of a streams group member."),
    ("process_id", pa.string(), "Process id of a streams member, which all members in the same process share."),
    ("reason", pa.string(), "Why the subscription or assignment of a classic member cannot be decoded."),
)
TRANSACTIONS = schema(
    ("transactional_id", pa.string(), "Transactional id of the producer."),
    ("state", pa.string(), "Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort or Dead."),
    ("producer_id", pa.int64(), "Producer id."),
    ("producer_epoch", pa.int16(), "Producer epoch."),
    ("previous_producer_id", pa.int64(), "Producer id before transaction version 2 changed it [KIP-890]."),
    ("timeout_ms", pa.int32(), "Transaction timeout, in milliseconds."),
    ("partitions", PARTITIONS, "Partitions of an unfinished transaction."),
    ("started", TIME, "When the transaction began."),
    ("updated", TIME, "When the transaction was last updated."),
    ("version", pa.int16(), "Transaction version of the client."),
    ("log_partition", pa.int32(), "Partition of __transaction_state."),
)
SHARE_STATES = schema(
    ("group", pa.string(), "Id of the share group."),
    ("topic", pa.string(), "Name of the topic, or null if the cluster metadata does not contain it."),
    ("topic_id", pa.string(), "Topic id."),
    ("partition", pa.int32(), "Number of the partition."),
    ("start_offset", pa.int64(), "Offset before which all records are finished, or -1 until the group has started."),
    ("batches", BATCHES, "Batches at or after the start offset that were delivered at least once."),
    ("state_epoch", pa.int32(), "Epoch of the group state, or null if the log contains updates but no snapshot."),
    ("snapshot_epoch", pa.int32(), "Number of the snapshot."),
    ("leader_epoch", pa.int32(), "Leader epoch of the partition leader that last wrote the state."),
    ("updated", TIME, "When the snapshot was written, regardless of later updates."),
    ("log_partition", pa.int32(), "Partition of __share_group_state."),
    ("log_offset", pa.int64(), "Offset of the last record in the partition of __share_group_state."),
)
TOPICS = schema(
    ("topic", pa.string(), "Name of the topic."),
    ("topic_id", pa.string(), "Topic id."),
    ("partition", pa.int32(), "Number of the partition."),
    ("leader", pa.int32(), "Broker id of the leader, or -1 if there is none."),
    ("leader_epoch", pa.int32(), "Leader epoch, which increases with each new leader."),
    ("partition_epoch", pa.int32(), "Partition epoch, which increases with each change."),
    ("replicas", NUMBERS, "Ids of the brokers with a replica."),
    ("isr", NUMBERS, "In-sync replicas."),
    ("adding", NUMBERS, "Replicas that a reassignment adds."),
    ("removing", NUMBERS, "Replicas that a reassignment removes."),
    ("elr", NUMBERS, "Eligible leader replicas outside the ISR [KIP-966]."),
    ("last_known_elr", NUMBERS, "Last known eligible leader replicas."),
)
BROKERS = schema(
    ("broker_id", pa.int32(), "Id of the broker."),
    ("epoch", pa.int64(), "Broker epoch, which is the offset of the record that registered the broker."),
    ("incarnation_id", pa.string(), "Id of the broker process."),
    ("rack", pa.string(), "Rack of the broker."),
    ("fenced", pa.bool_(), "Whether the broker is fenced, that is, out of service."),
    ("in_controlled_shutdown", pa.bool_(), "Whether the broker is in a controlled shutdown."),
    ("endpoints", ENDPOINTS, "Addresses of the broker's listeners."),
)
CONFIGS = schema(
    ("resource_type", pa.string(), "Type of the resource: TOPIC, BROKER, CLIENT_METRICS or GROUP."),
    ("resource", pa.string(), "Name of the resource, or empty for the default of all brokers."),
    ("name", pa.string(), "Name of the setting."),
    ("value", pa.string(), "Value of the setting, or [hidden] if it is secret."),
)
ACLS = schema(
    ("id", pa.string(), "Id of the ACL."),
    ("resource_type", pa.string(), "Type of the resource, such as TOPIC, GROUP or CLUSTER."),
    ("resource", pa.string(), "Name or prefix of the resource."),
    ("pattern_type", pa.string(), "Type of the pattern: LITERAL or PREFIXED."),
    ("principal", pa.string(), "Principal to which the ACL applies."),
    ("host", pa.string(), "Client host to which the ACL applies."),
    ("operation", pa.string(), "Operation, such as READ or WRITE."),
    ("permission", pa.string(), "Permission: ALLOW or DENY."),
)
SCRAM_USERS = schema(
    ("user", pa.string(), "Name of the user."),
    ("mechanism", pa.string(), "SCRAM mechanism: SCRAM-SHA-256 or SCRAM-SHA-512."),
    ("iterations", pa.int32(), "Number of hash iterations."),
)
FEATURES = schema(
    ("feature", pa.string(), "Feature name, such as metadata.version or group.version."),
    ("level", pa.int16(), "Finalized feature level."),
)
QUOTAS = schema(
    ("entity", ENTITY, "Entity to which the quota applies. A null name in the entity means the default."),
    ("key", pa.string(), "Name of the quota."),
    ("value", pa.float64(), "Value of the quota."),
)
UNDECODABLE = schema(
    ("topic", pa.string(), "Name of the internal topic."),
    ("partition", pa.int32(), "Partition of the internal topic."),
    ("offset", pa.int64(), "Offset of the record."),
    ("source", pa.string(), "Path of the file that contains the record."),
    ("position", pa.int64(), "Byte offset of the record batch in the file."),
    ("kind", pa.string(), "Kind of record, such as OffsetCommit, if known."),
    ("reason", pa.string(), "Why the record cannot be decoded."),
)
