"""A little of each kind of input, of the sample of real traffic."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

from tests.support.capture_files import beginning

TRAFFIC = Path(__file__).parents[1] / "data" / "traffic" / "4.1.1"


def left_behind(folder: Path) -> None:
    """Write it to a folder: captures, request logs, a server log, a data directory."""
    (folder / "captures").mkdir()
    (folder / "logs").mkdir()
    capture = gzip.compress(beginning(TRAFFIC / "traffic.pcap.gz", packets=100))
    (folder / "captures" / "a.pcap.gz").write_bytes(capture)
    lines = gzip.decompress((TRAFFIC / "kafka-request.log.gz").read_bytes()).splitlines(keepends=True)
    fetches = [line for line in lines if b'"FETCH"' in line]
    for name in ("kafka-request.log", "logs/kafka-request.log"):
        (folder / name).write_bytes(b"".join(lines[:20] + fetches[:5]))
    (folder / "server.log").write_bytes(gzip.decompress((TRAFFIC / "server.log.gz").read_bytes())[:20_000])
    shutil.copytree(TRAFFIC / "data", folder / "data")
