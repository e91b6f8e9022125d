"""The shared part of all readers: columns, conditions, and sizes of splits."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from kwire_inspect.options import Options
from kwire_inspect.projection import Condition
from kwire_inspect.storage import size_of

MAX_SPLIT, MIN_SPLIT = 64 << 20, 4 << 20
"""Bytes of a file that one task reads, unless the option says."""


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
