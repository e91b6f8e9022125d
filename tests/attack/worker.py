"""Reads a file as a Python worker of Spark does: ``python -m tests.attack.worker SOURCE PATH OPTIONS``.

It prints the number of rows, and the most resident memory that the process has taken, in bytes (VmHWM of Linux).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa

LISTED = "listed"
"""Stands for a source: the inputs that a file or archive has."""
TYPED = "typed"
"""Stands for a source: a file of Arrow batches, as Spark passes them to a worker that makes the typed table of
the option ``api``."""


def in_worker(source: str, path: str, options: Mapping[str, str]) -> tuple[int, int, float]:
    """The number of rows that a new process makes of a file, the memory that it takes, and its processor time."""
    command = [sys.executable, "-m", __name__, source, path, json.dumps(options)]
    rows, peak, seconds = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout)
    return rows, peak, seconds


def read(source: str, path: str, options: Mapping[str, str]) -> tuple[int, int, float]:
    import pyspark.worker  # noqa: F401  what a worker imports

    begun, rows = time.process_time(), 0
    with pa.OSFile(os.devnull, "wb") as out:
        for batch in _typed(path, options["api"]) if source == TYPED else _rows(source, path, options):
            with pa.ipc.new_stream(out, batch.schema) as stream:
                stream.write_batch(batch)
            rows += batch.num_rows
    return rows, high_water(os.getpid()), time.process_time() - begun


def high_water(process: int) -> int:
    """The most resident memory that a process has taken; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)


def _rows(source: str, path: str, options: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
    """The rows of all tasks, one after the other. Of a list of inputs, a row for each."""
    from kwire_inspect.inputs import find
    from kwire_inspect.options import Options
    from kwire_inspect.readers.capture import CaptureReader
    from kwire_inspect.readers.log import LogReader
    from kwire_inspect.readers.text_log import RequestLogReader, ServerLogReader

    kinds = {
        "kafka_capture": CaptureReader,
        "kafka_log": LogReader,
        "kafka_request_log": RequestLogReader,
        "kafka_server_log": ServerLogReader,
    }
    if source == LISTED:
        found = find([Path(path)])
        names = [*found.captures, *found.logs, *found.request_logs, *found.skipped]
        yield pa.record_batch([pa.array(map(str, names), pa.string())], ["name"])
        return
    reader = kinds[source](Options({**options, "path": path}))
    for task in reader.tasks():
        yield from reader.read(task)


def _typed(path: str, api: str) -> Iterator[pa.RecordBatch]:
    from kwire_inspect.tables.structs import ExchangeStructs
    from kwire_kafka import PROTOCOL

    key = PROTOCOL[f"{api}Request"].API_KEY
    assert key is not None
    with pa.OSFile(path) as file:
        yield from ExchangeStructs(key)(pa.ipc.open_stream(file))


if __name__ == "__main__":
    print(json.dumps(read(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))))
