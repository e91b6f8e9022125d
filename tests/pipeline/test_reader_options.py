"""What each option of a reader does, and what it is without it."""

from __future__ import annotations

import gzip
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kwire.records import Record, encode_batch
from kwire_kafka import UserScramCredentialRecord
from kwire_spark.columns import PACKETS
from kwire_spark.options import BrokenInputError, OptionError, Options
from kwire_spark.readers import capture
from kwire_spark.readers.capture import BYTES_PER_TASK, CaptureReader
from kwire_spark.readers.log import LogReader
from kwire_spark.readers.text_log import RequestLogReader
from kwire_spark.sources.packets import PacketStream
from kwire_spark.spark_types import spark_schema
from kwire_spark.tables.read import literal
from tests.pipeline.capture_files import packets, recorded, write_pcap
from tests.pipeline.log_files import TIMES, batch_at, segment

REQUEST_LOG = Path(__file__).parents[1] / "data" / "request_logs" / "4.1.1.log.gz"
SECRET = b"salted-password"


def cells(reader: Any, column: str) -> list[Any]:
    tables = [pa.Table.from_batches([batch]) for task in reader.tasks() for batch in reader.read(task)]
    return [value for table in tables for value in table[column].to_pylist()]


def log_cells(path: Path, column: str = "offset", **options: str) -> list[Any]:
    return cells(LogReader(Options({"path": str(path), **options})), column)


def moment(milliseconds: int) -> str:
    return datetime.fromtimestamp((TIMES + milliseconds) / 1000, UTC).isoformat(timespec="milliseconds")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, range(30)),
        ({"startOffset": "12"}, range(12, 30)),
        ({"endOffset": "12"}, range(12)),
        ({"endOffset": "0"}, range(0)),
        ({"startOffset": "3", "endOffset": "4"}, range(3, 4)),
        ({"start": moment(7)}, range(7, 30)),
        ({"end": moment(7)}, range(7)),
        ({"start": moment(7), "end": moment(8)}, range(7, 8)),
        ({"topics": "orders"}, range(30)),
        ({"topics": "other*"}, range(0)),
        ({"topics": "*,!orders"}, range(0)),
        ({"splitSize": "1"}, range(30)),
    ],
)
def test_options_choose_records(tmp_path: Path, options: dict[str, str], expected: range) -> None:
    segment(tmp_path, *(batch_at(first) for first in (0, 10, 20)))
    assert sorted(log_cells(tmp_path, **options)) == [*expected]


def test_the_end_is_not_included_to_the_microsecond(tmp_path: Path) -> None:
    path = segment(tmp_path, batch_at(0))
    at_record, after = (f"{(TIMES * 1000 + 4000 + more) / 1e6:.6f}" for more in (0, 1))
    assert log_cells(path, end=at_record) == [0, 1, 2, 3]
    assert log_cells(path, end=after) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("options", "hidden"),
    [({}, True), ({"secrets": ""}, True), ({"secrets": "hide"}, True), ({"secrets": "keep"}, False)],
)
def test_secrets_are_hidden_unless_they_are_asked_for(tmp_path: Path, options: dict[str, str], hidden: bool) -> None:
    record = UserScramCredentialRecord(name="alice", salt=b"salt", stored_key=SECRET, server_key=SECRET)
    value = b"\1" + bytes([UserScramCredentialRecord.API_KEY or 11]) + b"\0" + record.encode(0)
    path = segment(tmp_path, encode_batch([Record(None, value)]), name="__cluster_metadata-0")
    (found,) = log_cells(path, "value", **options)
    assert (SECRET not in (found or b"")) == hidden


def test_states_must_be_known_and_folders_of_a_state_are_read_only_if_named(tmp_path: Path) -> None:
    segment(tmp_path, batch_at(0))
    gone = tmp_path / f"orders-4.{'a' * 32}-delete"
    gone.mkdir()
    (gone / f"{0:020}.log").write_bytes(batch_at(100))
    assert sorted(log_cells(tmp_path)) == [*range(10)]
    assert sorted(log_cells(tmp_path, states="delete")) == [*range(10), *range(100, 110)]
    with pytest.raises(OptionError, match=r"the option states must be of .*delete.*, not deleted, strays"):
        LogReader(Options({"path": "x", "states": "strays,delete,deleted"}))


def test_a_batch_above_the_limit_is_not_decompressed(tmp_path: Path) -> None:
    path = segment(tmp_path, batch_at(0, codec=1))
    assert log_cells(path, limit="100k") == [*range(10)]
    (reason,) = log_cells(path, "_corrupt", limit="10")
    assert "10" in reason


@pytest.mark.parametrize("control", [None, "true", "false"])
def test_control_records_are_rows_unless_they_are_not_wanted(tmp_path: Path, control: str | None) -> None:
    marker = encode_batch([Record(b"\0\0\0\1", b"\0\0\0\0\0\0")], control=True, transactional=True, producer_id=1)
    path = segment(tmp_path, marker)
    found = log_cells(path, "control", **({"control": control} if control else {}))
    assert found == ([] if control == "false" else [True])


