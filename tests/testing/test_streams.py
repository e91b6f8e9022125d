"""Connections of brokers and proxies: what is read, and who waits for whom."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from kwire_testing.running import Stream


class Wire(asyncio.Transport):
    """Notes what a stream asks of its transport."""

    def __init__(self, **extra: Any) -> None:
        super().__init__(extra)
        self.did: list[str] = []

    def pause_reading(self) -> None:
        self.did.append("pause")

    def resume_reading(self) -> None:
        self.did.append("resume")

    def close(self) -> None:
        self.did.append("close")


async def waits(what: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    """Start something that does not end yet."""
    found = asyncio.create_task(what)
    for _ in range(3):
        await asyncio.sleep(0)
    assert not found.done()
    return found


def connected(**extra: Any) -> tuple[Stream, Wire]:
    made: list[Stream] = []
    stream, wire = Stream(made.append), Wire(**extra)
    stream.connection_made(wire)
    assert made == [stream]
    return stream, wire


def test_a_peer_waits_while_two_pieces_are_unread() -> None:
    async def run() -> None:
        stream, wire = connected()
        first = await waits(stream.read())
        stream.data_received(b"a")
        assert await first == b"a"
        wire.did.clear()
        for piece in (b"b", b"c", b"d"):
            stream.data_received(piece)
        assert wire.did == ["pause", "pause"]
        assert [await stream.read() for _ in range(2)] == [b"b", b"c"]
        assert "resume" not in wire.did
        assert await stream.read() == b"d"
        assert wire.did[-1] == "resume"
        last = await waits(stream.read())
        stream.eof_received()
        assert [await last, await stream.read()] == [b"", b""]

    asyncio.run(run())


@pytest.mark.parametrize("end", ["eof_received", "connection_lost"])
def test_what_came_before_the_end_is_read(end: str) -> None:
    async def run() -> list[bytes]:
        stream, _ = connected()
        for piece in (b"a", b"b"):
            stream.data_received(piece)
        stream.eof_received() if end == "eof_received" else stream.connection_lost(OSError())
        return [await stream.read() for _ in range(4)]

    assert asyncio.run(run()) == [b"a", b"b", b"", b""]


def test_writers_wait_for_a_slow_peer_but_not_for_a_lost_one() -> None:
    async def run() -> list[str]:
        stream, wire = connected()
        await stream.drain()
        stream.pause_writing()
        waiting = await waits(stream.drain())
        stream.resume_writing()
        await waiting
        stream.pause_writing()
        waiting = await waits(stream.drain())
        closing = await waits(stream.close())
        stream.connection_lost(None)
        await asyncio.gather(waiting, closing)
        return wire.did

    assert asyncio.run(run()) == ["close"]


@pytest.mark.parametrize(("extra", "open_"), [({}, True), ({"sslcontext": object()}, False)])
def test_a_half_closed_connection_stays_open_except_with_tls(extra: dict[str, Any], open_: bool) -> None:
    async def run() -> bool:
        return connected(**extra)[0].eof_received()

    assert asyncio.run(run()) is open_
