"""Compiles the runtime and a generated package with mypyc, and lists the modules that stay interpreted.

The sources are compiled unchanged, since emitted modules are plain typed Python (docs/decisions/codecs.md). With
``compile_in_place``, each becomes a library next to its source, and Python imports the library. ``build_native``
compiles a copy. docs/decisions/native.md gives the reasons.
"""

from __future__ import annotations

import hashlib
import importlib.machinery
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

CONNECTION = (
    *("decoder", "event_reader", "events", "frame_splitter", "framing"),
    "search",
)
RUNTIME: tuple[str, ...] = (
    *("policy", "wire", "struct", "message", "headers", "protocol", "records/loops", "records/batch"),
    *("records/reader", "records/writing", "records/sealing", "records/builder"),
    *("columns/messages", "columns/records", "columns/rows"),
    *(f"connection/{name}" for name in CONNECTION),
)
"""The modules of ``kwire`` that are compiled: functions on the fast path of codecs, handwritten messages, frames,
and loops over records and columns."""

INTERPRETED: Mapping[str, str] = {
    "__init__": "names only",
    "native": "swaps the constructors of interpreted modules. mypyc sees only the stub native.pyi",
    "arrays": "replaces the loops of kwire.wire when these run interpreted",
    "command": "the command line",
    "__main__": "the command line",
    "client": "sends one request at a time, and waits for the network",
    "schema": "fields as data, read when plans are made and not when messages are read",
    "interpreter": "runs once per failure, on getattr and **values, which compiling does not make faster",
    "trace": "shows bytes to people",
    "guide": "makes addresses of pages for people",
    "secrets": "tables, read when messages are printed",
    "redaction": "looks up paths and copies the few messages with secrets",
    "enums": "names of values, for people and tools",
    "errors": "raised once per failure. Look-ups raise a KeyError, from which a native class cannot also derive",
    "lookup": "imports modules by name and looks up classes in tables",
    "uuids": "Uuid derives from bytes, which a native class cannot do",
    "frames": "splits streams. All its time is spent on slicing",
    "primitives": "reads the few numbers before messages in records",
    "records": "all except readers, batches and builders: message sets, errors, the slow path",
    "columns": "all except the loops. Makes one program for each message and version",
    "arrow": "loops over attributes one column at a time. The rest is pyarrow",
    "json_form": "reads the output of `json` with closures, which compiling does not speed up",
    "models": "pydantic creates the classes on request",
    "logs": "reads files and looks up classes. The codecs and loops that it calls are compiled",
    "compression": "all its time is spent in zlib and cramjam",
    "releases": "looks up facts in tables, for people and tools and not for codecs",
    "request_log": "reads text. All its time is spent in json and json_form",
    "connection": "all except the modules that see every frame, such as the two ends, which wait for the network",
}
"""The modules of ``kwire`` that are not compiled, each with the reason."""

MARKER = ".kwirec-native"
"""The file that identifies the copy of an earlier build."""

SUFFIX = importlib.machinery.EXTENSION_SUFFIXES[0]
"""The suffix of extension modules for this Python."""

CONSTRUCTOR = re.compile(r"^(new_\w+) = constructor\(\s*\w+(?:,\s*without=\(([^)]*)\))?", re.M)
"""Matches the line of a codec module that makes ``new_X``. The parameters of ``new_X`` are all fields except
``without``.
"""

LEVEL = 1
"""The optimisation level of the C compiler."""

LOOPS = ("kwire.columns",)
"""Packages with loops over numbers and bytes. These loops run a fifth faster if the C compiler optimises them
fully.
"""

SETUP = """\
import sys
import sysconfig
from collections import Counter

from mypyc.build import mypycify
from setuptools import setup

sys.path.insert(0, {compiler!r})
from kwirec.native_ops import register

register({constructors!r})

extensions = mypycify(
    {arguments!r},
    opt_level="{level}",
    debug_level="0",
    separate=True,
    include_runtime_files=False,
    target_dir={target!r},
)
uses = Counter(source for extension in extensions for source in extension.sources)
shared = [source for source, count in uses.items() if count > 1]  # mypyc's own runtime: compiled once, for all
first = next(extension for extension in extensions if extension.include_dirs)
folders = [*first.include_dirs, sysconfig.get_path("include")]
runtime = {{"sources": shared, "include_dirs": folders, "cflags": [*first.extra_compile_args, *{flags!r}]}}
for extension in extensions:
    extension.sources = [source for source in extension.sources if source not in shared]
    extension.extra_compile_args = [*extension.extra_compile_args, *{flags!r}]
    if extension.include_dirs:  # all but the shims
        extension.depends = [*extension.depends, {header!r}]
        extension.extra_compile_args += {include_flags!r}
    if extension.name.startswith({loops!r}):
        extension.extra_compile_args += {loop_flags!r}
    extension.extra_link_args = {link_flags!r}
setup(
    name="kwire-native",
    packages=[],
    package_dir={packages!r},
    libraries=[("mypyc_runtime", runtime)],
    ext_modules=extensions,
)
"""

