"""Messages that Kafka defines only in its code, in bytes that its own classes of 4.1.1 wrote."""

from __future__ import annotations

import pytest

from kwire.command import main
from kwire.errors import DecodeError
from kwire.interpreter import large
from kwire.logs import decode_record, decode_user_data, embedded
from kwire.message import too_many_values
from kwire.policy import LIKE_KAFKA
from kwire_kafka import (
    PROTOCOL,
    ConnectMemberAssignment,
    ConsumerProtocolSubscription,
    CooperativeStickyAssignorUserData,
    MirrorCheckpointKey,
    MirrorCheckpointValue,
    MirrorHeartbeatKey,
    MirrorHeartbeatValue,
    MirrorOffsetSyncKey,
    MirrorOffsetSyncValue,
    StickyAssignorUserData,
)
from kwire_kafka.api.describe_groups import DescribedGroup, DescribedGroupMember, DescribeGroupsResponse
from kwire_kafka.api.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kwire_kafka.api.sync_group import SyncGroupResponse
from kwire_kafka.data.connect_member_assignment import ConnectorTasks
from kwire_kafka.data.sticky_assignor_user_data import TopicPartitions

URL = "0013687474703a2f2f6c65616465723a383038332f"
SINK = "00000001000473696e6b00000003ffffffff0000000000000001"
REVOKED = "00000002000373726300000001ffffffff000473696e6b0000000100000001"
ASSIGNMENTS = {
    0: f"0000000000066c6561646572{URL}000000000000002a{SINK}",
    1: f"0001000000066c6561646572{URL}000000000000002a{SINK}{REVOKED}000493e0",
    2: f"0002000000066c6561646572{URL}000000000000002a{SINK}{REVOKED}000493e0",
}
METADATA = "000f687474703a2f2f6d653a383038332f000000000000002a"
CONNECT = "connect"


def tasks(connector: str, *numbers: int) -> ConnectorTasks:
    return ConnectorTasks(connector=connector, tasks=list(numbers))


@pytest.mark.parametrize("version", ASSIGNMENTS)
def test_assignments_of_workers(version: int) -> None:
    response = SyncGroupResponse(protocol_type=CONNECT, assignment=bytes.fromhex(ASSIGNMENTS[version]))
    [found] = embedded(PROTOCOL, response)
    wanted = ConnectMemberAssignment(
        leader="leader", leader_url="http://leader:8083/", config_offset=42, assignment=[tasks("sink", -1, 0, 1)]
    )
    if version:
        wanted = wanted.replace(revoked=[tasks("src", -1), tasks("sink", 1)], delay=300_000)
    assert (found.path, found.version, found.message) == ("assignment", version, wanted)
    assert wanted.encode(version).hex() == ASSIGNMENTS[version][4:]


@pytest.mark.parametrize(
    ("data", "version", "allocation"),
    [
        (f"0000{METADATA}", 0, None),
        (f"0001{METADATA}ffffffff", 1, None),
        (f"0002{METADATA}00000066{ASSIGNMENTS[2]}", 2, ASSIGNMENTS[2]),
    ],
)
def test_what_workers_say_of_themselves(data: str, version: int, allocation: str | None) -> None:
    raw = bytes.fromhex(data)
    request = JoinGroupRequest(protocol_type=CONNECT, protocols=[JoinGroupRequestProtocol(metadata=raw)])
    [found] = embedded(PROTOCOL, request)
    message = found.message
    assert message is not None
    assert (type(message).__name__, found.version) == ("ConnectMemberMetadata", version)
    assert message.encode(version) == raw[2:]
    assert getattr(message, "allocation") == (None if allocation is None else bytes.fromhex(allocation))  # noqa: B009


STICKY = StickyAssignorUserData(previous_assignment=[TopicPartitions(topic="t", partitions=[1, 2])], generation=7)


