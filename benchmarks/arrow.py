"""Compares the conversion of messages to Arrow columns with decoding, and measures the conversion of records.

``python -m benchmarks.arrow [--rounds N] [--only TEXT]``. For a compiled build, put its folder on PYTHONPATH.

"decode" decodes the messages into objects. "columns" is ``Columns.array`` on decoded messages. "bytes" is
``Columns.decode``, and "two" is ``Columns.decode`` with only two top-level columns. "rows" is hand-written code that
passes nested dicts to ``pyarrow.array``. The last columns of the table divide each time by the time of "decode". The
benchmark first checks that all methods return the same array, and that the array converts back to the messages. The
exit code is 1 if "columns" is slower than "decode".
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from benchmarks.samples import SAMPLES, Sample, load
from benchmarks.timing import duration, interleaved, table
from kwire.arrow import Columns, read_records
from kwire.records import Record, encode_batch, read_batches
from kwire.struct import Struct
from kwire.uuids import Uuid
from kwire_kafka.arrow import ARROW

MANY = 200
AT_ONCE = {"MetadataResponse": (1, 10)}
"""Numbers of messages per measured call, by message name. The default is ``MANY``."""

DECODE, COLUMNS, ROWS, WIRE, TWO = "decode", "columns", "rows", "bytes", "two"
COMPARED = (COLUMNS, ROWS, WIRE, TWO)
RECORDS, START = 100_000, 1_700_000_000_000


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=10)
    options.add_argument("--only", default="", help="text in the titles of the samples (default: all)")
    given = options.parse_args()
    samples = [sample for sample in SAMPLES if given.only.lower() in sample.title.lower()]
    times = {
        f"{sample.title}, {count} at a time": measure(sample, count, given.rounds)
        for sample in samples
        for count in AT_ONCE.get(sample.name, (MANY,))
    }
    print(f"{report(times)}\n\n{records(given.rounds)}")
    sys.exit(any(seconds[COLUMNS] > seconds[DECODE] for seconds in times.values()))


def measure(sample: Sample, count: int, rounds: int) -> dict[str, float]:
    """Return the seconds per message for each method."""
    columns = ARROW[sample.name]
    data = sample.make(load()[sample.module]).encode(sample.version)
    cls = columns.message
    messages = [cls.decode(data, sample.version) for _ in range(count)]
    two = columns.select(*[field.name for field in columns.type if not pa.types.is_nested(field.type)][:2])
    calls: dict[str, Callable[[], object]] = {
        DECODE: lambda: [cls.decode(data, sample.version) for _ in range(count)],
        COLUMNS: lambda: columns.array(messages, sample.version),
        ROWS: lambda: rows(columns, messages, sample.version),
        WIRE: lambda: columns.decode([data] * count, sample.version),
        TWO: lambda: two.decode([data] * count, sample.version),
    }
    check(columns, messages, sample.version)
    return {name: seconds / count for name, seconds in interleaved(calls, rounds).items()}


def rows(columns: Columns, messages: list[Any], version: int) -> pa.Array:
    """Return an array that ``pyarrow.array`` builds from dicts of the version's fields."""
    return pa.array([as_dict(message, version) for message in messages], columns.type)


def as_dict(value: Any, version: int) -> Any:
    if isinstance(value, Struct):
        live = [field.name for field in value.FIELDS if version in field.versions]
        return {name: as_dict(getattr(value, name), version) for name in live}
    if isinstance(value, list):
        return [as_dict(element, version) for element in value]
    return str(value) if isinstance(value, Uuid) else value


def check(columns: Columns, messages: list[Any], version: int) -> None:
    array = columns.array(messages, version)
    assert columns.messages(array, version) == messages
    assert array.equals(rows(columns, messages, version))
    assert array.equals(columns.decode([message.encode(version) for message in messages], version).array)


def records(rounds: int) -> str:
    """Return a table of speeds in MB per second for uncompressed batches, each with 130 records of 120 bytes."""
    noise = random.Random(1)
    rows = [Record(b"key-%d" % each, noise.randbytes(100), (), START + each, each) for each in range(RECORDS)]
    data = b"".join(encode_batch(rows[first : first + 130]) for first in range(0, RECORDS, 130))
    calls: dict[str, Callable[[], object]] = {
        "all columns": lambda: list(read_records(data)),
        "of the record": lambda: list(read_records(data, ["offset", "timestamp", "key", "value", "headers"])),
        "value": lambda: list(read_records(data, ["value"])),
        "objects": lambda: [batch.records() for batch in read_batches(data)],
    }
    times = interleaved(calls, rounds)
    return table(["records to", "MB/s"], [[name, f"{len(data) / each / 1e6:.0f}"] for name, each in times.items()])


def report(times: dict[str, dict[str, float]]) -> str:
    lines = [
        [
            title,
            *(duration(seconds[name]) for name in (DECODE, *COMPARED)),
            *(f"{seconds[name] / seconds[DECODE]:.2f}" for name in COMPARED),
        ]
        for title, seconds in times.items()
    ]
    header = ["per message", DECODE, *COMPARED, *(f"{name} / {DECODE}" for name in COMPARED)]
    return table(header, lines)


if __name__ == "__main__":
    main()
