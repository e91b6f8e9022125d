"""The code blocks of a page, run in order in one folder, as a reader would do it.

A block is saved as a file if the paragraph before it asks for that. A line ``…`` of expected output is any number of
lines, and ``…`` within a line is any text. Servers run until the end of the page.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
SERVERS = ("kwire fake-broker", "kwire proxy")


class Block(NamedTuple):
    language: str
    text: str
    saved_as: str
    line: int


class Command(NamedTuple):
    text: str
    output: str


def blocks(page: str) -> Iterator[Block]:
    """Return all fenced blocks of a page."""
    for match in re.finditer(r"^```(\w*)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        paragraph = page[: match.start()].rstrip("\n").rpartition("\n\n")[2]
        saves = paragraph.endswith(":") and re.search(r"\b(?:save|replace)\b", paragraph, re.IGNORECASE)
        name = saves and re.search(r"`([\w./-]+\.\w+)`", paragraph)
        yield Block(match[1], match[2], name[1] if name else "", page.count("\n", 0, match.start()) + 2)


def commands(text: str) -> Iterator[Command]:
    """Return the commands of a console block with their output. Indented lines continue a command."""
    for match in re.finditer(r"^\$ ((?:.*\\\n)*.*(?:\n {4}.*)*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE):
        yield Command(match[1], match[2])


def free_port() -> str:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return str(listening.getsockname()[1])


def matches(expected: str, printed: str) -> bool:
    pattern = "".join(
        "(?s:.*)" if line == "…" else re.escape(line.rstrip()).replace("…", ".*") + r" *\n"
        for line in expected.splitlines()
    )
    return re.fullmatch(pattern, printed if printed.endswith("\n") or not printed else printed + "\n") is not None


@dataclass
class Reader:
    """Somebody who does everything that a page says, in an empty folder."""

    folder: Path
    replaced: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    _servers: list[tuple[subprocess.Popen[str], str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        (self.folder / ".place").write_text(str(self.folder))
        (self.folder / ".variables").touch()

    def save(self, block: Block) -> None:
        path = Path((self.folder / ".place").read_text().strip(), block.saved_as)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.here(block.text))

    def run(self, command: Command, codes: tuple[int, ...] = (0,)) -> None:
        if command.text.startswith(SERVERS):
            self._serve(command)
            return
        state = f"cd \"$(cat '{self.folder}/.place')\"; . '{self.folder}/.variables'"
        kept = f"code=$?; pwd > '{self.folder}/.place'; export -p > '{self.folder}/.variables'; exit $code"
        script = f"{state}\n(exit ${{KWIRE_CODE:-0}})\n{self.here(command.text)}\n{kept}"
        done = subprocess.run(
            ["bash", "-c", script], env=self._variables(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        with (self.folder / ".variables").open("a") as variables:
            variables.write(f"export KWIRE_CODE={done.returncode}\n")
        assert done.returncode in codes, f"{command.text}\nexits with {done.returncode}:\n{done.stdout}"
        expected = self.here(command.output)
        assert not expected or matches(expected, done.stdout), f"{command.text}\nprints:\n{done.stdout}"

    def doctest(self, text: str) -> None:
        Path((self.folder / ".place").read_text().strip(), "session.txt").write_text(text)
        self.run(Command("PYTHONPATH=src python -m doctest session.txt && rm session.txt", ""))

    def close(self) -> None:
        """Stop all servers, and compare what they printed."""
        for process, expected in self._servers:
            process.terminate()
            try:
                printed, _ = process.communicate(timeout=20)
            finally:
                process.kill()
            assert matches(expected, printed), f"a server prints:\n{printed}"

    def here(self, text: str) -> str:
        for name, value in self.replaced.items():
            text = text.replace(name, value)
        return text

    def _serve(self, command: Command) -> None:
        process = subprocess.Popen(
            self.here(command.text).split(), env=self._variables(), stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        first = self.here(command.output).splitlines(keepends=True)
        printed = process.stdout.readline()
        assert matches(first[0], printed), printed
        self._servers.append((process, "".join(first[1:]) or "…\n"))

    def _variables(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("BASE", "MAKE", "MFLAGS", "PYTEST_"))
        }
        names = {f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return {
            **kept, **names, "PATH": path, "GIT_CONFIG_GLOBAL": os.devnull, "COLUMNS": "100", **self.environment
        }  # fmt: skip
