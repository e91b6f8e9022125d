"""What runs the client programs that are not in Python, built from ``clients/LANGUAGE`` when they are needed.

Each takes a ``Task`` as JSON and prints a line of JSON for each step, as `tests.e2e_traffic.clients.steps` has it.
Libraries have exact versions and digests in ``go.sum`` and ``package-lock.json``.
"""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

from tests.e2e_traffic.console import JAVA, TRACE
from tests.e2e_traffic.venvs import ROOT
from tests.real_kafka.jars import classpath
from tests.real_kafka.releases import COMPLETE, NEWEST

SOURCES = Path(__file__).with_name("clients")
BUILT = ROOT / "build" / "traffic"
TOOLS = {"go": ("go",), "node": ("node", "npm"), "java": ("javac",)}
"""What a language takes, by its name."""


def missing(language: str) -> str | None:
    """Why there can be no clients in this language here, if so."""
    wanted = [tool for tool in TOOLS[language] if shutil.which(tool) is None]
    return f"there is no {' and no '.join(wanted)} here: its clients are left out" if wanted else None


def command(language: str, program: str) -> list[str]:
    """What runs a program, without its arguments."""
    return {"go": _go, "node": _node, "java": _java}[language](program)


def _go(program: str) -> list[str]:
    return [str(_built_by_go() / program)]


def _node(program: str) -> list[str]:
    return ["node", str(installed_by_npm(SOURCES / "node", BUILT / "node") / f"{program}.mjs")]


def _java(program: str) -> list[str]:
    """The program's source file, which java compiles itself, with the jars of the newest release that has them."""
    jars = classpath(COMPLETE if program == "Streams" else NEWEST)
    return [*JAVA, TRACE, "-cp", jars, str(SOURCES / "java" / f"{program}.java")]


@cache
def _built_by_go() -> Path:
    folder = BUILT / "go"
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["go", "build", "-mod=readonly", "-o", f"{folder}/", "./..."], cwd=SOURCES / "go", check=True)
    return folder


@cache
def installed_by_npm(source: Path, folder: Path) -> Path:
    """``folder`` with the programs in ``source`` and what its lock file names."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder)
    subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"], cwd=folder, check=True)
    return folder
