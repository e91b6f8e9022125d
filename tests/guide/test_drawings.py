"""Drawings in prose, and that the bytes which chapters draw are those of Kafka."""

from __future__ import annotations

import re

import pytest
from syrupy.assertion import SnapshotAssertion

from kwire.records import Record, decode_control, read_batches
from kwire_guide.drawings import DrawnField, bytes_of, bytes_table, sequence
from kwire_guide.prose import read_prose
from kwire_kafka import PROTOCOL, ApiVersionsRequest, ApiVersionsResponse
from tests.guide.conftest import UNION


def drawn(chapter: str) -> list[list[DrawnField]]:
    """The drawings of bytes in a chapter."""
    text = (UNION / "guide" / chapter).read_text("utf-8")
    return [bytes_of(block) for block in re.findall(r"```bytes\n(.*?)```", text, re.DOTALL)]


def joined(fields: list[DrawnField]) -> bytes:
    return b"".join(field.data for field in fields)


def test_drawn_batches_are_records_with_right_checksums() -> None:
    batch, records, control, newer, older = drawn("70-records.md")
    (read,) = read_batches(joined(batch))
    assert (read.producer_id, read.producer_epoch, read.base_sequence, read.leader_epoch) == (4000, 0, 0, -1)
    first = Record(b"7", b"blue", (("by", b"a"),), 1_700_000_000_000, 0)
    assert list(read) == [first, Record(b"7", None, (), 1_700_000_000_005, 1)]
    assert joined(records) == batch[-1].data
    (marker,) = read_batches(joined(control))
    assert [decode_control(PROTOCOL, record).name for record in marker] == ["abort"]
    for fields, time in ((newer, 1_700_000_000_000), (older, -1)):
        (message,) = read_batches(joined(fields))
        assert list(message) == [Record(b"7", b"blue", (), time, 0)]
        assert [field.around for field in fields[3:]] == ["covered by the CRC"] * len(fields[3:])


def test_drawn_frames_are_requests_and_responses() -> None:
    asked, answered = drawn("15-first-request.md")
    assert joined(drawn("10-framing.md")[0]) == joined(asked)
    for fields in (asked, answered):
        assert int.from_bytes(fields[0].data, "big") == len(joined(fields[1:]))
    request = PROTOCOL.decode_request(joined(asked[1:])).message
    assert request == ApiVersionsRequest(client_software_name="my-client", client_software_version="1.0")
    response = PROTOCOL.decode_response(joined(answered[1:]), api_key=18, version=3).expect(ApiVersionsResponse)
    assert [(one.api_key, one.min_version, one.max_version) for one in response.api_keys] == [(0, 3, 13), (18, 0, 4)]


def test_each_drawing_as_it_is_shown(snapshot: SnapshotAssertion) -> None:
    steps = "a, b &i, c\n\n  a > c: over & <b>\nc > b &i: back\nb &i: waits"
    assert sequence(steps) == snapshot(name="sequence")
    assert bytes_table(
        "size | INT32 | 00000001 | `one` <b>\n{ inside\nrest | | 07 | a | b\n}\nend | INT8 | 00 |"
    ) == snapshot(name="bytes")


def test_blocks_of_prose_are_drawn() -> None:
    body = read_prose(
        "# T\n\n```sequence\na, b\na > b: x\n```\n\n```bytes\na | INT8 | 01 | x\n```\n\n```\na > b\n```\n"
    ).body
    assert (body.count("<svg"), body.count('<figure class="drawing">'), body.count("<pre")) == (1, 1, 1)


@pytest.mark.parametrize(
    ("draw", "text", "problem"),
    [
        (sequence, "client", "two peers"),
        (sequence, "a, , b", "two peers"),
        (sequence, "a, b\na > d: x", "`a > d: x` is not a message between the peers a, b"),
        (sequence, "a, b\na > b", "not a message"),
        (sequence, "", "1 to 200 lines, not 0"),
        (sequence, "a, b\n" + "a: x\n" * 200, "1 to 200 lines, not 201"),
        (bytes_table, "a | INT8 | 0 | x", "`a | INT8 | 0 | x` is not a field"),
        (bytes_table, "a | INT8", "is not a field"),
    ],
)
def test_a_drawing_that_is_none_names_its_line(draw: object, text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        draw(text)  # type: ignore[operator]
