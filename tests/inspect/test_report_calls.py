"""What each command hands to its report: tables, releases, owners, limits and package; and what it then writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kwire.command import main as run
from kwire.logs import LogSegment
from kwire_inspect.command import common, reports
from kwire_inspect.command.engines import LocalEngine
from kwire_inspect.command.reports import last_segments, usage_of
from kwire_inspect.reports.owners import Owners
from kwire_inspect.reports.report import Report, Table
from kwire_inspect.schemas import CLIENTS, EXCHANGES, PROBLEMS
from kwire_inspect.stored import Origin
from kwire_kafka import PROTOCOL
from kwire_kafka.releases import RELEASES
from tests.support.capture_files import packets, recorded, write_pcap
from tests.support.report_rows import START, client, exchange, table_of, write_rows

ORIGIN = Origin("2 captures", (), "monday")


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """Tables of one run: two clients, a problem and an exchange."""
    folder = tmp_path / "tables"
    unread = {"problem": "cut off", "places": 1, "connections": 0, "unread": 5, "source": "a.pcap", "position": 7}
    rows = {"clients": [client(requests=3), client(0, 7, 2, client_id="two")], "problems": [unread]}
    rows["exchanges"] = [exchange(error_codes=[3], latency_ms=2.0), exchange(0, 7)]
    for name, schema in {"clients": CLIENTS, "problems": PROBLEMS, "exchanges": EXCHANGES}.items():
        write_rows(table_of(schema, *rows[name]).batches(schema), schema, str(folder), name, origin=ORIGIN)
    return folder


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The arguments of each report, which is about nothing."""
    given: list[Any] = []
    for name in ("readiness", "census", "latency", "offsets"):

        def make(*tables: Any, name: str = name, **how: Any) -> Report:
            given.append((name, tables, how))
            return Report(name, "Title", ("Done.",), (Table("rows", "Rows"),))

        monkeypatch.setattr(f"kwire_inspect.reports.{name}.{name}", make)
    return given


def ids(table: Any) -> list[str]:
    return sorted(row["client_id"] for row in table.rows())


def test_readiness_is_told_of_targets_owners_and_an_earlier_run(
    made: list[Any], tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "owners.csv").write_text("owner,client_id\nTeam A,one\n")
    asked: list[Any] = []
    found = [RELEASES["4.0.0"], RELEASES["4.1.1"]]

    def find(targets: Any, config: Any, known: Any) -> Any:
        asked.append((targets, config, known))
        return found

    def warn(targets: Any, config: Any) -> list[str]:
        asked.append((targets, config))
        return ["in clear text \x1b[31m"]

    monkeypatch.setattr("kwire_inspect.reports.targets.find_targets", find)
    monkeypatch.setattr("kwire_inspect.reports.targets.warnings", warn)
    out = tmp_path / "out"
    given = ["--target", "4.0.0", "--target", "b:1", "--target-config", "c", "--min-coverage", "7", "--out", str(out)]
    more = ["--owners", str(tmp_path / "owners.csv"), "--since", str(tables)]
    assert run(["readiness", str(tables), *given, *more, "-q"]) == 0
    told = capsys.readouterr()
    assert told.err == "kwire: warning: in clear text \\x1b[31m\n"
    assert asked == [(("4.0.0", "b:1"), "c"), (("4.0.0", "b:1"), "c", RELEASES)]
    ((_, (seen, targets, known), how),) = made
    assert (ids(seen.table), targets, known) == (["one", "two"], found, RELEASES)
    assert isinstance(how["owners"], Owners)
    assert ids(how["before"].table) == ["one", "two"]
    assert (how["min_coverage"], how["protocol"], {*how}) == (7, PROTOCOL, {"owners", "before", *WORTH})
    assert {path.name for path in out.iterdir()} >= {"clients", "problems", "readiness.html"}
    run(["readiness", str(tables), "--target", "4.0.0", "--out", str(tmp_path / "other"), "-q"])
    assert (made[1][2]["owners"], made[1][2]["before"], made[1][2]["min_coverage"]) == (None, None, 90)


WORTH = ("min_coverage", "protocol")


@pytest.mark.parametrize("with_exchanges", [True, False])
def test_census_reads_the_exchanges_if_there_are_any(
    made: list[Any], tables: Path, tmp_path: Path, with_exchanges: bool
) -> None:
    if not with_exchanges:
        (tables / "exchanges" / "_kwire").unlink()
    assert run(["census", str(tables), "--min-coverage", "7", "--out", str(tmp_path / "out"), "-q"]) == 0
    ((_, (seen, exchanges), how),) = made
    assert ids(seen.table) == ["one", "two"]
    assert (exchanges and [row["api"] for row in exchanges.rows()]) == (
        ["Metadata", "Produce"] if with_exchanges else None
    )
    assert how == {"releases": RELEASES, "min_coverage": 7, "protocol": PROTOCOL}


