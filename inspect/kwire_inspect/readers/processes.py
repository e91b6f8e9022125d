"""Tasks of a reader that are dealt to processes, as Spark deals them to its workers.

Each process starts anew, reads its tasks one after the other, and sends the rows through a pipe. A batch of each
process is taken in turn, so the order of rows depends only on the inputs and the number of processes. A process
that is ahead waits, since a pipe holds little.
"""

from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from itertools import chain
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kwire_inspect.worker_memory import leave_out_pandas

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from kwire_inspect.readers.base import Reader
    from kwire_inspect.tables.relations import Batches


def read_dealt(
    reader: Reader, tasks: Sequence[Any], processes: int, each: Batches = iter
) -> Iterator[pa.RecordBatch]:
    """The rows of all tasks, as ``each`` process makes them of its own; both are pickled. A process has its
    number as its name."""
    shares = [share for share in (tasks[number::processes] for number in range(processes)) if share]
    if len(shares) <= 1:
        yield from each(_rows(reader, tasks))
        return
    context = get_context("spawn")
    with ExitStack() as stack:
        waiting = []
        for number, share in enumerate(shares):
            receiver, sender = context.Pipe(duplex=False)
            stack.enter_context(receiver)
            given = sender, reader, share, each
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


def _work(sender: Connection, reader: Reader, tasks: Sequence[Any], each: Batches) -> None:
    """Read tasks in a process of its own. It ends when nobody reads the rows any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    leave_out_pandas()
    schema: pa.Schema | None = None
    problem: BaseException | None = None
    with suppress(BrokenPipeError), sender:
        try:
            for batch in each(_rows(reader, tasks)):
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
