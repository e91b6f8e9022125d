"""``kafka_capture``: captures as a table in Spark."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringEndsWith,
    StringStartsWith,
)

from kwire_inspect.connections import Condition
from kwire_inspect.options import BrokenInputError, OptionError, Options
from kwire_inspect.readers.capture import CaptureReader
from kwire_inspect.schemas import FRAMES
from kwire_spark.sources.filters import condition
from tests.real_kafka.broker import USERS
from tests.support.capture_files import (
    COOKED,
    TcpPacket,
    disturbed,
    merged,
    packets,
    recorded,
    recordings,
    write_pcap,
    write_pcapng,
)
from tests.support.connection_pieces import Cells

SCRAM = "librdkafka-on-4.1.1-with-SCRAM-SHA-256"
OLD = "kafka-python-as-of-0.10-on-3.9.1-with-PLAIN"


def conversation(name: str) -> list[TcpPacket]:
    return merged(packets(one) for one in recorded(name))


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pcap(tmp_path_factory.mktemp("capture") / "a.pcap", conversation(SCRAM))


def rows(path: Path | str, schema: pa.Schema | None = None, **options: str) -> list[Cells]:
    """What tasks give, without Spark around them."""
    given = Options({"path": str(path), **options})
    reader = CaptureReader(given, schema)
    return [row for task in reader.tasks() for batch in reader.read(task) for row in batch.to_pylist()]


def told(all_rows: list[Cells]) -> set[str]:
    """Rows without where in the file they were, to compare in any order."""
    return {json.dumps({**row, "source": "", "position": 0}, default=repr, sort_keys=True) for row in all_rows}


@pytest.mark.parametrize("name", recordings())
def test_of_a_capture_everything_is_decoded(name: str, tmp_path: Path) -> None:
    path = write_pcapng(tmp_path / "a.pcapng", conversation(name), resolution=9)
    frames, exchanges = rows(path), rows(path, rows="exchanges")
    assert {row["kind"] for row in frames} <= {"request", "response", "sasl_token", "unanswered"}
    assert {row["outcome"] for row in exchanges} <= {"answered", "none", "unanswered"}
    said = sum(len(data) for one in recorded(name) for _, _, data in one.segments)
    assert sum(row["size"] or 0 for row in frames) == said
    assert not [row for row in frames + exchanges if row["problem"]]
    assert {row["source"] for row in frames} == {str(path)}
    assert not [password for password in USERS.values() if password in repr(frames) + repr(exchanges)]


@pytest.mark.parametrize("table", ["frames", "exchanges"])
def test_tasks_share_connections(capture: Path, table: str) -> None:
    alone = rows(capture, rows=table, partitions="1")
    for tasks in ("2", "3", "7"):
        shared = rows(capture, rows=table, partitions=tasks)
        assert len(shared) == len(alone)
        assert told(shared) == told(alone)


def test_a_connection_may_go_on_in_another_file(capture: Path, tmp_path: Path) -> None:
    whole = conversation(SCRAM)
    for number, start in enumerate(range(0, len(whole), 40)):
        path = write_pcap(tmp_path / f"{number}.pcap", whole[start : start + 40], link=COOKED)
        path.with_suffix(".pcap.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert told(rows(tmp_path)) == told(rows(capture))


@pytest.mark.parametrize("seed", range(3))
def test_what_is_lost_is_told_and_the_rest_is_there(capture: Path, tmp_path: Path, seed: int) -> None:
    poor = disturbed(conversation(SCRAM), seed=seed, loss=0.05, duplication=0.05, reordering=0.05)
    frames = rows(write_pcap(tmp_path / "poor.pcap", poor))
    kinds = [row["kind"] for row in frames]
    assert {"gap", "undecodable"} & set(kinds)
    assert all(row["reason"] for row in frames if row["kind"] in ("undecodable", "unanswered", "skipped"))
    good = [row for row in rows(capture) if row["kind"] == "request"]
    facts = {(row["connection"].split("@")[0], row["correlation_id"], row["api"]) for row in good}
    seen = {
        (row["connection"].split("@")[0], row["correlation_id"], row["api"])
        for row in frames
        if row["kind"] == "request"
    }
    assert seen <= facts
    assert len(seen) > 0.75 * len(facts)


def test_duplicates_and_reordering_alone_lose_nothing(capture: Path, tmp_path: Path) -> None:
    poor = disturbed(conversation(SCRAM), seed=1, duplication=0.1, reordering=0.1)
    frames = rows(write_pcap(tmp_path / "poor.pcap", poor))
    assert sorted(row["size"] for row in frames if row["kind"] == "request") == sorted(
        row["size"] for row in rows(capture) if row["kind"] == "request"
    )
    assert {row["kind"] for row in frames} <= {"request", "response"}


def test_a_file_that_is_cut_off_is_told_with_its_place(capture: Path, tmp_path: Path) -> None:
    short = tmp_path / "short.pcap"
    short.write_bytes(capture.read_bytes()[:-500])
    frames = rows(short, partitions="3")
    (corrupt,) = [row for row in frames if row["problem"]]
    assert corrupt["source"] == str(short)
    assert 0 < corrupt["position"] < short.stat().st_size
    assert len(frames) > 100
    with pytest.raises(BrokenInputError, match=r"short\.pcap, byte"):
        rows(short, mode="FAILFAST")


def test_a_file_that_is_gone_is_told(tmp_path: Path, capture: Path) -> None:
    reader = CaptureReader(Options({"path": str(capture)}))
    batches = list(reader.read(([str(tmp_path / "gone.pcap"), str(capture)], (0, 1))))
    all_rows = [row for batch in batches for row in batch.to_pylist()]
    assert [Path(row["source"]).name for row in all_rows if row["problem"]] == ["gone.pcap"]
    assert len(all_rows) > 100


def test_start_and_end_leave_packets_out(capture: Path) -> None:
    times = sorted(row["time"] for row in rows(capture))
    middle = times[len(times) // 2]
    before = rows(capture, end=middle.isoformat())
    assert before
    assert all(row["time"] < middle for row in before)
    after = rows(capture, start=str(middle.timestamp()))
    assert after
    assert all(row["time"] >= middle for row in after)


def test_ports_tell_which_connections_are_read(capture: Path) -> None:
    assert rows(capture, ports="9092")
    assert rows(capture, ports="1,2") == []


def test_options_are_checked() -> None:
    for wrong in ({"rows": "records"}, {"ports": "x"}, {"mode": "dropmalformed"}, {"start": "soon"}):
        with pytest.raises(OptionError, match=next(iter(wrong))):
            CaptureReader(Options(wrong))


NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (EqualTo(("api",), "Fetch"), Condition("api", "=", "Fetch")),
        (In(("api_key",), (0, 1)), Condition("api_key", "in", (0, 1))),
        (EqualTo(("api_key",), True), None),
        (GreaterThan(("time",), NOON), Condition("time", ">", int(NOON.timestamp()) * 1_000_000)),
        (LessThanOrEqual(("number",), 5), Condition("number", "<=", 5)),
        (LessThan(("number",), 5), Condition("number", "<", 5)),
        (GreaterThanOrEqual(("number",), 5), Condition("number", ">=", 5)),
        (IsNull(("problem",)), Condition("problem", "null")),
        (IsNotNull(("api",)), Condition("api", "null", negated=True)),
        (EqualNullSafe(("api",), "Fetch"), Condition("api", "=", "Fetch")),
        (In(("api",), ("Fetch", None)), Condition("api", "in", ("Fetch",))),
        (StringStartsWith(("api",), "Fe"), Condition("api", "starts with", "Fe")),
        (StringEndsWith(("api",), "ch"), Condition("api", "ends with", "ch")),
        (StringContains(("api",), "etc"), Condition("api", "contains", "etc")),
        (Not(EqualTo(("api",), "Fetch")), Condition("api", "=", "Fetch", negated=True)),
        (Not(IsNotNull(("api",))), Condition("api", "null")),
        (GreaterThan(("time",), NOON.replace(tzinfo=None)), None),
        (EqualTo(("latency_ms",), 0.5), None),
        (EqualTo(("api_key",), 1.5), None),
        (In(("api",), (None,)), None),
        (In(("api_key",), (1, 1.5)), None),
        (EqualNullSafe(("api",), None), None),
        (Not(EqualNullSafe(("api",), "Fetch")), None),
        (IsNotNull(("error_codes",)), None),
        (EqualTo(("no", "such"), 1), None),
        (Not(EqualTo(("no", "such"), 1)), None),
        (EqualTo(("api", "part"), "Fetch"), None),
        (EqualTo(("no_such",), 1), None),
    ],
)
def test_filters_become_conditions_if_they_mean_the_same(given: Filter, expected: Condition | None) -> None:
    assert condition(given, FRAMES) == expected
