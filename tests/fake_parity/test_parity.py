"""Both brokers are asked the same, and answer the same."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from kwire.client import connect, parse_address
from kwire_kafka import PROTOCOL, DeleteGroupsRequest, DeleteTopicsRequest, ListGroupsRequest, MetadataRequest
from kwire_kafka.api.delete_topics import DeleteTopicState
from kwire_testing import FakeBroker
from tests.fake_parity.scenarios import SCENARIOS, logins
from tests.fake_parity.talk import PARTS, Talk
from tests.real_kafka.broker import USERS, Broker

Scenario = Callable[[Talk], Awaitable[None]]


async def said(address: tuple[str, int], part: float, shared: dict[int, range], scenario: Scenario) -> list[str]:
    async with AsyncExitStack() as stack:
        talk = Talk(address, part, stack, shared)
        await scenario(talk)
        return talk.lines


async def offered(address: tuple[str, int]) -> dict[int, range]:
    async with await connect(*address, PROTOCOL) as client:
        return {
            key: range(versions.start, min(versions.stop, PROTOCOL.request(key).VALID_VERSIONS.stop))
            for key, versions in client.versions.items()
            if key in PROTOCOL.api_keys
        }


async def emptied(address: tuple[str, int]) -> None:
    """Remove all groups and topics of a real broker."""
    async with await connect(*address, PROTOCOL) as client:

        async def ask(request: Any) -> Any:
            return (await client.call(request)).message

        groups = [one.group_id for one in (await ask(ListGroupsRequest())).groups]
        await ask(DeleteGroupsRequest(groups_names=groups))
        while names := [
            one.name for one in (await ask(MetadataRequest(topics=None))).topics if not one.name.startswith("__")
        ]:
            states = [DeleteTopicState(name=name) for name in names]
            newer = client.version(DeleteTopicsRequest) >= 6
            wanted = {"topics": states} if newer else {"topic_names": names}
            await ask(DeleteTopicsRequest(timeout_ms=5000, **wanted))
            await asyncio.sleep(3 if client.versions[3][-1] < 12 else 0.1)  # ZooKeeper takes its time


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("scenario", [*SCENARIOS, logins], ids=lambda scenario: scenario.__name__)
def test_a_fake_broker_answers_like_a_real_one(scenario: Any, part: float, real: Broker) -> None:
    """All answers but for what `Talk` masks and the page lists."""

    async def run() -> tuple[list[str], list[str]]:
        users = USERS if scenario is logins else None
        async with FakeBroker(real.release, auto_create=False, users=users) as broker:
            address = parse_address(broker.bootstrap_servers)
            shared = await offered(address)
            mine = await said(address, part, shared, scenario)
        await emptied(real.address)
        return mine, await said(real.sasl_address if users else real.address, part, shared, scenario)

    fake, found = asyncio.run(run())
    assert fake == found
