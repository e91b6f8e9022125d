"""What chapters say about versions and releases, looked up in the definitions and in the history of releases."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from html import escape

import pytest

from kwire_guide.fields import field_rows
from kwire_guide.inputs import Inputs
from kwire_guide.releases import Releases
from kwire_guide.rows import rows
from tests.guide.conftest import UNION, search_data

SINCE = [
    ("FetchResponse", "responses.partitions.preferred_read_replica", 11),
    ("FetchRequest", "session_id", 7),
    ("FetchRequest", "forgotten_topics_data", 7),
    ("FetchRequest", "max_bytes", 3),
    ("FetchRequest", "isolation_level", 4),
    ("FetchRequest", "topics.partitions.last_fetched_epoch", 12),
    ("FetchResponse", "responses.partitions.diverging_epoch", 12),
    ("FetchRequest", "topics.topic_id", 13),
    ("ProduceRequest", "topic_data.topic_id", 13),
    ("OffsetCommitRequest", "topics.topic_id", 10),
    ("OffsetFetchRequest", "groups.topics.topic_id", 10),
    ("DeleteTopicsRequest", "topics.topic_id", 6),
    ("MetadataResponse", "topics.partitions.leader_epoch", 7),
    ("MetadataResponse", "topics.topic_id", 10),
    ("ApiVersionsRequest", "client_software_name", 3),
    ("ApiVersionsResponse", "supported_features", 3),
    ("SaslAuthenticateResponse", "session_lifetime_ms", 1),
    ("EndTxnResponse", "producer_epoch", 5),
    ("FindCoordinatorRequest", "key_type", 1),
    ("ConsumerGroupHeartbeatRequest", "subscribed_topic_regex", 1),
    ("ProduceRequest", "transactional_id", 3),
]
"""Message, field, and the version since which a chapter says that it is there."""

FIRST = [
    ("ApiVersions", 0, "0.10.0"),
    ("Produce", 12, "4.0.0"),
    ("Fetch", 16, "3.7.0"),
    ("SaslAuthenticate", 1, "2.2.0"),
    ("ConsumerGroupHeartbeat", 0, "3.7.0"),
    ("Fetch", 13, "3.1.0"),
]
"""API, version, and the first release that accepts it."""

FLEXIBLE = [("ProduceRequest", 9), ("FetchRequest", 12), ("HeartbeatRequest", 4), ("ApiVersionsRequest", 3)]


@pytest.mark.slow
@pytest.mark.parametrize(("message", "place", "version"), SINCE)
def test_a_field_is_there_since_the_version(union: Inputs, message: str, place: str, version: int) -> None:
    layouts = union.layouts.by_message[message]
    having = [number for number, layout in layouts.items() if place in {row.place for row in rows(layout)}]
    assert min(having) == version


@pytest.mark.slow
@pytest.mark.parametrize(("api", "version", "release"), FIRST)
def test_a_version_is_accepted_since_the_release(union: Inputs, api: str, version: int, release: str) -> None:
    (message,) = [one for one in union.schema.messages if one.name == f"{api}Request"]
    assert Releases(union.history).first(message.api_key, version) == release


@pytest.mark.slow
@pytest.mark.parametrize(("message", "version"), FLEXIBLE)
def test_a_message_is_flexible_since_the_version(union: Inputs, message: str, version: int) -> None:
    layouts = union.layouts.by_message[message]
    assert min(number for number, layout in layouts.items() if layout.is_flexible) == version


@pytest.mark.slow
def test_the_grammar_that_is_explained_is_one_of_the_site(site: Mapping[str, str]) -> None:
    chapter = (UNION / "guide" / "05-reading.md").read_text("utf-8")
    shown = chapter.partition("```\n")[2].partition("```")[0]
    assert escape(shown.rstrip()) in site["api/heartbeat.html"]


def test_proposals_name_messages_and_versions_that_there_are(union: Inputs) -> None:
    messages = {message.name: message for message in union.schema.messages}
    found = json.loads((UNION / "kips.json").read_text("utf-8"))
    for name, versions in found.items():
        assert all(int(version) in messages[name].valid for version in versions), name
        assert list(versions) == sorted(versions, key=int), name
        assert all(kips == sorted(set(kips)) for kips in versions.values()), name


def test_a_proposal_of_several_versions_is_of_neighbours(union: Inputs) -> None:
    """Comments such as ``Versions 2-3 add …`` name several; proposals that came in steps are named here."""
    apart = {
        (name, kip): numbers
        for name, versions in union.kips.items()
        for kip in {one for kips in versions.values() for one in kips}
        if (numbers := [version for version, kips in versions.items() if kip in kips])[-1] - numbers[0]
        >= len(numbers)
    }
    assert apart == {}


def test_proposals_of_versions_whose_comments_were_compared(union: Inputs) -> None:
    """Read in the comments of 4.4.0, by hand."""
    assert union.kips["InitProducerIdRequest"] == {5: (890,), 6: (939,)}
    assert union.kips["OffsetFetchRequest"] == {9: (848,), 10: (848,)}
    assert union.kips["ShareFetchRequest"] == {0: (932,), 1: (932,), 2: (1206, 1222)}
    assert union.kips["TxnOffsetCommitRequest"] == {4: (890,), 5: (890,), 6: (1319,)}


def test_fields_that_chapters_name_have_rows(union: Inputs) -> None:
    places = {(message.name, row.place) for message in union.schema.messages for row in field_rows(message)}
    assert not [(name, place) for name, place, _ in SINCE if (name, place) not in places]


@pytest.mark.slow
def test_proposals_of_releases_are_of_releases_that_have_a_page(union: Inputs, site: Mapping[str, str]) -> None:
    for release, kips in union.release_kips.items():
        page = site[f"releases/{release}.html"]
        assert all(f'<li><a href="../kips.html#KIP-{kip}">' in page for kip in kips), release
        assert all(f'<h2 id="KIP-{kip}">' in site["kips.html"] for kip in kips), release


@pytest.mark.slow
def test_a_release_has_the_proposals_of_versions_that_became_stable(site: Mapping[str, str]) -> None:
    page = site["releases/4.1.0.html"].partition('id="Proposals"')[2].partition("</ul>")[0]
    assert re.search(r"KIP-932</a> .*>InitializeShareGroupState 0</a>", page)
    found = search_data(site["assets/search.js"])["entries"]
    assert [text for path, *_, text, _, _ in found if path == "releases/4.1.0.html" and "KIP-932" in text] != []
    assert [text for path, *_, text, _, _ in found if path == "kips.html#KIP-500" and "ZooKeeper" in text] != []
