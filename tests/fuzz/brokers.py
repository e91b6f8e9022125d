"""Broken requests to the fake broker, straight and through a proxy with a filter, against what both promise.

- No request makes a handler raise, nor the proxy: what they raise is raised at the end.
- Both answer other connections afterwards.
- Requests cost a bounded amount of memory: what is kept of them, and the topics and groups that they make.
- No more names that clients invent are kept than the limits say, which are low here.

``python -m tests.fuzz.brokers --frames 100000`` prints what happened; ``make test`` runs a short version.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import resource
import time
from collections import Counter
from random import Random
from unittest.mock import patch

from kwire import Message
from kwire.client import connect, parse_address
from kwire.frames import frame
from kwire.records import Record, encode_batch
from kwire_kafka import PROTOCOL, MetadataRequest
from kwire_testing import FakeBroker, Passage, Proxy
from tests.fuzz.mutation import mutate
from tests.properties.values import RandomSource, make
from tests.testing.test_group_talks import joining
from tests.testing.test_log_talks import put, want
from tests.testing.transcripts import made

MEMORY = 600 << 20
"""Bytes by which the process may grow: a cluster has 100,000 partitions at most, which are the largest part."""
TOGETHER = 4
"""Requests of a connection."""
SECONDS = 0.01
"""Time for the answers of a connection, which may wait for other requests."""
LIMITS = {
    **dict.fromkeys(
        ("cluster.MAX_NAMES", "transactions.MAX_NAMES", "groups.members.MAX_MEMBERS", "log.MAX_PRODUCERS"), 20
    ),
    "sessions.MAX_SESSIONS": 20,
    "sessions.MAX_WANTED": 100,
}


def invented(random: Random) -> bytes:
    """A valid request with a name, or the id of a producer, that no other has."""
    name, topics = f"n{random.getrandbits(64)}", [{"name": "t", "partitions": [{"committed_offset": 1}]}]
    batch = encode_batch([Record(None, b"v")], producer_id=random.getrandbits(62), producer_epoch=0, base_sequence=0)
    beat = {"member_id": name, "subscribed_topic_names": ["t"], "rebalance_timeout_ms": 99, "topic_partitions": []}
    api, version, fields = random.choice(
        (
            ("OffsetCommit", 8, {"group_id": name, "topics": topics}),
            ("JoinGroup", 3, joining(group_id=name)),
            ("JoinGroup", 4, joining()),
            ("JoinGroup", 5, joining(instance=name)),
            ("ConsumerGroupHeartbeat", 1, {"group_id": random.choice((name, "c"))} | beat),
            ("InitProducerId", 4, {"transactional_id": name, "transaction_timeout_ms": 99}),
            ("Produce", 9, {"acks": 1, "topic_data": [put("t", (0, batch))]}),
            ("Fetch", 12, {"topics": [want(name, (0, 0))], "session_epoch": 0}),
            ("Fetch", 12, {"topics": [want(name, *((at, 0) for at in range(120)))], "session_epoch": 0}),
        )
    )
    return PROTOCOL.encode_request(made(PROTOCOL[f"{api}Request"], fields), version, correlation_id=1)


def kept(broker: FakeBroker) -> dict[str, int]:
    """The largest number of each kind of name that a broker keeps."""
    cluster, members = broker._cluster, [group.members for group in broker._cluster.groups.values()]
    logs = [part.log for topic in cluster.topics.values() for part in topic.partitions]
    return {
        "cluster.MAX_NAMES": len(cluster.groups),
        "transactions.MAX_NAMES": len(cluster.producers._known),
        "groups.members.MAX_MEMBERS": max(
            max(len(one.members), len(getattr(one, "_expected", ()))) for one in members
        ),
        "log.MAX_PRODUCERS": max(len(log.producers) for log in logs),
        "sessions.MAX_SESSIONS": len(cluster.sessions._open),
        "sessions.MAX_WANTED": max(len(one.wanted) for one in cluster.sessions._open.values()),
    }


def payloads(random: Random) -> list[bytes]:
    """A valid request of each API and version, about names that others have too."""
    source = RandomSource(random)
    return [
        PROTOCOL.encode_request(
            make(PROTOCOL.request(key), version, source), version, correlation_id=number, client_id="fuzz"
        )
        for number, key in enumerate(PROTOCOL.api_keys)
        for version in PROTOCOL.request(key).VALID_VERSIONS
    ]


def seen(message: Message, passage: Passage) -> Message:
    """Every message is decoded, and encoded again."""
    return message


async def _send(address: tuple[str, int], requests: list[bytes]) -> int:
    """Return the bytes that come back within the time."""
    reader, writer = await asyncio.open_connection(*address)
    found = 0
    try:
        writer.write(b"".join(map(frame, requests)))
        with contextlib.suppress(TimeoutError, ConnectionError):
            async with asyncio.timeout(SECONDS):
                while data := await reader.read(1 << 16):
                    found += len(data)
    finally:
        writer.transport.abort()
    return found


async def _run(frames: int, random: Random) -> Counter[str]:
    valid, outcomes = payloads(random), Counter[str]()
    async with (
        FakeBroker(topics={"t": 1}, keep_requests=100) as broker,
        Proxy(broker.bootstrap_servers, [seen], max_frame=1 << 20) as proxy,
    ):
        ways = {name: parse_address(one.bootstrap_servers) for name, one in (("broker", broker), ("proxy", proxy))}
        for number in range(0, frames, TOGETHER):
            name = "proxy" if number // TOGETHER % 2 else "broker"
            requests = [invented(random) if random.random() < 0.3 else random.choice(valid) for _ in range(TOGETHER)]
            broken = [mutate(one, random.choice(valid), random) if random.random() < 0.4 else one for one in requests]
            answered = await _send(ways[name], broken)
            outcomes[f"{name}: {'answered' if answered else 'no answer'}"] += 1
            broker.advance(random.choice((0.0, 1.0, 600.0)))
        for address in ways.values():
            async with await connect(*address, PROTOCOL, timeout=10) as client:
                await client.call(MetadataRequest(topics=[]))
        sizes = kept(broker)
        assert {name: size for name, size in sizes.items() if size > LIMITS[name]} == {}, sizes
    return outcomes


def run(frames: int, seed: int) -> Counter[str]:
    """Send that many frames; the counts of what became of their connections."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with contextlib.ExitStack() as stack:
        for name, limit in LIMITS.items():
            stack.enter_context(patch(f"kwire_testing.{name}", limit))
        outcomes = asyncio.run(_run(frames, Random(seed)))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
    assert grown < MEMORY, f"{grown:,} bytes more than before"
    return outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    start = time.perf_counter()
    outcomes = run(options.frames, options.seed)
    print(f"{options.frames} frames, seed {options.seed}, {time.perf_counter() - start:.0f} seconds")
    for outcome, number in outcomes.most_common():
        print(f"{number:>10}  {outcome}")


if __name__ == "__main__":
    main()
