"""Compiles the codecs with mypyc, and measures the speedup.

``python -m benchmarks.native [--modules N | --all] [--out build/native]``

The benchmark compiles the unmodified runtime and codec modules into a folder outside the sources, and checks that
compiled and interpreted code produce the same bytes in round trips of every message. The benchmark also compares the
compiled decoders with the decoders of kio, which are written in Rust. The exit code is 1 if a step fails or kio is
faster.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.codecs import BUILT, COMPILED, ROOT, Times, measure, report
from benchmarks.samples import MODULES, PACKAGE, SAMPLES
from kwirec.native import LEVEL, Build, BuildError, build_native, codec_modules

RUNTIME = ROOT / "runtime" / "kwire"
GENERATED = ROOT / "generated" / PACKAGE
MEASURED = tuple(name.replace(".", "/") for name in MODULES)
"""Codec modules that the comparison with other libraries uses."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--modules", type=int, default=0, help="number of further modules to compile, largest first")
    options.add_argument("--all", action="store_true", help="compile all modules, which takes minutes")
    options.add_argument("--out", type=Path, default=BUILT)
    options.add_argument("--level", type=int, default=LEVEL, help="optimisation level of the C compiler")
    options.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options.add_argument("--rounds", type=int, default=20)
    given = options.parse_args()
    every = codec_modules(GENERATED)
    chosen = every if given.all else list(dict.fromkeys([*MEASURED, *every[: given.modules]]))
    try:
        built = build_native(
            given.out,
            runtime=RUNTIME,
            package=GENERATED,
            modules=chosen,
            level=given.level,
            jobs=given.jobs,
        )
    except BuildError as problem:
        sys.exit(f"the sources do not compile:\n{problem}")
    print(describe(built))
    print(compare_round_trips(built, chosen))
    times = measure(SAMPLES, built.folder, given.rounds)
    print(f"\n{report(times)}\n")
    sys.exit(verdict(times))


def describe(built: Build) -> str:
    return (
        f"compiled {len(built.modules)} modules, {built.lines:,} lines, in {built.seconds:.0f} s "
        f"({built.lines / built.seconds:.0f} lines/s), {built.size / 1e6:.1f} MB of libraries"
    )


def compare_round_trips(built: Build, modules: Sequence[str]) -> str:
    """Make round trips with compiled and with interpreted code, and return a summary. Exit if the bytes differ."""
    compiled = round_trips([built.folder], modules)
    plain = round_trips([RUNTIME.parent, GENERATED.parent], modules)
    if compiled["compiled"] != len(modules) or plain["compiled"]:
        sys.exit(f"{compiled['compiled']} of {len(modules)} modules were imported compiled")
    if compiled["digest"] != plain["digest"]:
        sys.exit("compiled and interpreted codecs write different bytes")
    if compiled["slow"]:
        sys.exit(f"these messages used the slow path: {compiled['slow'][:5]}")
    return (
        f"{compiled['messages']} messages in {compiled['versions']} versions, default and filled: "
        "compiled and interpreted code produce the same bytes, and decode them to the same messages"
    )


def round_trips(folders: Sequence[Path], modules: Sequence[str]) -> dict[str, Any]:
    script = Path(__file__).with_name("roundtrip.py")
    command = [sys.executable, str(script), ":".join(map(str, folders)), PACKAGE, *modules]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=script.parent)
    if done.returncode:
        sys.exit(f"round trips failed:\n{done.stderr}")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def verdict(times: Times) -> int:
    """Return exit code 0 if every compiled decoder is faster than kio's decoder, or else 1."""
    slower = [
        title
        for title in dict.fromkeys(title for title, _, _ in times)
        if times[title, "decode", COMPILED] >= times[title, "decode", "kio"]
    ]
    print(f"slower than kio: {', '.join(slower)}" if slower else "every compiled decoder is faster than kio's")
    return 1 if slower else 0


if __name__ == "__main__":
    main()
