"""Rows, their Arrow batches and their conditions: whole results of the functions that other modules rely on."""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

from kwire_inspect import reasons
from kwire_inspect.reasons import advice
from kwire_inspect.rows import (
    LAYOUTS,
    Condition,
    Layout,
    Projection,
    by_bytes,
    corrupt_batch,
    exchange_row,
    may_pass,
    micros,
)
from kwire_inspect.schemas import EPOCH, EXCHANGES, FRAMES, schema

COLUMNS = schema(
    ("source", pa.string(), ""),
    ("position", pa.int64(), ""),
    ("small", pa.int16(), ""),
    ("text", pa.string(), ""),
    ("raw", pa.binary(), ""),
    ("problem", pa.string(), ""),
)
FLAT, SHARING = Layout("flat", COLUMNS), Layout("sharing", COLUMNS, ("position", "raw"))
PLACE = {"source": "a", "position": 7, "problem": "cut off"}
NONE = dict.fromkeys(COLUMNS.names)


def made(layout: Layout, **values: Any) -> Any:
    if not layout.shared:
        return layout.row(**values)
    own = {name: values.pop(name) for name in ("position", "raw") if name in values}
    return layout.row(layout.shared_row(**values), **own)


@pytest.mark.parametrize("layout", [FLAT, SHARING])
def test_a_row_has_the_values_of_its_columns_by_name(layout: Layout) -> None:
    given = {"source": "a", "position": 0, "small": 0, "text": "", "raw": b""}
    row = made(layout, **given)
    for name in COLUMNS.names:
        assert layout.value(row, name) == layout.getter(name)(row) == (NONE | given)[name]
    assert layout.batch([row, made(layout)]).to_pylist() == [NONE | given, NONE]
    assert (len(row), {*layout.own} | {*layout.shared}) == (3 if layout.shared else 6, {*COLUMNS.names})


@pytest.mark.parametrize("layout", [FLAT, SHARING])
@pytest.mark.parametrize("more", [{}, {"small": 3, "raw": b"x"}, {"raw": None, "text": "t"}])
def test_a_row_of_broken_input_has_its_place_and_more_columns(layout: Layout, more: dict[str, Any]) -> None:
    for position in (7, 0, None):
        row = layout.corrupt("a", position, "cut off", **more)
        assert layout.batch([row]).to_pylist() == [NONE | PLACE | {"position": position} | more]


@pytest.mark.parametrize("layout", [FLAT, SHARING])
@pytest.mark.parametrize("names", [COLUMNS.names, ["raw", "text"], ["position"], ["problem"], []])
@pytest.mark.parametrize("count", [0, 1, 4])
def test_a_batch_has_the_columns_that_are_asked_for_and_all_rows(
    layout: Layout, names: list[str], count: int
) -> None:
    few = pa.schema([COLUMNS.field(name) for name in names])
    rows = [made(layout, position=number, text=f"{number // 2}", raw=bytes(number)) for number in range(count)]
    batch = layout.batch(rows, few)
    assert (batch.schema.names, batch.num_rows) == (names, count)
    expected = [NONE | {"position": n, "text": f"{n // 2}", "raw": bytes(n)} for n in range(count)]
    assert batch.to_pylist() == [{name: row[name] for name in names} for row in expected]


def test_rows_that_share_their_values_keep_their_own() -> None:
    """Also if two of the shared tuples are equal in their first columns."""
    shared = [SHARING.shared_row(source="a", small=1, text=text) for text in ("x", "y", "x")]
    rows = [SHARING.row(shared[place], position=number) for number, place in enumerate((0, 1, 0, 2, 1))]
    found = SHARING.batch(rows).to_pylist()
    assert [(row["text"], row["position"]) for row in found] == [("x", 0), ("y", 1), ("x", 2), ("x", 3), ("y", 4)]


@pytest.mark.parametrize("layout", [FLAT, SHARING])
def test_a_value_that_does_not_fit_is_null_and_the_others_stay(layout: Layout) -> None:
    values = [1, 1 << 15, -(1 << 15), 1 << 70, None]
    texts = ["a", "\ud800", "c", "d", None]
    rows = [made(layout, small=small, text=text) for small, text in zip(values, texts, strict=True)]
    batch = layout.batch(rows)
    assert batch.column("small").to_pylist() == [1, None, -(1 << 15), None, None]
    assert batch.column("text").to_pylist() == ["a", None, "c", "d", None]


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layout_that_is_sent_to_a_worker_is_the_layout_there(name: str) -> None:
    assert pickle.loads(pickle.dumps(LAYOUTS[name])) is LAYOUTS[name]
    assert copy.copy(LAYOUTS[name]) is LAYOUTS[name]
    assert LAYOUTS[name].name == name


def test_the_fast_row_of_an_exchange_is_that_of_its_layout() -> None:
    names = ["position", "number", "time", "correlation_id", "error_codes", "throttle_ms", "latency_ms"]
    names += ["request_size", "response_size", "request", "response"]
    values: Any = dict(zip(names, [1, 2, 3, 4, (5, 6), 7, 8.5, 9, 10, b"11", b"12"], strict=True))
    layout = LAYOUTS["exchanges"]
    shared = layout.shared_row(source="a", api="Fetch")
    assert exchange_row(shared, **values) == layout.row(shared, **values)
    (row,) = layout.batch([exchange_row(shared, *values.values())]).to_pylist()
    told = {name: value for name, value in row.items() if value is not None}
    time = EPOCH + timedelta(microseconds=3)
    assert told == values | {"source": "a", "api": "Fetch", "error_codes": [5, 6], "time": time}


