"""What is said to both brokers. Each conversation is about topics and groups of its own."""

from __future__ import annotations

import asyncio
import time
from typing import Any
from uuid import uuid4

from kwire import ZERO_UUID, Uuid
from kwire.records import Record, encode_batch, encode_message_set
from kwire_kafka import PROTOCOL
from kwire_testing.call import HANDLERS
from tests.fake_parity.talk import Talk

NOW = int(time.time() * 1000)
"""The time of the first record of each batch. Kafka begins a new segment where times are far apart."""
STRANGE = Uuid(b"strange-topic-id")
AGAIN = {3, 5, 6, 14, 15, 16, 51, 88, 100}
"""Errors of a broker that is not ready yet."""


async def ready(talk: Talk, api: str, **values: Any) -> Any:
    """Ask without a note until the broker is ready for it."""
    for _ in range(300):
        before = len(talk.lines)
        answer = await talk(api, "setup", **values)
        del talk.lines[before:]
        if not any(code in AGAIN for code in codes(answer)):
            return answer
        await asyncio.sleep(0.1)
    raise AssertionError(f"{api} {values}: not ready")


async def settled(talk: Talk, api: str, **values: Any) -> Any:
    """Ask until the last transaction of the producer has ended."""
    for _ in range(300):
        before = len(talk.lines)
        answer = await talk(api, **values)
        if 51 not in codes(answer):
            break
        del talk.lines[before:]
        await asyncio.sleep(0.1)
    return answer


def codes(struct: Any) -> list[int]:
    """All error codes in an answer."""
    found = []
    for field in type(struct).FIELDS:
        value = getattr(struct, field.name)
        if field.name.endswith("error_code"):
            found.append(value)
        for one in value if isinstance(value, list) else []:
            found += codes(one) if hasattr(one, "FIELDS") else []
    return found


async def topic(talk: Talk, name: str, partitions: int = 1) -> Uuid:
    """Make a topic and return its id when it has leaders."""
    new = {"name": name, "num_partitions": partitions, "replication_factor": 1}
    await ready(talk, "CreateTopics", topics=[new], timeout_ms=5000)
    version = {"version": min(12, PROTOCOL["MetadataRequest"].VALID_VERSIONS[-1])}
    answer = await ready(talk, "Metadata", **version_of(talk, version), topics=[{"name": name}])
    rows = [{"partition_index": at, "timestamp": -1} for at in range(partitions)]
    await ready(talk, "ListOffsets", version=2, replica_id=-1, topics=[{"name": name, "partitions": rows}])
    found: Uuid = answer.topics[0].topic_id
    return found


def version_of(talk: Talk, wanted: dict[str, int]) -> dict[str, Any]:
    """The wanted version, or the newest of the release."""
    newest = talk._shared[3][-1]
    return {"version": min(newest, wanted["version"])}


def new_name(kind: str) -> str:
    """A name that no other conversation has; it is not compared."""
    return f"{kind}-{uuid4()}"


def named(name: str, topic_id: Uuid, **rest: Any) -> dict[str, Any]:
    """A topic by name or id, whichever the version has."""
    return {"name": name, "topic": name, "topic_id": topic_id} | rest


def batch(*values: str, **fields: Any) -> bytes:
    return encode_batch(
        [Record(b"k", value.encode(), timestamp=NOW + at) for at, value in enumerate(values)], **fields
    )


async def versions(talk: Talk) -> None:
    def known(answer: Any) -> None:
        answer.api_keys = sorted(
            (one for one in answer.api_keys if one.api_key in HANDLERS), key=lambda one: one.api_key
        )
        answer.supported_features = answer.finalized_features = []
        answer.finalized_features_epoch = -1

    for version in PROTOCOL["ApiVersionsRequest"].VALID_VERSIONS:
        software = {"client_software_name": "a", "client_software_version": "1"}
        await talk("ApiVersions", version=version, edit=known, **software)
    await talk("ApiVersions", version=3, edit=known, client_software_name="no/name", client_software_version="")
    for api, asked in {
        "Produce": (0, 2),
        "Fetch": (0, 3),
        "JoinGroup": (0, 1),
        "Metadata": (0, 13),
        "Heartbeat": (0,),
    }.items():
        for version in asked:
            accepted = talk._shared[PROTOCOL[f"{api}Request"].API_KEY or 0]
            if version not in accepted and version in PROTOCOL[f"{api}Request"].VALID_VERSIONS:
                await talk(api, api, version=version)
    for api in ("OffsetFetch", "Fetch", "ListOffsets", "InitProducerId", "EndTxn", "FindCoordinator"):
        accepted = talk._shared[PROTOCOL[f"{api}Request"].API_KEY or 0]
        if accepted[-1] + 1 in PROTOCOL[f"{api}Request"].VALID_VERSIONS:
            await talk(api, api, version=accepted[-1] + 1)


