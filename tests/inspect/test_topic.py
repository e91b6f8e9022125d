"""Records of a topic that are no packets are named, and watch says what it needs for a topic."""

from __future__ import annotations

import random
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire_inspect.capture import Broken
from kwire_inspect.capture.packet_files import file_packets
from kwire_inspect.capture.packets import Packet, reverse
from kwire_inspect.capture.pcap import LATEST
from kwire_inspect.reasons import NO_PACKET
from kwire_inspect.schemas import EPOCH, PACKETS
from kwire_spark import packets as streamed
from kwire_spark.packets import packet_batches, packet_of
from kwire_spark.streams import topic
from kwire_spark.streams.connections import too_late
from tests.support.capture_files import ETHERNET, ip_packet, packets, recorded, write_pcap, write_pcapng
from tests.support.capture_files import frame as link_frame
from tests.support.effort import examples
from tests.support.wrapping import ethernet, ipv4, vxlan


def rows(values: list[bytes | None], first: int = 0) -> list[dict[str, Any]]:
    records = [("packets", 0, first + number, 7_000_000, None, value) for number, value in enumerate(values)]
    columns = [pa.array(column) for column in zip(*records, strict=True)]
    batch = pa.RecordBatch.from_arrays(columns, ["topic", "partition", "offset", "micros", "key", "value"])
    return [row for made in topic.packet_rows(ETHERNET, [batch]) for row in made.to_pylist()]


def test_records_that_are_no_packets_are_counted_and_named_and_the_others_read(tmp_path: Path) -> None:
    sent = [link_frame(packet, ETHERNET) for packet in packets(recorded("kafka-python-on-3.9.1")[0])]
    capture = write_pcap(tmp_path / "a.pcap", []).read_bytes()
    pcapng = write_pcapng(tmp_path / "a.pcapng", []).read_bytes()
    noise = [b"", None, b'{"a": 1}', "grüße, länger als ein Kopf von Ethernet".encode(), capture, pcapng]
    found = rows([*noise, *sent])
    read = [row for row in found if not row["problem"]]
    assert len(read) == len(sent)
    told = {row["problem"]: (row["packets"], row["position"], row["unread"]) for row in found if row["problem"]}
    assert told == {
        f"{NO_PACKET}: empty": (2, 0, None),
        f"{NO_PACKET}: text": (2, 2, None),
        f"{NO_PACKET}: a capture file": (2, 4, None),
    }


def test_no_packet_is_taken_for_text() -> None:
    """Its flags are a control character, whatever else it has."""
    for conversation in recorded("kafka-python-on-3.9.1"):
        for packet in packets(conversation):
            assert not topic._other(link_frame(packet, ETHERNET))
    assert [topic._other(bytes([65, control])) for control in (0, 8, 11, 12, 14, 31, 127)] == [""] * 7
    assert {topic._other(bytes([65, space])) for space in (9, 10, 13, 32)} == {"text"}


def test_times_of_packets_are_rounded_to_microseconds() -> None:
    micros = [1_700_000_000_000_000 + number for number in range(0, 1_000_000, 997)]
    (batch,) = packet_batches(Packet(bytes(12), number / 1e6, "a", 0, 0, 0, 0, b"") for number in micros)
    assert batch.column("time").cast(pa.int64()).to_pylist() == micros


def test_packets_that_came_too_late_for_any_part_of_a_query_count() -> None:
    progress: Any = [
        {"stateOperators": [{"numRowsDroppedByWatermark": number} for number in some]} for some in ([2, 3], [], [4])
    ]
    assert too_late(progress) == 9


def test_random_bytes_are_counted_by_what_they_may_be() -> None:
    chance = random.Random(1)
    found = rows([chance.randbytes(100) for _ in range(200)])
    assert sum(row["packets"] for row in found if row["problem"]) > 150
    assert all(row["problem"] or row["data"] is not None for row in found)


@pytest.mark.parametrize(
    ("key", "micros", "time"),
    [
        (None, 1_700_000_000_000_000, 1_700_000_000_000_000),
        ((1_700_000_000_123_456).to_bytes(8, "big"), 7, 1_700_000_000_123_456),
        ((1_700_000_000_123_456).to_bytes(8, "big") + b"more", 7, 1_700_000_000_123_456),
        (b"short", 7, 7),
        (b"a name of a host", 7, 7),
        (b"a name of a host", -1, None),
        (None, None, None),
        (bytes(8), 7, 0),
        (None, LATEST * 1_000_000 - 1, LATEST * 1_000_000 - 1),
        (None, LATEST * 1_000_000, None),
    ],
)
def test_times_are_microseconds(key: bytes | None, micros: int | None, time: int | None) -> None:
    assert topic._time(key or b"", micros) == time