def test_census_reads_its_inputs_once(made: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, read = list[str](), LocalEngine.read

    def noted(self: LocalEngine, table: str, *given: Any) -> Any:
        asked.append(table)
        return read(self, table, *given)

    monkeypatch.setattr(LocalEngine, "read", noted)
    capture = write_pcap(tmp_path / "a.pcap", packets(recorded("kafka-python-on-3.9.1")[0]))
    assert run(["census", str(capture), "--out", str(tmp_path / "out"), "-q"]) == 0
    assert (len(made), asked) == (1, ["exchanges", "refusals"])


def test_latency_has_the_error_codes_of_the_package(made: list[Any], tables: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(["latency", str(tables), "--out", str(out), "-q", "--guide-url", "https://guide"]) == 0
    ((_, (exchanges,), how),) = made
    assert sorted(exchanges.columns) == sorted(reports.TIMED)
    assert [row["error_codes"] for row in exchanges.rows()] == [[3], []]
    assert {name: codes(3).name for name, codes in how.items()} == {"codes": "UNKNOWN_TOPIC_OR_PARTITION"}
    assert "Based on 2 captures: 2 requests" in " ".join((out / "latency.html").read_text().split())


def data(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def segment(number: int) -> str:
    return f"{number:020}.log"


def test_offsets_read_internal_topics_and_the_last_segments_of_others(
    made: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, asked, ends = tmp_path / "data", list[Any](), list[Any]()
    data(folder, f"orders-3/{segment(0)}", f"orders-3/{segment(7)}", f"__consumer_offsets-0/{segment(0)}")
    read = LocalEngine.read

    def noted(self: LocalEngine, table: str, inputs: Any, columns: Any, options: Any) -> Any:
        asked.append((table, inputs.logs, columns, options))
        return read(self, table, inputs, columns, options)

    def log_ends(table: Any, bases: Any) -> str:
        ends.append(bases)
        return "the ends"

    monkeypatch.setattr(LocalEngine, "read", noted)
    monkeypatch.setattr("kwire_inspect.reports.offsets.log_ends", log_ends)
    assert run(["offsets", str(folder), "--out", str(tmp_path / "out"), "-q"]) == 0
    ((_, (states, given), how),) = made
    assert (given, how, ends) == ("the ends", {"protocol": PROTOCOL}, [[("orders", 3, 7)]])
    (table, logs, columns, options), (other, last, of_ends, none) = asked
    assert (table, logs, {*options}) == ("records", (str(folder),), {"topics"})
    assert {"source", "position", "problem", "key", "value"} <= {*columns} == {*states.columns}
    assert (other, last, of_ends, none) == ("records", (f"{folder}/orders-3/{segment(7)}",), reports.PLACE, {})
    for option in (["--start", "1"], ["--end", "1"], ["--start", "1", "--end", "2"]):
        assert run(["offsets", str(folder), *option, "--out", str(tmp_path / "out"), "-q"]) == 2
        assert "--start and --end are not supported" in capsys.readouterr().err


def test_the_last_segment_of_each_partition_in_each_folder_has_its_end(tmp_path: Path) -> None:
    for broker in ("1", "2"):
        names = (
            f"orders-0/{segment(0)}",
            f"orders-0/{segment(9)}",
            f"orders-1/{segment(4)}",
            f"users-0/{segment(5)}",
        )
        snapshot = f"__cluster_metadata-0/{0:020}-0000000001.checkpoint"
        internal = (f"__consumer_offsets-0/{segment(3)}", f"__cluster_metadata-0/{segment(3)}", snapshot)
        data(tmp_path / broker, *names, *internal, f"__transaction_state-1/{segment(3)}")
    found: list[LogSegment] = last_segments((f"{tmp_path}/1", f"{tmp_path}/2"))
    assert sorted((str(one.path.parent.parent), one.topic, one.partition, one.base_offset) for one in found) == [
        (f"{tmp_path}/{broker}", topic, partition, offset)
        for broker in ("1", "2")
        for topic, partition, offset in (("orders", 0, 9), ("orders", 1, 4), ("users", 0, 5))
    ]


def test_usage_is_a_row_for_each_input_client_and_api() -> None:
    """The name of an API may be known in one of its rows, and a time be missing."""
    later = START.replace(hour=13)
    rows = [
        client(3, 9, 2, errors=1, refused=1, last_seen=None),
        client(3, 7, 3, errors=2, last_seen=later),
        client(3, 7, 4, api=None, last_seen=START),
        client(9999, 0, 1, api=None, last_seen=None),
        client(3, 7, 1, client_id=None, input_kind="request_log") | {"version": None},
        client(3, 7, 1, input_kind="request_log"),
    ]
    usage = usage_of(table_of(CLIENTS, *rows[::-1]).rows())
    names = ("client_id", "api_key", "input_kind", "api", "versions", "requests", "errors", "refused", "last_seen")
    assert [tuple(row[name] for name in names) for row in usage] == [
        (None, 3, "request_log", "Metadata", [], 1, 0, 0, START.replace(minute=1)),
        ("one", 3, "capture", "Metadata", [7, 9], 9, 3, 1, later),
        ("one", 3, "request_log", "Metadata", [7], 1, 0, 0, START.replace(minute=1)),
        ("one", 9999, "capture", None, [0], 1, 0, 0, None),
    ]


@pytest.mark.parametrize("command", ["clients", "readiness", "census", "latency"])
def test_pages_name_the_package_and_the_guide_that_are_given(
    made: list[Any], tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr("kwire.guide.Guide", lambda *given: asked.append(given))
    target = ["--target", "4.1.1"] if command == "readiness" else []
    for guide in ([], ["--guide-url", "https://guide/of/us"]):
        assert run([command, str(tables), *target, *guide, "--out", str(tmp_path / "out"), "-q"]) in (0, 1, 4)
    assert asked == [("https://guide/of/us/", PROTOCOL)]


def test_a_run_that_needs_action_ends_with_the_code_of_its_report(
    made: list[Any], tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for code in (0, 1, 4):
        monkeypatch.setattr(common.Run, "publish", lambda *_, code=code: code)
        assert run(["latency", str(tables), "--out", str(tmp_path / "out"), "-q"]) == code
