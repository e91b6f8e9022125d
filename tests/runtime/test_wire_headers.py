"""Headers: the classes of ``kwire.headers`` agree with those that the compiler emits for their definitions."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kwire_kafka
from kwire import DecodeError, EncodeError
from kwire.headers import RequestHeader, ResponseHeader
from kwire.message import Message
from kwire.schema import description
from kwirec.diagnostics.diagnostic import Report
from kwirec.driver import load
from kwirec.emitters import codecs, package
from kwirec.emitters.modules import RUNTIME_HEADERS, group_modules
from kwirec.lowering import lower
from tests.support.wrong_types import built

DEFINITIONS = Path(__file__).parents[2] / "message_defs" / "kafka" / "headers"
INT16 = st.integers(-(2**15), 2**15 - 1)
INT32 = st.integers(-(2**31), 2**31 - 1)
TAGS = st.dictionaries(st.integers(0, 2**31 - 2), st.binary(max_size=200), max_size=3).map(
    lambda tags: tuple(sorted(tags.items()))
)


def emitted() -> tuple[Any, dict[str, dict[str, str]]]:
    """The module of codecs for the definitions of the headers, and their descriptions."""
    schema = load([DEFINITIONS], Report()).schema
    [group] = group_modules(schema)
    module = ModuleType("emitted_headers")
    with pytest.MonkeyPatch.context() as patch:
        for emitter in codecs, package:
            patch.setattr(emitter, "RUNTIME_HEADERS", {})
        exec(codecs.emit_module(group, lower(schema).halves).text, vars(module))
        texts = json.loads(package.emit_descriptions([group]).text)
    return module, texts["headers"]


generated, DESCRIPTIONS = emitted()


@pytest.mark.parametrize("cls", [RequestHeader, ResponseHeader])
def test_the_classes_agree_with_their_definitions(cls: type[Message]) -> None:
    name = cls.__name__
    twin = getattr(generated, name)
    assert getattr(kwire_kafka, name) is kwire_kafka.PROTOCOL[name] is cls
    assert (cls.VALID_VERSIONS, cls.FLEXIBLE_VERSIONS) == (twin.VALID_VERSIONS, twin.FLEXIBLE_VERSIONS)
    attributes = [RUNTIME_HEADERS[name].get(field.defined_name, field.name) for field in twin.FIELDS]
    assert [field.name for field in cls.FIELDS] == attributes
    for field, expected, attribute in zip(cls.FIELDS, twin.FIELDS, attributes, strict=True):
        for slot in set(expected.__slots__) - {"name"}:
            assert getattr(field, slot) == getattr(expected, slot), slot
        assert getattr(cls(), attribute) == getattr(twin(), expected.name)
        assert description(cls, attribute) == DESCRIPTIONS[name][expected.name]
    assert description(cls) == DESCRIPTIONS[name][""]


@st.composite
def request_headers(draw: st.DrawFn) -> tuple[RequestHeader, int]:
    version = draw(st.integers(0, 2))
    return (
        RequestHeader(
            api_key=draw(INT16),
            api_version=draw(INT16),
            correlation_id=draw(INT32),
            client_id=draw(st.none() | st.text()) if version else "",
            unknown_tags=draw(TAGS) if version == 2 else (),
        ),
        version,
    )


@given(request_headers(), st.binary(max_size=3))
def test_request_headers(drawn: tuple[RequestHeader, int], around: bytes) -> None:
    header, version = drawn
    data = header.encode(version)
    assert RequestHeader.decode_from(around + data + b"\xff", version, start=len(around)) == (
        header,
        len(around) + len(data),
    )
    twin = generated.RequestHeader.decode(data, version)
    assert twin.encode(version) == data
    names = ("request_api_key", "request_api_version", "correlation_id")
    assert [getattr(twin, name) for name in names] == [header.api_key, header.api_version, header.correlation_id]
    assert twin.client_id == header.client_id
    assert twin.unknown_tags == header.unknown_tags
    for size in range(len(data)):
        with pytest.raises(DecodeError):
            RequestHeader.decode_from(data[:size], version)


@given(INT32, TAGS, st.integers(0, 1), st.binary(max_size=3))
def test_response_headers(
    correlation_id: int, tags: tuple[tuple[int, bytes], ...], version: int, around: bytes
) -> None:
    header = ResponseHeader(correlation_id=correlation_id, unknown_tags=tags if version else ())
    data = header.encode(version)
    end = len(around) + len(data)
    assert ResponseHeader.decode_from(around + data + b"\xff", version, start=len(around)) == (header, end)
    twin = generated.ResponseHeader.decode(data, version)
    assert (twin.correlation_id, twin.unknown_tags) == (header.correlation_id, header.unknown_tags)
    assert twin.encode(version) == data
    for size in range(len(data)):
        with pytest.raises(DecodeError):
            ResponseHeader.decode_from(data[:size], version)


def test_trap_04_the_client_id_has_a_classic_length() -> None:
    header = RequestHeader(api_key=3, api_version=12, correlation_id=7, client_id="kwire", unknown_tags=((1, b"t"),))
    assert header.encode(2).hex(" ", -2) == "0003 000c 0000 0007 0005 6b77 6972 6501 0101 74"


def test_a_null_client_id() -> None:
    header = RequestHeader(client_id=None)
    assert header.encode(1) == bytes(8) + b"\xff\xff"
    assert RequestHeader.decode_from(bytes(8) + b"\x80\0", 1) == (header, 10)


@pytest.mark.parametrize(
    ("header", "version"),
    [
        (RequestHeader(), 3),
        (RequestHeader(), -1),
        (RequestHeader(api_key=2**15), 1),
        (RequestHeader(api_version=-(2**15) - 1), 1),
        (RequestHeader(correlation_id=2**31), 1),
        (built(lambda: RequestHeader(correlation_id=None)), 1),  # type: ignore[arg-type]
        (RequestHeader(client_id="x" * 0x8000), 1),
        (RequestHeader(client_id="\ud800"), 1),
        (built(lambda: RequestHeader(client_id=b"x")), 1),  # type: ignore[arg-type]
        (RequestHeader(unknown_tags=((1, b""),)), 1),
        (RequestHeader(unknown_tags=((2, b""), (1, b""))), 2),
        (built(lambda: RequestHeader(unknown_tags=((1, "x"),))), 2),  # type: ignore[arg-type]
        (built(lambda: RequestHeader(unknown_tags=(5,))), 2),  # type: ignore[arg-type]
        (ResponseHeader(), 2),
        (ResponseHeader(correlation_id=-(2**31) - 1), 0),
        (built(lambda: ResponseHeader(correlation_id="1")), 0),  # type: ignore[arg-type]
        (ResponseHeader(unknown_tags=((1, b""),)), 0),
        (ResponseHeader(unknown_tags=((1, b""), (1, b""))), 1),
    ],
)
def test_headers_that_cannot_be_written(header: RequestHeader | ResponseHeader | None, version: int) -> None:
    if header is None:
        return
    with pytest.raises(EncodeError) as caught:
        header.encode(version)
    assert (caught.value.message_name, caught.value.version) == (type(header).__name__, version)


@pytest.mark.parametrize(
    ("data", "version", "path"),
    [
        ("00", 0, "api_key"),
        ("0001 00", 0, "api_version"),
        ("0001 0002 0000", 0, "correlation_id"),
        ("0001 0002 00000003 00", 1, "client_id"),
        ("0001 0002 00000003 0003 6162", 1, "client_id"),
        ("0001 0002 00000003 0002 ffff", 1, "client_id"),
        ("0001 0002 00000003 0001 61", 2, "tagged fields"),
        ("0001 0002 00000003 0001 61 01 05 03 00", 2, "tagged fields"),
        ("0001 0002 00000003 0001 61 02 05 00 05 00", 2, "tagged fields"),
        ("0001 0002 00000003 0001 61 ffffffffffff", 2, "tagged fields"),
    ],
)
def test_request_headers_that_cannot_be_read(data: str, version: int, path: str) -> None:
    raw = bytes.fromhex(data)
    with pytest.raises(DecodeError) as caught:
        RequestHeader.decode_from(raw, version)
    error = caught.value
    assert (error.message_name, error.version, error.path, error.data) == ("RequestHeader", version, path, raw)
    assert 0 <= error.offset <= len(raw)


@pytest.mark.parametrize(
    ("data", "version", "path"), [("000000", 0, "correlation_id"), ("00000001", 1, "tagged fields")]
)
def test_response_headers_that_cannot_be_read(data: str, version: int, path: str) -> None:
    with pytest.raises(DecodeError) as caught:
        ResponseHeader.decode_from(bytes.fromhex(data), version)
    assert (caught.value.message_name, caught.value.path) == ("ResponseHeader", path)


def test_versions_of_headers_that_do_not_exist() -> None:
    with pytest.raises(DecodeError, match="unknown version 3"):
        RequestHeader.decode_from(bytes(20), 3)
    with pytest.raises(DecodeError, match="unknown version 2"):
        ResponseHeader.decode_from(bytes(20), 2)


@pytest.mark.parametrize("offset", [-1, 21])
def test_offsets_outside_of_data(offset: int) -> None:
    with pytest.raises(DecodeError):
        RequestHeader.decode_from(bytes(20), 1, start=offset)
    with pytest.raises(DecodeError):
        ResponseHeader.decode_from(bytes(20), 0, start=offset)


def test_a_client_id_that_is_too_long_for_what_is_left() -> None:
    with pytest.raises(DecodeError) as caught:
        RequestHeader.decode_from(bytes(8) + b"\0\3ab", 1)
    assert str(caught.value) == (
        "RequestHeader v1, field client_id, byte 8 of 12: this string has length 3, 2 bytes left"
    )


def test_headers_as_objects() -> None:
    header = RequestHeader(api_key=1, api_version=2, correlation_id=3, client_id="c")
    assert header == RequestHeader(api_key=1, api_version=2, correlation_id=3, client_id="c")
    assert header != RequestHeader(api_key=1, api_version=2, correlation_id=4, client_id="c")
    assert header != ResponseHeader(correlation_id=3)
    assert repr(header) == "RequestHeader(api_key=1, api_version=2, correlation_id=3, client_id='c')"
    header.unknown_tags = ((1, b""),)
    assert repr(header).endswith("unknown_tags=((1, b''),))")
    response = ResponseHeader(correlation_id=3, unknown_tags=((1, b""),))
    assert repr(response) == "ResponseHeader(correlation_id=3, unknown_tags=((1, b''),))"
    assert response != ResponseHeader(correlation_id=3)
    assert response != header
    for message in (header, response):
        assert message.replace() == copy.copy(message) == pickle.loads(pickle.dumps(message)) == message
    for unhashable in (header, response):
        with pytest.raises(TypeError):
            hash(unhashable)
