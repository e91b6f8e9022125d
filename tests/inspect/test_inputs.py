"""File types are detected from file contents."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest
import zstandard

from kwire_inspect.inputs import PROBE_BYTES, Inputs, find, sniff
from kwire_inspect.options import OptionError
from kwire_inspect.schemas import PROBLEMS
from kwire_inspect.storage import STDIN, Window
from kwire_inspect.storage.places import LocalPlace
from kwire_inspect.stored import Origin, StoredTable
from tests.support.packing import tar
from tests.support.report_rows import write_rows

DATA = Path(__file__).parents[1] / "data"
PCAP = bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000")
REQUEST = b"[2026-01-02 12:00:00,000] INFO Completed request:{} (kafka.request.logger)\n"
SERVER = b"[2026-01-02 12:00:00,000] INFO [KafkaServer id=1] started (kafka.server.KafkaServer)\n"
BESIDE_SEGMENTS = [
    *(f"{7:020}.{ending}" for ending in ("index", "timeindex", "txnindex", "snapshot")),
    f"{7:020}-12.snapshot",
    *("partition.metadata", "quorum-state", "meta.properties", "leader-epoch-checkpoint"),
    *("recovery-point-offset-checkpoint", "replication-offset-checkpoint", "log-start-offset-checkpoint"),
    "cleaner-offset-checkpoint",
]
LEVELS = [b"TRACE", b"DEBUG", b"INFO", b"WARN", b"ERROR", b"FATAL"]


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.pcap", PCAP, "captures"),
        ("anything", bytes.fromhex("4d3cb2a1"), "captures"),
        ("a.pcapng", b"\n\r\r\n\x1c\0\0\0", "captures"),
        ("a.pcap.gz", gzip.compress(PCAP, mtime=0), "captures"),
        ("a.zst", zstandard.compress(PCAP), "captures"),
        ("kafka-request.log.2026-01-02-12", REQUEST, "request_logs"),
        ("stdout", SERVER * 3 + REQUEST, "request_logs"),
        ("r.gz", gzip.compress(REQUEST, mtime=0), "request_logs"),
        ("cut.gz", gzip.compress(REQUEST, mtime=0)[:-4], "request_logs"),  # reading it says where
        ("kafka-request.log", SERVER, "request_logs"),  # quiet so far
        ("server.log", SERVER, "server_logs"),
        ("out", b"received api key 0 with unsupported version 1\n", "server_logs"),
        ("00000000000000000000.log", b"", "logs"),
        ("00000000000000000010-0000000003.checkpoint", b"", "logs"),
        ("00000000000000000000.timeindex", b"", "part"),
        *((name, b"0\n", "part") for name in BESIDE_SEGMENTS),
        *((f"{0:020}.{ending}.deleted", b"0\n", "part") for ending in ("log", "index", "snapshot")),
        *(("a.log", SERVER.replace(b"INFO", level), "server_logs") for level in LEVELS),
        ("a.log", SERVER[1:].replace(b"02 12", b"02T12"), "server_logs"),
        ("a.log", b"starting\n" + SERVER, "server_logs"),
        ("a.log", b"Exception while processing request from 10.0.0.1\n", "server_logs"),
        ("a.log", b"org.apache.kafka.common.errors.InvalidRequestException\n", "server_logs"),
        ("a.log", b"\n" * 4096 + b"\0" + REQUEST, "request_logs"),
        ("late.log", b"x\n" * (PROBE_BYTES // 2 - len(SERVER)) + SERVER, "server_logs"),
        ("late.log", b"x\n" * 70_000 + b"with unsupported version", "server_logs"),
        ("orders", b"PK\3\4" + bytes(300), "archive"),
        ("orders", bytes(257) + b"ustar" + bytes(300), "archive"),
        ("KAFKA-REQUEST.LOG", SERVER, "request_logs"),
        ("a.log", SERVER.replace(b"INFO", b"x" * 30 + b" INFO"), "server_logs"),
        ("m.prom", b"# TYPE kafka_network_requests counter\n", "metrics"),
        ("m.prom", b'# TYPE jvm_memory gauge\n\nkafka_network_requests{a="b"} 1\n', "metrics"),
        ("m.csv", b'"time","kafka.network:type=RequestMetrics"\n1,2\n', "metrics"),
        ("m.json", b' [{"request":{"mbean":"kafka.network:type=RequestMetrics"}}]', "metrics"),
        ("00000000000000000000.log.gz", gzip.compress(REQUEST, mtime=0), "request_logs"),
    ],
)
def test_the_kind_of_a_file(tmp_path: Path, name: str, content: bytes, kind: str) -> None:
    (tmp_path / name).write_bytes(content)
    assert sniff(str(tmp_path / name)) == (kind, "")


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("empty.log", b"", "empty file"),
        ("notes.txt", b"remember the milk\n", "no line looks like a broker log entry"),
        ("server.properties", b"broker.id=1\n", "no line looks like a broker log entry"),
        (
            "picture",
            b"\x89PNG\0\0\0",
            "unknown binary format: expected pcap, pcapng or a segment with Kafka's file name",
        ),
        ("a.log", b"[2026-01-02 12:00:00,000] INFO nothing of it\n", "no line looks like a broker log entry"),
        ("a.log", SERVER.replace(b"INFO", b"LATE"), "no line looks like a broker log entry"),
        ("index", b"x\n" * (PROBE_BYTES * 2) + SERVER, "no line looks like a broker log entry"),
        ("a.log", SERVER.replace(b"INFO", b"x" * 50 + b" INFO"), "no line looks like a broker log entry"),
        ("meta.properties.bak", b"broker.id=1\n", "no line looks like a broker log entry"),
        (f"{7:020}-1.index.old", b"x\n", "no line looks like a broker log entry"),
        (f"{7:020}.log.old", b"x\n", "no line looks like a broker log entry"),
        (
            "report.json",
            b'the "mbean": "kafka.network:type=RequestMetrics"\n',
            "no line looks like a broker log entry",
        ),
        (
            "a.log",
            b"\n" * 4095 + b"\0" + REQUEST,
            "unknown binary format: expected pcap, pcapng or a segment with Kafka's file name",
        ),
        ("7.index", b"\0\1", "unknown binary format: expected pcap, pcapng or a segment with Kafka's file name"),
        ("a.parquet", b"PAR1\0", "a Parquet file: to read a table that kwire wrote, specify its folder"),
        ("cut.gz", b"\x1f\x8b\xff\xff\xff\xff\xff\xff\xff\xff\xff", ""),
        ("cut.zst", zstandard.compress(b"x" * 999)[:4] + b"\xff" * 20, ""),
    ],
)
def test_what_is_something_else_is_passed_over_with_a_reason(
    tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    (tmp_path / name).write_bytes(content)
    found = find([tmp_path])
    assert not found
    ((path, told),) = found.skipped
    assert path == str(tmp_path / name)
    assert told == reason if reason else told
    assert found.unreadable == (set() if reason else {path})


def test_a_folder_of_everything(tmp_path: Path) -> None:
    (tmp_path / "a.pcap").write_bytes(PCAP)
    (tmp_path / "server.log").write_bytes(SERVER)
    data = tmp_path / "data" / "__consumer_offsets-0"
    data.mkdir(parents=True)
    for name in ("00000000000000000000.log", "00000000000000000000.index", "partition.metadata"):
        (data / name).write_bytes(b"")
    found = find([tmp_path, tmp_path / "a.pcap", data / "00000000000000000000.log"])
    assert found.captures == (str(tmp_path / "a.pcap"),)
    assert found.logs == (str(tmp_path), str(data / "00000000000000000000.log"))
    assert found.server_logs == (str(tmp_path / "server.log"),)
    assert not found.skipped
    assert str(found) == (
        f"1 capture (a.pcap), 2 data directories or segments ({tmp_path.name}, 00000000000000000000.log), "
        "1 server log (server.log)"
    )


def test_inputs_are_named_without_their_folders() -> None:
    many = tuple(f"s3://bucket/captures/{number:04}.pcap" for number in range(20))
    assert str(Inputs(captures=many)) == (
        "20 captures (0000.pcap, 0001.pcap, 0002.pcap, 0003.pcap, 0004.pcap and 15 more)"
    )
    assert str(Inputs(captures=(STDIN,), logs=("/var/kafka/",))) == (
        "1 capture (standard input), 1 data directory or segment (kafka)"
    )


@pytest.mark.parametrize(
    ("paths", "told"),
    [
        (["/"], "1 data directory or segment (/)"),
        (["C:\\kafka\\logs\\"], "1 data directory or segment (logs)"),
        (["a/b//", "c\\d"], "2 data directories or segments (b, d)"),
    ],
)
def test_a_folder_is_named_without_the_folders_above_it(paths: list[str], told: str) -> None:
    assert str(Inputs(logs=tuple(paths))) == told


def stored(path: str, inputs: str) -> StoredTable:
    return StoredTable(path, "clients", Origin(inputs), True)


def test_tables_are_inputs_with_the_words_of_their_origin() -> None:
    tables = (
        stored("a/clients", "2 captures"),
        stored("b/clients", ""),
        stored("c", "2 captures"),
        stored("d", "1 log"),
    )
    assert Inputs(tables=tables[:1])
    assert str(Inputs(tables=tables)) == "2 captures; the table b/clients; 1 log"
    assert not Inputs(tables=tables).has_standard_input


def test_tables_of_several_folders_are_found_and_not_mixed_with_inputs(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_rows([], PROBLEMS, str(tmp_path / name), "problems")
    folders = tmp_path / "a", tmp_path / "b" / "problems"
    (tmp_path / "notes.txt").write_bytes(b"remember the milk\n")
    found = find([*folders, tmp_path / "notes.txt"])
    assert [table.path for table in found.tables] == [str(tmp_path / name / "problems") for name in ("a", "b")]
    assert [path for path, _ in found.skipped] == [str(tmp_path / "notes.txt")]
    for name, content in (("a.pcap", PCAP), ("a.tar", tar(("a.pcap", PCAP)))):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(OptionError) as raised:
            find([*folders, tmp_path / name])
        assert str(raised.value) == f"{found.tables[0].path} is a table: specify either tables, or captures and logs"
    (tmp_path / "a" / "a.tar").write_bytes(tar(("a.pcap", PCAP)))
    assert (find([tmp_path / "a"]).tables, len(find([tmp_path / "a"]).captures)) == ((), 1)


def test_files_are_in_the_order_in_which_they_are_given(tmp_path: Path) -> None:
    names = ["b.pcap", "a.pcap", "c.txt", "0.txt"]
    for name in names:
        (tmp_path / name).write_bytes(PCAP if name.endswith(".pcap") else b"")
    paths = [str(tmp_path / name) for name in names]
    found = find([*paths, *paths])
    assert found.captures == tuple(paths[:2])
    assert found.skipped == tuple((path, "empty file") for path in paths[2:])
    assert (found.size, find([paths[0]]).size) == (4 * len(PCAP), len(PCAP))
    assert found == replace(found, size=0), "the size is no part of what they are"


def test_logs_and_unreadable_files_in_archives_have_their_names(tmp_path: Path) -> None:
    """Of an archive, the folder is the archive: which of its files are read is found as in a folder."""
    file = tmp_path / "a.tar"
    segment, broken = f"orders-0/{0:020}.log", b"\x1f\x8b\xff\xff\xff\xff\xff\xff\xff\xff\xff"
    file.write_bytes(tar((segment, b""), (f"orders-0/{0:020}.index", b""), ("a.pcap", PCAP), ("cut.gz", broken)))
    found = find([file])
    assert (found.logs, found.captures) == ((f"{file}!/",), (f"{file}!/a.pcap",))
    assert found.unreadable == {f"{file}!/cut.gz"} == {path for path, _ in found.skipped}
    assert found.size == len(PCAP)


def test_a_file_that_disappears_in_the_search_has_no_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(path: str) -> int:
        raise FileNotFoundError(path)

    (tmp_path / "a.pcap").write_bytes(PCAP)
    monkeypatch.setattr("kwire_inspect.inputs.size_of", gone)
    assert (find([tmp_path]).size, find([tmp_path]).captures) == (0, (str(tmp_path / "a.pcap"),))


def test_a_folder_is_looked_at_twice_whatever_is_in_it_and_each_file_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of its files is closed."""
    looks, closed = list[str](), list[str]()
    is_folder, close = LocalPlace.is_folder, Window.close

    def look(self: LocalPlace) -> bool:
        looks.append(str(tmp_path))
        return is_folder(self)

    def closing(self: Window) -> None:
        closed.append("")
        close(self)

    for number in range(3):
        (tmp_path / f"{number:020}.log").touch()
        (tmp_path / f"{number}.txt").write_bytes(b"text")
    monkeypatch.setattr(LocalPlace, "is_folder", look)
    monkeypatch.setattr(Window, "close", closing)
    assert find([tmp_path]).logs == (str(tmp_path),)
    assert (len(looks), len(closed) >= 3) == (2, True)


