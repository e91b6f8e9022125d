"""Who is who on a connection: addresses from keys of packets, and which of two ends is the server."""

from __future__ import annotations

import socket
from collections.abc import Collection

from kwire_spark.capture.packets import ports_of
from kwire_spark.capture.pieces import Peer

USUAL = {port for start in (9092, 19092, 29092, 39092) for port in range(start, start + 8)}
"""Where brokers and controllers listen in examples, images and most installations."""


def peers(key: bytes) -> tuple[Peer, Peer]:
    """Source and target of packets with this key."""
    half = len(key) // 2 - 2
    family = socket.AF_INET if half == 4 else socket.AF_INET6
    source, target = ports_of(key)
    return (
        Peer(socket.inet_ntop(family, key[:half]), source),
        Peer(socket.inet_ntop(family, key[half : 2 * half]), target),
    )


def from_client(key: bytes, ports: Collection[int]) -> bool:
    """Whether packets with this key are a client's, probably: servers have the ports given, usual or lower."""
    source, target = ports_of(key)
    for servers in (ports, USUAL):
        if (source in servers) != (target in servers):
            return target in servers
    return target <= source
