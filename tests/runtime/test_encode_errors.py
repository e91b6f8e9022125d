"""What cannot be encoded: every message, every field, and every time an error that names message, version and path.

The cases are made from ``FIELDS``: a valid message in which exactly one thing is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kwire import EncodeError, interpreter
from kwire.message import Message
from kwire.schema import Field, struct_class
from kwire.struct import Struct
from kwire_kafka import (
    ApiVersionsResponse,
    FetchRequest,
    HeartbeatRequest,
    InitProducerIdRequest,
    MetadataRequest,
    ProduceRequest,
)
from kwire_kafka.api.fetch import ReplicaState
from kwire_kafka.api.metadata import MetadataRequestTopic
from kwire_kafka.api.produce import PartitionProduceData, TopicProduceData
from kwire_rules import INTEGER_RANGES
from tests.properties.values import (
    LONGEST,
    Source,
    as_decoded,
    each_message,
    each_version,
    make,
    message_class,
    pairs,
)
from tests.support.wrong_types import put


class One(Source):
    """One element in every array, no null, every tagged field set: every struct of a version occurs."""

    def scalar(self, kind: str) -> Any:
        return 1 if kind in INTEGER_RANGES else super().scalar(kind)

    def count(self) -> int:
        return 1

    def tagged(self) -> bool:
        return True


def structs(value: Any, path: str, version: int) -> Iterator[tuple[str, Any]]:
    """Every struct that is written in ``version``, with its path."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from structs(item, f"{path}[{index}]", version)
    elif isinstance(value, Struct):
        yield path, value
        for field in value.FIELDS:
            if version in field.versions and struct_class(type(value), field):
                yield from structs(getattr(value, field.name), f"{path}.{field.name}".lstrip("."), version)


def refused(message: Message, version: int, path: str) -> EncodeError:
    """The error of encoding ``message``, which is about the field at ``path``."""
    with pytest.raises(EncodeError) as caught:
        message.encode(version)
    error = caught.value
    assert (error.message_name, error.version, error.path) == (type(message).__name__, version, path)
    assert str(error).startswith(f"{error.message_name} v{version}, field {path}: ")
    return error


def other_than_default(struct: Struct, field: Field) -> Any:
    """A value that ``field`` can have and that is not its default."""
    default, kind = getattr(type(struct)(), field.name), field.type
    owner = struct_class(type(struct), field)
    if field.is_array:
        return [owner() if owner else {"[]string": "x", "[]uuid": bytes(16)}.get(kind, 1)]
    if owner:
        value = owner()
        first = owner.FIELDS[0]
        setattr(value, first.name, other_than_default(value, first))
        return value
    if kind in ("string", "bytes", "records"):
        return "x" if kind == "string" else b"x"
    if kind == "uuid":
        return bytes(range(16))
    return not default if kind == "bool" else 3 if default != 3 else 4


def some_versions(cls: type[Message]) -> list[int]:
    """The first and last version, and the first flexible one."""
    return sorted({cls.VALID_VERSIONS[0], cls.VALID_VERSIONS[-1], *list(cls.FLEXIBLE_VERSIONS)[:1]})


def spoil(name: str, change: Callable[[Field, Struct, int], list[Any]]) -> int:
    """Put what ``change`` gives for a field into that field, everywhere and one at a time; how many were refused."""
    count = 0
    cls = message_class(name)
    for version in some_versions(cls):
        message = make(cls, version, One())
        for path, struct in structs(message, "", version):
            for field in struct.FIELDS:
                if version not in field.versions:
                    continue
                good = getattr(struct, field.name)
                for bad in change(field, struct, version):
                    if not put(struct, field.name, bad):
                        continue
                    place = f"{path}.{field.name}".lstrip(".")
                    refused(message, version, f"{place}[0]" if isinstance(bad, list) else place)
                    count += 1
                setattr(struct, field.name, good)
        message.encode(version)
    return count


