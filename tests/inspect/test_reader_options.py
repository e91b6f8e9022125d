"""What each option of a reader does, and what it is without it."""

from __future__ import annotations

import gzip
import json
import os
import re
import time
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, tzinfo
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.datasource import DataSourceReader, EqualTo
from pyspark.sql.streaming.datasource import ReadMaxFiles

from kwire.frames import MAX_DECODED, frame
from kwire.interpreter import large
from kwire.protocol import MessageRegistry
from kwire.records import Record, encode_batch
from kwire_inspect.capture import Peer
from kwire_inspect.options import BrokenInputError, OptionError, Options
from kwire_inspect.readers import capture
from kwire_inspect.readers.capture import BYTES_PER_TASK, CaptureReader
from kwire_inspect.readers.log import LogReader
from kwire_inspect.readers.metrics import MetricsReader
from kwire_inspect.readers.text_log import RequestLogReader, ServerLogReader
from kwire_inspect.schemas import COUNTED, EXCHANGES, FRAMES, PACKETS
from kwire_inspect.tables.record_structs import RecordStructs, record_kind
from kwire_kafka import (
    PROTOCOL,
    HeartbeatRequest,
    HeartbeatResponse,
    MetadataRequest,
    MetadataResponse,
    UserScramCredentialRecord,
)
from kwire_kafka.api.metadata import MetadataRequestTopic, MetadataResponseBroker
from kwire_spark.reading import literal
from kwire_spark.sources import register
from kwire_spark.sources.base import Source
from kwire_spark.sources.capture import KafkaCapture
from kwire_spark.sources.log import KafkaLog
from kwire_spark.sources.metrics import KafkaMetrics
from kwire_spark.sources.packets import KafkaPackets, PacketStream
from kwire_spark.sources.request_log import KafkaRequestLog
from kwire_spark.sources.server_log import KafkaServerLog
from kwire_spark.types import spark_schema
from tests.support.capture_files import Conversation, Segment, merged, packets, recorded, write_pcap
from tests.support.connection_pieces import answered, asked
from tests.support.log_files import TIMES, batch_at, segment

REQUEST_LOG = Path(__file__).parents[1] / "data" / "request_logs" / "4.1.1.log.gz"
SECRET = b"salted-password"


def cells(reader: Any, column: str) -> list[Any]:
    tables = [pa.Table.from_batches([batch]) for task in reader.tasks() for batch in reader.read(task)]
    return [value for table in tables for value in table[column].to_pylist()]


def log_cells(path: Path, column: str = "offset", **options: str) -> list[Any]:
    return cells(LogReader(Options({"path": str(path), **options})), column)


def moment(milliseconds: int) -> str:
    return datetime.fromtimestamp((TIMES + milliseconds) / 1000, UTC).isoformat(timespec="milliseconds")


@pytest.mark.slow
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


def test_each_file_of_a_task_is_read_with_all_options(tmp_path: Path) -> None:
    """Every option has an effect here, and the same in the second file as in the first."""
    record = UserScramCredentialRecord(name="alice", salt=b"salt", stored_key=SECRET, server_key=SECRET)
    secret = b"\1" + bytes([UserScramCredentialRecord.API_KEY or 11]) + b"\0" + record.encode(0)
    marker = encode_batch([Record(b"\0\0\0\1", bytes(6), offset=10)], control=True, transactional=True, producer_id=1)
    batches = batch_at(0, codec=1), marker, encode_batch([Record(None, secret, (), TIMES + 11, 11)])
    for number in (0, 1):
        segment(tmp_path, *batches, name=f"__cluster_metadata-{number}")
    seen = set()
    for options in (
        *({}, {"secrets": "keep"}, {"control": "false"}, {"limit": "10"}, {"maxRecord": "24"}),
        *({"startOffset": "3"}, {"endOffset": "3"}, {"start": moment(5)}, {"end": moment(5)}),
    ):
        reader = LogReader(Options({"path": str(tmp_path)} | options))
        (task,) = reader.tasks()
        files: dict[str, list[Any]] = {}
        for row in (row for batch in reader.read(task) for row in batch.to_pylist()):
            files.setdefault(row.pop("source"), []).append({k: v for k, v in row.items() if k != "partition"})
        first, second = files.values()
        assert first == second, options
        seen.add(str(first))
    assert len(seen) == 9


