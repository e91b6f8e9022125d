"""Measures whether the memory for reading log segments grows with the number of segments.

``python -m benchmarks.log_memory [--size BYTES] [--segment BYTES] [--codec N]``

The benchmark writes segments of a topic to a temporary folder, reads all their records, and prints the peak resident
memory after the first and the last segment. The exit code is 1 if the peak grew by more than
:data:`kwire.logs.window.WINDOW`.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

from kwire.logs import scan
from kwire.logs.window import WINDOW
from kwire.records import Record, encode_batch

RECORDS = 1000


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--size", type=int, default=1 << 30, help="total bytes in all segments")
    options.add_argument("--segment", type=int, default=1 << 26, help="bytes in one segment")
    options.add_argument("--codec", type=int, default=0, help="codec: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write_log(Path(folder) / "measured-0", given.size, given.segment, given.codec)
        grown = measure(Path(folder))
    sys.exit(grown > WINDOW)


def write_log(folder: Path, size: int, segment: int, codec: int) -> None:
    """Write segments whose batches differ only in their offsets, which the checksum does not cover."""
    folder.mkdir()
    records = [Record(b"key%d" % number, b"value%d " % number * 8, timestamp=number) for number in range(RECORDS)]
    batch = encode_batch(records, codec=codec)
    offset = 0
    while size > 0:
        with (folder / f"{offset:020}.log").open("wb") as file:
            for _ in range(max(1, min(size, segment) // len(batch))):
                file.write(offset.to_bytes(8, "big") + batch[8:])
                offset += RECORDS
            size -= file.tell()


def measure(data_dir: Path) -> int:
    """Read everything. Return the growth in peak resident memory after the first segment, in bytes."""
    first = count = total = 0
    start = time.perf_counter()
    for segment in scan(data_dir):
        for batch in segment.batches():
            for _ in batch:
                count += 1
        total += segment.size
        first = first or peak()
    seconds, last = time.perf_counter() - start, peak()
    print(f"{total / 1e6:.0f} MB, {count} records in {seconds:.1f} s: {total / 1e6 / seconds:.0f} MB/s")
    print(
        f"peak of resident memory: {first / 1e6:.1f} MB after the first segment, {last / 1e6:.1f} MB after the last"
    )
    return last - first


def peak() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


if __name__ == "__main__":
    main()
