"""Builds the rows of tables as tuples, converts them to Arrow batches, and selects columns and rows.

Only this module depends on the order of the values in a row. ``Layout.row`` is a function that is compiled once per
table and has a keyword argument per column. Omitted columns are null.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from kwire.arrow.buffers import binary
from kwire_inspect.schemas import EXCHANGES, FRAMES, PACKETS, REFUSALS
from kwire_kafka import PROTOCOL

if TYPE_CHECKING:
    from kwire.protocol import MessageRegistry

Row = tuple[Any, ...]
Build = Callable[..., Row]
BINARY = pa.binary()
BATCH_BYTES = 4 << 20
"""Maximum size, in bytes, of the rows to write, store or decode at once."""
_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda value, values: value in values,
    "starts with": str.startswith,
    "ends with": str.endswith,
    "contains": operator.contains,
    "null": lambda value, _: False,
}


class Layout:
    """The order of values in the rows of a table.

    Without ``own``, a row contains a value for each column. With ``own``, a row starts with a tuple from
    ``shared_row``, which contains the values of all other columns. The values of the columns in ``own`` follow. Rows
    of the same client and API share the first tuple, which saves time and memory. Arrow columns of shared values are
    built from the few distinct tuples.

    ``row`` builds a row from keyword arguments. With ``own``, the first argument of ``row`` is the shared tuple.
    """

    __slots__ = ("full", "name", "own", "row", "shared", "shared_row")

    def __init__(self, name: str, full: pa.Schema, own: Sequence[str] = ()) -> None:
        self.name = name
        self.full = full
        self.own = {column: index for index, column in enumerate(own or full.names, 1 if own else 0)}
        names = [column for column in full.names if column not in self.own]
        self.shared = {column: index for index, column in enumerate(names)}
        self.shared_row = _builder("", names)
        self.row = _builder("shared" if own else "", [*self.own])

    def __reduce__(self) -> tuple[Callable[[str], Layout], tuple[str]]:
        return layout_named, (self.name,)

    def getter(self, column: str) -> Callable[[Row], Any]:
        """Return a function that returns a row's value in ``column``."""
        if (index := self.own.get(column)) is not None:
            return itemgetter(index)
        index = self.shared[column]
        return lambda row: row[0][index]

    def value(self, row: Row, column: str) -> Any:
        """Return a row's value in ``column``."""
        return self.getter(column)(row)

    def corrupt(self, source: str, position: int | None, reason: str, **more: Any) -> Row:
        """Return a row that reports broken input and its position. ``more`` sets the values of other columns."""
        columns = {"source": source, "position": position, "problem": reason, **more}
        if not self.shared:
            return self.row(**columns)
        own = {name: columns.pop(name) for name in self.own.keys() & columns.keys()}
        return self.row(self.shared_row(**columns), **own)

    def batch(self, rows: Sequence[Row], schema: pa.Schema | None = None) -> pa.RecordBatch:
        """Return rows as an Arrow batch with the columns of ``schema``, by default all columns. Values that do not
        fit the type of their column become null."""
        schema = self.full if schema is None else schema
        if not schema.names:
            return pa.RecordBatch.from_struct_array(pa.array([{}] * len(rows), pa.struct([])))
        columns = list(zip(*rows, strict=True)) or [()] * (len(self.own) + 1)
        shared: list[tuple[Any, ...]] = []
        if self.shared:
            distinct = {id(values): values for values in columns[0]}
            place = {key: number for number, key in enumerate(distinct)}
            indices = pa.array([place[id(values)] for values in columns[0]], pa.int32())
            shared = list(zip(*distinct.values(), strict=True)) or [()] * len(self.shared)
        arrays = []
        for field in schema:
            if (index := self.own.get(field.name)) is not None:
                arrays.append(_array(columns[index], field.type))
            else:
                arrays.append(_array(shared[self.shared[field.name]], field.type).take(indices))
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _builder(first: str, columns: Sequence[str]) -> Build:
    """Compile ``def build(first, *, column=None, …): return (first, column, …)``."""
    keywords = [f"{column}=None" for column in columns]
    parameters = [*([first] if first else []), *(["*", *keywords] if keywords else [])]
    values = [*([first] if first else []), *columns]
    if not values:
        return tuple
    scope: dict[str, Build] = {}
    exec(f"def build({', '.join(parameters)}):\n    return ({', '.join(values)},)", scope)
    return scope["build"]


LAYOUTS = {
    layout.name: layout
    for layout in (
        Layout(
            "frames",
            FRAMES,
            (
                *("position", "number", "started", "time", "size", "correlation_id"),
                *("request", "latency_ms", "error_codes", "throttle_ms", "raw"),
            ),
        ),
        Layout(
            "exchanges",
            EXCHANGES,
            (
                *("position", "number", "time", "correlation_id", "error_codes", "throttle_ms", "latency_ms"),
                *("request_size", "response_size", "request", "response", "unread", "packets"),
            ),
        ),
        Layout("logged_exchanges", EXCHANGES),
        Layout("refusals", REFUSALS),
        Layout("packets", PACKETS),
    )
}
"""Layouts by name. Rows from request logs share no tuples, because each line may be from a different client."""


