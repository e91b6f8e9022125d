"""Broken frames of every message and version, against what decoding promises.

- ``decode`` gives a value or a ``DecodeError`` that points into the data, and nothing else.
- What it gives can be encoded, and decodes again to an equal value.
- What the emitted fast path reads, ``kwire.interpreter`` reads too, with the same value.
- A length that the data cannot hold costs no memory.

``python -m tests.fuzz.frames --frames 1000000 --seed 1`` prints what happened; ``make test`` runs a short version.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any

from kwire import LIKE_KAFKA, STRICT, DecodeError, interpreter
from kwire.interpreter.reader import Reader
from kwire.message import Message
from kwire.schema import PresentField
from kwire_kafka.index import PROTOCOL
from tests.fuzz.mutation import HUGE, mutate
from tests.properties.values import FIXED, RandomSource, exact, make, pairs

SEEDS_PER_PAIR = 4
HUGEST = (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x07", b"\x80\x80\x40")
TAILS = (b"", b"\0" * 64, b"\1" * 64, b"\x7f" * 200)

MEMORY_CONSTANT = 1 << 16
MEMORY_FACTOR = 400
"""An object of a struct, or a list, for every byte of input is the most that honest input can ask for."""


class Broken(AssertionError):
    """A promise that was not kept, with all it takes to see it again."""

    def __init__(self, what: str, cls: type[Message], version: int, data: bytes) -> None:
        super().__init__(f"{cls.__name__} v{version}: {what}; data {data.hex()}")


@cache
def all_pairs() -> tuple[tuple[type[Message], int], ...]:
    return tuple(pairs())


def seeds(random: Random) -> list[list[bytes]]:
    """Some valid messages of every pair."""
    source = RandomSource(random)
    return [
        [make(cls, version, source).encode(version) for _ in range(SEEDS_PER_PAIR)] for cls, version in all_pairs()
    ]


def check(cls: type[Message], version: int, data: bytes) -> str:
    """One frame; gives what became of it, or raises :class:`Broken`."""
    try:
        message = cls.decode(data, version)
    except DecodeError as error:
        where = f"{cls.__name__} v{version}"
        if error.data != data or not 0 <= error.offset <= len(data) or not str(error).startswith(where):
            raise Broken(f"an error that points nowhere: {error}", cls, version, data) from error
        return "refused"
    except BaseException as error:
        raise Broken(f"decode raised {error!r}", cls, version, data) from error
    try:
        again = message.encode(version)
        same = cls.decode(again, version)
    except Exception as error:
        raise Broken(f"what was decoded does not survive encoding: {error!r}", cls, version, data) from error
    if same != message and exact(same) != exact(message):  # NaN differs from itself
        raise Broken("what was decoded changes when encoded and decoded", cls, version, data)
    return "canonical" if again == data else "accepted"


def check_paths(cls: type[Message], version: int, data: bytes) -> str:
    """The fast path against the slow one, and the tolerant policy against the strict one."""
    try:
        slow: Any = interpreter.decode(cls, data, 0, version, STRICT, whole=True)
    except DecodeError:
        slow = None
    try:
        fast: Any = cls._read(data, 0, version)
    except Exception:
        fast = None
    if fast is not None and fast[1] != len(data):
        fast = None
    if fast is not None and (slow is None or exact(fast[0]) != exact(slow[0])):
        raise Broken(f"fast path {fast[0]!r}, slow path {slow and slow[0]!r}", cls, version, data)
    try:
        tolerant = cls.decode(data, version, LIKE_KAFKA)
    except DecodeError as error:
        if slow is not None:
            raise Broken(
                f"the tolerant policy refuses what the strict one reads: {error}", cls, version, data
            ) from error
    else:
        if slow is not None and exact(tolerant) != exact(slow[0]):
            raise Broken("the tolerant policy reads something else than the strict one", cls, version, data)
    if fast is None and slow is not None:
        return "slow path only"
    return "both paths" if slow is not None else "neither path"


def check_frames(cls: type[Message], version: int, data: bytes, random: Random) -> None:
    """Whole frames: headers before the body, at times broken ones, and api keys that nobody has."""
    key = cls.API_KEY if cls.API_KEY is not None and random.random() < 0.9 else random.getrandbits(15)
    header = key.to_bytes(2, "big") + version.to_bytes(2, "big") + random.randbytes(4) + b"\0\4test" + data[:1]
    if random.random() < 0.5:
        header = mutate(header, data, random)
    for payload, read in (
        (header + data, lambda payload: PROTOCOL.decode_request(payload)),
        (header[4:8] + data, lambda payload: PROTOCOL.decode_response(payload, key, version)),
        (header[4:8] + b"\0" + data, lambda payload: PROTOCOL.decode_response(payload, key, version)),
    ):
        try:
            read(payload)
        except DecodeError as error:
            str(error)
        except BaseException as error:
            raise Broken(f"a frame of key {key} raised {error!r}", cls, version, payload) from error


def run(frames: int, seed: int) -> Counter[str]:
    """Check that many frames; the counts of what became of them."""
    random = Random(seed)
    valid = seeds(random)
    chosen = all_pairs()
    outcomes: Counter[str] = Counter()
    for number in range(frames):
        which = number % len(chosen)
        cls, version = chosen[which]
        other = valid[int(random.random() * len(valid))][0]
        data = valid[which][int(random.random() * SEEDS_PER_PAIR)]
        if random.random() < 0.98:
            data = mutate(data, other, random)
        outcomes[check(cls, version, data)] += 1
        if number % 8 == 0:
            outcomes[check_paths(cls, version, data)] += 1
        if number % 16 == 0:
            check_frames(cls, version, data, random)
    return outcomes


class _Lengths(Reader):
    """Notes where every length and count stands."""

    def __init__(self, cls: type[Message], data: bytes, version: int) -> None:
        super().__init__(cls, data, 0, version, STRICT)
        self.found: list[tuple[int, int]] = []

    def uvarint(self, what: str) -> int:
        start = self.pos
        value = super().uvarint(what)
        self.found.append((start, self.pos))
        return value

    def length(self, field: PresentField, size: int, what: str, *, nullable: bool) -> int:
        start = self.pos
        value = super().length(field, size, what, nullable=nullable)
        if not field.is_compact:
            self.found.append((start, self.pos))
        return value


def hostile(cls: type[Message], version: int, *, thorough: bool) -> Iterator[bytes]:
    """A valid message with one of its lengths blown up, for every length that it has."""
    data = make(cls, version, FIXED["unknown tags" if version in cls.FLEXIBLE_VERSIONS else "min"]).encode(version)
    reader = _Lengths(cls, data, version)
    reader.struct(cls)
    for start, end in reader.found:
        for huge in HUGE if thorough else HUGEST:
            for tail in (*TAILS, data[end:]) if thorough else (bytes(200),):
                yield data[:start] + huge + tail


def check_memory(chosen: list[tuple[type[Message], int]], *, thorough: bool) -> tuple[int, float]:
    """How many hostile lengths were tried, and the most memory that one took, as a share of what it may."""
    count, worst = 0, 0.0
    for cls, version in chosen:
        frames = list(hostile(cls, version, thorough=thorough))
        for data in frames[:2]:
            check(cls, version, data)  # modules and constructors are made on first use, which is not counted
        tracemalloc.start()
        for data in frames:
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            try:
                cls.decode(data, version)
            except DecodeError:
                pass
            except BaseException as error:
                raise Broken(f"decode raised {error!r}", cls, version, data) from error
            share = (tracemalloc.get_traced_memory()[1] - before) / (MEMORY_CONSTANT + MEMORY_FACTOR * len(data))
            if share > 1:
                raise Broken(f"decoding took {share:.1f} times the memory that it may", cls, version, data)
            worst = max(worst, share)
            count += 1
        tracemalloc.stop()
    return count, worst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-memory", action="store_true", help="do not measure what hostile lengths cost")
    options = parser.parse_args()
    start = time.perf_counter()
    outcomes = run(options.frames, options.seed)
    print(f"{options.frames} frames, seed {options.seed}, {time.perf_counter() - start:.0f} seconds")
    for outcome, number in outcomes.most_common():
        print(f"{number:>10}  {outcome}")
    if options.no_memory:
        return
    start = time.perf_counter()
    count, worst = check_memory(list(all_pairs()), thorough=True)
    print(
        f"{count} hostile lengths, at most {worst:.0%} of the memory limit, {time.perf_counter() - start:.0f} seconds"
    )


if __name__ == "__main__":
    main()
