"""Compares the speed of kwire, kafka-python and kio at decoding and encoding the same bytes.

``python -m benchmarks.codecs [--native FOLDER] [--rounds N] [--json FILE]``

The libraries take turns in each round, and the fastest round counts. A column "A / B" divides the time of A by the
time of B. If the ratio is above 1, B is faster. ``--native`` names the folder of a compiled build from
``benchmarks.native``. The default is ``build/native``, if that exists.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

from benchmarks.peers import python as peers
from benchmarks.peers.python import Codec
from benchmarks.samples import SAMPLES, Sample, load
from benchmarks.timing import duration, interleaved, table

ROOT = Path(__file__).resolve().parent.parent
BUILT = ROOT / "build" / "native"
INTERPRETED, COMPILED = "kwire", "kwire compiled"

Times = dict[tuple[str, str, str], float]
"""Seconds, by sample title, direction and library."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--native", type=Path, help="folder of a compiled build")
    options.add_argument("--rounds", type=int, default=30)
    options.add_argument("--only", default="", help="text in the titles of the samples (default: all)")
    options.add_argument("--json", type=Path, help="JSON file to which the figures are also written")
    given = options.parse_args()
    native = given.native or (BUILT if BUILT.is_dir() else None)
    samples = [sample for sample in SAMPLES if given.only.lower() in sample.title.lower()]
    times = measure(samples, native, given.rounds)
    print(report(times))
    if given.json:
        given.json.write_text(json.dumps(as_json(times), indent=2) + "\n", "utf-8")


def measure(samples: Sequence[Sample], native: Path | None, rounds: int) -> Times:
    """Return the times of all libraries for all samples."""
    builds = {INTERPRETED: load()}
    if native is not None:
        with own_imports(native):
            builds[COMPILED] = load()
    check_builds(builds)
    times: Times = {}
    for sample in samples:
        codecs = list(codecs_of(sample, builds))
        for direction in ("decode", "encode"):
            calls = {(sample.title, direction, one.library): getattr(one, direction) for one in codecs}
            times |= interleaved(calls, rounds)
    return times


@contextmanager
def own_imports(folder: Path) -> Iterator[None]:
    """Import kwire from ``folder`` during the ``with`` block, apart from the kwire that is already imported."""
    kept = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0].startswith("kwire")}
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if name.split(".")[0].startswith("kwire")]:
            del sys.modules[name]
        sys.modules.update(kept)


def check_builds(builds: dict[str, dict[str, ModuleType]]) -> None:
    for label, modules in builds.items():
        for module in modules.values():
            is_source = (module.__file__ or "").endswith(".py")
            if is_source != (label == INTERPRETED):
                sys.exit(f"{module.__name__} for {label!r} comes from {module.__file__}")


def codecs_of(sample: Sample, builds: dict[str, dict[str, ModuleType]]) -> Iterator[Codec]:
    """Yield each library's codec for a sample, after checking that all codecs read and write the same data."""
    plain = builds[INTERPRETED][sample.module]
    expected = sample.make(plain)
    data: bytes = expected.encode(sample.version)
    for label, modules in builds.items():
        codec = ours(label, modules[sample.module], sample, data)
        if codec.encode() != data:
            sys.exit(f"{sample.title}: {label} writes other bytes")
        yield codec
    for peer in peers.PEERS:
        codec = peer(sample.name, sample.version, data)
        wrong = peers.differences(expected, codec.decoded, sample.version)
        if wrong:
            sys.exit(f"{sample.title}: {codec.library} reads other values: {wrong[:3]}")
        if codec.encode() != data:
            sys.exit(f"{sample.title}: {codec.library} writes other bytes")
        yield codec


def ours(label: str, module: ModuleType, sample: Sample, data: bytes) -> Codec:
    cls, number = getattr(module, sample.name), sample.version
    message = cls.decode(data, number)
    return Codec(
        library=label,
        decode=lambda: cls.decode(data, number),
        encode=lambda: message.encode(number),
        decoded=message,
    )


def report(times: Times) -> str:
    """Return a table of times for decoding and one for encoding, with the ratios of other libraries to kwire."""
    libraries = list(dict.fromkeys(library for _, _, library in times))
    pairs = [(peer, own) for own in (INTERPRETED, COMPILED) for peer in ("kafka-python", "kio") if own in libraries]
    parts = [environment()]
    for direction in ("decode", "encode"):
        rows = []
        for title in dict.fromkeys(title for title, _, _ in times):
            seconds = {library: times[title, direction, library] for library in libraries}
            ratios = [f"{seconds[peer] / seconds[own]:.2f}" for peer, own in pairs]
            rows.append([title, *(duration(seconds[library]) for library in libraries), *ratios])
        parts.append(table([direction, *libraries, *(f"{peer} / {own}" for peer, own in pairs)], rows))
    return "\n\n".join(parts)


def environment() -> str:
    return (
        f"{platform.python_implementation()} {platform.python_version()}, {platform.machine()}, "
        f"kafka-python {version('kafka-python')}, kio {version('kio')}, librt {version('librt')}"
    )


def as_json(times: Times) -> dict[str, object]:
    rows = [
        {"sample": title, "direction": direction, "library": library, "seconds": seconds}
        for (title, direction, library), seconds in times.items()
    ]
    return {"environment": environment(), "figures": rows}


if __name__ == "__main__":
    main()