def exchange_row(
    shared: Row,
    position: int,
    number: int,
    time: int,
    correlation_id: int | None,
    error_codes: tuple[int, ...] | None,
    throttle_ms: int | None,
    latency_ms: float | None,
    request_size: int | None,
    response_size: int | None,
    request: bytes | None,
    response: bytes | None,
) -> Row:
    """Return the row that ``Layout.row`` would return for the layout of exchanges, but faster."""
    own = position, number, time, correlation_id, error_codes, throttle_ms, latency_ms
    return (shared, *own, request_size, response_size, request, response, None, None)


def layout_named(name: str) -> Layout:
    return LAYOUTS[name]


def by_bytes(
    batch: pa.RecordBatch, most: int = BATCH_BYTES, size: Callable[[pa.RecordBatch], int] = attrgetter("nbytes")
) -> Iterator[pa.RecordBatch]:
    """Split a batch into batches of at most ``most`` bytes. Only a batch of a single row may be larger. ``size``
    returns the size of a batch in bytes."""
    if batch.num_rows > 1 and size(batch) > most:
        half = batch.num_rows // 2
        yield from by_bytes(batch.slice(0, half), most, size)
        yield from by_bytes(batch.slice(half), most, size)
    else:
        yield batch


def corrupt_batch(schema: pa.Schema, source: str, position: int | None, reason: str) -> pa.RecordBatch:
    """Return a batch with a single row that reports broken input and its position."""
    values = {"source": source, "position": position, "problem": reason}
    return pa.RecordBatch.from_arrays([pa.array([values.get(f.name)], f.type) for f in schema], schema=schema)


def micros(time: float) -> int:
    """Convert a time in seconds to whole microseconds."""
    return int(time * 1e6 + 0.5)


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    try:
        return binary(values) if kind == BINARY else pa.array(values, kind)
    except (OverflowError, pa.ArrowInvalid, UnicodeEncodeError):
        return pa.array([_fitting(value, kind) for value in values], kind)


def _fitting(value: Any, kind: pa.DataType) -> Any:
    try:
        pa.scalar(value, kind)
    except (OverflowError, pa.ArrowInvalid, UnicodeEncodeError):
        return None
    return value


class Condition(NamedTuple):
    """A condition on the values of ``column``, or the opposite if ``negated`` is true. Times are in microseconds
    since the epoch.

    ``test`` is ``=``, ``<``, ``<=``, ``>``, ``>=`` or ``in``. Strings also support ``starts with``, ``ends with`` and
    ``contains``. The test ``null`` has no ``value``. As in SQL, null satisfies only the test ``null``, and no negated
    test. This class is a tuple because Spark's workers unpickle it, and frozen dataclasses that mypyc compiled cannot
    be unpickled.
    """

    column: str
    test: str
    value: Any = None
    negated: bool = False

    def holds(self, value: Any) -> bool:
        if value is None:
            return self.test == "null" and not self.negated
        return _TESTS[self.test](value, self.value) != self.negated


def may_pass(conditions: Iterable[Condition], known: Mapping[str, Any]) -> bool:
    """Return whether rows with the values ``known``, a mapping from column to value, can satisfy the conditions.
    Tests for null are ignored, because most columns of a row that reports broken input are null."""
    return all(
        test.test == "null" or test.column not in known or test.holds(known[test.column]) for test in conditions
    )


class Projection:
    """Selects the rows of a table that satisfy all ``conditions``, and the columns of ``schema`` (default: all
    columns).

    ``table`` is the name of a layout in ``kwire_inspect.rows``. ``columns`` lists the columns to compute, which are
    the columns of the schema and of the conditions. Conditions apply only to scalar columns. ``protocol`` provides
    the message definitions for decoding.
    """

    __slots__ = ("columns", "conditions", "layout", "protocol", "schema")

    def __init__(
        self,
        table: str,
        schema: pa.Schema | None = None,
        conditions: Sequence[Condition] = (),
        protocol: MessageRegistry = PROTOCOL,
    ) -> None:
        self.protocol = protocol
        self.layout = LAYOUTS[table]
        self.schema: pa.Schema = self.layout.full if schema is None else schema
        self.conditions = tuple(conditions)
        self.columns = frozenset(self.schema.names) | {condition.column for condition in conditions}

    def rows(self, rows: list[Row]) -> list[Row]:
        """Return the rows that satisfy all conditions."""
        if not self.conditions:
            return rows
        tests = [(self.layout.getter(condition.column), condition) for condition in self.conditions]
        return [row for row in rows if all(condition.holds(get(row)) for get, condition in tests)]

    def batch(self, rows: Sequence[Row]) -> pa.RecordBatch:
        """Return rows as an Arrow batch with the columns of ``schema``."""
        return self.layout.batch(rows, self.schema)
