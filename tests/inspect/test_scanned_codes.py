"""Error codes from the bytes of responses are those of decoded responses, and `clients` decodes nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kwire import is_native, message
from kwire.connection import event_reader
from kwire.errors import EncodeError
from kwire.schema import struct_class
from kwire.struct import Struct
from kwire_inspect.capture import read_pieces
from kwire_inspect.connections import error_codes as codes
from kwire_inspect.connections import frame_batches
from kwire_inspect.connections.batches import ALL, CODES, Bodies, ConnectionProjection
from kwire_inspect.connections.error_codes import NONE, _tags, error_codes, scanner, throttle_ms
from kwire_inspect.connections.request_context import APIS
from kwire_inspect.schemas import EXCHANGES
from kwire_inspect.tables.clients import EXCHANGE_COLUMNS
from kwire_kafka import PROTOCOL
from tests.inspect.test_error_codes import RESPONSES, failing
from tests.support.capture_files import merged, packets, recorded, recordings, write_pcap
from tests.support.effort import one_in

NEEDED = pa.schema([EXCHANGES.field(name) for name in EXCHANGE_COLUMNS])
FACTS = pa.schema([field for field in EXCHANGES if field.name not in ("request", "response")])
scanned = ConnectionProjection("exchanges", bodies=CODES).outcome


def bodies(name: str) -> Iterator[tuple[int, bytes]]:
    """A message of every version, with a code in each field for one if the version can have all of them, and with a
    throttle time if it has one."""
    cls = PROTOCOL[name]
    for version in cls.VALID_VERSIONS:
        try:
            message: Any = failing(cls, count(1))
            if hasattr(message, "throttle_time_ms"):
                message.throttle_time_ms = 1000 + version
            yield version, message.encode(version)
        except EncodeError:
            yield version, cls().encode(version)


@pytest.mark.parametrize("name", RESPONSES)
def test_codes_and_throttle_time_are_those_of_the_decoded_response(name: str) -> None:
    cls = PROTOCOL[name]
    assert cls.API_KEY is not None
    for version, body in bodies(name):
        response = cls.decode(body, version)
        expected = error_codes(response), throttle_ms(response)
        assert scanned(cls.API_KEY, version, b"before" + body, 6) == expected, version


def large(cls: type[Struct], version: int, count: int) -> Any:
    """A struct with long texts and an error, and lists of as many elements; those in them have one."""
    values: dict[str, Any] = {}
    texts = {"string": "x" * 127, "bytes": b"x" * 127, "records": b"x" * 127}  # of which a length takes two bytes
    for field in cls.FIELDS:
        struct = struct_class(cls, field)
        if version not in field.versions or field.tag is not None:
            continue
        if struct is not None:
            elements = [large(struct, version, 1) for _ in range(count if field.is_array else 1)]
            values[field.name] = elements if field.is_array else elements[0]
        elif field.element_type in texts:
            text = texts[field.element_type]
            values[field.name] = [text] * count if field.is_array else text
        elif field.type == "int16" and field.name.endswith("error_code"):
            values[field.name] = 41
    return cls(**values)


@pytest.mark.parametrize("name", RESPONSES)
def test_defaults_nulls_and_long_values_are_passed_over(name: str) -> None:
    """In the oldest and the newest version."""
    cls = PROTOCOL[name]
    assert cls.API_KEY is not None
    for version in {cls.VALID_VERSIONS.start, cls.VALID_VERSIONS.stop - 1}:
        for made in (cls(), large(cls, version, 130)):
            body = made.encode(version)
            response = cls.decode(body, version)
            assert scanned(cls.API_KEY, version, body, 0) == (error_codes(response), throttle_ms(response))


@pytest.mark.parametrize("name", one_in(5, RESPONSES))
def test_bytes_that_end_early_or_are_noise_raise_nothing_else(name: str) -> None:
    cls = PROTOCOL[name]
    assert cls.API_KEY is not None
    for version, body in bodies(name):
        if scanner(cls, version) is not None:
            for end in range(0, len(body), max(1, len(body) // 50)):
                assert scanned(cls.API_KEY, version, body[:end], 0) == NONE
                scanned(cls.API_KEY, version, body[:end] + b"\xff" * (len(body) - end), 0)


def columns(path: Path, read: Bodies, schema: pa.Schema = FACTS) -> list[dict[str, Any]]:
    made = frame_batches(read_pieces([str(path)]), schema, table="exchanges", bodies=read)
    return pa.Table.from_batches(made, schema).to_pylist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("handshake", [True, False])
@pytest.mark.parametrize("size", [50, 1448])
@pytest.mark.parametrize("name", one_in(3, recordings()))
def test_recorded_traffic_gives_the_same_rows(tmp_path: Path, name: str, size: int, handshake: bool) -> None:
    sent = merged(packets(one, handshake=handshake, size=size) for one in recorded(name))
    path = write_pcap(tmp_path / "a.pcap", sent)
    assert columns(path, CODES) == columns(path, ALL)


@pytest.mark.skipif(is_native(), reason="native code calls functions directly: none can be replaced")
def test_only_what_identifies_clients_is_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: set[str] = set()
    decode_within = message.decode_within

    def noted(most: int, cls: Any, *rest: Any) -> Any:
        decoded.add(cls.__name__)
        return decode_within(most, cls, *rest)

    monkeypatch.setattr(event_reader, "decode_within", noted)
    sent = merged(packets(one) for one in recorded("librdkafka-on-4.1.1"))
    rows = columns(write_pcap(tmp_path / "a.pcap", sent), CODES, NEEDED)
    assert len({row["api"] for row in rows}) > 5
    allowed = {name + ending for name in APIS | {"Envelope"} for ending in ("Request", "Response")}
    assert "ApiVersionsRequest" in decoded <= allowed - {"ApiVersionsResponse"}


def test_structs_that_are_nested_too_deeply_are_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Partitions are within topics, and topics within the response."""
    for deepest, scans in ((3, True), (2, False)):
        monkeypatch.setattr(codes, "DEEPEST", deepest)
        assert (codes._compiled(PROTOCOL["MetadataResponse"], 1) is not None) == scans


def test_tagged_fields_do_not_lead_backwards() -> None:
    """A size has 32 bits, and a negative one is an error, as for decoding."""
    cls = PROTOCOL["HeartbeatResponse"]
    body = cls().encode(4)
    assert scanned(12, 4, body, 0) != NONE
    for size in (b"\xff\xff\xff\xff\x0f", b"\xfa\xff\xff\xff\x0f"):
        assert scanned(12, 4, body[:-1] + b"\1\0" + size + bytes(20), 0) == NONE


def test_the_scanner_and_decoding_agree_on_sizes_of_tags() -> None:
    assert _tags(b"\1\0\2ab", 0) == 5
    assert _tags(b"\0", 0) == 1
    with pytest.raises(ValueError, match="negative"):
        _tags(b"\1\0\xff\xff\xff\xff\x0f" + bytes(9), 0)