def test_nothing_and_something(tmp_path: Path) -> None:
    assert not Inputs()
    assert str(Inputs()) == "no inputs"
    kinds = ("captures", "logs", "request_logs", "server_logs", "metrics")
    assert all(replace(Inputs(), **{kind: ("a",)}) for kind in kinds)  # type: ignore[arg-type]
    assert all(replace(Inputs(), **{kind: ("a", STDIN)}).has_standard_input for kind in kinds)  # type: ignore[arg-type]
    assert not Inputs(captures=("a",)).has_standard_input
    assert str(Inputs(request_logs=("a", "b"), server_logs=("c", "d"), metrics=("e",))) == (
        "2 request logs (a, b), 2 server logs (c, d), 1 metrics dump (e)"
    )
    assert str(Inputs(logs=("a", "b"), request_logs=("c",))) == (
        "2 data directories or segments (a, b), 1 request log (c)"
    )
    assert str(Inputs(captures=("a", "b", "c", "d", "e"), metrics=("f", "g"))) == (
        "5 captures (a, b, c, d, e), 2 metrics dumps (f, g)"
    )


def test_the_size_is_that_of_what_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.pcap").write_bytes(PCAP)
    (tmp_path / "server.log").write_bytes(SERVER)
    (tmp_path / "notes.txt").write_bytes(b"remember the milk\n")
    assert find([tmp_path]).size == len(PCAP) + len(SERVER)


