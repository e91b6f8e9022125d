"""The error codes of a release, as its own class ``Errors`` says, and their place in ``errors.json``."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from tools.classes import packages, relocated
from tools.maven import Jars

PROGRAM = Path(__file__).with_name("ErrorCodes.java")
LINE = re.compile(r"(-?[0-9]{1,5}) ([A-Z][A-Z0-9_]*) (true|false)")


@dataclass(frozen=True)
class ErrorCode:
    code: int
    name: str
    retriable: bool
    about: str = ""


def error_codes(jars: Jars) -> list[ErrorCode]:
    """All of the release, by code. Runs ``java``, which must be a JDK of version 11 or newer, with the jars."""
    clients = jars.modules["clients"]
    path = os.pathsep.join(map(str, (clients, jars.logging)))
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, PROGRAM.name)
        program.write_text(relocated(PROGRAM.read_text(), packages(clients)))
        done = subprocess.run(
            ["java", "-cp", path, program], capture_output=True, text=True, timeout=120, check=False
        )
    if done.returncode:
        raise ValueError(f"the error codes of {jars.release} cannot be read: {done.stderr}")
    found = []
    for line in done.stdout.splitlines():
        if (match := LINE.fullmatch(line)) is None:
            raise ValueError(f"{jars.release} has an error code of an unexpected form: {line[:100]!r}")
        found.append(ErrorCode(int(match[1]), match[2], match[3] == "true"))
    return sorted(found, key=lambda one: one.code)


def read(path: Path) -> list[ErrorCode]:
    """The errors of an ``errors.json``."""
    return [ErrorCode(**fields) for fields in json.loads(path.read_text())]


def write(path: Path, codes: list[ErrorCode]) -> None:
    """Write an ``errors.json``, an error a line."""
    lines = ",\n".join(json.dumps(asdict(one), ensure_ascii=False) for one in sorted(codes, key=lambda one: one.code))
    path.write_text(f"[\n{lines}\n]\n")


def updated(known: list[ErrorCode], found: list[ErrorCode]) -> list[ErrorCode]:
    """``known`` with the names and properties of the newer ``found``. New codes have no description yet."""
    about = {one.code: one.about for one in known}
    fresh = {one.code: ErrorCode(one.code, one.name, one.retriable, about.get(one.code, "")) for one in found}
    return sorted(({one.code: one for one in known} | fresh).values(), key=lambda one: one.code)
