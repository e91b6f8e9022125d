"""Finds the tables of an earlier run in folders, and reads the origin of each table.

A table is a folder with Parquet files and a marker file that describes the table's origin. Reports on tables can thus
start with the same description of the inputs as reports on captures and logs. A table is recognized by its marker and
its columns, regardless of its name.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kwire_inspect.schemas import CLIENTS, EXCHANGES, PROBLEMS
from kwire_inspect.storage.places import regular

if TYPE_CHECKING:
    import pyarrow as pa

MARKER = "_kwire"
"""File name of a table's marker. Spark ignores files whose names start with ``_``."""
MAX_MARKER = 64 << 20
"""Maximum size of a marker in bytes."""
SCHEMAS: dict[str, pa.Schema] = {"clients": CLIENTS, "problems": PROBLEMS, "exchanges": EXCHANGES}
"""Columns of each kind of table that reports can read."""
_ALWAYS = {
    "clients": {*CLIENTS.names} - {"bytes", "begun"},
    "problems": {*PROBLEMS.names},
    "exchanges": {*EXCHANGES.names} - {"unread", "packets"},
}
"""Columns that each kind of table must have. The first versions of kwire did not write the other columns."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Origin of a table: a description of the ``inputs``, and the ``skipped`` files with reasons.

    ``written`` is the time of the run, or an empty string if the time is unknown. All tables of a run have the same
    time.
    """

    inputs: str = ""
    skipped: tuple[tuple[str, str], ...] = ()
    written: str = ""

    def marker(self) -> bytes:
        """Return the contents of the marker file, encoded as JSON."""
        return json.dumps(asdict(self), indent=1).encode()

    @classmethod
    def read(cls, folder: Path) -> Origin | None:
        """Read the origin from the marker in a folder. An empty marker stands for an unknown origin. Return ``None``
        if the folder does not contain the marker of a table."""
        try:
            with regular(folder / MARKER).open("rb") as file:
                return cls.of(file.read(MAX_MARKER) or UNKNOWN.marker())
        except OSError:
            return None

    @classmethod
    def of(cls, marker: bytes) -> Origin | None:
        """Return the origin in the contents of a marker. Return ``None`` for other markers, such as the markers in
        folders of reports."""
        try:
            found = json.loads(marker)
            skipped = tuple((str(path), str(reason)) for path, reason in found["skipped"])
            return cls(str(found["inputs"]), skipped, str(found["written"]))
        except (ValueError, TypeError, LookupError, RecursionError):
            return None


UNKNOWN = Origin()


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table of an earlier run. ``kind`` is a key of :data:`SCHEMAS`. ``complete`` is true if the table has all
    columns of its kind."""

    path: str
    kind: str
    origin: Origin
    complete: bool

    @property
    def files(self) -> list[Path]:
        return parquet_files(Path(self.path))

    @property
    def run(self) -> tuple[str, Path]:
        """Key shared by all tables of the same run and folder."""
        return self.origin.written, Path(self.path).parent

    @property
    def size(self) -> int:
        """Size on disk in bytes."""
        return sum(file.stat().st_size for file in self.files)


def stored_tables(path: str) -> list[StoredTable]:
    """Return the folder's tables that reports can read. Tables in deeper folders are not returned. If the folder is
    itself a table, return that table and, if it is a table of clients, the table of problems next to it."""
    folder = Path(path)
    if not folder.is_dir():
        return []
    if itself := _table(folder):
        return [itself] if itself.kind != "clients" else [*of_clients((itself, *_tables_in(folder.parent)))]
    return _tables_in(folder)


def of_clients(tables: Iterable[StoredTable]) -> tuple[StoredTable, ...]:
    """Return the distinct tables of clients among these tables, and the tables of problems from the same runs."""
    tables = list(tables)
    clients = {table.path: table for table in tables if table.kind == "clients"}
    runs = {table.run for table in clients.values()}
    problems = {table.run: table for table in tables if table.kind == "problems" and table.run in runs}
    return *clients.values(), *problems.values()


def are_complete(tables: Iterable[StoredTable]) -> bool:
    """Return whether the tables contain all information on unread input. Each table must have all columns of its
    kind, and each table of clients must come with the table of problems of the same run."""
    tables = list(tables)
    with_problems = {table.run for table in tables if table.kind == "problems"}
    return all(table.complete and (table.kind != "clients" or table.run in with_problems) for table in tables)


def _tables_in(folder: Path) -> list[StoredTable]:
    places = [child for child in _listed(folder) if not child.name.startswith(("_", "."))]
    return [table for place in places if place.is_dir() and (table := _table(place))]


def parquet_files(folder: Path) -> list[Path]:
    """Return the files of a table, including those of its partitions, in a fixed order."""
    return list(_parquet_files(folder))


def _parquet_files(folder: Path) -> Iterator[Path]:
    for path in _listed(folder):
        if path.is_dir() and "=" in path.name:
            yield from _parquet_files(path)
        elif path.suffix == ".parquet" and not path.name.startswith(("_", ".")):
            yield regular(path)


def _listed(folder: Path) -> Sequence[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return ()


def _table(folder: Path) -> StoredTable | None:
    if not (folder / MARKER).exists() or (origin := Origin.read(folder)) is None:
        return None
    names = _columns(folder)
    for kind, always in _ALWAYS.items():
        if names >= always:
            return StoredTable(str(folder), kind, origin, names >= {*SCHEMAS[kind].names})
    return None


def _columns(folder: Path) -> set[str]:
    from pyarrow import ArrowException
    from pyarrow.parquet import read_schema

    try:
        file = next(_parquet_files(folder), None)
        return {*read_schema(file).names} if file else set()
    except (OSError, ArrowException):
        return set()
