"""Examples: the spans of recorded frames are those of ``kwire decode``, and what is made up decodes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kwire.message import Message
from kwire.trace import Span, expand_records, trace_message, trace_request, trace_response
from kwire_guide.classes import message_class
from kwire_guide.examples import EXAMPLES, BadExampleError, Example, Examples, Recorded, read_examples
from kwire_guide.fields import Names
from kwire_guide.inputs import Inputs
from kwire_guide.messages import MessageView, fields_of_spans, message_view, place_of_span
from kwire_guide.releases import Releases
from kwire_guide.rows import rows
from kwire_guide.synthetic_examples import synthetic_bytes
from kwire_kafka import PROTOCOL
from kwirec.emitters.compat_matrix import message_matrix
from kwirec.emitters.modules import group_modules
from kwirec.ir.schema import MessageKind
from kwirec.lowering.layout import (
    SCALARS,
    ArrayKind,
    BlobKind,
    FieldLayout,
    MessageLayout,
    StructKind,
    TagLayout,
)
from tests.guide.conftest import UNION
from tools import examples as tool


@pytest.fixture(scope="module")
def found(union: Inputs) -> Mapping[str, Mapping[int, Example]]:
    """The examples of every message of the protocol."""
    classes = {message: names for group in group_modules(union.schema) for message, names in group.names.items()}
    examples = Examples(union.layouts, union.recorded, classes)
    return {message.name: examples.of(message) for message in union.schema.messages}


@pytest.fixture(scope="module")
def examples(found: Mapping[str, Mapping[int, Example]]) -> list[tuple[str, Example]]:
    """Every example of the protocol with its message, once."""
    return list({id(one): (name, one) for name, versions in found.items() for one in versions.values()}.values())


def test_request_and_response_are_of_one_exchange_wherever_one_was_recorded(
    union: Inputs, found: Mapping[str, Mapping[int, Example]]
) -> None:
    """Compared with all recorded exchanges, by the layouts of both."""
    layouts = union.layouts.by_message
    exchanges, recorded = set(), set()
    for line in (json.loads(line) for line in tool.FRAMES.read_text("utf-8").splitlines()):
        api, version = PROTOCOL.request(line["api_key"]).__name__.removesuffix("Request"), line["version"]
        if line["response"] and version in layouts[f"{api}Request"]:
            exchanges.add((line["request"], line["response"]))
            recorded.add((api, layouts[f"{api}Request"][version], layouts[f"{api}Response"][version]))
    count = {True: 0, False: 0}
    for name in found:
        api = name.removesuffix("Request")
        if name == api or f"{api}Response" not in found:
            continue
        for version, request in found[name].items():
            response = found[f"{api}Response"][version]
            is_recorded = (api, layouts[name][version], layouts[f"{api}Response"][version]) in recorded
            assert request.exchange == response.exchange == is_recorded, (name, version)
            assert ((request.data.hex(), response.data.hex()) in exchanges) == is_recorded, (name, version)
            assert ("No exchange of this version was recorded." in request.origin) != is_recorded
            count[is_recorded] += 1
    assert count[True] > 320
    assert count[False] < 50


@pytest.mark.slow
def test_recorded_frames_have_the_spans_of_kwire_decode(examples: list[tuple[str, Example]]) -> None:
    recorded = [(name, one) for name, one in examples if one.source]
    assert len(recorded) > 480
    for name, one in recorded:
        key = PROTOCOL[name].API_KEY
        if name == "EnvelopeRequest":  # kwire decode shows the request in it, too
            continue
        if key is None or not name.endswith(("Request", "Response")):
            trace = trace_message(PROTOCOL[name], one.data, one.version)
        elif name.endswith("Request"):
            trace = trace_request(PROTOCOL, one.data, expand=expand_records)
        else:
            trace = trace_response(PROTOCOL, one.data, key, one.version, expand=expand_records)
        assert trace.error is None
        trace.reveal()
        for ours, theirs in zip(one.spans, trace.spans, strict=True):
            name, path = (text.replace("request_api_", "api_") for text in (ours.name, ours.path))
            assert replace(ours, name=name, path=path, secret=False) == replace(theirs, meaning="")


@pytest.mark.slow
def test_what_is_made_up_decodes_to_a_message_with_every_field_set(examples: list[tuple[str, Example]]) -> None:
    made_up = [(name, one) for name, one in examples if not one.source]
    assert len(made_up) > 100
    for name, one in made_up:
        body = one.data[one.spans[one.body].start :]
        message = PROTOCOL[name].decode(body, one.version)
        assert message.encode(one.version) == body


def test_spans_name_the_places_of_their_fields() -> None:
    """Also where a field has the name that batches of records have."""
    size = FieldLayout("Size", SCALARS["int8"])
    batch = FieldLayout("Batch", ArrayKind(True, False, StructKind("Batch", (size,), ())))
    tag = TagLayout("Limit", 3, SCALARS["int8"], 0)
    data = bytes([2, 5, 0, 1, 3, 1, 7])
    layout = MessageLayout("M", StructKind("M", (batch,), (tag,)))
    spans = trace_message(message_class(layout, 0, {}), data, 0).spans
    places = {row.place for row in rows(layout)}
    assert [(span.start, place_of_span(span, places)) for span in spans] == [
        *((0, ""), (0, "batch"), (1, "batch"), (1, "batch.size"), (2, "batch")),
        *((3, ""), (4, ""), (6, "limit")),
    ]


def test_what_is_made_up_is_short_and_fits_its_type() -> None:
    numbers = tuple(FieldLayout(f"Number{at}", SCALARS["int8"]) for at in range(130))
    text = FieldLayout("TheLongNameOfAField", BlobKind(string=True, compact=False, nullable=False))
    layout = MessageLayout("M", StructKind("M", (*numbers, text), None))
    data = synthetic_bytes(message_class(layout, 0, {}), 0)
    assert data[:130] == bytes([*range(1, 100), *range(1, 32)])
    assert data[130:] == b"\0\x0cthe_long_nam"


def test_a_dump_has_every_byte_in_lines_of_sixteen() -> None:
    assert list(Example(0, "", bytes(range(17)), (), 0).dump) == [(0, bytes(range(16)).hex(" ")), (16, "10")]
    assert [offset for offset, _ in Example(0, "", bytes(32), (), 0).dump] == [0, 16]


def test_a_line_that_is_no_example_is_named(tmp_path: Path) -> None:
    (tmp_path / "examples.jsonl").write_text(
        '{"source": "me", "message": "M", "version": 1, "hex": "00"}\n{"hex": 3}\n'
    )
    with pytest.raises(BadExampleError, match=r"examples\.jsonl, line 2: "):
        read_examples([tmp_path])


@pytest.mark.long
def test_every_frame_that_was_cut_or_changed_is_read_or_refused(union: Inputs) -> None:
    """Hostile bytes get :class:`BadExampleError`, also where they are records."""
    layout = union.layouts.by_message["ProduceRequest"][3]
    recorded = next(one for one in union.recorded if (one.message, one.version) == ("ProduceRequest", 3))
    message = next(one for one in union.schema.messages if one.name == "ProduceRequest")
    examples = Examples(union.layouts, [], {})
    whole = examples.read(message, layout, 3, recorded.data, "me")
    refused = 0
    for place in range(whole.spans[whole.body].start, len(recorded.data)):
        before, after = recorded.data[:place], recorded.data[place + 1 :]
        for data in (before, *(before + bytes([value]) + after for value in (0, 1, 7, 0x7F, 0xFF))):
            try:
                examples.read(message, layout, 3, data, "me")
            except BadExampleError:
                refused += 1
    assert refused > len(recorded.data)


def test_records_that_cannot_be_read_are_named_with_their_place(union: Inputs) -> None:
    layout = union.layouts.by_message["ProduceRequest"][3]
    recorded = next(one for one in union.recorded if (one.message, one.version) == ("ProduceRequest", 3))
    message = next(one for one in union.schema.messages if one.name == "ProduceRequest")
    examples = Examples(union.layouts, [], {})
    spans = examples.read(message, layout, 3, recorded.data, "me").spans
    *_, batch = [span for span in spans if span.name == "batch[0]"]
    data = bytearray(recorded.data)
    data[batch.start + 16] = 9  # the magic
    with pytest.raises(BadExampleError) as refused:
        examples.read(message, layout, 3, bytes(data), "me")
    assert str(refused.value) == f"ProduceRequest v3, byte {batch.start}: {batch.path} cannot be read"


def test_examples_are_of_every_kind_of_message_but_headers(union: Inputs) -> None:
    kinds = {message.name: message.kind for message in union.schema.messages}
    assert {kinds[one.message] for one in read_examples([UNION])} == {*MessageKind} - {MessageKind.HEADER}


@pytest.mark.long
def test_the_examples_are_those_that_the_tool_picks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the same order, so that only what changes differs: ``python -m tools.examples`` writes them."""
    monkeypatch.setattr(tool, "EXAMPLES", tmp_path / EXAMPLES)  # absolute: it is written there
    tool.main()
    assert (tmp_path / EXAMPLES).read_text("utf-8") == (UNION / EXAMPLES).read_text("utf-8")


