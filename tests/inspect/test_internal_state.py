"""What internal topics come to: equal to what Kafka's own snapshot says, and to what the runtime adds up."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.logs import committed_offsets
from kwire.records import Record, encode_batch, encode_control
from kwire.uuids import Uuid
from kwire_inspect.schemas import RECORDS
from kwire_inspect.segments import record_batches, segment_files, splits
from kwire_inspect.state import columns
from kwire_inspect.state.cluster import Acls, Brokers, Configs, Features, Quotas, ScramUsers, Topics
from kwire_inspect.state.groups import Groups, Members
from kwire_inspect.state.offsets import CommittedOffsets, Transactions, topic_id
from kwire_inspect.state.replay import replay, undecodable_records
from kwire_inspect.state.shares import ShareStates, combined
from kwire_inspect.tables import groups
from kwire_kafka import PROTOCOL, EndTxnMarker, TransactionLogKey, TransactionLogValue
from kwire_kafka.coordinator.group_metadata import MemberMetadata
from kwire_kafka.metadata.client_quota_record import EntityData
from tests.support.log_files import LOGS, TIMES, segment
from tests.support.report_rows import table_of

RELEASES = ("4.1.1", "4.1.1-running", "3.9.1")
CLUSTER = (
    (Topics, columns.TOPICS),
    (Configs, columns.CONFIGS),
    (Acls, columns.ACLS),
    (ScramUsers, columns.SCRAM_USERS),
    (Features, columns.FEATURES),
    (Brokers, columns.BROKERS),
)
Rows = list[dict[str, Any]]


def batches(*paths: Path) -> list[pa.RecordBatch]:
    files = segment_files(map(str, paths), [str(path) for path in paths])
    return [batch for group in splits(files) for batch in record_batches(group, RECORDS)]


def state(new: Any, schema: pa.Schema, found: Iterable[pa.RecordBatch]) -> Rows:
    return [row for batch in replay(found, new, schema) for row in batch.to_pylist()]


def offsets_log(release: str) -> Path:
    return LOGS / release / "__consumer_offsets-0" / f"{0:020}.log"


@pytest.mark.parametrize("release", RELEASES)
def test_offsets_are_those_of_the_runtime(release: str) -> None:
    found = state(CommittedOffsets, columns.COMMITTED, batches(offsets_log(release)))
    expected = committed_offsets(PROTOCOL, offsets_log(release).parent)
    assert {
        (row["group"], row["topic"], row["partition"]): (row["offset"], row["metadata"], row["log_offset"])
        for row in found
    } == {place: (value.offset, value.metadata, value.record_offset) for place, value in expected.items()}
    assert len(found) == len(expected) >= 3


@pytest.mark.parametrize(("new", "schema"), CLUSTER, ids=lambda value: getattr(value, "__name__", ""))
def test_the_log_up_to_a_snapshot_comes_to_that_snapshot(new: Any, schema: pa.Schema) -> None:
    """Kafka's controller wrote the snapshot at offset 260 from the same records: nobody knows better."""
    folder = LOGS / "4.1.1" / "__cluster_metadata-0"
    log = pa.Table.from_batches(batches(folder / f"{0:020}.log"))
    before = log.filter(pc.less(log["offset"], 260)).to_batches()
    snapshot = batches(folder / "00000000000000000260-0000000001.checkpoint")
    expected = state(new, schema, snapshot)
    key = str
    assert sorted(state(new, schema, before), key=key) == sorted(expected, key=key)
    assert expected or new is Acls
    # With both, the log goes on from the snapshot: as if all of the log had been read.
    both = state(new, schema, [*snapshot, *log.to_batches()])
    assert sorted(both, key=key) == sorted(state(new, schema, log.to_batches()), key=key)


@pytest.mark.parametrize("release", RELEASES[:2])
def test_last_records_are_those_that_kafka_printed(release: str) -> None:
    """From what DumpLogSegments says: the last record of each classic group and of each consumer group's epoch."""
    printed = [json.loads(line) for line in (LOGS / f"{release}.jsonl").read_text("utf-8").splitlines()]
    last: dict[tuple[int, str], Any] = {}
    for row in printed:
        if row["file"].startswith("__consumer_offsets") and row.get("type") in (2, 3, 11, 17):
            group = row["key"].get("group") or row["key"]["groupId"]
            last[row["type"], group] = None if row.get("tombstone") else row["value"]
    alive = {group: (type, value) for (type, group), value in last.items() if value is not None}
    found = {row["group"]: row for row in state(Groups, columns.GROUPS, batches(offsets_log(release)))}
    kinds = {2: "classic", 3: "consumer", 11: "share", 17: "streams"}
    assert {
        group: (kinds[type], value.get("epoch", value.get("generation"))) for group, (type, value) in alive.items()
    } == {group: (row["type"], row["epoch"]) for group, row in found.items() if row["epoch"] is not None}
    assert alive


