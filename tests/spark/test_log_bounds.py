"""What filters and bounds make of a log: exactly the rows within, and no file left out that could have some."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import datasource as spark

from kwire.records import Batch, Record, encode_batch, encode_message_set
from kwire_inspect.options import Options
from kwire_inspect.readers.log import LogReader
from kwire_inspect.rows import Condition, may_pass
from kwire_inspect.schemas import RECORDS
from kwire_inspect.segments import Bounds
from kwire_spark.sources.filters import conditions
from tests.support.effort import examples
from tests.support.log_files import TIMES, offsets, rows, segment

STEP = 1000
"""Milliseconds between the records of the log."""


def logged(first: int, count: int = 4) -> list[Record]:
    """Records of which every third has no time."""
    return [
        Record(None, b"v", (), TIMES + STEP * number if number % 3 else -1, number)
        for number in range(first, first + count)
    ]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixteen records: of batches that are compressed and not, and of message sets."""
    parts = [
        encode_message_set(logged(0), magic=1, codec=1),
        encode_batch(logged(4), base_timestamp=TIMES),
        encode_batch(logged(8), base_timestamp=TIMES, codec=1),
        encode_batch(logged(12), base_timestamp=TIMES),
    ]
    return segment(tmp_path_factory.mktemp("bounds"), *parts)


def within(bounds: Bounds, number: int) -> bool:
    """Whether record ``number`` of the log is one that SQL would choose."""
    time = (TIMES + STEP * number) * 1000 if number % 3 else None
    timed = bounds.first_time > Bounds().first_time or bounds.last_time < Bounds().last_time
    in_time = not timed or (time is not None and bounds.first_time <= time <= bounds.last_time)
    return bounds.first_offset <= number <= bounds.last_offset and in_time


numbers = st.none() | st.integers(-1, 17)
shifts = st.sampled_from([-1000, -1, 0, 1, 1000])
"""Microseconds by which a bound is off the time of a record."""


@pytest.mark.slow
@examples(1.5)
@given(offset=st.tuples(numbers, numbers), time=st.tuples(numbers, numbers), shift=st.tuples(shifts, shifts))
def test_rows_are_those_within_the_bounds_and_no_others(
    log: Path, offset: tuple[int | None, int | None], time: tuple[int | None, int | None], shift: tuple[int, int]
) -> None:
    limits = {"first_offset": offset[0], "last_offset": offset[1]}
    for name, number, by in zip(("first_time", "last_time"), time, shift, strict=True):
        limits[name] = None if number is None else (TIMES + STEP * number) * 1000 + by
    bounds = Bounds(**{name: limit for name, limit in limits.items() if limit is not None})
    assert offsets(rows(log, bounds=bounds)) == [number for number in range(16) if within(bounds, number)]


def moment(number: int) -> datetime:
    return datetime.fromtimestamp(TIMES / 1000, UTC) + timedelta(milliseconds=STEP * number)


@pytest.mark.parametrize(
    ("one", "chosen"),
    [
        (spark.EqualTo(("offset",), 5), [5]),
        (spark.EqualNullSafe(("offset",), 5), [5]),
        (spark.GreaterThan(("offset",), 13), [14, 15]),
        (spark.GreaterThanOrEqual(("offset",), 13), [13, 14, 15]),
        (spark.LessThan(("offset",), 2), [0, 1]),
        (spark.LessThanOrEqual(("offset",), 2), [0, 1, 2]),
        (spark.In(("offset",), (7, None, 5)), [5, 6, 7]),  # Spark leaves out the 6
        (spark.LessThan(("time",), moment(5)), [1, 2, 4]),
        (spark.LessThan(("time",), moment(5) + timedelta(microseconds=1)), [1, 2, 4, 5]),
        (spark.GreaterThan(("time",), moment(13)), [14]),
        (spark.GreaterThan(("time",), moment(13) - timedelta(microseconds=1)), [13, 14]),
        # Left to Spark:
        (spark.GreaterThanOrEqual(("time",), moment(13).replace(tzinfo=None)), list(range(16))),
        (spark.Not(spark.EqualTo(("offset",), 5)), list(range(16))),
        (spark.IsNotNull(("offset",)), list(range(16))),
        (spark.EqualTo(("value", "offset"), 5), list(range(16))),
        (spark.GreaterThan(("offset",), None), list(range(16))),
    ],
    ids=repr,
)
def test_filters_become_the_bounds_that_they_name(log: Path, one: Any, chosen: list[int]) -> None:
    assert offsets(rows(log, bounds=Bounds().narrowed(conditions([one], RECORDS)))) == chosen