async def metadata(talk: Talk) -> None:
    found = await topic(talk, "m", 3)
    version = talk.version("Metadata") or 0
    off: dict[str, Any] = {"allow_auto_topic_creation": False}
    await talk("Metadata", topics=[{"name": "m"}], **off)
    if version >= 4:
        await talk("Metadata", topics=[{"name": "none"}, {"name": "m"}, {"name": "no/name"}, {"name": ""}], **off)
    if version >= 1:
        await talk("Metadata", topics=[], **off)
    if version >= 12:
        await talk("Metadata", topics=[{"name": None, "topic_id": found}, {"name": None, "topic_id": STRANGE}], **off)
        await talk("Metadata", topics=[{"name": "m", "topic_id": found}], **off)
    await talk("DescribeCluster", endpoint_type=1)
    if (talk.version("DescribeCluster") or 0) >= 1:
        await talk("DescribeCluster", endpoint_type=2)


async def topics(talk: Talk) -> None:
    def plain(answer: Any) -> None:
        """Kafka lists all settings of a topic."""
        for one in answer.topics:
            one.configs = []
            if talk.old:
                one.topic_id = ZERO_UUID

    def anonymous(answer: Any) -> None:
        """With a ZooKeeper, ids are left out here and there."""
        for one in answer.responses if talk.old else ():
            one.topic_id = ZERO_UUID

    def new(name: str, partitions: int = 1, replicas: int = 1, *placed: tuple[int, list[int]], **configs: str) -> Any:
        return {
            "name": name,
            "num_partitions": partitions,
            "replication_factor": replicas,
            "assignments": [{"partition_index": at, "broker_ids": nodes} for at, nodes in placed],
            "configs": [{"name": key.replace("_", "."), "value": value} for key, value in configs.items()],
        }

    rows = [
        [new("good", 2)],
        [new("good", 1)],
        [new("a b"), new("."), new("")],
        [new("wide", 1, 3), new("zero", 0), new("minus", -2), new("none", 1, 0)],
        [new("placed", -1, -1, (0, [1]), (1, [1]))],
        [new("gap", -1, -1, (1, [1]))],
        [new("both", 1, 1, (0, [1])), new("twice", -1, -1, (0, [1, 1]))],
        [new("set", 1, 1, cleanup_policy="compact")],
    ]
    if not talk.old:
        rows += [[new("far", -1, -1, (0, [7])), new("empty", -1, -1, (0, []))], [new("same"), new("same")]]
    if (talk.version("CreateTopics") or 0) >= 4:
        rows.append([new("defaults", -1, -1)])
    for row in rows:
        await talk("CreateTopics", topics=row, timeout_ms=5000, edit=plain)
    if (talk.version("CreateTopics") or 0) >= 1:
        await talk(
            "CreateTopics", topics=[new("dry", 2), new("good")], timeout_ms=5000, validate_only=True, edit=plain
        )
    for name in ("good", "placed", "set"):
        await ready(talk, "Metadata", version=9, topics=[{"name": name}])
    counts = [[("good", 3)], [("good", 3)], [("good", 1)], [("none", 3)], [("good", 0)], [("dry", 2)]]
    counts += [[("placed", 4), ("placed", 5)]]
    for dry in (True, False):
        for row in counts:
            wanted: list[Any] = [{"name": name, "count": count, "assignments": None} for name, count in row]
            await talk("CreatePartitions", topics=wanted, timeout_ms=5000, validate_only=dry)
    for nodes in ([[1]], [[7]], [[1], [1]]):
        wanted = [{"name": "set", "count": 2, "assignments": [{"broker_ids": one} for one in nodes]}]
        await talk("CreatePartitions", topics=wanted, timeout_ms=5000)
    keys = ["cleanup.policy", "max.message.bytes", "nothing"]
    resources: list[Any] = [
        (2, "set", keys),
        (2, "good", keys),
        (2, "none", keys),
        (4, "1", ["nothing"]),
        (4, "7", None),
    ]
    resources += [(2, "", keys), (9, "x", None)]
    for kind, name, names in resources:
        one: dict[str, Any] = {"resource_type": kind, "resource_name": name, "configuration_keys": names}
        await talk("DescribeConfigs", resources=[one])
    version = talk._shared[3][-1]
    known = await ready(talk, "Metadata", version=min(version, 12), topics=[{"name": "good"}, {"name": "set"}])
    ids = {one.name: one.topic_id for one in known.topics}
    for names in (["placed"], ["none"], [""], *([] if talk.old else [["placed"], ["set", "set"]])):
        states = [{"name": name} for name in names]
        await talk("DeleteTopics", topics=states, topic_names=names, timeout_ms=5000, edit=anonymous)
    if not talk.old and (talk.version("DeleteTopics") or 0) >= 6:
        for state in ({"topic_id": ids["good"]}, {"topic_id": ids["good"]}, {"topic_id": STRANGE}):
            await talk("DeleteTopics", topics=[{"name": None} | state], timeout_ms=5000)
        await talk("DeleteTopics", topics=[{"name": "x", "topic_id": STRANGE}], timeout_ms=5000)


