"""Tables as folders of files. A table is replaced as a whole, on any file system. Parquet files are written without
Spark."""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import current_process
from operator import attrgetter
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO

from kwire_inspect.options import OptionError
from kwire_inspect.storage.folders import private_folder
from kwire_inspect.storage.places import regular
from kwire_inspect.stored import MARKER, MAX_MARKER, UNKNOWN, Origin

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    from kwire_inspect.tables.relations import Batches

DATE = "date"
NO_DATE = "__HIVE_DEFAULT_PARTITION__"
_OF_TABLES = re.compile(r"part-.*|_.*|\..*\.crc|[^=]+=.*", re.DOTALL)
"""Pattern of the names in the folder of a table: data files, files that Spark and Hadoop add, and partition
folders."""
MAX_OPEN = 32
"""Maximum number of partition files that are open at a time."""
MAX_GROUPS = 16
"""Maximum number of row groups in a file. A writer keeps the position of each column of each row group in memory, and
a table may have hundreds of columns.
"""
BATCH_OVERHEAD = 16 << 10
"""Memory overhead of the arrays in a batch, in bytes."""


class Files:
    """Operations on files. Paths are strings."""

    def create(self, path: str, content: bytes) -> None:
        """Create a file and its parent folders."""
        raise NotImplementedError

    def exists(self, path: str) -> bool:
        raise NotImplementedError

    def rename(self, old: str, new: str) -> None:
        raise NotImplementedError

    def _children(self, path: str) -> list[str]:
        """Return the names in a folder, or no names for a file."""
        raise NotImplementedError

    def _remove(self, path: str) -> None:
        """Remove a file, or a folder with all its contents."""
        raise NotImplementedError

    def _beginning(self, path: str) -> bytes:
        """Return up to :data:`MAX_MARKER` bytes of a file."""
        raise NotImplementedError

    def check(self, path: str) -> None:
        """Raise :class:`OptionError` if ``path`` exists, but is neither a table that kwire wrote nor an empty folder.
        A table that kwire wrote contains only files with names that Spark uses, and a marker file that describes the
        table's origin.
        """
        if not self.exists(path):
            return
        others = [child for child in self._children(path) if child != MARKER]
        marked = self.exists(f"{path}/{MARKER}") and Origin.of(self._beginning(f"{path}/{MARKER}")) is not None
        if others and not (marked and all(map(_OF_TABLES.fullmatch, others))):
            raise OptionError(f"{path} was not written by kwire: move it, or choose another folder")

    def delete(self, path: str) -> None:
        """Delete a table. The marker is deleted last, so that a partially deleted table is still recognized."""
        if self.exists(path):
            self.check(path)
            for child in self._children(path):
                if child != MARKER:
                    self._remove(f"{path}/{child}")
            self._remove(path)

    def restore(self, path: str) -> None:
        """Clean up after a killed job. Keep the new table if it is complete. Otherwise, restore the old table."""
        replaced = _hidden(path, "replaced")
        if self.exists(path):
            self.delete(replaced)
        elif self.exists(replaced):
            self.rename(replaced, path)

    @contextmanager
    def replacing(self, folder: str, name: str) -> Iterator[str]:
        """Provide the path of a folder for the marker and files of a new table ``folder/name``.

        If the ``with`` block creates the folder, the folder replaces the earlier table at the end of the block.
        """
        path = f"{folder.rstrip('/')}/{name}"
        written, replaced = _hidden(path, "writing"), _hidden(path, "replaced")
        _refuse_links(folder, name)
        self.check(path)
        self.restore(path)
        self.delete(written)
        try:
            yield written
        except BaseException:
            with suppress(Exception):
                self.delete(written)  # to free space if the disk is full
            raise
        if self.exists(written):
            if self.exists(path):
                self.rename(path, replaced)
            self.rename(written, path)
            self.delete(replaced)


class LocalFiles(Files):
    """Files on this machine, which only this user can read."""

    def create(self, path: str, content: bytes) -> None:
        private_folder(Path(path).parent)
        with open(path, "xb", opener=partial(os.open, mode=0o600)) as file:
            file.write(content)

    def exists(self, path: str) -> bool:
        return os.path.lexists(path)

    def rename(self, old: str, new: str) -> None:
        Path(old).rename(new)

    def _beginning(self, path: str) -> bytes:
        with regular(path).open("rb") as file:
            return file.read(MAX_MARKER)

    def _children(self, path: str) -> list[str]:
        return [child.name for child in Path(path).iterdir()] if Path(path).is_dir() else [""]

    def _remove(self, path: str) -> None:
        if Path(path).is_dir() and not Path(path).is_symlink():
            shutil.rmtree(path)
        else:
            Path(path).unlink()