def test_states_must_be_known_and_folders_of_a_state_are_read_only_if_named(tmp_path: Path) -> None:
    segment(tmp_path, batch_at(0))
    gone = tmp_path / f"orders-4.{'a' * 32}-delete"
    gone.mkdir()
    (gone / f"{0:020}.log").write_bytes(batch_at(100))
    assert sorted(log_cells(tmp_path)) == [*range(10)]
    assert sorted(log_cells(tmp_path, states="delete")) == [*range(10), *range(100, 110)]
    with pytest.raises(OptionError, match=r"the option states accepts .*delete.*, not deleted, strays"):
        LogReader(Options({"path": "x", "states": "strays,delete,deleted"}))


def test_a_batch_above_the_limit_is_not_decompressed(tmp_path: Path) -> None:
    path = segment(tmp_path, batch_at(0, codec=1))
    assert log_cells(path, limit="100k") == [*range(10)]
    (reason,) = log_cells(path, "problem", limit="10")
    assert "10" in reason


def test_records_of_a_kind_have_the_package_and_the_limit(newer: MessageRegistry) -> None:
    given = {"path": "x", "record": "ConnectorConfig"}
    own = given | {"protocol": newer.package, "maxDecoded": "7"}
    for options, protocol, limit in ((given, PROTOCOL, MAX_DECODED), (own, newer, 7)):
        expected = RecordStructs(record_kind("ConnectorConfig", protocol), protocol, limit)
        assert LogReader(Options(options))._decode == expected


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
        *((BYTES_PER_TASK // 4 + 1, f"a.pcap.{end}", 2) for end in ("gz", "zst", "zstd", "bz2", "xz", "lz4")),
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
    files: dict[Any, Path] = {LogReader: segment(tmp_path, batch_at(0)[:-1], batch_at(10))}
    for reader, data in {
        RequestLogReader: gzip.decompress(REQUEST_LOG.read_bytes())[:300] + b"\n",
        ServerLogReader: b"[2026-01-02 12:00:00,000] ERROR Exception while processing request from 10.0.0.9:1 (k)\n",
        MetricsReader: b"kafka_network_other 1\n",
        CaptureReader: write_pcap(tmp_path / "a", packets(Conversation(BEAT))).read_bytes()[:-1],
    }.items():
        files[reader] = tmp_path / reader.__name__
        files[reader].write_bytes(data)
    for reader, path in files.items():
        given = reader(Options({"path": str(path)} | ({"mode": mode} if mode else {})))
        if mode == "FAILFAST":
            with pytest.raises(BrokenInputError, match=str(path)):
                cells(given, "problem")
        else:
            assert [*filter(None, cells(given, "problem"))], reader


def test_frames_are_the_default_and_have_columns_of_their_own() -> None:
    assert "kind" in CaptureReader.columns(Options({})).names
    assert "outcome" in CaptureReader.columns(Options({"rows": "Exchanges"})).names


@pytest.mark.parametrize("reader", [RequestLogReader, ServerLogReader])
def test_a_line_above_the_limit_is_told(tmp_path: Path, reader: Any) -> None:
    path = tmp_path / "a.log"
    lines = ("DEBUG Completed request:{", "ERROR Exception while processing request from ")
    path.write_text("".join(f"[2026-01-02 12:00:00,000] {line}{'x' * 5000}\n" for line in lines))
    given = {"path": str(path)}
    short, long = (cells(reader(Options(given | more)), "problem") for more in ({"maxLine": "1k"}, {}))
    told = [[str(one).partition(" is skipped")[2] for one in found if one] for found in (short, long)]
    assert (told[0], "".join(told[1])) == ([": the option maxLine allows 1024"] * 2, "")


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


SOURCES: list[type[Source]] = [
    KafkaCapture,
    KafkaLog,
    KafkaMetrics,
    KafkaPackets,
    KafkaRequestLog,
    KafkaServerLog,
]


class Documented(Options):
    """Options that compare each default with which they are read with that of the page of a source."""

    def __init__(self, values: dict[str, str], page: str) -> None:
        super().__init__(values)
        found = re.findall(r"^``(\w+)`` +((?:.*\n)(?: .*\n)*)", page, re.M)
        default = re.compile(r"\(default: (\w+)|``(\w+)``\s+\(default\)")
        self.named = {name: match[1] or match[2] for name, text in found if (match := default.search(text))}
        self.named = {name: value for name, value in self.named.items() if name not in ("splitSize", "topics")}
        self.checked: set[str] = set()

    def _check(self, kind: str, name: str, default: object, *more: Any) -> None:
        if name in self.named:
            self.checked.add(name)
            assert getattr(Options({name: self.named[name]}), kind)(name, *more) == default, name

    def choice(self, name: str, default: str, allowed: Collection[str]) -> str:
        self._check("choice", name, default, "", allowed)
        return super().choice(name, default, allowed)

    def number(self, name: str, default: int, least: int = 0) -> int:
        self._check("number", name, default, -1)
        return super().number(name, default, least)

    def size(self, name: str, default: int) -> int:
        self._check("size", name, default, 1)
        return super().size(name, default)

    def time_zone(self, name: str) -> tzinfo:
        self._check("time_zone", name, super().time_zone(name))
        return super().time_zone(name)

    def protocol(self) -> MessageRegistry:
        self._check("text", "protocol", super().protocol().package)
        return super().protocol()


def given(reader: Any) -> list[dict[str, Any]]:
    """The rows of a reader of Spark."""
    return [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]


@pytest.mark.parametrize("source", SOURCES)
def test_the_defaults_of_options_are_those_of_the_page(
    source: type[Source], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.pcap").touch()
    options = Documented({"path": str(tmp_path)}, import_module(source.__module__).__doc__ or "")
    monkeypatch.setattr(source, "given", lambda _: options)
    made = source({})
    if source is KafkaPackets:
        made.streamReader(made.schema())
    else:
        reader = made.reader(made.schema())
        for part in reader.partitions():
            reader.read(part)
    assert options.checked == options.named.keys()


@pytest.mark.parametrize(
    ("size", "option", "tasks"),
    [(1, "", 1), (10, "", 3), (100, "", 8), (1000, "", 16), (100, "10m", 10), (1000, "100m", 10)],
)
def test_splits_are_small_enough_for_all_processors_and_never_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, option: str, tasks: int
) -> None:
    """Of 4 processors each has two splits, of 4 to 64 MB."""
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    path = segment(tmp_path, b"")
    log = tmp_path / "kafka-request.log"
    for reader, file in ((LogReader, path), (RequestLogReader, log), (ServerLogReader, log)):
        with file.open("wb") as sparse:
            sparse.truncate(size << 20)
        assert len(reader(Options({"path": str(file), "splitSize": option})).tasks()) == tasks


@pytest.mark.parametrize(
    ("checkpoints", "first", "expected"),
    [
        (None, 0, ["log"]),
        ("auto", 0, ["log"]),
        (None, 300, ["log", "newer"]),
        ("AUTO", 300, ["log", "newer"]),
        ("", 300, ["log", "newer"]),
        ("true", 0, ["bootstrap", "log", "newer", "older"]),
        ("true", 300, ["bootstrap", "log", "newer", "older"]),
        ("false", 0, ["log"]),
        ("false", 300, ["log"]),
    ],
)
def test_which_snapshots_are_read(tmp_path: Path, checkpoints: str | None, first: int, expected: list[str]) -> None:
    """By default the newest, and only where the log no longer reaches back to its start."""
    log = segment(tmp_path, batch_at(300), name="__cluster_metadata-0", base=first)
    names = {"older": f"{100:020}-{2:010}.checkpoint", "newer": f"{200:020}-{1:010}.checkpoint"}
    names |= {"bootstrap": "bootstrap.checkpoint"}
    for name in names.values():
        (log.parent / name).write_bytes(batch_at(0))
    options = {} if checkpoints is None else {"checkpoints": checkpoints}
    names |= {"log": log.name}
    found = {Path(source).name for source in log_cells(tmp_path, "source", **options)}
    assert sorted(name for name, file in names.items() if file in found) == expected
    for file in names.values():
        assert log_cells(log.parent / file, "source", **options), "a file that is named is always read"


BEAT = [asked(HeartbeatRequest(), 4, 1), answered(HeartbeatResponse(error_code=27), 4, 1)]
CUT = [(BEAT[0][0], 0.0, frame(BEAT[0][2][4:-1])), BEAT[1]]
"""A request that lacks its last byte."""
FACTS = pa.schema([field for field in EXCHANGES if field.name not in ("request", "response")])


def said(folder: Path, segments: Sequence[Segment]) -> str:
    return str(write_pcap(folder / "said.pcap", packets(Conversation(segments))))


def test_each_of_several_captures_is_read_with_all_options(tmp_path: Path) -> None:
    """Every option has an effect here, and the same on the second file as on the first. Both are read at once."""
    answer = HeartbeatResponse(error_code=27)
    pairs = [(asked(HeartbeatRequest(), 4, at, at), answered(answer, 4, at, at + 0.5)) for at in range(4)]
    talk = [*CUT, *(one for pair in pairs[1:] for one in pair)]
    for port in (40001, 40002):
        write_pcap(tmp_path / f"{port}.pcap", packets(Conversation(talk, client=Peer("10.0.0.1", port))))
    seen = set()
    late, early = "2023-11-14T22:13:22", "2023-11-14T22:13:23"
    for options in ({}, {"rows": "exchanges"}, {"bodies": "codes"}, {"start": late}, {"end": early}):
        given = {"path": str(tmp_path), "rows": "exchanges" if "bodies" in options else "frames"} | options
        reader = CaptureReader(Options(given), FACTS if "bodies" in options else None)
        files: dict[str, list[Any]] = {}
        for task in reader.tasks():
            for row in (row for batch in reader.read(task) for row in batch.to_pylist()):
                name = row.pop("source")
                files.setdefault(name, []).append({k: v for k, v in row.items() if k not in PEERS})
        first, second = (files[str(tmp_path / f"{port}.pcap")] for port in (40001, 40002))
        assert first == second, options
        seen.add(str(first))
    assert len(seen) == 5


PEERS = ("connection", "client_port")


@pytest.mark.parametrize(
    ("bodies", "schema", "expected"),
    [
        (None, FACTS, "undecodable"),
        ("all", FACTS, "undecodable"),
        ("codes", FACTS, "answered"),
        ("Codes", FACTS, "answered"),
        ("codes", EXCHANGES, "undecodable"),
    ],
)
def test_bodies_are_decoded_unless_only_codes_are_wanted(
    tmp_path: Path, bodies: str | None, schema: pa.Schema, expected: str
) -> None:
    options = {"path": said(tmp_path, CUT), "rows": "exchanges"} | ({"bodies": bodies} if bodies else {})
    reader = CaptureReader(Options(options), schema)
    assert (cells(reader, "outcome"), cells(reader, "error_codes")) == ([expected], [[27]])


MANY = MetadataRequest(topics=[MetadataRequestTopic(name="t") for _ in range(200)])
MANY_BROKERS = MetadataResponse(brokers=[MetadataResponseBroker(host="h") for _ in range(60)])


@pytest.mark.parametrize("rows", ["frames", "exchanges"])
@pytest.mark.parametrize(("option", "decoded"), [(None, True), ("1k", True), ("850", True), ("100", False)])
@pytest.mark.parametrize(("request_", "response"), [(MANY, MetadataResponse()), (MetadataRequest(), MANY_BROKERS)])
def test_bodies_above_the_limit_are_decoded_only_if_they_have_few_values(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rows: str,
    option: str | None,
    decoded: bool,
    request_: MetadataRequest,
    response: MetadataResponse,
) -> None:
    monkeypatch.setattr(large._Counting, "left", 60)
    path = said(tmp_path, [asked(request_, 4, 1), answered(response, 4, 1)])
    options = {"path": path, "rows": rows} | ({"maxDecoded": option} if option else {})
    found = [*filter(None, cells(CaptureReader(Options(options)), "reason"))]
    assert len(found) == (not decoded)
    assert decoded or "too many values to decode: increase maxDecoded" in found[0]


@pytest.mark.parametrize("rows", ["frames", "exchanges"])
def test_a_body_that_is_not_decoded_says_so_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: str
) -> None:
    """Also if requests before and after it are of the same client and version."""
    monkeypatch.setattr(large._Counting, "left", 60)
    answers = (MetadataResponse(), MANY_BROKERS, MetadataResponse())
    talk = [
        one for at, answer in enumerate(answers) for one in (asked(MetadataRequest(), 4, at), answered(answer, 4, at))
    ]
    found = cells(CaptureReader(Options({"path": said(tmp_path, talk), "rows": rows, "maxDecoded": "100"})), "reason")
    each = 2 if rows == "frames" else 1
    assert [reason is not None for reason in found] == [False] * each + [False] * (each - 1) + [True] + [False] * each


@pytest.mark.parametrize(("option", "kept"), [(None, True), ("10m", True), ("100k", False)])
def test_what_waits_above_the_limit_is_dropped_and_told(tmp_path: Path, option: str | None, kept: bool) -> None:
    request = asked(MetadataRequest(topics=[MetadataRequestTopic(name="t" * 30_000)] * 60), 4, 1)
    path = said(tmp_path, [request, answered(MetadataResponse(), 4, 1)])
    found = cells(CaptureReader(Options({"path": path} | ({"maxHeld": option} if option else {}))), "reason")
    told = [str(reason) for reason in found if "maxHeld" in str(reason)]
    assert len(told) == (not kept)
    assert kept or "because connections held more than 102400 bytes: see the option maxHeld" in told[0]


@pytest.mark.parametrize(
    ("settled", "age", "taken"), [(None, 4, False), (None, 5, True), ("60", 59, False), ("60", 60, True)]
)
def test_a_stream_waits_until_files_do_not_grow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settled: str | None, age: int, taken: bool
) -> None:
    file = Path(said(tmp_path, BEAT))
    now = file.stat().st_mtime
    monkeypatch.setattr(time, "time", lambda: now + age)
    options = {"path": str(tmp_path)} | ({"settled": settled} if settled else {})
    stream = PacketStream(Options(options), spark_schema(PACKETS))
    assert stream.latestOffset({}, ReadMaxFiles(1)) == ({str(file): file.stat().st_size} if taken else {})


