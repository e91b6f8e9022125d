"""What tests with real stores share. All skip themselves unless KWIRE_E2E_STORES=1, as ``make e2e-stores`` has it."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kwire_inspect.storage import stores
from tests.e2e_stores import cloud_servers
from tests.e2e_stores.cloud_servers import CLOUDS
from tests.e2e_stores.hadoop import Hdfs, mini_cluster
from tests.e2e_stores.s3_servers import GATEWAY, KEY, REGION, SECRET, SERVERS, serving
from tests.support.small_sample import left_behind


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not os.environ.get("KWIRE_E2E_STORES"):
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(pytest.mark.skip(reason="needs KWIRE_E2E_STORES=1: make e2e-stores"))


@pytest.fixture(scope="session")
def given(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with captures, logs and data directories."""
    folder = tmp_path_factory.mktemp("given")
    left_behind(folder)
    return folder


@pytest.fixture(params=SERVERS)
def endpoint(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of each server of S3, which this process and those it starts use."""
    with serving(request.param, tmp_path / request.param) as address:
        use(address, monkeypatch)
        yield address
    stores.file_system.cache_clear()


@pytest.fixture
def gateway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The same of the one that checks credentials."""
    with serving(GATEWAY, tmp_path / GATEWAY) as address:
        use(address, monkeypatch)
        yield address
    stores.file_system.cache_clear()


@pytest.fixture
def clouds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Servers that this process and those that it starts take for the stores of Google and Azure."""
    with ExitStack() as running:
        for cloud in CLOUDS:
            for name, value in running.enter_context(cloud_servers.serving(cloud, tmp_path / cloud)).items():
                monkeypatch.setenv(name, value)
        stores.file_system.cache_clear()
        yield
    stores.file_system.cache_clear()


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    with mini_cluster(tmp_path_factory.mktemp("hdfs")) as cluster:
        yield cluster


@pytest.fixture
def pages(given: Path, tmp_path: Path) -> Path:
    """A copy of the folder, to which tests may write."""
    return shutil.copytree(given, tmp_path / "pages")


@pytest.fixture
def site(pages: Path) -> Iterator[str]:
    """The address of a web server with the copy."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(pages))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def use(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a server be the S3 of this process and of those that it starts."""
    for name, value in (
        ("AWS_ENDPOINT_URL", endpoint),
        ("AWS_ACCESS_KEY_ID", KEY),
        ("AWS_SECRET_ACCESS_KEY", SECRET),
        ("AWS_REGION", REGION),
        ("AWS_EC2_METADATA_DISABLED", "true"),
        ("AWS_REQUEST_CHECKSUM_CALCULATION", "when_required"),
    ):
        monkeypatch.setenv(name, value)
    stores.file_system.cache_clear()
    stores._listed.clear()
