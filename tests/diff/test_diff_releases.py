"""The diffs of all Kafka releases: they say what is known of them, and nothing false."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from kwirec.diagnostics.diagnostic import Report, Severity
from kwirec.diff import JudgedChange, Judgement, Level, compare, judge
from kwirec.diff import changes as c
from kwirec.diff.markdown import render_markdown
from kwirec.diff.report import FORMATS, render_diff
from kwirec.diff.sides import Side, read_sides
from kwirec.ir.schema import Message, MessageKind
from kwirec.lowering import lower_message
from tests.support import kafka_releases

ROOT = Path(__file__).parents[2]
UNION = ROOT / "message_defs" / "kafka"
pytestmark = pytest.mark.releases
PAIRS = list(pairwise(kafka_releases.lines()))
"""Each line and the next; in ``make test-deep`` all releases that differ."""

each_pair = pytest.mark.parametrize(
    ("old", "new"),
    [pytest.param(*pair, id="..".join(pair), marks=[] if pair == PAIRS[-1] else pytest.mark.long) for pair in PAIRS],
)

# What Kafka 4.0 removed: KIP-896 for clients, KAFKA-14552 and KAFKA-18601 for brokers and ZooKeeper.
REMOVED_IN_4_0 = {
    0: "0-2", 1: "0-3", 2: "0", 4: "0-7", 5: "0-4", 6: "0-8", 7: "0-3", 8: "0-1", 9: "0", 11: "0-1", 19: "0-1",
    20: "0", 23: "0-1", 27: "0", 29: "0", 30: "0", 31: "0", 32: "0", 34: "0", 35: "0", 38: "0", 39: "0", 40: "0",
    41: "0", 56: "0-1",
}  # fmt: skip


@pytest.mark.parametrize("release", [*kafka_releases.lines(), "2.8.0"])
@pytest.mark.long
def test_a_release_of_the_union_is_that_of_its_own_files(release: str) -> None:
    """Keys of records came in 4.1, and a former name of a message that is not compared is not compared either."""
    archive = kafka_releases.ARCHIVE
    old, new = read_sides(f"release:{release}", f"{archive}!{release}.jsonl", UNION, Report())
    found = judge(compare(old.schema, new.schema), Level.WIRE, old=old.schema).findings
    assert [one.diagnostic.message for one in found] == []


def side(release: str) -> Side:
    return Side(release, kafka_releases.schema(release))


@cache
def changes(old: str, new: str) -> list[c.Change]:
    return compare(kafka_releases.schema(old), kafka_releases.schema(new))


def judgement(old: str, new: str, level: Level = Level.WIRE) -> Judgement:
    return judge(changes(old, new), level, old=kafka_releases.schema(old))


def findings(old: str, new: str, level: Level = Level.WIRE) -> tuple[JudgedChange, ...]:
    return judgement(old, new, level).findings


def message(found: JudgedChange) -> Message:
    assert isinstance(found.change, c.AnyMessageChange)
    return found.change.message


def removals(found: tuple[JudgedChange, ...], kind: MessageKind) -> dict[int | None, str]:
    names = ("VERSION_MIN_RAISED", "VERSION_MAX_LOWERED", "MESSAGE_REMOVED")
    lists = {
        message(one).api_key: sorted(one.change.versions)
        for one in found
        if one.rule.name in names and message(one).kind is kind
    }
    return {
        key: f"{versions[0]}-{versions[-1]}" if versions[1:] else str(versions[0]) for key, versions in lists.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", [MessageKind.REQUEST, MessageKind.RESPONSE])
def test_what_kafka_4_0_removed_is_named_and_nothing_else(kind: MessageKind) -> None:
    found = findings("3.9.1", "4.0.0")
    assert removals(found, kind) == REMOVED_IN_4_0
    wrong = [
        one.diagnostic.message
        for one in found
        if message(one).kind is kind
        and one.severity is not Severity.NOTE
        and one.rule.name not in ("VERSION_MIN_RAISED", "MESSAGE_REMOVED")
    ]
    assert wrong == []


def test_trap_3_the_header_without_a_client_id_went_with_its_only_request() -> None:
    [one] = [one for one in findings("3.9.1", "4.0.0") if one.change.names[0] == "RequestHeader"]
    assert (one.rule.name, sorted(one.change.versions)) == ("VERSION_MIN_RAISED", [0])


def test_fields_that_kafka_4_0_deleted_with_their_versions() -> None:
    found = findings("3.9.1", "4.0.0", Level.SOURCE)
    assert {one.diagnostic.field_path for one in found if one.rule.name == "FIELD_REMOVED"} == {
        "Topics.TopicName",
        "Results.Configs.IsDefault",
        "Topics.Partitions.MaxNumOffsets",
        "Topics.Partitions.OldStyleOffsets",
        "Topics.Partitions.CommitTimestamp",
    }


def test_versions_that_went_without_a_warning_in_the_release_before() -> None:
    found = findings("3.9.1", "4.0.0", Level.POLICY)
    silent = {one.change.names[0] for one in found if one.rule.name == "VERSION_MIN_RAISED_UNDEPRECATED"}
    assert silent == {"AlterPartitionRequest", "WriteTxnMarkersRequest"}


@pytest.mark.slow
def test_join_group_came_back_in_4_0_1() -> None:
    """KAFKA-19444; Kafka's own checker calls it an error."""
    found = findings("4.0.0", "4.0.1", Level.POLICY)
    assert [(one.rule.name, one.change.names[0], sorted(one.change.versions)) for one in found] == [
        ("VERSION_RESTORED", "JoinGroupRequest", [0, 1]),
        ("VERSION_RESTORED", "JoinGroupResponse", [0, 1]),
    ]
    assert {one.severity for one in found} == {Severity.NOTE}