@pytest.mark.parametrize(("option", "most"), [(None, 32), ("1", 1), ("7", 7)])
def test_a_batch_of_a_stream_has_a_number_of_files(tmp_path: Path, option: str | None, most: int) -> None:
    for number in range(33):
        write_pcap(tmp_path / f"{number}.pcap", [])
    options = {"path": str(tmp_path), "settled": "0"} | ({"filesAtOnce": option} if option else {})
    stream = PacketStream(Options(options), spark_schema(PACKETS))
    assert len(stream.latestOffset({}, stream.getDefaultReadLimit())) == most
    with pytest.raises(OptionError, match="filesAtOnce must be a whole number, 1 or more"):
        PacketStream(Options({"path": str(tmp_path), "filesAtOnce": "0"}), spark_schema(PACKETS))


@pytest.mark.parametrize("source", [KafkaCapture, KafkaLog, KafkaRequestLog, KafkaServerLog])
@pytest.mark.parametrize("pushdown", [None, "false", "true"])
def test_filters_are_taken_only_if_they_may_be(source: type[Source], pushdown: str | None) -> None:
    """Spark pushes filters to readers with a method of their own for it."""
    made = source({"path": "a"} | ({"pushdown": pushdown} if pushdown else {}))
    takes = type(made.reader(made.schema())).pushFilters is not DataSourceReader.pushFilters
    assert takes == (pushdown == "true")


