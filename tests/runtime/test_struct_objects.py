"""Messages and structs as Python objects: comparing, printing, copying, defaults that nobody shares."""

from __future__ import annotations

import copy
import inspect
import linecache
import pickle
from collections.abc import Hashable, Iterator
from typing import Any

import pytest

from kwire import ZERO_UUID, EncodeError, is_native
from kwire.message import Message
from kwire.schema import attributes, struct_class
from kwire.struct import Struct
from kwire_kafka import (
    ConsumerGroupMemberMetadataValue,
    FetchRequest,
    FetchResponse,
    HeartbeatRequest,
    MetadataRequest,
    ProduceRequest,
)
from kwire_kafka.api import fetch
from kwire_kafka.api.fetch import EpochEndOffset, FetchableTopicResponse, PartitionData, ReplicaState
from tests.properties.values import FIXED, NAMES, each_version, make, message_class, pairs

COPIES = [copy.copy, copy.deepcopy, lambda message: pickle.loads(pickle.dumps(message))]


def classes(names: tuple[str, ...] = NAMES) -> list[type[Struct]]:
    """All classes, nested ones too."""
    found: dict[type[Struct], None] = {}

    def visit(cls: type[Struct]) -> None:
        if cls not in found:
            found[cls] = None
            for field in cls.FIELDS:
                inner = struct_class(cls, field)
                if inner:
                    visit(inner)

    for name in names:
        visit(message_class(name))
    return list(found)


def mutables(value: Any) -> Iterator[int]:
    """The identities of all lists and structs below ``value``."""
    if isinstance(value, list):
        yield id(value)
        for item in value:
            yield from mutables(item)
    elif isinstance(value, Struct):
        yield id(value)
        for field in value.FIELDS:
            yield from mutables(getattr(value, field.name))


def test_fields_and_slots_agree() -> None:
    everything = classes()
    assert len(everything) > 600
    for cls in everything:
        names = [field.name for field in cls.FIELDS] + ["unknown_tags"]
        assert [name.removeprefix("_") for name in attributes(cls)] == names
        assert is_native() or attributes(cls) == cls.__slots__
        assert not hasattr(cls(), "__dict__")


def test_no_two_instances_share_anything_mutable() -> None:
    for cls in classes():
        one, other = cls(), cls()
        assert one == other
        assert not set(mutables(one)) & set(mutables(other)), cls


@each_version
def test_no_two_decoded_messages_share_anything_mutable(cls: type[Message], version: int) -> None:
    """Absent and tagged fields get their defaults from ``new_X``, once for all instances if wrong."""
    for source in ("zero", "unknown tags"):
        data = make(cls, version, FIXED[source]).encode(version)
        first, second, third = (cls.decode(data, version) for _ in range(3))
        assert first == second == third
        assert not set(mutables(first)) & set(mutables(second))
        assert not set(mutables(second)) & set(mutables(third))
        assert not set(mutables(first)) & set(mutables(cls()))


@pytest.mark.skipif(is_native(), reason="native constructors are not rebuilt")
def test_rebuilt_constructors_have_a_source_that_debuggers_show() -> None:
    FetchResponse.decode(FetchResponse(responses=[FetchableTopicResponse()]).encode(13), 13)
    constructor = vars(fetch)["new_FetchableTopicResponse"]
    code = constructor.__code__
    assert code.co_name == "new_FetchableTopicResponse"
    assert linecache.getline(code.co_filename, 1, constructor.__globals__).startswith(
        "def new_FetchableTopicResponse(topic, topic_id, partitions):"
    )


def test_equality() -> None:
    message = HeartbeatRequest(group_id="g", generation_id=1)
    assert message == HeartbeatRequest(group_id="g", generation_id=1)
    assert message != HeartbeatRequest(group_id="g", generation_id=2)
    assert message != HeartbeatRequest(group_id="g", generation_id=1, unknown_tags=((0, b""),))
    assert message != MetadataRequest()
    assert message != "g"
    assert (message == None) is False  # noqa: E711
    assert EpochEndOffset() != ReplicaState()


def test_messages_are_not_hashable() -> None:
    assert not isinstance(HeartbeatRequest(), Hashable)
    with pytest.raises(TypeError, match="unhashable type: 'HeartbeatRequest'"):
        hash(HeartbeatRequest())
    with pytest.raises(TypeError):
        {HeartbeatRequest()}


def test_repr_shortens_long_bytes() -> None:
    assert "records=b'\\x00\\x00'" in repr(PartitionData(records=bytes(2)))
    assert f"records={bytes(64)!r}" in repr(PartitionData(records=bytes(64)))
    assert f"records=<1,024 bytes: {'00' * 16}…>" in repr(PartitionData(records=bytes(1024)))


def test_repr_shows_all_fields_and_can_be_read() -> None:
    message = HeartbeatRequest(group_id="g", generation_id=1)
    assert repr(message) == "HeartbeatRequest(group_id='g', generation_id=1, member_id='', group_instance_id=None)"
    message.unknown_tags = ((5, b"x"),)
    assert repr(message).endswith(", group_instance_id=None, unknown_tags=((5, b'x'),))")
    assert eval(repr(message), {"HeartbeatRequest": HeartbeatRequest}) == message


def test_constructors_take_names_only_and_know_them() -> None:
    with pytest.raises(TypeError):
        HeartbeatRequest("g")  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        HeartbeatRequest(group="g")  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        HeartbeatRequest().group = "g"  # type: ignore[attr-defined]


