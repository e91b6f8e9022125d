"""The Python peers. ``python -m benchmarks.peers.worker NAME FOLDER`` answers commands (see ``benchmarks.peers``).

``NAME`` is ``kwire``, ``kwire-ready-records``, ``kafka-python``, ``kio`` or ``aiokafka``. ``kwire-ready-records``
reads lists of records, and builds batches from existing ``Record`` objects. ``keep CASE N`` decodes N times and keeps
the results.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks import records
from benchmarks.peers import python
from benchmarks.peers.cases import CASES, Case, Facts, records_facts
from benchmarks.samples import PACKAGE

MESSAGES = {"kafka-python": python.kafka_python, "kio": python.kio}
RECORDS = {"kafka-python": records.kafka_python, "kio": records.kio, "aiokafka": records.aiokafka}


class Missing(Exception):
    """The library does not support the message or direction. The error text says which."""


@dataclass(frozen=True)
class Ready:
    decode: Callable[[], object]
    encode: Callable[[], object] | None
    facts: Facts


def main() -> None:
    name, folder = sys.argv[1:]
    cases = {case.name: case for case in CASES}
    ready: dict[str, Ready | str] = {}
    kept = []
    for line in sys.stdin:
        command, case, argument = line.split()
        if case not in ready:
            ready[case] = prepare(name, cases[case], (Path(folder) / f"{case}.bin").read_bytes())
        peer = ready[case]
        if isinstance(peer, str):
            answer = peer
        elif command == "check":
            answer = check(peer, Path(argument))
        else:
            start = time.perf_counter_ns()
            if command == "keep":
                kept += [peer.decode() for _ in range(int(argument))]
            elif command == "decode":
                repeat(peer.decode, int(argument))
            elif peer.encode:
                repeat(peer.encode, int(argument))
            can = peer.encode or command != "encode"
            answer = f"ns {time.perf_counter_ns() - start if can else 0}"
        print(answer, flush=True)


def repeat(call: Callable[[], object], times: int) -> None:
    for _ in range(times):
        call()


def check(peer: Ready, target: Path) -> str:
    if peer.encode:
        target.write_bytes(peer.encode())  # type: ignore[arg-type]
    return " ".join(["facts", *map(str, peer.facts)])


def prepare(name: str, case: Case, data: bytes) -> Ready | str:
    try:
        return message(name, case, data) if case.sample else records_of(name, case, data)
    except (ImportError, AttributeError, KeyError, Missing):
        return "no class for it"


def message(name: str, case: Case, data: bytes) -> Ready:
    sample = case.sample
    assert sample
    assert case.facts
    cls: Any = getattr(import_module(f"{PACKAGE}.{sample.module}"), sample.name)
    ours = cls.decode(data, sample.version)
    facts = case.facts(ours)
    if name == "kwire":
        return Ready(partial(cls.decode, data, sample.version), partial(ours.encode, sample.version), facts)
    if name not in MESSAGES:
        raise Missing
    codec = MESSAGES[name](sample.name, sample.version, data)
    wrong = python.differences(ours, codec.decoded, sample.version)
    if wrong:
        sys.exit(f"{name} reads other values from {case.name}: {wrong[:3]}")
    return Ready(codec.decode, codec.encode, facts)


def records_of(name: str, case: Case, data: bytes) -> Ready:
    if name == "kwire-ready-records":
        return ready_records(data)
    library = RECORDS[name]() if name in RECORDS else records.kwire("")
    rows = list(library.rows(data))
    build = partial(records.build, library, rows, case.per_batch, 0) if library.build else None
    return Ready(partial(library.read, data), build, records_facts(rows))


def ready_records(data: bytes) -> Ready:
    module = import_module("kwire.records")
    batches = [(batch.base_offset, batch.records()) for batch in module.read_batches(data)]
    for _, rows in batches:
        for row in rows:
            row.offset = -1

    def read() -> int:
        count = 0
        for batch in module.read_batches(data):
            count += len(batch.records())
        return count

    def build() -> bytes:
        return b"".join(module.encode_batch(rows, base_offset=base) for base, rows in batches)

    found = [record for batch in module.read_batches(data) for record in batch.records()]
    return Ready(read, build, records_facts((one.offset, one.timestamp, one.key, one.value) for one in found))


if __name__ == "__main__":
    main()