def test_rows_that_filters_leave_out_are_not_made(tmp_path: Path) -> None:
    source = KafkaCapture({"path": said(tmp_path, BEAT), "pushdown": "true"})
    reader: Any = source.reader(source.schema())
    filters = [EqualTo(("kind",), "request"), EqualTo(("latency_ms",), 0.5)]
    assert list(reader.pushFilters(filters)) == filters, "Spark applies them again"
    found = given(reader)
    assert [row["kind"] for row in found] == ["request"]
    data = gzip.decompress(REQUEST_LOG.read_bytes())
    (tmp_path / "kafka-request.log").write_bytes(data)
    pushing: list[tuple[type[Source], Path, str, list[EqualTo], set[Any]]] = [
        (KafkaLog, segment(tmp_path, batch_at(0)), "offset", [EqualTo(("topic",), "orders")], {*range(10)}),
        (KafkaLog, segment(tmp_path, batch_at(0)), "offset", [EqualTo(("topic",), "other")], set()),
        (KafkaLog, segment(tmp_path, batch_at(0)), "offset", [EqualTo(("offset",), 3)], {3}),
        (KafkaRequestLog, tmp_path / "kafka-request.log", "api", [EqualTo(("api",), "Fetch")], {"Fetch"}),
    ]
    for kind, path, column, some, expected in pushing:
        made = kind({"path": str(path), "pushdown": "true"})
        reader = made.reader(made.schema())
        reader.pushFilters(some)
        assert {row[column] for row in given(reader)} == expected


