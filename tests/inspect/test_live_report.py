"""The report that ``watch`` keeps: page, metrics and what is told of a table that changes. Needs no Spark."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from kwire.command import main as run
from kwire_inspect.command.engines import LocalEngine
from kwire_inspect.command.live import live_report
from kwire_inspect.options import OptionError
from kwire_inspect.reasons import TLS
from kwire_inspect.reports.client_usage import Client, Use
from kwire_inspect.reports.judgement import Judgement
from kwire_inspect.schemas import CLIENTS, PROBLEMS
from kwire_kafka import PROTOCOL
from tests.support.capture_files import packets, recorded, write_pcap
from tests.support.report_rows import client, clients_of, write_rows


@pytest.mark.slow
def test_what_it_says_of_a_table_that_grows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    """Two targets, two owners, and a client at two addresses that uses more versions in time."""
    (tmp_path / "owners.csv").write_text("owner,client_id\nTeam A,one\nTeam B,two\n")
    given = str(tmp_path), "parquet", ["4.0.0", "4.1.1"], str(tmp_path / "owners.csv"), PROTOCOL
    live = live_report(*given, Console(stderr=True, width=80))
    first = [client(0, 1, 5, refused=1), client(0, 1, 2, client_host="10.0.0.2"), client(11, 1, 3, client_id="two")]
    more = [client(0, 2, 1), client(1, 3, 1), client(0, 1, 1, client_id=None, client_host="10.0.0.3")]
    said, checks = [], []
    for rows in (first, first, [*first, *more]):
        write_rows(clients_of(*rows).table.batches(CLIENTS), CLIENTS, str(tmp_path), "clients")
        write_rows([pa.RecordBatch.from_pylist([], PROBLEMS)], PROBLEMS, str(tmp_path), "problems")
        assert live.update()
        said.append(capsys.readouterr().err.splitlines())
        suites = (tmp_path / "readiness.junit.xml").read_text()
        checks.append(re.findall(r'classname="Kafka 4.1.1" name="(.*?)"', suites))
    assert said == [
        [
            "refused by 4.0.0 one: Produce 1",
            "refused by 4.0.0 two: JoinGroup 1",
            "refused by 4.1.1 one: Produce 1",
        ],
        [],
        [
            f"refused by {target} {what}"
            for target in ("4.0.0", "4.1.1")
            for what in ("a client without an id at 10.0.0.3: Produce 1", "one: Fetch 3, Produce 1, Produce 2")
        ],
    ]
    assert checks[0] == ["one (Team A)", "two (Team B)"]
    assert (tmp_path / "kwire.prom").read_text() == snapshot


@pytest.mark.parametrize(("out", "kind"), [("s3://bucket/out", "parquet"), ("out", "csv")])
def test_a_live_report_needs_a_table_that_this_process_can_read(out: str, kind: str) -> None:
    with pytest.raises(OptionError, match="needs a local Parquet table"):
        live_report(out, kind, ["4.1.1"], None, PROTOCOL, Console(quiet=True))


def test_a_refused_client_is_told_once_wherever_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    live = live_report(str(tmp_path), "parquet", ["4.1.1"], None, PROTOCOL, Console(stderr=True))
    for hosts in (["10.0.0.1"], ["10.0.0.2", "10.0.0.3"]):
        uses = [Use(Client("one", host, None, None), 0, "Produce", 1) for host in hosts]
        live._tell(Judgement.of(uses, live.targets[0]))
    assert capsys.readouterr().err == "refused by 4.1.1 one: Produce 1\n"
    live._tell(Judgement.of([Use(Client("one", "10.0.0.1", None, None), 0, "Produce", 2)], live.targets[0]))
    assert capsys.readouterr().err == "refused by 4.1.1 one: Produce 2\n"


@pytest.mark.slow
@pytest.mark.parametrize("beside", ["nothing unread", "much unread", "no problems"])
def test_its_page_is_that_of_the_command(tmp_path: Path, beside: str) -> None:
    unjudged = client(0, 2, client_id=None, input_kind="server_log", refused=3) | {"version": None}
    table = clients_of(client(0, 1, 5, refused=2), client(3, 12, client_id="two"), unjudged).table
    write_rows(table.batches(CLIENTS), CLIENTS, str(tmp_path), "clients")
    unread = {"problem": TLS, "places": 1, "connections": 1, "unread": 10**9, "source": "a.pcap", "position": 7}
    if beside != "no problems":
        problems = pa.RecordBatch.from_pylist([unread] * (beside == "much unread"), PROBLEMS)
        write_rows([problems], PROBLEMS, str(tmp_path), "problems")
    (tmp_path / "owners.csv").write_text("owner,client_id\nTeam A,two\n")
    given, owners = ["3.9.1", "4.1.1"], str(tmp_path / "owners.csv")
    assert live_report(str(tmp_path), "parquet", given, owners, PROTOCOL, Console(quiet=True)).update()
    pages = [(tmp_path / "readiness.html").read_text()]
    targets = [part for target in given for part in ("--target", target)]
    assert run(["readiness", str(tmp_path), *targets, "--owners", owners, "--out", str(tmp_path), "-q"]) == 1
    pages.append((tmp_path / "readiness.html").read_text())
    changing = r'<meta http-equiv="refresh" content="30">\n?|Made on [^<]* UTC'
    live, reported = (re.sub(changing, "", page) for page in pages)
    assert live == reported


def test_a_report_on_no_table_waits(tmp_path: Path) -> None:
    live = live_report(str(tmp_path), "parquet", ["4.1.1"], None, PROTOCOL, Console(stderr=True))
    assert not live.update()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("at", ["before", "after", "cut off", "not allowed"])
def test_a_table_that_is_replaced_while_it_is_read_is_not_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    capture = tmp_path / "a.pcap"
    write_pcap(capture, packets(recorded("kafka-python-as-of-0.10-on-3.9.1")[0]))
    out = tmp_path / "out"
    assert run(["clients", str(capture), "--out", str(out), "--engine", "local", "-q"]) == 0
    live = live_report(str(out), "parquet", ["4.1.1"], None, PROTOCOL, Console(stderr=True))
    assert live.update()
    (out / "readiness.html").unlink()
    read = LocalEngine.read

    def vanishes(self: LocalEngine, *given: Any) -> Any:
        if at == "after":
            found = read(self, *given)
        if at == "not allowed":
            raise PermissionError(13, "Permission denied")
        for file in (out / "clients").rglob("*.parquet"):
            if at == "cut off":
                file.write_bytes(file.read_bytes()[:-1])
            else:
                file.unlink()
        return found if at == "after" else read(self, *given)

    monkeypatch.setattr(LocalEngine, "read", vanishes)
    assert not live.update()
    assert not (out / "readiness.html").exists()
