"""What versions and releases brought."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from kwire_guide.changes import VersionChange, changes
from kwire_guide.former import former
from kwire_guide.inputs import Inputs
from kwire_guide.kips import kip_address, read_kips
from kwire_guide.releases import Releases
from kwirec.ir.schema import IMPLICIT
from kwirec.lowering.layout import SCALARS, MessageLayout, StructKind, TagLayout
from kwirec.merge.history import ApiFacts, History
from kwirec.merge.proof import as_of
from tests.guide.conftest import CLOCKWORK, loaded
from tools.kips import kips


def of(union: Inputs, name: str) -> dict[int, VersionChange]:
    found = changes(union.layouts.by_message[name])
    return {change.version: change for change in found}


@pytest.mark.slow
def test_versions_of_fetch(union: Inputs) -> None:
    response = of(union, "FetchResponse")
    assert list(response[0].sentences()) == [("is the first version known", ())]
    assert list(response[2].sentences()) == [("has the same bytes as version 1", ())]
    assert response[12].flexible
    assert response[12].added == tuple(
        f"responses.partitions.{name}" for name in ("diverging_epoch", "current_leader", "snapshot_id")
    )
    assert response[13].added == ("responses.topic_id",)
    assert response[13].removed == ("responses.topic",)
    assert response[16].added == ("node_endpoints",)


@pytest.mark.slow
def test_versions_with_the_same_bytes_are_those_with_equal_layouts(union: Inputs) -> None:
    for name, layouts in union.layouts.by_message.items():
        for change in of(union, name).values():
            if change.before is not None:
                assert change.same == (layouts[change.version] == layouts[change.before]), (name, change.version)


def test_the_first_flexible_version_has_compact_lengths_only_where_there_are_lengths(union: Inputs) -> None:
    plain = ("is the first flexible version: tagged fields end every struct", ())
    assert list(of(union, "HeartbeatResponse")[4].sentences()) == [plain]
    assert list(of(union, "RequestHeader")[2].sentences()) == [plain]  # the client id keeps its INT16
    compact = ("is the first flexible version: lengths are compact, and tagged fields end every struct", ())
    assert list(of(union, "HeartbeatRequest")[4].sentences()) == [compact]


def test_tagged_fields_that_came_later_are_not_other_bytes(union: Inputs) -> None:
    messages = {message.name: message for message in union.schema.messages}

    def told(name: str) -> list[str]:
        return list(former(messages[name], union.layouts.by_message[name], union.history))

    assert told("ApiVersionsResponse")[-1] == "Version 3 had no zk_migration_ready (tag 3) before 3.4.0."
    assert told("FetchResponse") == ["Version 12 had no responses.partitions.snapshot_id (tag 2) before 2.8.0."]
    assert told("MetadataRequest") == []
    (both,) = [text for text in told("PartitionRecord") if "other bytes" in text]
    assert both.startswith("Version 0 had other bytes in 2.8.0 to 2.8.2: KRaft preview of 2.8")
    for name in messages:
        claimed = {int(text.split()[1]) for text in told(name) if "other bytes" in text}
        assert claimed == {
            one.version
            for one in union.history.exceptions
            if one.message == name and one.version in union.layouts.by_message[name]
        }, name


def test_tagged_fields_within_others_that_came_with_their_version_are_no_news() -> None:
    number = SCALARS["int8"]
    inner = StructKind("Inner", (), (TagLayout("Second", 1, number, 0, since="3.0.0"),))
    root = StructKind("M", (), (TagLayout("Outer", 0, inner, IMPLICIT, since="2.0.0"),))
    layout = MessageLayout("M", root)
    message = next(one for one in loaded(CLOCKWORK).schema.messages if one.name == "Gear")

    def told(*releases: str) -> list[str]:
        history = History(releases={release: {} for release in releases})
        for release in releases:
            history.record_layout(message.name, 0, as_of(layout, release).fingerprint, release)
        return list(former(message, {0: layout}, history))

    second = "Version 0 had no outer.second (tag 1) before 3.0.0."
    assert told("2.0.0", "3.0.0") == [second]
    assert told("1.0.0", "3.0.0") == ["Version 0 had no outer (tag 0) before 2.0.0.", second]
    assert told("3.0.0") == told("10.0.0") == []
    assert list(former(message, {0: layout}, History(releases={"1.0.0": {}}))) == []  # no release is known to have it


def test_null_that_is_allowed_later_is_named(union: Inputs) -> None:
    assert of(union, "MetadataRequest")[1].nullable == ("topics",)


def test_upgrades_name_what_a_release_took_away(union: Inputs) -> None:
    releases = Releases(union.history)
    upgrades = {upgrade.release: {one.name: one for one in upgrade.changes} for upgrade in releases.upgrades()}
    assert upgrades["4.0.0"]["Fetch"].removed == "0-3"
    assert upgrades["4.0.0"]["LeaderAndIsr"].gone
    assert upgrades["4.0.1"]["JoinGroup"].added == "0-1"
    assert upgrades["3.9.2"] == {}
    assert upgrades["0.11.0"]["InitProducerId"].new


def test_the_status_of_a_version_in_a_release(union: Inputs) -> None:
    releases = Releases(union.history)
    assert releases.status(1, 3, "3.9.1") == "deprecated"
    assert releases.status(1, 3, "4.0.0") == "none"
    assert releases.status(1, 4, "4.0.0") == "accepted"
    assert releases.status(0, 2, "4.0.0") == "refused"


def test_changes_of_made_up_releases() -> None:
    history = History(
        releases={
            "1.0.0": {3: ApiFacts("Clock", "0-3", unstable="2-3", deprecated="0")},
            "1.1.0": {3: ApiFacts("Clock", "0-2", deprecated="0")},
            "2.0.0": {3: ApiFacts("Clock", "1-2")},
        }
    )
    releases = Releases(history)
    assert [releases.first(3, version) for version in range(4)] == ["1.0.0", "1.0.0", "1.1.0", ""]
    changes = {upgrade.release: upgrade.changes for upgrade in releases.upgrades()}
    (new,), (grown,), (less,) = changes.values()
    assert (new.new, new.added, new.unstable, new.deprecated) == (True, "0-3", "2-3", "0")
    assert (grown.stable, grown.removed, grown.unstable, grown.gone) == ("2", "3", "", False)
    assert (less.removed, less.stable, less.deprecated, less.added) == ("0", "", "", "")


@pytest.mark.slow
def test_versions_name_their_proposals(site: Mapping[str, str], union: Inputs) -> None:
    assert union.kips["FetchRequest"][9] == (320,)
    messages = {message.name: message for message in union.schema.messages}
    assert all(v in messages[name].valid for name, versions in union.kips.items() for v in versions)
    page = site["api/fetch.html"]
    _, _, rest = page.partition('<a href="#request-v9-vs-8">')
    assert f'<a class="chip" href="{kip_address(320)}">KIP-320</a>' in rest.partition("<dt>")[0]


@pytest.mark.parametrize(
    "text", ["[]", '{"M": {"1": [0]}}', '{"M": {"x": [1]}}', '{"M": {"1": ["<b>"]}}', '{"M": {"1": [true]}}', "{"]
)
def test_proposals_are_numbers(tmp_path: Path, text: str) -> None:
    (tmp_path / "kips.json").write_text(text)
    with pytest.raises(ValueError, match=r"kips\.json: "):
        read_kips([tmp_path])


def test_proposals_are_taken_from_comments_about_versions() -> None:
    text = """
    // Version 1 is new.
    //
    // Versions 2-3 add A, see KIP-10
    // and KIP-11.
    // Version 4 adds B (KIP-12).
    // Version 5 adds C.
    //
    // It is more than that (KIP-15).
    //
    // Verison 6 adds D (KIP-14).
    "validVersions": "0-6",
    // KIP-13
    """
    assert sorted(kips(text)) == [(2, 10), (2, 11), (3, 10), (3, 11), (4, 12), (5, 15), (6, 14)]
