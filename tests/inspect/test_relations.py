"""Tables of this process: what DuckDB is taught of Spark's words, and where values are."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire_inspect.rows import BATCH_BYTES
from kwire_inspect.schemas import TIME
from kwire_inspect.tables import database as databases
from kwire_inspect.tables.database import LONG, Database, LocalRows, LocalTable
from kwire_inspect.tables.relations import (
    backend,
    collect,
    kept,
    like,
    map_batches,
    query,
    query_groups,
    to_arrow,
)
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
    with pytest.raises(TypeError, match="expected a table from an engine, got list"):
        collect("SELECT 1 FROM {t}", t=rows)


def test_a_table_is_dropped_with_its_object() -> None:
    database = Database()
    kept, dropped = database.table(PLACES), database.table(PLACES)
    del dropped
    assert database.connection.execute("SHOW TABLES").fetchall() == [(kept.name,)]


@pytest.mark.slow
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


def some(count: int, database: Database = DATABASE) -> LocalTable:
    """Numbers from 0 on, with their remainders, in two columns."""
    schema = pa.schema([("number", pa.int64()), ("rest", pa.string())])
    columns = [pa.array(range(count)), pa.array([str(number % 3) for number in range(count)])]
    return database.table(schema).add([pa.RecordBatch.from_arrays(columns, schema=schema)])


def test_columns_that_are_asked_for_in_their_order_and_with_their_types() -> None:
    asked = pa.schema([("rest", pa.binary()), ("number", pa.int16())])
    (found,) = some(4).batches(asked)
    assert found.schema == asked
    assert found.to_pylist() == [{"rest": b"%d" % (number % 3), "number": number} for number in range(4)]
    (only,) = some(2).batches(pa.schema([("number", pa.int64())]))
    assert only.to_pydict() == {"number": [0, 1]}
    numbers = some(3)
    assert numbers.columns == ["number", "rest"]
    assert backend(numbers).to_arrow(numbers, asked).to_pydict() == {
        "rest": [b"0", b"1", b"2"],
        "number": [0, 1, 2],
    }
    assert to_arrow(some(0), asked).to_pydict() == {"rest": [], "number": []}


def test_batches_have_at_most_so_many_bytes() -> None:
    schema = pa.schema([("number", pa.int64())])
    assert [batch.num_rows for batch in some(8).batches(schema, 17)] == [2, 2, 2, 2]
    assert [batch.num_rows for batch in some(3).batches(schema, 1)] == [1, 1, 1]
    assert [batch.num_rows for batch in some(5000).batches(schema)] == [2048, 2048, 904]


def test_tables_are_read_side_by_side_and_written_meanwhile() -> None:
    one, other = some(5000), some(5000)
    found = []
    for first, second in zip(one.rows(), other.rows(), strict=True):
        found.append((first["number"], second["number"]))
        if len(found) == 1:
            made = some(7)
    assert found == [(number, number) for number in range(5000)]
    assert len([*made.rows()]) == 7


def test_sums_are_whole_numbers() -> None:
    sums = query(
        "SELECT sum(number) AS sum, sum(number / 2.0) AS half, rest FROM {t} GROUP BY 3 ORDER BY 3", t=some(4)
    )
    assert [*sums.rows()] == [
        {"sum": 3, "half": 1.5, "rest": "0"},
        {"sum": 1, "half": 0.5, "rest": "1"},
        {"sum": 2, "half": 1.0, "rest": "2"},
    ]
    assert {type(row["sum"]) for row in collect("SELECT sum(number) AS sum FROM {t}", t=some(4))} == {int}


def test_a_view_is_what_its_table_is_now_and_what_is_kept_is_what_it_was() -> None:
    database = Database()
    table = some(2, database)
    seen = query("SELECT max(number) AS most FROM {table}", table=table)
    with kept(seen) as then, kept(table) as same, kept(then) as again:
        assert same is table
        assert again is then
        table.add(some(5, database).batches(pa.schema([("number", pa.int64()), ("rest", pa.string())])))
        assert ([*seen.rows()], [*then.rows()]) == ([{"most": 4}], [{"most": 1}])
    view = query("SELECT most FROM {seen}", seen=seen)
    del table, seen, then, same, again
    assert [*view.rows()] == [{"most": 4}], "the tables of a view are kept"
    assert len(database.connection.execute("SHOW TABLES").fetchall()) == 3
    del view
    assert database.connection.execute("SHOW TABLES").fetchall() == []


def test_rows_that_do_not_fit_leave_nothing_behind() -> None:
    database = Database()
    table = some(1, database)
    with pytest.raises(duckdb.Error):
        table.add([pa.record_batch([["no number"], ["x"]], names=["number", "rest"])])
    assert [*table.rows()] == [{"number": 0, "rest": "0"}]
    with pytest.raises(duckdb.Error):
        database.connection.execute("FROM added")


def test_a_query_reaches_no_file_of_this_machine(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    with pytest.raises(duckdb.PermissionException):
        Database().connection.execute(f"SELECT * FROM read_csv('{tmp_path / 'a.csv'}')")


def test_null_is_the_least_value() -> None:
    schema = pa.schema([("number", pa.int64())])
    numbers = table(schema, {"number": 2}, {"number": None}, {"number": 1})
    for order, expected in (("ASC", [None, 1, 2]), ("DESC", [2, 1, None])):
        found = collect(f"SELECT number FROM {{t}} ORDER BY number {order}", t=numbers)
        assert [row["number"] for row in found] == expected
    pairs = ("struct(number, 0)", "struct(0, number)", "struct(0, 0, number, 0)", "struct(0, 0, 0, number)")
    for key in pairs:
        assert collect(f"SELECT min_by(number, {key}) AS least FROM {{t}}", t=numbers) == [{"least": None}]


def test_rows_of_groups_come_together_and_in_order() -> None:
    """Null is a group. Each row is there once, however many rows have the same place."""
    rows = [
        ("b", 2, 1),
        ("a", 4, 9),
        (None, 1, 2),
        ("b", 1, 5),
        (None, 1, 1),
        ("a", 3, 0),
        ("b", 1, 4),
        ("b", 1, 4),
    ]
    schema = pa.schema([("source", pa.string()), ("class", pa.int64()), ("position", pa.int64())])
    given_rows = table(schema, *(dict(zip(schema.names, row, strict=True)) for row in rows))
    takes = pa.schema([("position", pa.int32()), ("source", pa.string())])
    for order, expected in (
        (("class", "position"), [(0, "a"), (9, "a"), (4, "b"), (4, "b"), (5, "b"), (1, "b"), (1, None), (2, None)]),
        (("position",), [(0, "a"), (9, "a"), (1, "b"), (4, "b"), (4, "b"), (5, "b"), (1, None), (2, None)]),
        (("-class", "position"), [(9, "a"), (0, "a"), (1, "b"), (4, "b"), (4, "b"), (5, "b"), (1, None), (2, None)]),
        (("0", "-position"), [(9, "a"), (0, "a"), (5, "b"), (4, "b"), (4, "b"), (1, "b"), (2, None), (1, None)]),
    ):
        quoted = [f"`{one}`" if one == "class" else one for one in order]
        found = map_batches(given_rows, takes, lambda batches: batches, takes, by="source", order=quoted)
        assert [(row["position"], row["source"]) for row in found.rows()] == expected
    found = map_batches(given_rows, takes, lambda batches: [batch.slice(0, 3) for batch in batches], takes)
    assert [row["position"] for row in found.rows()] == [1, 9, 2]


@pytest.mark.parametrize(("fits", "tried"), [(1, [1]), (8, [1, 8]), (64, [1, 8, 64]), (65, [1, 8, 64])])
def test_groups_that_do_not_fit_into_memory_are_made_in_parts(
    monkeypatch: pytest.MonkeyPatch, fits: int, tried: list[int]
) -> None:
    monkeypatch.setattr(databases, "MAX_PARTS", 64)
    numbers, seen = some(100), []
    select = Database.select

    def limited(database: Database, text: str) -> LocalTable:
        number = int(text.partition("% ")[2].partition(" ")[0])
        seen.append(number)
        if number < fits:
            raise duckdb.OutOfMemoryException
        return select(database, text)

    monkeypatch.setattr(Database, "select", limited)
    text = "SELECT number, rest, count(*) AS rows FROM {t} WHERE {part} GROUP BY number, rest"
    try:
        found = query_groups(text, ("number", "rest"), t=numbers)
        assert sorted((row["number"], row["rows"]) for row in found.rows()) == [(number, 1) for number in range(100)]
    except duckdb.OutOfMemoryException:
        assert fits > 64
    assert list(dict.fromkeys(seen)) == tried


def test_rows_of_files_are_read_whenever_they_are_needed_and_loaded_once() -> None:
    schema = pa.schema([("number", pa.int64()), ("text", pa.string())])
    asked: list[tuple[list[str], dict[str, Any]]] = []

    def read(*, columns: list[str], transform: Any, **how: Any) -> Any:
        asked.append((columns, how))
        whole = pa.RecordBatch.from_pylist([{"number": 1, "text": "a"}, {"number": 2, "text": "b"}], schema)
        part = whole.select(columns)
        return transform(iter([part, part.slice(1)]))

    rows: Any = LocalRows(DATABASE, schema, read)
    assert (rows.columns, rows.viewed, asked) == (["number", "text"], (), [])
    assert rows.count() == 3
    reversed_batches = rows.mapped(pa.schema([("text", pa.string())]), lambda batches: [*batches][::-1], where="x")
    assert [row for batch in reversed_batches for row in batch.to_pylist()] == [
        {"text": "b"},
        {"text": "a"},
        {"text": "b"},
    ]
    assert asked == [([], {}), (["text"], {"where": "x"})]
    assert collect("SELECT sum(number) AS sum, max(text) AS text FROM {rows}", rows=rows) == [{"sum": 5, "text": "b"}]
    with kept(rows) as same:
        assert same is rows
    assert rows.name == rows.loaded.name
    assert asked[2:] == [(["number", "text"], {})]
    made = map_batches(rows, schema, lambda batches: [*batches][:1], schema, where="y")
    assert ([row["number"] for row in made.rows()], len(asked)) == ([1, 2], 4)
    more = like(rows, schema, ({"text": "c", "number": None}, {"number": 7}))
    assert [*more.rows()] == [{"number": None, "text": "c"}, {"number": 7, "text": None}]
    assert more.database is DATABASE


def test_long_values_stay_what_they_are_while_others_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(databases, "LONG", 10)
    schema = pa.schema([("key", pa.binary()), ("value", pa.binary()), ("number", pa.int64())])
    database = Database()
    expected: list[dict[str, Any]] = []
    values = database.table(schema)
    for number, sizes in enumerate([(10, 11), (11, 10), (0, 500), (3, 3), (300, 20), (9, 10)]):
        key, value = (bytes([number, at]) * size for at, size in enumerate(sizes))
        expected += [{"key": key[: sizes[0]], "value": value[: sizes[1]], "number": number}]
        expected += [{"key": None, "value": None, "number": number}] * (number % 2)
        added = [row for row in expected if row["number"] == number]
        values.add([pa.RecordBatch.from_pylist(added, schema)])
        assert [*values.rows()] == expected
    counts = [batch.num_rows for batch in values.batches(schema, 400)]
    assert sum(counts) == len(expected)
    assert max(batch.nbytes for batch in values.batches(schema, 400) if batch.num_rows > 1) <= 400


def test_a_folder_of_a_database_is_named_after_kwire() -> None:
    ((folder,),) = Database().connection.execute("SELECT current_setting('temp_directory')").fetchall()
    assert Path(folder).name.startswith("kwire-")


def test_the_settings_of_a_database() -> None:
    """What is run in it loads no extension, reads no file and has little memory."""
    expected: dict[str, object] = {
        "TimeZone": "UTC",
        "default_null_order": "NULLS_FIRST_ON_ASC_LAST_ON_DESC",
        "memory_limit": "96.0 MiB",
        "operator_memory_limit": "32.0 MiB",
        **dict.fromkeys(("threads", "async_threads"), 1),
        **dict.fromkeys(
            ("autoinstall_known_extensions", "autoload_known_extensions", "enable_external_access"), False
        ),
    }
    asked = ", ".join(f"current_setting('{name}')" for name in expected)
    assert Database().connection.execute(f"SELECT {asked}").fetchall() == [(*expected.values(),)]