async def produce(talk: Talk) -> None:
    old = (talk.version("Produce") or 0) < 3
    ids = {"p": await topic(talk, "p", 2), "none": STRANGE}

    async def send(name: str, part: int, data: bytes | None, acks: int = -1, **rest: Any) -> Any:
        parts = [{"index": part, "records": data}]
        wanted = [named(name, ids[name], partition_data=parts)]
        return await talk("Produce", acks=acks, timeout_ms=5000, topic_data=wanted, **rest)

    plain = (
        encode_message_set([Record(b"k", b"a", timestamp=NOW), Record(b"k", b"b", timestamp=NOW + 1)])
        if old
        else batch("a", "b")
    )
    await send("p", 0, plain)
    await send("p", 0, plain, acks=1)
    await send("p", 9, plain)
    await send("none", 0, plain)
    await send("p", 0, plain, acks=5)
    await send("p", 0, plain[:-1] + b"!")
    if not old:
        await send("p", 0, plain + plain)
        await send("p", 0, b"")
        for epoch, sequence, values in [
            *((0, 5, "a"), (0, 6, "b"), (0, 5, "a"), (0, 9, "c"), (0, 7, "cd"), (0, 7, "cd"), (0, 8, "d")),
            *((1, 3, "e"), (1, 0, "e"), (0, 9, "f"), (1, 1, "g"), (0, 0, "h"), (3, 0, "i")),
        ]:
            fields = {"producer_id": 5000, "producer_epoch": epoch, "base_sequence": sequence}
            await send("p", 1, batch(*values, **fields))


