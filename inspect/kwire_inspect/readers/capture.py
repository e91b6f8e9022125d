"""Reads captures as FRAMES or EXCHANGES. ``kwire_spark.sources.capture`` documents the options."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa

from kwire_inspect.capture import read_pieces
from kwire_inspect.connections import Table, frame_batches
from kwire_inspect.connections.batches import ALL, BUDGET, CODES, TABLES, Budget
from kwire_inspect.options import Options
from kwire_inspect.readers import Reader, stored_size, tune_worker
from kwire_inspect.tls import KeyLog, checked_key_log, decrypted, read_key_log

Task = tuple[list[str], tuple[int, int]]
"""Files of a task, and its share of their connections: the number of the share, and the number of shares."""
BYTES_PER_TASK = 32 << 20
PACKED = (".gz", ".zst", ".zstd", ".bz2", ".xz", ".lz4")
COMPRESSION = 4
"""Approximate compression ratio of captures."""


class CaptureReader(Reader):
    """Reader that divides the work by connection. Each task reads all packets of the files, but processes only its
    share of the connections."""

    def __init__(self, options: Options, schema: pa.Schema | None = None) -> None:
        super().__init__(options, schema)
        start, end = options.time("start"), options.time("end")
        self._key_log = checked_key_log(options.text("keyLog"))
        self._pieces = partial(read_pieces, ports=options.ports("ports"), start=start, end=end)
        budget = Budget(options.size("maxDecoded", BUDGET.decoded), options.size("maxHeld", BUDGET.held))
        self._batches = partial(
            frame_batches,
            table=_table(options),
            failfast=options.failfast,
            budget=budget,
            protocol=options.protocol(),
            bodies=CODES if options.choice("bodies", ALL, (ALL, CODES)) == CODES else ALL,
        )

    @classmethod
    def columns(cls, options: Options) -> pa.Schema:
        return TABLES[_table(options)]

    def tasks(self) -> Sequence[Task]:
        files = self.options.files()
        tasks = self.options.number("partitions", 0) or _tasks(files)
        return [(files, (number, tasks)) for number in range(tasks)]

    def read(self, task: Task) -> Iterator[pa.RecordBatch]:
        tune_worker()
        files, share = task
        keys = read_key_log(self._key_log) if self._key_log else KeyLog()
        pieces = self._pieces(files, share=share, secrets=keys.add)
        return self._batches(decrypted(pieces, keys), self.schema, conditions=self.conditions)


def _table(options: Options) -> Table:
    return "exchanges" if options.choice("rows", "frames", ("frames", "exchanges")) == "exchanges" else "frames"


def _tasks(files: Sequence[str]) -> int:
    """Return the number of tasks for the total size of ``files``, but at most the number of CPUs."""
    size = sum(map(_weight, files))
    return max(1, min(-(-size // BYTES_PER_TASK), os.cpu_count() or 1))


def _weight(file: str) -> int:
    """Return the approximate number of uncompressed bytes to read."""
    return stored_size(file) * (COMPRESSION if file.endswith(PACKED) else 1)
