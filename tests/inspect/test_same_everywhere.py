"""The same capture as a file, compressed in every way, from a store, in an archive and from standard input gives the
same tables: of all recorded captures, in both formats."""

from __future__ import annotations

import gzip
import io
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from kwire_inspect.inputs import find
from kwire_inspect.readers import read_batches
from kwire_inspect.storage import STDIN, standard_input, stores
from tests.inspect.test_standard_input import Pipe
from tests.support.capture_files import merged, packets, recorded, recordings, write_pcap, write_pcapng
from tests.support.packing import COMPRESS
from tests.support.s3_server import Store, serving

TRAFFIC = Path(__file__).parents[1] / "data" / "traffic"
SAMPLES = sorted(path.parent.name for path in TRAFFIC.glob("*/traffic.pcap.gz"))


def tables(given: str) -> dict[str, pa.Table]:
    """FRAMES and EXCHANGES of one input, without its name."""
    found = find([given])
    if given == STDIN:
        standard_input().keep()
    assert len(found.captures) == 1
    assert not found.skipped
    return {
        name: pa.Table.from_batches(read_batches(name, found)).drop_columns(["source"])
        for name in ("frames", "exchanges")
    }


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    with serving() as made:
        made.use(monkeypatch)
        stores.file_system.cache_clear()
        yield made
    stores.file_system.cache_clear()


def everywhere(data: bytes, folder: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, str]]:
    """The names of inputs with the same bytes, after the file, each with what it is."""
    for kind, compress in {"plain": bytes, **COMPRESS}.items():
        name = f"a.pcap.{kind}"
        packed = compress(data)
        (folder / name).write_bytes(packed)
        yield f"file {kind}", str(folder / name)
        store.put(f"bucket/{name}", packed)
        yield f"object {kind}", f"s3://bucket/{name}"
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Pipe(packed)))
        yield f"standard input {kind}", STDIN
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as packed_files:
        packed_files.add(folder / "a.pcap.zstd", "day/a.pcap.zstd")
    for name, archived in {"a.tar": made.getvalue(), "a.tar.gz": gzip.compress(made.getvalue())}.items():
        store.put(f"bucket/archives/{name}", archived)
        yield f"member of {name}", f"s3://bucket/archives/{name}"


def assert_same_everywhere(data: bytes, folder: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "a.pcap").write_bytes(data)
    expected = tables(str(folder / "a.pcap"))
    assert expected["exchanges"].num_rows > 0
    for kind, name in everywhere(data, folder, store, monkeypatch):
        for table, rows in tables(name).items():
            assert rows.equals(expected[table]), f"{table}: {kind}"


@pytest.mark.parametrize("name", recordings())
@pytest.mark.long
def test_recorded_connections(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    talks = merged(packets(talk) for talk in recorded(name))
    for write in (write_pcap, write_pcapng) if name == recordings()[0] else (write_pcap,):
        data = write(tmp_path / "a.pcap", talks).read_bytes()
        assert_same_everywhere(data, tmp_path, store, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.long
def test_recorded_traffic(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch, sample: str) -> None:
    data = gzip.decompress((TRAFFIC / sample / "traffic.pcap.gz").read_bytes())
    assert_same_everywhere(data, tmp_path, store, monkeypatch)