async def fetch(talk: Talk) -> None:
    ids = {"f": await topic(talk, "f", 2), "none": STRANGE}
    for values in (("a", "b"), ("c",), ("d", "e", "f")):
        parts = [{"index": 0, "records": batch(*values)}]
        version = min(12, talk._shared[0][-1])
        rows = [named("f", ids["f"], partition_data=parts)]
        await ready(talk, "Produce", version=version, acks=-1, timeout_ms=5000, topic_data=rows)

    async def read(*rows: tuple[str, int, int], epoch: int = -1, size: int = 1 << 20, **rest: Any) -> Any:
        wanted = [
            named(
                name,
                ids[name],
                partitions=[
                    {
                        "partition": part,
                        "fetch_offset": offset,
                        "current_leader_epoch": epoch,
                        "partition_max_bytes": size,
                    }
                ],
            )
            for name, part, offset in rows
        ]
        settings = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1 << 20, "session_epoch": -1} | rest
        return await talk("Fetch", topics=wanted, **settings)

    for offset in (0, 1, 3, 5, 6, 7, -1):
        await read(("f", 0, offset))
    await read(("f", 1, 0))
    await read(("f", 0, 0), size=1)
    await read(("f", 0, 0), ("f", 1, 0), max_bytes=1)
    await read(("f", 7, 0))
    await read(("none", 0, 0))
    await read(("f", 0, 0), ("none", 0, 0), ("f", 1, 0))
    await read(("f", 0, 0), isolation_level=1)
    if (talk.version("Fetch") or 0) >= 9:
        for epoch in (0, 5):
            await read(("f", 0, 6), epoch=epoch)
    if (talk.version("Fetch") or 0) >= 7:
        first = await read(("f", 0, 6), ("f", 1, 0), session_epoch=0)
        if first and first.session_id:
            session = {"session_id": first.session_id}
            await read(session_epoch=1, **session)
            await read(("f", 0, 3), session_epoch=2, **session)
            await read(session_epoch=2, **session)
            await read(session_epoch=9, **session)
            gone = [named("f", ids["f"], partitions=[0])]
            await read(session_epoch=3, forgotten_topics_data=gone, **session)
            await read(("f", 0, 6), session_epoch=4, **session)
            await read(("none", 0, 0), session_epoch=5, **session)
        await read(session_epoch=1, session_id=123456789)

    def listed(name: str, part: int, at: int, epoch: int = -1) -> list[dict[str, Any]]:
        row = {"partition_index": part, "timestamp": at, "current_leader_epoch": epoch, "max_num_offsets": 1}
        return [{"name": name, "partitions": [row]}]

    version = talk.version("ListOffsets") or 0
    for at in (-1, -2, 0, NOW, NOW + 1, NOW + 2, NOW + 3, *((-3,) if version >= 7 else ())):
        if version or at < 0:
            await talk("ListOffsets", replica_id=-1, topics=listed("f", 0, at))
            await talk("ListOffsets", replica_id=-1, topics=listed("f", 1, at))
    await talk("ListOffsets", replica_id=-1, topics=listed("f", 9, -1))
    await talk("ListOffsets", replica_id=-1, topics=listed("none", 0, -1))
    if version >= 4:
        await talk("ListOffsets", replica_id=-1, topics=listed("f", 0, -1, 0))
        await talk("ListOffsets", replica_id=-1, topics=listed("f", 0, -1, 5))
    if version >= 2:
        await talk("ListOffsets", replica_id=-1, topics=listed("f", 0, -1), isolation_level=1)
    for name, part, epoch in (("f", 0, 0), ("f", 0, 5), ("f", 1, 0), ("f", 9, 0), ("none", 0, 0), ("f", 0, -1)):
        rows = [{"partition": part, "leader_epoch": epoch, "current_leader_epoch": -1}]
        await talk("OffsetForLeaderEpoch", replica_id=-2, topics=[{"topic": name, "partitions": rows}])
    if (talk.version("OffsetForLeaderEpoch") or 0) >= 2:
        rows = [{"partition": 0, "leader_epoch": 0, "current_leader_epoch": 5}]
        await talk("OffsetForLeaderEpoch", replica_id=-2, topics=[{"topic": "f", "partitions": rows}])


JOIN: dict[str, Any] = {"session_timeout_ms": 30_000, "rebalance_timeout_ms": 30_000, "protocol_type": "mine"}


def protocols(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "metadata": b"of " + name.encode()} for name in names]


def stored(talk: Talk, api: str) -> dict[str, Any]:
    """The version in which offsets are in Kafka, not in ZooKeeper."""
    return {"version": max(1, talk.version(api) or 0)} if talk.old else {}


async def coordinator(talk: Talk, group: str) -> None:
    await ready(talk, "FindCoordinator", key=group, key_type=0, coordinator_keys=[group])
    await ready(talk, "DescribeGroups", groups=[group])


async def join(talk: Talk, by: str, group: str, names: str = "range", **rest: Any) -> Any:
    """Join, a second time with the member id if the broker wants that."""
    values = JOIN | {"group_id": group, "protocols": protocols(*names.split()), "member_id": ""} | rest
    answer = await talk("JoinGroup", by, **values)
    if answer.error_code == 79:
        answer = await talk("JoinGroup", by, **values | {"member_id": answer.member_id})
    return answer