class ParquetTable:
    """Writes a table to files of this process. A partition has several files if it has more than :data:`MAX_GROUPS`
    row groups, or if the rows of more than :data:`MAX_OPEN` partitions alternate.
    """

    def __init__(self, folder: str, origin: Origin, by_date: bool) -> None:
        self.held = 0
        """Size in bytes of the rows that have not been written yet."""
        self._folder, self._origin, self._by_date = Path(folder), origin, by_date
        self._waiting: dict[str, list[pa.RecordBatch]] = {}
        self._open: dict[str, ParquetWriter] = {}  # least recently used first
        self._groups: Counter[str] = Counter()  # number of row groups in the open file of each partition

    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows. Combine small batches, because a writer keeps the positions of all row groups until it is
        closed."""
        from pyarrow import default_memory_pool

        from kwire_inspect.rows import BATCH_BYTES, by_bytes

        for partition, rows in _by_date(batch) if self._by_date else (("", batch),):
            if rows.get_total_buffer_size() <= BATCH_BYTES:
                self._waiting.setdefault(partition, []).append(rows)
                self.held += rows.nbytes + BATCH_OVERHEAD
                continue
            self.flush()
            for part in by_bytes(rows):
                self._writer(partition, part.schema).write_batch(part)
                if part.nbytes > BATCH_BYTES:
                    default_memory_pool().release_unused()  # otherwise the pool keeps the memory

    def flush(self) -> None:
        """Write the waiting rows as one row group for each partition."""
        import pyarrow as pa

        waiting, self._waiting, self.held = self._waiting, {}, 0
        for partition, batches in waiting.items():
            self._writer(partition, batches[0].schema).write_table(pa.Table.from_batches(batches))

    def close(self) -> None:
        """Write all rows and close all files."""
        self.flush()
        self._close(0)

    def _writer(self, partition: str, schema: pa.Schema) -> ParquetWriter:
        from pyarrow.parquet import ParquetWriter

        from kwire_inspect.rows import BINARY

        writer = self._open.pop(partition, None)
        self._groups[partition] += 1
        if writer is not None and self._groups[partition] > MAX_GROUPS:
            writer, self._groups[partition] = writer.close(), 1
        if writer is None:
            self._close(MAX_OPEN - 1)
            with suppress(FileExistsError):
                LocalFiles().create(f"{self._folder}/{MARKER}", self._origin.marker())
            file = _new_part(private_folder(self._folder / partition))
            # statistics and dictionaries would copy values, which may be 40 MB each
            plain = [field.name for field in schema if field.type != BINARY]
            writer = ParquetWriter(file, schema, use_dictionary=plain, write_statistics=plain)
            writer.file_handle = file  # so that the writer closes the file
        self._open[partition] = writer
        return writer

    def _close(self, kept: int) -> None:
        """Close the least recently used files until at most ``kept`` are open."""
        while len(self._open) > kept:
            self._open.pop(next(iter(self._open))).close()


@dataclass(frozen=True)
class TableWriter:
    """Passes the rows of a process to several functions, and writes the table that each function returns to its own
    folder. Instances can be pickled."""

    functions: Mapping[str, Batches]
    origin: Origin
    by_date: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from kwire_inspect.rows import BATCH_BYTES

        with ExitStack() as stack:
            tables = {folder: ParquetTable(folder, self.origin, self.by_date) for folder in self.functions}
            for table in tables.values():
                stack.callback(table.close)
            for batch in batches:
                for folder, function in self.functions.items():
                    for rows in function([batch]):
                        tables[folder].write(rows)
                        if sum(table.held for table in tables.values()) > BATCH_BYTES:
                            max(tables.values(), key=attrgetter("held")).flush()  # so that row groups are large
        yield from ()


def write_parquet(
    rows: Callable[[Batches], Iterable[pa.RecordBatch]],
    folder: str,
    functions: Mapping[str, Batches],
    *,
    by_date: bool = False,
    origin: Origin = UNKNOWN,
) -> list[str]:
    """For each name in ``functions``, write the table that the function creates from all rows to ``folder/name``.
    Return the names of the tables that have rows.

    An existing table is not replaced by a table without rows. ``rows`` calls its argument with all rows, or with some
    of the rows in each of several processes. ``by_date`` partitions tables by the UTC date of ``time``.
    """
    files = LocalFiles()
    with ExitStack() as stack:
        folders = {name: stack.enter_context(files.replacing(folder, name)) for name in functions}
        writer = TableWriter({folders[name]: function for name, function in functions.items()}, origin, by_date)
        for _ in rows(writer):
            pass
        return [name for name in functions if files.exists(folders[name])]


def _new_part(folder: Path) -> BinaryIO:
    """Create and open a data file of a table. The file name contains the number of this process."""
    process, number = current_process().name, 0
    while True:
        path = folder / f"part-{process if process.isdecimal() else '0':>05}-{number:05}.snappy.parquet"
        with suppress(FileExistsError):
            return open(path, "xb", opener=partial(os.open, mode=0o600))
        number += 1


def _by_date(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the folder name of each date, and the rows with that date."""
    import pyarrow as pa
    from pyarrow import compute

    dates = batch.column("time").cast(pa.date32())
    for date in dates.unique():
        rows = compute.equal(dates, date) if date.is_valid else dates.is_null()
        yield f"{DATE}={date.as_py() if date.is_valid else NO_DATE}", batch.filter(rows)


def _hidden(path: str, state: str) -> str:
    """Return the path of the old or new files of a table while the table is being replaced. Spark ignores names that
    begin with ``_``."""
    folder, _, name = path.rpartition("/")
    return f"{folder}/_{name}.{state}"


def _refuse_links(folder: str, name: str) -> None:
    for path in (PurePosixPath(name), *PurePosixPath(name).parents[:-1]):
        if Path(folder.removeprefix("file:"), path).is_symlink():
            raise OptionError(f"{folder}/{path} is a symbolic link: remove it, or choose another folder")