def test_the_newest_version_that_was_recorded_is_shown(union: Inputs) -> None:
    layouts = union.layouts.by_message["HeartbeatRequest"]
    message = next(one for one in union.schema.messages if one.name == "HeartbeatRequest")
    alike = [version for version, layout in layouts.items() if layout == layouts[1]]
    classes = {name: names for group in group_modules(union.schema) for name, names in group.names.items()}
    body = "0001 61 00000001 0001 62"

    def frame(version: int) -> Recorded:
        return Recorded("me", "HeartbeatRequest", version, bytes.fromhex(f"000c {version:04x} 00000007 ffff {body}"))

    assert len(alike) > 2
    for order in (alike[:2], alike[1::-1]):
        recorded = Examples(union.layouts, [frame(version) for version in order], classes).of(message)
        assert {recorded[version].version for version in alike} == {alike[1]}
    assert {Examples(union.layouts, [], classes).of(message)[version].version for version in alike} == {alike[-1]}
    longer = replace(frame(alike[0]), data=frame(alike[0]).data + b"\0\0")
    with pytest.raises(BadExampleError, match=rf"^HeartbeatRequest v{alike[0]}, byte \d+ of \d+: 2 trailing bytes$"):
        Examples(union.layouts, [longer], classes).of(message)


def test_fields_of_a_header_are_no_fields_of_the_message() -> None:
    spans = [Span(0, 1, name, name, "int8", 1, depth=1) for name in ("client_id", "client_id", "other")]
    found = fields_of_spans(Example(0, "", b"abc", tuple(spans), body=1), {"client_id": 4})
    assert [number for _, number in found] == [-1, 4, -1]


