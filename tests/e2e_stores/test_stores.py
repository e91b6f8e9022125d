"""Inputs from a server of S3 that others wrote, and from a web server: the same tables as from files.

Needs KWIRE_E2E_STORES=1, and what the lists of pinned packages lack: ``moto[s3]``, ``flask``, ``flask-cors``,
``fsspec`` and ``aiohttp``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kwire_spark.command import run
from kwire_spark.inputs import find
from kwire_spark.options import OptionError, Options
from kwire_spark.storage import remote
from tests.pipeline.small_sample import left_behind
from tests.pipeline.test_archives import rows

pytestmark = pytest.mark.skipif(
    not os.environ.get("KWIRE_E2E_STORES"), reason="needs KWIRE_E2E_STORES=1, moto and fsspec"
)

COMMANDS = ("clients", "readiness", "census", "latency", "offsets", "decode")


@pytest.fixture
def given(tmp_path: Path) -> Path:
    (tmp_path / "given").mkdir()
    left_behind(tmp_path / "given")
    return tmp_path / "given"


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of moto's server, which this process uses for S3."""
    from moto.server import ThreadedMotoServer  # type: ignore[import-not-found]

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in (
        ("AWS_ENDPOINT_URL", f"http://{host}:{port}"),
        ("AWS_ACCESS_KEY_ID", "key"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
    ):
        monkeypatch.setenv(name, value)
    remote.file_system.cache_clear()
    yield f"http://{host}:{port}"
    remote.file_system.cache_clear()
    server.stop()


def upload(endpoint: str, folder: Path, bucket: str, prefix: str) -> None:
    from pyarrow.fs import S3FileSystem

    store = S3FileSystem(endpoint_override=endpoint, allow_bucket_creation=True)
    store.create_dir(bucket)
    for file in folder.rglob("*"):
        if file.is_file():
            with store.open_output_stream(f"{bucket}/{prefix}/{file.relative_to(folder)}", compression=None) as made:
                made.write(file.read_bytes())


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_of_s3_gives_the_same_tables(tmp_path: Path, given: Path, endpoint: str, command: str) -> None:
    upload(endpoint, given, "captures", "day 1%")
    options = ["--target", "4.1.1"] if command == "readiness" else []
    for name, place in (("file", str(given)), ("s3", "s3://captures/day 1%")):
        run([command, place, *options, "--out", str(tmp_path / name), "-q"])
    assert rows(tmp_path / "s3", "s3://captures/day 1%/") == rows(tmp_path / "file", f"{given}/") != {}


def test_many_objects_and_none(endpoint: str, tmp_path: Path) -> None:
    from pyarrow.fs import S3FileSystem

    store = S3FileSystem(endpoint_override=endpoint, allow_bucket_creation=True)
    store.create_dir("many")
    for number in range(1100):
        with store.open_output_stream(f"many/logs/{number:04}.log") as made:
            made.write(b"x")
    assert len(Options({"path": "s3://many/logs"}).files()) == 1100
    assert len(Options({"path": "s3://many/*/000?.log"}).files()) == 10
    for name in ("s3://many/none", "s3://nobody/a"):
        with pytest.raises(OptionError, match="no such object or folder"):
            find([name])


def test_a_file_of_a_web_server(tmp_path: Path, given: Path) -> None:
    pytest.importorskip("aiohttp")
    handler = partial(SimpleHTTPRequestHandler, directory=str(given))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        root = f"http://127.0.0.1:{server.server_address[1]}"
        for name, place in (("file", str(given)), ("web", root)):
            run(["clients", f"{place}/captures/a.pcap.gz", "--out", str(tmp_path / name), "-q"])
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert rows(tmp_path / "web", f"{root}/") == rows(tmp_path / "file", f"{given}/") != {}


def test_spark_reads_s3(tmp_path: Path, given: Path, endpoint: str) -> None:
    upload(endpoint, given, "captures", "day")
    for engine in ("local", "spark"):
        options = ["--engine", engine, "--out", str(tmp_path / engine), "-q"]
        subprocess.run([sys.executable, "-m", "kwire_spark", "clients", "s3://captures/day", *options], check=True)
    local, spark = (rows(tmp_path / engine, "")["clients-list.parquet"] for engine in ("local", "spark"))
    assert local == spark != []
