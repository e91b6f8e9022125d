"""Every row of docs/policies.md: what the strict policy refuses, and which choice accepts it."""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import Any

import pytest
from crc32c import crc32c

from kwire import LIKE_KAFKA, STRICT, DecodeError, Policy
from kwire.compression import Codec, compress
from kwire.records import Record, encode_batch, read_batches
from kwire_kafka import (
    PROTOCOL,
    ApiVersionsRequest,
    ApiVersionsResponse,
    ConsumerGroupHeartbeatResponse,
    FetchRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    MetadataRequest,
)
from kwire_kafka.api.consumer_group_heartbeat import Assignment
from tests.runtime.as_columns import decode

PAGE = (Path(__file__).parents[2] / "docs" / "policies.md").read_text()
API = "0000 01 00000000"  # ApiVersions response v3 up to its tagged fields; tag 1 is an int64, tag 2 an array
REPLICA_STATE = "01 01 0d 00000002 0000000000000003 00"


def rows(pattern: str) -> dict[str, str]:
    """Name of the case → what stands in the last cell, of the rows whose last cell has ``pattern``."""
    found = re.findall(r"^\| (`[^|]+`) \|.*\| ([^|]+) \|$", PAGE, re.MULTILINE)
    return {name: cell for names, cell in found if re.search(pattern, cell) for name in re.findall(r"[\w-]+", names)}


def response(tags: str) -> Any:
    return lambda policy: decode(ApiVersionsResponse, bytes.fromhex(API + tags), 3, policy)


def request(header: str) -> Any:
    body = HeartbeatRequest(group_id="g").encode(4)
    return lambda policy: PROTOCOL.decode_request(bytes.fromhex("000c 0004 00000001" + header) + body, policy)


def fields(**expected: Any) -> Any:
    def check(message: Any) -> None:
        assert {name: getattr(message, name) for name in expected} == expected

    return check


def header(**expected: Any) -> Any:
    return lambda request: fields(**expected)(request.header)


def message(value: bytes, attributes: int = 0) -> bytes:
    """A message of magic 0 without key, with whatever stands for length and bytes of its value."""
    body = bytes((0, attributes)) + b"\xff\xff\xff\xff" + value
    return bytes(8) + (len(body) + 4).to_bytes(4, "big") + zlib.crc32(body).to_bytes(4, "big") + body


def batch(data: bytes) -> Any:
    def read(policy: Policy) -> list[bytes | None]:
        (batch,) = read_batches(data, policy=policy)
        return [record.value for record in batch]

    return read


def values(*expected: bytes) -> Any:
    def check(found: list[bytes | None]) -> None:
        assert found == list(expected)

    return check


def uncounted() -> bytes:
    data = encode_batch([Record(b"k")])
    counted = data[21:57] + bytes(4) + data[61:]
    return data[:17] + crc32c(counted).to_bytes(4, "big") + counted


WHOLE = message(b"\0\0\0\1a")
CUT = compress(Codec.GZIP, WHOLE + WHOLE[:-1])

ACCEPTED: dict[str, tuple[Any, Any]] = {
    "tag-order": (
        response("02  02 01 01  01 08 0000000000000005"),
        fields(finalized_features_epoch=5, finalized_features=[]),
    ),
    "tag-twice": (
        response("02  01 08 0000000000000005  01 08 0000000000000006"),
        fields(finalized_features_epoch=6),
    ),
    "unknown-tag-twice": (response("02  63 01 aa  63 01 bb"), fields(unknown_tags=((99, b"\xaa"), (99, b"\xbb")))),
    "tag-size": (response("01  01 07 0000000000000005"), fields(finalized_features_epoch=5)),
    "tag-size-beyond": (response("01  01 7f 0000000000000005"), fields(finalized_features_epoch=5)),
    "tag-number": (response("01  ffffffff08 01 aa"), fields(unknown_tags=((-(2**31) + 2**28 - 1, b"\xaa"),))),
    "tag-count": (response("8080808008"), fields(finalized_features_epoch=-1, unknown_tags=())),
    "header-tag-order": (
        request("0001 63  02 05 01 aa 03 00"),
        header(client_id="c", unknown_tags=((5, b"\xaa"), (3, b""))),
    ),
    "utf8": (
        lambda policy: decode(HeartbeatRequest, b"\0\3a\xffb" + bytes(6), 0, policy),
        fields(group_id="a\ufffdb"),
    ),
    "client-id-utf8": (request("0002 63ff 00"), header(client_id="c\ufffd")),
    "trailing": (
        lambda policy: decode(HeartbeatResponse, HeartbeatResponse(error_code=27).encode(0) + b"xx", 0, policy),
        fields(error_code=27),
    ),
    "records-value": (batch(message(b"\0\0\0\1amore")), values(b"a")),
    "records-inner": (batch(message(len(CUT).to_bytes(4, "big") + CUT, attributes=Codec.GZIP)), values(b"a")),
    "records-uncounted": (batch(uncounted()), values()),
}
"""Case of the first table → decode under a policy, and check what is read."""


