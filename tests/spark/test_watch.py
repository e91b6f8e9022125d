"""kwire watch: the table is kept until a signal ends it, and what is left out is told."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import MagicMock, call

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from rich.console import Console

from kwire.command import main as run
from kwire.errors import KwireError
from kwire.protocol import MessageRegistry
from kwire_inspect.tables.clients import EXCHANGE_COLUMNS
from kwire_spark.command import watch
from kwire_spark.command.watch import ProgressPrinter
from tests.inspect.test_interfaces import LO, Install, capture_in
from tests.inspect.test_interfaces import install as install
from tests.support.capture_files import packets, recorded, write_pcap

RECORDING = "kafka-python-on-3.9.1"
LONGEST = 300.0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["missing"], "missing: no such folder"),
        ([".", "--ports", "kafka"], "comma-separated port numbers"),
        ([".", "--settled", "-1"], "--settled"),
        ([".", "--target", "4.9"], "unknown release '4.9'"),
        ([".", "--target", "4.1", "--owners", "missing.csv"], "owners missing.csv: No such file"),
        ([".", "--owners", "some.csv"], "--owners needs --target"),
        ([".", "--target", "4.1", "--table-format", "csv"], "--target needs a table in Parquet"),
    ],
)
def test_wrong_usage(capsys: pytest.CaptureFixture[str], arguments: list[str], told: str) -> None:
    assert run(["watch", *arguments]) == 2
    assert told in capsys.readouterr().err


@pytest.fixture
def stream(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Stands in for Spark, and notes what it is told; its query has ended."""
    spark = MagicMock()
    monkeypatch.setattr("kwire_spark.session.spark_session", spark.session)
    monkeypatch.setattr("kwire_spark.streams.connections.follow", spark.follow)
    monkeypatch.setattr("kwire_spark.streams.keeping.keep_clients", spark.keep)
    query = spark.keep().trigger().start()
    query.isActive, query.recentProgress, query.status = False, [], {"isDataAvailable": False}
    query.exception.return_value = None
    spark.keep.reset_mock()
    spark.query = query
    return spark


def test_what_the_stream_is_told(stream: Any, tmp_path: Path, newer: MessageRegistry) -> None:
    (tmp_path / "keys").touch()
    keys, out = str(tmp_path / "keys"), str(tmp_path / "out")
    given = ["--ports", "9092,9094", "--late", "3 hours", "--table-format", "csv", "--key-log", keys]
    more = ["--protocol", newer.package, "--master", "local[3]", "--out", out]
    assert run(["watch", str(tmp_path), *given, *more, "-q"]) == 0
    assert stream.session.call_args == call("local[3]", brief=False)
    _, told = stream.follow.call_args
    assert told == {
        "rows": "exchanges",
        "columns": EXCHANGE_COLUMNS,
        "ports": {9092, 9094},
        "late": "3 hours",
        "protocol": newer,
        "key_log": keys,
    }
    assert stream.keep.call_args == call(stream.follow(), out, format="csv", inputs=f"captures in {tmp_path}")
    assert stream.keep().trigger.call_args == call(processingTime="1.0 seconds")
    assert run(["watch", str(tmp_path), "--once", "--out", out, "-q"]) == 0
    assert stream.keep().trigger.call_args == call(availableNow=True)


