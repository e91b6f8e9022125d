"""Broken requests to the fake broker, straight and through a proxy with a filter, against what both promise.

- No request makes a handler raise, nor the proxy: what they raise is raised at the end.
- Both answer other connections afterwards.
- Requests cost a bounded amount of memory: what is kept of them, and the topics and groups that they make.

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

from kwire import Message
from kwire.client import connect, parse_address
from kwire.frames import frame
from kwire_kafka import PROTOCOL, MetadataRequest
from kwire_testing import FakeBroker, Passage, Proxy
from tests.fuzz.mutation import mutate
from tests.properties.values import RandomSource, make

MEMORY = 600 << 20
"""Bytes by which the process may grow: a cluster has 100,000 partitions at most, which are the largest part."""
TOGETHER = 4
"""Requests of a connection."""
SECONDS = 0.01
"""Time for the answers of a connection, which may wait for other requests."""


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
            requests = [random.choice(valid) for _ in range(TOGETHER)]
            broken = [mutate(one, random.choice(valid), random) if random.random() < 0.4 else one for one in requests]
            answered = await _send(ways[name], broken)
            outcomes[f"{name}: {'answered' if answered else 'no answer'}"] += 1
            broker.advance(random.choice((0.0, 1.0, 600.0)))
        for address in ways.values():
            async with await connect(*address, PROTOCOL, timeout=10) as client:
                await client.call(MetadataRequest(topics=[]))
    return outcomes


def run(frames: int, seed: int) -> Counter[str]:
    """Send that many frames; the counts of what became of their connections."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
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
