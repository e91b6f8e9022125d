"""Servers of S3 that others wrote, each a process of its own on loopback: ``servers`` has their versions and digests.

They are built by ``go``, when they are needed first.
"""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from pyarrow.fs import S3FileSystem

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "build" / "stores"
SOURCES = Path(__file__).with_name("servers")
KEY, SECRET = "operator", "a secret/with+signs"
"""The credentials that the gateway asks for."""
REGION = "us-east-1"
GATEWAY, FAKE = SERVERS = "versitygw", "gofakes3"
"""A gateway to a folder, which checks credentials and limits; and a store in memory for tests of others."""
STARTING = 60.0


@contextmanager
def serving(server: str, folder: Path) -> Iterator[str]:
    """The address of a server within a ``with`` block, which keeps what it keeps in ``folder``."""
    port = free_port()
    host = f"127.0.0.1:{port}"
    for name in ("objects", "attributes"):
        (folder / name).mkdir(parents=True)
    kept = ["posix", "--sidecar", f"{folder}/attributes", f"{folder}/objects"]
    options = {
        GATEWAY: ["--access", KEY, "--secret", SECRET, "--port", host, "--quiet", *kept],
        FAKE: ["-host", host, "-backend", "memory", "-quiet"],
    }
    with (folder / f"{server}.txt").open("wb") as output:
        running = subprocess.Popen([built() / server, *options[server]], stdout=output, stderr=subprocess.STDOUT)
    try:
        wait_for(port, running)
        yield f"http://{host}"
    finally:
        running.terminate()
        running.wait(STARTING)


def client(endpoint: str) -> S3FileSystem:
    """Arrow's client, which may create buckets, and writes a small object by one request: of one in parts, gofakes3
    lists the time of the last request and describes that of the first."""
    return S3FileSystem(
        access_key=KEY,
        secret_key=SECRET,
        region=REGION,
        endpoint_override=endpoint,
        allow_bucket_creation=True,
        allow_delayed_open=True,
    )


def upload(endpoint: str, folder: Path, bucket: str, prefix: str) -> None:
    """Write all files of a folder to a bucket."""
    store = client(endpoint)
    store.create_dir(bucket)
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            with store.open_output_stream(f"{bucket}/{prefix}/{file.relative_to(folder)}", compression=None) as made:
                made.write(file.read_bytes())


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    """Return when a process listens on a port."""
    deadline = time.monotonic() + STARTING
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.1)


@cache
def built() -> Path:
    BUILT.mkdir(parents=True, exist_ok=True)
    subprocess.run(["go", "build", "-mod=readonly", "-o", f"{BUILT}/", "tool"], cwd=SOURCES, check=True)
    return BUILT