def test_user_data_of_the_assignors_is_read_by_their_names() -> None:
    """No version precedes it: the newest that fits is taken, as in Kafka's own class."""
    for assignor, data, wanted in (
        ("sticky", STICKY.encode(1), (1, STICKY)),
        ("sticky", STICKY.encode(0), (0, STICKY.replace(generation=-1))),
        ("cooperative-sticky", b"\0\0\0\7", (0, CooperativeStickyAssignorUserData(generation=7))),
    ):
        subscription = b"\0\3" + ConsumerProtocolSubscription(topics=["t"], user_data=data).encode(3)
        protocols = [JoinGroupRequestProtocol(name=name, metadata=subscription) for name in (assignor, "range")]
        found = embedded(PROTOCOL, JoinGroupRequest(protocol_type="consumer", protocols=protocols))
        assert [one.path for one in found] == [
            "protocols[0].metadata",
            "protocols[0].metadata.user_data",
            "protocols[1].metadata",
        ]
        assert (found[1].version, found[1].message) == wanted
        told = DescribedGroupMember(member_metadata=subscription)
        group = DescribedGroup(protocol_type="consumer", protocol_data=assignor, members=[told])
        described = embedded(PROTOCOL, DescribeGroupsResponse(groups=[group]))[-1]
        assert (described.path, described.message) == ("groups[0].members[0].member_metadata.user_data", wanted[1])
        assert decode_user_data(PROTOCOL, assignor, data) == wanted[1]
    with pytest.raises(DecodeError):
        decode_user_data(PROTOCOL, "sticky", STICKY.encode(1) + b"x")


MIRRORED = {
    "a.heartbeats": (
        ("00037372630003647374", "00000000018bcfe5687b"),
        MirrorHeartbeatKey(source_cluster_alias="src", target_cluster_alias="dst"),
        MirrorHeartbeatValue(timestamp=1_700_000_000_123),
    ),
    "src.checkpoints.internal": (
        (
            "000567726f7570000a7372632e6f726465727300000003",
            "0000000000000000004d000000000000003700046e6f7465",
        ),
        MirrorCheckpointKey(group="group", topic="src.orders", partition=3),
        MirrorCheckpointValue(upstream_offset=77, offset=55, metadata="note"),
    ),
    "mm2-offset-syncs.dst.internal": (
        ("00066f726465727300000003", "000000000000004d0000000000000037"),
        MirrorOffsetSyncKey(topic="orders", partition=3),
        MirrorOffsetSyncValue(upstream_offset=77, offset=55),
    ),
}


@pytest.mark.parametrize("topic", MIRRORED)
def test_records_of_mirror_maker(topic: str, capsys: pytest.CaptureFixture[str]) -> None:
    (key, value), wanted_key, wanted_value = MIRRORED[topic]
    record = decode_record(PROTOCOL, topic, bytes.fromhex(key), bytes.fromhex(value))
    assert (record.key, record.value, record.reason) == (wanted_key, wanted_value, None)
    assert main(["decode", "--topic", topic, "--key", key, "--value", value]) == 0
    told = capsys.readouterr().out
    assert f"{type(wanted_key).__name__} v0" in told
    assert f"{type(wanted_value).__name__} v0" in told


def test_records_of_mirror_maker_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    key = bytes.fromhex(MIRRORED["a.heartbeats"][0][0])
    for args, reason in (
        ((key, b"\0\1" + bytes(8)), "unknown version 1 of MirrorHeartbeatValue"),
        ((None, b"\0\0" + bytes(8)), "the record has no key"),
        ((key, b"\0"), "int16 needs 2 bytes"),
    ):
        found = decode_record(PROTOCOL, "heartbeats", *args).reason
        assert found is not None
        assert reason in found
    assert decode_record(PROTOCOL, "heartbeats", key, None).tombstone
    whole = PROTOCOL, "heartbeats", key + b"?", b"\0\0" + bytes(8) + b"?"
    assert decode_record(*whole, LIKE_KAFKA).value == MirrorHeartbeatValue(timestamp=0)
    assert "HeartbeatKey" in (decode_record(*whole).reason or "")
    deep = PROTOCOL, "heartbeats", key, b"\0\0" + bytes(8)
    assert decode_record(*deep, max_decoded=10).value == MirrorHeartbeatValue(timestamp=0)
    monkeypatch.setattr(large._Counting, "left", 1)
    assert decode_record(*deep, max_decoded=9).reason == too_many_values(deep[3])
    assert main(["decode", "--topic", "heartbeats", "--key", key.hex(), "--value", "0001aa"]) == 3
    assert main(["decode", "--topic", "heartbeats", "--key", key.hex(), "--value", "00"]) == 1
