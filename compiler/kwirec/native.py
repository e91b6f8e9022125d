"""Compiles the runtime and a generated package with mypyc, and lists the modules that stay interpreted, and why.

Takes the source folders of both and returns a folder with both, compiled. The sources are compiled unchanged: emitted
modules are plain typed Python (docs/decisions/codec-shape.md). Nothing is written next to the sources, so that an
interpreted and a compiled ``kwire`` never mix.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

RUNTIME: tuple[str, ...] = (
    *("policy", "wire", "message", "headers", "records/loops", "records/views"),
    *("columns/messages", "columns/records", "columns/rows"),
)
"""The modules of ``kwire`` that are compiled: what emitted codecs call on their fast path, the messages that are
written by hand, and the loops over records and columns."""

INTERPRETED: Mapping[str, str] = {
    "__init__": "names only",
    "native": "swaps the constructors of interpreted modules; to mypyc it is the stub native.pyi",
    "arrays": "replaces the loops of kwire.wire when these run interpreted",
    "command": "the command line",
    "__main__": "the command line",
    "client": "one request at a time; waits for the network",
    "schema": "fields as data; read when plans are made, not while messages are",
    "interpreter": "runs once per failure, on getattr and **values, which compiling does not make faster",
    "trace": "shows bytes to people",
    "secrets": "tables, read when messages are printed",
    "redaction": "looks paths up and copies the few messages with secrets",
    "enums": "names of values, looked up by people and tools",
    "errors": "raised once per failure; look-ups raise a KeyError, from which a native class cannot derive as well",
    "lookup": "imports modules by name and looks classes up in tables",
    "uuids": "Uuid derives from bytes, which a native class cannot",
    "frames": "splits streams; all its time is spent in slicing",
    "protocol": "imports modules by name and looks classes up in tables; nothing in it is hot",
    "primitives": "reads the few numbers before messages in records",
    "records": "all except the loops: headers of batches and the slow path",
    "columns": "all except the loops: makes programs, once for each message and version",
    "arrow": "loops over attributes, one column at a time; all else is pyarrow",
    "json_form": "reads the output of `json`; closures and tables of closures, which compiling does not speed up",
    "models": "pydantic creates the classes on request",
    "logs": "reads files and looks classes up; the codecs and loops that it calls are compiled",
    "compression": "all its time is spent in zlib and cramjam",
    "releases": "looks facts up in tables; used by people and tools, not by codecs",
    "request_log": "reads text; all its time is spent in json and json_form",
    "connection": "splits streams and looks at the first bytes of frames; the codecs that it calls are compiled",
}
"""The modules of ``kwire`` that are not compiled, each with the reason."""

MARKER = ".kwirec-native"
"""The file by which a folder of an earlier build is known."""

SETUP = """\
from mypyc.build import mypycify
from setuptools import setup

setup(
    name="kwire-native",
    packages=[],
    ext_modules=mypycify({files!r}, opt_level="{level}", debug_level="0", separate={separate}),
)
"""


class BuildError(Exception):
    """mypyc or the C compiler failed; the message is their output."""


@dataclass(frozen=True, kw_only=True)
class Build:
    """A compiled tree. Put ``folder`` first on ``sys.path`` to import it."""

    folder: Path
    modules: tuple[str, ...]
    lines: int
    size: int
    seconds: float


def codec_modules(package: Path) -> list[str]:
    """The codec modules of a generated package, as paths relative to it without suffix, largest first."""
    found = [path for path in package.rglob("*.py") if "install_constructors" in path.read_text("utf-8")]
    ordered = sorted(found, key=lambda path: (-path.stat().st_size, path))
    return [path.relative_to(package).with_suffix("").as_posix() for path in ordered]


def build_native(
    target: Path,
    *,
    runtime: Path,
    package: Path,
    modules: Sequence[str],
    level: int = 3,
    separate: bool = True,
    jobs: int = os.cpu_count() or 1,
) -> Build:
    """Compile the runtime and ``modules`` of a generated package in ``target``, which is replaced.

    ``separate`` makes a library per module: they are compiled in parallel and loaded one by one. Calls between them
    are a little slower, but the fast path has none.
    """
    start = time.perf_counter()
    _copy((runtime, package), target)
    files = [f"{runtime.name}/{name}.py" for name in RUNTIME] + [f"{package.name}/{name}.py" for name in modules]
    script = target / "build" / "setup.py"
    script.parent.mkdir()
    script.write_text(SETUP.format(files=files, level=level, separate=separate), "utf-8")
    command = [sys.executable, "build/setup.py", "--quiet", "build_ext", "--inplace", "--parallel", str(jobs)]
    done = subprocess.run(command, cwd=target, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(_complaints(done.stdout + done.stderr))
    shutil.rmtree(script.parent)
    return Build(
        folder=target,
        modules=tuple(files),
        lines=sum(len((target / file).read_text("utf-8").splitlines()) for file in files),
        size=sum(path.stat().st_size for suffix in ("so", "pyd") for path in target.rglob(f"*.{suffix}")),
        seconds=time.perf_counter() - start,
    )


def _copy(sources: Sequence[Path], target: Path) -> None:
    if target.exists():
        if not (target / MARKER).exists() and any(target.iterdir()):
            raise BuildError(f"{target} is not empty and does not contain an earlier build: choose another folder")
        shutil.rmtree(target)
    target.mkdir(parents=True)
    (target / MARKER).touch()
    for source in sources:
        shutil.copytree(source, target / source.name, ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.pyd"))


def _complaints(text: str) -> str:
    """The lines that report errors, or the last ones if none does."""
    lines = text.splitlines()
    errors = [line for line in lines if re.search(r"\berror\b", line) and not line.startswith("gcc ")]
    return "\n".join(errors or lines[-30:])