COMMANDS = """\
--quiet build_clib --build-clib={work}/archive --build-temp={work}/objects
build_ext --inplace --build-lib={work}/lib --build-temp={work}/objects"""


class BuildError(Exception):
    """Raised when mypyc or the C compiler fails. The message is their output."""


@dataclass(frozen=True, kw_only=True)
class Build:
    """A finished build, with one or two libraries per source. ``size`` is the total size of the libraries in bytes.

    To import a copy, put ``folder`` first on ``sys.path``.
    """

    folder: Path
    modules: tuple[str, ...]
    libraries: tuple[Path, ...]
    lines: int
    size: int
    seconds: float


def codec_modules(package: Path) -> list[str]:
    """Return the relative paths of a package's codec modules, without suffixes and sorted by size, largest first."""
    found = [path for path in package.rglob("*.py") if CONSTRUCTOR.search(path.read_text("utf-8"))]
    ordered = sorted(found, key=lambda path: (-path.stat().st_size, path))
    return [path.relative_to(package).with_suffix("").as_posix() for path in ordered]


def build_native(
    target: Path,
    *,
    runtime: Path,
    package: Path,
    modules: Sequence[str],
    level: int = LEVEL,
    jobs: int = os.cpu_count() or 1,
) -> Build:
    """Compile the runtime and ``modules`` of a generated package in ``target``, replacing any earlier build."""
    _copy((runtime, runtime.with_name("kwire_rules"), package), target)
    folders = [target / runtime.name, target / package.name]
    return compile_in_place(*folders, modules=modules, work=target / "build", level=level, jobs=jobs)


def compile_in_place(
    runtime: Path,
    package: Path,
    *,
    modules: Sequence[str],
    work: Path,
    also: Mapping[Path, Sequence[str]] = MappingProxyType({}),
    level: int = LEVEL,
    jobs: int = os.cpu_count() or 1,
) -> Build:
    """Compile the runtime and ``modules`` of a generated package into libraries next to their sources.

    ``also`` maps folders of other packages to modules that are compiled, too. ``work`` contains intermediate files,
    so that unchanged sources are not compiled again. Libraries of other modules from earlier builds are removed.
    """
    start = time.perf_counter()
    named = {folder.resolve(): names for folder, names in {runtime: RUNTIME, package: modules, **also}.items()}
    work, folders = work.resolve(), [*named]
    files = [folder / f"{name}.py" for folder, names in named.items() for name in names]
    digests = _digests(files)
    # The build folder determines the source paths in tracebacks from the libraries.
    root = Path(os.path.commonpath([folder.parent for folder in folders]))
    _prepare(work, root, folders, files, level)
    options = [option.format(work=work) for option in COMMANDS.split()]
    command = [sys.executable, str(work / "setup.py"), *options, f"--parallel={jobs}"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if 'File "mypyc/' in done.stderr and (work / "mypy").exists():
        # mypyc (2.4) does not cache which attributes lack a value for "undefined", and fails if an unchanged module
        # has such attributes. See docs/decisions/native.md.
        shutil.rmtree(work / "mypy")
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        if not (work / "archive").exists():  # mypyc only names the files of its runtime for modules that it compiles
            (work / "tools.txt").unlink()
        raise BuildError(_complaints(done.stdout + done.stderr))
    expected = {file.with_name(file.stem + ending + SUFFIX) for file in files for ending in ("", "__mypyc")}
    for path in {path for folder in folders for path in libraries(folder)} - expected:
        path.unlink()
    (work / "sources.json").write_text(json.dumps(digests, indent=1), "utf-8")
    return Build(
        folder=folders[0].parent,
        modules=tuple(f"{folder.name}/{name}" for folder, names in named.items() for name in names),
        libraries=tuple(sorted(expected)),
        lines=sum(len(file.read_text("utf-8").splitlines()) for file in files),
        size=sum(path.stat().st_size for path in expected),
        seconds=time.perf_counter() - start,
    )


def libraries(folder: Path) -> Iterator[Path]:
    """Return all libraries for this Python in ``folder`` and its subfolders."""
    return folder.rglob(f"*{SUFFIX}")


def outdated(work: Path) -> list[Path]:
    """Return the sources that have changed since they were compiled in place with this ``work`` folder."""
    record = work / "sources.json"
    then: dict[str, str] = json.loads(record.read_text("utf-8")) if record.exists() else {}
    return [Path(name) for name, digest in _digests(map(Path, then)).items() if digest != then[name]]


def _digests(files: Iterable[Path]) -> dict[str, str]:
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "" for path in files}


