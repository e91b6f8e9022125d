"""Names of addresses in pcapng files: where they are found, and where they are shown."""

from __future__ import annotations

import gzip
import json
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from kwire.command import main as run
from kwire_inspect.capture import name_blocks
from kwire_inspect.capture.name_blocks import address_names
from kwire_inspect.reports.address_names import NAME, with_names
from kwire_inspect.reports.report import Report, Table

REAL = Path(__file__).parents[1] / "data" / "pcapng" / "named-by-tshark.pcapng"
PACKET = bytes(20)


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    body += bytes(-len(body) % 4)
    size = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + size + body + size


def section(order: str = "<") -> bytes:
    body = struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1)
    return block(0x0A0D0D0A, body, order) + block(1, struct.pack(order + "HHI", 1, 0, 0), order)


def record(kind: int, value: bytes, order: str = "<") -> bytes:
    return struct.pack(order + "HH", kind, len(value)) + value + bytes(-len(value) % 4)


def named(address: bytes, name: bytes, order: str = "<") -> bytes:
    kind = 1 if len(address) == 4 else 2
    return block(4, record(kind, address + name + b"\0", order) + bytes(4), order)


A, B = named(bytes([10, 0, 0, 1]), b"a"), named(bytes([10, 0, 0, 2]), b"b")


def test_a_file_of_tshark_names_its_client(tmp_path: Path) -> None:
    assert address_names([str(REAL)]) == {"127.0.0.1": "billing-app.example"}
    for command in (["clients"], ["readiness", "--target", "4.4.0"]):
        assert run([*command, "-q", "--out", str(tmp_path), str(REAL)]) == 0
        tables = json.loads((tmp_path / f"{command[0]}.json").read_text())["tables"]
        rows = tables["list" if command[0] == "clients" else "clients"]["rows"]
        assert {(row["client_host"], row["host_name"]) for row in rows} == {("127.0.0.1", "billing-app.example")}


