"""The peer programs: how each is built and started, or why it is omitted.

Versions and checksums are pinned in ``go.sum``, ``crates.lock``, ``jars.sha256`` and ``constraints/``. Each tool
fetches dependencies from its configured registry.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.codecs import ROOT
from benchmarks.peers.cases import CASES
from benchmarks.samples import PACKAGE
from kwirec.native import BuildError, build_native

HERE = Path(__file__).parent
BUILD = ROOT / "build" / "peers"
SOURCES = (ROOT / "runtime" / "kwire", ROOT / "generated" / PACKAGE)


class Unavailable(Exception):
    """A program cannot be measured here. The message says why."""


@dataclass(frozen=True, kw_only=True)
class Program:
    name: str
    command: Sequence[str]
    environment: dict[str, str] = field(default_factory=dict)
    version: str = ""
    memory: bool = False
    """Whether the memory of decoded messages can be measured."""


def programs() -> tuple[list[Program], dict[str, str]]:
    """Return the programs that can run here, and the reasons why other programs cannot."""
    found: list[Program] = []
    missing: dict[str, str] = {}
    for name, make in MAKERS.items():
        print(f"preparing {name}", file=sys.stderr)
        try:
            found += make()
        except (Unavailable, BuildError) as problem:
            missing[name] = str(problem)
    return found, missing


def interpreted() -> list[Program]:
    folder = BUILD / "interpreted"
    for source in SOURCES:
        shutil.rmtree(folder / source.name, ignore_errors=True)
        shutil.copytree(source, folder / source.name, ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.pyd"))
    return [worker("kwire", "kwire", folder)]


def native() -> list[Program]:
    modules = dict.fromkeys(case.sample.module.replace(".", "/") for case in CASES if case.sample)
    folder = BUILD / "native"
    build_native(folder, runtime=SOURCES[0], package=SOURCES[1], modules=list(modules))
    return [
        worker("kwire native", "kwire", folder),
        worker("kwire native, ready records", "kwire-ready-records", folder),
    ]


def libraries() -> list[Program]:
    from importlib.metadata import version

    folder = BUILD / "interpreted"
    return [worker(name, name, folder, version(name)) for name in ("kio", "kafka-python", "aiokafka")]


def worker(name: str, library: str, folder: Path, version: str = "") -> Program:
    path = os.pathsep.join(map(str, (folder, ROOT)))
    command = [sys.executable, "-m", "benchmarks.peers.worker", library]
    return Program(name=name, command=command, environment={"PYTHONPATH": path}, version=version, memory=True)


def go() -> list[Program]:
    target = BUILD / "go" / "peer"
    run(["go", "build", "-mod=readonly", "-o", str(target), "."], HERE / "go")
    return [Program(name="Go kmsg/kgo", command=[str(target)], version=said(["go", "version"]))]


def rust() -> list[Program]:
    target = BUILD / "rust" / "target"
    place = run(["cargo", "generate-lockfile", "--quiet"], HERE / "rust")
    # The repository contains no registry addresses, so cargo names its registry.
    source = re.search(r"^source = .*\n", (place / "Cargo.lock").read_text("utf-8"), re.MULTILINE)
    pinned = (place / "crates.lock").read_text("utf-8").replace("\nchecksum", f"\n{source and source[0]}checksum")
    (place / "Cargo.lock").write_text(pinned, "utf-8")
    build(["cargo", "build", "--quiet", "--release", "--locked", "--target-dir", str(target)], place)
    command = [str(target / "release" / "kwire-peer")]
    return [Program(name="Rust kafka-protocol", command=command, version=said(["rustc", "--version"]))]


def java() -> list[Program]:
    jars, classes = BUILD / "java" / "jars", BUILD / "java" / "classes"
    place = run(["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={jars}"], HERE / "java")
    for line in (HERE / "java" / "jars.sha256").read_text("utf-8").splitlines():
        digest, name = line.split()
        if hashlib.sha256((jars / name).read_bytes()).hexdigest() != digest:
            raise Unavailable(f"{name} has another checksum than in jars.sha256")
    path = f"{jars}{os.sep}*"
    build(["javac", "-cp", path, "-d", str(classes), "Peer.java"], place)
    command = ["java", "-cp", f"{path}{os.pathsep}{classes}", "Peer"]
    return [Program(name="Java kafka-clients", command=command, version=said(["java", "--version"]))]


def run(command: Sequence[str], folder: Path) -> Path:
    """Run a build step in a copy of the sources, so that tools do not write to them. Return the copy."""
    place = BUILD / folder.name / "source"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder, place)
    build(command, place)
    return place


def build(command: Sequence[str], place: Path) -> None:
    if not shutil.which(command[0]):
        raise Unavailable(f"{command[0]} is not installed")
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable(f"{' '.join(command[:2])} failed: {(done.stderr or done.stdout).strip()[-300:]}")


def said(command: Sequence[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]


MAKERS: dict[str, Callable[[], list[Program]]] = {
    "kwire": interpreted,
    "kwire native": native,
    "kio, kafka-python, aiokafka": libraries,
    "Go kmsg/kgo": go,
    "Rust kafka-protocol": rust,
    "Java kafka-clients": java,
}
