"""Compares the cost of undecodable and decodable traffic when ``clients`` reads a capture on one core.

``python -m benchmarks.garbage [--megabytes N] [--rounds N] [--only NAME...] [--connections N]``

Each case is a capture file that is read into the columns that ``clients`` needs. ``MB per s`` refers to the size of
the file. ``us per packet`` is the better measure for packets of only one byte. ``held MB`` is the peak memory that
Python allocated. All times are processor times. Memory is measured in a separate run.

With ``--connections N``, such as 100000, the benchmark instead reads captures of up to N connections, each with
``kwire clients --engine local`` in a separate process. The table shows the peak memory of each process, as reported
by the system, and the summary that the command prints.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from struct import pack
from typing import Any

import pyarrow as pa

from benchmarks.pipeline_frames import data_conversation, repeated
from benchmarks.timing import table
from kwire.connection import CLIENT, SERVER
from kwire.frames import frame
from kwire_inspect.capture import Peer, read_pieces
from kwire_inspect.connections import frame_batches
from kwire_inspect.readers import tune_worker
from kwire_inspect.schemas import EXCHANGES
from kwire_inspect.tables.clients import EXCHANGE_COLUMNS
from kwire_kafka import PROTOCOL, FetchRequest, FetchResponse, OffsetCommitRequest
from kwire_kafka.api.offset_commit import OffsetCommitRequestPartition, OffsetCommitRequestTopic
from tests.support import capture_files
from tests.support.capture_files import (
    BROKER,
    FIN,
    RAW,
    Conversation,
    Segment,
    TcpPacket,
    merged,
    packets,
    recorded,
    recordings,
    write_pcap,
)
from tests.support.connection_pieces import answered, asked

Talks = list[Conversation]
Chunk = Callable[[random.Random], bytes]

SEGMENT = 1448
CONNECTIONS = 4
NEEDED = pa.schema([EXCHANGES.field(name) for name in EXCHANGE_COLUMNS])


WARM = 200_000
"""Bytes of traffic to read before the measurement, so that all modules have been imported."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--megabytes", type=float, default=4)
    options.add_argument("--rounds", type=int, default=2)
    options.add_argument("--only", nargs="*", default=[])
    options.add_argument("--connections", type=int, default=0)
    given = options.parse_args()
    if given.connections:
        print(many(given.connections, given.only))
        return
    rows = []
    tune_worker()
    with tempfile.TemporaryDirectory() as folder:
        timed(write_pcap(Path(folder) / "warm.pcap", merged(packets(talk) for talk in good(WARM))))
        for name, (make, handshake, size) in CASES.items():
            if not given.only or any(part in name for part in given.only):
                talks = make(int(given.megabytes * 1e6 / (1 if size > 1 else 50)))
                sent = merged(packets(talk, handshake=handshake, acks=False, size=size) for talk in talks)
                path = write_pcap(Path(folder) / "capture.pcap", sent)
                rows.append([name, *measured(path, len(sent), given.rounds)])
    print(table(["", "MB", "MB per s", "us per packet", "rows", "held MB"], rows))


