"""The engines that can run a command: local processes or Spark.

The local engine does not need Java, and reports on small inputs within seconds. Both engines produce the same tables
and implement ``tables.relations``, so they support the same queries. The package ``kwire_spark`` provides the Spark
engine through an entry point.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from kwire_inspect.options import OptionError
from kwire_inspect.storage import refuse_secrets

if TYPE_CHECKING:
    import pyarrow as pa

    from kwire_inspect.inputs import Inputs
    from kwire_inspect.stored import Origin
    from kwire_inspect.tables.database import Database, LocalRows
    from kwire_inspect.tables.names import Typed
    from kwire_inspect.tables.relations import Relation

AUTO, LOCAL, SPARK = ENGINES = "auto", "local", "spark"
WORTH = 64 << 20
"""Number of input bytes that justify an additional process. Starting a process takes half a second."""
BRIEF_LIMIT = 1 << 30
"""Maximum size of inputs, in bytes, for which a Spark session is started as ``brief``. Sessions that only count
exchanges are always brief. See ``spark_session``."""
PARQUET = "parquet"
PACKAGES = {SPARK: "pyspark"}
"""Maps each engine from another package to the library that it requires."""


class Engine(Protocol):
    """Reads inputs and writes tables."""

    label: str
    """Note about the engine, printed after a report."""

    def read(self, table: str, inputs: Inputs, columns: Sequence[str], options: Mapping[str, str]) -> Relation:
        """Return columns of a table from :mod:`kwire_inspect.schemas`, such as ``exchanges``."""

    def counted(self, inputs: Inputs, options: Mapping[str, str]) -> Relation:
        """Count the exchanges of the inputs, in the form that ``tables.clients`` accepts."""

    def cached(self, table: Relation) -> Relation:
        """Compute a table now and keep the result."""

    def write(
        self, table: Any, schema: pa.Schema, folder: str, name: str, *, origin: Origin, by_date: bool = False
    ) -> Written:
        """Write the columns in ``schema`` of a table of this engine to ``folder/name``. Only tables that are written
        with ``by_date`` may be large."""

    def write_typed(self, table: Any, folder: str, typed: Mapping[str, Typed], *, origin: Origin) -> list[Written]:
        """Write one typed table per name, from the rows of a table that :meth:`write` returned.

        Tables without rows are not written.
        """


@dataclass(frozen=True)
class Written:
    """A table that was written, and is read back on demand."""

    name: str
    path: str
    table: Any
    count: Callable[[], int]
    """Function that returns the number of rows."""


class OtherEngine(Protocol):
    """Engine of another package, found through its entry point."""

    @staticmethod
    def checked_output(out: str) -> str:
        """Return the address of an output folder in the form that the engine requires. Raises :class:`OptionError` if
        it is already clear that the engine cannot write to the folder.
        """

    def __call__(self, master: str | None, table_format: str, out: str, *, brief: bool) -> Engine: ...


def is_installed(name: str) -> bool:
    """Return whether the library that an engine requires is installed."""
    return find_spec(PACKAGES[name]) is not None


def other_engine(name: str, option: str) -> OtherEngine:
    """Return an engine of another package.

    Raises :class:`OptionError` if the engine is not installed. The message names ``option``, which requires the
    engine.
    """
    from kwire_inspect.tables.relations import ENGINE_GROUP

    if is_installed(name):
        for point in entry_points(group=ENGINE_GROUP, name=name):
            engine: OtherEngine = point.load()
            return engine
    raise OptionError(f"{option} needs Spark: pip install 'kwire[{name}]'")


def checked_output(out: str) -> str:
    """Return the folder given by ``--out`` in the form that the engine requires. Raises :class:`OptionError` if it is
    already clear that the engine cannot write to the folder.
    """
    try:
        refuse_secrets(out)
    except ValueError as error:
        raise OptionError(str(error)) from None
    return other_engine(SPARK, f"--out {out}").checked_output(out) if "://" in out else out


def processes_for(size: int) -> int:
    """Return the number of processes to use for ``size`` bytes of input. The maximum is the number of usable CPUs."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(usable, size // WORTH))