def test_it_ends_after_a_time_and_says_why_the_stream_failed(
    stream: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(watch, "POLL_SECONDS", 0.01)
    stream.query.isActive, stream.query.status["isTriggerActive"] = True, False
    stream.query.exception.return_value = KwireError("the stream broke")
    began = time.monotonic()
    assert run(["watch", str(tmp_path), "--for", "1s", "--out", str(tmp_path / "out"), "-q"]) == 3
    assert 1 <= time.monotonic() - began < 30
    assert capsys.readouterr().err == "kwire: the stream broke\n"
    stream.query.stop.assert_called_once_with()


def test_it_fails_if_the_capture_ends_by_itself(
    stream: Any, install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And reads what was captured until then."""
    monkeypatch.setattr(watch, "POLL_SECONDS", 0.01)
    folder = install(last=["dumpcap: The network adapter is no longer running"], stays=False, code=2)
    capture_in(folder, recorded(RECORDING)[0])
    stream.query.isActive, stream.query.status["isTriggerActive"] = True, False
    assert run(["watch", "--interface", LO, "--ports", "9092", "--for", "60s", "--out", str(tmp_path), "-q"]) == 3
    assert f"dumpcap on {LO} ended with exit code 2" in capsys.readouterr().err
    stream.query.processAllAvailable.assert_called_once_with()


def test_it_runs_until_it_is_interrupted(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = tmp_path / "captures", tmp_path / "out"
    folder.mkdir()
    sent = packets(recorded(RECORDING)[0])
    write_pcap(folder / "some.pcap", sent)

    def interrupt() -> None:
        deadline = time.monotonic() + LONGEST
        while not (out / "clients").exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=interrupt)
    thread.start()
    assert run(["watch", str(folder), "--out", str(out), "--settled", "0"]) == 0
    thread.join()
    assert f"{len(sent):,} packets in 1 batch;" in capsys.readouterr().err
    assert {row["api"] for row in pq.read_table(out / "clients").to_pylist()} >= {"ApiVersions"}
    assert not spark.streams.active
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL, "the handlers are those from before"


def test_packets_that_came_too_late_are_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    query = SimpleNamespace(recentProgress=[])
    progress = ProgressPrinter(Console(stderr=True))
    for number, late in enumerate([0, 3]):
        state = {"numRowsDroppedByWatermark": late}
        query.recentProgress.append({"batchId": number, "numInputRows": 10, "stateOperators": [state]})
        progress.update(cast(Any, query))
        progress.update(cast(Any, query))
    assert str(progress) == "20 packets in 2 batches"
    assert capsys.readouterr().err == "dropped 3 packets that arrived too late: see --late\n"


def test_it_names_what_it_watches_and_whether_it_reads_or_waits(capsys: pytest.CaptureFixture[str]) -> None:
    progress = ProgressPrinter(Console(stderr=True, width=40))
    folder = "captures in /Some/[red]folder[/x]"
    progress.begin(folder, "page is kwire-out/readiness.html")
    assert capsys.readouterr().err == f"Watching {folder}; the page is kwire-out/readiness.html\n"
    assert progress.doing(folder, reading=True) == f"Reading {folder} …"
    assert progress.doing(folder, reading=False) == f"Waiting for {folder} …"
    progress.batches, progress.packets = 1, 20
    assert progress.doing(folder, reading=True) == f"20 packets in 1 batch so far; reading {folder} …"


@pytest.mark.long
def test_with_a_target_it_keeps_page_and_metrics_and_tells_who_is_refused(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = tmp_path / "captures", tmp_path / "[red]out[/x]"
    folder.mkdir()
    for number, conversation in enumerate(recorded("kafka-python-as-of-0.10-on-3.9.1")):
        write_pcap(folder / f"{number}.pcap", packets(conversation))
    command = ["watch", str(folder), "--once", "--out", str(out), "--settled", "0"]
    assert run([*command, "--target", "4.0.0", "--target", "4.1.1"]) == 0
    told = capsys.readouterr().err
    assert f"Watching captures in {folder}; the page is {out}/readiness.html\n" in told
    assert told.count("refused by 4.0.0 ") == 1
    assert told.count("refused by 4.1.1 ") == 1
    page = (out / "readiness.html").read_text()
    assert '<meta http-equiv="refresh" content="30">' in page
    metrics = (out / "kwire.prom").read_text()
    assert 'kwire_clients{target="4.1.1",verdict="refused"} 1\n' in metrics
    assert run([*command, "--target", "4.1.1"]) == 0, "its own files may be replaced"
    assert capsys.readouterr().err.count("refused by 4.1.1 ") == 1
