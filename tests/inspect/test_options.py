"""Options of sources: what they may be, and that the rest is refused with a reason."""

from __future__ import annotations

import io
import json
import pickle
import re
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from kwire_inspect.inputs import Inputs, find
from kwire_inspect.options import COUNT, FOUND, OPTIONS, BrokenInputError, OptionError, Options, only, passed
from kwire_inspect.readers import read_batches
from kwire_inspect.storage import absolute, opened
from kwire_spark.reading import (
    read_clients,
    read_counted,
    read_exchanges,
    read_frames,
    read_records,
    read_refusals,
)
from kwire_spark.sources.base import Source
from kwire_spark.sources.capture import KafkaCapture
from kwire_spark.sources.log import KafkaLog
from kwire_spark.sources.metrics import KafkaMetrics
from kwire_spark.sources.packets import KafkaPackets
from kwire_spark.sources.request_log import KafkaRequestLog
from kwire_spark.sources.server_log import KafkaServerLog
from tests.support.s3_server import NOWHERE


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.pcap", "a.pcap", ".hidden", "_SUCCESS", "deep/__offsets-0/c.log", ".git/d"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


def files(folder: Path, **options: str) -> list[str]:
    return [Path(path).relative_to(folder).as_posix() for path in Options(options).files()]


def test_a_folder_gives_its_files_but_hidden_ones(folder: Path) -> None:
    assert files(folder, path=str(folder)) == ["a.pcap", "b.pcap", "deep/__offsets-0/c.log"]


def test_a_pattern_gives_no_hidden_files_either(folder: Path) -> None:
    assert files(folder, path=str(folder / "*")) == ["a.pcap", "b.pcap", "deep/__offsets-0/c.log"]
    assert files(folder, path=str(folder / "[._ab]*[ps]")) == ["a.pcap", "b.pcap"]
    assert files(folder, path=str(folder / "dee*" / ".." / "a*")) == ["deep/../a.pcap"]
    assert files(folder, path=str(folder / ".git" / "*")) == [".git/d"]


def test_links_back_give_no_file_twice(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "one.pcap").touch()
    (inner / "back").symlink_to(tmp_path / "a")
    (inner / "itself").symlink_to(inner)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "two.pcap").touch()
    (inner / "on").symlink_to(tmp_path / "elsewhere")
    found = Options({"path": str(tmp_path / "a")}).files()
    assert sorted(Path(path).name for path in found) == ["one.pcap", "two.pcap"]


def test_links_in_circles_end(tmp_path: Path) -> None:
    """Each folder has links to the other one, so there are paths without end."""
    for name, other in (("a", "b"), ("b", "a")):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.pcap").touch()
        for number in range(8):
            (tmp_path / name / f"link{number}").symlink_to(tmp_path / other)
    found = Options({"path": str(tmp_path / "a")}).files()
    assert {Path(path).name for path in found} == {"a.pcap", "b.pcap"}


@pytest.mark.parametrize("given", [".", "*", "*/*", "*/*/*"])
def test_names_of_files_are_no_addresses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, requested: list[str]
) -> None:
    """Whoever packed a folder chose the names in it, and not what is requested or read elsewhere."""
    segment = "s3:/topic-0/00000000000000000000.log"
    names = ["-", "file:/a.pcap", "http:/host/a?x=1.pcap", "s3:/bucket/a.pcap", segment]
    for name in names:
        Path(tmp_path, name).parent.mkdir(parents=True, exist_ok=True)
        Path(tmp_path, name).write_text("of a folder")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"of the standard input")))
    taken = [name for name in names if given == "." or Path(name).match(given)]
    found = Options({"path": given}).files()
    assert sorted(Path(name).relative_to(tmp_path).as_posix() for name in found) == taken
    for name in [*found, *Options({"paths": json.dumps(found)}).files(), *map(absolute, found)]:
        with opened(name) as file:
            assert file.read() == b"of a folder"
    inputs = find([given])
    read = {row["source"] for batch in read_batches("records", inputs) for row in batch.to_pylist()}
    assert read == {str(tmp_path / name) for name in taken if name == segment}
    assert not requested


