"""Tables that an earlier run wrote, as inputs: what they were made of, and which of them a folder has.

A table is a folder with Parquet files and a marker, which says what the table was made of. So reports on tables begin
as those on captures and logs. A table is known by its marker and its columns, whatever its name is.
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
"""The file by which a table that was written here is known; Spark ignores names that start with ``_``."""
MAX_MARKER = 64 << 20
"""Limit of the bytes of a marker."""
SCHEMAS: dict[str, pa.Schema] = {"clients": CLIENTS, "problems": PROBLEMS, "exchanges": EXCHANGES}
"""The tables that reports can read."""
_ALWAYS = {
    "clients": {*CLIENTS.names} - {"bytes", "begun"},
    "problems": {*PROBLEMS.names},
    "exchanges": {*EXCHANGES.names} - {"unread", "packets"},
}
"""Their columns, without those that the first versions of kwire did not write."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What a table was made of: ``inputs`` in words, and the files that were ``skipped``, with the reasons.

    ``written`` is the same for all tables of one run, and empty if that is not known.
    """

    inputs: str = ""
    skipped: tuple[tuple[str, str], ...] = ()
    written: str = ""

    def marker(self) -> bytes:
        """The contents of the marker."""
        return json.dumps(asdict(self), indent=1).encode()

    @classmethod
    def read(cls, folder: Path) -> Origin | None:
        """What the marker in a folder says, an empty one nothing; ``None`` if it is none of a table."""
        try:
            with regular(folder / MARKER).open("rb") as file:
                return cls.of(file.read(MAX_MARKER) or UNKNOWN.marker())
        except OSError:
            return None

    @classmethod
    def of(cls, marker: bytes) -> Origin | None:
        """Read a marker. ``None`` if it is not one of a table, such as the list in a folder of reports."""
        try:
            found = json.loads(marker)
            skipped = tuple((str(path), str(reason)) for path, reason in found["skipped"])
            return cls(str(found["inputs"]), skipped, str(found["written"]))
        except (ValueError, TypeError, LookupError, RecursionError):
            return None


UNKNOWN = Origin()


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table of ``kind``, a name in :data:`SCHEMAS`. ``complete``: with all columns that such a table has now."""

    path: str
    kind: str
    origin: Origin
    complete: bool

    @property
    def files(self) -> list[Path]:
        return parquet_files(Path(self.path))

    @property
    def run(self) -> tuple[str, Path]:
        """The same for all tables that one run wrote to one folder."""
        return self.origin.written, Path(self.path).parent

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(file.stat().st_size for file in self.files)


def stored_tables(path: str) -> list[StoredTable]:
    """The tables that reports can read, of those directly in a folder; or the folder itself if it is one, with its
    problems beside it."""
    folder = Path(path)
    if not folder.is_dir():
        return []
    if itself := _table(folder):
        return [itself] if itself.kind != "clients" else [*of_clients((itself, *_tables_in(folder.parent)))]
    return _tables_in(folder)


def of_clients(tables: Iterable[StoredTable]) -> tuple[StoredTable, ...]:
    """The tables of clients among these, each once, and the problems of the same runs."""
    tables = list(tables)
    clients = {table.path: table for table in tables if table.kind == "clients"}
    runs = {table.run for table in clients.values()}
    problems = {table.run: table for table in tables if table.kind == "problems" and table.run in runs}
    return *clients.values(), *problems.values()


def are_complete(tables: Iterable[StoredTable]) -> bool:
    """Whether tables say what was not read: they have all columns, and those of clients have problems beside them."""
    tables = list(tables)
    with_problems = {table.run for table in tables if table.kind == "problems"}
    return all(table.complete and (table.kind != "clients" or table.run in with_problems) for table in tables)


def _tables_in(folder: Path) -> list[StoredTable]:
    places = [child for child in _listed(folder) if not child.name.startswith(("_", "."))]
    return [table for place in places if place.is_dir() and (table := _table(place))]


def parquet_files(folder: Path) -> list[Path]:
    """The files of a table, those of its partitions too, in a fixed order."""
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