def _prepare(work: Path, root: Path, folders: Sequence[Path], files: Sequence[Path], level: int) -> None:
    """Write the build script and mypy's configuration. If the tools changed, remove all earlier work."""
    work.mkdir(parents=True, exist_ok=True)
    operations = hashlib.sha256(Path(__file__).with_name("native_ops.py").read_bytes()).hexdigest()
    versions = [importlib.metadata.version(name) for name in ("mypy", "setuptools")]
    tools = " ".join([sys.version, *versions, operations, str(level)])
    stamp = work / "tools.txt"
    if not stamp.exists() or stamp.read_text("utf-8") != tools:
        shutil.rmtree(work)
        work.mkdir()
        stamp.write_text(tools, "utf-8")

    def there(path: Path) -> str:  # relative, because mypy_path would split at the colon of a Windows drive
        return Path(os.path.relpath(path, root)).as_posix()

    paths = ":".join(dict.fromkeys(there(folder.parent) for folder in folders))
    (work / "mypy.ini").write_text(
        f"[mypy]\nmypy_path = {paths}\nexplicit_package_bases = True\nnamespace_packages = True\n"
        "ignore_missing_imports = True\n"
        f"cache_dir = {there(work / 'mypy')}\n",
        "utf-8",
    )
    gnu = sys.platform == "linux"
    header = Path(__file__).resolve().with_name("native_ops.h")
    script = SETUP.format(
        compiler=str(header.parents[1]),
        header=str(header),
        include_flags=_include_flags(header),
        arguments=["--config-file", there(work / "mypy.ini"), *map(there, files)],
        constructors=dict(one for folder in folders for one in _constructors(folder, files)),
        level=level,
        loops=LOOPS,
        loop_flags=[] if sys.platform == "win32" else ["-O3"],
        target=there(work / "c"),
        # Calls within a library are direct, and unused functions are left out.
        flags=["-fvisibility=hidden", "-ffunction-sections", "-fdata-sections"] if gnu else [],
        link_flags=["-Wl,--gc-sections", "-Wl,-s"] if gnu else [],
        packages={folder.name: there(folder) for folder in folders},
    )
    (work / "setup.py").write_text(script, "utf-8")


def _constructors(folder: Path, files: Sequence[Path]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the full name of each function ``new_X`` in the package ``folder``, and the fields that are not among its
    parameters.
    """
    for file in files:
        if file.is_relative_to(folder):
            module = ".".join(file.relative_to(folder.parent).with_suffix("").parts)
            for name, without in CONSTRUCTOR.findall(file.read_text("utf-8")):
                yield f"{module}.{name}", tuple(re.findall(r"\w+", without))


def _include_flags(header: Path) -> list[str]:
    """Return compiler flags that include ``header`` first and silence warnings about the way it frees objects."""
    if sys.platform == "win32":
        return [f"/FI{header}"]
    return ["-include", str(header), "-Wno-maybe-uninitialized", "-Wno-sometimes-uninitialized"]


def _copy(sources: Sequence[Path], target: Path) -> None:
    if target.exists():
        if not (target / MARKER).exists() and any(target.iterdir()):
            raise BuildError(f"{target} is not empty and does not contain an earlier build: choose another folder")
        for source in sources:
            shutil.rmtree(target / source.name, ignore_errors=True)
    target.mkdir(parents=True, exist_ok=True)
    (target / MARKER).touch()
    for source in sources:
        shutil.copytree(source, target / source.name, ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.pyd"))


def _complaints(text: str) -> str:
    """Return the lines of output that report errors, or the last 30 lines if none does."""
    lines = text.splitlines()
    errors = [line for line in lines if re.search(r"\berror\b", line) and not line.startswith("gcc ")]
    return "\n".join(errors or lines[-30:])