@pytest.mark.slow
def test_a_renamed_api_is_renamed_and_no_new_one() -> None:
    found = findings("4.0.1", "4.1.1", Level.JSON)
    renamed = {one.diagnostic.message for one in found if one.rule.name == "MESSAGE_RENAMED"}
    assert renamed == {
        f"`ListClientMetricsResources{half}` was renamed to `ListConfigResources{half}`"
        for half in ("Request", "Response")
    }
    assert not [one for one in found if one.rule.name == "API_KEY_REUSED"]


@pytest.mark.slow
def test_early_access_share_versions_went_with_a_warning_only() -> None:
    found = [one for one in findings("4.0.1", "4.1.1") if message(one).api_key in (76, 77, 78, 79)]
    gone = [one for one in found if one.rule.name == "VERSION_MIN_RAISED"]
    assert len(gone) == 8
    assert {one.severity for one in gone} == {Severity.WARNING}


@pytest.mark.long
def test_trap_47_versions_of_produce_and_fetch_without_a_wire_change() -> None:
    """In the releases compared; Produce 4-6 and Fetch before 11 are older than the definitions."""
    same = {
        (one.change.names[0], version)
        for old, new in PAIRS
        for one in findings(old, new)
        if one.rule.name == "VERSION_ADDED_SAME_BYTES"
        for version in one.change.versions
    }
    assert {("ProduceRequest", 10), ("ProduceRequest", 11), ("ProduceRequest", 12), ("FetchRequest", 14)} <= same
    assert {("FetchRequest", 16), ("ListOffsetsRequest", 7), ("ListOffsetsRequest", 8)} <= same
    assert ("ProduceRequest", 13) not in same


NO_BYTES = (c.FieldRenamed, c.StructRenamed, c.FieldAttributeChanged, c.FieldRemoved, c.FieldTypeChangedSameBytes)


@pytest.mark.slow
@each_pair
def test_exactly_the_versions_whose_bytes_differ_are_reported(old: str, new: str) -> None:
    """The judge is the layout: it knows neither names nor ranges."""
    before, after, found = kafka_releases.schema(old), kafka_releases.schema(new), changes(old, new)
    told: dict[str, set[int]] = {}
    for change in found:
        if isinstance(change, c.FlexibleVersionsChanged | c.FieldChange) and not isinstance(change, NO_BYTES):
            told.setdefault(change.new.message.name, set()).update(change.versions)
    renames = {one.new.message.name: one.old.message for one in found if isinstance(one, c.MessageRenamed)}
    for message in after.messages:
        partner = renames.get(message.name) or before.message(message.name)
        shared = set(partner.valid) & set(message.valid) if partner else set()
        differ = {v for v in shared if partner and lower_message(partner, v) != lower_message(message, v)}
        assert told.get(message.name, set()) & shared == differ, message.name


@pytest.mark.slow
@each_pair
def test_every_release_against_the_next_without_an_exception(old: str, new: str) -> None:
    whole = judgement(old, new, Level.POLICY)
    assert whole.breaking is any(one.severity is Severity.ERROR for one in whole.findings)
    assert render_markdown(whole, side(old), side(new)).count("\n- ") == len(whole.findings)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
def test_the_largest_diff_in_every_format(form: str) -> None:
    text = render_diff(judgement("4.0.1", "4.1.1", Level.POLICY), side("4.0.1"), side("4.1.1"), form)
    assert "ListConfigResourcesRequest" in text


@pytest.mark.slow
def test_requests_and_responses_stand_together_in_markdown() -> None:
    text = render_markdown(judgement("4.0.0", "4.0.1"), side("4.0.0"), side("4.0.1"))
    assert text.count("### ") == 1
    assert "### JoinGroup (api key 11)" in text
