"""Prints what kwire makes of random messages and records, right and broken ones: a line for each.

``python -m tests.native.outcomes SEED COUNT``. Two builds of kwire print the same for the same seed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import kwire
from kwire import Policy
from kwire.message import Message
from kwire.records import Record, encode_batch, read_batches
from kwire.schema import struct_class
from kwire.struct import Struct
from kwire_rules import INTEGER_RANGES
from tests.fuzz.mutation import mutate
from tests.properties.values import BLOBS, NAMES, RandomSource, exact, make, message_class

POLICIES = [
    Policy(tags=tags, utf8=utf8, trailing=trailing)
    for tags in ("strict", "kafka", "preserve")
    for utf8 in ("strict", "replace")
    for trailing in ("error", "ignore")
]
TIMESTAMPS = (0, 1, 63, 64, 8191, 8192, 2**31, 2**62, -1, -64, -65, -(2**63))


def outcome(call: Callable[[], Any]) -> str:
    """What ``call`` returns, or all that its error says."""
    try:
        return repr(exact(call()))
    except Exception as problem:
        facts = [getattr(problem, name, None) for name in ("message_name", "version", "path", "offset")]
        return f"{type(problem).__name__} {facts}: {problem}"


def messages(random: Random) -> Iterator[str]:
    """A message written, read with one to three things wrong, and written with a number that does not fit."""
    cls = message_class(random.choice(NAMES))
    version = random.choice(cls.VALID_VERSIONS)
    message = make(cls, version, RandomSource(random))
    data = message.encode(version)
    yield f"{cls.__name__} {version} {data.hex()} {message!r}"
    broken = mutate(data, bytes(20), random)
    yield outcome(lambda: cls.decode(broken, version, random.choice(POLICIES)))
    yield outcome(lambda: cls.decode_from(broken, version))
    if spoil(message, random):
        yield outcome(lambda: message.encode(version))


def spoil(message: Message, random: Random) -> bool:
    """Set some number to one beyond its range; whether there is one."""
    found = [
        (struct, field)
        for struct in structs(message)
        for field in struct.FIELDS
        if field.type in INTEGER_RANGES and getattr(struct, field.name) is not None
    ]
    if not found:
        return False
    struct, field = random.choice(found)
    low, high = INTEGER_RANGES[field.type]
    setattr(struct, field.name, random.choice((low - 1, high + 1, 1 << 80)))
    return True


def structs(value: Any) -> Iterator[Struct]:
    if isinstance(value, list):
        for item in value:
            yield from structs(item)
    elif isinstance(value, Struct):
        yield value
        for field in value.FIELDS:
            if struct_class(type(value), field):
                yield from structs(getattr(value, field.name))


def records(random: Random) -> Iterator[str]:
    """A batch written, and read with one to three things wrong."""

    def blob() -> bytes | None:
        return random.choice((None, *BLOBS))

    batch = [
        Record(
            blob(), blob(), tuple(("h" * size, blob()) for size in range(random.randrange(3))), timestamp=timestamp
        )
        for timestamp in random.sample(TIMESTAMPS, random.randrange(4))
    ]
    yield outcome(lambda: encode_batch(batch))
    data = encode_batch([Record(b"key", bytes(size), (("h", None),), timestamp=size) for size in (0, 70, 9000)])
    broken = data[:61] + mutate(data[61:200], b"", random) + data[200:]
    yield outcome(lambda: [repr(record) for one in read_batches(broken, verify=False) for record in one])
    yield outcome(lambda: [repr(one.records()) for one in read_batches(broken, verify=False)])


def main(seed: str, count: str) -> None:
    print("native" if kwire.is_native() else "interpreted")
    for case in range(int(count)):
        random = Random(f"{seed}/{case}")
        for line in (*messages(random), *records(random)):
            print(ascii(line))


if __name__ == "__main__":
    main(*sys.argv[1:])
