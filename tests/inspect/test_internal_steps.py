"""What each record of an internal topic changes: the rows of all tables that it adds or takes away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest
from syrupy.assertion import SnapshotAssertion

from kwire.uuids import Uuid
from kwire_inspect.schemas import EPOCH, RECORDS
from kwire_inspect.state import columns
from kwire_inspect.state.cluster import Acls, Brokers, Configs, Features, Quotas, ScramUsers, Topics
from kwire_inspect.state.groups import Groups, Members
from kwire_inspect.state.offsets import CommittedOffsets, Transactions
from kwire_inspect.state.replay import Several, replay, undecodable_records
from kwire_inspect.state.shares import ShareStates
from kwire_kafka import ConsumerProtocolAssignment, ConsumerProtocolSubscription, EndTxnMarker
from kwire_kafka.coordinator import consumer_group_current_member_assignment as current
from kwire_kafka.coordinator import consumer_group_member_metadata as metadata
from kwire_kafka.coordinator import consumer_group_target_assignment_member as target
from kwire_kafka.coordinator import share_snapshot, share_update, transaction_log
from kwire_kafka.coordinator import streams_group_current_member_assignment as streams
from kwire_kafka.coordinator.group_metadata import MemberMetadata
from kwire_kafka.data.consumer_protocol_assignment import TopicPartition
from kwire_kafka.metadata.client_quota_record import EntityData
from kwire_kafka.metadata.register_broker_record import BrokerEndpoint
from tests.inspect.test_internal_state import Rows, described, record, records, setting, state

A, B, NONE = Uuid(b"0123456789abcdef"), Uuid(b"fedcba9876543210"), Uuid(bytes(16))
Entry = tuple[bytes | None, bytes | None]
Step = tuple[str, Entry | dict[str, Any]]
"""What a record says in words, and its key and value, or all columns of it that are not as usual."""

METADATA = {
    "topics": (Topics, columns.TOPICS),
    "brokers": (Brokers, columns.BROKERS),
    "configs": (Configs, columns.CONFIGS),
    "acls": (Acls, columns.ACLS),
    "users": (ScramUsers, columns.SCRAM_USERS),
    "features": (Features, columns.FEATURES),
    "quotas": (Quotas, columns.QUOTAS),
}
GROUPS = {
    "committed": (CommittedOffsets, columns.COMMITTED),
    "groups": (Groups, columns.GROUPS),
    "members": (Members, columns.MEMBERS),
}
TRANSACTIONS = {"transactions": (Transactions, columns.TRANSACTIONS)}
SHARES = {"shares": (ShareStates, columns.SHARE_STATES)}


def steps(topic: str, tables: Mapping[str, tuple[Any, pa.Schema]], told: Sequence[Step]) -> str:
    """What the records of a partition say, each with the rows that it adds (+) and takes away (-)."""
    batch = records(f"/data/{topic}-7/{0:020}.log", {40 + n: _entry(given) for n, (_, given) in enumerate(told)})
    rows = [
        row | (given if isinstance(given, dict) else {})
        for row, (_, given) in zip(batch.to_pylist(), told, strict=True)
    ]
    lines, before = list[str](), list[str]()
    for number, (words, _) in enumerate(told):
        found = pa.RecordBatch.from_pylist(rows[: number + 1], RECORDS)
        after = [line(name, row) for name, kind in tables.items() for row in state(*kind, [found])]
        lines += [words, *(f"  - {one}" for one in before if one not in after)]
        lines += [f"  + {one}" for one in after if one not in before]
        before = after
    return "\n".join([*lines, "in the end", *(f"  {one}" for one in before)])


def _entry(given: Entry | dict[str, Any]) -> Entry:
    return (given["key"], given["value"]) if isinstance(given, dict) else given


def line(name: str, row: dict[str, Any]) -> str:
    """A row of a table without its empty columns."""
    return " ".join([f"{name}:", *(f"{column}={_text(value)}" for column, value in row.items() if value is not None)])


def _text(value: Any) -> str:
    return f"{value - EPOCH}" if isinstance(value, datetime) else repr(value)


def partition(id: Uuid, number: int, **more: Any) -> Entry:
    usual = {"replicas": [1, 2], "isr": [1, 2], "leader": 1, "leader_epoch": 5, "partition_epoch": 9}
    return described("PartitionRecord", topic_id=id, partition_id=number, **usual | more)


def change(id: Uuid, number: int, **more: Any) -> Entry:
    return described("PartitionChangeRecord", topic_id=id, partition_id=number, **more)


def test_topics(snapshot: SnapshotAssertion) -> None:
    elr, last = {"eligible_leader_replicas": [3]}, {"last_known_elr": [4]}
    told: list[Step] = [
        ("topic a", described("TopicRecord", name="a", topic_id=A)),
        ("partition 1 of a", partition(A, 1, leader=2, adding_replicas=[5], removing_replicas=[6])),
        ("partition 0 of a", partition(A, 0, **elr, **last)),
        ("partition 0 of b, which has no name yet", partition(B, 0, **last)),
        ("an ISR of it", change(B, 0, isr=[2])),
        ("topic b", described("TopicRecord", name="b", topic_id=B)),
        ("a change of a partition that is not there", change(A, 7, leader=2)),
        ("a change of a topic that is not there", change(NONE, 0, leader=2)),
        ("nothing but a new epoch", change(A, 0)),
        ("an ISR", change(A, 0, isr=[1])),
        ("another leader", change(A, 0, leader=2)),
        ("the same leader again", change(A, 0, leader=2)),
        ("no leader", change(A, 0, leader=-1)),
        ("replicas that are added and removed", change(B, 0, adding_replicas=[3], removing_replicas=[1])),
        ("the end of that", change(B, 0, replicas=[2, 3], isr=[], adding_replicas=[], removing_replicas=[])),
        ("other eligible leaders", change(B, 0, eligible_leader_replicas=[4], last_known_elr=[5])),
        ("eligible leaders are cleared, of a", described("ClearElrRecord", topic_name="a")),
        ("of a again, where there are none", described("ClearElrRecord", topic_name="a")),
        ("partition 1 has a last eligible leader", change(A, 1, last_known_elr=[1])),
        ("of all topics", described("ClearElrRecord", topic_name="")),
        ("a setting of a", setting("x.ms", "1", 2, "a")),
        ("another setting of a", setting("y.ms", "2", 2, "a")),
        ("a setting of b", setting("x.ms", "3", 2, "b")),
        ("a setting of what is no topic", setting("x.ms", "4", 16, "a")),
        ("a has gone", described("RemoveTopicRecord", topic_id=A)),
        ("a topic that is not there has gone", described("RemoveTopicRecord", topic_id=NONE)),
        ("another topic a with the id of the first", described("TopicRecord", name="a", topic_id=A)),
        ("partition 0 of b as new", partition(B, 0)),
    ]
    assert steps("__cluster_metadata", METADATA, told) == snapshot


def broker(number: int, *protocols: int, **more: Any) -> Entry:
    ends = [
        BrokerEndpoint(name=f"E{kind}", host=f"h{number}", port=9090 + kind, security_protocol=kind)
        for kind in protocols
    ]
    return described("RegisterBrokerRecord", broker_id=number, end_points=ends, **more)


def test_brokers(snapshot: SnapshotAssertion) -> None:
    def changed(number: int, **change: int) -> Entry:
        return described("BrokerRegistrationChangeRecord", broker_id=number, **change)

    told: list[Step] = [
        ("broker 1", broker(1, 0, 3, 9, broker_epoch=20, incarnation_id=A, rack="r", fenced=True)),
        (
            "broker 2",
            broker(2, 1, broker_epoch=30, incarnation_id=B, rack=None, fenced=False, in_controlled_shutdown=True),
        ),
        ("1 goes on as it is", changed(1)),
        ("1 is unfenced", changed(1, fenced=-1)),
        ("1 is fenced", changed(1, fenced=1)),
        ("1 is unfenced by another record", described("UnfenceBrokerRecord", id=1)),
        ("1 is shut down", changed(1, in_controlled_shutdown=1)),
        ("1 is fenced then", changed(1, fenced=1, in_controlled_shutdown=1)),
        ("2 is fenced by another record", described("FenceBrokerRecord", id=2)),
        ("3 is fenced, which is not there", described("FenceBrokerRecord", id=3)),
        ("3 is unfenced", changed(3, fenced=-1)),
        ("3 has gone", described("UnregisterBrokerRecord", broker_id=3)),
        ("1 comes back", broker(1, broker_epoch=50, incarnation_id=B)),
        ("2 has gone", described("UnregisterBrokerRecord", broker_id=2)),
    ]
    assert steps("__cluster_metadata", METADATA, told) == snapshot


def test_settings_rules_users_and_quotas(snapshot: SnapshotAssertion) -> None:
    def rule(id: Uuid, **more: Any) -> Entry:
        usual = {"resource_type": 2, "resource_name": "t", "pattern_type": 3, "principal": "User:a", "host": "*"}
        return described("AccessControlEntryRecord", id=id, **usual, **more)

    def user(name: str, mechanism: int, iterations: int) -> Entry:
        return described("UserScramCredentialRecord", name=name, mechanism=mechanism, iterations=iterations)

    def quota(value: float, *entity: tuple[str, str | None], key: str = "rate", remove: bool = False) -> Entry:
        parts = [EntityData(entity_type=kind, entity_name=name) for kind, name in entity]
        return described("ClientQuotaRecord", entity=parts, key=key, value=value, remove=remove)

    default, alice, software = ("user", None), ("user", "alice"), ("client-id", "x")
    told: list[Step] = [
        ("a setting of all brokers", setting("log.retention.ms", "1")),
        ("of a broker", setting("log.retention.ms", "2", resource="1")),
        ("of a group", setting("consumer.session.timeout.ms", "3", 32, "g")),
        ("of something else", setting("x", "4", 99, "1")),
        ("a secret", setting("ssl.key.password", "hunter2", resource="1")),
        ("another value", setting("log.retention.ms", "5", resource="1")),
        ("an empty value", setting("log.retention.ms", "", resource="1")),
        ("no value", setting("log.retention.ms", None, resource="1")),
        ("no value again", setting("log.retention.ms", None, resource="1")),
        ("a rule", rule(A, operation=3, permission_type=3)),
        ("another rule", rule(B, operation=4, permission_type=2)),
        ("the first has gone", described("RemoveAccessControlEntryRecord", id=A)),
        ("it has gone again", described("RemoveAccessControlEntryRecord", id=A)),
        ("a user", user("a", 1, 4096)),
        ("the same with another mechanism", user("a", 2, 8192)),
        ("another user", user("b", 1, 5000)),
        ("the first changes the password", user("a", 1, 6000)),
        ("the first has gone", described("RemoveUserScramCredentialRecord", name="a", mechanism=1)),
        ("it has gone again", described("RemoveUserScramCredentialRecord", name="a", mechanism=1)),
        ("a feature", described("FeatureLevelRecord", name="f", feature_level=2)),
        ("another feature", described("FeatureLevelRecord", name="g", feature_level=1)),
        ("a new level", described("FeatureLevelRecord", name="f", feature_level=3)),
        ("none", described("FeatureLevelRecord", name="f", feature_level=0)),
        ("none again", described("FeatureLevelRecord", name="f", feature_level=0)),
        ("the other is removed", described("RemoveFeatureLevelRecord", name="g")),
        ("it is removed again", described("RemoveFeatureLevelRecord", name="g")),
        ("a quota of the default user", quota(1, default)),
        ("of a user without a name", quota(2, ("user", ""))),
        ("of a user with a client id", quota(3, alice, software)),
        ("of the same in another order", quota(4, software, alice)),
        ("of the user alone", quota(5, alice)),
        ("another quota of the user", quota(6, alice, key="other")),
        ("which is 0", quota(0, alice, key="other")),
        ("a quota of the user ends", quota(0, alice, remove=True)),
        ("and ends again", quota(0, alice, remove=True)),
    ]
    assert steps("__cluster_metadata", METADATA, told) == snapshot


def test_transactions_of_the_metadata(snapshot: SnapshotAssertion) -> None:
    begin, end, abort = (described(f"{verb}TransactionRecord") for verb in ("Begin", "End", "Abort"))
    feature = ("a feature", described("FeatureLevelRecord", name="f", feature_level=1))
    unknown = {"key": b"", "value": b"\1\x7f\0"}
    control = {"key": b"\0\3\0\0", "value": feature[1][1], "control": True}
    told: list[Step] = [
        ("a begins", begin),
        feature,
        ("a setting", setting("x.ms", "1")),
        ("another value", setting("x.ms", "2")),
        ("a ends", end),
        ("a setting without a transaction", setting("y.ms", "1")),
        ("an end of none", end),
        ("b begins", begin),
        ("a setting of b", setting("y.ms", "2")),
        ("b is aborted", abort),
        ("an end after that", end),
        ("c begins", begin),
        ("a setting of c", setting("z.ms", "3")),
        ("d begins instead", begin),
        ("a setting of d", setting("y.ms", "4")),
        ("d ends", end),
        ("a begin that is cut off", {"key": b"", "value": begin[1][:3] if begin[1] else b""}),
        ("a record of an unknown kind", unknown),
        ("a record of the log itself", control),
        ("a record that is cut off", {"key": b"", "value": described("TopicRecord", name="t", topic_id=A)[1][:9]}),
        ("a record without a value", {"key": b"", "value": None}),
        ("a setting after these", setting("y.ms", "5")),
    ]
    assert steps("__cluster_metadata", METADATA, told) == snapshot


def partitions(module: Any, kind: str, *given: tuple[Uuid, list[int]]) -> list[Any]:
    return [getattr(module, kind)(topic_id=id, partitions=numbers) for id, numbers in given]


def test_groups_of_consumers(snapshot: SnapshotAssertion) -> None:
    group, m, n = {"group_id": "g"}, {"group_id": "g", "member_id": "m"}, {"group_id": "g", "member_id": "n"}
    old = metadata.ClassicMemberMetadata(session_timeout_ms=70)
    first: dict[str, Any] = {"instance_id": "i", "rack_id": "r", "client_id": "c", "client_host": "/10.0.0.1"}
    first |= {"subscribed_topic_names": ["t", "u"], "rebalance_timeout_ms": 60, "server_assignor": "uniform"}
    first |= {"classic_member_metadata": None}
    other = {"client_id": "d", "client_host": "/10.0.0.2", "subscribed_topic_regex": "t.*"}
    both = (A, [0, 2]), (B, [1, 3])
    wanted = {"topic_partitions": partitions(target, "TopicPartition", *both)}
    has = {"assigned_partitions": partitions(current, "TopicPartitions", *both[:1])}

    def at(key: dict[str, str], value: dict[str, Any] | None, part: str) -> Entry:
        return record(f"ConsumerGroup{part}", key, value)

    def now(key: dict[str, str], epoch: int, before: int, state: int = 0, **more: Any) -> Entry:
        given = {"member_epoch": epoch, "previous_member_epoch": before, "state": state, **more}
        return at(key, given, "CurrentMemberAssignment")

    told: list[Step] = [
        ("a member of a group without a record", at(m, first, "MemberMetadata")),
        ("the group", at(group, {"epoch": 1}, "Metadata")),
        ("its assignment", at(group, {"assignment_epoch": 1}, "TargetAssignmentMetadata")),
        ("what m is to have", at(m, wanted, "TargetAssignmentMember")),
        ("what m has, which is a part", now(m, 1, 0, 1, **has)),
        ("m has all", now(m, 1, 1)),
        ("another member", at(n, other, "MemberMetadata")),
        ("n is there", now(n, 1, 0)),
        ("a new epoch", at(group, {"epoch": 2}, "Metadata")),
        ("assigned", at(group, {"assignment_epoch": 2}, "TargetAssignmentMetadata")),
        ("m follows", now(m, 2, 1)),
        ("n follows", now(n, 2, 1)),
        ("n waits for others", now(n, 2, 1, 2)),
        ("n is as a classic member", at(n, other | {"classic_member_metadata": old}, "MemberMetadata")),
        ("what n is to have", at(n, wanted, "TargetAssignmentMember")),
        ("n is to have nothing", at(n, None, "TargetAssignmentMember")),
        ("n has nothing", at(n, None, "CurrentMemberAssignment")),
        ("n has gone", at(n, None, "MemberMetadata")),
        ("n has gone again", at(n, None, "MemberMetadata")),
        ("a record that is cut off", {"key": at(m, None, "MemberMetadata")[0], "value": b"\0\0cut"}),
        ("a hash of what is subscribed", at(group, {"topics": []}, "PartitionMetadata")),
        ("no assignment", at(group, None, "TargetAssignmentMetadata")),
        ("m has gone", at(m, None, "MemberMetadata")),
        ("another group has a member", at({"group_id": "h", "member_id": "m"}, first, "MemberMetadata")),
        ("its assignment comes first", at({"group_id": "h"}, {"assignment_epoch": 0}, "TargetAssignmentMetadata")),
        ("whose epoch is 0", at({"group_id": "h"}, {"epoch": 0}, "Metadata")),
        ("its member is there", now({"group_id": "h", "member_id": "m"}, 0, -1)),
        ("the first has gone", at(group, None, "Metadata")),
        ("it has gone again", at(group, None, "Metadata")),
        ("its target has gone", at(group, None, "TargetAssignmentMetadata")),
        ("what m was to have has gone", at(m, None, "TargetAssignmentMember")),
    ]
    assert steps("__consumer_offsets", GROUPS, told) == snapshot


def test_groups_of_streams_and_shares(snapshot: SnapshotAssertion) -> None:
    def at(kind: str, part: str, value: dict[str, Any] | None, member: str = "") -> Entry:
        key = {"group_id": kind.lower()} | ({"member_id": member} if member else {})
        return record(f"{kind}Group{part}", key, value)

    def tasks(*names: str) -> list[Any]:
        return [streams.TaskIds(subtopology_id=name, partitions=[n, n + 2]) for n, name in enumerate(names)]

    facts: dict[str, Any] = {
        "instance_id": "i",
        "rack_id": "r",
        "client_id": "c",
        "client_host": "/10.0.0.1",
        "process_id": "p",
    }
    some = {"active_tasks": tasks("a", "b"), "standby_tasks": tasks("c"), "warmup_tasks": tasks("d")}
    shared = {"rack_id": "r", "client_id": "c", "client_host": "/10.0.0.1", "subscribed_topic_names": ["t", "u"]}
    told: list[Step] = []
    for kind, member in (("Streams", facts | {"rebalance_timeout_ms": 60}), ("Share", shared)):
        given = some if kind == "Streams" else {}
        told += [
            (f"{kind}: a group", at(kind, "Metadata", {"epoch": 2})),
            (f"{kind}: a member", at(kind, "MemberMetadata", member, "m")),
            (f"{kind}: an assignment", at(kind, "TargetAssignmentMetadata", {"assignment_epoch": 2})),
            (
                f"{kind}: its member has it",
                at(kind, "CurrentMemberAssignment", {"member_epoch": 2, "state": 1, **given}, "m"),
            ),
            (f"{kind}: another member", at(kind, "MemberMetadata", {"client_id": "d"}, "n")),
            (f"{kind}: which lags", at(kind, "CurrentMemberAssignment", {"member_epoch": 1, "state": 1}, "n")),
            (f"{kind}: another epoch", at(kind, "Metadata", {"epoch": 3})),
            (f"{kind}: a member has gone", at(kind, "MemberMetadata", None, "m")),
        ]
    told += [
        (
            "the group of streams is one of consumers",
            record("ConsumerGroupMetadata", {"group_id": "streams"}, {"epoch": 4}),
        ),
        ("the group of streams has gone", at("Streams", "Metadata", None)),
        ("the other group has gone", at("Share", "Metadata", None)),
    ]
    assert steps("__consumer_offsets", GROUPS, told) == snapshot


def test_classic_groups_and_offsets(snapshot: SnapshotAssertion) -> None:
    parts = [TopicPartition(topic="t", partitions=[0, 2]), TopicPartition(topic="u", partitions=[1])]
    subscription = b"\0\3" + ConsumerProtocolSubscription(topics=["t", "u"], rack_id="r").encode(3)
    assignment = b"\0\0" + ConsumerProtocolAssignment(assigned_partitions=parts).encode(0)

    def member(name: str, subscription: bytes = subscription, assignment: bytes = assignment) -> MemberMetadata:
        return MemberMetadata(
            member_id=name,
            group_instance_id="i",
            client_id="c",
            client_host="/10.0.0.1",
            session_timeout=50,
            rebalance_timeout=60,
            subscription=subscription,
            assignment=assignment,
        )

    def classic(name: str, *members: MemberMetadata, kind: str = "consumer", **more: Any) -> Entry:
        usual = {"protocol_type": kind, "generation": 3, "protocol": "range", "leader": "m"}
        return record("GroupMetadata", {"group": name}, usual | {"members": [*members], **more}, 3)

    def commit(group: str, partition: int, offset: int | None, version: int = 1, **more: Any) -> dict[str, Any]:
        given = None if offset is None else {"offset": offset, "metadata": "x", "commit_timestamp": 1000, **more}
        key, value = record("OffsetCommit", {"group": group, "topic": "t", "partition": partition}, given, version)
        return {"key": key, "value": value}

    by = {"transactional": True, "producer_id": 9}
    end = {"control": True, **by, "value": b"\0\0" + EndTxnMarker(coordinator_epoch=0).encode(0)}
    legacy = record("LegacyOffsetCommit", {"group": "l", "topic": "t", "partition": 0}, {"offset": 1})
    told: list[Step] = [
        ("a group without members", classic("g", current_state_timestamp=2000)),
        ("with two", classic("g", member("m"), member("n"), generation=4)),
        (
            "whose bytes are others",
            classic(
                "g",
                member("m", b"\0\0\0"),
                member("n", b"", b""),
                member("o", assignment=b"\0"),
                member("p", assignment=b""),
            ),
        ),
        ("a group of Connect", classic("c", member("m"), kind="connect")),
        ("an offset of another group", commit("h", 0, 5)),
        ("another partition, which expires", commit("h", 1, 6, expire_timestamp=7000)),
        ("a newer offset with its epoch", commit("h", 0, 7, 4, leader_epoch=8, topic_id=A)),
        ("an offset of the first group", commit("g", 0, 9)),
        ("an offset of a transaction", commit("g", 0, 10) | by),
        ("which is committed", end | {"key": b"\0\0\0\1"}),
        ("one of another transaction", commit("g", 1, 11) | by),
        ("which is aborted", end | {"key": b"\0\0\0\0"}),
        ("an offset of an old broker", legacy),
        ("one has gone", commit("h", 1, None)),
        ("the last of its group has gone", commit("h", 0, None)),
        ("the first group has gone", record("GroupMetadata", {"group": "g"}, None)),
        ("one that is not there has gone", record("GroupMetadata", {"group": "x"}, None)),
        ("a record that is cut off", {"key": record("GroupMetadata", {"group": "c"}, None)[0], "value": b"\0\0cut"}),
        ("a record of an unknown kind", {"key": b"\0\x7f", "value": b"\0\0"}),
        (
            "the group of Connect is one of consumers",
            record("ConsumerGroupMetadata", {"group_id": "c"}, {"epoch": 5}),
        ),
        ("it is no classic one any more", record("GroupMetadata", {"group": "c"}, None)),
        ("and is one again", classic("c", kind="")),
    ]
    assert steps("__consumer_offsets", GROUPS, told) == snapshot


def test_transactions(snapshot: SnapshotAssertion) -> None:
    def status(name: str, number: int, version: int = 1, **more: Any) -> Entry:
        usual = {
            "producer_id": 7,
            "producer_epoch": 2,
            "transaction_timeout_ms": 60_000,
            "transaction_status": number,
        }
        usual |= {"transaction_start_timestamp_ms": 3001, "transaction_last_update_timestamp_ms": 4000}
        return record("TransactionLog", {"transactional_id": name}, usual | more, version, "transaction")

    parts = [
        transaction_log.PartitionsSchema(topic="t", partition_ids=[0, 1]),
        transaction_log.PartitionsSchema(topic="u", partition_ids=[2]),
    ]
    gone = record("TransactionLog", {"transactional_id": "a"}, None, log="transaction")
    never: dict[str, Any] = {
        "producer_epoch": -1,
        "transaction_partitions": None,
        "transaction_start_timestamp_ms": -1,
    }
    told: list[Step] = [
        ("none yet", status("a", 0, **never)),
        ("one", status("a", 1, transaction_partitions=parts)),
        ("one of another id", status("b", 2, 0, transaction_partitions=parts[1:])),
        ("the first is over", status("a", 5, previous_producer_id=6, client_transaction_version=2)),
        ("a record that is cut off", {"key": gone[0], "value": b"\0\0cut"}),
        ("the other is dead", status("b", 6)),
        ("and again", status("b", 6)),
        ("one that is fenced", status("d", 7)),
        ("a state without a name", status("c", 99, previous_producer_id=0)),
        ("the first has gone", gone),
        ("it has gone again", gone),
    ]
    assert steps("__transaction_state", TRANSACTIONS, told) == snapshot


def test_shares(snapshot: SnapshotAssertion) -> None:
    def at(
        kind: str,
        partition: int,
        *batches: tuple[int, int, int, int],
        gone: bool = False,
        group: str = "g",
        **more: int,
    ) -> Entry:
        module = share_snapshot if kind == "Snapshot" else share_update
        names = ("first_offset", "last_offset", "delivery_state", "delivery_count")
        found = [module.StateBatch(**dict(zip(names, one, strict=True))) for one in batches]
        key = {"group_id": group, "topic_id": A, "partition": partition}
        return record(f"Share{kind}", key, None if gone else more | {"state_batches": found}, log="share")

    whole: dict[str, Any] = {
        "snapshot_epoch": 2,
        "state_epoch": 3,
        "leader_epoch": 4,
        "start_offset": 10,
        "write_timestamp": 5000,
    }
    same: dict[str, Any] = {"leader_epoch": -1, "start_offset": -1}
    told: list[Step] = [
        (
            "an update without a snapshot",
            at("Update", 1, (0, 4, 0, 1), snapshot_epoch=1, leader_epoch=2, start_offset=0),
        ),
        ("a snapshot", at("Snapshot", 0, (5, 9, 2, 1), (8, 14, 0, 1), (15, 15, 0, 1), **whole)),
        ("an update", at("Update", 0, (12, 16, 2, 2), snapshot_epoch=9, **same)),
        ("one of the next leader", at("Update", 0, snapshot_epoch=2, start_offset=-1, leader_epoch=5)),
        ("one of a new start", at("Update", 0, snapshot_epoch=2, leader_epoch=-1, start_offset=13)),
        ("a start before it", at("Update", 0, snapshot_epoch=2, leader_epoch=-1, start_offset=12)),
        ("what is adjacent", at("Update", 0, (17, 18, 2, 2), (19, 19, 4, 2), (21, 22, 4, 2), **same)),
        ("fewer deliveries", at("Update", 0, (18, 19, 4, 1), **same)),
        ("a record that is cut off", {"key": at("Update", 0, gone=True)[0], "value": b"\0\0cut"}),
        ("an update has gone", at("Update", 0, gone=True)),
        ("another snapshot", at("Snapshot", 0, (30, 31, 0, 1), **whole | {"start_offset": 31, "leader_epoch": 6})),
        ("a snapshot of another group", at("Snapshot", 0, (1, 1, 0, 1), group="h", **whole | {"start_offset": 0})),
        ("a snapshot has gone", at("Snapshot", 0, gone=True)),
        ("it has gone again", at("Snapshot", 0, gone=True)),
        ("a record of the log itself", {"key": at("Snapshot", 1, gone=True)[0], "value": None, "control": True}),
    ]
    assert steps("__share_group_state", SHARES, told) == snapshot


@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_partitions_snapshots_and_logs_of_any_batches(size: int) -> None:
    """Each partition begins anew, each snapshot too, and the log goes on where the last snapshot ends."""

    def file(name: str, first: int, *given: tuple[str, str]) -> Rows:
        values = {first + n: setting(name, value) for n, (name, value) in enumerate(given)}
        made: Rows = records(f"/data/{name}", values).to_pylist()
        return made

    topic, first, second = "__cluster_metadata", f"{0:020}.log", f"{4:020}.log"
    snapshots = [f"{end:020}-{1:010}.checkpoint" for end in (2, 3)]
    rows = [
        *file(f"{topic}-0/{snapshots[0]}", 0, ("x.ms", "old"), ("gone.ms", "old")),
        *file(f"{topic}-0/{snapshots[1]}", 0, ("x.ms", "new")),
        *file(f"{topic}-0/{first}", 0, ("x.ms", "0"), ("x.ms", "1"), ("y.ms", "2"), ("z.ms", "3")),
        *file(f"{topic}-0/{second}", 4, ("x.ms", "4"), ("y.ms", "5")),
        *file(f"/other/{topic}-0/{second}", 4, ("x.ms", "twice"), ("y.ms", "twice"), ("w.ms", "6")),
        *file(f"{topic}-1/{first}", 0, ("x.ms", "of 1")),
        *file(f"{topic}-2/bootstrap.checkpoint", 0, ("x.ms", "first"), ("y.ms", "first")),
        *file(f"{topic}-2/{first}", 0, ("x.ms", "of 2")),
    ]
    given = [pa.RecordBatch.from_pylist(rows[at : at + size], RECORDS) for at in range(0, len(rows), size)]
    found = list(replay(iter(given), Configs, columns.CONFIGS))
    assert [[(row["name"], row["value"]) for row in batch.to_pylist()] for batch in found] == [
        [("x.ms", "4"), ("z.ms", "3"), ("y.ms", "5"), ("w.ms", "6")],
        [("x.ms", "of 1")],
        [("x.ms", "of 2"), ("y.ms", "first")],
    ]


def test_states_of_the_same_records() -> None:
    """Each row is below the name of its state."""
    given = [described("FeatureLevelRecord", name=name, feature_level=1) for name in "ab"] + [setting("x.ms", "1")]
    log = records(f"/data/__cluster_metadata-0/{0:020}.log", dict(enumerate(given)))
    schema = pa.schema(
        [(name, pa.struct(list(kind))) for name, kind in (("f", columns.FEATURES), ("c", columns.CONFIGS))]
    )
    found = state(lambda: Several({"f": Features, "c": Configs}), schema, [log])
    one = {"resource_type": "BROKER", "resource": "", "name": "x.ms", "value": "1"}
    assert found == [{"f": {"feature": name, "level": 1}, "c": None} for name in "ab"] + [{"f": None, "c": one}]


@pytest.mark.parametrize("count", [0, 1, 8191, 8192, 8193, 16384])
def test_rows_come_in_batches_of_a_bounded_size(count: int) -> None:
    class Many:
        def add(self, row: object) -> None: ...

        def rows(self) -> list[dict[str, Any]]:
            return [{"feature": str(number), "level": 1} for number in range(count)]

    found = list(replay([], Many, columns.FEATURES))
    assert [row["feature"] for batch in found for row in batch.to_pylist()] == [str(n) for n in range(count)]
    assert [batch.num_rows for batch in found] == [8192] * (count // 8192) + [count % 8192] * bool(count % 8192)


def test_records_that_are_skipped_say_why() -> None:
    """A record that was left out has the reason of its row."""
    group, _ = record("GroupMetadata", {"group": "g"}, None)
    place, commit = record("OffsetCommit", {"group": "g", "topic": "t", "partition": 0}, {"offset": 5})
    topic = "__consumer_offsets"
    source = f"/data/{topic}-7/{0:020}.log"
    some = {3: (group, b"\0\0cut"), 4: (place, commit), 5: (group, None), 6: (b"\0\x7f", b"\0\0")}
    first = records(source, some).to_pylist()
    first[0] |= {"position": 100}
    left_out = records(source, {8: (place, None)}).to_pylist()[0] | {"value": b"", "problem": "too large: 99"}
    control = records(source, {9: (b"\0", None)}).to_pylist()[0] | {"control": True}
    given = [pa.RecordBatch.from_pylist(rows, RECORDS) for rows in (first, [first[1]], [left_out, control])]
    found = [batch.to_pylist() for batch in undecodable_records(given)]
    usual = {"topic": topic, "partition": 7, "source": source, "position": None}
    assert found == [
        [
            usual | {"offset": 3, "position": 100, "kind": "GroupMetadata", "reason": found[0][0]["reason"]},
            usual | {"offset": 6, "kind": None, "reason": found[0][1]["reason"]},
        ],
        [
            usual | {"offset": 8, "kind": "OffsetCommit", "reason": "too large: 99"},
            usual | {"offset": 9, "kind": "unknown", "reason": "unknown control record of type -1"},
        ],
    ]
    assert found[0][0]["reason"].startswith("GroupMetadataValue v0")
    assert "127" in found[0][1]["reason"]
