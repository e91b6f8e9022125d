"""The same capture as a file, an object of S3, Google's and Azure's stores, a file of HDFS, a page of a web server, a
member of an archive in a store, and standard input: the same tables, by both engines."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.e2e_stores import cloud_servers, hadoop, s3_servers
from tests.e2e_stores.cloud_servers import BUCKETS, CLOUDS
from tests.e2e_stores.hadoop import Hdfs
from tests.inspect.test_archives import rows

CAPTURE = Path(__file__).parents[1] / "data" / "traffic" / "3.9.1" / "traffic.pcap.gz"
NAME = "a.pcap.gz"
STDIN = "-"


@pytest.fixture
def places(tmp_path: Path, hdfs: Hdfs, gateway: str, clouds: None, site: str, pages: Path) -> dict[str, str]:
    """The names of the capture, by where it is."""
    folder = tmp_path / "day"
    folder.mkdir()
    for place in (folder, pages):
        (place / NAME).write_bytes(CAPTURE.read_bytes())
    with tarfile.open(folder / "a.tgz", "w:gz") as archive:
        archive.add(CAPTURE, NAME)
    s3_servers.upload(gateway, folder, "captures", "day")
    hadoop.upload(hdfs, folder, "/captures")
    for cloud in CLOUDS:
        cloud_servers.upload(cloud, folder, "day")
    return {
        "file": str(folder / NAME),
        "S3": f"s3://captures/day/{NAME}",
        **{cloud: f"{cloud}://{BUCKETS[cloud]}/day/{NAME}" for cloud in CLOUDS},
        "HDFS": f"{hdfs.name_node}/captures/{NAME}",
        "WebHDFS": f"{hdfs.web}/captures/{NAME}",
        "web": f"{site}/{NAME}",
        "member": f"s3://captures/day/a.tgz!/{NAME}",
        "standard input": STDIN,
    }


def test_the_same_capture_gives_the_same_tables(tmp_path: Path, places: dict[str, str]) -> None:
    made = {}
    for kind, name in places.items():
        run_all("tables", [name], "local", [tmp_path / kind])
        made[kind] = rows(tmp_path / kind, repr(name))
    assert {"frames", "exchanges", "clients"} <= {name.partition("/")[0] for name in made["file"]}
    for kind, found in made.items():
        assert found == made["file"], kind


def test_spark_gives_the_same_clients_from_everywhere(tmp_path: Path, places: dict[str, str]) -> None:
    del places["standard input"]  # which workers do not have
    run_all("clients", list(places.values()), "spark", [tmp_path / kind for kind in places])
    run_all("clients", [places["file"]], "local", [tmp_path / "local"])
    expected = rows(tmp_path / "local", repr(places["file"]))["clients-list.parquet"]
    for kind, name in places.items():
        assert rows(tmp_path / kind, repr(name))["clients-list.parquet"] == expected != [], kind


def run_all(command: str, names: list[str], engine: str, folders: list[Path]) -> None:
    """Run a command on each of these inputs, one after the other in one process."""
    calls = [
        [command, name, "--engine", engine, "--out", str(out), "-q"] for name, out in zip(names, folders, strict=True)
    ]
    with CAPTURE.open("rb") as capture:
        subprocess.run(
            [sys.executable, "-c", f"from kwire.command import main as run\nassert not any(map(run, {calls}))"],
            stdin=capture if names == [STDIN] else subprocess.DEVNULL,
            env=os.environ | hadoop.client_environment(),
            check=True,
        )