def test_transactions_are_the_last_that_kafka_printed() -> None:
    printed = [json.loads(line) for line in (LOGS / "4.1.1.jsonl").read_text("utf-8").splitlines()]
    last = {
        row["key"]["transactionalId"]: row["value"]
        for row in printed
        if row["file"].startswith("__transaction_state")
    }
    log = LOGS / "4.1.1" / "__transaction_state-0" / f"{0:020}.log"
    found = state(Transactions, columns.TRANSACTIONS, batches(log))
    names = {0: "Empty", 4: "CompleteCommit", 5: "CompleteAbort"}
    assert {
        row["transactional_id"]: (row["state"], row["producer_id"], row["producer_epoch"], row["timeout_ms"])
        for row in found
    } == {
        name: (
            names[value["transactionStatus"]],
            value["producerId"],
            value["producerEpoch"],
            value["transactionTimeoutMs"],
        )
        for name, value in last.items()
        if value is not None
    }


def test_share_groups_are_what_kafka_printed() -> None:
    """Up to each offset of the sample, as its tombstones leave nothing at the end."""
    printed = [json.loads(line) for line in (LOGS / "4.1.1.jsonl").read_text("utf-8").splitlines()]
    printed = [row for row in printed if row["file"].startswith("__share_group_state")]
    log = pa.Table.from_batches(batches(LOGS / "4.1.1" / "__share_group_state-0" / f"{0:020}.log"))
    last: dict[tuple[str, int], Any] = {}
    for row in printed:
        place = row["key"]["groupId"], row["key"]["partition"]
        if row.get("tombstone"):
            del last[place]
        else:
            last[place] = row["value"]["startOffset"], row["value"]["leaderEpoch"]
        upto = log.filter(pc.less_equal(log["offset"], row["offset"])).to_batches()
        found = state(ShareStates, columns.SHARE_STATES, upto)
        assert {
            (each["group"], each["partition"]): (each["start_offset"], each["leader_epoch"]) for each in found
        } == last
        if row["offset"] == 4:  # two updates have come to one partition
            [[first, second]] = [each["batches"] for each in found if each["partition"] == 0]
            assert first == {"first_offset": 0, "last_offset": 14, "state": "Available", "deliveries": 0}
            assert second == {"first_offset": 15, "last_offset": 20, "state": "Acknowledged", "deliveries": 1}
    assert last == {}


SOME_BATCHES = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 12), st.integers(0, 3), st.sampled_from([0, 2, 4])), max_size=8
)


@given(drawn=SOME_BATCHES, start=st.integers(-1, 20))
def test_batches_of_share_groups_are_combined_offset_by_offset(drawn: list[Any], start: int) -> None:
    given = [(first, first + length, count, number) for first, length, count, number in drawn]
    expected: dict[int, tuple[int, int]] = {}
    for first, last, count, number in given:
        for offset in range(max(first, start), last + 1):
            expected[offset] = max((count, number), expected.get(offset, (-1, -1)))
    found = combined(given, start)
    assert {
        offset: (count, number) for first, last, count, number in found for offset in range(first, last + 1)
    } == expected
    assert all(one[1] < two[0] for one, two in pairwise(found))
    assert not any(one[1] + 1 == two[0] and one[2:] == two[2:] for one, two in pairwise(found))


@pytest.mark.parametrize("release", RELEASES)
def test_what_cannot_be_read_is_told(release: str) -> None:
    """Kafka's own tool of 4.1.1 cannot read it either."""
    printed = [json.loads(line) for line in (LOGS / f"{release}.jsonl").read_text("utf-8").splitlines()]
    errors = {(row["file"], row["offset"]) for row in printed if "error" in row}
    paths = [path for path in (LOGS / release).rglob("*.log") if path.parent.name.startswith("__")]
    found = [row for batch in undecodable_records(batches(*paths)) for row in batch.to_pylist()]
    assert {(Path(row["source"]).relative_to(LOGS / release).as_posix(), row["offset"]) for row in found} == errors
    assert all(row["reason"] for row in found)
    assert errors or release != "3.9.1"


def record(
    name: str, key: dict[str, Any], value: dict[str, Any] | None, version: int = 0, log: str = "group"
) -> tuple[bytes, bytes | None]:
    key_class: Any = PROTOCOL[f"{name}Key"]
    value_class: Any = PROTOCOL[f"{name}Value"]
    [number] = [each for each in PROTOCOL.record_types(log) if PROTOCOL.record(log, each)[0] is key_class]
    made = number.to_bytes(2) + key_class(**key).encode(0)
    return made, None if value is None else version.to_bytes(2) + value_class(**value).encode(version)


