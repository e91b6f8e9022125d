"""Files as Arrow batches, task by task, without Spark: a reader plans tasks by its options and reads them.

Spark's data sources hand the tasks to workers (``sources``). ``read_batches`` deals them to processes in the same
way: each starts anew, reads its tasks one after the other, and sends the rows through a pipe. A batch of each process
is taken in turn, so the order of rows depends only on the inputs and the number of processes. A process that is ahead
waits, since a pipe holds little.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import json
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from importlib import import_module
from importlib.abc import MetaPathFinder
from itertools import chain
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kwire_inspect.inputs import Inputs
from kwire_inspect.options import FOUND, KINDS, Options, only, passed
from kwire_inspect.rows import Condition
from kwire_inspect.schemas import CLIENTS, COUNTED, EXCHANGES, FRAMES, PROBLEMS, RECORDS, REFUSALS
from kwire_inspect.storage import absolute, size_of

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

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
MAX_SPLIT, MIN_SPLIT = 64 << 20, 4 << 20
"""Bytes of a file that one task reads, unless the option says."""
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of glibc: man 3 mallopt
_KEPT = 64 << 20
_OWN = 1 << 20
"""Memory of this size or more is mapped by itself, and given back when it is freed. In the heap, the first bytes that
are kept of large unfinished frames would keep all of it: each leaves a hole that is too small for the next frame."""


def read_batches(
    table: str,
    inputs: Inputs,
    columns: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
    *,
    processes: int = 1,
    transform: Batches = iter,
) -> Iterator[pa.RecordBatch]:
    """Read the rows of a table of :data:`TABLES` in all inputs, by this number of processes; 1 is this process.

    The counterpart of ``tables.read``, with the same options: only ``columns`` are computed, all by default.
    ``transform`` is called in each process, with all rows that it reads of inputs of a kind.
    """
    full = TABLES[table]
    given = passed(options or {}, table)
    schema = pa.schema([full.field(name) for name in columns or full.names])
    for stored in inputs.tables:
        if stored.kind == table:
            from kwire_inspect.readers.stored import stored_batches

            yield from transform(stored_batches(stored, schema))
    for kind in KINDS[table]:
        if files := [absolute(file) for file in getattr(inputs, kind)]:
            paths = {"paths": json.dumps(files), "rows": table, "partitions": str(processes)}
            paths[FOUND] = str(kind != "logs")
            reader = _reader(_READERS[kind])(Options(only(given | paths, kind)), schema)
            yield from read_dealt(reader, reader.tasks(), processes, transform)


def _reader(name: str) -> type[Reader]:
    module, _, cls = name.partition(".")
    found: type[Reader] = getattr(import_module(f"{__name__}.{module}"), cls)
    return found


class Reader:
    """Plans tasks, which can be pickled, and reads one of them as batches with the columns of ``schema``.

    Only rows that satisfy ``conditions`` are needed, but others may be among them.
    """

    def __init__(self, options: Options, schema: pa.Schema | None = None) -> None:
        self.options = options
        self.schema: pa.Schema = self.columns(options) if schema is None else schema
        self.conditions: Sequence[Condition] = ()

    @classmethod
    def columns(cls, options: Options) -> pa.Schema:
        """All columns of the table."""
        raise NotImplementedError

    def tasks(self) -> Sequence[Any]:
        """Parts of the work, which together make all rows."""
        raise NotImplementedError

    def read(self, task: Any) -> Iterator[pa.RecordBatch]:
        """The rows of one of :meth:`tasks`."""
        raise NotImplementedError

    def split_size(self, files: Iterable[str]) -> int:
        """The option ``splitSize``; by default small enough for all processors to have something to do."""
        total = sum(map(stored_size, files))
        size = min(MAX_SPLIT, max(MIN_SPLIT, total // (2 * (os.cpu_count() or 1))))
        return self.options.size("splitSize", size)


def stored_size(file: str) -> int:
    """Bytes as they are stored; 0 if the file is gone."""
    try:
        return size_of(file)
    except OSError:
        return 0  # deleted meanwhile: reading it reports that


def read_dealt(
    reader: Reader, tasks: Sequence[Any], processes: int, transform: Batches = iter
) -> Iterator[pa.RecordBatch]:
    """The rows of all tasks, as ``transform`` makes them of those of a process; both are pickled. A process has its
    number as its name."""
    shares = [share for share in (tasks[number::processes] for number in range(processes)) if share]
    if len(shares) <= 1:
        yield from transform(_rows(reader, tasks))
        return
    context = get_context("spawn")
    with ExitStack() as stack:
        waiting = []
        for number, share in enumerate(shares):
            receiver, sender = context.Pipe(duplex=False)
            stack.enter_context(receiver)
            given = sender, reader, share, transform
            process = context.Process(target=_work, args=given, name=str(number), daemon=True)
            process.start()
            stack.callback(process.join)
            stack.callback(process.terminate)
            sender.close()
            waiting.append(_received(receiver))
        while waiting:
            for batches in [*waiting]:
                if (batch := next(batches, None)) is None:
                    waiting.remove(batches)
                else:
                    yield batch


def _rows(reader: Reader, tasks: Iterable[Any]) -> Iterator[pa.RecordBatch]:
    return chain.from_iterable(map(reader.read, tasks))


def _received(receiver: Connection) -> Iterator[pa.RecordBatch]:
    """The batches that a process sends, until it sends ``None``, or the exception that it ended with."""
    schema: pa.Schema | None = None
    try:
        while data := receiver.recv_bytes():
            if schema is None:
                schema = pa.ipc.read_schema(pa.py_buffer(data))
            else:
                yield pa.ipc.read_record_batch(pa.py_buffer(data), schema)
        problem = receiver.recv()
    except EOFError:
        raise RuntimeError("a process that reads ended before it was finished: was it out of memory?") from None
    if problem is not None:
        raise problem


def _work(sender: Connection, reader: Reader, tasks: Sequence[Any], transform: Batches) -> None:
    """Read tasks in a process of its own. It ends when nobody reads the rows any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    leave_out_pandas()
    schema: pa.Schema | None = None
    problem: BaseException | None = None
    with suppress(BrokenPipeError), sender:
        try:
            for batch in transform(_rows(reader, tasks)):
                if schema is None:
                    schema = batch.schema
                    sender.send_bytes(schema.serialize())
                sender.send_bytes(batch.serialize())
        except BrokenPipeError:
            raise
        except Exception as error:
            problem = error
        sender.send_bytes(b"")
        sender.send(problem)


@cache
def tune_worker() -> None:
    """Called before each task; has effect once per process, since workers are reused.

    The garbage collector skips imported modules and runs rarely: rows are short-lived and without cycles, and
    scanning the modules again and again would take as long as making rows. Up to 64 MB of freed memory stay in the
    process for the next batch: returning them to the system takes a third of the time of frames with much data.
    """
    gc.freeze()
    atexit.register(gc.unfreeze)  # DuckDB complains about objects that are left at the end
    gc.set_threshold(100_000, 10, 10)
    with suppress(OSError, AttributeError, TypeError):  # without glibc
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_TRIM_THRESHOLD, _KEPT)
        libc.mallopt(_M_MMAP_THRESHOLD, _OWN)


class _NoPandas(MetaPathFinder):
    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError(fullname)


def leave_out_pandas() -> None:
    """Have pyarrow not import pandas with the first array, which takes as long as everything else that a small input
    needs. What converts to pandas imports it all the same."""
    if "pandas" in sys.modules:
        return
    import pyarrow as pa

    sys.meta_path.insert(0, hiding := _NoPandas())
    try:
        pa.array([])
    finally:
        sys.meta_path.remove(hiding)