async def groups(talk: Talk) -> None:
    group = new_name("g")
    await coordinator(talk, group)
    found = await topic(talk, "o", 2)
    await talk("FindCoordinator", key=group, key_type=0, coordinator_keys=[group, "h"])
    if (talk.version("FindCoordinator") or 0) >= 1:
        await talk("FindCoordinator", key=group, key_type=7, coordinator_keys=[group])
    at: dict[str, Any] = {"group_id": group}

    async def commit(by: str = "a", offset: int = 1, metadata: str = "m", **values: Any) -> None:
        parts = [
            {
                "partition_index": part,
                "committed_offset": offset,
                "committed_metadata": metadata,
                "committed_leader_epoch": 0,
            }
            for part in (0, 7)
        ]
        settings: dict[str, Any] = (
            {"member_id": "", "generation_id_or_member_epoch": -1, "retention_time_ms": -1} | at | values
        )
        rows = [named("o", found, partitions=parts), named("none", STRANGE, partitions=parts[:1])]
        await talk("OffsetCommit", by, topics=rows, **stored(talk, "OffsetCommit"), **settings)

    async def offsets(asked: str = group, names: tuple[str, ...] = ("o", "none"), **rest: Any) -> None:
        rows = [named(name, found if name == "o" else STRANGE, partition_indexes=[0, 1]) for name in names]
        one: dict[str, Any] = {"group_id": asked, "topics": rows if names else None} | rest
        await talk("OffsetFetch", groups=[one], **stored(talk, "OffsetFetch"), **one)

    def unassigned(answer: Any) -> None:
        """Coordinators before 4.0 forget assignments when a rebalance begins."""
        for member in answer.groups[0].members:
            member.member_assignment = b""

    await offsets()
    await commit()
    await offsets()
    if (talk.version("OffsetFetch") or 0) >= 2:
        await offsets(names=())
    await offsets("unknown")
    await commit(group_id="")
    await commit(member_id="stranger", generation_id_or_member_epoch=3)
    await commit(member_id="stranger")
    await talk("DescribeGroups", groups=[group, "unknown"])
    one = await join(talk, "a", group, "range roundrobin")
    assert one.error_code == 0, talk.lines[-2:]
    await commit(member_id=one.member_id, generation_id_or_member_epoch=one.generation_id)
    me: dict[str, Any] = at | {"member_id": one.member_id, "generation_id": one.generation_id}
    typed: dict[str, Any] = {"protocol_type": "mine", "protocol_name": "range"}
    plan = [{"member_id": one.member_id, "assignment": b"all"}]
    await talk(
        "SyncGroup",
        assignments=plan,
        **me | typed,
    )
    await talk("SyncGroup", **me | typed)
    if (talk.version("SyncGroup") or 0) >= 5:
        await talk("SyncGroup", **me | typed | {"protocol_name": "other"})
    await talk("Heartbeat", **me)
    for wrong in ({"generation_id": 77}, {"member_id": "stranger"}, {"group_id": "unknown"}, {"group_id": ""}):
        await talk("Heartbeat", **me | wrong)
        await talk("SyncGroup", **me | typed | wrong)
        await commit(
            **(
                {
                    "member_id": one.member_id,
                    "generation_id_or_member_epoch": wrong.get("generation_id", one.generation_id),
                }
                | {key: value for key, value in wrong.items() if key != "generation_id"}
            )
        )
    for wrong in ({"member_id": "stranger"}, {"group_id": ""}, {"protocol_type": "other"}):
        await talk("JoinGroup", "b", **JOIN | at | {"protocols": protocols("range"), "member_id": ""} | wrong)
    await talk("JoinGroup", "b", **JOIN | at | {"protocols": protocols("none"), "member_id": ""})
    await talk("JoinGroup", "b", **JOIN | at | {"protocols": [], "member_id": ""})
    await commit(offset=5, member_id=one.member_id, generation_id_or_member_epoch=one.generation_id)
    await commit()
    await offsets(member_id=one.member_id, member_epoch=one.generation_id)
    await talk("DescribeGroups", groups=[group])
    await listing(talk, group)
    await talk("DeleteGroups", groups_names=[group, "unknown", ""])
    asked = talk.begin("JoinGroup", "b", **JOIN | at | {"protocols": protocols("range"), "member_id": ""})
    other = await asked if (talk.version("JoinGroup") or 0) >= 4 else None
    if other is not None:
        asked = talk.begin(
            "JoinGroup", "b", **JOIN | at | {"protocols": protocols("range"), "member_id": other.member_id}
        )
    for _ in range(100):
        before = len(talk.lines)
        answer = await talk("Heartbeat", **me)
        if answer.error_code:
            break
        del talk.lines[before:]
        await asyncio.sleep(0.05)
    await commit(member_id=one.member_id, generation_id_or_member_epoch=one.generation_id)
    await talk("SyncGroup", **me | typed)
    await talk("DescribeGroups", groups=[group], edit=unassigned)
    again = talk.begin(
        "JoinGroup", "a", **JOIN | at | {"protocols": protocols("range", "roundrobin"), "member_id": one.member_id}
    )
    both = await asyncio.gather(again, asked)
    talk.lines[-2:] = sorted(talk.lines[-2:])
    leader, follower = both
    me["generation_id"] = leader.generation_id
    await commit(member_id=one.member_id, generation_id_or_member_epoch=leader.generation_id)
    second = {"member_id": follower.member_id}
    waiting = talk.begin("SyncGroup", "b", **me | typed | second)
    await asyncio.sleep(0.05)
    plan = [
        {"member_id": leader.member_id, "assignment": b"A"},
        {"member_id": follower.member_id, "assignment": b"B"},
    ]
    await asyncio.gather(talk("SyncGroup", assignments=plan, **me | typed), waiting)
    talk.lines[-2:] = sorted(talk.lines[-2:])
    await talk("Heartbeat", **me)
    await leave(talk, "b", group, follower.member_id)
    await leave(talk, "b", group, "stranger")
    await talk("Heartbeat", **me)
    await leave(talk, "a", group, leader.member_id)
    await talk("Heartbeat", **me)
    await talk("DescribeGroups", groups=[group])
    await commit(member_id=one.member_id, generation_id_or_member_epoch=one.generation_id)
    await commit()
    await offsets()
    for length in (4096, 4097):
        await commit(metadata="m" * length)
    await listing(talk, group)
    await talk("DeleteGroups", groups_names=[group])
    await offsets()
    gone = await topic(talk, "gone")
    rows = [named("gone", gone, partitions=[{"partition_index": 0, "committed_offset": 1}])]
    alone = at | {"member_id": "", "generation_id_or_member_epoch": -1, "retention_time_ms": -1}
    await talk("OffsetCommit", topics=rows, **stored(talk, "OffsetCommit"), **alone)
    states = [{"name": "gone", "topic_id": ZERO_UUID}]
    await ready(talk, "DeleteTopics", topic_names=["gone"], topics=states, timeout_ms=5000)
    await asyncio.sleep(3 if talk.old else 0.5)
    rows = [named("gone", gone, partition_indexes=[0])]
    one = at | {"topics": rows}
    if (talk.version("OffsetFetch") or 0) < 10:  # later versions refuse the id
        await talk("OffsetFetch", groups=[one], **stored(talk, "OffsetFetch"), **one)


