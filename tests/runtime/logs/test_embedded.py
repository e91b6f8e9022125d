"""Subscriptions and assignments of consumers, wherever messages carry them."""

from __future__ import annotations

import pytest

from kwire.errors import DecodeError
from kwire.logs import decode_assignment, decode_subscription, embedded
from kwire.logs.embedded import USER_DATA, decode_user_data
from kwire.message import Message
from kwire.policy import LIKE_KAFKA
from kwire_kafka import PROTOCOL
from kwire_kafka.api import describe_groups, join_group, sync_group
from kwire_kafka.coordinator import consumer_group_member_metadata, group_metadata
from kwire_kafka.data.consumer_protocol_assignment import ConsumerProtocolAssignment
from kwire_kafka.data.consumer_protocol_assignment import TopicPartition as Assigned
from kwire_kafka.data.consumer_protocol_subscription import ConsumerProtocolSubscription, TopicPartition

SUBSCRIPTION = ConsumerProtocolSubscription(
    topics=["orders"], owned_partitions=[TopicPartition(topic="orders", partitions=[1])], generation_id=4, rack_id="r"
)
ASSIGNMENT = ConsumerProtocolAssignment(assigned_partitions=[Assigned(topic="orders", partitions=[0, 2])])


def prefixed(message: Message, version: int, extra: bytes = b"") -> bytes:
    return version.to_bytes(2, "big", signed=True) + message.encode(min(version, 3)) + extra


WANTS, GIVES = prefixed(SUBSCRIPTION, 3), prefixed(ASSIGNMENT, 3)


@pytest.mark.parametrize("version", range(4))
def test_trap_40_an_int16_version_precedes_them(version: int) -> None:
    wanted = ConsumerProtocolSubscription(topics=["orders"], user_data=b"\1")
    assert decode_subscription(PROTOCOL, prefixed(wanted, version)) == wanted
    assert decode_assignment(PROTOCOL, prefixed(ASSIGNMENT, version)) == ASSIGNMENT


@pytest.mark.parametrize("extra", [b"", b"a field of the future"])
def test_trap_40_unknown_higher_versions_are_read_as_the_highest_known(extra: bytes) -> None:
    assert decode_subscription(PROTOCOL, prefixed(SUBSCRIPTION, 4, extra)) == SUBSCRIPTION
    assert decode_assignment(PROTOCOL, prefixed(ASSIGNMENT, 300, extra)) == ASSIGNMENT


def test_known_versions_have_nothing_behind_them() -> None:
    with pytest.raises(DecodeError, match="1 trailing byte") as caught:
        decode_subscription(PROTOCOL, WANTS + b"x")
    assert (caught.value.message_name, caught.value.version) == ("ConsumerProtocolSubscription", 3)
    assert caught.value.offset == len(WANTS)
    assert decode_subscription(PROTOCOL, WANTS + b"x", LIKE_KAFKA) == SUBSCRIPTION


@pytest.mark.parametrize("data", [b"", b"\0", b"\xff\xff\0\0\0\0", b"\0\3\0\0", WANTS[:-1]])
def test_broken_bytes_are_errors(data: bytes) -> None:
    with pytest.raises(DecodeError):
        decode_subscription(PROTOCOL, data)


def member(**fields: bytes) -> group_metadata.MemberMetadata:
    return group_metadata.MemberMetadata(**fields)  # type: ignore[arg-type]


def test_groups_of_consumers() -> None:
    value = group_metadata.GroupMetadataValue(
        protocol_type="consumer", members=[member(subscription=WANTS, assignment=GIVES), member(subscription=WANTS)]
    )
    found = embedded(PROTOCOL, value)
    assert [(each.path, each.version, each.message, each.reason) for each in found] == [
        ("members[0].subscription", 3, SUBSCRIPTION, None),
        ("members[1].subscription", 3, SUBSCRIPTION, None),
        ("members[0].assignment", 3, ASSIGNMENT, None),
    ]
    assert found[0].raw == WANTS
    assert repr(found[2]).startswith("<members[0].assignment v3: ConsumerProtocolAssignment(")


def test_groups_of_others_have_bytes_of_their_own() -> None:
    value = group_metadata.GroupMetadataValue(protocol_type="mine", members=[member(subscription=WANTS)])
    assert embedded(PROTOCOL, value) == []


