"""Tables as folders of files that are replaced as a whole, on any file system; and Parquet without Spark."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from kwire_inspect.folders import private_folder, regular
from kwire_inspect.options import OptionError
from kwire_inspect.stored import MARKER, MAX_MARKER, UNKNOWN, Origin

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

DATE = "date"
NO_DATE = "__HIVE_DEFAULT_PARTITION__"
_OF_TABLES = re.compile(r"part-.*|_.*|\..*\.crc|[^=]+=.*", re.DOTALL)
"""Parts, what Spark and Hadoop add to them, and folders of partitions."""
MAX_OPEN = 32
"""Files of partitions that are open at a time."""
BATCH_OVERHEAD = 16 << 10
"""Bytes of memory of the arrays of a batch, apart from their values."""


class Files:
    """Operations on files; paths are strings."""

    def create(self, path: str, content: bytes) -> None:
        """Create a file, and the folders it is in."""
        raise NotImplementedError

    def exists(self, path: str) -> bool:
        raise NotImplementedError

    def rename(self, old: str, new: str) -> None:
        raise NotImplementedError

    def _children(self, path: str) -> list[str]:
        """The names in a folder; none of a file."""
        raise NotImplementedError

    def _remove(self, path: str) -> None:
        """Remove a file, or a folder with all that is in it."""
        raise NotImplementedError

    def _beginning(self, path: str) -> bytes:
        """Up to :data:`MAX_MARKER` bytes of a file."""
        raise NotImplementedError

    def check(self, path: str) -> None:
        """Raise :class:`OptionError` unless ``path`` is missing, a table of ours, or a folder without other files.

        A table has nothing but files with the names that Spark gives, and a marker that says what it is made of.
        """
        if not self.exists(path):
            return
        others = [child for child in self._children(path) if child != MARKER]
        marked = self.exists(f"{path}/{MARKER}") and Origin.of(self._beginning(f"{path}/{MARKER}")) is not None
        if others and not (marked and all(map(_OF_TABLES.fullmatch, others))):
            raise OptionError(f"{path} was not written by kwire: move it, or choose another folder")

    def delete(self, path: str) -> None:
        """Delete a table, its marker last, so that the rest of a deletion that was interrupted is known."""
        if self.exists(path):
            self.check(path)
            for child in self._children(path):
                if child != MARKER:
                    self._remove(f"{path}/{child}")
            self._remove(path)

    def restore(self, path: str) -> None:
        """Clean up after a killed job: keep the new table if it was complete, else move the old one back."""
        replaced = _hidden(path, "replaced")
        if self.exists(path):
            self.delete(replaced)
        elif self.exists(replaced):
            self.rename(replaced, path)

    @contextmanager
    def replacing(self, folder: str, name: str, origin: Origin) -> Iterator[str]:
        """The folder for the files of a new table ``folder/name``, which takes the place of an earlier one after the
        ``with`` block. Its marker says what it is made of."""
        path = f"{folder.rstrip('/')}/{name}"
        written, replaced = _hidden(path, "writing"), _hidden(path, "replaced")
        _refuse_links(folder, name)
        self.check(path)
        self.restore(path)
        self.delete(written)
        try:
            self.create(f"{written}/{MARKER}", origin.marker())
            yield written
        except BaseException:
            with suppress(Exception):
                self.delete(written)  # a full disk needs the room
            raise
        if self.exists(path):
            self.rename(path, replaced)
        self.rename(written, path)
        self.delete(replaced)


class LocalFiles(Files):
    """Files of this machine, which only this user can read."""

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
    """A table that is being written, in files of this machine: at most one file for each partition, unless rows of
    more than :data:`MAX_OPEN` partitions come in turns."""

    def __init__(self, path: str, written: str, schema: pa.Schema, by_date: bool) -> None:
        self.path = path
        self.held = 0
        """Bytes of the rows that are not written yet."""
        self._folder, self._schema, self._by_date = Path(written), schema, by_date
        self._waiting: dict[str, list[pa.RecordBatch]] = {}
        self._open: dict[str, ParquetWriter] = {}  # the least recently used first
        self._files = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows, small batches together: a writer keeps the places of all row groups until it is closed."""
        from pyarrow import default_memory_pool

        from kwire_inspect.row_layout import BATCH_BYTES, by_bytes

        for partition, rows in _by_date(batch) if self._by_date else (("", batch),):
            if rows.get_total_buffer_size() <= BATCH_BYTES:
                self._waiting.setdefault(partition, []).append(rows)
                self.held += rows.nbytes + BATCH_OVERHEAD
                continue
            self.flush()
            for part in by_bytes(rows):
                self._writer(partition).write_batch(part)
                if part.nbytes > BATCH_BYTES:
                    default_memory_pool().release_unused()  # which is kept for the next large row otherwise
        if self.held > BATCH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write the rows that wait, as one row group for each partition."""
        import pyarrow as pa

        waiting, self._waiting, self.held = self._waiting, {}, 0
        for partition, batches in waiting.items():
            self._writer(partition).write_table(pa.Table.from_batches(batches))

    def close(self) -> None:
        """Close all files; of a table without rows, one with its columns."""
        self.flush()
        if not self._files:
            self._writer("")
        self._close(0)

    def _writer(self, partition: str) -> ParquetWriter:
        from pyarrow.parquet import ParquetWriter

        from kwire_inspect.row_layout import BINARY

        if (writer := self._open.pop(partition, None)) is None:
            self._close(MAX_OPEN - 1)
            path = private_folder(self._folder / partition) / f"part-{self._files:05}.snappy.parquet"
            self._files += 1
            file = open(path, "xb", opener=partial(os.open, mode=0o600))  # noqa: SIM115
            # statistics and dictionaries would copy values, of which one may have 40 MB
            plain = [field.name for field in self._schema if field.type != BINARY]
            writer = ParquetWriter(file, self._schema, use_dictionary=plain, write_statistics=plain)
            writer.file_handle = file  # which closes it with the writer
        self._open[partition] = writer
        return writer

    def _close(self, kept: int) -> None:
        """Close files until no more than ``kept`` are open."""
        while len(self._open) > kept:
            self._open.pop(next(iter(self._open))).close()


@contextmanager
def parquet_table(
    folder: str, name: str, schema: pa.Schema, *, by_date: bool = False, origin: Origin = UNKNOWN
) -> Iterator[ParquetTable]:
    """The table ``folder/name``, to be written within a ``with`` block, as ``tables.write.write`` does.

    ``by_date`` partitions by the UTC date of ``time``.
    """
    with LocalFiles().replacing(folder, name, origin) as written:
        table = ParquetTable(f"{folder.rstrip('/')}/{name}", written, schema, by_date)
        try:
            yield table
        finally:
            table.close()


def write_parquet(
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    folder: str,
    name: str,
    *,
    by_date: bool = False,
    origin: Origin = UNKNOWN,
) -> tuple[str, int]:
    """Write batches as a table: see :func:`parquet_table`. Returns its path and number of rows."""
    count = 0
    with parquet_table(folder, name, schema, by_date=by_date, origin=origin) as table:
        for batch in batches:
            table.write(batch)
            count += batch.num_rows
    return table.path, count


def _by_date(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows of each date, with the name of its folder."""
    import pyarrow as pa
    from pyarrow import compute

    dates = batch.column("time").cast(pa.date32())
    for date in dates.unique():
        rows = compute.equal(dates, date) if date.is_valid else dates.is_null()
        yield f"{DATE}={date.as_py() if date.is_valid else NO_DATE}", batch.filter(rows)


def _hidden(path: str, state: str) -> str:
    """The path of a table while it is replaced; Spark ignores names that start with ``_``."""
    folder, _, name = path.rpartition("/")
    return f"{folder}/_{name}.{state}"


def _refuse_links(folder: str, name: str) -> None:
    for path in (PurePosixPath(name), *PurePosixPath(name).parents[:-1]):
        if Path(folder.removeprefix("file:"), path).is_symlink():
            raise OptionError(f"{folder}/{path} is a symbolic link: remove it, or choose another folder")
