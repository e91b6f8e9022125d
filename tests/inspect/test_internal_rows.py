"""Whole rows of the tables of internal topics, with a value of its own in each column."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
from syrupy.assertion import SnapshotAssertion

from kwire.uuids import Uuid
from kwire_inspect.schemas import EPOCH
from kwire_inspect.state import columns
from kwire_inspect.state.cluster import Acls, Brokers, Configs, Features, Quotas, ScramUsers, Topics
from kwire_inspect.state.groups import Groups, Members
from kwire_inspect.state.offsets import CommittedOffsets, Transactions
from kwire_inspect.state.shares import ShareStates
from kwire_kafka import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kwire_kafka.coordinator import consumer_group_current_member_assignment as current
from kwire_kafka.coordinator import consumer_group_member_metadata as metadata
from kwire_kafka.coordinator import consumer_group_target_assignment_member as target
from kwire_kafka.coordinator import share_snapshot, share_update, transaction_log
from kwire_kafka.coordinator import streams_group_current_member_assignment as streams
from kwire_kafka.coordinator.group_metadata import MemberMetadata
from kwire_kafka.data.consumer_protocol_assignment import TopicPartition
from kwire_kafka.metadata.client_quota_record import EntityData
from kwire_kafka.metadata.register_broker_record import BrokerEndpoint
from tests.inspect.test_internal_state import Rows, cluster, described, record, records, setting, state

A, B = Uuid(b"0123456789abcdef"), Uuid(b"fedcba9876543210")
Entry = tuple[bytes | None, bytes | None]
Row = dict[str, Any]


def at(seconds: int) -> datetime:
    return EPOCH + timedelta(seconds=seconds)


def rows(topic: str, new: Any, schema: pa.Schema, *found: Entry) -> Rows:
    """What these records come to, which begin at offset 40 of partition 7."""
    return state(new, schema, [records(f"/data/{topic}-7/{0:020}.log", dict(enumerate(found, 40)))])


def groups(*found: Entry) -> Rows:
    return rows("__consumer_offsets", Groups, columns.GROUPS, *found)


def members(*found: Entry) -> Rows:
    """Without columns that have no value."""
    whole = rows("__consumer_offsets", Members, columns.MEMBERS, *found)
    return [{name: value for name, value in row.items() if value is not None} for row in whole]


def test_columns(snapshot: SnapshotAssertion) -> None:
    """Their names, types and order, which readers of written tables rely on."""
    tables = {name: one for name, one in vars(columns).items() if isinstance(one, pa.Schema)}
    assert (
        "\n".join(f"{name}: {', '.join(f'{one.name} {one.type}' for one in table)}" for name, table in tables.items())
        == snapshot
    )


def test_committed_offsets() -> None:
    usual = Row(offset=5, metadata="m", commit_timestamp=1000)
    further: dict[int, Row] = {
        1: {"expire_timestamp": 2000},
        3: {"leader_epoch": 6},
        4: {"leader_epoch": 6, "topic_id": A},
    }
    entries = [
        record("OffsetCommit", {"group": "g", "topic": "t", "partition": version}, usual | known, version)
        for version, known in further.items()
    ]
    same = Row(group="g", topic="t", topic_id=None, offset=5, leader_epoch=-1, metadata="m")
    same |= Row(committed=at(1), expires=None, log_partition=7)
    assert rows("__consumer_offsets", CommittedOffsets, columns.COMMITTED, *entries) == [
        same | {"partition": 1, "expires": at(2), "log_offset": 40},
        same | {"partition": 3, "leader_epoch": 6, "log_offset": 41},
        same | {"partition": 4, "leader_epoch": 6, "topic_id": str(A), "log_offset": 42},
    ]


def test_times_after_the_year_9999_are_none() -> None:
    times = (253_402_300_799_999, 253_402_300_800_000)
    entries = [
        record("OffsetCommit", {"group": "g", "topic": "t", "partition": number}, {"commit_timestamp": time})
        for number, time in enumerate(times)
    ]
    found = rows("__consumer_offsets", CommittedOffsets, columns.COMMITTED, *entries)
    assert [row["committed"] and row["committed"].year for row in found] == [9999, None]


def classic(protocol_type: str, subscription: bytes, assignment: bytes) -> Entry:
    member = MemberMetadata(
        member_id="m",
        group_instance_id="i",
        client_id="c",
        client_host="/10.0.0.1",
        rebalance_timeout=60,
        session_timeout=10,
        subscription=subscription,
        assignment=assignment,
    )
    value = {"protocol_type": protocol_type, "generation": 4, "protocol": "range", "leader": "m"}
    value |= {"current_state_timestamp": 3000, "members": [member]}
    return record("GroupMetadata", {"group": "g"}, value, 3)


def test_a_classic_group() -> None:
    topics = [TopicPartition(topic="t", partitions=[0, 2])]
    subscription = b"\0\3" + ConsumerProtocolSubscription(topics=["t", "u"], rack_id="r").encode(3)
    assignment = b"\0\0" + ConsumerProtocolAssignment(assigned_partitions=topics).encode(0)
    group = classic("consumer", subscription, assignment)
    assert groups(group) == [
        Row(
            group="g",
            type="classic",
            protocol_type="consumer",
            protocol="range",
            state="Stable",
            epoch=4,
            assignment_epoch=None,
            leader="m",
            members=1,
            changed=at(3),
            log_partition=7,
        )
    ]
    member = Row(
        group="g",
        type="classic",
        member_id="m",
        instance_id="i",
        client_id="c",
        client_host="/10.0.0.1",
        epoch=4,
        session_timeout_ms=10,
        rebalance_timeout_ms=60,
        leader=True,
    )
    assigned = {"assignment": [{"topic": "t", "topic_id": None, "partitions": [0, 2]}]}
    assert members(group) == [member | {"topics": ["t", "u"], "rack": "r"} | assigned]
    assert members(classic("consumer", b"", b"")) == [member | {"assignment": []}]
    assert members(classic("connect", subscription, assignment)) == [member], "which has a protocol of its own"
    [cut] = members(classic("consumer", subscription, assignment[:-1]))
    assert cut.pop("reason").startswith("ConsumerProtocolAssignment")
    assert cut == member | {"topics": ["t", "u"], "rack": "r", "assignment": []}


def test_a_consumer_group() -> None:
    key, member = {"group_id": "g"}, {"group_id": "g", "member_id": "m"}
    told = metadata.ClassicMemberMetadata(session_timeout_ms=10, supported_protocols=[])
    facts = Row(instance_id="i", rack_id="r", client_id="c", client_host="/10.0.0.1")
    facts |= Row(subscribed_topic_names=["t"], subscribed_topic_regex="t.*", rebalance_timeout_ms=60)
    facts |= Row(server_assignor="uniform", classic_member_metadata=told)
    new = record("ConsumerGroupMemberMetadata", member, facts)
    begun = [new, record("ConsumerGroupMetadata", key, {"epoch": 3})]
    [row] = members(*begun)
    usual = Row(
        group="g",
        type="consumer",
        member_id="m",
        instance_id="i",
        client_id="c",
        client_host="/10.0.0.1",
        rack="r",
        topics=["t"],
        topic_regex="t.*",
        assignor="uniform",
        session_timeout_ms=10,
        rebalance_timeout_ms=60,
    )
    nothing: dict[str, Any] = {"epoch": 0, "previous_epoch": 0, "state": "Stable", "assignment": [], "target": []}
    assert row == usual | nothing
    [other] = members(record("ConsumerGroupMemberMetadata", member, facts | {"subscribed_topic_regex": ""}))
    assert other == {name: value for name, value in row.items() if name != "topic_regex"}
    has, wanted = (
        [part(topic_id=id, partitions=[1])] for part, id in ((current.TopicPartitions, A), (target.TopicPartition, B))
    )
    now = Row(member_epoch=4, previous_member_epoch=2, state=2, assigned_partitions=has)
    entries = [
        *begun,
        record("ConsumerGroupTargetAssignmentMetadata", key, {"assignment_epoch": 5}),
        record("ConsumerGroupTargetAssignmentMember", member, {"topic_partitions": wanted}),
        record("ConsumerGroupCurrentMemberAssignment", member, now),
    ]
    parts = [{"topic": None, "topic_id": str(id), "partitions": [1]} for id in (A, B)]
    changed = {"epoch": 4, "previous_epoch": 2, "state": "UnreleasedPartitions"}
    assert members(*entries) == [usual | changed | {"assignment": parts[:1], "target": parts[1:]}]
    group = Row(
        group="g",
        type="consumer",
        protocol_type=None,
        protocol=None,
        state="Reconciling",
        epoch=3,
        assignment_epoch=5,
        leader=None,
        members=1,
        changed=None,
        log_partition=7,
    )
    assert groups(*entries) == [group]
    gone = [
        record("ConsumerGroupTargetAssignmentMember", member, None),
        record("ConsumerGroupCurrentMemberAssignment", member, None),
        record("ConsumerGroupTargetAssignmentMetadata", key, None),
    ]
    assert members(*entries, *gone) == [usual | nothing]
    assert groups(*entries, *gone) == [group | {"state": "Assigning", "assignment_epoch": None}]
    left = record("ConsumerGroupMemberMetadata", member, None)
    assert (members(*entries, left), groups(*entries, left)) == ([], [group | {"state": "Empty", "members": 0}])


def test_a_member_of_a_share_group() -> None:
    member = {"group_id": "g", "member_id": "m"}
    facts = Row(rack_id="r", client_id="c", client_host="/10.0.0.1", subscribed_topic_names=["t"])
    assert members(record("ShareGroupMemberMetadata", member, facts)) == [
        Row(
            group="g",
            type="share",
            member_id="m",
            client_id="c",
            client_host="/10.0.0.1",
            rack="r",
            topics=["t"],
            epoch=0,
            previous_epoch=0,
            state="Stable",
            assignment=[],
            target=[],
        )
    ]


def test_a_member_of_a_streams_group() -> None:
    member = {"group_id": "g", "member_id": "m"}
    facts = Row(instance_id="i", rack_id="r", client_id="c", client_host="/10.0.0.1")
    facts |= Row(rebalance_timeout_ms=60, process_id="p")
    tasks = [streams.TaskIds(subtopology_id=name, partitions=[number]) for number, name in enumerate("ABC")]
    now = Row(member_epoch=4, previous_member_epoch=2, state=3)
    now |= {f"{kind}_tasks": [task] for kind, task in zip(("active", "standby", "warmup"), tasks, strict=True)}
    entries = [
        record("StreamsGroupMemberMetadata", member, facts),
        record("StreamsGroupCurrentMemberAssignment", member, now),
    ]
    assert members(*entries) == [
        Row(
            group="g",
            type="streams",
            member_id="m",
            instance_id="i",
            client_id="c",
            client_host="/10.0.0.1",
            rack="r",
            rebalance_timeout_ms=60,
            process_id="p",
            epoch=4,
            previous_epoch=2,
            state="UnreleasedTasks",
            tasks=[
                {"kind": "active", "subtopology": "A", "partitions": [0]},
                {"kind": "standby", "subtopology": "B", "partitions": [1]},
                {"kind": "warmup", "subtopology": "C", "partitions": [2]},
            ],
        )
    ]


def test_a_transaction() -> None:
    parts = [transaction_log.PartitionsSchema(topic="t", partition_ids=[0, 2])]
    whole = Row(producer_id=1, producer_epoch=3, transaction_timeout_ms=60, transaction_status=2)
    whole |= Row(transaction_partitions=parts, transaction_start_timestamp_ms=1000)
    whole |= Row(transaction_last_update_timestamp_ms=2000)
    newer = {"previous_producer_id": 8, "client_transaction_version": 2}
    entries = [
        record("TransactionLog", {"transactional_id": "a"}, whole, 0, "transaction"),
        record("TransactionLog", {"transactional_id": "b"}, whole | newer, 1, "transaction"),
    ]
    usual = Row(
        transactional_id="a",
        state="PrepareCommit",
        producer_id=1,
        producer_epoch=3,
        previous_producer_id=None,
        timeout_ms=60,
        started=at(1),
        updated=at(2),
        version=0,
        partitions=[{"topic": "t", "topic_id": None, "partitions": [0, 2]}],
        log_partition=7,
    )
    found = rows("__transaction_state", Transactions, columns.TRANSACTIONS, *entries)
    assert found == [usual, usual | {"transactional_id": "b", "previous_producer_id": 8, "version": 2}]


def test_the_progress_of_a_share_group() -> None:
    key = {"group_id": "g", "topic_id": A, "partition": 3}
    some, more = (
        [module.StateBatch(first_offset=first, last_offset=first + 1, delivery_state=number, delivery_count=count)]
        for module, first, number, count in ((share_snapshot, 10, 0, 1), (share_update, 11, 2, 1))
    )
    whole = Row(snapshot_epoch=2, state_epoch=3, leader_epoch=4, start_offset=10, write_timestamp=5000)
    before = record("ShareSnapshot", key, {"start_offset": 99}, log="share")
    snapshot = record("ShareSnapshot", key, whole | {"state_batches": some}, log="share")
    update = record("ShareUpdate", key, {"leader_epoch": -1, "start_offset": -1, "state_batches": more}, log="share")

    def found(*entries: Entry) -> Rows:
        return rows("__share_group_state", ShareStates, columns.SHARE_STATES, *entries)

    usual = Row(
        group="g",
        topic=None,
        topic_id=str(A),
        partition=3,
        start_offset=10,
        state_epoch=3,
        snapshot_epoch=2,
        leader_epoch=4,
        updated=at(5),
        log_partition=7,
    )
    available, done = ({"state": state, "deliveries": 1} for state in ("Available", "Acknowledged"))
    both = [available | {"first_offset": 10, "last_offset": 11}]
    assert found(before, snapshot) == [usual | {"batches": both, "log_offset": 41}]
    both = [available | {"first_offset": 10, "last_offset": 10}, done | {"first_offset": 11, "last_offset": 12}]
    assert found(snapshot, update) == [usual | {"batches": both, "log_offset": 41}]
    [alone] = found(update)
    assert (alone["state_epoch"], alone["updated"], alone["log_offset"]) == (None, None, 40)
    kept, gone = (record(name, key, None, log="share") for name in ("ShareUpdate", "ShareSnapshot"))
    assert len(found(snapshot, kept)) == 1
    assert found(snapshot, gone) == []


def test_topics() -> None:
    place = {"topic_id": A, "partition_id": 3}
    lists = ("replicas", "isr", "adding_replicas", "removing_replicas", "eligible_leader_replicas", "last_known_elr")
    own = {name: [number] for number, name in enumerate(lists)}
    topic = described("TopicRecord", name="t", topic_id=A)
    part = described("PartitionRecord", **place, **own, leader=1, leader_epoch=5, partition_epoch=6)

    def after(**change: Any) -> dict[str, Any]:
        changed = [described("PartitionChangeRecord", **place, **change)] if change else []
        [row] = cluster(Topics, columns.TOPICS, topic, part, *changed)
        return row

    whole = Row(
        topic="t",
        topic_id=str(A),
        partition=3,
        leader=1,
        leader_epoch=5,
        partition_epoch=6,
        replicas=[0],
        isr=[1],
        adding=[2],
        removing=[3],
        elr=[4],
        last_known_elr=[5],
    )
    assert after() == whole
    assert after(leader=2) == whole | {"leader": 2, "leader_epoch": 6, "partition_epoch": 7}
    assert after(leader=-1) == whole | {"leader": -1, "leader_epoch": 6, "partition_epoch": 7}
    names = ("replicas", "isr", "adding", "removing", "elr", "last_known_elr")
    for name, column in zip(lists, names, strict=True):
        assert after(**{name: [9]}) == whole | {column: [9], "partition_epoch": 7}
        assert after(**{name: []}) == whole | {column: [], "partition_epoch": 7}
    other = described("PartitionChangeRecord", topic_id=A, partition_id=4, leader=2)
    assert cluster(Topics, columns.TOPICS, topic, part, other) == [whole], "of a partition that is not there"
    cleared = {"elr": [], "last_known_elr": [], "partition_epoch": 7}
    clear = described("ClearElrRecord", topic_name="t")
    assert cluster(Topics, columns.TOPICS, topic, part, clear) == [whole | cleared]
    assert cluster(Topics, columns.TOPICS, topic, part, clear, clear) == [whole | cleared], "which changes nothing"
    without = described("PartitionChangeRecord", **place, eligible_leader_replicas=[])
    found = cluster(Topics, columns.TOPICS, topic, part, without, clear)
    assert found == [whole | cleared | {"partition_epoch": 8}], "since the last known ones were there"
    gone = described("RemoveTopicRecord", topic_id=A)
    assert cluster(Topics, columns.TOPICS, topic, part, gone) == []
    assert cluster(Topics, columns.TOPICS, topic, part, gone, topic) == [], "its partitions went with it"


def test_brokers() -> None:
    ends = [BrokerEndpoint(name="PLAINTEXT", host="h", port=9092, security_protocol=0)]
    ends += [BrokerEndpoint(name="x", host="i", port=1, security_protocol=77)]
    facts = Row(broker_id=1, broker_epoch=5, incarnation_id=A, rack="r", end_points=ends)
    registered = described("RegisterBrokerRecord", **facts, fenced=True, in_controlled_shutdown=True)
    whole = Row(
        broker_id=1,
        epoch=5,
        incarnation_id=str(A),
        rack="r",
        fenced=True,
        in_controlled_shutdown=True,
        endpoints=[
            {"name": "PLAINTEXT", "host": "h", "port": 9092, "protocol": "PLAINTEXT"},
            {"name": "x", "host": "i", "port": 1, "protocol": "77"},
        ],
    )
    fence, unfence = (described(f"{verb}BrokerRecord", id=1, epoch=5) for verb in ("Fence", "Unfence"))
    for fenced, more in ((True, []), (False, [unfence]), (True, [unfence, fence])):
        assert cluster(Brokers, columns.BROKERS, registered, *more) == [whole | {"fenced": fenced}]
    others = [described("UnfenceBrokerRecord", id=2, epoch=5)]
    others += [described("BrokerRegistrationChangeRecord", broker_id=2, fenced=-1)]
    assert cluster(Brokers, columns.BROKERS, registered, *others) == [whole]
    gone = described("UnregisterBrokerRecord", broker_id=1, broker_epoch=5)
    assert cluster(Brokers, columns.BROKERS, registered, gone) == []


def test_settings() -> None:
    found = cluster(Configs, columns.CONFIGS, setting("a.ms", "1", 2, "t"), setting("a.ms", "2", 77, "t"))
    assert found == [
        {"resource_type": "TOPIC", "resource": "t", "name": "a.ms", "value": "1"},
        {"resource_type": "77", "resource": "t", "name": "a.ms", "value": "2"},
    ]


def test_rules_of_access() -> None:
    facts = Row(resource_type=2, resource_name="t", pattern_type=3, principal="User:a", host="*")
    rule = described("AccessControlEntryRecord", id=A, **facts, operation=4, permission_type=3)
    whole = Row(
        id=str(A),
        resource_type="TOPIC",
        resource="t",
        pattern_type="LITERAL",
        principal="User:a",
        host="*",
        operation="WRITE",
        permission="ALLOW",
    )
    assert cluster(Acls, columns.ACLS, rule) == [whole]
    assert cluster(Acls, columns.ACLS, rule, described("RemoveAccessControlEntryRecord", id=B)) == [whole]
    assert cluster(Acls, columns.ACLS, rule, described("RemoveAccessControlEntryRecord", id=A)) == []


def test_users() -> None:
    secrets = {"salt": b"s", "stored_key": b"k", "server_key": b"v"}
    some = [
        described("UserScramCredentialRecord", name="u", mechanism=number, iterations=4096 + number, **secrets)
        for number in (1, 2)
    ]
    first = {"user": "u", "mechanism": "SCRAM-SHA-256", "iterations": 4097}
    second = {"user": "u", "mechanism": "SCRAM-SHA-512", "iterations": 4098}
    assert cluster(ScramUsers, columns.SCRAM_USERS, *some) == [first, second]
    gone = described("RemoveUserScramCredentialRecord", name="u", mechanism=1)
    assert cluster(ScramUsers, columns.SCRAM_USERS, *some, gone) == [second]


def test_features_and_quotas() -> None:
    level = described("FeatureLevelRecord", name="a", feature_level=1)
    assert cluster(Features, columns.FEATURES, level) == [{"feature": "a", "level": 1}]
    assert cluster(Features, columns.FEATURES, level, described("RemoveFeatureLevelRecord", name="a")) == []
    names = {"user": "u", "client-id": None}
    entity = [EntityData(entity_type=kind, entity_name=name) for kind, name in names.items()]
    some = [described("ClientQuotaRecord", entity=entity, key=key, value=2.5, remove=False) for key in "ab"]
    shown = [{"type": "user", "name": "u"}, {"type": "client-id", "name": None}]
    rows = [{"entity": shown, "key": key, "value": 2.5} for key in "ab"]
    assert cluster(Quotas, columns.QUOTAS, *some) == rows
    gone = described("ClientQuotaRecord", entity=entity[::-1], key="a", value=0, remove=True)
    assert cluster(Quotas, columns.QUOTAS, *some, gone) == rows[1:], "whatever order its parts are in"
