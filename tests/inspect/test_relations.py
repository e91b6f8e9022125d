"""Tables of this process: what DuckDB is taught of Spark's words, and where values are."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire_inspect.rows import BATCH_BYTES
from kwire_inspect.schemas import TIME
from kwire_inspect.tables.database import LONG, Database, LocalTable
from kwire_inspect.tables.relations import collect, map_batches, query
from kwire_spark.relations import _in_utc
from tests.support.effort import examples

DATABASE = Database()
PLACES = pa.schema([("time", TIME), ("source", pa.string()), ("position", pa.int64())])
INTEGERS = st.none() | st.integers(-(2**63), 2**63 - 1)
TEXTS = st.none() | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=3)


def table(schema: pa.Schema, *rows: dict[str, Any]) -> LocalTable:
    return DATABASE.table(schema).add(pa.Table.from_pylist(list(rows), schema).to_batches())


@examples(0.5)
@given(st.lists(st.tuples(INTEGERS, TEXTS), min_size=1))
def test_a_struct_has_the_order_of_its_values(rows: list[tuple[int | None, str | None]]) -> None:
    schema = pa.schema([("number", pa.int64()), ("text", pa.string())])
    given_rows = [{"number": number, "text": text} for number, text in rows]
    (found,) = collect(
        "SELECT min_by(number, struct(number, text)) AS number, min_by(text, struct(number, text)) AS text FROM {t}",
        t=table(schema, *given_rows),
    )

    def order(row: tuple[int | None, str | None]) -> tuple[bool, int, bool, str]:
        number, text = row
        return number is not None, number or 0, text is not None, text or ""

    assert tuple(found.values()) == min(rows, key=order)


@examples(0.5)
@given(st.lists(st.none() | st.floats(allow_nan=False), max_size=20), st.sampled_from([0.5, 0.9, 0.99]))
def test_a_quantile_is_the_least_value_with_that_share_of_all_up_to_it(
    values: list[float | None], share: float
) -> None:
    found = table(pa.schema([("ms", pa.float64())]), *({"ms": value} for value in values))
    (row,) = collect(f"SELECT percentile_approx(ms, {share}, 1000) AS ms FROM {{found}}", found=found)
    known = sorted(value for value in values if value is not None)
    enough = [value for number, value in enumerate(known, 1) if number >= share * len(known)]
    assert row["ms"] == (enough[0] if known else None)


def test_times_are_those_of_utc_and_steps_are_rounded_down() -> None:
    when = datetime(1969, 12, 31, 23, 59, 59, 500_000, tzinfo=UTC)
    places = table(PLACES, {"time": when, "source": "a"}, {"time": None})
    steps = "SELECT time, CAST(floor(unix_micros(time) / 1.0e6) AS BIGINT) AS step FROM {places} ORDER BY time DESC"
    assert collect(steps, places=places) == [{"time": when, "step": -1}, {"time": None, "step": None}]
    (batch,) = places.batches(PLACES)
    assert batch.column("time").to_pylist() == [when, None]


def test_times_that_spark_returns_are_local_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert _in_utc(datetime(2026, 1, 1, 9)) == datetime(2026, 1, 1, tzinfo=UTC)
    finally:
        monkeypatch.undo()
        time.tzset()


def test_lists_have_a_size_and_a_row_for_each_element() -> None:
    lists = table(pa.schema([("codes", pa.list_(pa.int16()))]), {"codes": [3, 5]}, {"codes": []}, {"codes": None})
    assert [row["size"] for row in collect("SELECT size(codes) AS size FROM {lists}", lists=lists)] == [2, 0, None]
    codes = collect("SELECT *, explode(codes) AS code FROM {lists}", lists=lists)
    assert codes == [{"codes": [3, 5], "code": 3}, {"codes": [3, 5], "code": 5}]


def test_structs_and_lists_keep_their_values() -> None:
    when = datetime(2026, 1, 2, tzinfo=UTC)
    inner = pa.schema([("started", TIME), ("fenced", pa.bool_()), ("topics", pa.list_(pa.string()))])
    rows: list[dict[str, Any]] = [{"one": {"started": when, "fenced": True, "topics": ["a"]}}, {"one": None}]
    structs = table(pa.schema([("one", pa.struct(list(inner)))]), *rows)
    found = query("SELECT one.* FROM {structs} WHERE one IS NOT NULL", structs=structs)
    assert list(found.rows()) == [{"started": when, "fenced": True, "topics": ["a"]}]
    (batch,) = found.batches(inner)
    assert batch.to_pylist() == [rows[0]["one"]]


def test_texts_keep_what_follows_a_zero() -> None:
    schema = pa.schema([("name", pa.string())])
    names = table(schema, {"name": "a\0b"}, {"name": "a"})
    assert [row["name"] for row in collect("SELECT name FROM {t} GROUP BY name ORDER BY name", t=names)] == [
        "a",
        "a\0b",
    ]


def test_rows_are_mapped_in_order() -> None:
    given = [{"source": "b", "position": 1}, {"source": "a", "position": 2}, {"source": "a", "position": 1}]
    found: list[Any] = []

    def note(batches: Any) -> Any:
        for batch in batches:
            found.extend(batch.to_pylist())
            yield batch

    map_batches(table(PLACES, *given), PLACES, note, PLACES, by="source", order=["position"])
    assert [(row["source"], row["position"]) for row in found] == [("a", 1), ("a", 2), ("b", 1)]


def test_large_rows_are_stored_and_read_a_few_at_a_time() -> None:
    schema = pa.schema([("value", pa.binary())])
    values = [bytes([number]) * (1 << 20) for number in range(10)]
    given = pa.RecordBatch.from_arrays([pa.array(values, pa.binary())], schema=schema)
    found = list(DATABASE.table(schema).add([given]).batches(schema))
    assert [value for batch in found for value in batch.column("value").to_pylist()] == values
    assert max(batch.nbytes for batch in found) <= BATCH_BYTES + (1 << 20)


def test_tables_of_two_databases_are_not_mixed_up() -> None:
    with pytest.raises(AssertionError):
        query("SELECT * FROM {one}, {two}", one=table(PLACES), two=Database().table(PLACES))


def test_functions_of_spark() -> None:
    schema = pa.schema([("text", pa.string()), ("number", pa.int64())])
    texts = table(schema, {"text": "0001-02.x", "number": 1}, {"text": "x", "number": 2}, {"text": None, "number": 3})
    found = collect(
        """SELECT endswith(text, '.x') AS ends, regexp_extract(text, '([0-9]+)-[0-9]+[.]x$', 1) AS part,
        regexp_extract(text, 'x(y)?', 1) AS optional, floor(number / -2.0) AS below FROM {t} ORDER BY number""",
        t=texts,
    )
    assert [tuple(row.values()) for row in found] == [
        (True, "0001", "", -1),
        (False, "", "", -1),
        (None, None, None, -2),
    ]


def test_the_value_of_the_least_key_is_that_of_the_first_of_them_and_null_is_no_key() -> None:
    schema = pa.schema([("key", pa.int64()), ("value", pa.string())])
    pairs = [(None, "none"), (2, "b"), (1, "first"), (1, "second"), (3, None)]
    keys = table(schema, *({"key": key, "value": value} for key, value in pairs))
    assert collect("SELECT min_by(value, key) AS one FROM {t}", t=keys) == [{"one": "first"}]
    assert collect("SELECT min_by(value, key) AS one FROM {t} WHERE key IS NULL", t=keys) == [{"one": None}]


@pytest.mark.parametrize("values", [[b"", None, b"\1"], [b"short", b"x" * LONG, b"y" * (LONG + 1), None], [None]])
def test_values_of_any_length_are_kept(values: list[bytes | None]) -> None:
    schema = pa.schema([("value", pa.binary())])
    found = table(schema, *({"value": value} for value in values))
    assert [row["value"] for row in found.rows()] == values


def test_what_no_engine_knows_is_no_table() -> None:
    rows: Any = [1]
    with pytest.raises(TypeError, match="expected a table of an engine, got list"):
        collect("SELECT 1 FROM {t}", t=rows)


def test_a_table_is_dropped_with_its_object() -> None:
    database = Database()
    kept, dropped = database.table(PLACES), database.table(PLACES)
    del dropped
    assert database.connection.execute("SHOW TABLES").fetchall() == [(kept.name,)]


def test_what_does_not_fit_into_memory_is_in_a_private_folder_that_is_removed() -> None:
    database = Database()
    folder = Path(database.connection.execute("SELECT current_setting('temp_directory')").fetchall()[0][0])
    schema = pa.schema([("text", pa.string()), ("number", pa.int64())])
    texts = pa.array([f"{number:01000}" for number in range(4000)])
    found = database.table(schema)
    for at in range(50):
        found.add([pa.RecordBatch.from_arrays([texts, pa.array([at] * 4000)], schema=schema)])
    assert sum(file.stat().st_size for file in folder.iterdir()) > 10 << 20
    assert folder.stat().st_mode & 0o077 == 0
    assert collect("SELECT count(*) AS rows, sum(number) AS sum FROM {t}", t=found) == [
        {"rows": 200_000, "sum": 4_900_000}
    ]
    del found, database
    assert not folder.exists()