@each_version
def test_trap_29_fields_that_a_version_lacks(cls: type[Message], version: int) -> None:
    """Not at their default they are an error, unless they may be ignored: then they are dropped."""
    message = make(cls, version, One())
    plain = message.encode(version)
    for path, struct in structs(message, "", version):
        for field in struct.FIELDS:
            if version in field.versions:
                continue
            setattr(struct, field.name, other_than_default(struct, field))
            if field.ignorable:
                assert message.encode(version) == interpreter.encode(message, version) == plain
                assert cls.decode(plain, version) == as_decoded(message, version) != message
            else:
                error = refused(message, version, f"{path}.{field.name}".lstrip("."))
                assert f"version {version} lacks this field" in error.reason
            setattr(struct, field.name, getattr(type(struct)(), field.name))
    assert message.encode(version) == plain


def test_trap_29_there_are_fields_of_both_kinds() -> None:
    lacking = {
        (field.ignorable, struct.__name__, field.name)
        for cls, version in pairs()
        for _, value in structs(make(cls, version, One()), "", version)
        for struct in [type(value)]
        for field in struct.FIELDS
        if version not in field.versions
    }
    assert sum(ignorable for ignorable, _, _ in lacking) > 100
    assert sum(not ignorable for ignorable, _, _ in lacking) > 100


@each_message
def test_null_where_it_may_not_be(name: str) -> None:
    def nulls(field: Field, struct: Struct, version: int) -> list[Any]:
        # Null puts a tagged struct that is made on first access back to its default, and a tagged bool too.
        default = hasattr(struct, f"_{field.name}") or (field.type == "bool" and field.tag is not None)
        return [] if version in field.nullable or default else [None]

    spoil(name, nulls)


@each_message
def test_trap_15_null_elements(name: str) -> None:
    spoil(name, lambda field, struct, version: [[None]] if field.is_array else [])


@each_message
def test_trap_11_numbers_out_of_range(name: str) -> None:
    def numbers(field: Field, struct: Struct, version: int) -> list[Any]:
        if field.element_type not in INTEGER_RANGES:
            return [10**400] if field.type == "float64" else []
        low, high = INTEGER_RANGES[field.element_type]
        outside = [low - 1, high + 1, 2**80]
        return [[number] for number in outside] if field.is_array else outside

    spoil(name, numbers)


@pytest.mark.slow
@each_message
def test_wrong_types(name: str) -> None:
    """Something that is no value at all; a bool takes anything that has a truth."""

    def objects(field: Field, struct: Struct, version: int) -> list[Any]:
        if field.type == "bool":
            return []
        return [object(), [object()]] if field.is_array else [object(), 1.5 if field.type != "float64" else "1"]

    spoil(name, objects)