def test_without_any_file_to_read_there_are_no_rows_and_no_error(tmp_path: Path) -> None:
    (tmp_path / "nothing").touch()
    source = KafkaLog({"path": str(tmp_path)})
    reader = source.reader(source.schema())
    assert reader.partitions(), "Spark plans at least one task"
    assert given(reader) == []


def test_a_stream_that_ends_takes_what_was_there_when_it_began(tmp_path: Path) -> None:
    stream = PacketStream(Options({"path": str(tmp_path), "settled": "0"}), spark_schema(PACKETS))
    before = write_pcap(tmp_path / "before.pcap", [])
    stream.prepareForTriggerAvailableNow()
    write_pcap(tmp_path / "after.pcap", [])
    assert stream.latestOffset({}, ReadMaxFiles(9)).keys() == {str(before)}


def test_a_source_gives_the_columns_that_are_asked_for_or_all(tmp_path: Path) -> None:
    path = said(tmp_path, BEAT)
    for rows, full in (("frames", FRAMES), ("exchanges", EXCHANGES)):
        source = KafkaCapture({"path": path, "rows": rows})
        assert source.schema() == spark_schema(full)
        some = spark_schema([full.field("api"), full.field("number")])
        reader = source.reader(some)
        assert given(reader)[0] == {"api": "Heartbeat", "number": 0}