def test_a_segment_named_from_the_current_folder_is_no_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, requested: list[str]
) -> None:
    file = Path(tmp_path, "s3:/topic-0/00000000000000000000.log")
    file.parent.mkdir(parents=True)
    file.write_text("of a folder")
    monkeypatch.chdir(tmp_path)
    for given in ("s3:/topic-0/00000000000000000000.log", "./s3:/topic-0", "./s3:/topic-0/00000000000000000000.log"):
        sources = {row["source"] for batch in read_batches("records", find([given])) for row in batch.to_pylist()}
        assert sources == {str(file)}
    assert not requested


@pytest.fixture
def requested(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses for which a library is asked."""
    addresses: list[str] = []

    def ask(scheme: str, authority: str) -> None:
        addresses.append(f"{scheme}://{authority}")
        raise OSError("no store here")

    monkeypatch.setattr("kwire_inspect.storage.stores.file_system", ask)
    return addresses


def test_a_pattern_gives_what_it_matches(folder: Path) -> None:
    assert files(folder, path=f"{folder}/*.pcap") == ["a.pcap", "b.pcap"]
    assert files(folder, path=f"{folder}/d*") == ["deep/__offsets-0/c.log"]
    assert files(folder, path=f"{folder}/**/*.log") == ["deep/__offsets-0/c.log"]


def test_a_list_of_paths_gives_each_file_once(folder: Path) -> None:
    assert files(folder, paths=json.dumps([f"{folder}/b.pcap", f"{folder}/*.pcap"])) == ["b.pcap", "a.pcap"]


def test_a_file_that_is_named_is_read_whatever_its_name(folder: Path) -> None:
    assert files(folder, path=f"{folder}/.hidden") == [".hidden"]


def test_a_name_that_looks_like_a_pattern_is_a_name_if_it_exists(folder: Path) -> None:
    (folder / "a[1].pcap").touch()
    assert files(folder, path=f"{folder}/a[1].pcap") == ["a[1].pcap"]


@pytest.mark.parametrize("prefix", ["file:", "file://", "FILE://", "file://localhost"])
def test_a_uri_of_a_file_is_its_path(folder: Path, prefix: str) -> None:
    assert files(folder, path=f"{prefix}{folder}/a.pcap") == ["a.pcap"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "nothing to read"),
        ({"path": "/no/such/file"}, "/no/such/file: no such file"),
        ({"path": "/no/such/*.pcap"}, "no file matches this pattern"),
        ({"path": "s3a://bucket/x"}, "s3a:"),
        ({"path": "https://me:word@host/x"}, "https://host: an address with a password"),
        ({"paths": "a,b"}, "a JSON list"),
    ],
)
def test_paths_that_are_not_there(monkeypatch: pytest.MonkeyPatch, options: dict[str, str], message: str) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", NOWHERE)
    with pytest.raises(OptionError, match=message):
        Options(options).files()


def test_names_have_no_case_and_options_can_be_pickled() -> None:
    options = pickle.loads(pickle.dumps(Options({"splitSize": "2K", "MODE": "FailFast"})))
    assert options.size("SPLITSIZE", 1) == 2048
    assert options.failfast
    assert not Options({}).failfast


def test_values_of_all_kinds() -> None:
    options = Options({"ports": "9092, 19092-19094", "n": " 7", "yes": "TRUE", "list": "a, b,", "empty": ""})
    assert options.ports("ports") == {9092, 19092, 19093, 19094}
    assert options.number("n", 1) == 7
    assert options.flag("yes", False) is True
    assert options.names("list") == ("a", "b")
    assert options.text("empty", "x") == "x"
    assert options.size("absent", 5) == 5


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1", 1),
        ("7b", 7),
        ("3k", 3 << 10),
        ("3KB", 3 << 10),
        ("3KiB", 3 << 10),
        ("5 m", 5 << 20),
        ("5MB", 5 << 20),
        ("2g", 2 << 30),
        (" 2Gib ", 2 << 30),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert Options({"limit": text}).size("limit", 5) == size


@pytest.mark.parametrize(("text", "seconds"), [("", 0), ("1s", 1), ("90 s", 90), ("10m", 600), (" 2h ", 7200)])
def test_durations(text: str, seconds: int) -> None:
    assert Options({"every": text}).duration("every") == seconds


@pytest.mark.parametrize("text", ["yes", "True", "on", "1"])
def test_flags(text: str) -> None:
    assert Options({"a": text}).flag("a", False)
    assert [Options({}).flag("a", default) for default in (True, False)] == [True, False]
    assert not any(Options({"a": no}).flag("a", True) for no in ("no", "FALSE", "off", "0"))


@pytest.mark.parametrize(
    ("text", "hours"),
    [("", 0), ("UTC", 0), ("utc", 0), ("Z", 0), ("GMT", 0), ("+02:00", 2), ("-0330", -3.5), ("Asia/Tokyo", 9)],
)
def test_time_zones(text: str, hours: float) -> None:
    zone = Options({"timeZone": text}).time_zone("timeZone")
    assert zone.utcoffset(datetime(2026, 1, 1)) == timedelta(hours=hours)


def test_ports_are_from_1_to_65535() -> None:
    assert Options({"ports": "1, 65535 ,90 - 92,"}).ports("ports") == {1, 90, 91, 92, 65535}
    assert Options({}).ports("ports") == frozenset()
    assert Options({"n": "3"}).number("n", 1, 3) == 3


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("", None),
        (" 12.5 ", 12.5),
        ("197", 197.0),
        ("19710101", 19_710_101.0),
        ("1970-01-01T00:00:10Z", 10.0),
        ("0.5", 0.5),
        ("1700000000", 1.7e9),
        ("1970-01-02", 86400.0),
        ("1970-01-01T00:00:10", 10.0),
        ("1970-01-01T01:00:10+01:00", 10.0),
    ],
)
def test_times(text: str, seconds: float | None) -> None:
    assert Options({"start": text}).time("start") == seconds


def test_times_without_a_zone_are_of_utc_wherever_this_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as there:
        there.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        found = Options({"start": "1970-01-02T00:00:10"}).time("start")
    time.tzset()
    assert found == 86_410.0


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (lambda one: one.failfast, "dropmalformed"),
        (lambda one: one.number("mode", 0), "-1"),
        (lambda one: one.size("mode", 0), "64x"),
        (lambda one: one.size("mode", 0), "0"),
        (lambda one: one.flag("mode", True), "perhaps"),
        (lambda one: one.number("mode", 0, 3), "2"),
        (lambda one: one.number("mode", 0), "1.5"),
        (lambda one: one.duration("mode"), "0s"),
        (lambda one: one.duration("mode"), "5"),
        (lambda one: one.duration("mode"), "5d"),
        (lambda one: one.ports("mode"), "65536"),
        (lambda one: one.ports("mode"), "9092;9093"),
        (lambda one: one.size("mode", 0), "1.5k"),
        (lambda one: one.size("mode", 0), "0k"),
        (lambda one: one.choice("mode", "a", ("a", "b")), "c"),
        (lambda one: one.time("mode"), "2026-13-01"),
        (lambda one: one.time_zone("mode"), "Europe/Atlantis"),
        (lambda one: one.ports("mode"), "0"),
        (lambda one: one.ports("mode"), "9093-9092"),
        (lambda one: one.ports("mode"), "kafka"),
        (lambda one: one.time("mode"), "yesterday"),
        (lambda one: one.time("mode"), "1971"),
    ],
)
def test_what_makes_no_sense_is_refused_with_name_and_value(call, value) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(OptionError, match=f"the option mode must be .*, not {value!r}"):
        call(Options({"mode": value}))


def test_broken_input_says_where_and_can_be_pickled() -> None:
    error = pickle.loads(pickle.dumps(BrokenInputError("a.pcap", 7, "cut off")))
    assert str(error) == "a.pcap, byte 7: cut off"
    assert str(BrokenInputError("a.pcap", None, "gone")) == "a.pcap: gone"
    assert (error.source, error.position, error.reason) == ("a.pcap", 7, "cut off")


SOURCES = [KafkaCapture, KafkaLog, KafkaMetrics, KafkaPackets, KafkaRequestLog, KafkaServerLog]


@pytest.mark.parametrize("source", SOURCES)
def test_a_source_has_the_options_that_its_page_lists_and_no_others(source: type[Source]) -> None:
    page = import_module(source.__module__).__doc__ or ""
    table = re.search(r"^=+ +=+\n(.*?)^=+ +=+$", page, re.M | re.S)
    assert table
    listed = {name for first in re.findall(r"^``.{0,18}", table[1], re.M) for name in re.findall(r"``(\w+)``", first)}
    assert listed == {*OPTIONS[source.kind]} - {"paths", FOUND, COUNT}
    for name in listed:
        source({name.lower(): "1"}).given()  # Spark has names in lower case
    with pytest.raises(OptionError, match="unknown option 'split'"):
        source({"path": "x", "split": "1"}).given()


@pytest.mark.parametrize(
    ("source", "name", "expected"),
    [
        (KafkaCapture, "row", "did you mean rows?"),
        (KafkaCapture, "timezone", "expected one of bodies, end, keyLog, .*, start"),
        (KafkaRequestLog, "timezon", r"did you mean timeZone\?"),
        (KafkaServerLog, "count", "expected one of"),
        (KafkaPackets, "consumes", "did you mean consume?"),
    ],
)
def test_a_misspelt_name_is_refused_by_schema_and_reader(source: type[Source], name: str, expected: str) -> None:
    given = source({"path": "/no/such/file", name: "exchanges"})
    for call in (given.schema, lambda: given.reader(given.schema()), lambda: given.streamReader(given.schema())):
        if call == given.schema and source is KafkaPackets:
            continue
        with pytest.raises(OptionError, match=f"unknown option '{name}', {expected}"):
            call()


@pytest.mark.parametrize(
    ("read", "options", "unknown"),
    [
        (read_exchanges, {"prots": "9092", "mdoe": "failfast"}, "'prots', did you mean ports"),
        (read_exchanges, {"mdoe": "failfast"}, "'mdoe', did you mean mode"),
        (read_exchanges, {"rows": "frames"}, "'rows'"),
        (read_frames, {"time_zone": "UTC"}, "'timezone'"),
        (read_records, {"ports": 9092}, "'ports'"),
        (read_clients, {"count": True}, "'count'"),
        (read_counted, {"path": "x"}, "'path'"),
        (read_refusals, {"max_lines": 5}, "did you mean maxLine"),
    ],
)
def test_functions_refuse_what_no_source_of_their_table_has(
    read: Callable[..., Any], options: dict[str, Any], unknown: str
) -> None:
    with pytest.raises(OptionError, match=f"unknown option .*{unknown}"):
        read("/no/such/file", **options)  # before a session is needed
    table = {read_counted: "exchanges"}.get(read, read.__name__.removeprefix("read_"))
    with pytest.raises(OptionError, match=f"unknown option .*{unknown}"):
        next(read_batches(table, Inputs(), (), options))


def test_options_of_one_source_of_a_table_pass_over_the_other() -> None:
    given = passed({"time_zone": "UTC", "ports": 9092, "max_line": "1k"}, "exchanges")
    assert given == {"timezone": "UTC", "ports": "9092", "maxline": "1k"}
    assert only(given, "captures") == {"ports": "9092"}
    assert only(given, "request_logs") == {"timezone": "UTC", "maxline": "1k"}
    assert only({"time_zone": "UTC", "ports": "1", "record": "x"}, "captures", "logs") == {
        "ports": "1",
        "record": "x",
    }