def test_groups_without_a_protocol_type_are_of_no_consumer() -> None:
    value = group_metadata.GroupMetadataValue(protocol_type="", members=[member(subscription=WANTS)])
    assert embedded(PROTOCOL, value) == []


def test_user_data_is_of_the_newest_version_that_fits() -> None:
    """It says nothing about its version, and each is the one before it with more at its end."""
    cls = PROTOCOL[USER_DATA["sticky"]]
    newest = cls.VALID_VERSIONS[-1]
    assert newest > 0
    data = cls(generation=7).encode(newest)  # type: ignore[call-arg]
    found = decode_user_data(PROTOCOL, "sticky", data, LIKE_KAFKA)  # which ignores what follows
    assert found == cls(generation=7)  # type: ignore[call-arg]


def test_what_cannot_be_read_says_why() -> None:
    value = group_metadata.GroupMetadataValue(protocol_type="consumer", members=[member(subscription=b"\0\1\0")])
    (found,) = embedded(PROTOCOL, value)
    assert found.message is None
    assert found.reason is not None
    assert found.reason.startswith("ConsumerProtocolSubscription v1, field topics, byte 2 of 3: ")
    raw = prefixed(ConsumerProtocolSubscription(user_data=b"\0\0\0\1"), 3)
    protocols = [join_group.JoinGroupRequestProtocol(name=name, metadata=raw) for name in ("range", "sticky")]
    *_, user_data = embedded(PROTOCOL, join_group.JoinGroupRequest(protocol_type="consumer", protocols=protocols))
    assert (user_data.path, user_data.raw) == ("protocols[1].metadata.user_data", b"\0\0\0\1")
    assert (user_data.version, user_data.message) == (None, None)
    assert repr(user_data) == f"<protocols[1].metadata.user_data: {user_data.reason}>"
    assert str(user_data.reason).startswith("StickyAssignorUserData v0, field previous_assignment, byte 0 of 4: ")


def test_classic_members_of_new_groups() -> None:
    protocols = [consumer_group_member_metadata.ClassicProtocol(name="range", metadata=WANTS)]
    value = consumer_group_member_metadata.ConsumerGroupMemberMetadataValue(
        classic_member_metadata=consumer_group_member_metadata.ClassicMemberMetadata(supported_protocols=protocols)
    )
    (found,) = embedded(PROTOCOL, value)
    assert (found.path, found.message) == (
        "classic_member_metadata.supported_protocols[0].metadata",
        SUBSCRIPTION,
    )
    assert embedded(PROTOCOL, consumer_group_member_metadata.ConsumerGroupMemberMetadataValue()) == []


def carriers() -> list[tuple[Message, str]]:
    described = describe_groups.DescribedGroupMember(member_metadata=WANTS)
    protocol = join_group.JoinGroupRequestProtocol(name="range", metadata=WANTS)
    return [
        (join_group.JoinGroupRequest(protocol_type="consumer", protocols=[protocol]), "protocols[0].metadata"),
        (
            join_group.JoinGroupResponse(members=[join_group.JoinGroupResponseMember(metadata=WANTS)]),
            "members[0].metadata",
        ),
        (
            sync_group.SyncGroupRequest(assignments=[sync_group.SyncGroupRequestAssignment(assignment=GIVES)]),
            "assignments[0].assignment",
        ),
        (sync_group.SyncGroupResponse(assignment=GIVES), "assignment"),
        (
            describe_groups.DescribeGroupsResponse(
                groups=[
                    describe_groups.DescribedGroup(protocol_type="consumer", members=[described]),
                    describe_groups.DescribedGroup(protocol_type="mine", members=[described]),
                ]
            ),
            "groups[0].members[0].member_metadata",
        ),
    ]


@pytest.mark.parametrize(("message", "path"), carriers())
def test_requests_and_responses_carry_them_too(message: Message, path: str) -> None:
    (found,) = embedded(PROTOCOL, message)
    assert found.path == path
    assert found.message in (SUBSCRIPTION, ASSIGNMENT)


def test_other_messages_have_no_place_for_them() -> None:
    assert embedded(PROTOCOL, SUBSCRIPTION) == []
