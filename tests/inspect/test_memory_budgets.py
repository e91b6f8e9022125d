"""What one task of a capture keeps in memory, however hostile the capture: the promise of docs/spark.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from struct import pack

import pyarrow as pa
import pytest
import zstandard

from kwire.connection import CLIENT
from kwire.frames import frame
from kwire_inspect.capture import Connection, Peer, Piece, read_pieces
from kwire_inspect.capture.packets import ACK, RST, SYN, Packet
from kwire_inspect.capture.tcp import TcpConnections
from kwire_inspect.connections import ConnectionProjection, frame_batches
from kwire_inspect.connections.batches import TABLES, Budget, Table
from kwire_inspect.schemas import EXCHANGES
from kwire_kafka import AlterClientQuotasRequest, FetchRequest, FetchResponse
from kwire_kafka.api.fetch import FetchableTopicResponse, PartitionData
from kwire_spark.streams.ends import Ends
from tests.attack.limits import limited
from tests.support.capture_files import EPOCH
from tests.support.connection_pieces import answered, asked, pieces, values

pytestmark = pytest.mark.slow

WORKER = 250 << 20
"""What a task may add to the memory of a worker, which is 100 MB before it reads anything."""

FACTS = pa.schema([field for field in EXCHANGES if field.name not in ("request", "response")])


def quotas(size: int, number: int = 1) -> bytes:
    """A frame of a request with as many objects as so many bytes can have."""
    request = AlterClientQuotasRequest()
    header = asked(request, 1, number)[2][4:]
    end = header.index(b"\x01", len(header) - 3)
    count = size // 3
    length = bytearray()
    left = count + 1
    while left > 127:
        length.append(left & 127 | 128)
        left >>= 7
    length.append(left)
    return frame(header[:end] + bytes(length) + b"\x01\x01\x00" * count + b"\x00\x00")


def connection(number: int) -> Connection:
    return Connection(Peer(f"10.0.{number >> 8 & 255}.{number & 255}", 50412), Peer("10.1.0.9", 9092), EPOCH, True)


def piece(of: Connection, data: bytes, position: int = 0, kind: str = "data") -> Piece:
    return Piece(of, kind, CLIENT, data, len(data), EPOCH, "capture.pcap", position)  # type: ignore[arg-type]


def reasons(given: Iterator[Piece], table: Table = "exchanges", schema: pa.Schema | None = None) -> dict[str, int]:
    """How many rows have which reason, reading as a task does."""
    found: dict[str, int] = {}
    for batch in frame_batches(given, schema or TABLES[table], table=table):
        for reason in batch.column("reason").to_pylist():
            found[str(reason)] = found.get(str(reason), 0) + 1
    return found


@pytest.fixture(autouse=True)
def _warm() -> None:
    """Import what is imported on first use."""
    tables: tuple[Table, ...] = ("frames", "exchanges")
    for table in tables:
        reasons(iter(pieces([asked(FetchRequest(), 4, 1), answered(FetchResponse(), 4, 1)])), table)


@pytest.mark.parametrize("schema", [EXCHANGES, FACTS], ids=["bytes", "facts"])
@pytest.mark.long
def test_requests_that_nobody_answers_keep_no_messages(schema: pa.Schema) -> None:
    connections = [connection(number) for number in range(4)]
    data = [quotas(200_000, number) for number in range(6)]

    def given() -> Iterator[Piece]:
        for of in connections:
            for request in data:
                for start in range(0, len(request), 1 << 16):
                    yield piece(of, request[start : start + (1 << 16)])
        yield from (piece(of, b"", kind="closed") for of in connections)

    with limited(WORKER, 60):
        assert reasons(given(), schema=schema) == {"the connection ended": 24}


@pytest.mark.parametrize("table", ["frames", "exchanges"])
def test_a_large_frame_of_many_values_is_a_row_and_not_decoded(table: Table) -> None:
    of, data = connection(1), quotas(30_000_000)
    closing = piece(of, b"", kind="closed")
    given = [*(piece(of, data[start : start + (1 << 20)]) for start in range(0, len(data), 1 << 20)), closing]
    with limited(WORKER, 60):
        found = reasons(iter(given), table)
    if table == "frames":
        assert [reason for reason in found if "maxDecoded" in reason]
    else:
        assert sum(found.values()) == 1


def test_a_large_frame_of_records_is_decoded() -> None:
    partition = PartitionData(partition_index=0, error_code=3, records=b"x" * 10_000_000)
    response = FetchResponse(responses=[FetchableTopicResponse(topic="orders", partitions=[partition])])
    segments = [asked(FetchRequest(), 4, 1), answered(response, 4, 1)]
    (row,) = values(pieces(segments), "outcome", "error_codes", "response_size", "reason", table="exchanges")
    assert row[:2] == ("answered", [3])
    assert row[3] is None


def test_unfinished_frames_of_all_connections_have_one_budget() -> None:
    """One that is given up is a row that names the option, and the connection goes on after it."""
    connections = [connection(number) for number in range(100)]
    start = asked(FetchRequest(), 4, 1)[2]
    begin, chunk = pack(">i", 12_000_000) + start[4:], bytes(1 << 18)
    after = asked(FetchRequest(), 4, 2)[2]

    def given() -> Iterator[Piece]:
        for of in connections:
            yield piece(of, begin)
        for _ in range(40):
            for of in connections:
                yield piece(of, chunk)
        for of in connections:
            yield piece(of, bytes(12_000_004 - len(begin) - 40 * len(chunk)) + after)
            yield piece(of, b"", kind="closed")

    with limited(WORKER, 60):
        found = reasons(given())
    assert sum(number for reason, number in found.items() if "maxHeld" in reason) > 90
    assert found["the connection ended"] == 100, "the request after the large one"


def test_small_requests_of_many_connections_have_the_same_budget() -> None:
    connections = [connection(number) for number in range(60)]
    data = b"".join(asked(FetchRequest(), 4, number, client_id="")[2] for number in range(900))
    given = (piece(of, data) for of in connections)
    columns, budget = pa.schema([EXCHANGES.field("reason")]), Budget(held=4 << 20)
    with limited(WORKER // 8, 60):
        batches = list(frame_batches(given, columns, table="exchanges", budget=budget))
    assert [batch for batch in batches if any("maxHeld" in str(row) for row in batch.column("reason").to_pylist())]


def test_requests_of_which_nothing_was_seen_do_not_wait() -> None:
    of = connection(1)
    beginning = asked(FetchRequest(), 4, 1)[2][:14]

    def given() -> Iterator[Piece]:
        size = int.from_bytes(beginning[:4], "big") + 4
        yield piece(of, asked(FetchRequest(), 4, 1)[2])
        for _ in range(60_000):
            yield piece(of, beginning[:7])
            yield Piece(of, "gap", CLIENT, b"", size - 7, EPOCH, "capture.pcap", 0)

    with limited(WORKER // 16, 60):
        reasons(given())


def test_client_ids_are_not_kept_for_as_long_as_a_connection_lasts() -> None:
    """100 connections with 100 ids of 30 kB each; those are kept to save time, and forgotten now and then."""
    connections = [connection(number) for number in range(100)]
    ids = [f"{number:030000}" for number in range(100)]
    given = (piece(of, asked(FetchRequest(), 4, 1, client_id=name)[2]) for name in ids for of in connections)
    columns = pa.schema([EXCHANGES.field("reason")])
    with limited(WORKER, 60):
        assert sum(batch.num_rows for batch in frame_batches(given, columns, table="exchanges")) > 8000


def packet(number: int, seq: int, data: bytes = b"", flags: int = ACK) -> Packet:
    key = pack(">IIHH", 0x0A000000 + number, 0x0A010001, 50412, 9092)
    return Packet(key, EPOCH, "capture.pcap", 0, seq, 1, flags, data)


@pytest.mark.long
def test_packets_that_wait_for_others_have_one_budget() -> None:
    """300 connections in which a packet is missing, each with 900 packets after it."""
    connections, delivered = TcpConnections(), 0
    for number in range(300):
        connections.add(packet(number, 0, flags=SYN))
        connections.add(packet(number, 1, b"x"))
    with limited(WORKER, 60):
        for after in range(900):
            for number in range(300):
                data = bytes(1000)
                delivered += sum(len(one.data) for one in connections.add(packet(number, 1000 + 1000 * after, data)))
        delivered += sum(len(one.data) for one in connections.close())
    assert delivered == 300 * 900 * 1000, "nothing is lost, except the missing bytes"


@pytest.mark.long
def test_connections_that_were_reset_do_not_add_up() -> None:
    connections = TcpConnections(most=1000)
    with limited(WORKER // 8, 60):
        for number in range(60_000):
            connections.add(packet(number, 0, flags=SYN))
            connections.add(packet(number, 1, flags=RST))


@pytest.mark.long
def test_open_connections_fit_into_the_budget() -> None:
    connections = TcpConnections()

    def given() -> Iterator[Piece]:
        for number in range(40_000):
            yield from connections.add(packet(number, 0, flags=SYN))
            yield from connections.add(packet(number, 1, b"\0\0\0"))

    with limited(WORKER, 100):
        reasons(given(), schema=FACTS)


@pytest.mark.long
def test_connections_of_unknown_sides_fit_into_the_budget() -> None:
    connections = TcpConnections()

    def given() -> Iterator[Piece]:
        for number in range(40_000):
            yield from connections.add(packet(number, 0, b"\0\0\0"))
            yield from connections.add(packet(number, 3, bytes(1000)))

    with limited(WORKER, 100):
        reasons(given(), schema=FACTS)


def test_the_state_of_a_stream_is_small() -> None:
    ends = Ends(packet(1, 0).key, (), ConnectionProjection("exchanges"))
    rows = list(ends.add(packet(1, 0, flags=SYN)))
    data = pack(">i", 50_000_000) + asked(FetchRequest(), 4, 1)[2][4:]
    for start in range(0, 40_000_000, 1 << 20):
        rows += ends.add(packet(1, 1 + start, data if not start else b""))
        rows += ends.add(
            packet(1, 1 + start + (len(data) if not start else 0), bytes((1 << 20) - (0 if start else len(data))))
        )
    rows += ends.pause()
    assert len(ends.stored()) < 5 << 20


@pytest.mark.long
def test_a_packed_capture_of_one_byte_repeated_stays_within_the_budget(tmp_path: Path) -> None:
    path = tmp_path / "bomb.pcap.zst"
    header = pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 1 << 24, 1)
    record = pack("<IIII", 1_700_000_000, 0, 1 << 24, 1 << 24) + bytes(1 << 24)
    path.write_bytes(zstandard.compress(header + record * 4, 19))
    with limited(WORKER, 60):
        list(read_pieces([str(path)]))
