"""What versions and releases brought."""

from __future__ import annotations

from kwirec.guide.changes import VersionChange, changes
from kwirec.guide.releases import Releases, line_of
from kwirec.guide.rows import rows
from kwirec.guide.site import Inputs


def of(union: Inputs, name: str) -> dict[int, VersionChange]:
    layouts = union.layouts.by_message[name]
    found = changes(
        {v: rows(layout) for v, layout in layouts.items()}, {v: x.is_flexible for v, x in layouts.items()}
    )
    return {change.version: change for change in found}


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
    assert line_of("0.10.2") == "0.10"
    assert line_of("3.9.1") == "3.9"


def test_the_status_of_a_version_in_a_release(union: Inputs) -> None:
    releases = Releases(union.history)
    assert releases.status(1, 3, "3.9.1") == "deprecated"
    assert releases.status(1, 3, "4.0.0") == "none"
    assert releases.status(1, 4, "4.0.0") == "accepted"
    assert releases.status(0, 2, "4.0.0") == "refused"
