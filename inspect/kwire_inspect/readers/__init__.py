"""Reads files as Arrow batches, task by task, without Spark. A reader plans tasks from its options and reads them.

Spark's data sources distribute the tasks to workers, and ``read_batches`` distributes them to processes. Each process
is spawned, reads its tasks in order and sends the rows through a pipe. The caller reads a batch from each process in
turn, so the order of the rows depends only on the inputs and the number of processes. Pipes are small, so fast
processes wait for slow processes.
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
"""Reader class for each type of input. The tables ``clients`` and ``problems`` are read only from stored tables.

Readers are imported on demand, because imports account for most of the time of a report on a small capture.
"""
MAX_SPLIT, MIN_SPLIT = 64 << 20, 4 << 20
"""Maximum and minimum number of bytes of a file to read per task, unless the option ``splitSize`` is set."""
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # glibc's constants: man 3 mallopt
_KEPT = 64 << 20
_OWN = 1 << 20
"""Minimum size in bytes of allocations that get their own mapping, which is unmapped when they are freed. In the
heap, the first bytes of large incomplete frames would cause fragmentation, because each buffer would leave a hole too
small for the next frame.
"""


def read_batches(
    table: str,
    inputs: Inputs,
    columns: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
    *,
    processes: int = 1,
    transform: Batches = iter,
) -> Iterator[pa.RecordBatch]:
    """Yield batches of the rows of a table of :data:`TABLES` from all inputs.

    With ``processes=1``, no other process is started. The Spark engine reads tables with the same options. Only
    ``columns`` are computed, or all columns by default. Each process passes all rows that it reads from inputs of the
    same type to ``transform``.
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
    """Base class of readers. A reader plans tasks, which can be pickled, and reads each task as Arrow batches.

    The batches have the columns of ``schema``. Rows that do not satisfy ``conditions`` may be left out.
    """

    def __init__(self, options: Options, schema: pa.Schema | None = None) -> None:
        self.options = options
        self.schema: pa.Schema = self.columns(options) if schema is None else schema
        self.conditions: Sequence[Condition] = ()

    @classmethod
    def columns(cls, options: Options) -> pa.Schema:
        """Return the schema of the complete table."""
        raise NotImplementedError

    def tasks(self) -> Sequence[Any]:
        """Return the tasks, which together produce all rows."""
        raise NotImplementedError

    def read(self, task: Any) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a task returned by :meth:`tasks`."""
        raise NotImplementedError

    def split_size(self, files: Iterable[str]) -> int:
        """Return the value of the option ``splitSize`` in bytes. The default for large files is small enough to give
        every CPU several tasks.
        """
        total = sum(map(stored_size, files))
        size = min(MAX_SPLIT, max(MIN_SPLIT, total // (2 * (os.cpu_count() or 1))))
        return self.options.size("splitSize", size)


def stored_size(file: str) -> int:
    """Return the size of a file on disk in bytes, or 0 if it no longer exists."""
    try:
        return size_of(file)
    except OSError:
        return 0  # the file was deleted after it was found, which reading will report


def read_dealt(
    reader: Reader, tasks: Sequence[Any], processes: int, transform: Batches = iter
) -> Iterator[pa.RecordBatch]:
    """Read all tasks in ``processes`` processes. Yield the batches that ``transform`` returns for the rows of each
    process.

    Both ``reader`` and ``transform`` are pickled. The name of a process is its number.
    """
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
    """Yield the batches that a process sends. If the process then sends an exception, raise it."""
    schema: pa.Schema | None = None
    try:
        while data := receiver.recv_bytes():
            if schema is None:
                schema = pa.ipc.read_schema(pa.py_buffer(data))
            else:
                yield pa.ipc.read_record_batch(pa.py_buffer(data), schema)
        problem = receiver.recv()
    except EOFError:
        raise RuntimeError("a reader process ended before it finished: it may have run out of memory") from None
    if problem is not None:
        raise problem


def _work(sender: Connection, reader: Reader, tasks: Sequence[Any], transform: Batches) -> None:
    """Read tasks in a separate process until they are done or the receiver closes the pipe."""
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
    """Tune memory management for reading. Every task calls this function, but only the first call in a process has an
    effect.

    The garbage collector ignores imported modules and runs rarely. Rows are short-lived and contain no cycles, so
    repeated scans of the modules would take as long as building the rows. Up to 64 MB of freed memory stay in the
    process for the next batch. Returning this memory to the system would take a third of the processing time of
    frames with much data.
    """
    gc.freeze()
    atexit.register(gc.unfreeze)  # otherwise DuckDB reports leaked objects at exit
    gc.set_threshold(100_000, 10, 10)
    with suppress(OSError, AttributeError, TypeError):  # not glibc
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_TRIM_THRESHOLD, _KEPT)
        libc.mallopt(_M_MMAP_THRESHOLD, _OWN)


class _NoPandas(MetaPathFinder):
    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError(fullname)


def leave_out_pandas() -> None:
    """Prevent pyarrow from importing pandas when it creates its first array.

    For a small input, this import would double the run time. Converting a table to pandas still imports pandas.
    """
    if "pandas" in sys.modules:
        return
    import pyarrow as pa

    sys.meta_path.insert(0, hiding := _NoPandas())
    try:
        pa.array([])
    finally:
        sys.meta_path.remove(hiding)
