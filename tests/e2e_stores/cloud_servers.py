"""Servers of Google's and Azure's stores that others wrote, each a process of its own on loopback, and the
environment in which Arrow's libraries take them for these stores."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kwire_inspect.storage.stores import CONNECTION_STRING, file_system
from tests.e2e_stores.s3_servers import BUILT, SOURCES, STARTING, built, free_port, wait_for
from tests.e2e_traffic.languages import installed_by_npm

ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Those that Azurite has; its documentation has them, too."""
GOOGLE, AZURE = CLOUDS = "gs", "abfss"
BUCKETS = {GOOGLE: "captures", AZURE: f"captures@{ACCOUNT}.dfs.core.windows.net"}
"""What follows the scheme in addresses."""


@contextmanager
def serving(cloud: str, folder: Path) -> Iterator[dict[str, str]]:
    """The environment of its clients within a ``with`` block."""
    folder.mkdir(parents=True)
    port = free_port()
    command, environment = (_google if cloud == GOOGLE else _azure)(port, folder)
    with (folder / "printed.txt").open("wb") as output:
        running = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=folder)
    try:
        wait_for(port, running)
        yield environment
    finally:
        running.terminate()
        running.wait(STARTING)


def upload(cloud: str, folder: Path, prefix: str) -> None:
    """Write all files of a folder to the bucket, by the client that kwire has."""
    store, bucket = file_system(cloud, BUCKETS[cloud])
    store.create_dir(bucket)
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            with store.open_output_stream(f"{bucket}/{prefix}/{file.relative_to(folder)}", compression=None) as made:
                made.write(file.read_bytes())


def _google(port: int, folder: Path) -> tuple[list[str], dict[str, str]]:
    """Google's library signs what it sends, so that no other server is asked for a token; nobody checks it here."""
    options = ["-backend", "memory", "-scheme", "http", "-host", "127.0.0.1", "-port", str(port)]
    command = [str(built() / "fake-gcs-server"), *options, "-public-host", f"127.0.0.1:{port}", "-log-level", "warn"]
    making = ["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"]
    account = {
        "type": "service_account",
        "project_id": "kwire",
        "private_key_id": "1",
        "private_key": subprocess.run(making, capture_output=True, text=True, check=True).stdout,
        "client_email": "reader@kwire.invalid",
        "client_id": "1",
        "token_uri": "http://127.0.0.1:1",
    }
    credentials = folder / "account.json"
    credentials.write_text(json.dumps(account))
    return command, {
        "CLOUD_STORAGE_EMULATOR_ENDPOINT": f"http://127.0.0.1:{port}",
        "GOOGLE_APPLICATION_CREDENTIALS": str(credentials),
        "GOOGLE_CLOUD_PROJECT": "kwire",
    }


def _azure(port: int, folder: Path) -> tuple[list[str], dict[str, str]]:
    """It knows no hierarchical namespace, and no API as new as that of which Arrow says that it speaks it."""
    program = installed_by_npm(SOURCES, BUILT / "node") / "node_modules/azurite/dist/src/blob/main.js"
    options = ["--blobHost", "127.0.0.1", "--blobPort", str(port), "--inMemoryPersistence", "--disableTelemetry"]
    command = ["node", str(program), *options, "--skipApiVersionCheck", "--silent"]
    endpoint = f"http://127.0.0.1:{port}/{ACCOUNT}"
    return command, {CONNECTION_STRING: f"AccountName={ACCOUNT};AccountKey={KEY};BlobEndpoint={endpoint}"}