def test_of_an_archive_its_members_are_told(tmp_path: Path) -> None:
    inner = tar(("b.pcap", PCAP))
    (tmp_path / "a.tar").write_bytes(tar(("a.pcap", PCAP), ("inner.tar", inner), ("notes.txt", b"milk\n")))
    found = find([tmp_path])
    assert found.captures == (f"{tmp_path / 'a.tar'}!/a.pcap",)
    assert dict(found.skipped) == {
        f"{tmp_path / 'a.tar'}!/inner.tar": "an archive inside an archive: unpack the outer archive",
        f"{tmp_path / 'a.tar'}!/notes.txt": "no line looks like a broker log entry",
    }
    assert not found.unreadable
    (tmp_path / "a.tar").write_bytes(b"PK\3\4 and no more")
    found = find([tmp_path])
    assert not found
    assert {path for path, _ in found.skipped} == found.unreadable == {str(tmp_path / "a.tar")}


def test_tables_beside_inputs_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.pcap").write_bytes(PCAP)
    write_rows([], PROBLEMS, str(tmp_path), "problems")
    found = find([tmp_path])
    assert (found.captures, found.tables) == ((str(tmp_path / "a.pcap"),), ())
    (tmp_path / "a.pcap").unlink()
    assert [table.kind for table in find([tmp_path]).tables] == ["problems"]


def test_real_ones_are_known() -> None:
    assert len(find([DATA / "request_logs"]).request_logs) >= 4
    assert find([DATA / "logs" / "4.1.1"]).logs == (str(DATA / "logs" / "4.1.1"),)


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="no such file"):
        find([tmp_path / "none"])


def test_segments_that_kafka_deletes_are_neither_read_nor_called_unknown(tmp_path: Path) -> None:
    folder = tmp_path / "orders-3"
    folder.mkdir()
    log = folder / f"{20:020}.log"
    log.write_bytes(bytes(100))
    for name in (f"{0:020}.log.deleted", f"{0:020}.index.deleted", f"{0:020}.timeindex.deleted"):
        (folder / name).write_bytes(bytes(100))
    (folder / "mine.deleted").write_bytes(bytes(100))
    found = find([tmp_path])
    assert found.logs == (str(tmp_path),)
    assert [Path(path).name for path, _ in found.skipped] == ["mine.deleted"]
