"""Broken frames, columns and records through a native build with AddressSanitizer.

``python -m tests.native.sanitizer`` compiles a copy of the runtime and the codecs in ``build/sanitizer``. It runs the
fuzzers and the operations' own test on that copy. A read or write outside an object ends the run with a stack in C.
Python gets each object from malloc, and ``native_ops.h`` keeps no memory for reuse, so the sanitizer sees every
object. Needs gcc with its library libasan.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from kwirec.native import build_native, codec_modules
from tests.native.test_native import PACKAGE, ROOT, RUNTIME_FOLDER

WORK = ROOT / "build" / "sanitizer"
FLAGS = "-fsanitize=address -fno-omit-frame-pointer -fno-common"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=200_000)
    parser.add_argument("--modules", nargs="+", help="messages to compile, such as api/fetch (default: all)")
    options = parser.parse_args()
    library = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    ).stdout
    os.environ["CFLAGS"] = os.environ["LDFLAGS"] = FLAGS
    start = time.perf_counter()
    codecs = build_native(
        WORK / "codecs", runtime=RUNTIME_FOLDER, package=PACKAGE, modules=options.modules or codec_modules(PACKAGE)
    )
    package = WORK / "package"
    package.mkdir(parents=True, exist_ok=True)
    shutil.copy(Path(__file__).with_name("operations.py"), package)
    operations = build_native(WORK / "operations", runtime=RUNTIME_FOLDER, package=package, modules=["operations"])
    print(f"{len(codecs.modules)} modules compiled after {time.perf_counter() - start:.0f} s", flush=True)
    plain = [ROOT / "compiler", ROOT / "generated"]
    on_codecs = [codecs.folder, *plain]
    check(library, [operations.folder / "package", operations.folder, *plain], "tests.native.operations_used")
    check(library, on_codecs, "tests.native.outcomes", "sanitizer", str(options.frames // 10))
    check(library, on_codecs, "tests.fuzz.frames", "--no-memory", "--frames", str(options.frames))
    check(
        library,
        on_codecs,
        "tests.fuzz.columns",
        "--frames",
        str(options.frames),
        "--fields",
        str(options.frames // 4),
    )
    check(library, on_codecs, "tests.fuzz.records", "--plain", "--runs", str(options.frames))


def check(library: str, folders: list[Path], module: str, *arguments: str) -> None:
    """Run ``module`` on the build in ``folders``. Exit if it fails or the sanitizer finds something."""
    env = os.environ | {
        "LD_PRELOAD": library.strip(),
        "PYTHONMALLOC": "malloc",
        "PYTHONPATH": os.pathsep.join(map(str, folders)),
        # Python itself leaves memory behind. Huge lengths may be asked for, and are refused.
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
    }
    start = time.perf_counter()
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command[1:])} ended with {done.returncode}:\n{done.stderr[-20_000:]}")
    assert "interpreted" not in done.stdout.partition("\n")[0], "the run imported sources, not the build"
    print(f"{module} {' '.join(arguments)}: nothing found, {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
