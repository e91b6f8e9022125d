"""All commands of kwirec on a folder of definitions that somebody else wrote.

What is written back, formatted and converted must have the bytes and the meaning of the definitions.
"""

from __future__ import annotations

import importlib
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from click.testing import CliRunner

from kwirec.command import main

PACKAGE = "wire_of_strangers"


class Step(NamedTuple):
    """A step with its exit code, the last line that it printed, and its seconds of wall-clock time."""

    name: str
    code: int
    said: str
    seconds: float

    @property
    def failed(self) -> bool:
        """Whether the step failed. Warnings give ``check`` the exit code 1, and it counts errors in its last line."""
        return bool(self.code) and (not self.name.startswith("check") or "error" in self.said)


def steps(folder: Path, out: Path) -> Iterator[Step]:
    """Run all commands on ``folder`` and write to ``out``, which must be empty."""
    krammar, json, formatted = out / "krammar", out / "json", out / "formatted"
    yield _kwirec("check", folder)
    yield _kwirec("generate", folder, "--package", PACKAGE, "--out", out / "python")
    yield _timed("round trips", lambda: f"{_round_trips(out / 'python')} versions")
    yield _kwirec("diff", "--level", "policy", folder, folder)
    yield _kwirec("convert", folder, "--to", "krammar", "--out", krammar)
    yield _kwirec("convert", krammar, "--to", "json", "--out", json)
    yield _kwirec("diff", "--layouts", folder, json)
    yield _kwirec("diff", "--level", "policy", folder, json)
    shutil.copytree(folder, formatted)
    yield _kwirec("check", "--fix", formatted)
    yield _kwirec("fmt", formatted)
    yield _kwirec("fmt", "--check", formatted)
    yield _kwirec("diff", "--level", "policy", folder, formatted)
    yield _kwirec("emit", "wireshark", folder, "--out", out / "wireshark")
    yield _kwirec("dump", "--format", "json", folder)
    yield _kwirec("guide", folder, "--package", PACKAGE, "--out", out / "site")


def _kwirec(command: str, *arguments: str | Path) -> Step:
    words = [one for one in arguments if isinstance(one, str) and one not in ("--out", "--package", PACKAGE)]

    def run() -> str:
        result = CliRunner().invoke(main, [command, *map(str, arguments)], catch_exceptions=False)
        if result.exit_code:
            raise SystemExit(result.exit_code, _last(result.stderr))
        return _last(result.stderr)

    return _timed(" ".join([command, *words]), run)


def _timed(name: str, run: Callable[[], str]) -> Step:
    start = time.perf_counter()
    code = 0
    try:
        said = run()
    except SystemExit as problem:
        code, said = problem.args
    return Step(name, code, said, time.perf_counter() - start)


def _last(text: str) -> str:
    """Return the last line, without seconds and the size of generated code."""
    return re.sub(r"; [\d.]+ s$|\d+ lines in ", "", (text.splitlines() or [""])[-1])


def _round_trips(folder: Path) -> int:
    """Decode what the defaults of every message encode to, in each version; return the number of versions."""
    if not (folder / PACKAGE).is_dir():
        raise SystemExit(1, "nothing was generated")
    sys.path.insert(0, str(folder))
    try:
        messages = importlib.import_module(PACKAGE).PROTOCOL.values()
        versions = [(one, version) for one in messages for version in one.VALID_VERSIONS]
        for one, version in versions:
            assert one.decode(one().encode(version), version).encode(version) == one().encode(version), one
        return len(versions)
    finally:
        sys.path.remove(str(folder))
        for module in [one for one in sys.modules if one.partition(".")[0] == PACKAGE]:
            del sys.modules[module]


def table(rows: Sequence[Step]) -> str:
    """Return the steps as text."""
    return "".join(f"{'FAILED' if row.failed else 'ok':7} {row.name:25} {row.said}\n" for row in rows)