@each_message
def test_trap_14_strings_that_kafka_refuses(name: str) -> None:
    def texts(field: Field, struct: Struct, version: int) -> list[Any]:
        bad = ["x" * (LONGEST + 1), "ü" * (LONGEST // 2 + 1), "\ud800", b"bytes"]
        if field.type == "[]string":
            return [[text] for text in bad]
        return bad if field.type == "string" else []

    spoil(name, texts)


@each_message
def test_trap_16_uuids_of_a_wrong_size(name: str) -> None:
    def uuids(field: Field, struct: Struct, version: int) -> list[Any]:
        bad = [b"", bytes(15), bytes(17), "x" * 16]
        if field.type == "[]uuid":
            return [[value] for value in bad]
        return bad if field.type == "uuid" else []

    spoil(name, uuids)


@each_version
def test_trap_24_unknown_tags_on_a_classic_version(cls: type[Message], version: int) -> None:
    if version in cls.FLEXIBLE_VERSIONS:
        return
    message = make(cls, version, One())
    for path, struct in structs(message, "", version):
        struct.unknown_tags = ((7, b"x"),)
        error = refused(message, version, f"{path}.unknown_tags".lstrip("."))
        assert "is not flexible" in error.reason
        struct.unknown_tags = ()


@each_version
def test_trap_19_unknown_tags_out_of_order(cls: type[Message], version: int) -> None:
    if version != cls.VALID_VERSIONS[-1] or version not in cls.FLEXIBLE_VERSIONS:
        return
    message = make(cls, version, One())
    for path, struct in structs(message, "", version):
        for tags in (
            ((90, b""), (89, b"")),
            ((90, b""), (90, b"")),
            ((-1, b""),),
            ((2**31, b""),),
            ((90, "text"),),
            (("90", b""),),
            ((90, None),),
            (90,),
            ((90, b"", b""),),
            5,
        ):
            if put(struct, "unknown_tags", tags):
                refused(message, version, f"{path}.unknown_tags".lstrip("."))
        for field in struct.FIELDS:
            if field.tag is not None and version in field.tagged:
                setattr(struct, field.name, other_than_default(struct, field))
                struct.unknown_tags = ((field.tag, b"\0"),)
                error = refused(message, version, f"{path}.unknown_tags".lstrip("."))
                assert f"tag {field.tag} is a known field" in error.reason
        struct.unknown_tags = ()


@each_message
def test_versions_that_do_not_exist(name: str) -> None:
    cls = message_class(name)
    for version in (-1, cls.VALID_VERSIONS[0] - 1, cls.VALID_VERSIONS[-1] + 1, 32767, 2**70):
        with pytest.raises(EncodeError, match=f"{name} v{version}: unknown version {version}, valid versions are"):
            cls().encode(version)


def test_paths_name_the_element() -> None:
    data = [PartitionProduceData(index=0), PartitionProduceData(index=2**31)]
    message = ProduceRequest(topic_data=[TopicProduceData(), TopicProduceData(partition_data=data)])
    error = refused(message, 9, "topic_data[1].partition_data[1].index")
    assert str(error) == (
        "ProduceRequest v9, field topic_data[1].partition_data[1].index: "
        "2147483648 is out of range for int32 (-2147483648 to 2147483647)"
    )


def test_paths_into_tagged_structs() -> None:
    message = FetchRequest(replica_state=ReplicaState(replica_epoch=2**63))
    refused(message, 15, "replica_state.replica_epoch")


def test_the_largest_values_that_fit() -> None:
    """Right at the edge there is no error."""
    text = "x" * LONGEST
    for version in InitProducerIdRequest.VALID_VERSIONS:
        message = InitProducerIdRequest(transactional_id=text, transaction_timeout_ms=2**31 - 1)
        assert InitProducerIdRequest.decode(message.encode(version), version) == message


def test_nullable_only_from_a_version_on() -> None:
    """Null topics mean all topics from version 1 on."""
    assert MetadataRequest(topics=None).encode(1) == b"\xff\xff\xff\xff"
    refused(MetadataRequest(topics=None), 0, "topics")
    refused(MetadataRequest(topics=[MetadataRequestTopic(name=None)]), 9, "topics[0].name")
    assert MetadataRequest(topics=[MetadataRequestTopic(name=None)]).encode(10)


@pytest.mark.parametrize(("size", "shown"), [(58, "x" * 58 + "'"), (59, "x" * 58 + "…"), (1000, "x" * 58 + "…")])
def test_long_values_are_cut_in_errors(size: int, shown: str) -> None:
    error = refused(HeartbeatRequest(group_instance_id="x" * size), 0, "group_instance_id")
    assert error.reason == f"version 0 lacks this field, but it is set to '{shown}"


def test_errors_leave_the_message_as_it_was() -> None:
    message = ApiVersionsResponse(error_code=2**15, throttle_time_ms=3)
    before = repr(message)
    refused(message, 3, "error_code")
    assert repr(message) == before
    message.error_code = 1
    assert ApiVersionsResponse.decode(message.encode(3), 3) == message