def test_a_packet_is_a_row_and_a_row_is_the_packet(tmp_path: Path) -> None:
    path = write_pcap(tmp_path / "a.pcap", packets(recorded("kafka-python-on-3.9.1")[0]))
    read = [found for found in file_packets(str(path)) if not isinstance(found, Broken)]
    broken = Broken("a.pcap", 7, "cut off", 0, 5), Broken("b.pcap", 8, "not read", 9, 0)
    (batch,) = packet_batches([*read, *broken])
    found = batch.to_pylist()
    nothing = dict.fromkeys(PACKETS.names)
    assert found[-2:] == [
        nothing | {"source": "a.pcap", "position": 7, "packets": 5, "problem": "cut off"},
        nothing | {"source": "b.pcap", "position": 8, "unread": 9, "problem": "not read"},
    ]
    for packet, row in zip(read, found[:-2], strict=True):
        micros = round(packet.time * 1e6)
        assert row.pop("time") == EPOCH + timedelta(microseconds=micros)
        again = packet_of(SimpleNamespace(**row, micros=micros))
        assert again.time == micros / 1e6
        for name in ("key", "source", "position", "seq", "ack", "flags", "data", "missing"):
            assert getattr(again, name) == getattr(packet, name)
        assert [row[name] for name in ("unread", "packets", "problem")] == [None] * 3
    flows = {row["flow"] for row in found[:-2]}
    assert flows == {min(packet.key for packet in read)}, "of both directions"


NUMBERS = st.integers(0, (1 << 32) - 1)


@given(
    st.lists(
        st.builds(
            Packet,
            st.binary(min_size=12, max_size=12) | st.binary(min_size=36, max_size=36),
            st.integers(0, 1 << 33).map(lambda seconds: seconds + 0.25),
            st.text(max_size=3),
            st.integers(0, 1 << 62),
            NUMBERS,
            NUMBERS,
            st.integers(0, 511),
            st.binary(max_size=20),
            st.integers(0, 65_535),
        ),
        min_size=1,
        max_size=4,
    )
)
@examples(0.1)
def test_packets_have_all_fields_after_they_were_rows_of_spark(sent: list[Packet]) -> None:
    """With those of other packets, as pandas has them."""
    (batch,) = packet_batches(sent)
    frame = batch.to_pandas()
    assert [{key, reverse(key)} for key in frame["flow"]] == [{one.key, reverse(one.key)} for one in sent]
    frame["micros"] = batch.column("time").cast(pa.int64()).to_pylist()
    read = [packet_of(row) for row in frame.itertuples(index=False)]
    assert [one.__reduce__() for one in read] == [one.__reduce__() for one in sent]


@pytest.mark.parametrize(("rows", "size", "batches"), [(3, 1 << 20, [3, 3, 1]), (100, 2000, [2, 2, 2, 1])])
def test_batches_of_packets_are_limited(
    monkeypatch: pytest.MonkeyPatch, rows: int, size: int, batches: list[int]
) -> None:
    monkeypatch.setattr(streamed, "BATCH_ROWS", rows)
    monkeypatch.setattr(streamed, "BATCH_BYTES", size)
    sent = [Packet(bytes(12), 1.0, "a.pcap", number, 1, 1, 16, bytes(1000), 0) for number in range(7)]
    assert [batch.num_rows for batch in packet_batches(sent)] == batches


def test_records_of_each_partition_have_their_source_and_offset(tmp_path: Path) -> None:
    frame = link_frame(packets(recorded("kafka-python-on-3.9.1")[0])[0], ETHERNET)
    late = (1_700_000_000_123_456).to_bytes(8, "big")
    records = [("t", 0, 7, 5_000_000, None, frame), ("t", 1, 7, 5_000_000, late, frame), ("t", 1, 8, -1, None, frame)]
    records += [("t", 1, 9, 5_000_000, None, b"text"), ("t", 0, 9, 5_000_000, None, b"text")]
    columns = [pa.array(column) for column in zip(*records, strict=True)]
    batch = pa.RecordBatch.from_arrays(columns, ["topic", "partition", "offset", "micros", "key", "value"])
    found = [row for made in topic.packet_rows(ETHERNET, [batch]) for row in made.to_pylist()]
    seen = [(row["source"], row["position"], row["time"], row["packets"], row["problem"]) for row in found]
    no_time = "neither the key nor the timestamp of this record is a plausible time"
    assert seen == [
        ("t-0", 7, EPOCH + timedelta(seconds=5), None, None),
        ("t-1", 7, EPOCH + timedelta(microseconds=1_700_000_000_123_456), None, None),
        ("t-1", 8, None, None, no_time),
        ("t-0", 9, None, 1, f"{NO_PACKET}: text"),
        ("t-1", 9, None, 1, f"{NO_PACKET}: text"),
    ]


def test_tunnels_are_followed() -> None:
    sent = packets(recorded("kafka-python-on-3.9.1")[0])[:5]
    wrapped = [ethernet(ipv4(17, vxlan(ethernet(ip_packet(packet))))) for packet in sent]
    plain = [link_frame(packet, ETHERNET) for packet in sent]
    assert [(row["key"], row["data"], row["position"], row["time"]) for row in rows([*wrapped])] == [
        (row["key"], row["data"], row["position"], row["time"]) for row in rows([*plain])
    ]
