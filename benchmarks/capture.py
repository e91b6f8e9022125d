"""Measures how fast captures are read: microseconds per packet, and packets and MB per second, on one core.

``python -m benchmarks.capture [--packets N] [--size BYTES] [--rounds N]``

In ``own``, the reader reassembles all connections. In ``foreign``, the reader skips all packets because of their
ports. In ``half``, the reader skips half of the connections, as one of two processes does. For comparison, dpkt and
scapy, if installed, parse the packets of the same file without reassembling connections. The benchmark measures
processor time, which other programs hardly affect.
"""

from __future__ import annotations

import argparse
import gzip
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import zstandard

from benchmarks.timing import table
from kwire.connection import CLIENT, SERVER
from kwire_inspect.capture import Peer, read_pieces
from kwire_inspect.capture.packet_files import file_packets
from tests.support.capture_files import Conversation, TcpPacket, disturbed, merged, packets, write_pcap, write_pcapng

Call = Callable[[], Iterable[object]]

CONNECTIONS = 64
NOBODY = 1
"""A port that no connection uses, so that the reader skips all packets."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--packets", type=int, default=100_000)
    options.add_argument("--size", type=int, default=1000, help="bytes of data per packet")
    options.add_argument("--rounds", type=int, default=5)
    given = options.parse_args()
    made = traffic(given.packets, given.size)
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            [name, *measured(call, len(made), given.rounds, size)] for name, size, call in cases(Path(folder), made)
        ]
    print(table(["", "us per packet", "packets per s", "MB per s"], rows))


def traffic(count: int, size: int) -> list[TcpPacket]:
    """Return the packets of connections whose client and server take turns sending data."""
    turns = max(count // CONNECTIONS, 2)
    data = bytes(size)
    talks = [
        Conversation(
            [((CLIENT, SERVER)[turn % 2], turn / 100, data) for turn in range(turns)],
            client=Peer("10.0.0.1", 40000 + number),
        )
        for number in range(CONNECTIONS)
    ]
    return merged(packets(talk, acks=False) for talk in talks)


def cases(folder: Path, made: list[TcpPacket]) -> Iterator[tuple[str, int, Call]]:
    """Yield the name and the size in bytes of each case, and a function that returns the packets or pieces."""
    plain, blocks = write_pcap(folder / "a.pcap", made), write_pcapng(folder / "a.pcapng", made)
    poor = write_pcap(folder / "b.pcap", disturbed(made, seed=1, loss=0.05, duplication=0.05, reordering=0.05))
    data = plain.read_bytes()
    for name, path in ("pcap", plain), ("pcapng", blocks):
        size, files = path.stat().st_size, [str(path)]
        yield f"{name}, packets only", size, partial(file_packets, str(path))
        yield f"{name}, own", size, partial(read_pieces, files)
        yield f"{name}, half", size, partial(read_pieces, files, share=(0, 2))
        yield f"{name}, foreign", size, partial(read_pieces, files, ports=[NOBODY])
    yield "pcap, own, 5 % lost, 5 % doubled, 5 % late", poor.stat().st_size, partial(read_pieces, [str(poor)])
    for name, compressed in ("gzip", gzip.compress(data, 1)), ("zstd", zstandard.compress(data)):
        path = folder / name
        path.write_bytes(compressed)
        yield f"pcap in {name}, foreign", len(data), partial(read_pieces, [str(path)], ports=[NOBODY])
    if find_spec("dpkt"):
        yield "dpkt, packets only", len(data), partial(dpkt_packets, plain)
    if find_spec("scapy"):
        yield "scapy, packets only", len(data), partial(import_module("scapy.all").PcapReader, str(plain))


def dpkt_packets(path: Path) -> Iterator[object]:
    dpkt = import_module("dpkt")
    with path.open("rb") as file:
        for _, data in dpkt.pcap.Reader(file):
            yield dpkt.ethernet.Ethernet(data).data.data


def measured(call: Call, count: int, rounds: int, size: int) -> list[str]:
    """Return the figures of the fastest round: microseconds per packet, packets per second, and MB per second."""
    best = min(seconds(call) for _ in range(rounds))
    return [f"{best / count * 1e6:.2f}", f"{count / best:,.0f}", f"{size / best / 1e6:,.0f}"]


def seconds(call: Call) -> float:
    start = time.process_time()
    for _ in call():
        pass
    return time.process_time() - start


if __name__ == "__main__":
    main()