def test_a_tagged_struct_cannot_become_none() -> None:
    message = FetchRequest(replica_state=ReplicaState(replica_id=3))
    with pytest.raises(TypeError, match="expected a struct, got None"):
        message.replica_state = None  # type: ignore[assignment]
    assert message.replica_state.replica_id == 3


def test_replace() -> None:
    message = FetchRequest(max_bytes=5, replica_state=ReplicaState(replica_id=3), unknown_tags=((9, b""),))
    changed = message.replace(max_bytes=6)
    assert (message.max_bytes, changed.max_bytes) == (5, 6)
    assert changed.replica_state == ReplicaState(replica_id=3)
    assert changed.unknown_tags == ((9, b""),)
    assert changed.replace(max_bytes=5) == message
    assert message.replace() == message.__replace__() == message
    assert message.__replace__(max_bytes=7).max_bytes == 7
    assert message.replace(topics=[]).topics == []
    with pytest.raises(TypeError):
        message.replace(nothing=1)


def test_replace_keeps_null_apart_from_the_default() -> None:
    assert MetadataRequest(topics=None).replace().topics is None
    value = ConsumerGroupMemberMetadataValue(classic_member_metadata=None)
    assert value.replace(rack_id="r").classic_member_metadata is None
    assert PartitionData(aborted_transactions=None).replace().aborted_transactions is None


@pytest.mark.parametrize("copied", COPIES)
def test_copies_are_equal(copied: Any) -> None:
    for cls, version in pairs(NAMES[::7]):
        message = make(cls, version, FIXED["unknown tags"])
        twin = copied(message)
        assert type(twin) is cls
        assert twin == message
        assert twin is not message
        assert twin.encode(version) == message.encode(version)


def test_shallow_and_deep() -> None:
    message = FetchResponse(responses=[FetchableTopicResponse()])
    assert copy.copy(message).responses is message.responses
    deep = copy.deepcopy(message)
    deep.responses[0].topic = "other"
    assert message.responses[0].topic == ""


def test_a_struct_is_made_on_first_access() -> None:
    partition = PartitionData()
    assert partition._diverging_epoch is None
    assert partition.diverging_epoch == EpochEndOffset()
    assert partition.diverging_epoch is partition.diverging_epoch
    partition.diverging_epoch.epoch = 7
    assert PartitionData().diverging_epoch.epoch == -1
    partition.diverging_epoch = EpochEndOffset(epoch=8)
    assert partition.diverging_epoch.epoch == 8


def test_touching_a_struct_changes_nothing() -> None:
    untouched, touched = PartitionData(), PartitionData()
    _ = touched.diverging_epoch
    assert touched == untouched
    assert untouched == touched
    touched.diverging_epoch.epoch = 1
    assert touched != untouched
    assert untouched != touched
    for version in (12, 13, 17):
        data = FetchResponse(responses=[FetchableTopicResponse(partitions=[PartitionData()])]).encode(version)
        partition = PartitionData()
        _ = partition.snapshot_id, partition.current_leader
        message = FetchResponse(responses=[FetchableTopicResponse(partitions=[partition])])
        assert message.encode(version) == data
        assert FetchResponse.decode(data, version).responses[0].partitions[0]._snapshot_id is None


def test_decoded_structs_are_set() -> None:
    partition = PartitionData(diverging_epoch=EpochEndOffset(epoch=4, end_offset=5))
    message = FetchResponse(responses=[FetchableTopicResponse(partitions=[partition])])
    decoded = FetchResponse.decode(message.encode(13), 13)
    assert decoded.responses[0].partitions[0].diverging_epoch == EpochEndOffset(epoch=4, end_offset=5)
    assert decoded == message


def test_lists_that_are_given_are_kept() -> None:
    """A list is used as it is, an empty one too."""
    topics: list[Any] = []
    assert FetchResponse(responses=topics).responses is topics
    aborted: list[Any] = []
    assert PartitionData(aborted_transactions=aborted).aborted_transactions is aborted


def test_defaults() -> None:
    request = FetchRequest()
    assert (request.replica_id, request.max_bytes, request.session_epoch, request.cluster_id) == (
        -1,
        2**31 - 1,
        -1,
        None,
    )
    assert (request.topics, request.rack_id, request.unknown_tags) == ([], "", ())
    assert FetchableTopicResponse().topic_id == ZERO_UUID
    assert PartitionData().aborted_transactions == []
    assert PartitionData(aborted_transactions=None).aborted_transactions is None


def test_null_for_a_list_that_cannot_be_null_is_not_its_default() -> None:
    """Compiled constructors refuse it, interpreted ones leave that to ``encode``."""
    with pytest.raises(TypeError if is_native() else EncodeError):
        ProduceRequest(topic_data=None).encode(9)  # type: ignore[arg-type]
    assert ProduceRequest().encode(9) == ProduceRequest(topic_data=[]).encode(9)


def test_signatures_show_what_a_field_is_that_is_not_given() -> None:
    parameters = inspect.signature(FetchRequest).parameters
    assert [*parameters] == [*(field.name for field in FetchRequest.FIELDS), "unknown_tags"]
    assert parameters["topics"].default == []
    assert parameters["replica_state"].default == ReplicaState()
    assert parameters["cluster_id"].default is None


def test_uuids_may_be_plain_bytes() -> None:
    plain = FetchableTopicResponse(topic_id=bytes(range(16)))  # type: ignore[arg-type]
    data = FetchResponse(responses=[plain]).encode(13)
    assert FetchResponse.decode(data, 13).responses == [plain]