def test_filters_narrow_bounds_and_never_widen_them() -> None:
    given = Bounds(first_offset=3, last_offset=9)
    assert given.narrowed([Condition("offset", ">", 0), Condition("offset", "<", 100)]) == given
    assert given.narrowed([Condition("offset", ">", 4), Condition("offset", "<", 8)]) == Bounds(5, 7)


def test_a_message_set_is_not_decompressed_to_judge_it() -> None:
    """It could be broken, which is not to be found out where somebody asks for other records."""
    data = bytearray(encode_message_set(logged(4), magic=1, codec=1))
    data[-20:] = bytes(20)
    assert not Bounds(last_offset=1).skip(Batch(memoryview(bytes(data)), 0))


ORDERS = {"topic": "orders", "partition": 3}


@pytest.mark.parametrize(
    ("one", "passes"),
    [
        (spark.EqualTo(("topic",), "orders"), True),
        (spark.EqualTo(("topic",), "other"), False),
        (spark.EqualNullSafe(("topic",), "other"), False),
        (spark.Not(spark.EqualTo(("topic",), "orders")), False),
        (spark.Not(spark.EqualTo(("topic",), "other")), True),
        (spark.In(("partition",), (1, 2)), False),
        (spark.In(("partition",), (2, 3)), True),
        (spark.GreaterThan(("partition",), 2), True),
        (spark.GreaterThan(("partition",), 3), False),
        (spark.GreaterThanOrEqual(("partition",), 3), True),
        (spark.LessThan(("partition",), 3), False),
        (spark.LessThanOrEqual(("partition",), 3), True),
        (spark.StringStartsWith(("topic",), "ord"), True),
        (spark.StringEndsWith(("topic",), "ord"), False),
        (spark.StringContains(("topic",), "der"), True),
        (spark.IsNull(("topic",)), True),  # as are rows that report broken input
        (spark.IsNotNull(("topic",)), True),
        (spark.Not(spark.IsNull(("topic",))), True),
        # What rows of a file differ in, or what nobody knows how to judge, leaves no file out, nor does its contrary.
        (spark.EqualTo(("offset",), 1), True),
        (spark.Not(spark.EqualTo(("offset",), 1)), True),
        (spark.EqualTo(("topic", "name"), "other"), True),
        (spark.Not(spark.EqualTo(("topic", "name"), "orders")), True),
        (spark.Not(spark.IsNotNull(("topic",))), True),
    ],
    ids=repr,
)
def test_a_file_is_left_out_only_if_a_filter_says_so(one: Any, passes: bool) -> None:
    assert may_pass(conditions([one], RECORDS), ORDERS) is passes
    assert may_pass(conditions([one, spark.EqualTo(("topic",), "orders")], RECORDS), ORDERS) is passes


def test_a_file_of_an_unknown_topic_is_read_whatever_is_asked_for(tmp_path: Path) -> None:
    path = segment(tmp_path, encode_batch(logged(0)), name="-")
    reader = LogReader(Options({"path": str(path)}))
    for one in (spark.EqualTo(("topic",), "orders"), spark.Not(spark.EqualTo(("topic",), "orders"))):
        reader.conditions = conditions([one], RECORDS)
        [task] = reader.tasks()
        assert [split.path for split in task] == [str(path)]