def good(size: int) -> Talks:
    """Return connections that repeat recorded traffic."""
    whole = [one for name in recordings() for one in recorded(name) if len(one.segments) > 6]
    turns = max(1, size // sum(len(data) for one in whole for _, _, data in one.segments))
    return [repeated(one, turns, 40000 + number) for number, one in enumerate(whole)]


def data(size: int) -> Talks:
    """Return traffic that produces and fetches batches of 20 kB."""
    talk = data_conversation()
    turns = max(2, size // sum(len(data) for _, _, data in talk.segments) // CONNECTIONS)
    return [repeated(talk, turns, 40000 + number) for number in range(CONNECTIONS)]


def late(make: Callable[[int], Talks]) -> Callable[[int], Talks]:
    """Return connections that were captured from the middle of a segment, without their beginning."""

    def made(size: int) -> Talks:
        return [
            Conversation([(side, time, data[len(data) // 3 :] if n < 2 else data) for n, (side, time, data) in some])
            for one in make(size)
            if (some := list(enumerate(one.segments[len(one.segments) // 8 :])))
        ]

    return lambda size: numbered(made(size))


def numbered(talks: Talks) -> Talks:
    return [Conversation(one.segments, client=Peer("10.0.0.1", 40000 + number)) for number, one in enumerate(talks)]


def one_sided(talks: Talks) -> Talks:
    """Return only the clients' bytes, as if the brokers' bytes had not been captured."""
    return numbered([Conversation([one for one in talk.segments if one[0] == CLIENT]) for talk in talks])


def in_turn(size: int, chunk: Chunk) -> Talks:
    """Return connections whose client and broker take turns sending chunks."""

    def segments(seed: int) -> Iterator[Segment]:
        some = random.Random(seed)
        for number in range(1 << 30):
            yield (CLIENT, SERVER)[number % 2], number / 1000, chunk(some)

    each, mean = size // CONNECTIONS, len(chunk(random.Random(0)))
    return numbered([Conversation(list(islice(segments(n), max(2, each // mean)))) for n in range(CONNECTIONS)])


def begun(chunk: Chunk) -> Callable[[int], Talks]:
    """Return connections that begin with a request and its response, followed by chunks."""
    good = data_conversation().segments[:2]

    def made(size: int) -> Talks:
        talks = in_turn(size, chunk)
        return numbered([Conversation([*good, *talk.segments]) for talk in talks])

    return made


def noise(some: random.Random) -> bytes:
    return some.randbytes(SEGMENT * 8)


def zeros(some: random.Random) -> bytes:
    return bytes(SEGMENT * 8)


def tls_record(some: random.Random) -> bytes:
    return b"\x17\x03\x03\x20\x00" + some.randbytes(0x2000)


def plausible(some: random.Random) -> bytes:
    """Return frames with a known API and version, and with random bodies."""
    return b"".join(
        frame(b"\0\x03\0\x0c" + number.to_bytes(4, "big") + b"\0\4test\0" + some.randbytes(600))
        for number in range(14)
    )


def wrong_at_the_end(some: random.Random) -> bytes:
    """Return a large request whose last byte is missing."""
    topics = [
        OffsetCommitRequestTopic(name=f"topic-{number}", partitions=[OffsetCommitRequestPartition()] * 20)
        for number in range(50)
    ]
    request = OffsetCommitRequest(group_id="group", topics=topics)
    return frame(PROTOCOL.encode_request(request, 9, correlation_id=some.randrange(1 << 30), client_id="me")[:-1])


def large_claims(some: random.Random) -> bytes:
    """Return data with a request header every few bytes, each of which claims to start a frame of 60 kB."""
    return b"".join(
        (60000 + number).to_bytes(4, "big") + b"\0\x03\0\x0c" + some.randbytes(4) + b"\0\4test\0"
        for number in range(400)
    )


def overlapping(some: random.Random) -> bytes:
    """Return nested frames, each of which claims all following bytes, so that all end at the same position."""
    return b"".join(
        (8000 - 20 * number).to_bytes(4, "big") + b"\0\0\0\x09" + some.randbytes(4) + b"\0\4test\0\0\0"
        for number in range(400)
    )


CASES: dict[str, tuple[Callable[[int], Talks], bool, int]] = {
    "good: as recorded": (good, True, SEGMENT),
    "good: data": (data, True, SEGMENT),
    "joined: as recorded": (late(good), False, SEGMENT),
    "joined: data": (late(data), False, SEGMENT),
    "joined: data, one direction": (lambda size: one_sided(late(data)(size)), False, SEGMENT),
    "random, no handshake": (lambda size: in_turn(size, noise), False, SEGMENT),
    "zeros, no handshake": (lambda size: in_turn(size, zeros), False, SEGMENT),
    "TLS, no handshake": (lambda size: in_turn(size, tls_record), False, SEGMENT),
    "random after a request": (begun(noise), True, SEGMENT),
    "undecodable": (begun(plausible), True, SEGMENT),
    "undecodable at the end": (begun(wrong_at_the_end), True, SEGMENT),
    "undecodable, no handshake": (lambda size: in_turn(size, plausible), False, SEGMENT),
    "large claims, no handshake": (lambda size: in_turn(size, large_claims), False, SEGMENT),
    "large claims after a request": (begun(large_claims), True, SEGMENT),
    "overlapping, no handshake": (lambda size: in_turn(size, overlapping), False, SEGMENT),
    "overlapping after a request": (begun(overlapping), True, SEGMENT),
    "one byte: as recorded": (good, True, 1),
    "one byte: joined": (late(good), False, 1),
    "one byte: joined data": (late(data), False, 1),
    "one byte: random": (lambda size: in_turn(size, noise), False, 1),
    "one byte: undecodable": (begun(plausible), True, 1),
    "one byte: large claims": (lambda size: in_turn(size, large_claims), False, 1),
}
"""For each capture: a function that makes the traffic, whether to include handshakes, and the bytes per packet."""


READ = """
import time
from kwire_inspect.__main__ import main
try:
    main()
finally:
    peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print(time.process_time(), peak.split()[1])
"""
"""A program that runs a command of kwire, and prints its CPU seconds and its peak memory in kB."""


def many(count: int, only: Sequence[str]) -> str:
    """Return a table of the time and memory for reading captures of up to ``count`` connections."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "capture.pcap", Path(folder) / "out"
        for name, make in CROWDS.items():
            if only and not any(part in name for part in only):
                continue
            for number in (count // 100, count * 3 // 10, count):
                write(path, make(number))
                words = ["clients", str(path), "--engine", "local", "--out", str(out), "-q"]
                done = subprocess.run([sys.executable, "-c", READ, *words], capture_output=True, text=True)
                said = json.loads((out / "clients.json").read_text())["summary"][0]
                seconds, peak = done.stdout.split()[-2:]
                figures = f"{path.stat().st_size / 1e6:.0f}", f"{float(seconds):.1f}", f"{int(peak) / 1000:.0f}"
                rows.append([name, f"{number:,}", *figures, said])
    return table(["", "connections", "MB", "s of CPU", "peak MB", "what it says"], rows)


def write(path: Path, sent: Iterable[TcpPacket]) -> None:
    with path.open("wb") as file:
        file.write(pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, RAW))
        for packet in sent:
            data = capture_files.frame(packet, RAW)
            file.write(pack("<IIII", int(packet.time), int(packet.time % 1 * 1e6), len(data), len(data)) + data)


def short(count: int) -> Iterator[TcpPacket]:
    """Yield packets of consecutive connections. Each connection consists of three requests."""
    for number in range(count):
        yield from of(number, [part for turn in range(3) for part in exchange(turn)], pace=1e-4, ending=FIN)


def open_at_once(count: int, turns: int = 3) -> Iterator[TcpPacket]:
    """Yield packets of connections that are all open at the same time and take turns sending requests."""
    talks = [of(number, [part for turn in range(turns) for part in exchange(turn)]) for number in range(count)]
    yield from (packet for talk in talks for packet in islice(talk, 3))
    for _ in range(turns):
        yield from (packet for talk in talks for packet in islice(talk, 2))


def unfinished(count: int) -> Iterator[TcpPacket]:
    """Yield packets of open connections, each of which sends the beginning of a 50 MB request in two packets."""
    begun = (50_000_000).to_bytes(4, "big") + exchange(0)[0][2][4:]
    talks = [of(number, [(CLIENT, 0.0, begun.ljust(2 * SEGMENT, b"\1"))]) for number in range(count)]
    for length in (4, 1):
        yield from (packet for talk in talks for packet in islice(talk, length))


def strays(count: int) -> Iterator[TcpPacket]:
    """Yield single packets without handshakes on unknown ports, which alternately contain noise and a request."""
    some = random.Random(1)
    for number in range(count):
        data = exchange(number)[0][2] if number % 2 else some.randbytes(100)
        server = Peer(f"10.9.{number % 50}.1", some.randrange(30_000, 60_000))
        yield from of(number, [(CLIENT, 0.0, data)], server, handshake=False)


def of(
    number: int, segments: Sequence[Segment], server: Peer = BROKER, pace: float = 200, **how: Any
) -> Iterator[TcpPacket]:
    """Return the packets of a connection. Connections start a millisecond apart, and 1000 of them share a port."""
    client = Peer(f"10.1.{number % 1000 >> 8}.{number % 1000 & 255}", 1024 + number // 1000)
    at = number / 1000
    made = packets(
        Conversation([(side, at + pace * time, data) for side, time, data in segments], client, server),
        acks=False,
        **{"ending": 0} | how,
    )
    return iter(made)


def exchange(turn: int) -> list[Segment]:
    """Return the segments of a Fetch request and its response."""
    (_, _, asked), (_, _, answered) = SMALL
    number = turn.to_bytes(4, "big")
    return [
        (CLIENT, turn + 1, asked[:8] + number + asked[12:]),
        (SERVER, turn + 1, answered[:4] + number + answered[8:]),
    ]


SMALL = [asked(FetchRequest(), 12, 0), answered(FetchResponse(), 12, 0)]

CROWDS: dict[str, Callable[[int], Iterator[TcpPacket]]] = {
    "one after the other": short,
    "open at the same time": open_at_once,
    "unfinished large requests": unfinished,
    "one packet, unknown ports": strays,
}


def measured(path: Path, count: int, rounds: int) -> list[str]:
    best, rows = min(timed(path) for _ in range(rounds))
    tracemalloc.start()
    read(path)
    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    size = path.stat().st_size / 1e6
    return [f"{size:.1f}", f"{size / best:.1f}", f"{best / count * 1e6:.1f}", str(rows), f"{held / 1e6:.1f}"]


def timed(path: Path) -> tuple[float, int]:
    start = time.process_time()
    rows = read(path)
    return time.process_time() - start, rows


def read(path: Path, share: tuple[int, int] = (0, 1)) -> int:
    """Return the number of rows in a share of the connections."""
    made = frame_batches(read_pieces([str(path)], share=share), NEEDED, table="exchanges", bodies="codes")
    return sum(batch.num_rows for batch in made)


if __name__ == "__main__":
    main()
