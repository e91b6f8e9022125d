"""Inputs in HDFS, by ``libhdfs`` and by its web service: the same tables as from files, and faults in one line."""

from __future__ import annotations

import subprocess
from getpass import getuser
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from tests.e2e_stores.hadoop import Hdfs, python, upload
from tests.inspect.test_archives import rows


@pytest.fixture(scope="module")
def folder(hdfs: Hdfs, given: Path) -> str:
    """The path of a folder of the cluster with what is in ``given``, beside one that others cannot list."""
    upload(hdfs, given, "/day 1")
    address = (
        f"{hdfs.web.replace('webhdfs', 'http')}/webhdfs/v1/secret?op=MKDIRS&permission=700&user.name={getuser()}"
    )
    urlopen(Request(address, method="PUT")).close()
    return "day 1"


def kwire(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return python("-m", "kwire", *arguments, "-q", **environment)


@pytest.mark.parametrize("command", ["offsets", "tables"])
@pytest.mark.parametrize("scheme", ["hdfs", "webhdfs"])
def test_a_folder_of_hdfs_gives_the_same_tables(
    tmp_path: Path, given: Path, hdfs: Hdfs, folder: str, scheme: str, command: str
) -> None:
    root = f"{hdfs.name_node if scheme == 'hdfs' else hdfs.web}/{folder}"
    for name, place in (("file", str(given)), ("hdfs", root)):
        finished = kwire(command, place, "--out", str(tmp_path / name))
        assert finished.returncode == 0, finished.stderr
    assert rows(tmp_path / "hdfs", f"{root}/") == rows(tmp_path / "file", f"{given}/") != {}


def test_workers_of_spark_read_hdfs(tmp_path: Path, hdfs: Hdfs, folder: str) -> None:
    for engine in ("local", "spark"):
        finished = kwire("clients", f"{hdfs.name_node}/{folder}", "--engine", engine, "--out", str(tmp_path / engine))
        assert finished.returncode == 0, finished.stderr
    local, spark = (rows(tmp_path / engine, "")["clients-list.parquet"] for engine in ("local", "spark"))
    assert local == spark != []


@pytest.mark.parametrize(
    ("path", "environment", "told"),
    [
        ("/none", {}, "no such object or folder"),
        ("/day*/none*", {}, "no object matches this pattern"),
        ("/day 1", {"ARROW_LIBHDFS_DIR": "/none"}, "hdfs needs libhdfs.so from a Hadoop installation"),
        ("/day 1", {"CLASSPATH": "/none"}, "hdfs needs Hadoop's jars: set CLASSPATH"),
        ("/secret", {"HADOOP_USER_NAME": "nobody"}, "access is denied"),
    ],
)
def test_what_cannot_be_read_is_one_line_after_what_hadoop_says(
    hdfs: Hdfs, folder: str, path: str, environment: dict[str, str], told: str
) -> None:
    finished = kwire("clients", f"{hdfs.name_node}{path}", **environment)
    assert finished.returncode == 2
    last = finished.stderr.splitlines()[-1]
    assert last.startswith("kwire: hdfs://")
    assert told in last


def test_a_name_node_that_does_not_answer() -> None:
    finished = kwire("clients", "hdfs://127.0.0.1:1/a")
    assert finished.returncode == 2
    assert finished.stderr.splitlines()[-1].startswith(
        "kwire: hdfs://127.0.0.1:1/a: Hadoop could not reach the cluster"
    )