def test_the_table_and_the_cases_are_the_same() -> None:
    assert set(rows('^`[a-z0-9]+="[a-z]+"`$')) == set(ACCEPTED)


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_kafka_accepts_and_the_default_refuses(name: str) -> None:
    read, check = ACCEPTED[name]
    choice, value = re.findall(r'`(\w+)="(\w+)"`', rows("=")[name])[0]
    with pytest.raises(DecodeError):
        read(STRICT)
    all_others: dict[str, Any] = {"tags": "kafka", "utf8": "replace", "trailing": "ignore"}
    with pytest.raises(DecodeError):
        read(Policy(**{**all_others, choice: getattr(STRICT, choice)}))
    check(read(Policy(**{choice: value})))
    check(read(LIKE_KAFKA))


def test_case_tag_below_versions() -> None:
    """ReplicaState is tag 1 of Fetch requests from version 15 on; 12 to 14 are flexible."""
    assert "tag-below-versions" in rows("preserve")
    data = FetchRequest().encode(12)
    wrong = data[:-1] + bytes.fromhex(REPLICA_STATE)
    for policy in (STRICT, LIKE_KAFKA):
        with pytest.raises(DecodeError, match="tag 1 is `replica_state`, which version 12 lacks"):
            decode(FetchRequest, wrong, 12, policy)
    read = decode(FetchRequest, wrong, 12, Policy(tags="preserve"))
    assert read == FetchRequest(unknown_tags=((1, bytes.fromhex(REPLICA_STATE)[3:]),))
    assert read.encode(12) == wrong


def test_policies_are_equal_if_their_choices_are() -> None:
    assert Policy() == STRICT != LIKE_KAFKA
    assert hash(Policy()) == hash(STRICT)
    for other in (None, 5, "strict"):
        assert STRICT.__eq__(other) is NotImplemented


SAME = ("bool", "negative-length", "long-varint", "wide-varint", "struct-mark")


def test_the_third_table_and_its_cases_are_the_same() -> None:
    third = PAGE[PAGE.index("All policies") :]
    assert tuple(re.findall(r"^\| `([\w-]+)` \|", third, re.MULTILINE)) == SAME


@pytest.mark.parametrize("policy", [STRICT, LIKE_KAFKA, Policy(tags="preserve")])
def test_what_all_policies_read_as_kafka_does(policy: Policy) -> None:
    data = MetadataRequest(topics=[], allow_auto_topic_creation=True).encode(4)
    assert data[-1] == 1
    assert decode(MetadataRequest, data[:-1] + b"\x40", 4, policy).allow_auto_topic_creation is True
    assert decode(MetadataRequest, b"\x80\0\0\0" + data[4:], 4, policy).topics is None
    named = ApiVersionsRequest(client_software_name="kw", client_software_version="1").encode(3)
    assert named[0] == 3
    for first in ("8300", "8380808000", "8380808070"):
        read = decode(ApiVersionsRequest, bytes.fromhex(first) + named[1:], 3, policy)
        assert read.client_software_name == "kw"
    assigned = ConsumerGroupHeartbeatResponse(assignment=Assignment())
    data = assigned.encode(0)
    assert data[-4:] == bytes.fromhex("01 01 00 00")  # the mark, the struct, tagged fields of the message
    for mark in b"\x00", b"\x02", b"\x7f":
        assert decode(ConsumerGroupHeartbeatResponse, data[:-4] + mark + data[-3:], 0, policy) == assigned
    assert decode(ConsumerGroupHeartbeatResponse, data[:-4] + b"\x80\0", 0, policy).assignment is None
