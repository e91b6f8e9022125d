"""Columns straight from the bytes of messages are those of the decoded messages."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from librt.strings import BytesWriter

import clockwork_wire
from clockwork_wire.arrow import ARROW as CLOCKWORK
from kwire import LIKE_KAFKA, DecodeError, Policy
from kwire.arrow import Columns, buffers, wire
from kwire.columns.rows import signed
from kwire.errors import UnknownColumnError
from kwire.interpreter import large
from kwire.message import Message
from kwire_kafka import DescribeGroupsResponse, HeartbeatRequest, MetadataRequest, MetadataResponse
from kwire_kafka.api.describe_groups import DescribedGroup, DescribedGroupMember
from kwire_kafka.api.metadata import MetadataRequestTopic, MetadataResponsePartition, MetadataResponseTopic
from kwire_kafka.arrow import ARROW
from tests.conformance import vectors
from tests.fuzz.columns import check, run
from tests.properties.values import FIXED, NAMES, instances, make
from tests.runtime.as_columns import narrowed, paths
from tests.support.effort import examples

SOURCES = [FIXED[name] for name in ("zero", "max", "min", "null", "unknown tags")]


@pytest.fixture(autouse=True)
def with_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """As compiled: interpreted, objects are faster than programs unless columns are selected."""
    monkeypatch.setattr("kwire.arrow.columns.COMPILED", True)


@pytest.fixture
def not_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """No frame is left to decoding."""

    def refuse(self: object, found: object, slow: list[int], *more: object) -> None:
        assert not slow

    monkeypatch.setattr(Columns, "_decode_slowly", refuse)


def test_arrays_of_many_elements_begin_where_the_ones_before_them_end() -> None:
    """Their ends are numbers of one, two and three bytes."""
    counts = [200, 300, 66_000, 0, 3]
    topic = MetadataRequestTopic(name="t")
    frames = [MetadataRequest(topics=[topic] * count).encode(9) for count in counts]
    found = ARROW["MetadataRequest"].select("topics.name").decode(frames, 9)
    assert [len(row["topics"]) for row in found.batch.to_pylist()] == counts
    assert not found.errors


def test_all_texts_that_are_not_utf_8_are_errors() -> None:
    good = HeartbeatRequest(group_id="g", member_id="m").encode(4)
    bad = good.replace(b"g", b"\xff")
    frames = [bad, good, bad, good, good.replace(b"m", b"\xff"), bad]
    found = ARROW["HeartbeatRequest"].decode(frames, 4)
    assert (list(found.errors), found.rows) == ([0, 2, 4, 5], [1, 3])


@pytest.mark.parametrize("bad", [{0}, {2}, {4}, {1, 3}, {0, 2, 4}, {5}])
def test_texts_that_are_not_utf_8_are_found_in_lists_of_lists(bad: set[int]) -> None:
    """The frames have different numbers of lists, some of them empty, and the last text is wrong."""
    shapes = [[2, 1], [3], [0, 0, 1], [1, 2, 3, 1], [0, 2], [1]]
    frames = []
    for number, shape in enumerate(shapes):
        groups = [DescribedGroup(members=[DescribedGroupMember(member_id="m")] * size) for size in shape]
        groups[-1].members = [*groups[-1].members[:-1], DescribedGroupMember(member_id="z" if number in bad else "m")]
        frames.append(DescribeGroupsResponse(groups=groups).encode(5).replace(b"z", b"\xff"))
    found = ARROW["DescribeGroupsResponse"].decode(frames, 5)
    assert ({*found.errors}, {*found.rows}) == (bad, {*range(len(shapes))} - bad)


def test_unusual_frames_are_decoded_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []

    def array(self: Columns, messages: list[Message], versions: list[int]) -> object:
        counts.append(len(messages))
        return made(self, messages, versions)

    made = Columns.array
    frame = HeartbeatRequest(group_id="g").encode(4) + b"more"
    monkeypatch.setattr(Columns, "array", array)
    monkeypatch.setattr("kwire.arrow.columns.AT_ONCE", 2 * len(frame))
    assert ARROW["HeartbeatRequest"].decode([frame] * 5, 4, policy=LIKE_KAFKA).rows == [0, 1, 2, 3, 4]
    assert counts == [2, 2, 1]


def every_version(columns: Columns) -> tuple[list[Message], list[int]]:
    pairs = [(version, source) for version in columns.message.VALID_VERSIONS for source in SOURCES]
    return [make(columns.message, *pair) for pair in pairs], [version for version, _ in pairs]


def check_every_version(columns: Columns) -> None:
    messages, versions = every_version(columns)
    frames = [message.encode(version) for message, version in zip(messages, versions, strict=True)]
    found = columns.decode(frames, versions)
    found.array.validate(full=True)
    assert found.array.equals(columns.array(messages, versions)), columns.message.__name__


@pytest.mark.slow
@pytest.mark.usefixtures("not_slowly")
@pytest.mark.parametrize("part", range(4))
def test_every_message_and_version(part: int) -> None:
    for name in NAMES[part::4]:
        check_every_version(ARROW[name])


@pytest.mark.usefixtures("not_slowly")
@pytest.mark.parametrize("name", ["MetadataResponse", "FetchResponse", "OffsetFetchRequest", "UpdateMetadataRequest"])
def test_some_messages_in_every_version(name: str) -> None:
    check_every_version(ARROW[name])


def test_a_protocol_with_every_feature() -> None:
    """Some defaults have values that programs do not write: these versions are decoded."""
    for name in clockwork_wire.MODULES:
        check_every_version(CLOCKWORK[name])


@pytest.mark.slow
@pytest.mark.usefixtures("not_slowly")
def test_what_kafka_wrote() -> None:
    by_message: dict[str, list[tuple[int, bytes]]] = {}
    for one in vectors.messages(vectors.RELEASES[-1]):
        by_message.setdefault(one.message, []).append((one.version, one.data))
    assert len(by_message) > 200
    for name, found in by_message.items():
        columns, versions = ARROW[name], [version for version, _ in found]
        decoded = [columns.message.decode(data, version) for version, data in found]
        array = columns.decode([data for _, data in found], versions).array
        assert repr(array.to_pylist()) == repr(
            columns.array(decoded, versions).to_pylist()
        )  # NaN differs from itself


@pytest.mark.slow
@examples(0.6)
@given(st.data())
def test_any_messages_of_any_versions(data: st.DataObject) -> None:
    columns = ARROW[data.draw(st.sampled_from(NAMES))]
    versions = data.draw(st.lists(st.sampled_from(columns.message.VALID_VERSIONS), max_size=5))
    messages = [data.draw(instances(columns.message, version)) for version in versions]
    frames = [message.encode(version) for message, version in zip(messages, versions, strict=True)]
    for place in data.draw(st.sets(st.integers(0, 9)) if frames else st.just(set())):
        frames[place % len(frames)] += b"?"
    check(columns, frames, versions)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_broken_frames(seed: int) -> None:
    outcomes = run(6_000, seed)
    assert outcomes["refused"] > 1000
    assert outcomes["read"] > 1000


@pytest.mark.long
@pytest.mark.usefixtures("not_slowly")
@pytest.mark.parametrize("part", range(4))
def test_each_column_by_itself_is_that_of_all_columns(part: int) -> None:
    for name in NAMES[part::4]:
        columns = ARROW[name]
        messages, versions = every_version(columns)
        frames = [message.encode(version) for message, version in zip(messages, versions, strict=True)]
        whole = columns.array(messages, versions).to_pylist()
        for path in paths(columns.type):
            one = columns.select(path)
            rows = one.decode(frames, versions).array.to_pylist()
            assert rows == [narrowed(row, one.type) for row in whole], f"{name} {path}"


METADATA = MetadataResponse(
    topics=[
        MetadataResponseTopic(
            name=name, partitions=[MetadataResponsePartition(leader_id=number) for number in leaders]
        )
        for name, leaders in (("a", [1, 2]), ("b", []), ("c", [3]))
    ]
)


def test_selected_columns_have_their_place_and_nothing_else() -> None:
    columns = ARROW["MetadataResponse"].select("topics.partitions.leader_id", "controller_id", "topics.name")
    batch = columns.decode([METADATA.encode(9), METADATA.encode(0)], [9, 0]).batch
    leaders = [("a", [1, 2]), ("b", []), ("c", [3])]
    topics = [{"name": name, "partitions": [{"leader_id": one} for one in ids]} for name, ids in leaders]
    assert batch.to_pylist() == [{"controller_id": -1, "topics": topics}, {"controller_id": None, "topics": topics}]
    assert batch.schema.equals(columns.schema)
    assert columns.array([METADATA], 9).to_pylist() == [{"controller_id": -1, "topics": topics}]
    both = ARROW["MetadataResponse"].select("topics.name", "topics")
    assert both.type == ARROW["MetadataResponse"].select("topics").type != columns.type


def test_what_was_not_selected_is_not_decoded() -> None:
    good = MetadataRequest(topics=[MetadataRequestTopic(name="topic")])
    bad = good.encode(9).replace(b"topic", b"top\xff\xff")
    columns = ARROW["MetadataRequest"]
    assert list(columns.decode([bad], 9).errors) == [0]
    found = columns.select("allow_auto_topic_creation").decode([bad], 9)
    assert found.batch.to_pylist() == [{"allow_auto_topic_creation": True}]


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("MetadataRequest", "allow_auto_topic_creation"),
        ("CreateTopicsRequest", "timeout_ms"),
        ("OffsetFetchRequest", "require_stable"),
        ("JoinGroupResponse", "generation_id"),
        ("MetadataResponse", "controller_id"),
        ("DescribeTopicPartitionsRequest", "response_partition_limit"),
        ("DescribeTopicPartitionsResponse", "throttle_time_ms"),
    ],
)
def test_wrong_bytes_in_what_was_not_selected_are_refused_as_in_messages(name: str, column: str) -> None:
    """Any byte, any length that is null instead, and any cut. Only texts are not decoded: they may be anything."""
    columns, as_read = ARROW[name].select(column), Policy(utf8="replace")
    for version, source in product(columns.message.VALID_VERSIONS[::-2], ("zero", "min")):
        good = make(columns.message, version, FIXED[source]).encode(version)
        frames = [good[:place] for place in range(len(good))] + [good, good + b"?"]
        for place, other in product(range(len(good)), (b"\0", b"\1", b"\x80", b"\xff", b"\xff" * 2, b"\xff" * 4)):
            frames.append(good[:place] + other + good[place + len(other) :])
        found = columns.decode(frames, version)
        rows = found.array.to_pylist()
        for number, data in enumerate(frames):
            try:
                message: Any = columns.message.decode(data, version, as_read)
            except DecodeError:
                assert number in found.errors, f"v{version} {data.hex()}"
            else:
                assert rows[number] == columns.array([message], version)[0].as_py(), f"v{version} {data.hex()}"


UNEVEN = MetadataResponse(
    topics=[
        MetadataResponseTopic(
            name=f"t{last}",
            partitions=[
                MetadataResponsePartition(
                    replica_nodes=[1] * count,
                    isr_nodes=[2] * (count // 2),
                    unknown_tags=((7, b"seven"),) if number == last else (),
                )
                for number, count in enumerate([3, 3, 3, 0, 1, 3, 3, 126, 126, 127, 127, 128, 300, 3, 3])
            ],
        )
        for last in (2, 8, 14, 15)
    ]
)


@pytest.mark.usefixtures("not_slowly")
def test_structs_of_any_length_are_passed() -> None:
    columns = ARROW["MetadataResponse"].select("cluster_id", "topics.name")
    expected = {"cluster_id": None, "topics": [{"name": f"t{last}"} for last in (2, 8, 14, 15)]}
    found = columns.decode([UNEVEN.encode(12), UNEVEN.encode(9), METADATA.encode(12)], [12, 9, 12])
    plain = {"cluster_id": None, "topics": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}
    assert found.array.to_pylist() == [expected, expected, plain]


@pytest.mark.long
def test_what_is_passed_still_has_to_end_with_the_frame() -> None:
    whole = UNEVEN.encode(12)
    columns = ARROW["MetadataResponse"].select("cluster_id")
    frames = [whole[:size] for size in range(len(whole) - 300, len(whole))]
    found = columns.decode([*frames, whole, whole + b"\0"], 12)
    assert found.rows == [len(frames)]
    place = whole.rindex(bytes([4]) + b"\0\0\0\1" * 3)
    longer = whole[:place] + bytes([5]) + whole[place + 1 :]
    assert not columns.decode([longer], 12).rows


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("topic", "unknown column 'topic' of MetadataRequest, did you mean topics?"),
        ("topics.nam", "unknown column 'nam' of MetadataRequest.topics, did you mean name?"),
        ("topics.name.x", "unknown column 'x' of MetadataRequest.topics.name"),
        ("unknown_tags.tag", "unknown column 'tag' of MetadataRequest.unknown_tags"),
    ],
)
def test_unknown_columns_are_an_error(path: str, says: str) -> None:
    with pytest.raises(UnknownColumnError) as caught:
        ARROW["MetadataRequest"].select(path)
    assert str(caught.value) == says


def beats(*groups: str) -> list[bytes]:
    return [HeartbeatRequest(group_id=group).encode(4) for group in groups]


def test_invalid_frames_are_reported_and_the_others_go_on() -> None:
    first, second, third, fourth = beats("a", "bbb", "c", "d")
    frames = [first, first[:-1], second.replace(b"bbb", b"b\xffb"), third, fourth, b""]
    found = ARROW["HeartbeatRequest"].decode(frames, [4, 4, 4, 4, 99, 4])
    assert found.rows == [0, 3]
    assert found.batch.column("group_id").to_pylist() == ["a", "c"]
    assert found.array.is_valid().to_pylist() == [True, False, False, True, False, False]
    assert list(found.errors) == [1, 2, 4, 5]
    for number, version in ((1, 4), (2, 4), (4, 99), (5, 4)):
        with pytest.raises(DecodeError) as expected:
            HeartbeatRequest.decode(frames[number], version)
        assert str(found.errors[number]) == str(expected.value)


def test_a_broken_text_deep_inside_is_that_of_its_message() -> None:
    columns = ARROW["MetadataResponse"]
    frames = [METADATA.encode(12), METADATA.encode(12).replace(b"\2b", b"\2\xff"), METADATA.encode(12)]
    found = columns.decode(frames, 12)
    assert [(number, error.path) for number, error in found.errors.items()] == [(1, "topics[1].name")]
    assert found.batch.equals(columns.batch([METADATA, METADATA], 12))


def test_bodies_start_where_the_caller_says() -> None:
    columns, frames = ARROW["HeartbeatRequest"], beats("a", "b")
    expected = columns.decode(frames, 4).array
    assert columns.decode([b"head" + one for one in frames], 4, start=4).array.equals(expected)
    assert columns.decode([bytearray(frames[0]), memoryview(b"?" + frames[1])], 4, start=[0, 1]).array.equals(
        expected
    )
    found = columns.decode(frames, 4, start=[-1, 99])
    assert [str(error).partition(": ")[2] for error in found.errors.values()] == [
        "the offset is outside the data"
    ] * 2


def test_unusual_frames_are_decoded_under_the_policy() -> None:
    broken = beats("aaa")[0].replace(b"aaa", b"a\xffa") + b"more"
    assert ARROW["HeartbeatRequest"].decode([broken], 4).errors
    found = ARROW["HeartbeatRequest"].decode([*beats("b"), broken], 4, policy=LIKE_KAFKA)
    assert found.batch.column("group_id").to_pylist() == ["b", "a\ufffda"]


def test_large_frames_of_many_values_are_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled or not."""
    monkeypatch.setattr(large._Counting, "left", 4)
    found = ARROW["MetadataResponse"].decode([METADATA.encode(12)], 12, max_decoded=10)
    data = METADATA.encode(12)
    error = found.errors[0]
    assert error.reason == f"{len(data)} bytes contain too many values to decode: increase maxDecoded"
    assert (error.message_name, error.version, error.data) == ("MetadataResponse", 12, data)


