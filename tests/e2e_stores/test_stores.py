"""Inputs from servers of S3 and from a web server: the same tables as from files, by both engines."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pyarrow import parquet

from kwire.command import main as run
from kwire_inspect.inputs import find
from kwire_inspect.options import OptionError, Options
from kwire_inspect.storage import stores
from tests.cluster.jobs import many_clients
from tests.e2e_stores.s3_servers import client, upload
from tests.inspect.test_archives import rows

COMMANDS = ("clients", "readiness", "census", "latency", "offsets", "tables")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_of_s3_gives_the_same_tables(tmp_path: Path, given: Path, endpoint: str, command: str) -> None:
    upload(endpoint, given, "captures", "day 1%")
    options = ["--target", "4.1.1"] if command == "readiness" else []
    for name, place in (("file", str(given)), ("s3", "s3://captures/day 1%")):
        run([command, place, *options, "--out", str(tmp_path / name), "-q"])
    assert rows(tmp_path / "s3", "s3://captures/day 1%/") == rows(tmp_path / "file", f"{given}/") != {}


def test_many_objects_and_none(endpoint: str) -> None:
    store = client(endpoint)
    store.create_dir("many")
    for number in range(1100):
        with store.open_output_stream(f"many/logs/{number:04}.log") as made:
            made.write(b"x")
    assert len(Options({"path": "s3://many/logs"}).files()) == 1100
    assert len(Options({"path": "s3://many/*/000?.log"}).files()) == 10
    for name in ("s3://many/none", "s3://nobody/a"):
        with pytest.raises(OptionError, match="no such object or folder"):
            find([name])


def test_credentials_that_are_wrong_are_one_line(
    gateway: str, given: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    upload(gateway, given, "captures", "day")
    for name, told in (
        ("AWS_SECRET_ACCESS_KEY", "access is denied: check the credentials and their permissions"),
        ("AWS_ACCESS_KEY_ID", "the store does not know the access key: check the credentials"),
    ):
        monkeypatch.setenv(name, "wrong")
        stores.file_system.cache_clear()
        assert run(["clients", "s3://captures/day", "-q"]) == 2
        assert capsys.readouterr().err == f"kwire: s3://captures/day: {told}\n"


def test_spark_reads_s3(tmp_path: Path, given: Path, gateway: str) -> None:
    upload(gateway, given, "captures", "day")
    for engine in ("local", "spark"):
        options = ["--engine", engine, "--out", str(tmp_path / engine), "-q"]
        subprocess.run([sys.executable, "-m", "kwire", "clients", "s3://captures/day", *options], check=True)
    local, spark = (rows(tmp_path / engine, "")["clients-list.parquet"] for engine in ("local", "spark"))
    assert local == spark != []


def test_a_large_file_of_a_web_server_that_knows_no_parts(tmp_path: Path, pages: Path, site: str) -> None:
    """What was read before the first part that it does not send stays, and nothing is read twice."""
    many_clients(pages / "large.pcap")
    for name, place in (("file", str(pages)), ("web", site)):
        run(["clients", f"{place}/large.pcap", "--engine", "local", "--out", str(tmp_path / name), "-q"])
    whole, read = (parquet.read_table(tmp_path / name / "clients").to_pylist() for name in ("file", "web"))
    [problem] = parquet.read_table(tmp_path / "web" / "problems").to_pylist()
    assert problem["problem"] == f"cannot be read: {stores.WHOLE}"
    counts, most = ({(row["client_host"], row["api"]): row["requests"] for row in rows} for rows in (read, whole))
    assert 0 < len(counts) < len(most)
    assert all(number <= most[key] for key, number in counts.items())


def test_files_of_a_web_server(tmp_path: Path, pages: Path, site: str) -> None:
    (pages / "captures" / "a@b.pcap.gz").write_bytes((pages / "captures" / "a.pcap.gz").read_bytes())
    run(["clients", str(pages / "captures" / "a.pcap.gz"), "--out", str(tmp_path / "file"), "-q"])
    expected = rows(tmp_path / "file", f"{pages}/captures/a.pcap.gz")
    for name in ("a.pcap.gz", "a%40b.pcap.gz"):
        run(["clients", f"{site}/captures/{name}", "--out", str(tmp_path / name), "-q"])
        assert rows(tmp_path / name, f"{site}/captures/{name}") == expected != {}