class Log:
    """A partition of ``__consumer_offsets``, made by hand."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.data, self.offset = folder, b"", 0

    def put(self, name: str, key: dict[str, Any], value: dict[str, Any] | None, **settings: Any) -> Log:
        made = Record(*record(name, key, value), (), TIMES, self.offset)
        self.data += encode_batch([made], transactional="producer_id" in settings, **settings)
        self.offset += 1
        return self

    def end(self, name: str, producer_id: int) -> Log:
        marker = encode_control(name, EndTxnMarker(coordinator_epoch=0), offset=self.offset)
        self.data += encode_batch([marker], control=True, transactional=True, producer_id=producer_id)
        self.offset += 1
        return self

    def state(self, new: Any, schema: pa.Schema) -> Rows:
        return state(new, schema, batches(segment(self.folder, self.data, name="__consumer_offsets-7")))


def commit(log: Log, offset: int | None, **settings: Any) -> Log:
    key = {"group": "g", "topic": "t", "partition": 0}
    return log.put("OffsetCommit", key, None if offset is None else {"offset": offset}, **settings)


def offset(log: Log) -> list[int]:
    return [row["offset"] for row in log.state(CommittedOffsets, columns.COMMITTED)]


def test_offsets_of_transactions_count_from_their_commit(tmp_path: Path) -> None:
    log = commit(commit(Log(tmp_path), 1), 5, producer_id=9)
    assert offset(log) == [1]
    assert offset(log.end("abort", 9)) == [1]
    assert offset(commit(log, 6, producer_id=9).end("commit", 9)) == [6]
    assert offset(commit(commit(log, 7, producer_id=9), 8).end("commit", 9)) == [8]  # committed since: stays
    assert offset(commit(log, None)) == []
    assert offset(log.end("commit", 9)) == []  # of a transaction without offsets: earlier ones are over
    assert offset(commit(log, 9, producer_id=9).end("abort", 9).end("commit", 9)) == []


def records(source: str, values: Mapping[int, tuple[bytes | None, bytes | None]]) -> pa.RecordBatch:
    """Rows of RECORDS, by offset, of a file whose folder names topic and partition."""
    topic, _, partition = Path(source).parent.name.rpartition("-")
    usual = {"source": source, "topic": topic, "partition": int(partition), "producer_id": -1} | dict.fromkeys(
        ("transactional", "control"), False
    )
    rows = [usual | {"offset": offset, "key": key, "value": value} for offset, (key, value) in values.items()]
    return pa.RecordBatch.from_pylist(rows, RECORDS)


def described(kind: str, /, **fields: Any) -> tuple[None, bytes]:
    """A metadata record in its newest version."""
    cls: Any = PROTOCOL[kind]
    [number] = [each for each in PROTOCOL.record_types("metadata") if PROTOCOL.record("metadata", each)[1] is cls]
    version = cls.VALID_VERSIONS[-1]
    return None, bytes([1, number, version]) + cls(**fields).encode(version)


def setting(name: str, value: str | None, kind: int = 4, resource: str = "") -> tuple[None, bytes]:
    return described("ConfigRecord", resource_type=kind, resource_name=resource, name=name, value=value)


def cluster(new: Any, schema: pa.Schema, *values: tuple[None, bytes]) -> Rows:
    """What these records of the metadata come to."""
    return state(new, schema, [records(f"{METADATA}/{0:020}.log", dict(enumerate(values)))])


def settings_of(*values: tuple[None, bytes]) -> dict[str, str]:
    return {row["name"]: row["value"] for row in cluster(Configs, columns.CONFIGS, *values)}


METADATA = "/data/__cluster_metadata-0"


@pytest.mark.parametrize("ends", [(0,), (1,), (3,), (4,), (1, 3)], ids=str)
def test_the_log_goes_on_where_the_newest_snapshot_ends(ends: tuple[int, ...]) -> None:
    """That is at its end offset, which is not part of it."""
    snapshots = [
        records(
            f"{METADATA}/{end:020}-{1:010}.checkpoint",
            {number: setting(f"{number}.size", f"snapshot {end}") for number in range(end)}
            | {end: setting(f"of-{end}.size", "gone later")},
        )
        for end in ends
    ]
    log = records(f"{METADATA}/{0:020}.log", {number: setting(f"{number}.size", "log") for number in range(4)})
    found = {row["name"]: row["value"] for row in state(Configs, columns.CONFIGS, [*snapshots, log])}
    newest = ends[-1]
    log_settings = {f"{number}.size": f"snapshot {newest}" if number < newest else "log" for number in range(4)}
    assert found == log_settings | {f"of-{newest}.size": "gone later"}, "each starts over"


def test_each_partition_has_a_state_of_its_own() -> None:
    key, value = record("OffsetCommit", {"group": "g", "topic": "t", "partition": 0}, {"offset": 5})
    logs = [records(f"/data/__consumer_offsets-{number}/{0:020}.log", {0: (key, value)}) for number in (3, 4)]
    found = state(CommittedOffsets, columns.COMMITTED, logs)
    assert [(row["group"], row["log_partition"]) for row in found] == [("g", 3), ("g", 4)]


def test_records_of_a_metadata_transaction_count_when_it_has_ended_and_not_if_it_is_aborted() -> None:
    begin, end, abort = (described(f"{verb}TransactionRecord") for verb in ("Begin", "End", "Abort"))
    a, b, c = (setting(name, "x") for name in "abc")
    assert set(settings_of(a, begin, b)) == {"a"}
    assert set(settings_of(a, begin, b, end, c)) == {"a", "b", "c"}
    assert set(settings_of(a, begin, b, abort, c)) == {"a", "c"}


def test_settings_that_are_secrets_are_hidden_and_those_without_a_value_are_gone() -> None:
    some = [setting("ssl.key.password", "hunter2"), setting("a.ms", "1"), setting("b.ms", "2")]
    some += [setting("a.ms", None), setting("plugin", "3")]
    assert settings_of(*some) == {"ssl.key.password": "[hidden]", "b.ms": "2", "plugin": "[hidden]"}


def test_with_a_topic_go_its_settings_and_no_others() -> None:
    id = Uuid(b"0123456789abcdef")
    same_name = [setting("topic", "x", 2, "t"), setting("metrics", "x", 16, "t"), setting("other", "x", 2, "u")]
    topic, gone = described("TopicRecord", name="t", topic_id=id), described("RemoveTopicRecord", topic_id=id)
    assert set(settings_of(topic, *same_name)) == {"topic", "metrics", "other"}
    assert set(settings_of(topic, *same_name, gone)) == {"metrics", "other"}


def test_what_changes_of_a_broker() -> None:
    steps = [described("RegisterBrokerRecord", broker_id=1, fenced=True)]

    def after(**change: int) -> tuple[bool, bool]:
        steps.append(described("BrokerRegistrationChangeRecord", broker_id=1, **change))
        [row] = cluster(Brokers, columns.BROKERS, *steps)
        return row["fenced"], row["in_controlled_shutdown"]

    assert after() == (True, False)
    assert after(fenced=-1) == (False, False)
    assert after(in_controlled_shutdown=1) == (False, True)
    assert after() == (False, True)
    assert after(fenced=1) == (True, True)


def test_a_feature_of_level_0_is_gone() -> None:
    told = ("a", 1), ("b", 2), ("a", 0)
    steps = [described("FeatureLevelRecord", name=name, feature_level=level) for name, level in told]
    found = [cluster(Features, columns.FEATURES, *steps[:count]) for count in (2, 3)]
    assert [{row["feature"]: row["level"] for row in rows} for rows in found] == [{"a": 1, "b": 2}, {"b": 2}]


def test_quotas_of_a_default_and_of_a_name_are_different() -> None:
    def quota(name: str | None, value: float, remove: bool = False) -> tuple[None, bytes]:
        entity = [EntityData(entity_type="user", entity_name=name)]
        return described("ClientQuotaRecord", entity=entity, key="rate", value=value, remove=remove)

    steps = [quota(None, 1), quota("", 2), quota("bob", 3), quota("bob", 4)]

    def found() -> dict[str | None, float]:
        rows = cluster(Quotas, columns.QUOTAS, *steps)
        return {row["entity"][0]["name"]: row["value"] for row in rows}

    assert found() == {None: 1, "": 2, "bob": 4}
    steps += [quota("", 0, remove=True)]
    assert found() == {None: 1, "bob": 4}


def test_eligible_leaders_of_one_topic_or_of_all_are_cleared() -> None:
    steps = []
    for name in "ab":
        id = Uuid(name.encode() * 16)
        part = described("PartitionRecord", partition_id=0, topic_id=id, eligible_leader_replicas=[1])
        steps += [described("TopicRecord", name=name, topic_id=id), part]

    def left(cleared: str) -> list[str]:
        rows = cluster(Topics, columns.TOPICS, *steps, described("ClearElrRecord", topic_name=cleared))
        return [row["topic"] for row in rows if row["elr"]]

    assert (left("other"), left("a"), left("")) == (["a", "b"], ["b"], [])


def test_a_transactional_id_that_is_dead_or_deleted_has_no_state() -> None:
    def status(number: int) -> bytes:
        return b"\0\0" + TransactionLogValue(producer_id=7, transaction_status=number).encode(0)

    alive, dead, gone = (b"\0\0" + TransactionLogKey(transactional_id=name).encode(0) for name in ("a", "d", "g"))
    values = {
        0: (alive, status(1)),
        1: (dead, status(4)),
        2: (gone, status(5)),
        3: (dead, status(6)),
        4: (gone, None),
    }
    log = records(f"/data/__transaction_state-0/{0:020}.log", values)
    found = state(Transactions, columns.TRANSACTIONS, [log])
    assert [(row["transactional_id"], row["state"]) for row in found] == [("a", "Ongoing")]
    again = records(f"/data/__transaction_state-0/{5:020}.log", {5: (dead, status(99))})
    found = state(Transactions, columns.TRANSACTIONS, [log, again])
    assert {row["transactional_id"]: row["state"] for row in found} == {"a": "Ongoing", "d": "unknown 99"}


def test_a_group_that_only_commits_is_an_empty_classic_one(tmp_path: Path) -> None:
    [group] = commit(Log(tmp_path), 1).state(Groups, columns.GROUPS)
    told = {"group": "g", "type": "classic", "protocol_type": "", "state": "Empty", "members": 0, "log_partition": 7}
    assert group == dict.fromkeys(columns.GROUPS.names) | told


def consumer(log: Log, epoch: int, assigned: int, member: int) -> Log:
    group, of_member = {"group_id": "c"}, {"group_id": "c", "member_id": "m"}
    log.put("ConsumerGroupMemberMetadata", of_member, {"client_id": "x", "subscribed_topic_names": ["t"]})
    log.put("ConsumerGroupMetadata", group, {"epoch": epoch})
    log.put("ConsumerGroupTargetAssignmentMetadata", group, {"assignment_epoch": assigned})
    return log.put("ConsumerGroupCurrentMemberAssignment", of_member, {"member_epoch": member})


@pytest.mark.parametrize(
    ("epochs", "expected"), [((3, 2, 2), "Assigning"), ((3, 3, 2), "Reconciling"), ((3, 3, 3), "Stable")]
)
def test_states_of_consumer_groups(tmp_path: Path, epochs: tuple[int, int, int], expected: str) -> None:
    log = consumer(Log(tmp_path), *epochs)
    [group] = log.state(Groups, columns.GROUPS)
    assert (group["type"], group["state"], group["epoch"], group["members"]) == ("consumer", expected, 3, 1)
    [member] = log.state(Members, columns.MEMBERS)
    assert (member["client_id"], member["topics"], member["epoch"]) == ("x", ["t"], epochs[2])
    log.put("ConsumerGroupMemberMetadata", {"group_id": "c", "member_id": "m"}, None)
    assert log.state(Groups, columns.GROUPS)[0]["state"] == "Empty"
    log.put("GroupMetadata", {"group": "c"}, None)  # of a classic group that it was before
    assert log.state(Groups, columns.GROUPS)
    log.put("ConsumerGroupMetadata", {"group_id": "c"}, None)
    assert log.state(Groups, columns.GROUPS) == []


def test_a_tombstone_of_a_member_whose_record_is_gone_changes_nothing(tmp_path: Path) -> None:
    """Compaction removes the record first, and the tombstone later."""
    log = consumer(Log(tmp_path), 3, 3, 3)
    before = log.state(Members, columns.MEMBERS)
    for part in ("MemberMetadata", "TargetAssignmentMember", "CurrentMemberAssignment"):
        log.put(f"ConsumerGroup{part}", {"group_id": "c", "member_id": "gone"}, None)
    assert log.state(Members, columns.MEMBERS) == before


def test_another_member_state_than_stable_is_reconciling(tmp_path: Path) -> None:
    log = consumer(Log(tmp_path), 3, 3, 3)
    key = {"group_id": "c", "member_id": "m"}
    log.put("ConsumerGroupCurrentMemberAssignment", key, {"member_epoch": 3, "state": 1})
    assert log.state(Groups, columns.GROUPS)[0]["state"] == "Reconciling"
    assert log.state(Members, columns.MEMBERS)[0]["state"] == "UnrevokedPartitions"


@pytest.mark.parametrize(
    ("number", "member", "group"),
    [(1, "Stable", "Stable"), (2, "UnrevokedTasks", "Reconciling"), (0, "unknown 0", "Reconciling")],
)
def test_members_of_streams_groups_have_states_of_their_own(
    tmp_path: Path, number: int, member: str, group: str
) -> None:
    """They begin with 1, those of consumer groups with 0."""
    key = {"group_id": "s", "member_id": "m"}
    log = Log(tmp_path).put("StreamsGroupMetadata", {"group_id": "s"}, {"epoch": 3})
    log.put("StreamsGroupMemberMetadata", key, {"client_id": "x"})
    log.put("StreamsGroupTargetAssignmentMetadata", {"group_id": "s"}, {"assignment_epoch": 3})
    log.put("StreamsGroupCurrentMemberAssignment", key, {"member_epoch": 3, "state": number})
    assert [row["state"] for row in log.state(Groups, columns.GROUPS)] == [group]
    assert [row["state"] for row in log.state(Members, columns.MEMBERS)] == [member]


def test_share_groups_do_not_reconcile(tmp_path: Path) -> None:
    log = Log(tmp_path).put("ShareGroupMetadata", {"group_id": "s"}, {"epoch": 3})
    assert [row["state"] for row in log.state(Groups, columns.GROUPS)] == ["Empty"]
    log.put("ShareGroupMemberMetadata", {"group_id": "s", "member_id": "m"}, {"client_id": "x"})
    assert [row["state"] for row in log.state(Groups, columns.GROUPS)] == ["Stable"]


def test_classic_groups_with_and_without_members(tmp_path: Path) -> None:
    members = [MemberMetadata(member_id=name, subscription=b"", assignment=b"") for name in ("m1", "m2")]
    log = Log(tmp_path)
    for name, within in (("with", members), ("without", [])):
        value = {"protocol_type": "consumer", "generation": 4, "leader": "m2", "members": within}
        log.put("GroupMetadata", {"group": name}, value)
    found = {row["group"]: (row["state"], row["members"], row["epoch"]) for row in log.state(Groups, columns.GROUPS)}
    assert found == {"with": ("Stable", 2, 4), "without": ("Empty", 0, 4)}
    leaders = {row["member_id"]: row["leader"] for row in log.state(Members, columns.MEMBERS)}
    assert leaders == {"m1": False, "m2": True}


def test_a_tombstone_of_another_kind_deletes_no_group(tmp_path: Path) -> None:
    log = Log(tmp_path).put("GroupMetadata", {"group": "g"}, {"protocol_type": "consumer", "members": []})
    log.put("ConsumerGroupMemberMetadata", {"group_id": "g", "member_id": "m"}, None)
    log.put("ConsumerGroupMetadata", {"group_id": "g"}, None)
    assert [(row["group"], row["type"]) for row in log.state(Groups, columns.GROUPS)] == [("g", "classic")]


def test_a_value_that_cannot_be_read_is_no_tombstone() -> None:
    group, _ = record("GroupMetadata", {"group": "g"}, None)
    _, value = record("GroupMetadata", {"group": "g"}, {"protocol_type": "consumer", "members": []})
    place, committed = record("OffsetCommit", {"group": "g", "topic": "t", "partition": 0}, {"offset": 5})
    source = f"/data/__consumer_offsets-0/{0:020}.log"
    log = records(source, {0: (group, value), 1: (place, committed), 2: (group, b"\0\0cut"), 3: (place, b"\0\0cut")})
    assert [row["protocol_type"] for row in state(Groups, columns.GROUPS, [log])] == ["consumer"]
    assert [row["offset"] for row in state(CommittedOffsets, columns.COMMITTED, [log])] == [5]
    id, status = record("TransactionLog", {"transactional_id": "a"}, {"transaction_status": 1}, log="transaction")
    log = records(f"/data/__transaction_state-0/{0:020}.log", {0: (id, status), 1: (id, b"\0\0cut")})
    assert [row["state"] for row in state(Transactions, columns.TRANSACTIONS, [log])] == ["Ongoing"]


def test_an_update_of_a_share_group_leaves_what_it_does_not_name() -> None:
    key = {"group_id": "s", "topic_id": Uuid(b"0123456789abcdef"), "partition": 0}
    whole = {"snapshot_epoch": 2, "leader_epoch": 4, "start_offset": 10}
    source = f"/data/__share_group_state-0/{0:020}.log"

    def after(**update: int) -> tuple[int, int]:
        values = {0: record("ShareSnapshot", key, whole, log="share")}
        values[1] = record("ShareUpdate", key, {"leader_epoch": -1, "start_offset": -1} | update, log="share")
        [row] = state(ShareStates, columns.SHARE_STATES, [records(source, values)])
        return row["start_offset"], row["leader_epoch"]

    assert after() == (10, 4)
    assert after(start_offset=12) == (12, 4)
    assert after(leader_epoch=5) == (10, 5)


def test_share_groups_have_the_name_of_the_only_topic_of_a_cluster() -> None:
    id = Uuid(b"0123456789abcdef")
    topic = records(
        f"/data/__cluster_metadata-0/{0:020}.log",
        {
            0: described("TopicRecord", name="orders", topic_id=id),
            1: described("PartitionRecord", partition_id=0, topic_id=id),
        },
    )
    key = {"group_id": "s", "topic_id": id, "partition": 0}
    share = record("ShareSnapshot", key, {"snapshot_epoch": 2, "leader_epoch": 4, "start_offset": 10}, log="share")
    rows = topic.to_pylist() + records(f"/data/__share_group_state-0/{0:020}.log", {0: share}).to_pylist()
    assert [row["topic"] for row in groups.share_states(table_of(RECORDS, *rows)).rows()] == ["orders"]


def test_a_record_of_two_replicas_counts_once(tmp_path: Path) -> None:
    log = consumer(commit(Log(tmp_path), 1), 1, 1, 1)
    path = segment(tmp_path, log.data, name="__consumer_offsets-7")
    once = pa.Table.from_batches(batches(path))
    twice = pa.concat_tables([once, once]).sort_by("offset").to_batches()
    assert state(Groups, columns.GROUPS, twice) == state(Groups, columns.GROUPS, once.to_batches())


def test_an_id_of_all_zeros_is_none() -> None:
    assert topic_id(Uuid(bytes(16))) is None
    assert topic_id(None) is None
    assert topic_id(Uuid(bytes(15) + b"\1")) == "AAAAAAAAAAAAAAAAAAAAAQ"


def test_whatever_order_records_are_stored_in_the_newest_snapshot_counts_and_then_the_log() -> None:
    """The newest by its end, and of two with the same end by its epoch; one of another replica counts once."""
    sources = {
        f"{METADATA}/bootstrap.checkpoint": [setting("a.ms", "bootstrap"), setting("only.ms", "bootstrap")],
        f"{METADATA}/{2:020}-{9:010}.checkpoint": [setting("a.ms", "2"), setting("b.ms", "2")],
        f"{METADATA}/{10:020}-{1:010}.checkpoint": [setting("a.ms", "10")],
        f"{METADATA}/{10:020}-{2:010}.checkpoint": [setting("a.ms", "10, epoch 2"), setting("c.ms", "3")],
        f"/other{METADATA}/{0:020}.log": [setting("b.ms", "log")] * 10
        + [setting("c.ms", "log"), setting("d.ms", "log")],
        f"{METADATA}/{10:020}.log": [setting("c.ms", "log")],
    }
    found = [
        records(source, dict(enumerate(values, 10 * source.endswith("10.log")))) for source, values in sources.items()
    ]
    rows = [row for batch in found for row in batch.to_pylist()]
    for order in (rows, rows[::-1], sorted(rows, key=lambda row: row["value"])):
        state = {row["name"]: row["value"] for row in groups.configs(table_of(RECORDS, *order)).rows()}
        assert state == {"a.ms": "10, epoch 2", "c.ms": "log", "d.ms": "log"}


def test_the_log_goes_on_after_what_the_disk_was_formatted_with() -> None:
    """The offsets of ``bootstrap.checkpoint`` are its own."""
    bootstrap, log = [setting("a.ms", "first"), setting("b.ms", "first")], [setting("a.ms", "log")]
    files = {"bootstrap.checkpoint": bootstrap, f"{0:020}.log": log}
    found = [records(f"{METADATA}/{name}", dict(enumerate(values))) for name, values in files.items()]
    rows = [row for batch in found for row in batch.to_pylist()]
    state = {row["name"]: row["value"] for row in groups.configs(table_of(RECORDS, *rows)).rows()}
    assert state == {"a.ms": "log", "b.ms": "first"}


def test_the_first_of_what_cannot_be_decoded_is_named() -> None:
    usual = {"topic": "__share_group_state", "key": b"\x7f\xffwhat", "value": b"", "control": False}
    places = [(2, 1, "a", 0), (1, 9, "a", 5), (1, 3, "b", 7), (1, 3, "b", 2)]
    names = ("partition", "offset", "source", "position")
    rows = [usual | dict(zip(names, place, strict=True)) for place in places]
    rows += [row | {"topic": "orders"} for row in rows]
    (found,) = groups.undecodable(table_of(RECORDS, *rows)).rows()
    assert tuple(found[name] for name in ("records", *names)) == (4, 1, 3, "b", 2)
    for topic in ("__consumer_offsets", "__transaction_state", "__cluster_metadata"):
        assert len(list(groups.undecodable(table_of(RECORDS, rows[0] | {"topic": topic})).rows())) == 1


OFFSETS_TOPIC, METADATA_TOPIC = "__consumer_offsets", "__cluster_metadata"


@pytest.mark.parametrize(
    ("name", "topic", "new", "schema", "has_names"),
    [
        ("committed_offsets", OFFSETS_TOPIC, CommittedOffsets, columns.COMMITTED, False),
        ("groups", OFFSETS_TOPIC, Groups, columns.GROUPS, False),
        ("members", OFFSETS_TOPIC, Members, columns.MEMBERS, True),
        ("share_states", "__share_group_state", ShareStates, columns.SHARE_STATES, True),
        ("transactions", "__transaction_state", Transactions, columns.TRANSACTIONS, False),
        ("topics", METADATA_TOPIC, Topics, columns.TOPICS, False),
        ("brokers", METADATA_TOPIC, Brokers, columns.BROKERS, False),
        ("configs", METADATA_TOPIC, Configs, columns.CONFIGS, False),
        ("acls", METADATA_TOPIC, Acls, columns.ACLS, False),
        ("scram_users", METADATA_TOPIC, ScramUsers, columns.SCRAM_USERS, False),
        ("features", METADATA_TOPIC, Features, columns.FEATURES, False),
        ("quotas", METADATA_TOPIC, Quotas, columns.QUOTAS, False),
    ],
)
def test_each_table_is_replayed_from_its_topic_with_the_messages_of_a_package(
    monkeypatch: pytest.MonkeyPatch, name: str, topic: str, new: Any, schema: pa.Schema, has_names: bool
) -> None:
    calls: list[tuple[Any, ...]] = []

    def mapped(table: Any, takes: pa.Schema, function: Any, gives: pa.Schema, **how: Any) -> str:
        calls.append((table, takes, function.keywords, gives, how))
        return "made"

    monkeypatch.setattr(groups, "query", lambda text, **tables: (text.format(**tables)))
    monkeypatch.setattr(groups, "map_batches", mapped)
    monkeypatch.setattr(groups, "names_by_id", lambda made: f"names that were {made}")

    def call(topic: str, new: Any, schema: pa.Schema, names: str | None) -> tuple[Any, ...]:
        work = {"new": new, "schema": schema, "protocol": "package", "names": names}
        how = {"by": "partition", "order": groups.ORDER}
        return f"SELECT * FROM records WHERE topic = '{topic}'", groups.REPLAYED, work, schema, how

    assert getattr(groups, name)("records", "package") == "made"
    expected = [call(topic, new, schema, "names that were made" if has_names else None)]
    assert calls == [call(METADATA_TOPIC, Topics, columns.TOPICS, None)] * has_names + expected


def test_groups_are_replayed_once_for_three_tables() -> None:
    found = [row for batch in batches(offsets_log("4.1.1-running")) for row in batch.to_pylist()]
    records = table_of(RECORDS, *found)
    with groups.coordinated(records) as tables:
        assert [*tables] == ["committed", "groups", "members"]
        for name, function in (
            ("committed", groups.committed_offsets),
            ("groups", groups.groups),
            ("members", groups.members),
        ):
            expected = sorted(str(row) for row in function(records).rows())
            assert sorted(str(row) for row in tables[name].rows()) == expected != []


def test_what_cannot_be_decoded_is_counted_by_topic_kind_and_reason() -> None:
    """The first is that of the first partition, and then of the least offset."""
    bad = {"key": b"\0\1\xff", "value": b"\0\0", "control": False, "source": "f"}
    places = [(1, 5, 50), (0, 9, 90), (0, 8, 80), (0, 8, 79)]
    rows: Rows = [
        {"topic": topic, "partition": partition, "offset": offset, "position": position} | bad
        for topic in (OFFSETS_TOPIC, "__share_group_state", "__transaction_state", "orders")
        for partition, offset, position in places
    ]
    rows.append(rows[0] | {"key": b"\0\2\xff"})
    found = groups.undecodable(table_of(RECORDS, *rows)).rows()
    told = [(*[row[name] for name in ("topic", "records", "partition", "offset", "position")],) for row in found]
    assert sorted(told) == [
        (OFFSETS_TOPIC, 1, 1, 5, 50),
        (OFFSETS_TOPIC, 4, 0, 8, 79),
        ("__share_group_state", 4, 0, 8, 79),
        ("__transaction_state", 4, 0, 8, 79),
    ]
