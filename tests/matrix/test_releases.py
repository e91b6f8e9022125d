"""Releases: the facts as they are in the definitions, what real brokers say, and who agrees with whom on what."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.connection import ConnectionDecoder
from kwire.errors import UnknownApiError, UnknownReleaseError
from kwire.releases import Api, Change, Release, format_range
from kwire_kafka import PROTOCOL, ApiVersionsResponse
from kwire_kafka.compat import MATRIX
from kwire_kafka.releases import RELEASES, changes, negotiate
from kwirec.diagnostics.diagnostic import Report
from kwirec.driver import load
from kwirec.naming import python_name

ROOT = Path(__file__).parents[2]
FACTS: dict[str, Any] = json.loads((ROOT / "message_defs" / "kafka" / "releases.json").read_text())
NAMES = tuple(FACTS)


def announced(listener: str) -> ApiVersionsResponse:
    """What a real broker or controller of 4.1.1 said."""
    for line in (ROOT / "tests" / "data" / "real_frames" / "frames.jsonl").read_text().splitlines():
        frame = json.loads(line)
        if (frame["broker"], frame["listener"], frame["api_key"], frame["version"]) == ("4.1.1", listener, 18, 4):
            message = PROTOCOL.decode_response(bytes.fromhex(frame["response"]), 18, 4).message
            assert isinstance(message, ApiVersionsResponse)
            return message
    raise AssertionError(f"no frame of listener {listener}")


def numbers(versions: str | None) -> set[int]:
    """``0-3`` → {0, 1, 2, 3}, read here once more so that the test does not trust what it tests."""
    if versions in (None, "none"):
        return set()
    low, _, high = str(versions).partition("-")
    return set(range(int(low), int(high or low) + 1))


def test_all_facts_of_all_releases() -> None:
    assert tuple(RELEASES) == NAMES
    for name, facts in FACTS.items():
        release = RELEASES[name]
        assert release.source == facts["source"]
        assert {str(key) for key in release.apis} == set(facts["apis"])
        for key, api in release.apis.items():
            expected = facts["apis"][str(key)]
            assert api.name == expected["name"]
            assert set(api.accepted) | set(api.unstable) == numbers(expected["accepts"])
            assert set(api.unstable) == numbers(expected.get("unstable"))
            assert set(api.deprecated) == numbers(expected.get("deprecated"))
            if "advertises" in expected:
                assert set(api.advertised) == numbers(expected["advertises"])
            else:
                assert api.advertised == api.accepted
            assert set(api.listeners) == set(expected.get("listeners", []))


@pytest.mark.parametrize("listener", ["broker", "controller"])
def test_a_real_broker_advertises_what_is_known_of_its_release(listener: str) -> None:
    said = {api.api_key: range(api.min_version, api.max_version + 1) for api in announced(listener).api_keys}
    offered = {
        key: api.advertised
        for key, api in RELEASES["4.1.1"].apis.items()
        if listener in api.listeners and api.advertised
    }
    if listener == "controller":  # the lowest Produce version is a courtesy of brokers
        offered.pop(0, None)
    assert said == offered


@pytest.mark.parametrize("listener", ["broker", "controller"])
def test_the_answer_of_a_broker_has_all_versions_that_it_names(listener: str) -> None:
    said = announced(listener)
    one_version = {api.api_key: choice for api in said.api_keys for choice in (api.min_version, api.max_version)}
    assert {key: choice.version for key, choice in negotiate(said, said).items()} == one_version


def test_groups_came_with_0_9() -> None:
    """The broker of 0.8.2 has handlers up to FindCoordinator: ``KafkaApis`` of its jar."""
    assert max(RELEASES["0.8.2"].apis) == 10
    assert {"JoinGroup", "Heartbeat"} < {api.name for api in RELEASES["0.9.0"].apis.values()}


def test_the_raft_apis_of_2_7_were_switched_off() -> None:
    """KAFKA-10492: 2.7 has definitions for them, does not advertise them, and closes the connection on them."""
    advertised = {key for key, api in RELEASES["2.7.2"].apis.items() if api.advertised}
    assert advertised == {*range(52), 56, 57}
    for key in range(52, 56):
        assert negotiate({key: (0, 0)}, "2.7.2")[key].reason == "unadvertised"


def test_releases_without_definitions_say_where_each_version_comes_from() -> None:
    for before, release in pairwise(RELEASES.values()):
        if release.source != "definitions":
            assert re.search(r"KIP-\d|KAFKA-\d", release.source)
            for key, version in re.findall(r"\b([A-Z][A-Za-z]+) (\d+)\b", release.source):
                assert int(version) in release.api(key).accepted
                assert int(version) not in before.api(key).accepted


@pytest.mark.parametrize(
    ("asked", "found"), [("2.8", "2.8.2"), ("2", "2.8.2"), ("0.10.2.1", "0.10.2"), ("0.10", "0.10.2")]
)
def test_a_line_of_releases_stands_for_its_newest(asked: str, found: str) -> None:
    assert RELEASES[asked].name == found


@pytest.mark.parametrize("name", ["4.1.99", "99.0.0", "", "trunk"])
def test_an_unknown_release_names_those_nearby(name: str) -> None:
    with pytest.raises(UnknownReleaseError, match=r"unknown release .*, expected one of .*4\.1\.2, "):
        RELEASES[name]
    assert RELEASES.get(name) is None


def test_an_api_is_found_by_key_and_by_its_name_of_the_time() -> None:
    assert RELEASES["2.2.2"].api("ListOffset").key == RELEASES["4.1.1"].api("ListOffsets").key == 2
    assert RELEASES["4.1.1"].api(74).name == "ListConfigResources"
    with pytest.raises(UnknownApiError):
        RELEASES["4.1.1"].api("LeaderAndIsr")


@pytest.mark.parametrize(
    ("release", "version", "status"),
    [("3.9.1", 2, "deprecated"), ("3.9.1", 3, "stable"), ("4.1.1", 2, "refused"), ("4.1.1", 99, "none")],
)
def test_status_of_produce(release: str, version: int, status: str) -> None:
    assert RELEASES[release].apis[0].status(version) == status


def test_status_of_what_is_unstable() -> None:
    assert RELEASES["4.1.1"].api("StreamsGroupHeartbeat").status(0) == "unstable"


@pytest.mark.slow
def test_tagged_fields_carry_the_release_that_brought_them() -> None:
    found = [(r.name, t.message, t.field, t.tag) for r in RELEASES.values() for t in r.tagged]
    assert ("3.4.0", "ApiVersionsResponse", "zk_migration_ready", 3) in found
    assert ("2.8.0", "FetchResponse", "responses[].partitions[].snapshot_id", 2) in found
    for release in RELEASES.values():
        for field in release.tagged:
            assert set(field.versions) <= set(MATRIX[field.message].versions)
            assert release.name in MATRIX[field.message].versions[field.versions[0]].releases
    schema = load([ROOT / "message_defs" / "kafka"], Report()).schema
    late = {
        (one.since, message.name, python_name(one.name), one.tag)
        for message in schema.messages
        for struct in message.structs
        for one in struct.fields
        if one.since is not None
    }
    assert {(release, message, field.rpartition(".")[2], tag) for release, message, field, tag in found} == late


# Negotiation


def test_client_and_broker_of_two_releases() -> None:
    found = negotiate("2.8.2", "4.1.1")
    assert found[1].version == 12
    assert str(found[1]) == "Fetch (1): version 12"
    assert (found[4].version, found[4].reason) == (None, "broker")
    assert (found[88].version, found[88].reason) == (None, "client")
    assert {choice.name for choice in found.failed if choice.reason == "client too old"} == {"AlterPartition"}
    assert not {"client", "broker"} & {choice.reason for choice in found.failed}
    assert not found.blind


def test_peers_that_are_newer_than_all_releases() -> None:
    assert negotiate({"Fetch": (0, 99)}, {"Fetch": (4, 99)})[1].version == 99
    assert negotiate({"Fetch": (0, 99)}, {"Fetch": (90, 99)})[1].version == 99


def test_an_api_has_the_name_of_the_newest_release_that_has_it() -> None:
    newest = {api.key: api.name for release in RELEASES.values() for api in release.apis.values()}
    versions = dict.fromkeys(newest, range(1))
    assert {key: choice.name for key, choice in negotiate(versions, versions).items()} == newest


@pytest.mark.parametrize("text", ["3-", "-3", "a", "1-2-3"])
def test_what_is_no_range_of_versions(text: str) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        negotiate({"Fetch": text}, "4.1.1")


def test_a_broker_that_advertises_what_it_refuses() -> None:
    """KAFKA-18659: brokers from 4.0 on say Produce 0 and close the connection on it."""
    for broker in ("4.1.1", RELEASES["4.1.1"], announced("broker"), {0: (0, 13)}, {0: (0, 12)}, {0: (0, 99)}):
        assert negotiate({"Produce": (0, 2)}, broker)[0].reason == "refused"
        assert negotiate({"Produce": (0, 3)}, broker)[0].version == 3
    for broker in ("3.9.1", {0: (0, 11)}, {0: (3, 13)}, {0: (0, 2)}):
        assert negotiate({"Produce": (0, 2)}, broker)[0].reason != "refused"


def test_reasons() -> None:
    assert negotiate({1: "0-3"}, "4.1.1")[1].reason == "client too old"
    assert negotiate({1: "18"}, "3.9.1")[1].reason == "client too new"
    assert negotiate("4.1.1", "4.1.1")[71].reason == "unadvertised"
    assert negotiate("4.1.1", "4.1.1")[88].reason == "unstable"
    assert negotiate("4.1.1", "4.1.1", unstable=True)[88].version == 0
    assert RELEASES.changes("4.1.1", "4.1.1", "4.1.1", unstable=True) == []
    assert negotiate("4.1.1", "4.1.1", unstable=True)[22].version == 6
    assert negotiate("4.1.1", "4.1.1")[22].version == 5
    assert negotiate("4.1.1", "4.1.1", listener="broker")[52].reason == "listener"
    assert negotiate("4.1.1", "4.1.1", listener="controller")[52].version == 2
    assert negotiate({88: "7"}, "4.1.1")[88].reason == "unstable"
    assert negotiate({88: "7"}, "4.1.1", unstable=True)[88].reason == "client too new"
    assert str(negotiate({1: "0-3"}, "4.1.1")[1]) == "Fetch (1): none: client too old (client 0-3, broker 4-18)"
    new = Release("new", "made up", {7: Api(7, "Clock", range(5, 6), range(5, 6))})
    old = Release("old", "made up", {7: Api(7, "Clock", range(5), range(5), unstable=range(5, 6))})
    assert negotiate(new, old)[7].reason == negotiate(old, new)[7].reason == "unstable"
    assert negotiate(new, old, unstable=True)[7].version == negotiate(old, new, unstable=True)[7].version == 5


def test_a_broker_whose_listeners_nobody_noted_offers_its_apis_on_each() -> None:
    """Definitions name the listeners since 2.8."""
    assert negotiate("4.1.1", "2.7.2", listener="broker")[1].version == 12
    assert negotiate("4.1.1", "2.8.2", listener="controller")[0].reason == "listener"


def test_brokers_that_cannot_be_asked() -> None:
    assert negotiate("4.1.1", "0.9.0").blind
    assert not negotiate("4.1.1", "0.10.0").blind


def test_what_a_client_loses_when_its_broker_is_upgraded() -> None:
    client = {"Produce": (0, 2), "Fetch": (0, 4), "Metadata": (0, 5), "JoinGroup": (0, 1), "LeaderAndIsr": (0, 0)}
    found = {change.after.name: change for change in changes(client, "3.9.1", "4.1.1")}
    assert {name: (found[name].before.version, found[name].after.reason) for name in found} == {
        "Produce": (2, "refused"),
        "LeaderAndIsr": (0, "broker"),
    }
    assert all(change.lost for change in found.values())
    gained: list[Change] = changes("4.1.1", "3.9.1", "4.1.1", listener="broker")
    assert {"Fetch", "ShareFetch"} <= {change.after.name for change in gained}
    assert not any(change.lost for change in gained)
    assert changes("3.9.1", "3.9.1", "3.9.1", listener="broker") == []


@pytest.mark.parametrize(
    ("name", "key"),
    [("ListOffset", 2), ("ListOffsets", 2), ("AlterIsr", 56), ("AlterPartition", 56), ("ElectPreferredLeaders", 43)],
)
def test_a_side_may_have_names_of_any_release(name: str, key: int) -> None:
    found = negotiate({name: (0, 99)}, {key: (0, 7)})
    assert (list(found), found[key].version, found[key].client) == ([key], 7, range(100))


def test_wrong_sides_are_told() -> None:
    with pytest.raises(TypeError, match="expected a release"):
        negotiate(7, "4.1.1")
    with pytest.raises(UnknownApiError, match="NoSuchApi"):
        negotiate({"NoSuchApi": (0, 1)}, "4.1.1")


RANGES = st.tuples(st.integers(0, 20), st.integers(0, 20)).map(lambda pair: range(min(pair), max(pair) + 1))


@pytest.mark.slow
@given(client=RANGES, release=st.sampled_from(NAMES))
def test_the_version_is_the_highest_that_both_take(client: range, release: str) -> None:
    for key, api in RELEASES[release].apis.items():
        choice = negotiate({key: client}, release)[key]
        common = set(client) & set(api.accepted) & set(api.advertised)
        assert choice.version == (max(common) if common else None)
        assert (choice.reason == "") == bool(common)


@pytest.mark.slow
def test_the_emitted_tables_say_what_negotiate_says() -> None:
    """The compiler fills the matrix on its own; both must agree for every pair of releases."""
    compared = 0
    for key, table in MATRIX.data["negotiation"].items():
        runs = [span.partition("..")[0] for span in table["releases"]]
        for client, row in zip(runs, table["versions"], strict=True):
            for broker, version in zip(runs, row, strict=True):
                choice = negotiate(client, broker)[int(key)]
                said = "refused" if choice.reason == "refused" else choice.version
                assert said == version, f"api {key}, client {client}, broker {broker}"
                compared += 1
    assert compared > 2000


def test_ranges_as_texts() -> None:
    assert [format_range(versions) for versions in (range(3, 12), range(3, 4), range(0))] == ["3-11", "3", "none"]


@pytest.mark.parametrize("release", ["3.9.1", "4.1.1"])
def test_brokers_told_real_clients_what_is_known_of_their_release(release: str) -> None:
    said = [
        {api.api_key: range(api.min_version, api.max_version + 1) for api in message.api_keys}
        for path in (ROOT / "tests" / "data" / "captures").glob(f"*-on-{release}*.json.gz")
        for message in answers(path)
    ]
    apis = RELEASES[release].apis.items()
    assert said
    assert all(one == {k: a.advertised for k, a in apis if "broker" in a.listeners and a.advertised} for one in said)


def answers(path: Path) -> Iterator[ApiVersionsResponse]:
    """The ApiVersions responses in a capture, without those to a version that the broker did not know."""
    for connection in json.loads(gzip.decompress(path.read_bytes())):
        decoder = ConnectionDecoder(PROTOCOL)
        for sender, seconds, data in connection:
            for event in decoder.feed(sender, base64.b64decode(data), seconds):
                message = getattr(event, "message", None)
                if isinstance(message, ApiVersionsResponse) and message.error_code == 0:
                    yield message
