"""Broken frames of every message and version as columns, against decoding them one by one.

``decode`` of columns gives an error where ``Message.decode`` does, the same one, and otherwise the row that the
decoded message gives. Frames that are whole are not disturbed by broken ones among them.

``python -m tests.fuzz.columns --frames 200000 --seed 1`` prints what happened; ``make test`` runs a short version.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from random import Random
from typing import Any

from kwire import DecodeError
from kwire.arrow import Columns
from kwire.arrow import columns as columns_module
from kwire_kafka.arrow import ARROW
from tests.fuzz.frames import SEEDS_PER_PAIR, Broken, all_pairs, seeds
from tests.fuzz.mutation import mutate

AT_ONCE = 12
"""How many frames of a message are decoded in one call."""


def check(columns: Columns, frames: list[bytes], versions: list[int]) -> Counter[str]:
    """What became of the frames, or :class:`Broken`."""
    found = columns.decode(frames, versions)
    found.array.validate(full=True)
    rows = found.array.to_pylist()
    outcomes: Counter[str] = Counter()
    for number, (data, version) in enumerate(zip(frames, versions, strict=True)):
        error, expected = found.errors.get(number), None
        try:
            message: Any = columns.message.decode(data, version)
        except DecodeError as problem:
            if str(error) != str(problem):
                raise Broken(f"{problem} became {error}", columns.message, version, data) from problem
            outcomes["refused"] += 1
        else:
            expected = columns.array([message], version)[0].as_py()
            outcomes["read"] += 1
        if repr(rows[number]) != repr(expected):  # NaN differs from itself
            raise Broken(f"{expected} became {rows[number]}, {error}", columns.message, version, data)
    return outcomes


def run(frames: int, seed: int) -> Counter[str]:
    """Check that many frames; the counts of what became of them."""
    random = Random(seed)
    valid = seeds(random)
    chosen = all_pairs()
    outcomes: Counter[str] = Counter()
    for number in range(frames // AT_ONCE):
        cls = chosen[number % len(chosen)][0]
        own = [place for place, (other, _) in enumerate(chosen) if other is cls]
        places = [own[int(random.random() * len(own))] for _ in range(AT_ONCE)]
        data = [valid[place][int(random.random() * SEEDS_PER_PAIR)] for place in places]
        other = valid[int(random.random() * len(valid))][0]
        broken = [mutate(one, other, random) if random.random() < 0.7 else one for one in data]
        outcomes += check(ARROW[cls.__name__], broken, [chosen[place][1] for place in places])
    return outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    columns_module.COMPILED = True  # else interpreted programs would not run
    start = time.perf_counter()
    outcomes = run(options.frames, options.seed)
    print(f"{options.frames} frames, seed {options.seed}, {time.perf_counter() - start:.0f} seconds")
    for outcome, number in outcomes.most_common():
        print(f"{number:>10}  {outcome}")


if __name__ == "__main__":
    main()
