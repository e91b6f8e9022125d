"""The matrix is computed from the schema; here the codecs say whether it is right."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kwire.errors import EncodeError, UnknownVersionError
from kwire.message import Message
from kwire.releases import Conversion, MessageMatrix
from kwire_guide.former import former
from kwire_guide.releases import Releases
from kwire_kafka.compat import MATRIX
from kwire_kafka.releases import RELEASES
from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.examples import Node, clock, field, tagged
from kwirec.diagnostics.source import Source
from kwirec.emitters.compat_matrix import convert, message_matrix
from kwirec.emitters.release_facts import version_facts
from kwirec.frontend import parse
from kwirec.ir import resolve
from kwirec.lowering import lower
from kwirec.merge.history import History, read_history
from tests.properties.values import NAMES, Extreme, as_decoded, each_message, exact, make, message_class

NULL_IS_REFUSED = "null is not allowed"


class Set(Extreme):
    """Every field of a version set to something that is not its default; short, because there are many."""

    def text(self) -> str:
        return "é"

    def blob(self) -> bytes:
        return b"\1"


SOURCES = (Set("max"), Set("min"))
"""Two, because one of them may be the default: ``true``, or the largest integer."""


def value_of(cls: type[Message], version: int, source: Extreme) -> Message:
    """A value as a reader of ``version`` has it."""
    return cls.decode(make(cls, version, source).encode(version), version)


def holders(value: Any, path: str) -> Iterator[tuple[Any, str]]:
    """All structs that have the last field of a path, with its name."""
    first, _, rest = path.partition(".")
    if not rest:
        yield value, first
        return
    inner = getattr(value, first.removesuffix("[]"))
    for one in inner if first.endswith("[]") else [inner]:
        yield from holders(one, rest)


def reset(value: Any, path: str) -> None:
    """Give a field its default, wherever it occurs."""
    for holder, name in holders(value, path):
        setattr(holder, name, getattr(type(holder)(), name))


def refused(value: Message, version: int) -> list[str]:
    """The fields for which ``version`` refuses ``value``: each is reset once it was named, until none is."""
    found: list[str] = []
    while True:
        try:
            value.encode(version)
            return found
        except EncodeError as error:
            path = re.sub(r"\[\d+\]", "[]", error.path)
            assert path not in found, f"{path} is refused with its default too"
            found.append(path)
            reset(value, path)


def is_bare(value: Message, path: str) -> bool:
    """Whether a field is a struct without fields: it differs from its default only by unknown tags."""
    return all(getattr(getattr(holder, name), "FIELDS", None) == () for holder, name in holders(value, path))


def check(cls: type[Message], source: int, target: int, conversion: Conversion) -> None:
    blocking, bare = set(), set()
    for values in SOURCES:
        value = value_of(cls, source, values)
        bare |= {path for path in conversion.blocking if is_bare(value, path)}
        before = value.encode(source)
        blocking |= set(refused(value, target))
        after = cls.decode(value.encode(target), target)
        for path in conversion.lost:
            reset(value, path)
        assert exact(as_decoded(value, source)) == exact(as_decoded(after, source)), "only what is lost may be lost"
        if conversion.relation == "same":
            assert value.encode(target) == before
        if conversion.relation in ("same", "lossless"):
            assert exact(cls.decode(before, source)) == exact(after)
    assert blocking == set(conversion.blocking) - bare


@pytest.mark.slow
@each_message
def test_encoding_fails_for_the_fields_that_the_matrix_names_and_no_others(name: str) -> None:
    cls, matrix = message_class(name), MATRIX[name]
    for source, target in permutations(cls.VALID_VERSIONS, 2):
        conversion = matrix.convert(source, target)
        assert not conversion.missing, "Kafka has no default that one of its own versions cannot carry"
        check(cls, source, target, conversion)


@each_message
def test_null_is_refused_where_the_matrix_says_so(name: str) -> None:
    cls, matrix = message_class(name), MATRIX[name]
    for source, target in permutations(cls.VALID_VERSIONS, 2):
        conversion = matrix.convert(source, target)
        for path in nullable(cls, source):
            value = value_of(cls, source, Set("max"))
            for holder, last in holders(value, path):
                setattr(holder, last, None)
            value.encode(source)
            named = [one for one in refused_with_reasons(value, target) if one == (path, NULL_IS_REFUSED)]
            assert bool(named) == (path in conversion.null)


def nullable(cls: type[Message], version: int) -> list[str]:
    """The fields that are null in a value of a version with every null, outermost only where one is in another."""
    paths = {path for target in cls.VALID_VERSIONS for path in MATRIX[cls.__name__].convert(version, target).null}
    return sorted(paths | set(nulls_of(cls, version, "")))


def nulls_of(cls: type[Any], version: int, prefix: str) -> Iterator[str]:
    for member in cls.FIELDS:
        if version in member.nullable:
            yield f"{prefix}{member.name}"


def refused_with_reasons(value: Message, version: int) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    while True:
        try:
            value.encode(version)
            return found
        except EncodeError as error:
            path = re.sub(r"\[\d+\]", "[]", error.path)
            found.append((path, error.reason))
            if error.reason == NULL_IS_REFUSED:
                return found
            reset(value, path)


@pytest.mark.long
def test_the_small_protocol_too(clockwork: ModuleType) -> None:
    """With what Kafka does not have: a default that a version cannot carry, nulls and tags of all kinds."""
    from clockwork_releases.compat import MATRIX as small  # type: ignore[import-not-found]

    checked = 0
    for name, matrix in small.items():
        cls = getattr(clockwork, name)
        for source, target in permutations(cls.VALID_VERSIONS, 2):
            if not matrix.convert(source, target).missing:
                check(cls, source, target, matrix.convert(source, target))
                checked += 1
    assert checked > 30


def test_records_are_null_by_default_also_where_null_is_refused() -> None:
    """Nothing else can be: a rule refuses a default of null that a version cannot carry."""
    first = field("First", "records", nullableVersions="0")
    second = field("Second", "records", versions="1+")
    third = field("Third", "records", versions="1+", nullableVersions="1+")
    schema = resolve([parse(Source("Clock.json", clock(first, second, third)), Report())], Report())
    [message] = schema.messages
    shapes = message_matrix(message, lower(schema)).shapes
    conversion = convert(shapes[0], shapes[1])
    assert (conversion.null, conversion.missing) == (("first",), ("second",))


def test_a_default_that_is_refused_counts_where_the_struct_around_it_is_made() -> None:
    """A struct that the source lacks is made from defaults, unless it is null, tagged, or an element of an array."""
    raw = field("Raw", "records", versions="1+")

    def late(name: str, *, array: str = "", **more: Any) -> Node:
        return field(name, f"{array}{name}", **{"versions": "1+", "fields": [raw], **more})

    null = {"nullableVersions": "1+", "default": "null"}
    text = clock(
        late("Plain"),
        late("Some", nullableVersions="1+"),
        late("None", **null),
        late("Many", array="[]"),
        tagged("Loose", 0, "Loose", fields=[raw]),
        tagged("Unset", 1, "records"),
        late("Outer", fields=[late("Inner"), late("Gone", **null)]),
        late("Nothing", **null, fields=[late("Deep")]),
    )
    schema = resolve([parse(Source("Clock.json", text), report := Report())], report)
    assert report.diagnostics == []
    shapes = message_matrix(schema.messages[0], lower(schema)).shapes
    conversion = convert(shapes[0], shapes[1])
    assert conversion.missing == ("plain.raw", "some.raw", "outer.inner.raw")
    assert conversion.relation == "inconvertible"


def test_a_version_whose_module_was_left_out_is_not_published_rather_than_removed() -> None:
    """Version 1 was removed before that, and version 2 is in no release at all."""
    schema = resolve([parse(Source("Clock.json", clock()), Report())], Report())
    matrix = message_matrix(schema.messages[0], lower(schema))
    names = ("1.0", "2.0", "3.0", "4.0", "4.1")
    history = History(releases={name: {} for name in names}, unpublished={"4.0": ["Clock"], "4.1": ["Clock"]})
    for version, releases in ((0, ("1.0", "2.0", "3.0")), (1, ("1.0",))):
        for release in releases:
            history.record_layout("Clock", version, matrix.shapes[version].layout.fingerprint, release)
    facts = version_facts(matrix.message, matrix.layouts, history)
    assert [one["status"] for one in facts] == ["not published", "removed", "removed"]
    cells = [cells for _, cells in Releases(history).grid(matrix).rows]
    assert [(cell.span, cell.status) for cell in cells[0]] == [
        ("1.0 to 3.0", "accepted"),
        ("4.0 to 4.1", "not published"),
    ]
    told = list(former(schema.messages[0], matrix.layouts, history))
    assert told == ["Not published with 4.0 to 4.1: the module of this message was left out."]


def test_versions_have_what_classes_and_evidence_say() -> None:
    """Releases have other bytes if they are exceptions, and not if they lack a tagged field."""
    history = read_history(Path(__file__).parents[2] / "message_defs" / "kafka")
    evidence = history.layouts
    assert set(MATRIX) == set(NAMES)
    for name in NAMES:
        cls, matrix = message_class(name), MATRIX[name]
        assert list(matrix.versions) == list(cls.VALID_VERSIONS)
        assert matrix.api_key == cls.API_KEY
        for version, facts in matrix.versions.items():
            assert facts.flexible == (version in cls.FLEXIBLE_VERSIONS)
            assert facts.header == (cls.header_version(version) if matrix.kind in ("request", "response") else None)
            prints = evidence.get(name, {}).get(version, {})  # no release has a definition of what is only in code
            assert prints.keys() <= set(facts.releases)
            others = {release for release in prints if history.excepted(name, version, release)}
            assert set(facts.other_bytes_in) == others, (name, version)


@pytest.mark.parametrize(
    ("message", "version", "first", "last"),
    [
        ("ProduceRequest", 2, "0.10.0", "3.9.2"),
        ("ControlledShutdownRequest", 0, "0.8.0", "3.9.2"),
        ("AccessControlRecord", 0, "2.8.0", "3.4.1"),
        ("ProduceRequest", 13, "4.1.0", None),
        ("JoinGroupRequest", 0, "0.9.0", None),
        ("OffsetFetchResponse", 2, "0.10.2", None),
        ("TransactionLogValue", 1, "3.4.1", None),
    ],
)
def test_life_of_versions(message: str, version: int, first: str, last: str | None) -> None:
    """Those without a last release are there still, whichever is the newest."""
    facts = MATRIX[message].versions[version]
    assert (facts.first, facts.last) == (first, last or RELEASES.newest.name)
    assert facts.status == ("removed" if last else "stable")


def test_the_status_of_a_version_is_that_in_the_newest_release() -> None:
    apis = RELEASES.newest.apis
    found = set()
    for matrix in MATRIX.values():
        if matrix.kind in ("request", "response") and matrix.api_key is not None:
            for version, facts in matrix.versions.items():
                status = apis[matrix.api_key].status(version) if matrix.api_key in apis else "none"
                assert facts.status == {"none": "removed", "refused": "removed"}.get(status, status)
                found.add(status)
    assert found >= {"stable", "none"}


def test_join_group_was_away_for_one_release() -> None:
    """KAFKA-19444: 4.0.0 took versions 0 and 1 away, 4.0.1 brought them back."""
    releases = MATRIX["JoinGroupRequest"].versions[1].releases
    assert "3.9.1" in releases
    assert "4.0.0" not in releases
    assert "4.0.1" in releases


def test_relations_by_example() -> None:
    produce: MessageMatrix = MATRIX["ProduceRequest"]
    assert produce.convert(9, 12).relation == "same"
    assert produce.convert(2, 3).relation == "lossless"
    fetch = MATRIX["FetchResponse"]
    assert fetch.convert(1, 0) == Conversion("lossy", ("throttle_time_ms",), (), (), ())
    metadata = MATRIX["MetadataRequest"].convert(12, 0)
    assert metadata.relation == "inconvertible"
    assert metadata.null == ("topics", "topics[].name")
    with pytest.raises(UnknownVersionError):
        produce.convert(0, 99)
