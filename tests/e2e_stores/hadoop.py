"""Hadoop's own mini cluster, in a process of its own on loopback, and what Arrow needs to reach it: ``libhdfs.so``.

Hadoop ships that library in its distribution, which no registry has. Its C source, which a crate for Rust brings, is
compiled here with the headers of the JDK.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.cluster.standalone import BRIEF
from tests.e2e_stores.maven import SPARK_JARS, hadoop_version, jars
from tests.e2e_stores.s3_servers import BUILT

MANAGER = "org.apache.hadoop.test.MiniDFSClusterManager"
MANIFEST = """\
[package]
name = "source"
edition = "2021"
[lib]
path = "lib.rs"
[dependencies]
hdfs-sys = "=0.3.1"
"""
CRATE_DIGEST = "18138c3dacdf0e95f834369f996b21d2b6fa99e71787ef45e2ece09b37bd1dd1"
JUNIT = ("org.junit.jupiter", "junit-jupiter-api", "5.13.4")
"""The cluster's classes are those of Hadoop's tests."""
CLIENT = ("hadoop-client-api", "hadoop-client-runtime", "slf4j-api", "commons-lang3")
"""Spark's jars that ``libhdfs`` needs."""
WEB = "dfs.namenode.http-address"
STARTING = 120.0
COPY = """
import sys
from pyarrow.fs import FileSystem, LocalFileSystem, copy_files
there, root = FileSystem.from_uri(sys.argv[2])
copy_files(sys.argv[1], sys.argv[3], source_filesystem=LocalFileSystem(), destination_filesystem=there)
"""


@dataclass(frozen=True)
class Hdfs:
    """Where a cluster listens."""

    name_node: str
    web: str
    process: subprocess.Popen[bytes]


@contextmanager
def mini_cluster(folder: Path) -> Iterator[Hdfs]:
    """A name node and a data node within a ``with`` block."""
    path = jars(("org.apache.hadoop", "hadoop-client-minicluster", hadoop_version()), JUNIT)
    details, settings, printed = folder / "details.json", folder / "settings.xml", folder / "printed.txt"
    command = [
        "java",
        *BRIEF.split(),
        "-Xmx512m",
        f"-Dtest.build.data={folder}/data",
        "-cp",
        ":".join(map(str, path)),
    ]
    options = ["-datanodes", "1", "-format", "-writeConfig", str(settings), "-writeDetails", str(details)]
    with printed.open("wb") as output:
        running = subprocess.Popen([*command, MANAGER, *options], stdout=output, stderr=output, cwd=folder)
    try:
        deadline = time.monotonic() + STARTING
        while not (details.is_file() and details.read_text().endswith("}")):
            if running.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"the cluster did not start:\n{printed.read_text()[-3000:]}")
            time.sleep(0.2)
        port = json.loads(details.read_text())["namenode_port"]
        web = next(one for one in ET.parse(settings).iter("property") if one.findtext("name") == WEB)
        yield Hdfs(f"hdfs://127.0.0.1:{port}", f"webhdfs://{web.findtext('value')}", running)
    finally:
        running.terminate()
        running.wait(STARTING)


def python(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """What Python does in a process of its own, since a JVM in this one would stay."""
    return subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | client_environment() | environment,
        capture_output=True,
        text=True,
        timeout=600,
    )


def upload(cluster: Hdfs, folder: Path, path: str) -> None:
    """Copy a folder to one of the cluster."""
    finished = python("-c", COPY, str(folder), cluster.name_node, path)
    assert finished.returncode == 0, finished.stderr


@cache
def client_environment() -> dict[str, str]:
    """What Arrow needs in the environment of a process that reads ``hdfs://``."""
    found = [str(next(SPARK_JARS.glob(f"{name}-[0-9]*.jar"))) for name in CLIENT]
    home = java_home()
    return {"JAVA_HOME": str(home), "ARROW_LIBHDFS_DIR": str(_library(home).parent), "CLASSPATH": ":".join(found)}


def java_home() -> Path:
    told = subprocess.run(
        ["java", "-XshowSettings:properties", "-version"], stderr=subprocess.PIPE, text=True, check=True
    ).stderr
    found = re.search(r"java\.home = (.+)", told)
    assert found is not None
    return Path(found[1])


def _library(java: Path) -> Path:
    """``libhdfs.so``, compiled unless it is there."""
    built = BUILT / "native" / "libhdfs.so"
    if built.is_file():
        return built
    source = _crate() / "libhdfs" / "hdfs_3_3"
    headers = [source.parent, source, source / "include", source / "os", source / "os/posix"]
    headers += [java / "include", java / "include/linux"]
    files = [*source.glob("*.c"), *(source / "os/posix").glob("*.c")]
    virtual_machine = java / "lib/server"
    built.parent.mkdir(parents=True, exist_ok=True)
    options = ["-shared", "-fPIC", "-O1", "-w", *(f"-I{folder}" for folder in headers), *map(str, files)]
    options += [f"-L{virtual_machine}", "-ljvm", f"-Wl,-rpath,{virtual_machine}"]
    fresh = built.with_suffix(f".{os.getpid()}")
    subprocess.run([os.environ.get("CC", "cc"), *options, "-o", str(fresh)], check=True)
    fresh.rename(built)
    return built


def _crate() -> Path:
    """The folder with the crate's files, which cargo has compared with the digest."""
    with TemporaryDirectory() as folder:
        Path(folder, "Cargo.toml").write_text(MANIFEST)
        Path(folder, "lib.rs").touch()
        told = subprocess.run(
            ["cargo", "metadata", "--format-version", "1"], cwd=folder, stdout=subprocess.PIPE, check=True
        ).stdout
        assert CRATE_DIGEST in Path(folder, "Cargo.lock").read_text(), "hdfs-sys has another digest"
    found = next(one["manifest_path"] for one in json.loads(told)["packages"] if one["name"] == "hdfs-sys")
    return Path(found).parent
