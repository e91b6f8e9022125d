"""The commands census and latency, from files to pages; what offsets need."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from pyarrow import parquet

from kwire.command import main as run
from kwire.connection.events import CLIENT, SERVER
from kwire_inspect.inputs import find
from kwire_inspect.readers import read_batches
from tests.support.capture_files import Conversation, packets, write_pcap

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first lines of a real request log, and one that was cut off."""
    path = tmp_path_factory.mktemp("given") / "kafka-request.log"
    lines = gzip.decompress((DATA / "request_logs" / "3.9.1.log.gz").read_bytes()).splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:30]) + b'[2026-01-02 12:00:00,000] INFO Completed request:{"is')
    return path


def test_census(log: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["census", str(log), "--out", str(tmp_path), "-q"]) == 0
    told = capfd.readouterr().out
    assert "Clients and API versions" in told
    assert "Some input could not be read. The last table lists 1 reason." in told
    requests = parquet.read_table(tmp_path / "census-versions.parquet").column("requests").to_pylist()
    forwarded = [row for batch in read_batches("exchanges", find([log])) for row in batch["forwarded"].to_pylist()]
    assert sum(requests) == forwarded.count(False) < len(forwarded) - 1  # passed on, a request is still one
    assert parquet.read_table(tmp_path / "clients").num_rows


@pytest.mark.parametrize("name", ["clients", "census", "readiness", "latency"])
def test_pages_link_to_the_guide(log: Path, tmp_path: Path, name: str) -> None:
    options = ["--target", "4.1.1"] if name == "readiness" else []
    assert run([name, str(log), *options, "--out", str(tmp_path), "-q", "--guide-url", "../site"]) in (0, 1)
    assert 'href="../site/api/' in (tmp_path / f"{name}.html").read_text()


@pytest.mark.slow
def test_readiness_of_several_targets_by_owner_and_since_an_earlier_run(
    log: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    owners = tmp_path / "owners.csv"
    owners.write_text("owner,client_id\nTeam A,*\n")
    out = tmp_path / "out"
    command = ["readiness", str(log), "--target", "4.0.0", "--target", "4.1.1", "--out", str(out), "-q"]
    first = run([*command, "--owners", str(owners)])
    told = capfd.readouterr().out
    assert "Kafka 4.0.0 refuses" in told
    assert "Kafka 4.1.1 refuses" in told
    assert parquet.read_table(out / "readiness-owners.parquet").column("owner").to_pylist() == ["Team A"]
    assert run([*command, "--since", str(out)]) == first  # the table that this run replaces
    assert "Since the earlier run: 0 clients newly refused, 0 no longer" in " ".join(capfd.readouterr().out.split())
    assert parquet.read_table(out / "readiness-changes.parquet").num_rows == 0


def test_an_earlier_run_without_clients_is_wrong_usage(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["readiness", str(log), "--target", "4.1.1", "--out", str(tmp_path / "out"), "-q"]
    assert run([*command, "--since", str(log)]) == 2
    assert "this folder contains no table clients. Specify the --out of an earlier run" in " ".join(
        capsys.readouterr().err.split()
    )


def test_another_address_of_the_guide_is_wrong_usage(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["census", str(log), "--out", str(tmp_path / "out"), "--guide-url", "javascript:\x1bx"]) == 2
    assert "`javascript:\\x1bx` is not the address of a folder" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "out").exists()


def test_latency(log: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["latency", str(log), "--out", str(tmp_path), "-q"]) == 0
    assert "Latency of requests" in capfd.readouterr().out
    rows = parquet.read_table(tmp_path / "latency-apis.parquet").to_pylist()
    assert {row["input_kind"] for row in rows} == {"request_log", "forwarded"}
    assert all(0 <= row["p50_ms"] <= (row["p99_ms"] or row["max_ms"]) <= row["max_ms"] for row in rows)
    assert all(row["local_ms"] is not None for row in rows)


@pytest.mark.parametrize("name", ["clients", "census", "latency"])
def test_no_request_is_no_success(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    quiet = tmp_path / "server.log"
    quiet.write_text("[2026-01-02 12:00:00,000] INFO [KafkaServer id=1] started (kafka.server.KafkaServer)\n")
    assert run([name, str(quiet), "--out", str(tmp_path / "out"), "-q"]) == 2
    assert "no requests found in 1 server log" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["clients", "census", "latency", "readiness"])
def test_without_a_request_too_little_was_read(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    hello = b"\x16\x03\x01\x02\x00\x01" + bytes(511)
    capture = write_pcap(tmp_path / "tls.pcap", packets(Conversation([(CLIENT, 0, hello), (SERVER, 1, hello)])))
    target = ["--target", "4.1.1"] if name == "readiness" else []
    assert run([name, str(capture), *target, "--out", str(tmp_path / "out"), "-q"]) == 4
    told = " ".join(capsys.readouterr().out.split())
    assert "INCOMPLETE: only 0.0 % of the bytes" in told
    assert "not Kafka: TLS" in told
    assert run([name, str(capture), *target, "--out", str(tmp_path / "none"), "-q", "--min-coverage", "0"]) == 2
    assert "no requests found in 1 capture (tls.pcap): not Kafka: TLS: decrypt the traffic" in capsys.readouterr().err


def test_offsets_need_a_data_directory(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["offsets", str(log), "--out", str(tmp_path), "-q"]) == 2
    assert "offsets needs a broker's data directory" in capsys.readouterr().err


def test_offsets_are_those_of_the_whole_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = str(DATA / "logs" / "4.1.1" / "__consumer_offsets-0")
    assert run(["offsets", given, "--end", "2026-01-02T12:00", "--out", str(tmp_path), "-q"]) == 2
    assert "--start and --end are not supported" in capsys.readouterr().err