@pytest.mark.parametrize(
    ("size", "name", "tasks"),
    [
        (0, "a.pcap", 1),
        (1, "a.pcap", 1),
        (BYTES_PER_TASK, "a.pcap", 1),
        (BYTES_PER_TASK + 1, "a.pcap", 2),
        (2 * BYTES_PER_TASK, "a.pcap", 2),
        (2 * BYTES_PER_TASK + 1, "a.pcap", 3),
        (BYTES_PER_TASK // 4 + 1, "a.pcap.gz", 2),
        (100 * BYTES_PER_TASK, "a.pcap", 4),
    ],
)
def test_captures_are_shared_by_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, name: str, tasks: int
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(capture, "stored_size", lambda file: size)
    (tmp_path / name).touch()
    options = {"path": str(tmp_path / name)}
    shares = [share for _, share in CaptureReader(Options(options)).tasks()]
    assert shares == [(number, tasks) for number in range(tasks)]
    shares = [share for _, share in CaptureReader(Options(options | {"partitions": "7"})).tasks()]
    assert shares == [(number, 7) for number in range(7)]


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sent = packets(recorded("kafka-python-on-3.9.1")[0])
    return write_pcap(tmp_path_factory.mktemp("options") / "a.pcap", sent)


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        ({"rows": "exchanges"}, True),
        ({"rows": "exchanges", "ports": "9092"}, None),
        ({"rows": "exchanges", "ports": "1"}, False),
        ({"rows": "exchanges", "end": "2001-01-01"}, False),
        ({"rows": "exchanges", "start": "2001-01-01"}, True),
        ({"rows": "exchanges", "start": "2999-01-01"}, False),
    ],
)
def test_options_choose_connections(talk: Path, options: dict[str, str], rows: bool | None) -> None:
    found = [api for api in cells(CaptureReader(Options({"path": str(talk)} | options)), "api") if api]
    whole = [api for api in cells(CaptureReader(Options({"path": str(talk), "rows": "exchanges"})), "api") if api]
    assert whole
    if rows is not None:
        assert found == (whole if rows else [])


def test_a_split_has_the_size_that_is_asked_for(tmp_path: Path) -> None:
    path = segment(tmp_path, *(batch_at(first) for first in (0, 10, 20)))
    log = tmp_path / "kafka-request.log"
    log.write_text("[2026-01-02 12:00:00,000] INFO nothing\n" * 50)
    for reader, file in ((LogReader, path), (RequestLogReader, log)):
        size = file.stat().st_size
        assert len(reader(Options({"path": str(file)})).tasks()) == 1
        for parts in (1, 3):
            split = Options({"path": str(file), "splitSize": str(-(-size // parts))})
            assert len(reader(split).tasks()) == parts


@pytest.mark.parametrize(("zone", "hour"), [(None, 12), ("UTC", 12), ("Europe/Berlin", 11), ("+02:00", 10)])
def test_times_of_logs_are_of_their_zone(tmp_path: Path, zone: str | None, hour: int) -> None:
    line = gzip.decompress(REQUEST_LOG.read_bytes()).splitlines()[0]
    path = tmp_path / "kafka-request.log"
    path.write_bytes(b"[2026-01-02 12:00:00,000]" + line[line.index(b"]") + 1 :] + b"\n")
    options = {"path": str(path)} | ({"timeZone": zone} if zone else {})
    assert cells(RequestLogReader(Options(options)), "time") == [datetime(2026, 1, 2, hour, tzinfo=UTC)]


@pytest.mark.parametrize("mode", [None, "PERMISSIVE", "FAILFAST"])
def test_broken_input_is_an_error_if_it_is_to_be(tmp_path: Path, mode: str | None) -> None:
    path, log = segment(tmp_path, batch_at(0)[:-1], batch_at(10)), tmp_path / "kafka-request.log"
    log.write_bytes(gzip.decompress(REQUEST_LOG.read_bytes())[:300] + b"\n")
    for reader, file in ((LogReader, path), (RequestLogReader, log)):
        given: LogReader | RequestLogReader = reader(Options({"path": str(file)} | ({"mode": mode} if mode else {})))
        if mode == "FAILFAST":
            with pytest.raises(BrokenInputError):
                cells(given, "_corrupt")
        else:
            assert [*filter(None, cells(given, "_corrupt"))]


def test_frames_are_the_default_and_have_columns_of_their_own() -> None:
    assert "kind" in CaptureReader.columns(Options({})).names
    assert "outcome" in CaptureReader.columns(Options({"rows": "Exchanges"})).names


def test_a_line_above_the_limit_is_told(tmp_path: Path) -> None:
    path = tmp_path / "kafka-request.log"
    line = '[2026-01-02 12:00:00,000] DEBUG Completed request:{"requestHeader":{' + "x" * 5000
    path.write_text(line + "\n")
    given = {"path": str(path)}
    short, long = (cells(RequestLogReader(Options(given | more)), "_corrupt") for more in ({"maxLine": "1k"}, {}))
    assert short != long


@pytest.mark.parametrize("consume", [None, "false", "true"])
def test_a_stream_removes_its_files_only_if_it_is_to(tmp_path: Path, consume: str | None) -> None:
    file = tmp_path / "a.pcap"
    file.touch()
    options = {"path": str(tmp_path)} | ({"consume": consume} if consume else {})
    PacketStream(Options(options), spark_schema(PACKETS)).commit({str(file): 0})
    assert file.exists() == (consume != "true")


def test_a_path_has_no_pattern_for_spark() -> None:
    assert literal(r"a[1]{b}*?\c/d") == r"a\[1\]\{b\}\*\?\\c/d"


def test_paths_are_a_list(tmp_path: Path) -> None:
    paths = [str(segment(tmp_path, batch_at(first), name=f"t-{first}", base=first)) for first in (0, 10)]
    reader = LogReader(Options({"paths": json.dumps(paths)}))
    assert sorted(cells(reader, "offset")) == [*range(20)]
