"""Which columns and rows of a table are wanted."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from kwire_spark.frames.context import Row
    from kwire_spark.frames.wanted import Condition


class Chosen:
    """Rows are tuples with a value for each column of ``full``; those that pass ``conditions`` are wanted, with the
    columns of ``schema``. ``columns`` is what has to be computed."""

    def __init__(
        self, full: pa.Schema, schema: pa.Schema | None = None, conditions: Sequence[Condition] = ()
    ) -> None:
        self.full = full
        self.schema = full if schema is None else schema
        self.conditions = tuple(conditions)
        self.columns = frozenset(self.schema.names) | {condition.column for condition in conditions}
        self._of: dict[str, list[Condition]] = {}
        for condition in conditions:
            self._of.setdefault(condition.column, []).append(condition)
        self._tests = [(full.names.index(one.column), one) for one in conditions]
        self._indexes = [full.names.index(name) for name in self.schema.names]

    def may(self, column: str, value: object) -> bool:
        """Whether a row in which ``column`` has this value can pass."""
        tests = self._of.get(column)
        return tests is None or all(one.holds(value) for one in tests)

    def rows(self, rows: list[Row]) -> list[Row]:
        """The rows that pass, with the wanted columns alone."""
        if self._tests:
            rows = [row for row in rows if all(one.holds(row[index]) for index, one in self._tests)]
        if len(self._indexes) == len(self.full.names) and self._indexes == sorted(self._indexes):
            return rows
        if len(self._indexes) < 2:
            return [tuple(row[index] for index in self._indexes) for row in rows]
        return list(map(itemgetter(*self._indexes), rows))
