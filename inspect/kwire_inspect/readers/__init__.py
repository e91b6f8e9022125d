"""Files as Arrow batches, task by task, without Spark. A reader plans tasks from its options and reads them.

Spark's data sources hand the tasks to workers (``sources``). ``read_batches`` deals them to processes in the same
way. Each process starts anew, reads its tasks one after the other, and sends the rows through a pipe. The caller
reads a batch from each process in turn, so the order of rows depends only on the inputs and the number of processes.
A pipe holds little, so a fast process waits for the slower ones.
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
"""Readers by the type of inputs that they read. Clients and problems are in stored tables.

Each reader is imported when it is needed. A report on a small capture needs little more time than its imports.
"""
MAX_SPLIT, MIN_SPLIT = 64 << 20, 4 << 20
"""Maximum and minimum bytes of a file that a task reads, unless the option ``splitSize`` is set."""
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of glibc: man 3 mallopt
_KEPT = 64 << 20
_OWN = 1 << 20
"""Minimum bytes of memory that is mapped by itself, and returned to the system when it is freed. In the heap, the
first bytes of large unfinished frames would fragment the memory. Each leaves a hole that is too small for the next
frame."""


def read_batches(
    table: str,
    inputs: Inputs,
    columns: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
    *,
    processes: int = 1,
    transform: Batches = iter,
) -> Iterator[pa.RecordBatch]:
    """Read the rows of a table of :data:`TABLES` in all inputs, by this number of processes. 1 is this process.

    The counterpart is ``tables.read``, which has the same options. Only ``columns`` are computed, by default all.
    Each process calls ``transform`` with all rows that it reads of inputs of a kind.
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
    """Base class of readers. A reader plans tasks, which can be pickled, and reads a task as batches.

    The batches have the columns of ``schema``. Only rows that satisfy ``conditions`` are needed, but the batches may
    contain other rows.
    """

    def __init__(self, options: Options, schema: pa.Schema | None = None) -> None:
        self.options = options
        self.schema: pa.Schema = self.columns(options) if schema is None else schema
        self.conditions: Sequence[Condition] = ()

    @classmethod
    def columns(cls, options: Options) -> pa.Schema:
        """Return all columns of the table."""
        raise NotImplementedError

    def tasks(self) -> Sequence[Any]:
        """Return the parts of the work. Together they make all rows."""
        raise NotImplementedError

    def read(self, task: Any) -> Iterator[pa.RecordBatch]:
        """Read the rows of a task of :meth:`tasks`."""
        raise NotImplementedError

    def split_size(self, files: Iterable[str]) -> int:
        """Return the option ``splitSize``. The default is small enough for all processors to share the work."""
        total = sum(map(stored_size, files))
        size = min(MAX_SPLIT, max(MIN_SPLIT, total // (2 * (os.cpu_count() or 1))))
        return self.options.size("splitSize", size)


def stored_size(file: str) -> int:
    """Return the stored size of a file in bytes, or 0 if the file is gone."""
    try:
        return size_of(file)
    except OSError:
        return 0  # deleted meanwhile, which the reading reports


def read_dealt(
    reader: Reader, tasks: Sequence[Any], processes: int, transform: Batches = iter
) -> Iterator[pa.RecordBatch]:
    """Read the rows of all tasks, as ``transform`` returns them for the rows of each process.

    Both arguments are pickled. The name of a process is its number.
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
    """Yield the batches of a process until it sends ``None``, or raise the exception that it sends."""
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
    """Read tasks in a process of its own, until the receiver closes the pipe."""
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
    """Tune memory for reading. Each task calls this first, but only the first call in a process has an effect.

    The garbage collector skips imported modules and runs rarely. Rows are short-lived and without cycles, and
    repeated scans of the modules would cost the same time as the rows themselves. Up to 64 MB of freed memory stay in
    the process for the next batch. To return them to the system would need a third of the time of frames with much
    data.
    """
    gc.freeze()
    atexit.register(gc.unfreeze)  # DuckDB complains about objects that remain at the end
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
    """Prevent pyarrow from importing pandas with the first array.

    For a small input, the import would double the time. A conversion to pandas still imports it.
    """
    if "pandas" in sys.modules:
        return
    import pyarrow as pa

    sys.meta_path.insert(0, hiding := _NoPandas())
    try:
        pa.array([])
    finally:
        sys.meta_path.remove(hiding)
