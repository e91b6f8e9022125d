"""Compares kwire with kafka-python, kio and aiokafka at reading and building 20,000 records of about 120 bytes.

``python -m benchmarks.records [--native FOLDER] [--rounds N] [--json FILE]``

*Reading* iterates over all records and verifies checksums. *Taking* also gets the offset, timestamp, key and value of
each record. *Building* starts from keys, values and timestamps, and discards the batches. The benchmark first checks
that all libraries read the same records from the same bytes, and that kwire reads the records that they build. kio
does not support compression and truncates timestamps to seconds, so it only reads uncompressed records. aiokafka's
batches are written in Cython. A column "A / B" divides the time of A by the time of B. If the ratio is above 1, B is
faster. The exit code is 1 if interpreted kwire reads slower than kafka-python or kio.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.codecs import BUILT, COMPILED, INTERPRETED, environment, own_imports
from benchmarks.timing import duration, interleaved, table

COUNT = 20_000
CODECS = ("uncompressed", "gzip", "snappy", "lz4", "zstd")
PEERS = ("kafka-python", "kio", "aiokafka")
START = 1_700_000_000_000

Row = tuple[int, int, bytes | None, bytes | None]
"""Offset, timestamp in milliseconds, key and value of a record."""
Times = dict[tuple[str, str, str], float]
"""Seconds, by sample title, direction and library."""


@dataclass(frozen=True, kw_only=True)
class Library:
    """A library. ``batches`` reads batches and verifies their checksums. ``rows`` reads the contents of records."""

    name: str
    batches: Callable[[bytes], Iterator[Iterable[Any]]]
    rows: Callable[[bytes], Iterator[Row]]
    build: Callable[[list[Row], int, int], bytes] | None = None
    codecs: Iterable[int] = range(5)

    def read(self, data: bytes) -> int:
        """Iterate over all records, and return their number."""
        count = 0
        for batch in self.batches(data):
            for _ in batch:
                count += 1
        return count

    def take(self, data: bytes) -> None:
        """Read the offset, timestamp, key and value of each record."""
        for batch in self.batches(data):
            for record in batch:
                record.offset, record.timestamp, record.key, record.value  # noqa: B018


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--native", type=Path, help="folder of a compiled build")
    options.add_argument("--rounds", type=int, default=15)
    options.add_argument("--json", type=Path, help="JSON file to which the figures are also written")
    given = options.parse_args()
    native = given.native or (BUILT if (BUILT / "kwire" / "records").is_dir() else None)
    times = measure(native, given.rounds)
    print(f"{environment()}\n\n{report(times)}")
    if given.json:
        figures = [
            {"sample": title, "direction": direction, "library": library, "seconds": seconds}
            for (title, direction, library), seconds in times.items()
        ]
        given.json.write_text(json.dumps(figures, indent=2) + "\n", "utf-8")
    slower = [
        (title, peer)
        for (title, direction, peer), seconds in times.items()
        if direction == "read" and peer in PEERS[:2] and seconds < times[title, direction, INTERPRETED]
    ]
    sys.exit(f"not faster, interpreted: {slower}" if slower else 0)


def measure(native: Path | None, rounds: int) -> Times:
    libraries = [kwire(INTERPRETED)]
    if native is not None:
        with own_imports(native):
            libraries.append(kwire(COMPILED))
    libraries += [kafka_python(), kio(), aiokafka()]
    rows = sample()
    times: Times = {}
    for title, per_batch, codec in samples():
        data = build(libraries[0], rows, per_batch, codec)
        taking_part = [library for library in libraries if codec in library.codecs]
        for library in taking_part:
            check(library, rows, per_batch, codec, data)
        reading = {(title, "read", one.name): partial(one.read, data) for one in taking_part}
        taking = {(title, "take", one.name): partial(one.take, data) for one in taking_part}
        building = {
            (title, "build", one.name): partial(build_each, one, rows, per_batch, codec)
            for one in taking_part
            if one.build
        }
        for calls in (reading, taking, building):
            times |= interleaved(calls, rounds)
    return times


def samples() -> Iterator[tuple[str, int, int]]:
    """Yield the title, records per batch, and codec of each sample. 130 records fit into a batch of 16 KiB."""
    yield f"{COUNT:,} in one batch", COUNT, 0
    for codec, name in enumerate(CODECS):
        yield f"{COUNT:,} in batches of 130, {name}", 130, codec


def sample() -> list[Row]:
    """Return records of 115 bytes, which compress to about half their size."""
    chance = random.Random(20)
    return [
        (
            number,
            START + 3 * number,
            b"key-%06d" % number,
            chance.randbytes(50) + b"and something that repeats, 50" * 2,
        )
        for number in range(COUNT)
    ]


def build(library: Library, rows: list[Row], per_batch: int, codec: int) -> bytes:
    return b"".join(built(library, rows, per_batch, codec))


def build_each(library: Library, rows: list[Row], per_batch: int, codec: int) -> None:
    for _ in built(library, rows, per_batch, codec):
        pass


def built(library: Library, rows: list[Row], per_batch: int, codec: int) -> Iterator[bytes]:
    assert library.build is not None
    source = iter(rows)
    while chunk := list(islice(source, per_batch)):
        yield library.build(chunk, codec, chunk[0][0])


def check(library: Library, rows: list[Row], per_batch: int, codec: int, data: bytes) -> None:
    """Exit if the library cannot read kwire's batches, or if kwire cannot read the library's batches."""
    if list(library.rows(data)) != rows or library.read(data) != COUNT:
        sys.exit(f"{library.name} reads other records")
    if library.build and [row[1:] for row in kwire("").rows(build(library, rows, per_batch, codec))] != [
        row[1:] for row in rows
    ]:
        sys.exit(f"{library.name} builds other records")


def kwire(name: str) -> Library:
    records = import_module("kwire.records")
    if name:
        is_source = import_module("kwire.records.loops").__file__.endswith(".py")  # type: ignore[union-attr]
        if is_source != (name == INTERPRETED):
            sys.exit(f"kwire.records for {name!r} is {'' if is_source else 'not '}interpreted")

    def rows(data: bytes) -> Iterator[Row]:
        for batch in records.read_batches(data):
            for record in batch:
                yield record.offset, record.timestamp, record.key, record.value

    def write(chunk: list[Row], codec: int, base: int) -> bytes:
        builder = records.BatchBuilder(base_offset=base)
        for _, timestamp, key, value in chunk:
            builder.append(key, value, (), timestamp)
        return builder.build(codec=codec)  # type: ignore[no-any-return]

    return Library(name=name, batches=records.read_batches, rows=rows, build=write)


def kafka_python() -> Library:
    module = import_module("kafka.record.memory_records")

    def rows(data: bytes) -> Iterator[Row]:
        for batch in module.MemoryRecords(data):
            for record in batch:
                yield record.offset, record.timestamp, record.key, record.value

    def batches(data: bytes) -> Iterator[Any]:
        for batch in module.MemoryRecords(data):
            assert batch.validate_crc()
            yield batch

    def write(chunk: list[Row], codec: int, base: int) -> bytes:
        builder = module.MemoryRecordsBuilder(2, codec, 1 << 30)  # kafka-python writes other deltas if given offsets
        for _, timestamp, key, value in chunk:
            builder.append(timestamp, key, value)
        builder.close()
        return bytes(builder.buffer())

    return Library(name="kafka-python", batches=batches, rows=rows, build=write)


def kio() -> Library:
    read_batch = import_module("kio.records.readers").read_batch

    def batches(data: bytes) -> Iterator[Any]:
        pos = 0
        while pos < len(data):
            batch, size = read_batch(data, pos)
            pos += size
            yield batch.records

    def rows(data: bytes) -> Iterator[Row]:
        """Yield rows with the sample's timestamps, because kio truncates timestamps to seconds."""
        for batch in batches(data):
            for record in batch:
                timestamp = START + 3 * record.offset
                assert int(record.timestamp.timestamp()) == timestamp // 1000
                yield record.offset, timestamp, record.key, record.value

    return Library(name="kio", batches=batches, rows=rows, codecs=(0,))


