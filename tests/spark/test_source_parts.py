"""Parts of the sources that need no JVM: filters as conditions, packets as rows, tasks as partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import datasource as spark

from kwire_inspect.capture import Broken
from kwire_inspect.capture.packets import Packet, reverse
from kwire_inspect.options import OptionError, Options
from kwire_inspect.readers import Reader
from kwire_inspect.rows import Condition
from kwire_inspect.schemas import COUNTED, EXCHANGES, PACKETS, TIME, schema
from kwire_spark import packets
from kwire_spark.packets import packet_batches, packet_of
from kwire_spark.sources import register
from kwire_spark.sources.base import NEEDED, CountingReader, PushingReader, Source, TaskReader
from kwire_spark.sources.filters import condition, conditions
from kwire_spark.sources.packets import KafkaPackets, PacketReader, PacketStream
from kwire_spark.types import spark_schema
from tests.support.report_rows import exchange

COLUMNS = schema(
    ("api", pa.string(), ""),
    ("version", pa.int16(), ""),
    ("time", TIME, ""),
    ("raw", pa.binary(), ""),
    ("latency_ms", pa.float64(), ""),
    ("forwarded", pa.bool_(), ""),
)
MOMENT = datetime(2026, 1, 1, 0, 0, 0, 7, tzinfo=UTC)
MICROS = 1_767_225_600_000_007
AT = MOMENT.astimezone(timezone(timedelta(hours=3)))
API, VERSION, NESTED = ("api",), ("version",), ("api", "name")


@pytest.mark.parametrize(
    ("pushed", "expected"),
    [
        (spark.EqualTo(API, "Fetch"), Condition("api", "=", "Fetch")),
        (spark.EqualNullSafe(API, "Fetch"), Condition("api", "=", "Fetch")),
        (spark.LessThan(VERSION, 3), Condition("version", "<", 3)),
        (spark.LessThanOrEqual(VERSION, 3), Condition("version", "<=", 3)),
        (spark.GreaterThan(VERSION, 0), Condition("version", ">", 0)),
        (spark.GreaterThanOrEqual(VERSION, 3), Condition("version", ">=", 3)),
        (spark.In(API, ("a", None, "b")), Condition("api", "in", ("a", "b"))),
        (spark.In(VERSION, (7,)), Condition("version", "in", (7,))),
        (spark.StringStartsWith(API, "F"), Condition("api", "starts with", "F")),
        (spark.StringEndsWith(API, "h"), Condition("api", "ends with", "h")),
        (spark.StringContains(API, "etc"), Condition("api", "contains", "etc")),
        (spark.IsNull(API), Condition("api", "null")),
        (spark.IsNotNull(API), Condition("api", "null", negated=True)),
        (spark.IsNull(("time",)), Condition("time", "null")),
        (spark.LessThan(("time",), MOMENT), Condition("time", "<", MICROS)),
        (spark.LessThan(("time",), AT), Condition("time", "<", MICROS)),
        (
            spark.In(("time",), (MOMENT, AT + timedelta(microseconds=1))),
            Condition("time", "in", (MICROS, MICROS + 1)),
        ),
        (spark.Not(spark.EqualTo(API, "a")), Condition("api", "=", "a", negated=True)),
        (spark.Not(spark.Not(spark.EqualTo(API, "a"))), Condition("api", "=", "a")),
        (spark.Not(spark.IsNull(API)), Condition("api", "null", negated=True)),
        (spark.Not(spark.IsNotNull(API)), Condition("api", "null")),
        (spark.Not(spark.In(VERSION, (1, 2))), Condition("version", "in", (1, 2), negated=True)),
    ],
    ids=repr,
)
def test_a_filter_as_a_condition(pushed: Any, expected: Condition) -> None:
    assert condition(pushed, COLUMNS) == expected
    unknown = spark.EqualTo(("nope",), 1)
    assert conditions([pushed, unknown, pushed], COLUMNS) == [expected] * 2


@pytest.mark.parametrize(
    "pushed",
    [
        spark.Not(spark.EqualNullSafe(API, "a")),  # which null satisfies
        spark.EqualTo(NESTED, "a"),
        spark.EqualTo((), "a"),
        spark.EqualTo(("nope",), "a"),
        spark.Not(spark.EqualTo(("nope",), "a")),
        spark.EqualTo(API, 7),
        spark.EqualTo(API, None),
        spark.EqualTo(VERSION, "7"),
        spark.EqualTo(VERSION, True),
        spark.EqualTo(VERSION, 7.0),
        spark.In(VERSION, (7, "8")),
        spark.In(VERSION, (None,)),
        spark.In(VERSION, ()),
        spark.EqualTo(("time",), MOMENT.replace(tzinfo=None)),
        spark.EqualTo(("time",), MICROS),
        spark.EqualTo(("latency_ms",), 1.0),
        spark.EqualTo(("latency_ms",), MOMENT),
        spark.EqualTo(("forwarded",), True),
        *(one((name,)) for one in (spark.IsNull, spark.IsNotNull) for name in ("raw", "latency_ms", "forwarded")),
        SimpleNamespace(attribute=API, value="a"),
    ],
    ids=repr,
)
def test_a_filter_that_only_spark_can_judge(pushed: Any) -> None:
    assert condition(pushed, COLUMNS) is None


THERE, BACK = bytes([9, 9, 9, 9, 1, 1, 1, 1, 0, 2, 0, 1]), bytes([1, 1, 1, 1, 9, 9, 9, 9, 0, 1, 0, 2])
SENT = Packet(THERE, 1.000_000_6, "a.pcap", 3, 100, 200, 24, b"data", 5)
ANSWER = Packet(BACK, 2.5, "b.pcap", 4, 200, 104, 16, b"", 0)


def test_packets_and_broken_parts_as_rows_and_back() -> None:
    """Both directions have the same flow, which Spark groups by."""
    assert reverse(THERE) == BACK
    broken = [Broken("a.pcap", 1, "x", 5, 0), Broken("b.pcap", 2, "y", 0, 7)]
    (batch,) = packet_batches([SENT, *broken, ANSWER])
    assert batch.schema == PACKETS
    second, empty = datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), dict.fromkeys(PACKETS.names)
    sent = {"source": "a.pcap", "position": 3, "time": second + timedelta(microseconds=1), "flow": BACK, "key": THERE}
    answer = {"source": "b.pcap", "position": 4, "time": second + timedelta(seconds=1.5), "flow": BACK, "key": BACK}
    assert batch.to_pylist() == [
        empty | sent | {"seq": 100, "ack": 200, "flags": 24, "data": b"data", "missing": 5},
        empty | {"source": "a.pcap", "position": 1, "problem": "x", "unread": 5},
        empty | {"source": "b.pcap", "position": 2, "problem": "y", "packets": 7},
        empty | answer | {"seq": 200, "ack": 104, "flags": 16, "data": b"", "missing": 0},
    ]
    rows = [
        SimpleNamespace(**row, micros=1_000_001 if row["position"] == 3 else 2_500_000) for row in batch.to_pylist()
    ]
    made, expected = [packet_of(rows[0]), packet_of(rows[3])], [replace(SENT, time=1.000_001), ANSWER]
    assert [repr(packet) for packet in made] == [repr(packet) for packet in expected]


@pytest.mark.parametrize(
    ("rows", "size", "expected"),
    [
        (3, 1 << 30, [3, 3, 1]),
        (100, 8, [2, 2, 2, 1]),
        (100, 9, [3, 3, 1]),
        (100, 1, [1] * 7),
        (7, 1 << 30, [7]),
        (100, 1 << 30, [7]),
    ],
)
def test_a_batch_of_packets_has_a_limit_of_rows_and_of_bytes(
    monkeypatch: pytest.MonkeyPatch, rows: int, size: int, expected: list[int]
) -> None:
    monkeypatch.setattr(packets, "BATCH_ROWS", rows)
    monkeypatch.setattr(packets, "BATCH_BYTES", size)
    few = pa.schema([PACKETS.field(name) for name in ("data", "position")])
    found = list(packet_batches([SENT] * 7, few))
    assert [batch.num_rows for batch in found] == expected
    assert {str(batch.schema.names) for batch in found} == {"['data', 'position']"}
    assert list(packet_batches([], few)) == []


class Tasks(Reader):
    """A reader with tasks that are the rows of exchanges to read."""

    given: Sequence[Any] = ()

    @classmethod
    def columns(cls, options: Options) -> pa.Schema:
        return EXCHANGES

    def tasks(self) -> Sequence[Any]:
        return self.given

    def read(self, task: Any) -> Iterator[pa.RecordBatch]:
        rows = [exchange(position=number) for number in task]
        yield pa.RecordBatch.from_pylist(rows, EXCHANGES).select(self.schema.names)


class Given(Source):
    reads = Tasks
    kind = "captures"


FEW = pa.schema([EXCHANGES.field(name) for name in ("position", "api")])


def test_each_task_is_a_partition() -> None:
    """Spark needs one, so without tasks there is one without rows."""
    reader = Tasks(Options({}), FEW)
    source = TaskReader(reader)
    assert [[batch.num_rows for batch in source.read(one)] for one in source.partitions()] == [[]]
    reader.given = [[1, 2], [3]]
    read = [
        [row["position"] for batch in source.read(one) for row in batch.to_pylist()] for one in source.partitions()
    ]
    assert read == [[1, 2], [3]]


def test_each_task_counts_its_connections_by_themselves() -> None:
    source = CountingReader(Tasks(Options({}), NEEDED))
    source.reader.given = [[1, 2], [3]]  # type: ignore[attr-defined]
    for partition, requests in zip(source.partitions(), (2, 1), strict=True):
        rows = [row for batch in source.read(partition) for row in batch.to_pylist()]
        assert [(row["connection"], row["api"], row["requests"]) for row in rows] == [("c", "Metadata", requests)]


def test_pushed_filters_are_judged_by_the_reader_and_again_by_spark() -> None:
    """Also those on columns that the query does not read."""
    source = PushingReader(Tasks(Options({}), FEW))
    pushed: list[Any] = [spark.EqualTo(API, "a"), spark.EqualTo(("raw", "x"), 1), spark.GreaterThan(VERSION, 3)]
    assert [*source.pushFilters(pushed)] == pushed
    assert source.reader.conditions == [Condition("api", "=", "a"), Condition("version", ">", 3)]
    assert [*source.pushFilters([])] == []
    assert source.reader.conditions == []


@pytest.mark.parametrize(
    ("options", "kind", "columns", "reads"),
    [
        ({}, TaskReader, EXCHANGES, FEW),
        ({"pushdown": "false", "count": "false"}, TaskReader, EXCHANGES, FEW),
        ({"pushdown": "true"}, PushingReader, EXCHANGES, FEW),
        ({"count": "true"}, CountingReader, COUNTED, NEEDED),
        ({"count": "true", "pushdown": "true"}, CountingReader, COUNTED, NEEDED),
    ],
)
def test_the_reader_of_a_source(options: dict[str, str], kind: type, columns: pa.Schema, reads: pa.Schema) -> None:
    source = Given(options | {"path": "a.pcap"})
    assert source.schema() == spark_schema(columns)
    reader = source.reader(spark_schema(FEW))
    assert type(reader) is kind
    assert isinstance(reader, TaskReader)
    assert reader.reader.schema.names == reads.names
    assert reader.reader.options.paths() == ["a.pcap"]


@pytest.mark.parametrize("paths", ['["-"]', '["a.pcap", "-"]'])
def test_a_source_refuses_what_workers_cannot_read_and_what_it_does_not_have(paths: str) -> None:
    for source in (Given({"paths": paths}), KafkaPackets({"paths": paths})):
        with pytest.raises(OptionError, match="standard input, which Spark cannot read: write it to a file"):
            source.reader(spark_schema(FEW if isinstance(source, Given) else PACKETS))
    with pytest.raises(OptionError, match="standard input"):
        KafkaPackets({"paths": paths}).streamReader(spark_schema(PACKETS))
    makes: list[Callable[[Source], object]] = [Source.schema, Source.given, lambda one: one.reader(spark_schema(FEW))]
    for make in makes:
        with pytest.raises(OptionError, match="unknown option 'nope'"):
            make(Given({"path": "a", "nope": "1"}))
    with pytest.raises(ValueError, match="unknown column 'nope'"):
        Given({"path": "a"}).reader(spark_schema(pa.schema([("nope", pa.string())])))


def test_all_sources_are_registered_by_their_names() -> None:
    given: list[Any] = []
    session: Any = SimpleNamespace(dataSource=SimpleNamespace(register=given.append))
    register(session)
    names = ("capture", "log", "metrics", "packets", "request_log", "server_log")
    assert [source.name() for source in given] == [f"kafka_{name}" for name in names]


def test_packets_of_a_file_are_read_with_the_columns_that_are_asked_for(tmp_path: Any) -> None:
    (tmp_path / "none.pcap").write_bytes(b"no capture")
    few = pa.schema([PACKETS.field(name) for name in ("problem", "source")])
    reader = PacketReader(Options({"path": str(tmp_path)}), few)
    assert reader.columns(reader.options) == PACKETS
    (task,) = reader.tasks()
    ((row,),) = [batch.to_pylist() for batch in reader.read(task)]
    assert [*row] == ["problem", "source"]
    assert row["source"] == task == str(tmp_path / "none.pcap")
    stream = PacketStream(reader.options, spark_schema(few))
    for taken in (None, 7):
        ((found,),) = [batch.to_pylist() for batch in stream.read(spark.InputPartition((task, taken)))]
        assert [*found] == ["problem", "source"]


def test_a_stream_is_of_files_of_this_machine() -> None:
    for paths in ('["s3://b/a"]', '["a", "s3://b/a"]'):
        with pytest.raises(OptionError, match=r"s3://b/a: a stream reads only local files. Copy captures"):
            PacketStream(Options({"paths": paths}), spark_schema(PACKETS))
    with pytest.raises(OptionError, match="filesAtOnce must be a whole number, 1 or more"):
        PacketStream(Options({"path": "a", "filesAtOnce": "0"}), spark_schema(PACKETS))
    stream = PacketStream(Options({"path": "a"}), spark_schema(PACKETS))
    assert (stream._settled, stream._most, stream._consumes) == (5, 32, False)
    assert stream.latestOffset({"gone": 1}, stream.getDefaultReadLimit()) == {"gone": 1}
