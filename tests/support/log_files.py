"""Segments for tests, and how their rows are read without Spark."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pyarrow as pa

from kwire.records import Record, encode_batch
from kwire_inspect.schemas import RECORDS
from kwire_inspect.segments import record_batches, segment_files, splits

LOGS = Path(__file__).parents[1] / "data" / "logs"
TIMES = 1_700_000_000_000
STEP = 10


def batch_at(offset: int, count: int = STEP, **settings: Any) -> bytes:
    records = [
        Record(b"k%05d" % number, bytes(20), (), TIMES + number, number) for number in range(offset, offset + count)
    ]
    return encode_batch(records, **settings)


def segment(folder: Path, *batches: bytes, name: str = "orders-3", base: int = 0) -> Path:
    """A segment of a partition, without indexes."""
    path = folder / name / f"{base:020}.log"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"".join(batches))
    return path


def index(path: Path, *batches: bytes) -> None:
    """Its ``.index``: the last offset and the position of every batch but the first, of ten records each."""
    entries, position = b"", len(batches[0])
    for number, data in enumerate(batches[1:], 1):
        entries += struct.pack(">ii", STEP * number + STEP - 1, position)
        position += len(data)
    path.with_suffix(".index").write_bytes(entries)


def rows(path: Path, size: int = 1 << 20, columns: tuple[str, ...] = (), **settings: Any) -> list[dict[str, Any]]:
    """All rows of a file that is cut into splits of ``size`` bytes."""
    schema = pa.schema([RECORDS.field(name) for name in columns or RECORDS.names])
    files = segment_files([str(path)], [str(path)])
    batches = [batch for group in splits(files, size) for batch in record_batches(group, schema, **settings)]
    return [row for batch in batches for row in batch.to_pylist()]


def offsets(found: list[dict[str, Any]]) -> list[int]:
    return [row["offset"] for row in found if row["problem"] is None]


def broken(found: list[dict[str, Any]]) -> list[tuple[int | None, str]]:
    return [(row["position"], row["problem"]) for row in found if row["problem"] is not None]