async def leave(talk: Talk, by: str, group: str, member: str, instance: str | None = None) -> None:
    members = [{"member_id": member, "group_instance_id": instance}]
    await talk("LeaveGroup", by, group_id=group, member_id=member, members=members)


async def listing(talk: Talk, name: str) -> None:
    def chosen(answer: Any) -> None:
        answer.groups = [one for one in answer.groups if one.group_id == name]

    await talk("ListGroups", edit=chosen)
    for states in (["Stable"], ["Empty"], ["Nonsense"]):
        if (talk.version("ListGroups") or 0) >= 4:
            await talk("ListGroups", states_filter=states, edit=chosen)


async def static_members(talk: Talk) -> None:
    if (talk.version("JoinGroup") or 0) < 5 or (talk.version("SyncGroup") or 0) < 3:
        return
    group = new_name("s")
    await coordinator(talk, group)
    values = JOIN | {"group_id": group, "protocols": protocols("range"), "member_id": "", "group_instance_id": "i"}
    one = await talk("JoinGroup", **values)
    me: dict[str, Any] = {
        "group_id": group,
        "member_id": one.member_id,
        "generation_id": one.generation_id,
        "group_instance_id": "i",
    }
    typed: dict[str, Any] = {"protocol_type": "mine", "protocol_name": "range"}
    plan = [{"member_id": one.member_id, "assignment": b"all"}]
    await talk("SyncGroup", assignments=plan, **me | typed)
    two = await talk("JoinGroup", "b", **values)
    await talk("Heartbeat", **me)
    await talk("JoinGroup", **values | {"member_id": one.member_id})
    me["member_id"] = two.member_id
    await talk("Heartbeat", **me)
    await talk("SyncGroup", **me | typed)
    await talk("DescribeGroups", groups=[group])
    await leave(talk, "a", group, one.member_id, "i")
    await leave(talk, "a", group, "", "nobody")
    await leave(talk, "a", group, "", "i")
    await talk("DescribeGroups", groups=[group])