@pytest.mark.parametrize("order", ["<", ">"])
def test_names_are_before_the_packets_and_after_them(order: str, tmp_path: Path) -> None:
    path = tmp_path / "a.pcapng"
    six = named(bytes(15) + b"\x01", b"six\0other", order)
    last = named(bytes([10, 0, 0, 2]), "süd".encode(), order)
    packet = block(6, PACKET, order)
    path.write_bytes(section(order) + six + packet * 3 + last + block(5, bytes(8), order))
    assert address_names([str(path)]) == {"::1": "six", "10.0.0.2": "süd"}
    (tmp_path / "a.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    assert address_names([str(tmp_path / "a.gz")]) == {"::1": "six"}, "it has to be decompressed for its end"


def test_names_before_a_section_that_was_added_count_too(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(section() + block(6, PACKET) + A + section() + B)
    assert address_names([str(tmp_path / "a")]) == {"10.0.0.1": "a", "10.0.0.2": "b"}


def test_far_from_both_ends_they_are_not_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_blocks, "NEAR", 256)
    packets = block(6, bytes(100)) * 10
    (tmp_path / "a").write_bytes(section() + A + packets + A + B + packets + named(bytes([10, 0, 0, 3]), b"c"))
    assert address_names([str(tmp_path / "a")]) == {"10.0.0.1": "a", "10.0.0.3": "c"}


def test_a_large_block_may_be_before_the_names(tmp_path: Path) -> None:
    """Also in a file that is decompressed, of which the beginning is read."""
    data = section() + block(99, bytes(300_000)) + A + block(6, PACKET)
    (tmp_path / "a").write_bytes(gzip.compress(data, mtime=0))
    (tmp_path / "b").write_bytes(section() + block(99, bytes(name_blocks.NEAR)) + A + block(6, PACKET) * 99)
    assert address_names([str(tmp_path / "a")]) == {"10.0.0.1": "a"}
    assert address_names([str(tmp_path / "b")]) == {}


def test_the_first_name_counts_and_their_number_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = named(bytes([10, 0, 0, 1]), b"other")
    (tmp_path / "a").write_bytes(section() + A + other + B)
    assert address_names([str(tmp_path / "a")] * 2) == {"10.0.0.1": "a", "10.0.0.2": "b"}
    monkeypatch.setattr(name_blocks, "MAX_NAMES", 1)
    assert address_names([str(tmp_path / "a")]) == {"10.0.0.1": "a"}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x01",
        struct.pack("<HH", 1, 0xFFFF) + bytes([10, 0, 0, 1]) + b"x",
        record(1, bytes(3)),
        record(1, bytes([10, 0, 0, 1])),
        record(1, bytes([10, 0, 0, 1]) + b"\0"),
        record(2, bytes(8) + b"x"),
        record(3, bytes(6) + b"x"),
        bytes(4) + record(1, bytes([10, 0, 0, 1]) + b"x\0"),
    ],
)
def test_hostile_blocks(body: bytes, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(section() + block(4, body) + A)
    assert address_names([str(tmp_path / "a")]) == {"10.0.0.1": "a"}
    (tmp_path / "b").write_bytes(section() + block(6, PACKET) + A + block(4, body))
    assert address_names([str(tmp_path / "b")]) == {"10.0.0.1": "a"}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\r\r\n",
        section()[:20],
        section() + struct.pack("<II", 4, 0xFFFFFFF0) + bytes(40),
        section() + struct.pack("<II", 4, 0) + bytes(40),
        section() + A[:-4] + bytes(4),
        bytes(100),
        gzip.compress(section(), mtime=0)[:20],
    ],
)
def test_broken_files_have_no_names(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(content)
    assert address_names([str(tmp_path / "a"), str(tmp_path / "gone")]) == {}


def test_names_are_shortened_and_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.pcapng"
    hostile = named(bytes([127, 0, 0, 1]), b"\x1b[31m<script>\xff" + b"x" * 5000)
    path.write_bytes(REAL.read_bytes().partition(struct.pack("<II", 4, 44))[0] + hostile)
    (name,) = address_names([str(path)]).values()
    assert len(name) == name_blocks.MAX_LENGTH
    assert run(["clients", "-q", "--out", str(tmp_path / "out"), str(path)]) == 0
    assert "\x1b" not in capsys.readouterr().out
    page = (tmp_path / "out" / "clients.html").read_text()
    assert "\x1b" not in page
    assert "<script>\ufffd" not in page


def test_tables_without_a_named_address_stay_as_they_are() -> None:
    table = Table("one", "One", rows=(("10.0.0.1", 1), (None, 2))).with_columns("client_host", "requests")
    report = Report("r", "R", (), (table, Table("two", "Two").with_columns("api")))
    assert with_names(report, {}) == with_names(report, {"10.0.0.9": "x"}) == report
    first, second = with_names(report, {"10.0.0.1": "x"}).tables
    assert first.rows == (("10.0.0.1", "x", 1), (None, None, 2))
    assert [column.heading for column in first.columns] == ["client host", "name", "requests"]
    assert second == report.tables[1]


def test_each_table_with_a_named_address_has_names_after_its_addresses() -> None:
    shape = Table("one", "One", note="n", more=4).with_columns("client_id", "client_host", "requests")
    one = replace(shape, rows=(("a", "10.0.0.1", 1), ("b", "10.0.0.2", 2), ("c", None, 3), ("d", "10.0.0.3", 4)))
    other = Table("two", "Two", rows=(("10.0.0.2",),)).with_columns("client_host")
    server = Table("three", "Three", rows=(("10.0.0.1",),)).with_columns("server_host")
    found = with_names(Report("r", "R", ("s",), (one, server, other)), {"10.0.0.1": "x", "10.0.0.2": "y"})
    rows = ("a", "10.0.0.1", "x", 1), ("b", "10.0.0.2", "y", 2), ("c", None, None, 3), ("d", "10.0.0.3", None, 4)
    columns = (*shape.columns[:2], NAME, shape.columns[2])
    expected = (replace(one, rows=rows, columns=columns), server)
    assert found.tables[:2] == expected
    assert found.tables[2] == replace(other, rows=(("10.0.0.2", "y"),), columns=(*other.columns, NAME))
    assert found.summary == ("s",)
