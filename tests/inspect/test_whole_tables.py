"""All columns of all rows: of captures and logs with two of everything, and however these are cut, dealt and read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from syrupy.assertion import SnapshotAssertion

from kwire_inspect.capture import Peer
from kwire_inspect.connections.batches import TABLES as SCHEMAS
from kwire_inspect.connections.batches import Table
from kwire_inspect.options import Options
from kwire_inspect.readers.capture import CaptureReader
from tests.support.capture_files import EPOCH, TcpPacket, merged, write_pcap
from tests.support.small_cluster import traffic, write_captures

PEERS = ("client_host", "client_port", "server_host", "server_port")
Rows = list[dict[str, Any]]


def captured(files: Sequence[Path], schema: pa.Schema | None = None, **options: str) -> Rows:
    """The rows of captures, as all tasks read them."""
    reader = CaptureReader(Options({"path": str(files[0].parent), **options}), schema)
    paths = [str(file) for file in files]
    found = [batch for _, share in reader.tasks() for batch in reader.read((paths, share))]
    return [row for batch in found for row in batch.to_pylist()]


def lines(rows: Iterable[dict[str, Any]], folder: Path) -> str:
    """Each row as a line of what is not null in it. The ends of a connection are in its name."""
    told = []
    for row in rows:
        ends: list[Any] = [row.get(name) for name in PEERS]
        named = f"{Peer(*ends[:2])}-{Peer(*ends[2:])}@" if None not in ends else None
        known = PEERS if named and row["connection"].startswith(named) else ()
        shown = {name: value for name, value in row.items() if value is not None and name not in known}
        told.append(" ".join(f"{name}={_text(value, folder)}" for name, value in shown.items()))
    return "\n".join(told)


def _text(value: Any, folder: Path) -> str:
    if isinstance(value, bytes):
        return value.hex() or "empty"
    if isinstance(value, datetime):
        return value.strftime("%H:%M:%S.%f")
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value).replace(f"{folder}/", "")


@pytest.mark.parametrize("table", ["frames", "exchanges"])
def test_captures(tmp_path: Path, snapshot: SnapshotAssertion, table: str) -> None:
    assert lines(captured(write_captures(tmp_path), rows=table), tmp_path) == snapshot


TRAFFIC = merged(traffic())
TABLES: list[Table] = ["frames", "exchanges"]


def placeless(rows: Rows) -> list[str]:
    """Rows in an order of their own, without their places."""
    return sorted(repr({**row, "source": None, "position": None}) for row in rows)


def write_parts(folder: Path, made: Sequence[TcpPacket], cuts: Sequence[int] = ()) -> list[Path]:
    """Files of packets, cut before these numbers; names do not tell their order."""
    ends = [0, *cuts, len(made)]
    return [
        write_pcap(folder / f"{10 - number}.pcap", made[start:end])
        for number, (start, end) in enumerate(pairwise(ends))
    ]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Rows]:
    """The rows of all packets in one file."""
    files = write_parts(tmp_path_factory.mktemp("plain"), TRAFFIC)
    return {table: captured(files, rows=table) for table in TABLES}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("cuts", [(1,), (20, 21, 50), tuple(range(1, len(TRAFFIC), 9))])
def test_packets_in_several_files(
    tmp_path: Path, plain: dict[str, Rows], table: Table, cuts: tuple[int, ...]
) -> None:
    """In whatever order they are named, the files are one capture."""
    files = write_parts(tmp_path, TRAFFIC, cuts)
    for given in (files, files[::-1]):
        assert placeless(captured(given, rows=table)) == placeless(plain[table])


@pytest.mark.parametrize("table", TABLES)
def test_connections_in_files_of_their_own(tmp_path: Path, plain: dict[str, Rows], table: Table) -> None:
    files = [write_pcap(tmp_path / f"{number}.pcap", one) for number, one in enumerate(traffic())]
    assert placeless(captured(files, rows=table)) == placeless(plain[table])


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("partitions", ["2", "5"])
def test_several_tasks(tmp_path: Path, plain: dict[str, Rows], table: Table, partitions: str) -> None:
    """Each row is that of one task, with its place."""
    found = captured(write_parts(tmp_path, TRAFFIC), rows=table, partitions=partitions)
    assert placeless(found) == placeless(plain[table])
    assert sorted(row["position"] for row in found) == sorted(row["position"] for row in plain[table])


@pytest.mark.parametrize("table", TABLES)
def test_packets_captured_twice(tmp_path: Path, plain: dict[str, Rows], table: Table) -> None:
    """By two interfaces, or at the ends of two hosts."""
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
    twice = [packet for packet in TRAFFIC for _ in range(2)]
    for files in (write_parts(one, twice), [*write_parts(one, TRAFFIC), *write_parts(other, TRAFFIC)]):
        found = [
            row for row in captured(files, rows=table) if row["source"].startswith(str(one)) or row["connection"]
        ]
        assert placeless(found) == placeless(plain[table])


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(("start", "end"), [(0.02, None), (None, 0.25), (0.021, 0.334)])
def test_a_part_of_the_time(tmp_path: Path, table: Table, start: float | None, end: float | None) -> None:
    """As if the other packets were not there; the start is included, the end is not."""
    first, last = (bound and EPOCH + bound for bound in (start, end))
    kept = [one for one in TRAFFIC if (not first or one.time >= first) and (not last or one.time < last)]
    assert 0 < len(kept) < len(TRAFFIC)
    limits = {name: str(bound) for name, bound in (("start", first), ("end", last)) if bound}
    found = captured(write_parts(tmp_path, TRAFFIC), rows=table, **limits)
    assert placeless(found) == placeless(captured(write_parts(tmp_path, kept), rows=table))


@pytest.mark.parametrize("table", TABLES)
def test_some_ports(tmp_path: Path, table: Table) -> None:
    """As if the other connections were not there; the port says who the client is."""
    kept = [one for one in TRAFFIC if {one.source.port, one.target.port} & {9093, 5008}]
    found = captured(write_parts(tmp_path, TRAFFIC), rows=table, ports="9093,5008")
    (unseen,) = [row for row in found if row["server_port"] == 5008]
    assert (unseen["client_port"], unseen["problem"]) == (5007, unseen["problem"])
    assert placeless(found) == placeless(captured(write_parts(tmp_path, kept), rows=table, ports="9093,5008"))


@pytest.mark.parametrize("table", TABLES)
def test_each_column_alone(tmp_path: Path, plain: dict[str, Rows], table: Table) -> None:
    files = write_parts(tmp_path, TRAFFIC)
    for field in SCHEMAS[table]:
        found = captured(files, pa.schema([field]), rows=table)
        expected = [row[field.name] for row in plain[table]]
        assert [row[field.name] for row in found] == expected or field.name == "source"
