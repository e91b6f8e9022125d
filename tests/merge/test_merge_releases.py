"""All releases of Apache Kafka: they read without a finding, and their union has the bytes of every one of them.

This is the mechanical check behind ``message_defs/kafka``: it builds the union anew from the facts of the releases.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from kwirec.diagnostics.diagnostic import Report
from kwirec.driver import load
from kwirec.merge.history import read_history, release_key
from tests.merge.support import Union, bundle
from tests.support import kafka_releases
from tests.support.effort import one_in

pytestmark = pytest.mark.releases

EVENTFUL = (
    # Renamed messages, structs and fields
    "AlterIsrRequest", "AlterIsrResponse", "AlterPartitionRequest", "AlterPartitionResponse",
    "ListClientMetricsResourcesRequest", "ListConfigResourcesRequest", "ElectPreferredLeadersRequest",
    "ElectLeadersRequest",
    # Versions that came, were deprecated, went and came back
    "FetchRequest", "JoinGroupRequest", "DescribeLogDirsRequest",
    # Tagged fields that came to versions which were there before
    "FetchResponse", "ApiVersionsResponse", "PartitionChangeRecord", "TransactionLogValue", "OffsetCommitValue",
    "ConsumerGroupMetadataValue", "VoteRequest", "ProducerIdsRecord",
    # Bytes that changed under the same number
    "PartitionRecord", "RequestHeader", "LeaderChangeMessage", "RemoteLogSegmentMetadataRecord", "ShareUpdateValue",
    "UserScramCredentialRecord",
    # Version numbers that became record types
    "OffsetCommitKey", "GroupMetadataKey", "ConsumerGroupMetadataKey", "ShareUpdateKey",
)  # fmt: skip

UNION = Path(__file__).parents[2] / "message_defs" / "kafka"


def some_releases(number: int) -> list[str]:
    """Every so many of the distinct releases, and the newest; in ``make test-deep`` all of them."""
    *older, newest = kafka_releases.distinct()
    return [*one_in(number, older), newest]


@pytest.mark.slow
def test_every_release_reads_and_resolves_without_a_finding() -> None:
    found = {release: len(kafka_releases.schema(release).messages) for release in some_releases(7)}
    assert found["2.2.0"] == 90
    assert found[max(found, key=release_key)] >= 286


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Union, Any]:
    """The union of these releases, merged one after the other, and the outcome of the last merge."""
    union = Union(tmp_path_factory.mktemp("whole"))
    outcome = None
    for release in some_releases(7):
        outcome = union.merge(release, bundle(union.sources, release))
        assert (release, outcome.conflicts) == (release, [])
        assert outcome.proof is not None
        assert (release, outcome.proof.mismatches) == (release, ())
    return union, outcome


@pytest.mark.long
def test_the_union_has_the_bytes_of_every_version_of_every_release(whole: tuple[Union, Any]) -> None:
    _, outcome = whole
    schemas = map(kafka_releases.schema, some_releases(7))
    versions = sum(len(message.valid) for schema in schemas for message in schema.messages)
    assert outcome.proof.proved + outcome.proof.excepted == versions
    assert not outcome.failed


@pytest.mark.long
def test_numbers_whose_bytes_changed_between_releases_are_those_of_the_checked_in_union(
    whole: tuple[Union, Any],
) -> None:
    def numbers(root: Path) -> set[tuple[str, int, int | None, str]]:
        found = read_history(root).exceptions
        return {(one.message, one.version, one.now, release) for one in found for release in one.releases}

    union, _ = whole
    merged = some_releases(7)
    expected = {entry for entry in numbers(UNION) if entry[3] in merged}
    found = numbers(union.root)
    assert len(found) > 10
    assert found <= expected
    if merged == kafka_releases.distinct():
        assert found == expected


@pytest.mark.long
def test_former_names_and_tags_that_came_later_are_those_of_the_checked_in_union(whole: tuple[Union, Any]) -> None:
    def facts(root: Path) -> set[str]:
        schema = load([root], Report()).schema
        names = {f"{one.name} was {alias}" for one in schema.messages for alias in one.aliases}
        fields = ((one.name, field) for one in schema.messages for struct in one.structs for field in struct.fields)
        return names | {f"{name} has the late tag {field.name}" for name, field in fields if field.since is not None}

    union, _ = whole
    found, expected = facts(union.root), facts(UNION)
    assert len(found) > 20
    assert found <= expected
    if some_releases(7) == kafka_releases.distinct():
        assert found == expected


def merge_in(order: Sequence[str], union: Union) -> dict[str, str]:
    """Merge the eventful messages in ``order``; a release that leaves a gap in some range has to wait."""
    waiting = list(order)
    while waiting:
        refused = []
        for release in waiting:
            outcome = union.merge(release, bundle(union.sources, release, EVENTFUL))
            if outcome.conflicts:
                assert all("gaps" in conflict for conflict in outcome.conflicts)
                refused.append(release)
            else:
                assert not outcome.failed
        assert len(refused) < len(waiting)
        waiting = refused
    files: dict[str, str] = union.files()
    return files


@pytest.mark.long
def test_the_order_of_merges_makes_no_difference(new_union: Callable[[str], Union]) -> None:
    releases = some_releases(3)
    expected = merge_in(releases, new_union("in order"))
    for seed in one_in(3, (1, 2, 3)):
        order = list(releases)
        random.Random(seed).shuffle(order)
        files = merge_in(order, new_union(f"shuffled {seed}"))
        assert files.keys() == expected.keys(), order
        for name, text in files.items():
            assert text == expected[name], (name, order)
