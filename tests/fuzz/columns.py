"""Broken frames of every message and version as columns, against decoding them one by one.

``decode`` of columns gives an error where ``Message.decode`` does, the same one, and otherwise the row that the
decoded message gives. Frames that are whole are not disturbed by broken ones among them.
The same holds for records: columns have the records of every batch that can be read, and the errors of the others.

``python -m tests.fuzz.columns --frames 200000 --fields 100000 --seed 1`` prints what happened; ``make test`` runs a
short version.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from random import Random
from typing import Any

import pyarrow as pa

from kwire import DecodeError
from kwire.arrow import Columns, read_records
from kwire.arrow import columns as columns_module
from kwire.arrow.records import ROWS
from kwire.records import Record, read_batches
from kwire_kafka.arrow import ARROW
from tests.fuzz import records
from tests.fuzz.frames import SEEDS_PER_PAIR, Broken, all_pairs, seeds
from tests.fuzz.mutation import mutate
from tests.fuzz.records import LIMIT

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


def check_field(field: bytes) -> str:
    """A records field; what became of it, or ``AssertionError``."""
    options: dict[str, Any] = {"verify": False, "skip": True, "limit": LIMIT}
    batches = read_batches(field, **options)
    expected = [(batch.position, one) for batch, records in batches.with_records() for one in records]
    for rows in (ROWS, 3):
        reader = read_records(field, rows=rows, **options)
        parts = list(reader)
        found = [
            (row["position"], Record(row["key"], row["value"], offset=row["offset"]))
            for part in parts
            for row in part.drop_columns(["timestamp", "headers"]).to_pylist()
        ]
        times = [time for part in parts for time in part.column("timestamp").cast(pa.int64()).to_pylist()]
        headers = [one for part in parts for one in part.column("headers").to_pylist()]
        assert found == [(place, Record(one.key, one.value, offset=one.offset)) for place, one in expected], field
        assert times == [None if one.timestamp == -1 else one.timestamp for _, one in expected], field
        assert [[one["value"] for one in found] for found in headers] == [
            [value for _, value in one.headers] for _, one in expected
        ], field
        assert sorted(map(str, reader.errors)) == sorted(map(str, batches.errors)), field
        assert reader.truncated == batches.truncated, field
    return "refused" if batches.errors else "read"


def run_fields(fields: int, seed: int) -> Counter[str]:
    """Check that many records fields; the counts of what became of them."""
    random = Random(seed)
    valid = [data for data in records.seeds() if len(data) > 1]
    outcomes: Counter[str] = Counter()
    for _ in range(fields):
        data, other = (valid[int(random.random() * len(valid))] for _ in range(2))
        broken = data[:1] + mutate(data[1:], other, random)
        outcomes[check_field(records.FORMS[broken[0] & 3](broken[1:]))] += 1
    return outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=200_000)
    parser.add_argument("--fields", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    columns_module.COMPILED = True  # else interpreted programs would not run
    start = time.perf_counter()
    outcomes = run(options.frames, options.seed) + run_fields(options.fields, options.seed)
    took = time.perf_counter() - start
    print(f"{options.frames} frames, {options.fields} fields, seed {options.seed}, {took:.0f} seconds")
    for outcome, number in outcomes.most_common():
        print(f"{number:>10}  {outcome}")


if __name__ == "__main__":
    main()
