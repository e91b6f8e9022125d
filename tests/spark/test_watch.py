"""kwire watch: the table is kept until a signal ends it, and what is left out is told."""

from __future__ import annotations

import io
import os
import signal
import threading
import time
from contextlib import nullcontext
from itertools import product
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
from kwire_kafka import PROTOCOL
from kwire_spark.command import watch
from kwire_spark.command.watch import ProgressPrinter
from kwire_spark.command.watch_inputs import FolderInput
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
        ([".", "--target", "4.1", "--table-format", "csv"], "--target needs a local Parquet table"),
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
    followed = stream.follow.return_value
    assert stream.keep.call_args == call(followed, out, format="parquet", inputs=f"captures in {tmp_path}")
    assert stream.keep().trigger.call_args == call(availableNow=True)
    assert stream.session.call_args == call(None, brief=False)
    defaults = {"ports": frozenset(), "late": "10 minutes", "protocol": PROTOCOL, "key_log": ""}
    assert stream.follow.call_args.kwargs == told | defaults


@pytest.mark.slow
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


@pytest.mark.slow
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
    assert f"{len(sent):,} packets in 1 batch into" in capsys.readouterr().err
    assert {row["api"] for row in pq.read_table(out / "clients").to_pylist()} >= {"ApiVersions"}
    assert not spark.streams.active
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL, "the handlers are those from before"


def progress_of(number: int, rows: int, late: int = 0) -> dict[str, Any]:
    """What Spark tells of a batch; without rows, of one in which only time passed, or that is yet to come."""
    return {"batchId": number, "numInputRows": rows, "stateOperators": [{"numRowsDroppedByWatermark": late}]}


FIRST, IDLE, SECOND, LAST = progress_of(0, 10), progress_of(1, 0), progress_of(1, 200), progress_of(2, 3000)


@pytest.mark.parametrize(
    ("looks", "pages"),
    [
        ([], []),
        ([[]], [0]),
        ([[], [progress_of(0, 0)], [], [FIRST], []], [0, 0, 0, 1]),
        ([[FIRST], [IDLE], [], [SECOND], []], [1, 2]),
        ([[FIRST, IDLE], [SECOND], [progress_of(2, 0)]], [1, 2]),
    ],
)
@pytest.mark.parametrize("ended", ["before", "at stop", "after waiting", "after reading"])
def test_a_page_follows_each_batch_and_the_last_page_has_all(
    stream: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    looks: list[list[Any]],
    pages: list[int | str],
    ended: str,
) -> None:
    """Each look at the query finds some progress; the last batch ends after the last look. A page counts batches."""
    query, left, done, lost = stream.query, [*looks], list[int | str](), [0]
    query.isActive = ended != "before"
    query.status = {"isDataAvailable": ended != "at stop", "isTriggerActive": ended in ("at stop", "after waiting")}

    def finish(how: str) -> None:
        done.append(how)
        if LAST not in query.recentProgress:
            query.recentProgress.append(LAST)
        query.status["isTriggerActive"], lost[0] = False, 3

    def wait(_: float) -> bool:
        if not left:
            return True
        query.recentProgress.extend(left.pop(0))
        return False

    def update() -> bool:
        done.append(sum(batch["numInputRows"] > 0 for batch in query.recentProgress))
        return done[-1] != 0

    query.stop.side_effect = lambda: finish("at stop")
    query.processAllAvailable.side_effect = lambda: finish("after reading")
    monkeypatch.setattr(FolderInput, "end", lambda _: ended in ("before", "after reading"))
    monkeypatch.setattr(FolderInput, "dropped", property(lambda _: lost[0]))
    monkeypatch.setattr(watch, "interruption", lambda: nullcontext(SimpleNamespace(wait=wait)))
    monkeypatch.setattr(
        watch, "time", SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: finish("after waiting"))
    )
    monkeypatch.setattr("kwire_inspect.command.live.live_report", lambda *_: SimpleNamespace(update=update))
    out = str(tmp_path / "out")
    assert run(["watch", str(tmp_path), "--target", "4.1", "--out", out]) == 0
    looks = looks if ended != "before" else []
    batches = [LAST, *(one for look in looks for one in look if one["numInputRows"])]
    assert done == [*pages[: len(looks)], *[ended] * ended.startswith("after"), "at stop", len(batches)]
    told = capsys.readouterr().err
    packets = sum(one["numInputRows"] for one in batches)
    assert f"Read {packets:,} packets in {len(batches)} batch{'es' if batches[1:] else ''} into the table" in told
    assert told.count("dropped 3 packets while capturing") == 1


def test_packets_lost_while_capturing_are_told_when_there_are_more(capsys: pytest.CaptureFixture[str]) -> None:
    progress = ProgressPrinter(Console(stderr=True, width=200))
    for lost in (0, 3, 3, 5, 5, 6):
        progress.lost(lost)
    told = capsys.readouterr().err.splitlines()
    assert [line.partition(" while")[0] for line in told] == [f"dropped {lost} packets" for lost in (3, 5, 6)]


@pytest.mark.parametrize("forgets", [False, True])
def test_batches_are_counted_once_whenever_one_looks(forgets: bool) -> None:
    """The progress of an idle query has the number of the batch to come. Spark keeps some progress, not all."""
    for kinds, looks in product(product(("idle", "empty", "full", "late"), repeat=3), product((0, 1), repeat=2)):
        printed, told, since = io.StringIO(), list[str](), list[tuple[int, int]]()
        query, progress, number = SimpleNamespace(recentProgress=[]), ProgressPrinter(Console(file=printed)), 0
        for place, (kind, look) in enumerate(zip(kinds, (*looks, 1), strict=True)):
            rows, late = 10**place * (kind in ("full", "late")), (place + 1) * (kind == "late")
            query.recentProgress.append(progress_of(number, rows, late))
            number += kind != "idle"
            since += [(rows, late)] if rows else []
            if look:
                assert [progress.update(cast(Any, query)) for _ in range(2)] == [bool(since), False]
                if lost := sum(late for _, late in since):
                    told.append(f"dropped {lost} packets that arrived too late: increase --late")
                query.recentProgress, since = query.recentProgress[-1:] if forgets else query.recentProgress, []
        full = [place for place, kind in enumerate(kinds) if kind in ("full", "late")]
        assert (progress.batches, progress.packets) == (len(full), sum(10**place for place in full))
        assert progress.late == sum(place + 1 for place, kind in enumerate(kinds) if kind == "late")
        assert printed.getvalue().splitlines() == told


def test_it_names_what_it_watches_and_whether_it_reads_or_waits(capsys: pytest.CaptureFixture[str]) -> None:
    progress = ProgressPrinter(Console(stderr=True, width=40))
    folder = "captures in /Some/[red]folder[/x]"
    progress.begin(folder, "page is kwire-out/readiness.html")
    assert capsys.readouterr().err == f"Watching {folder}. The page is kwire-out/readiness.html\n"
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
    assert f"Watching captures in {folder}. The report page is {out}/readiness.html\n" in told
    assert told.count("refused by 4.0.0 ") == 1
    assert told.count("refused by 4.1.1 ") == 1
    page = (out / "readiness.html").read_text()
    assert '<meta http-equiv="refresh" content="30">' in page
    metrics = (out / "kwire.prom").read_text()
    assert 'kwire_clients{target="4.1.1",verdict="refused"} 1\n' in metrics
    assert run([*command, "--target", "4.1.1"]) == 0, "its own files may be replaced"
    assert capsys.readouterr().err.count("refused by 4.1.1 ") == 1
