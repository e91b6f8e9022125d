"""Whole answers about a cluster: its nodes, topics, settings and versions, in all versions that differ."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from kwire.client import BrokerError
from kwire_kafka import PROTOCOL
from kwire_kafka.errors import ErrorCode
from kwire_kafka.releases import RELEASES
from kwire_testing import FakeBroker
from kwire_testing.apis.cluster import API_VERSIONS
from kwire_testing.call import HANDLERS
from tests.testing.talking import connected
from tests.testing.test_logs import TEN, filled
from tests.testing.transcripts import Speaker, transcript


def topics(*names: str | None, **fields: Any) -> dict[str, Any]:
    return {"topics": [{"name": name} for name in names]} | fields


@pytest.mark.parametrize("auto_create", [True, False])
def test_metadata(auto_create: bool, snapshot: SnapshotAssertion) -> None:
    """Version 0 has no null for all topics, and topics are only made for clients since 4 if they ask for it."""

    async def run(a: Speaker, b: Speaker) -> None:
        whole = await a("Metadata", 12, topics=None)
        await b("Metadata", 9, **topics("u", allow_auto_topic_creation=False))
        await a("Metadata", 0)
        await a("Metadata", 1)
        a.page.broker.move("t", 1, 1)
        await a("Metadata", 12, topics=[{"topic_id": whole.topics[0].topic_id, "name": None}])
        await a("Metadata", 12, topics=[{"topic_id": b"x" * 16, "name": None}])
        await b("Metadata", 3, **topics("three", "t"))
        await b("Metadata", 4, **topics("four", allow_auto_topic_creation=False))
        await b("Metadata", 4, **topics("five", "no/topic", allow_auto_topic_creation=True))
        await b("Metadata", 10, **topics("", allow_auto_topic_creation=True))
        await a("Metadata", 1, topics=None)
        await a("DescribeCluster", 0)
        await b("DescribeCluster", 2, endpoint_type=1)
        await b("DescribeCluster", 1, endpoint_type=2)

    broker = FakeBroker("4.0", {"t": 3, "u": 1}, nodes=2, auto_create=auto_create)
    assert transcript(broker, run, 1, 2) == snapshot


def test_unknown_ids_have_an_empty_name_before_version_12() -> None:
    async def run(a: Speaker) -> None:
        for version in (11, 12):
            await a("Metadata", version, topics=[{"topic_id": b"x" * 16, "name": None}])
        a.page.lines = [line[line.index("topics=") :] for line in a.page.lines]

    assert transcript(FakeBroker("4.0"), run) == [
        f"topics=[{{error_code=UNKNOWN_TOPIC_ID {name}topic_id=#eHh4}}]" for name in ("", "name=None ")
    ]


def test_coordinators(snapshot: SnapshotAssertion) -> None:
    """They follow from a checksum of the key, unless a test has moved them."""

    async def run(a: Speaker) -> None:
        await a("FindCoordinator", 4, coordinator_keys=["g", "h", "é", "", "x"])
        a.page.broker.move_coordinator("h", 3)
        await a("FindCoordinator", 3, key="h")
        await a("FindCoordinator", 0, key="g")
        with a.page.broker.fail("FindCoordinator", ErrorCode.COORDINATOR_NOT_AVAILABLE, key="g"):
            await a("FindCoordinator", 4, coordinator_keys=["g", "h"], key_type=1)
            await a("FindCoordinator", 1, key="g")

    assert transcript(FakeBroker("3.9", nodes=3), run) == snapshot


def new(name: str, count: int = -1, replicas: int = -1, *placed: tuple[int, list[int]], **configs: str) -> Any:
    return {
        "name": name,
        "num_partitions": count,
        "replication_factor": replicas,
        "assignments": [{"partition_index": index, "broker_ids": nodes} for index, nodes in placed],
        "configs": [{"name": name.replace("_", "."), "value": value} for name, value in configs.items()],
    }


def test_topics_are_created_extended_and_removed(snapshot: SnapshotAssertion) -> None:
    async def run(a: Speaker, b: Speaker) -> None:
        await a(
            "CreateTopics",
            7,
            topics=[
                new("plain"),
                new("wide", 4, 2, cleanup_policy="compact", retention_ms="1"),
                new("placed", -1, -1, (1, [1]), (0, [2, 1])),
                new("again", 1, 1),
                new("again", 1, 1),
                *(new(name, 1, 1) for name in (".", "..", "...", "", "a b", "x" * 249, "y" * 250)),
                new("r0", 1, 0),
                new("r3", 1, 3),
                new("c0", 0, 1),
                new("c-2", -2, 1),
                new("both", 1, 1, (0, [1])),
                new("gap", -1, -1, (0, [1]), (2, [1])),
                new("stranger", -1, -1, (0, [1, 3])),
                new("nowhere", -1, -1, (0, [])),
                new("thrice", -1, -1, (0, [1, 2, 1])),
                new("full", 100_000, 1),
            ],
        )
        await a("CreateTopics", 2, topics=[new("dry", 2, 2), new("plain", 1, 1)], validate_only=True)
        await a("CreateTopics", 0, topics=[new("dry", 2, 2), new("plain", 1, 1)])
        extended = [("plain", 2), ("plain", 3), ("wide", 4), ("wide", 3), ("placed", 3), ("none", 3), ("dry", 99_999)]
        for version, dry in ((1, True), (3, False)):
            for rows in ([extended[0]], [extended[1]], extended[2:4], extended[4:]):
                counts = [{"name": name, "count": count, "assignments": None} for name, count in rows]
                await b("CreatePartitions", version, topics=counts, validate_only=dry)
        for nodes in ([[1]], [[1], [2]], [[3]], [[1, 1]]):
            placed = [{"broker_ids": one} for one in nodes]
            await b("CreatePartitions", 3, topics=[{"name": "placed", "count": 4, "assignments": placed}])
        made = await b("Metadata", 12, topics=None)
        known = {topic.name: topic.topic_id for topic in made.topics}
        await b("DeleteTopics", 5, topic_names=["plain", "none"])
        await b(
            "DeleteTopics",
            6,
            topics=[
                {"name": None, "topic_id": known["plain"]},
                {"name": None, "topic_id": known["wide"]},
                {"name": "placed"},
                {"name": "none"},
                {"name": "none"},
            ],
        )
        await a("Metadata", 12, topics=None)
        await a("CreateTopics", 7, topics=[new("plain", 3)])
        await a("Metadata", 12, **topics("plain"))

    assert transcript(FakeBroker("3.9", nodes=2), run, 1, 2) == snapshot


def test_a_cluster_has_at_most_so_many_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of a topic that is deleted count no longer."""
    monkeypatch.setattr("kwire_testing.cluster.MAX_PARTITIONS", 20)

    async def run(a: Speaker) -> None:
        answers = []
        for count in (18, 19, 17):
            answers += (await a("CreateTopics", 7, topics=[new(f"c{count}", count, 1)])).topics
        for name, count in (("c17", 19), ("c17", 18), ("t", 3), ("t", 2)):
            wanted = {"name": name, "count": count, "assignments": None}
            answers += (await a("CreatePartitions", 3, topics=[wanted])).results
        await a("DeleteTopics", 5, topic_names=["c18"])
        answers += (await a("CreateTopics", 7, topics=[new(f"d{count}", count, 1) for count in (17, 2, 1)])).topics
        a.page.lines = [f"{one.name} {one.error_code}" for one in answers]

    assert transcript(FakeBroker("3.9", {"t": 2}), run) == [
        *("c18 0", "c19 37", "c17 37", "c17 3", "c17 3", "t 37", "t 37", "d17 0", "d2 37", "d1 0"),
    ]