@pytest.mark.parametrize("most", [6, 7])
def test_messages_with_too_many_columns_are_decoded_into_objects(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr("kwire.columns.program.MAX_COLUMNS", most)
    columns = Columns(HeartbeatRequest).select("group_id", "generation_id", "member_id", "group_instance_id")
    assert (columns._reader(4) is None) is (most == 6)
    assert columns.decode(beats("a"), 4).array.equals(columns.array([HeartbeatRequest(group_id="a")], 4))


def test_interpreted_programs_are_for_selected_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwire.arrow.columns.COMPILED", False)
    columns = Columns(HeartbeatRequest)
    assert columns.decode(beats("a"), 4).array.equals(columns.array([HeartbeatRequest(group_id="a")], 4))
    assert columns._reader(4) is None
    assert columns.select("group_id")._reader(4)


def test_no_frames_and_frames_of_no_bytes() -> None:
    assert ARROW["HeartbeatRequest"].decode([], []).batch.equals(ARROW["HeartbeatRequest"].batch([], 0))
    assert ARROW["ListGroupsRequest"].decode([b"", b"", b"?"], 0).rows == [0, 1]
    for version in (-1, 99):
        assert str(ARROW["ListGroupsRequest"].decode([b""], version).errors[0]).endswith("valid versions are 0 to 5")


def test_two_gigabytes_at_once_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_BYTES", 10)
    assert buffers.MAX_BYTES == 2**31 - 1
    with pytest.raises(ValueError, match="bytes in total, but the limit is 10: decode fewer at a time"):
        ARROW["HeartbeatRequest"].decode(beats("a", "b"), 4)
    (one,) = beats("a")
    monkeypatch.setattr(wire, "MAX_BYTES", len(one))
    assert ARROW["HeartbeatRequest"].decode([one], 4).rows == [0]


@pytest.mark.parametrize(
    ("offset", "stride", "size"), [(-1, 8, 4), (5, 8, 4), (0, 8, 3), (0, 2, 4), (0, 7, 4), (8, 8, 1)]
)
def test_numbers_are_taken_from_within_the_rows_only(offset: int, stride: int, size: int) -> None:
    """Natively nothing else keeps it from reading elsewhere."""
    rows = BytesWriter()
    rows.write(bytes(range(16)))
    with pytest.raises(ValueError, match="the numbers extend beyond the rows"):
        signed(rows, offset, stride, size)
    assert signed(rows, 4, 8, 4) == bytes((7, 6, 5, 4, 15, 14, 13, 12))
