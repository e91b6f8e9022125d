"""What is read of hostile captures, as lines of text.

``python -m tests.native.captures SEED COUNT``. Two builds of kwire print the same for the same seed.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import kwire
from kwire_inspect.capture import read_pieces
from kwire_inspect.connections import frame_batches
from kwire_inspect.schemas import EXCHANGES, FRAMES
from tests.fuzz.mutation import mutate
from tests.support.capture_files import (
    COOKED,
    COOKED2,
    ETHERNET,
    LOOP,
    RAW,
    Conversation,
    disturbed,
    merged,
    packets,
    recorded,
    recordings,
    write_pcap,
    write_pcapng,
)

MOST = 12
"""Conversations of a capture, and the segments of each."""


def capture(path: Path, chance: random.Random) -> Path:
    """Recorded traffic on any link, in either format, with packets lost, doubled and late, and then broken bytes."""
    talks = recorded(chance.choice(recordings()))
    talks = [Conversation(one.segments[: MOST * 4], one.client, one.server) for one in talks[:MOST]]
    size, handshake = chance.choice((1, 40, 1448)), chance.random() < 0.7
    if size == 1:
        talks = [Conversation([(side, time, data[:200]) for side, time, data in one.segments[:4]]) for one in talks]
    sent = merged(packets(one, size=size, handshake=handshake, acks=chance.random() < 0.5) for one in talks)
    if chance.random() < 0.5:
        poor = chance.choice((0.01, 0.1))
        sent = disturbed(sent, seed=chance.randrange(1 << 30), loss=poor, duplication=poor, reordering=poor)
    link, order = chance.choice((ETHERNET, ETHERNET, RAW, LOOP, COOKED, COOKED2)), chance.choice("<>")
    if chance.random() < 0.5:
        write_pcap(path, sent, link=link, order=order, nanoseconds=chance.random() < 0.3)
    else:
        write_pcapng(path, sent, links=[link], order=order, resolution=chance.choice((None, 9, 0x8A)))
    if chance.random() < 0.8:
        path.write_bytes(mutate(path.read_bytes(), b"", chance))
    return path


def told(paths: list[Path], chance: random.Random) -> Iterator[str]:
    """The rows, with all columns and with those of ``clients``, of all connections and of a share."""
    names = [str(path) for path in paths]
    shares = chance.randrange(1, 4)
    share = chance.randrange(shares), shares
    for batch in frame_batches(read_pieces(names, share=share), FRAMES):
        yield from (str(row).replace(str(paths[0].parent), "") for row in batch.to_pylist())
    for batch in frame_batches(read_pieces(names, share=share), EXCHANGES, table="exchanges", bodies="codes"):
        yield from (str(row).replace(str(paths[0].parent), "") for row in batch.to_pylist())


def main(seed: str, count: str) -> None:
    print("native" if kwire.is_native() else "interpreted")
    with tempfile.TemporaryDirectory() as folder:
        for case in range(int(count)):
            chance = random.Random(f"{seed}/{case}")
            paths = [capture(Path(folder, f"{number}"), chance) for number in range(chance.choice((1, 1, 2)))]
            for line in told(paths, chance):
                print(ascii(line))


if __name__ == "__main__":
    main(*sys.argv[1:])