def test_settings(snapshot: SnapshotAssertion) -> None:
    def asked(kind: int, name: str, *keys: str) -> Any:
        return {"resource_type": kind, "resource_name": name, "configuration_keys": [*keys] or None}

    async def run(a: Speaker) -> None:
        await a("CreateTopics", 7, topics=[new("c", 1, 1, cleanup_policy="compact", own="1")])
        resources = [asked(2, "t"), asked(2, "c"), asked(2, "c", "own", "retention.ms", "none"), asked(2, "none")]
        resources += [
            asked(4, "1"),
            asked(4, "", "num.partitions"),
            asked(8, "1"),
            asked(2, "t") | {"configuration_keys": []},
        ]
        await a("DescribeConfigs", 4, resources=resources)
        await a("DescribeConfigs", 0, resources=resources[:3])
        a.page.broker.fail("DescribeConfigs", ErrorCode.TOPIC_AUTHORIZATION_FAILED, topic="t")
        await a("DescribeConfigs", 1, resources=[asked(4, "1"), asked(2, "t")])
        a.page.broker.fail("DescribeConfigs", ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        await a("DescribeConfigs", 1, resources=[asked(4, "1"), asked(2, "t"), asked(8, "")])

    assert transcript(FakeBroker("3.9", {"t": 1}, auto_create=False), run) == snapshot


# What a release offers.


@pytest.mark.parametrize("release", [*TEN, "0.10.1", "0.11.0", "2.3", "2.4", "3.2", "3.4", "3.7"])
def test_each_release_advertises_its_versions(release: str, snapshot: SnapshotAssertion) -> None:
    """Those of the listener of brokers, for APIs with a handler, and the features with their epoch since 4.0."""

    async def run(a: Speaker) -> None:
        answer = a.client.api_versions
        a.page.note(
            *(f"{PROTOCOL.api_name(one.api_key)} {one.min_version}-{one.max_version}" for one in answer.api_keys)
        )
        for version in {0, 1, 3, 4} & {*PROTOCOL["ApiVersionsRequest"].VALID_VERSIONS}:
            answer = await a("ApiVersions", version, client_software_name="a", client_software_version="1")
            if answer.error_code == 0:
                answer.api_keys = []
            a.page.lines[-1] = f"ApiVersions {version} {a.page.fields(answer, version)}"

    assert transcript(FakeBroker(release), run) == snapshot


@pytest.mark.parametrize("name", ["0.10.0", "1.1", "2.8", "4.0", RELEASES.newest.name])
def test_a_broker_refuses_versions_of_other_releases(name: str) -> None:
    """The versions below and above those accepted, and all APIs that it has no handler for."""
    release = RELEASES[name]

    async def run() -> None:
        async with FakeBroker(name, {"t": 1}) as broker:
            for key in PROTOCOL.api_names:
                cls: Any = PROTOCOL.request(key)
                accepted = release.apis[key].accepted if key in release.apis and key in HANDLERS else range(0)
                asked = {accepted.start - 1, accepted.stop} if accepted else {cls.VALID_VERSIONS[0]}
                for version in asked & {*cls.VALID_VERSIONS} if key != API_VERSIONS else ():
                    async with connected(broker) as client:
                        with pytest.raises(BrokerError, match="closed the connection"):
                            await client.call(filled(cls, version), version)
            assert {call.name for call in broker.requests} == {"ApiVersions"}

    asyncio.run(run())
