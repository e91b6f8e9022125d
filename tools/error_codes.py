"""The error codes in a release's own class ``Errors``, and their entries in ``errors.json``.

``python -m tools.error_codes`` queries the classes of all releases, and writes the first release with each code to
``errors.json``. ``make update`` adds the new codes of a release.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kwirec.merge.history import read_history
from tools import UNION
from tools.classes import packages, relocated
from tools.maven import Jars, clients

ERRORS = UNION / "errors.json"
PROGRAM = Path(__file__).with_name("ErrorCodes.java")
LINE = re.compile(r"(-?[0-9]{1,5}) ([A-Z][A-Z0-9_]*) (true|false)")


BEFORE = {**dict.fromkeys((-1, *range(12)), "0.8.0"), 12: "0.8.1", **dict.fromkeys((14, 15, 16), "0.8.2")}
"""The first release with each error code of ``kafka.common.ErrorMapping``, which brokers used before the class
``Errors`` of 0.9. Code 13 is left out, because it meant a stale leader epoch in 0.8.1.
"""

LAST_OF_LINE = {
    "0.8.2": "0.8.2.2",
    "0.9.0": "0.9.0.1",
    "0.10.0": "0.10.0.1",
    "0.10.1": "0.10.1.1",
    "0.10.2": "0.10.2.2",
    "0.11.0": "0.11.0.3",
    "1.0": "1.0.2",
    "1.1": "1.1.1",
    "2.0": "2.0.1",
    "2.1": "2.1.1",
}
"""The newest release of each line whose individual releases are not in the union."""


@dataclass(frozen=True)
class ErrorCode:
    code: int
    name: str
    retriable: bool
    about: str = ""
    since: str = ""
    aliases: Sequence[str] = ()


def error_codes(jars: Jars) -> list[ErrorCode]:
    """Return all error codes of the release, sorted by code. Run ``java`` (JDK 11 or newer)."""
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
    """Return the error codes in an ``errors.json`` file."""
    return [ErrorCode(**fields) for fields in json.loads(path.read_text())]


def write(path: Path, codes: list[ErrorCode]) -> None:
    """Write an ``errors.json`` with one error per line."""
    order = ("code", "name", "retriable", "since", "aliases", "about")
    fields = (
        {name: getattr(one, name) for name in order if name not in ("since", "aliases") or getattr(one, name)}
        for one in sorted(codes, key=lambda one: one.code)
    )
    lines = ",\n".join(json.dumps(each, ensure_ascii=False) for each in fields)
    path.write_text(f"[\n{lines}\n]\n")


def updated(known: list[ErrorCode], found: list[ErrorCode], release: str) -> list[ErrorCode]:
    """Return ``known`` with the names and properties of ``found``, the codes of the newer ``release``. Codes that are
    not in ``known`` are added without a description.
    """
    old = {one.code: one for one in known}
    fresh = {
        one.code: (
            replace(old[one.code], name=one.name, retriable=one.retriable)
            if one.code in old
            else replace(one, since=release)
        )
        for one in found
    }
    return sorted((old | fresh).values(), key=lambda one: one.code)


def first_releases() -> dict[int, str]:
    """Return the first release with each code, according to the classes of all releases."""
    first = dict(BEFORE)
    names = [name for name in read_history(UNION).names if name not in ("0.8.0", "0.8.1")]
    versions = {name: LAST_OF_LINE.get(name, name) for name in names}
    with tempfile.TemporaryDirectory() as folder:
        jars = clients(list(versions.values()), Path(folder))
        for name, version in versions.items():
            for one in error_codes(jars[version]):
                first.setdefault(one.code, name)
    return first


def main() -> None:
    first = first_releases()
    write(ERRORS, [replace(one, since=first[one.code]) for one in read(ERRORS)])


if __name__ == "__main__":
    main()