@pytest.mark.parametrize(
    ("rows", "most", "sizes"),
    [
        (0, 8, [0]),
        (1, 1, [1]),
        (2, 16, [2]),
        (2, 15, [1, 1]),
        (7, 24, [3, 2, 2]),
        (8, 32, [4, 4]),
        (8, 31, [2, 2, 2, 2]),
        (5, 1, [1] * 5),
    ],
)
def test_a_batch_is_split_into_parts_of_a_size(rows: int, most: int, sizes: list[int]) -> None:
    batch = pa.RecordBatch.from_pydict({"number": pa.array(range(rows), pa.int64())})
    parts = list(by_bytes(batch, most))
    assert [part.num_rows for part in parts] == sizes
    assert [row for part in parts for row in part.column(0).to_pylist()] == [*range(rows)]
    measured = [part.num_rows for part in by_bytes(batch, 2, lambda part: part.num_rows)]
    assert sum(measured) == rows
    assert all(size <= 2 for size in measured)
    assert measured == [one for one in measured if one] or rows == 0


def test_a_batch_of_a_problem_has_its_place() -> None:
    for position in (7, 0, None):
        batch = corrupt_batch(COLUMNS, "a", position, "cut off")
        assert batch.schema == COLUMNS
        assert batch.to_pylist() == [NONE | PLACE | {"position": position}]


@pytest.mark.parametrize(("time", "expected"), [(0.0, 0), (1.0000015, 1_000_002), (0.0000004, 0), (0.0000006, 1)])
def test_microseconds_are_rounded(time: float, expected: int) -> None:
    assert micros(time) == expected


PYTHON: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda value, values: value in values,
    "starts with": lambda value, start: value[: len(start)] == start,
    "ends with": lambda value, end: value[-len(end) :] == end,
    "contains": lambda value, part: value.find(part) >= 0,
}


@pytest.mark.parametrize("test", PYTHON)
def test_a_condition_holds_as_in_sql(test: str) -> None:
    given: Any = ("ab", "b") if test == "in" else "b"
    for value in ("a", "ab", "b", "ba", "c", "cbc"):
        assert Condition("x", test, given).holds(value) == PYTHON[test](value, given)
        assert Condition("x", test, given, negated=True).holds(value) != PYTHON[test](value, given)
    for negated in (False, True):
        assert not Condition("x", test, given, negated).holds(None)
        condition = Condition("x", test, given, negated)
        assert pickle.loads(pickle.dumps(condition)) == condition


def test_a_condition_on_null() -> None:
    is_null, is_known = Condition("x", "null"), Condition("x", "null", negated=True)
    assert [is_null.holds(value) for value in (None, 0, "")] == [True, False, False]
    assert [is_known.holds(value) for value in (None, 0, "")] == [False, True, True]


@pytest.mark.parametrize(
    ("conditions", "passes"),
    [
        ([], True),
        ([("x", "=", 1)], True),
        ([("x", "=", 2)], False),
        ([("x", "=", 1), ("y", "=", 3)], False),
        ([("y", "=", 2), ("x", "=", 1)], True),
        ([("z", "=", 1)], True),
        ([("x", "null")], True),
        ([("x", "null", None, True), ("y", "<", 3)], True),
        ([("x", "=", 1, True)], False),
        ([("none", "=", 1)], False),
    ],
)
def test_rows_may_pass_if_no_known_value_fails(conditions: list[Any], passes: bool) -> None:
    assert may_pass([Condition(*one) for one in conditions], {"x": 1, "y": 2, "none": None}) is passes


def test_a_projection_has_the_columns_and_rows_that_are_needed() -> None:
    few = pa.schema([FRAMES.field(name) for name in ("size", "api")])
    conditions = [Condition("version", ">", 3), Condition("number", "=", 1)]
    wanted, everything = Projection("frames", few, conditions), Projection("frames")
    layout = LAYOUTS["frames"]
    rows = [
        layout.row(layout.shared_row(version=version, api=f"{version}"), number=number, size=number)
        for version in (3, 4, None)
        for number in (0, 1)
    ]
    assert wanted.columns == {"size", "api", "version", "number"}
    assert everything.columns == {*FRAMES.names}
    assert (everything.schema, wanted.schema, everything.conditions) == (FRAMES, few, ())
    kept = wanted.rows(rows)
    assert kept == [rows[3]]
    assert wanted.batch(kept).to_pylist() == [{"size": 1, "api": "4"}]
    assert wanted.batch(rows).num_rows == 6
    assert everything.rows(rows) == rows
    none = Projection("exchanges", pa.schema([]))
    assert (none.columns, none.schema.names, none.layout.full) == (frozenset(), [], EXCHANGES)


def test_each_reason_has_the_advice_of_its_beginning() -> None:
    assert advice(reasons.MISSING) == advice(f"{reasons.MISSING}: 3") != ""
    assert advice(f"x {reasons.MISSING}") == advice("") == advice(reasons.PARTIAL) == ""
    assert advice(reasons.TLS) == advice(f"{reasons.TLS}: {reasons.NO_SECRETS}") != advice(reasons.HTTP)
    assert advice(reasons.HTTP) == "specify the broker ports with --ports to exclude these connections"
    assert advice(f"{reasons.NOT_READ}GRE") == "capture inside the tunnel, for example on the hosts themselves"