def aiokafka() -> Library:
    memory = import_module("aiokafka.record.memory_records")
    default = import_module("aiokafka.record.default_records")

    def batches(data: bytes) -> Iterator[Any]:
        records = memory.MemoryRecords(data)
        while records.has_next():
            batch = records.next_batch()
            assert batch.validate_crc()
            yield batch

    def rows(data: bytes) -> Iterator[Row]:
        for batch in batches(data):
            for record in batch:
                yield record.offset, record.timestamp, record.key, record.value

    def write(chunk: list[Row], codec: int, base: int) -> bytes:
        builder = default.DefaultRecordBatchBuilder(
            magic=2,
            compression_type=codec,
            is_transactional=0,
            producer_id=-1,
            producer_epoch=-1,
            base_sequence=-1,
            batch_size=1 << 30,
        )
        for number, (_, timestamp, key, value) in enumerate(chunk):
            builder.append(number, timestamp=timestamp, key=key, value=value, headers=[])
        return bytes(builder.build())

    return Library(name="aiokafka", batches=batches, rows=rows, build=write)


def report(times: Times) -> str:
    """Return a table of times for reading, for taking, and for building."""
    libraries = list(dict.fromkeys(library for _, _, library in times))
    own = [library for library in (INTERPRETED, COMPILED) if library in libraries]
    pairs = [(peer, library) for library in own for peer in PEERS]
    parts = []
    for direction in ("read", "take", "build"):
        rows = []
        for title in dict.fromkeys(title for title, _, _ in times):
            seconds = {library: times.get((title, direction, library)) for library in libraries}
            row = [title]
            row += ["" if taken is None else duration(taken) for taken in seconds.values()]
            for peer, library in pairs:
                theirs, ours = seconds[peer], seconds[library]
                row.append("" if theirs is None or ours is None else f"{theirs / ours:.2f}")
            rows.append(row)
        parts.append(table([direction, *libraries, *(f"{peer} / {library}" for peer, library in pairs)], rows))
    return "\n\n".join(parts)


if __name__ == "__main__":
    main()
