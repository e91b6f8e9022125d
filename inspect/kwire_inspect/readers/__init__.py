"""Files as Arrow batches, task by task, without Spark: a reader plans tasks by its options and reads them.

Spark's data sources hand the tasks to workers (``sources``); ``read_batches`` reads them one after the other, in this
process or in several.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

import pyarrow as pa

from kwire_inspect.inputs import Inputs
from kwire_inspect.options import FOUND, KINDS, Options, only, passed
from kwire_inspect.readers.processes import read_dealt
from kwire_inspect.schemas import CLIENTS, COUNTED, EXCHANGES, FRAMES, PROBLEMS, RECORDS, REFUSALS
from kwire_inspect.storage import absolute

if TYPE_CHECKING:
    from kwire_inspect.readers.base import Reader
    from kwire_inspect.tables.relations import Batches

__all__ = ["TABLES", "read_batches"]

TABLES: dict[str, pa.Schema] = {
    "frames": FRAMES,
    "exchanges": EXCHANGES,
    "refusals": REFUSALS,
    "records": RECORDS,
    "metrics": COUNTED,
    "clients": CLIENTS,
    "problems": PROBLEMS,
}
_READERS = {
    "captures": "capture.CaptureReader",
    "request_logs": "text_log.RequestLogReader",
    "server_logs": "text_log.ServerLogReader",
    "logs": "log.LogReader",
    "metrics": "metrics.MetricsReader",
}
"""The readers, by the type of inputs that they read. Clients and problems are in stored tables.

What is not needed is not imported: a report on a small capture takes little more time than its imports."""


def read_batches(
    table: str,
    inputs: Inputs,
    columns: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
    *,
    processes: int = 1,
    each: Batches = iter,
) -> Iterator[pa.RecordBatch]:
    """Read the rows of a table of :data:`TABLES` in all inputs, by this number of processes; 1 is this process.

    The counterpart of ``tables.read``, with the same options: only ``columns`` are computed, all by default. ``each``
    is called in each process, with all rows that it reads of inputs of a kind.
    """
    full = TABLES[table]
    given = passed(options or {}, table)
    schema = pa.schema([full.field(name) for name in columns or full.names])
    for stored in inputs.tables:
        if stored.kind == table:
            from kwire_inspect.readers.stored import stored_batches

            yield from each(stored_batches(stored, schema))
    for kind in KINDS[table]:
        if files := [absolute(file) for file in getattr(inputs, kind)]:
            paths = {"paths": json.dumps(files), "rows": table, "partitions": str(processes)}
            paths[FOUND] = str(kind != "logs")
            reader = _reader(_READERS[kind])(Options(only(given | paths, kind)), schema)
            yield from read_dealt(reader, reader.tasks(), processes, each)


def _reader(name: str) -> type[Reader]:
    module, _, cls = name.partition(".")
    found: type[Reader] = getattr(import_module(f"{__name__}.{module}"), cls)
    return found