def test_exchanges_may_be_counted_where_they_are_read(tmp_path: Path) -> None:
    """Each connection by itself: others of the same client may be in another task."""
    talks = [Conversation(BEAT * times, client=Peer("10.0.0.1", 40000 + times)) for times in (1, 2)]
    path = write_pcap(tmp_path / "a.pcap", merged(map(packets, talks)))
    source = KafkaCapture({"path": str(path), "rows": "exchanges", "count": "true"})
    logged = KafkaRequestLog({"path": str(path), "count": "true"})
    assert source.schema() == logged.schema() == spark_schema(COUNTED)
    columns = "api", "version", "client_host", "requests", "errors"
    found = {
        row["connection"].partition("@")[0]: [row[name] for name in columns]
        for row in given(source.reader(source.schema()))
    }
    assert found == {
        f"10.0.0.1:{40000 + times}-10.0.0.9:9092": ["Heartbeat", 4, "10.0.0.1", times, times] for times in (1, 2)
    }


@pytest.mark.parametrize("source", SOURCES)
def test_a_source_is_named_after_its_files_and_does_not_read_the_standard_input(source: type[Source]) -> None:
    assert source.name() == f"kafka_{source.__module__.rpartition('.')[2]}"
    made = source({"path": "-"})
    make = made.streamReader if source is KafkaPackets else made.reader
    with pytest.raises(OptionError, match="standard input, which Spark cannot read: write it to a file"):
        make(made.schema())


def test_all_sources_are_registered() -> None:
    registered: list[type[Source]] = []
    session: Any = SimpleNamespace(dataSource=SimpleNamespace(register=registered.append))
    register(session)
    assert {*registered} == {*SOURCES}


def test_packets_are_a_table_too(tmp_path: Path) -> None:
    source = KafkaPackets({"path": said(tmp_path, BEAT)})
    assert source.schema() == spark_schema(PACKETS)
    reader = source.reader(source.schema())
    found = given(reader)
    assert b"".join(row["data"] for row in found) == b"".join(data for _, _, data in BEAT)
    with pytest.raises(OptionError, match=r"a stream reads only local files. Copy captures to a local folder"):
        KafkaPackets({"path": "s3://bucket/a"}).streamReader(source.schema())


@pytest.mark.parametrize("reader", [CaptureReader, LogReader, RequestLogReader, ServerLogReader, MetricsReader])
def test_a_package_that_is_not_there_is_a_wrong_option(tmp_path: Path, reader: Any) -> None:
    (tmp_path / "a.log").write_text("nothing\n")
    with pytest.raises(
        OptionError, match=r"the option protocol must name a package that kwirec generated: .*no_such"
    ):
        cells(reader(Options({"path": str(tmp_path / "a.log"), "protocol": "no_such"})), "problem")