async def consumers(talk: Talk) -> None:
    if talk.version("ConsumerGroupHeartbeat") is None:
        return
    group = new_name("c")
    await coordinator(talk, group)
    found = await topic(talk, "q", 4)
    fresh: dict[str, Any] = {
        "group_id": group,
        "member_id": "member-a",
        "member_epoch": 0,
        "rebalance_timeout_ms": 30_000,
    }
    fresh |= {"subscribed_topic_names": ["q"], "topic_partitions": [], "instance_id": None}

    async def beat(by: str, **values: Any) -> Any:
        return await talk("ConsumerGroupHeartbeat", by, **{"group_id": group} | values)

    for wrong in (
        *({"group_id": ""}, {"member_epoch": 5}, {"member_epoch": -1}, {"server_assignor": "none"}),
        *({"rebalance_timeout_ms": -1}, {"topic_partitions": None}, {"subscribed_topic_names": None}),
    ):
        await beat("a", **fresh | wrong)
    one = await beat("a", **fresh)
    if (talk.version("ConsumerGroupHeartbeat") or 0) >= 1:
        await beat("a", **fresh | {"subscribed_topic_names": None, "subscribed_topic_regex": "("})
    owned = {"topic_partitions": [{"topic_id": found, "partitions": [0, 1, 2, 3]}]}
    await beat("a", member_id="member-a", member_epoch=one.member_epoch, **owned)
    await beat("a", member_id="member-a", member_epoch=one.member_epoch + 7)
    await beat("a", member_id="stranger", member_epoch=1)
    await talk("ConsumerGroupDescribe", group_ids=[group, "unknown"])
    await talk("DescribeGroups", groups=[group])
    for epoch, offset in ((one.member_epoch, 3), (one.member_epoch + 5, 4)):
        rows = [{"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}]
        committed: dict[str, Any] = {
            "member_id": "member-a",
            "generation_id_or_member_epoch": epoch,
            "group_id": group,
        }
        await talk("OffsetCommit", topics=[named("q", found, partitions=rows)], **committed)
    await beat("a", member_id="member-a", member_epoch=-1)

    def unassigned(answer: Any) -> None:
        """Only newer releases have an epoch of an assignment for nobody."""
        answer.groups[0].assignment_epoch = -1

    await talk("ConsumerGroupDescribe", group_ids=[group], edit=unassigned)
    await listing(talk, group)
    await talk("DeleteGroups", groups_names=[group])


async def transactions(talk: Talk) -> None:
    found, name = await topic(talk, "x", 2), new_name("tx")
    begin: dict[str, Any] = {
        "transactional_id": name,
        "transaction_timeout_ms": 60_000,
        "producer_id": -1,
        "producer_epoch": -1,
    }
    group = new_name("tg")
    await coordinator(talk, group)
    await ready(talk, "FindCoordinator", version=3, key="warm", key_type=1, coordinator_keys=["warm"])
    await ready(talk, "InitProducerId", **begin | {"transactional_id": "warm"})
    await talk("InitProducerId", **begin | {"transactional_id": None})
    await talk("InitProducerId", **begin | {"transactional_id": ""})
    await talk("InitProducerId", **begin | {"transaction_timeout_ms": 0})
    await talk("InitProducerId", **begin | {"transaction_timeout_ms": 1 << 30})
    one = await talk("InitProducerId", **begin)
    me: dict[str, Any] = {
        "transactional_id": name,
        "producer_id": one.producer_id,
        "producer_epoch": one.producer_epoch,
    }
    v2 = (talk.version("EndTxn") or 0) >= 5
    sequence = [0, 0]

    async def add(*rows: tuple[str, int], **rest: Any) -> None:
        topics = {topic for topic, _ in rows}
        names = [{"name": one, "partitions": [part for topic, part in rows if topic == one]} for one in topics]
        values = me | rest
        old = {f"v3_and_below_{key}": value for key, value in (values | {"topics": names}).items()}
        await settled(talk, "AddPartitionsToTxn", transactions=[values | {"topics": names}], **old)

    async def send(part: int, values: str, epoch: int | None = None, transactional: bool = True, **rest: Any) -> None:
        wanted = {
            "producer_id": me["producer_id"],
            "producer_epoch": me["producer_epoch"] if epoch is None else epoch,
        }
        data = batch(*values, base_sequence=sequence[part], transactional=transactional, **wanted)
        version = max(3, talk.version("Produce") or 3)
        parts = [{"index": part, "records": data}]
        answer = await talk(
            "Produce",
            version=version,
            acks=-1,
            timeout_ms=5000,
            transactional_id=name,
            topic_data=[named("x", found, partition_data=parts)],
            **rest,
        )
        if answer.responses[0].partition_responses[0].error_code == 0:
            sequence[part] += len(values)

    async def end(*, commit: bool, **rest: Any) -> None:
        answer = await settled(talk, "EndTxn", committed=commit, **me | rest)
        if answer.error_code == 0 and v2:
            if answer.producer_epoch != me["producer_epoch"]:
                sequence[:] = [0, 0]
            me["producer_epoch"] = answer.producer_epoch
        await asyncio.sleep(0.1)
        if answer.error_code == 0:  # the offsets may be stable later than the answer
            rows = [{"name": "x", "partition_indexes": [0]}]
            await ready(talk, "OffsetFetch", version=7, group_id=group, topics=rows, require_stable=True)

    async def read(part: int, level: int) -> None:
        wanted = [
            named("x", found, partitions=[{"partition": part, "fetch_offset": 0, "partition_max_bytes": 1 << 20}])
        ]
        version = max(4, talk.version("Fetch") or 4)
        await talk(
            "Fetch", version=version, topics=wanted, max_bytes=1 << 20, session_epoch=-1, isolation_level=level
        )

    await add(("x", 9), ("x", 0))
    await add(("none", 0))
    await add(("x", 0), producer_id=one.producer_id + 1000)
    await add(("x", 0), producer_epoch=one.producer_epoch + 1)
    await add(("x", 0), transactional_id="unknown")
    await send(1, "n") if not v2 else None
    await end(commit=True)
    await add(("x", 0), ("x", 1))
    await send(0, "ab")
    await send(0, "c", epoch=one.producer_epoch + 3)
    await read(0, 0)
    await read(0, 1)
    offsets: dict[str, Any] = {"group_id": group, "member_id": "", "generation_id_or_member_epoch": -1}
    await talk("AddOffsetsToTxn", **me, group_id=group)
    await talk("AddOffsetsToTxn", **me | {"producer_id": one.producer_id + 1000}, group_id=group)
    await talk("AddOffsetsToTxn", **me | {"producer_epoch": one.producer_epoch + 1}, group_id=group)
    older: tuple[dict[str, Any], ...] = ({"member_id": "stranger"}, {"generation_id_or_member_epoch": 5})
    for wrong in ({}, {"group_id": ""}, *(() if talk.old else older)):
        rows = [{"partition_index": part, "committed_offset": 7, "committed_metadata": "m"} for part in (0, 9)]
        await talk("TxnOffsetCommit", topics=[named("x", found, partitions=rows)], **me | offsets | wrong)
    for stable in (False, True):
        rows = [named("x", found, partition_indexes=[0])]
        asked: dict[str, Any] = {"group_id": group, "topics": rows}
        await talk("OffsetFetch", groups=[asked], require_stable=stable, **stored(talk, "OffsetFetch"), **asked)
    await end(commit=True, producer_id=one.producer_id + 1000)
    await end(commit=True, producer_epoch=one.producer_epoch + 1)
    await end(commit=True)
    await talk("OffsetFetch", groups=[asked], **stored(talk, "OffsetFetch"), **asked)
    await read(0, 1)
    await end(commit=True)
    await end(commit=False)
    await add(("x", 1))
    await send(1, "d")
    await end(commit=False)
    await read(1, 0)
    await read(1, 1)
    await add(("x", 0))
    await send(0, "e")
    two = await ready(talk, "InitProducerId", **begin)
    await asyncio.sleep(0.2)
    await read(0, 1)
    await add(("x", 0))
    await send(0, "f")
    await end(commit=True)
    if (talk.version("InitProducerId") or 0) >= 3 and two.error_code == 0:
        bumped = begin | {"producer_id": two.producer_id, "producer_epoch": two.producer_epoch}
        await talk("InitProducerId", **bumped)
        await talk("InitProducerId", **bumped)
        await talk("InitProducerId", **bumped | {"producer_epoch": two.producer_epoch + 9})
        await talk("InitProducerId", **bumped | {"producer_id": two.producer_id + 1000})


async def logins(talk: Talk) -> None:
    """At the listener that wants a password."""
    await talk("SaslHandshake", mechanism="GSSAPI")
    await talk("SaslHandshake", "b", mechanism="PLAIN")
    await talk("SaslAuthenticate", "b", auth_bytes=b"\0admin\0admin-secret")
    await talk("DescribeGroups", "b", groups=[])
    for by, token in (("c", b"\0alice\0wrong"), ("d", b"\0nobody\0x"), ("e", b"nonsense"), ("f", b"")):
        await talk("SaslHandshake", by, mechanism="PLAIN")
        await talk("SaslAuthenticate", by, auth_bytes=token)
    await talk("Metadata", "g", topics=[])
    await talk("SaslAuthenticate", "h", auth_bytes=b"")


SCENARIOS = (versions, metadata, topics, produce, fetch, groups, static_members, consumers, transactions)
