"""Measures producing through ``kwire_testing.Proxy`` without a filter, with a filter for another API, and with
filters that decode, compared with a relay that only copies bytes.

The client and the broker are separate processes that do little work, so that the proxy has a core to itself. The
table shows the rate, and the CPU time of the proxy including its start.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from kwire.frames import frame
from kwire.records import Record, encode_batch
from kwire_kafka import PROTOCOL, HeartbeatRequest, ProduceRequest, ProduceResponse
from kwire_kafka.api.produce import PartitionProduceData, TopicProduceData
from kwire_testing import Passage, Proxy

VERSION = 12
IN_FLIGHT = 5
"""Maximum number of requests in flight, which is the default of Kafka's producer."""


def other(request: HeartbeatRequest, passage: Passage) -> None:
    """Ignore Heartbeat requests. Produce requests do not reach this filter."""


def reading(request: ProduceRequest, passage: Passage) -> None:
    """Decode each Produce request, and pass it on unchanged."""


def changing(request: ProduceRequest, passage: Passage) -> ProduceRequest:
    """Return each decoded Produce request, so that the proxy encodes the request again."""
    return request


FILTERS: dict[str, list[Any]] = {
    "no filter": [],
    "a filter of Heartbeat": [other],
    "a filter that reads Produce": [reading],
    "a filter that changes Produce": [changing],
}


class Relay:
    """A minimal asyncio proxy that only copies bytes."""

    def __init__(self, upstream: str) -> None:
        self._upstream = upstream.rsplit(":", 1)

    async def __aenter__(self) -> Relay:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 20)
        self.bootstrap_servers = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *problem: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, port = self._upstream
        back, there = await asyncio.open_connection(host, int(port), limit=1 << 20)
        await asyncio.gather(self._pump(reader, there), self._pump(back, writer))

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 18):
            writer.write(data)
            await writer.drain()
        writer.close()


async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer each frame without decoding it."""
    while True:
        try:
            size = int.from_bytes(await reader.readexactly(4), "big")
            payload = await reader.readexactly(size)
        except asyncio.IncompleteReadError:
            writer.close()
            return
        answer = PROTOCOL.encode_response(
            ProduceResponse(), VERSION, correlation_id=int.from_bytes(payload[4:8], "big")
        )
        writer.write(frame(answer))


def upstream(port: Connection) -> None:
    """Run the broker until it is terminated."""

    async def run() -> None:
        server = await asyncio.start_server(served, "127.0.0.1", 0, limit=1 << 22)
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


def client(address: str, value: int, count: int, done: Connection) -> None:
    """Send ``count`` requests, each with one record of ``value`` bytes. Send the elapsed seconds to ``done``."""
    batch = encode_batch([Record(None, bytes(value))])
    topics = [TopicProduceData(name="t", partition_data=[PartitionProduceData(records=batch)])]
    frames = [
        frame(PROTOCOL.encode_request(ProduceRequest(acks=-1, topic_data=topics), VERSION, correlation_id=number))
        for number in range(IN_FLIGHT)
    ]

    async def run() -> None:
        host, port = address.rsplit(":", 1)
        reader, writer = await asyncio.open_connection(host, int(port), limit=1 << 22)
        start, sent = time.perf_counter(), 0
        for got in range(count):
            while sent < min(count, got + IN_FLIGHT):
                writer.write(frames[sent % IN_FLIGHT])
                sent += 1
            await writer.drain()
            await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
        done.send(time.perf_counter() - start)
        writer.close()

    asyncio.run(run())


async def measured(through: Any, value: int, count: int) -> float:
    """Return the seconds to send ``count`` requests through a proxy or relay in this process."""
    context = get_context("spawn")
    async with through as proxy:
        here, there = context.Pipe(duplex=False)
        process = context.Process(target=client, args=(proxy.bootstrap_servers, value, count, there))
        process.start()
        while not here.poll():
            await asyncio.sleep(0.05)
        seconds: float = here.recv()
        process.join()
    return seconds


def main(arguments: list[str] | None = None) -> None:
    """Run the benchmark, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=200)
    parser.add_argument(
        "--rounds", type=int, default=3, help="Number of rounds. Only the round with the least CPU time counts."
    )
    options = parser.parse_args(arguments)
    context = get_context("spawn")
    here, there = context.Pipe(duplex=False)
    broker = context.Process(target=upstream, args=(there,), daemon=True)
    broker.start()
    port = here.recv()
    address = f"127.0.0.1:{port}"
    print(f"{'':32} {'batch':>9} {'MB/s':>7} {'CPU s/GB':>9} {'µs each':>8}")
    for name in ("a relay", *FILTERS):
        for value in (1 << 10, 1 << 14, 1 << 17, 1 << 20):
            count, best = max(50, min(options.mb * 1_000_000 // value, 4000)), (float("inf"), float("inf"))
            for _ in range(options.rounds):
                through = Proxy(address, FILTERS[name]) if name in FILTERS else Relay(address)
                start = time.process_time()
                seconds = asyncio.run(measured(through, value, count))
                best = min(best, (time.process_time() - start, seconds))
            (cpu, seconds), total = best, value * count / 1e6
            each = cpu / count * 1e6
            print(f"{name:32} {value:9,} {total / seconds:7.0f} {cpu / total * 1000:9.2f} {each:8.0f}", flush=True)
    broker.terminate()


if __name__ == "__main__":
    main()
