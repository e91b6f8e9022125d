"""A proxy that passes on all traffic, but hides topics whose names begin with a prefix."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

from kwire_kafka import MetadataResponse
from kwire_testing import Passage, Proxy


def hide(prefix: str) -> Callable[[MetadataResponse, Passage], MetadataResponse]:
    """Return a filter that removes topics from Metadata responses."""

    def without(response: MetadataResponse, passage: Passage) -> MetadataResponse:
        response.topics = [topic for topic in response.topics if not (topic.name or "").startswith(prefix)]
        return response

    return without


async def main(upstream: str, prefix: str) -> None:
    async with Proxy(upstream, [hide(prefix)]) as proxy:
        print(proxy.bootstrap_servers, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
