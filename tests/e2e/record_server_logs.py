"""Writes ``tests/data/server_logs`` anew: ``python -m tests.e2e.record_server_logs [RELEASE…]``.

Brokers are asked what they do not have: removed versions, versions that there will be, apis of other listeners,
before and after authentication, and what is no request at all. Of the log the part about that is kept.
"""

from __future__ import annotations

import gzip
import re
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.e2e.client import Client, Closed
from tests.e2e.sasl import login
from tests.e2e.tally import Tally
from tests.real_kafka.broker import USERS
from tests.real_kafka.request_log import LoggingBroker, ZooKeeperBroker, logging_broker

FOLDER = Path(__file__).parents[1] / "data" / "server_logs"
RELEASES = ("2.7.2", "3.3.2", "3.9.1", "4.0.0", "4.1.1")

HEADERLESS = 7
"""ControlledShutdown, whose version 0 has the header of version 0."""

ASKED = (
    *((key, 0) for key in (0, 1, 2, 8, 9, 11, 19, 27, 29, 38, 4, 5, 6, 7)),
    *((0, 2), (0, 99), (11, 1), (1, 99), (999, 0), (-1, 0), (74, 1), (56, 0)),
)
"""By api key and version: removed in 4.0, unknown to all, or not for this listener."""

NO_REQUESTS = (b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00", b"\0\0\0\2\0\0")
BEFORE = 5
"""Entries that are kept in front of the first refusal."""


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for release in sys.argv[1:] or RELEASES:
        with tempfile.TemporaryDirectory() as scratch:
            text = recorded(release, Path(scratch) / "broker")
        (FOLDER / f"{release}.log.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
        print(f"{release}: {len(text)} characters")


def recorded(release: str, folder: Path) -> str:
    with logging_broker(release, folder, sasl=("PLAIN",)) as broker:
        exercise(broker)
        text = broker.log_text
    return "".join(kept(entries(text.replace(str(folder), "/kafka"))))


def exercise(broker: LoggingBroker) -> None:
    for key, version in ASKED:
        probe(broker.address, key, version)
    probe(broker.sasl_address, 0, 0)
    probe(broker.sasl_address, 0, 2, user="alice")
    probe(broker.sasl_address, 17, 9)
    if not isinstance(broker, ZooKeeperBroker):
        probe(broker.controller_address, 1, 0)
    for data in NO_REQUESTS:
        with socket.create_connection(broker.address, timeout=10) as connection:
            connection.sendall(data)
            connection.settimeout(5)
            assert not connection.recv(100)


def probe(address: tuple[str, int], key: int, version: int, user: str | None = None) -> None:
    header = 0 if key == HEADERLESS else 2 if version == 99 or key > 50 else 1
    with Client(address, "", Tally()) as client:
        if user:
            login(client, "PLAIN", user, USERS[user])
        try:
            client.probe(key, version, header_version=header)
        except (Closed, ConnectionError):
            return
    print(f"{key} {version}: answered")


def entries(text: str) -> Iterator[str]:
    return (found[0] for found in re.finditer(r"^\[.*\n(?:(?!\[).*\n)*", text, re.MULTILINE))


def kept(found: Iterator[str]) -> list[str]:
    """From the first refusal on, without what comes when the broker stops."""
    listed = list(found)
    first = next(number for number, entry in enumerate(listed) if "because of error" in entry)
    return listed[first - BEFORE :]


if __name__ == "__main__":
    main()
