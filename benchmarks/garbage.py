"""Traffic that cannot be decoded, beside traffic that can: what `clients` reads of a capture, on one core.

``python -m benchmarks.garbage [--megabytes N] [--rounds N] [--only NAME...]``

Each case is a capture file that is read into the columns that ``clients`` needs. ``MB per s`` counts bytes of the
file, ``us per packet`` its packets: where a packet has one byte, these matter. ``held`` is the most memory that
Python allocated at a time, in MB. Processor time is measured; memory in a run of its own.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa

from benchmarks.pipeline_frames import data_conversation, repeated
from benchmarks.timing import table
from kwire.connection import CLIENT, SERVER
from kwire.frames import frame
from kwire_kafka import PROTOCOL, OffsetCommitRequest
from kwire_kafka.api.offset_commit import OffsetCommitRequestPartition, OffsetCommitRequestTopic
from kwire_spark.capture import Peer, read_pieces
from kwire_spark.columns import EXCHANGES
from kwire_spark.frames import frame_batches
from kwire_spark.tables.clients import EXCHANGE_COLUMNS
from kwire_spark.worker import tune_worker
from tests.pipeline.capture_files import Conversation, Segment, merged, packets, recorded, recordings, write_pcap

Talks = list[Conversation]
Chunk = Callable[[random.Random], bytes]

SEGMENT = 1448
CONNECTIONS = 4
NEEDED = pa.schema([EXCHANGES.field(name) for name in EXCHANGE_COLUMNS])


WARM = 200_000
"""Bytes of traffic that is read first, so that nothing is imported meanwhile."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--megabytes", type=float, default=4)
    options.add_argument("--rounds", type=int, default=2)
    options.add_argument("--only", nargs="*", default=[])
    given = options.parse_args()
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
    """Recorded traffic, over and over."""
    whole = [one for name in recordings() for one in recorded(name) if len(one.segments) > 6]
    turns = max(1, size // sum(len(data) for one in whole for _, _, data in one.segments))
    return [repeated(one, turns, 40000 + number) for number, one in enumerate(whole)]


def data(size: int) -> Talks:
    """Batches of 20 kB that are produced and fetched."""
    talk = data_conversation()
    turns = max(2, size // sum(len(data) for _, _, data in talk.segments) // CONNECTIONS)
    return [repeated(talk, turns, 40000 + number) for number in range(CONNECTIONS)]


def late(make: Callable[[int], Talks]) -> Callable[[int], Talks]:
    """Connections whose beginning was not captured: what is left starts in the middle of a segment."""

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
    """Only what clients sent: the capture missed the other direction."""
    return numbered([Conversation([one for one in talk.segments if one[0] == CLIENT]) for talk in talks])


def in_turn(size: int, chunk: Chunk) -> Talks:
    """Both sides send chunks in turn."""

    def segments(seed: int) -> Iterator[Segment]:
        some = random.Random(seed)
        for number in range(1 << 30):
            yield (CLIENT, SERVER)[number % 2], number / 1000, chunk(some)

    each, mean = size // CONNECTIONS, len(chunk(random.Random(0)))
    return numbered([Conversation(list(islice(segments(n), max(2, each // mean)))) for n in range(CONNECTIONS)])


def begun(chunk: Chunk) -> Callable[[int], Talks]:
    """Connections that begin with a request and its response, and go on with chunks."""
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
    """Frames of known APIs and versions whose bodies are noise."""
    return b"".join(
        frame(b"\0\x03\0\x0c" + number.to_bytes(4, "big") + b"\0\4test\0" + some.randbytes(600))
        for number in range(14)
    )


def wrong_at_the_end(some: random.Random) -> bytes:
    """A large request of which only the last byte is missing."""
    topics = [
        OffsetCommitRequestTopic(name=f"topic-{number}", partitions=[OffsetCommitRequestPartition()] * 20)
        for number in range(50)
    ]
    request = OffsetCommitRequest(group_id="group", topics=topics)
    return frame(PROTOCOL.encode_request(request, 9, correlation_id=some.randrange(1 << 30), client_id="me")[:-1])


def large_claims(some: random.Random) -> bytes:
    """Headers every few bytes, each of a frame of 60 kB."""
    return b"".join(
        (60000 + number).to_bytes(4, "big") + b"\0\x03\0\x0c" + some.randbytes(4) + b"\0\4test\0"
        for number in range(400)
    )


def overlapping(some: random.Random) -> bytes:
    """Headers within headers: frames that claim all of what follows, and end together."""
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
"""What is in a capture, whether handshakes are, and how many bytes a packet has."""


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
    """How many rows a share of the connections gives."""
    made = frame_batches(read_pieces([str(path)], share=share), NEEDED, table="exchanges", bodies="codes")
    return sum(batch.num_rows for batch in made)


if __name__ == "__main__":
    main()
