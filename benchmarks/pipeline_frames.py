"""Measures the cost of creating rows in addition to decoding, as time per frame, and frames and MB per second.

``python -m benchmarks.pipeline_frames [--megabytes N] [--rounds N] [CAPTURE...]``

``decoded`` is the baseline, a plain loop of ConnectionDecoder over reassembled traffic in memory. ``frames`` and
``exchanges`` make Arrow batches from the same traffic. ``few columns`` makes only the columns of a census. ``from the
file`` also reads the capture. There is a table for the recordings in tests/data (repeated on each connection), for
produced and fetched batches of 20 kB, and for each given capture. All times are processor times.
"""

from __future__ import annotations

import argparse
import gc
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from benchmarks.timing import table
from kwire.connection import ConnectionDecoder
from kwire.records import Record, encode_batch
from kwire_inspect.capture import Broken, Peer, Piece, read_pieces
from kwire_inspect.connections import frame_batches
from kwire_inspect.connections.batches import TABLES, Table
from kwire_inspect.schemas import FRAMES
from kwire_kafka import PROTOCOL, FetchRequest, FetchResponse, ProduceRequest, ProduceResponse
from kwire_kafka.api.fetch import FetchableTopicResponse, PartitionData
from kwire_kafka.api.produce import PartitionProduceData, TopicProduceData
from tests.support.capture_files import Conversation, Segment, merged, packets, recorded, recordings, write_pcap
from tests.support.connection_pieces import answered, asked

Pieces = Sequence[Piece | Broken]
Call = Callable[[], int]

FEW = ("time", "client_host", "client_id", "software_name", "api", "version")
HEAVY = ("raw", "request", "response")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--megabytes", type=float, default=5)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("captures", nargs="*", type=Path)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        made = [written(Path(folder), *one) for one in traffic(int(given.megabytes * 1e6))]
        for path in [*made, *given.captures]:
            pieces = list(read_pieces([str(path)]))
            size = sum(len(piece.data) for piece in pieces if isinstance(piece, Piece))
            frames = decoded(pieces)
            times = best(calls(pieces, path), given.rounds)
            print(f"\n{path.stem}: {frames} frames, {size / 1e6:.1f} MB\n")
            print(table(["", "us per frame", "frames per s", "MB per s", "more"], list(lines(times, frames, size))))


def traffic(size: int) -> Iterator[tuple[str, list[Conversation]]]:
    whole = [one for name in recordings() for one in recorded(name) if len(one.segments) > 6]
    turns = max(1, size // sum(len(data) for one in whole for _, _, data in one.segments))
    yield "as recorded", [repeated(one, turns, 40000 + number) for number, one in enumerate(whole)]
    talk = data_conversation()
    turns = max(1, size // sum(len(data) for _, _, data in talk.segments) // 4)
    yield "data", [repeated(talk, turns, 40000 + number) for number in range(4)]


def repeated(conversation: Conversation, turns: int, port: int) -> Conversation:
    segments: list[Segment] = [
        (direction, time + turn, data) for turn in range(turns) for direction, time, data in conversation.segments
    ]
    return Conversation(segments, client=Peer("10.0.0.1", port))


def data_conversation() -> Conversation:
    records = encode_batch([Record(b"key-%d" % number, bytes(range(200))) for number in range(100)])
    part = PartitionProduceData(index=0, records=records)
    produce = ProduceRequest(acks=1, topic_data=[TopicProduceData(name="t", partition_data=[part])])
    fetched = FetchableTopicResponse(topic="t", partitions=[PartitionData(records=records)])
    return Conversation(
        [
            asked(produce, 9, 1),
            answered(ProduceResponse(), 9, 1),
            asked(FetchRequest(), 12, 2),
            answered(FetchResponse(responses=[fetched]), 12, 2),
        ]
    )


def written(folder: Path, name: str, conversations: Sequence[Conversation]) -> Path:
    return write_pcap(folder / f"{name}.pcap", merged(packets(one, acks=False) for one in conversations))


def calls(pieces: Pieces, path: Path) -> dict[str, Call]:
    def rows(given: Iterable[Piece | Broken], name: Table, without: Sequence[str] = ()) -> int:
        schema = pa.schema([field for field in TABLES[name] if field.name not in without])
        return sum(batch.num_rows for batch in frame_batches(given, schema, table=name))

    many = [name for name in FRAMES.names if name not in FEW]
    return {
        "decoded": lambda: decoded(pieces),
        "frames": lambda: rows(pieces, "frames"),
        "frames without bytes": lambda: rows(pieces, "frames", HEAVY),
        "exchanges": lambda: rows(pieces, "exchanges"),
        "exchanges without bytes": lambda: rows(pieces, "exchanges", HEAVY),
        "few columns": lambda: rows(pieces, "frames", many),
        "from the file, decoded": lambda: decoded(read_pieces([str(path)])),
        "from the file, frames": lambda: rows(read_pieces([str(path)]), "frames"),
    }


def decoded(pieces: Iterable[Piece | Broken]) -> int:
    """Decode the reassembled pieces of a capture in a plain loop, and return the number of events."""
    connections: dict[int, ConnectionDecoder] = {}
    events = 0
    for piece in pieces:
        if isinstance(piece, Broken):
            continue
        key = id(piece.connection)
        if key not in connections:
            start = "beginning" if piece.connection.complete else "unknown"
            connections[key] = ConnectionDecoder(PROTOCOL, start=start)  # type: ignore[arg-type]
        if piece.kind == "data":
            events += len(connections[key].feed(piece.direction, piece.data, piece.time))
        elif piece.kind == "gap":
            events += len(connections[key].gap(piece.direction, piece.size, piece.time))
        else:
            events += len(connections.pop(key).close(piece.time))
    return events


def best(calls: dict[str, Call], rounds: int) -> dict[str, float]:
    """Return the minimum processor seconds of each call. The calls take turns in each round."""
    least = dict.fromkeys(calls, float("inf"))
    gc.collect()
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.process_time()
            call()
            least[name] = min(least[name], time.process_time() - start)
    return least


def lines(times: dict[str, float], frames: int, size: int) -> Iterator[list[str]]:
    for name, seconds in times.items():
        base = times["from the file, decoded" if name.startswith("from") else "decoded"]
        more = f"{seconds / base - 1:+.0%}"
        yield [name, f"{seconds / frames * 1e6:.1f}", f"{frames / seconds:,.0f}", f"{size / seconds / 1e6:.1f}", more]


if __name__ == "__main__":
    main()