@pytest.mark.parametrize(
    ("name", "package", "command"),
    [
        ("HeartbeatRequest", "", "kwire decode --payload"),
        ("HeartbeatResponse", "kwire_kafka", "kwire decode --payload --response --api-key Heartbeat --version 4"),
        ("HeartbeatRequest", "acme", "kwire decode --protocol acme --payload"),
        ("GroupMetadataValue", "kwire_kafka", "kwire decode --message GroupMetadataValue --version 4"),
        ("GroupMetadataValue", "", "kwire decode --protocol PACKAGE --message GroupMetadataValue --version 4"),
    ],
)
def test_the_command_that_reads_an_example(union: Inputs, name: str, package: str, command: str) -> None:
    view = view_of(union, name, package)
    assert view.command(view.newest_example) == command


def view_of(union: Inputs, name: str, package: str) -> MessageView:
    """What the page shows of a message of which nothing was recorded."""
    message = next(one for one in union.schema.messages if one.name == name)
    classes = {name: names for group in group_modules(union.schema) for name, names in group.names.items()}
    examples, matrix = Examples(union.layouts, [], classes), message_matrix(message, union.layouts)
    return message_view(message, union.layouts, matrix, Releases(union.history), examples, {}, Names({}), package)


@pytest.mark.parametrize("name", ["HeartbeatRequest", "HeartbeatResponse", "GroupMetadataValue"])
def test_the_python_that_reads_an_example_does(union: Inputs, name: str) -> None:
    view = view_of(union, name, "kwire_kafka")
    ran: dict[str, Any] = {}
    exec(view.python("kwire_kafka", PROTOCOL[name].__module__.removeprefix("kwire_kafka.")), ran)
    data = view.newest_example.data.replace(b"\0\x07example", b"\0\x02me")
    assert [type(one) for one in ran.values() if isinstance(one, Message)] == [PROTOCOL[name]]
    assert ran.get("again", ran.get("data")) == data
    assert {"payload", "again"} <= ran.keys() or name == "GroupMetadataValue"
