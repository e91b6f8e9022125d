"""The native build of this tree, for ``make native`` and native wheels.

Compiled libraries are next to their sources, and Python imports the library if both exist. Tests refuse to start if
a source has changed since its library was compiled.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Sequence

from kwirec.native import Build, BuildError, codec_modules, compile_in_place, libraries, outdated
from tools import ROOT

RUNTIME = ROOT / "runtime" / "kwire"
PACKAGE = ROOT / "generated" / "kwire_kafka"
INSPECT = ROOT / "inspect" / "kwire_inspect"
HOT: tuple[str, ...] = (
    *(f"capture/{name}" for name in ("ordering", "packet_files", "packets", "pcap", "pcapng", "tcp")),
    *(f"capture/{name}" for name in ("layers", "unwrapping", "walk")),
    *(f"connections/{name}" for name in ("batches", "connection", "error_codes", "exchange_rows", "frame_rows")),
    *("connections/request_context", "rows", "tls/decryption"),
)
"""The modules of ``kwire_inspect`` to compile, because they handle each packet and frame of a capture."""
WORK = ROOT / "build" / "mypyc" / (sys.implementation.cache_tag or "python")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.native", description=__doc__)
    parser.add_argument("--clean", action="store_true", help="remove the libraries and all intermediate files")
    parser.add_argument("--modules", nargs="+", help="messages to compile, such as api/fetch (default: all)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    if options.clean:
        clean()
        return 0
    for name in options.modules or ():
        if not (PACKAGE / f"{name}.py").is_file():
            parser.error(
                f"{(PACKAGE / name).relative_to(ROOT).as_posix()}.py does not exist: name modules such as api/fetch"
            )
    try:
        built = build(options.jobs, options.modules)
    except BuildError as problem:
        print(f"the sources do not compile:\n{problem}", file=sys.stderr)
        return 1
    print(f"{len(built.modules)} modules ({built.size / 1e6:.1f} MB) compiled in {built.seconds:.0f} s")
    return 0


def build(jobs: int = os.cpu_count() or 1, modules: Sequence[str] | None = None) -> Build:
    """Compile the runtime in place, with ``modules`` or, as in native wheels, with all messages."""
    return compile_in_place(
        RUNTIME,
        PACKAGE,
        modules=modules or codec_modules(PACKAGE),
        also={INSPECT: HOT},
        work=WORK,
        jobs=jobs,
    )


def clean() -> None:
    shutil.rmtree(WORK, ignore_errors=True)
    for folder in (RUNTIME, PACKAGE, INSPECT):
        for path in libraries(folder):
            path.unlink()


def stale() -> str:
    """Return a message that names the sources changed since their compilation, or an empty string."""
    if not any(libraries(RUNTIME)):
        return ""
    changed = [str(path.relative_to(ROOT)) for path in outdated(WORK)]
    return (
        f"{', '.join(changed[:3])} changed after it was compiled: make native or make native-clean" if changed else ""
    )


if __name__ == "__main__":
    sys.exit(main())