def engine_for(
    name: str,
    inputs: Inputs,
    out: str,
    table_format: str,
    master: str | None,
    processes: int | None = None,
) -> Engine:
    """Return the engine with this name. ``auto`` means the local engine, unless an option requires Spark."""
    needs = {
        "--master": master,
        f"--table-format {table_format}": table_format != PARQUET,
        f"--out {out}": "://" in out,
    }
    needing = [option for option, given in needs.items() if given]
    if name == SPARK:
        needing.append("--engine spark")
    if processes and needing:
        raise OptionError(f"--processes cannot be used with {needing[0]}, which needs Spark: use --master instead")
    if name == LOCAL and needing:
        raise OptionError(f"--engine local cannot be used with {needing[0]}, which needs Spark")
    if inputs.has_standard_input:
        if needing:
            raise OptionError(f"{needing[0]} cannot be used with standard input (-): write the input to a file first")
        return LocalEngine()
    if name == AUTO and not processes:
        variables = [name for name in ("MASTER", "PYSPARK_GATEWAY_PORT") if name in os.environ]
        needing += [f"the environment variable {name}" for name in variables]
    if not needing:
        return LocalEngine(processes or processes_for(inputs.size))
    engine = other_engine(SPARK, needing[0])
    return engine(master, table_format, out, brief=inputs.size <= BRIEF_LIMIT)


class LocalEngine:
    """Engine that runs on this machine, keeps tables in DuckDB, and writes tables as Parquet."""

    label = "Engine: local."

    def __init__(self, processes: int = 1) -> None:
        from kwire_inspect.readers import leave_out_pandas, tune_worker

        leave_out_pandas()
        tune_worker()
        self._processes = processes

    @cached_property
    def database(self) -> Database:
        """Database of this process, created on first use."""
        from kwire_inspect.tables.database import Database

        return Database()

    def read(self, table: str, inputs: Inputs, columns: Sequence[str], options: Mapping[str, str]) -> LocalRows:
        import pyarrow as pa

        from kwire_inspect.readers import TABLES, read_batches
        from kwire_inspect.tables.database import LocalRows

        schema = pa.schema([TABLES[table].field(name) for name in columns or TABLES[table].names])
        rows = partial(read_batches, table, inputs, options=options, processes=self._processes)
        return LocalRows(self.database, schema, rows)

    def counted(self, inputs: Inputs, options: Mapping[str, str]) -> Relation:
        from kwire_inspect.schemas import COUNTED
        from kwire_inspect.tables.clients import EXCHANGE_COLUMNS, counted
        from kwire_inspect.tables.relations import map_batches

        exchanges = self.read("exchanges", inputs, EXCHANGE_COLUMNS, options)
        transform = partial(counted, most=0) if self._processes > 1 else counted
        return map_batches(exchanges, exchanges.schema, transform, COUNTED)

    def cached(self, table: Any) -> Relation:
        from kwire_inspect.tables.database import LocalRows

        loaded: Relation = table.loaded if isinstance(table, LocalRows) else table
        return loaded

    def write(
        self, table: Any, schema: pa.Schema, folder: str, name: str, *, origin: Origin, by_date: bool = False
    ) -> Written:
        import pyarrow as pa

        from kwire_inspect.tables.files import write_parquet

        rows = partial(table.mapped, schema, processes=self._processes)
        if not write_parquet(rows, folder, {name: iter}, by_date=by_date, origin=origin):
            columns = [pa.RecordBatch.from_pylist([], schema)]
            write_parquet(lambda write: write(columns), folder, {name: iter}, origin=origin)
        return self._written(name, folder)

    def write_typed(self, table: Any, folder: str, typed: Mapping[str, Typed], *, origin: Origin) -> list[Written]:
        from kwire_inspect.tables.files import write_parquet

        rows = partial(table.mapped, table.schema, processes=self._processes)
        names = write_parquet(rows, folder, typed, origin=origin)
        return [self._written(name, folder) for name in sorted(names)]

    def _written(self, name: str, folder: str) -> Written:
        from kwire_inspect.readers.stored import TableReader, read_table
        from kwire_inspect.tables.database import LocalRows

        path = f"{folder.rstrip('/')}/{name}"
        table = LocalRows(self.database, TableReader(path).schema, partial(read_table, path))
        return Written(name, path, table, table.count)
