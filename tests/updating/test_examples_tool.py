"""``python -m tools.examples`` picks the bytes that show most, of what was recorded and can be read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from kwire.logs import InternalRecord
from kwire.trace import Span, Trace, trace_message
from kwire_guide.classes import message_class
from kwire_kafka import PROTOCOL
from kwire_kafka.coordinator.offset_commit import OffsetCommitKey, OffsetCommitValue
from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.examples import clock, field, tagged
from kwirec.driver import load
from kwirec.lowering import lower
from tools import examples as tool

ZONE, LATE = field("Zone", nullableVersions="0+"), tagged("Late", 0)
DEFINITIONS = {
    "Clock": clock(ZONE, LATE),
    "Gear": clock(ZONE, name="Gear", validVersions="0"),
    "Wheel": clock(field("A", "int8"), field("B", "int8", versions="10+"), name="Wheel", validVersions="2-10"),
}
FRAMES = [
    ("one", "Wheel", 10, "01 02 00"),
    ("one", "Wheel", 3, "01 00"),
    ("one", "Clock", 1, "03 6161 00"),
    ("one", "Clock", 2, "03 6161 01 00 02 0262"),
]
RECORDS = [
    ("two", "Clock", 1, "04 616161 01 00 02 0262"),
    ("two", "Clock", 2, "02 62 01 00 03 036263"),
    ("two", "Clock", 2, "00 01 00 02 0262 00"),
    ("two", "Clock", 9, "00 01 00 02 0262"),
    ("two", "Clock", 0, f"02ba {'61' * 698}"),
    ("two", "Gear", 0, f"02bb {'61' * 699}"),
    ("two", "Clock", 0, f"02bb {'61' * 699}"),
    ("two", "Wheel", 2, "02 00"),
]


def test_the_bytes_that_show_most_fields_are_picked_and_the_shortest_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first among equals, and of more than 700 bytes only if there is no other.

    Versions that no definition has are left out, and what is broken.
    """
    for name, text in DEFINITIONS.items():
        (tmp_path / f"{name}.json").write_text(text)
    layouts = lower(load([tmp_path], Report()).schema).by_message

    def found(lines: list[tuple[str, str, int, str]]) -> Iterator[tool.Recording]:
        for source, name, version, text in lines:
            data = bytes.fromhex(text)
            layout = layouts[name].get(version, layouts[name][max(layouts[name])])
            trace = trace_message(message_class(layout, version, {}), data, version)
            yield source, version, ((name, data, trace),)

    monkeypatch.setattr(tool, "UNION", tmp_path)
    monkeypatch.setattr(tool, "exchanges", lambda: found(FRAMES))
    monkeypatch.setattr(tool, "records", lambda: found(RECORDS))
    tool.main()
    text = (tmp_path / "examples.jsonl").read_text()
    picked = [RECORDS[4], FRAMES[3], RECORDS[5], FRAMES[1], FRAMES[0]]
    assert [json.loads(line) for line in text.splitlines()] == [
        {"source": f"Kafka {source}", "message": name, "version": version, "hex": data.replace(" ", "")}
        for source, name, version, data in picked
    ]
    assert capsys.readouterr().out == f"5 examples, {len(text):,} bytes\n"


@pytest.mark.parametrize(("other", "is_better"), [("late", True), ("zone", False)])
def test_fields_that_are_shown_are_those_of_the_body_that_have_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str, is_better: bool
) -> None:
    """Of two examples, the longer is better only if it shows another field."""
    (tmp_path / "Clock.json").write_text(clock(ZONE, LATE, validVersions="1"))

    def trace(data: bytes, *spans: tuple[int, int, str]) -> tool.Recording:
        shown = [Span(start, end, path, path.rpartition(".")[2], "int8", 1, depth=0) for start, end, path in spans]
        return "one", 1, (("Clock", data, Trace(data, shown)),)

    header, title = [(0, 1, "late"), (1, 2, "zone")], (2, 2, "Clock v1")
    short = trace(bytes(3), *header, title, (2, 3, "zone"))
    long = trace(bytes(4), *header, title, (2, 3, "zone"), (3, 3, "late"), (3, 4, other))
    monkeypatch.setattr(tool, "UNION", tmp_path)
    monkeypatch.setattr(tool, "records", lambda: iter(()))
    for order in ([short, long], [long, short]):
        monkeypatch.setattr(tool, "exchanges", lambda order=order: iter(order))
        tool.main()
        picked = json.loads((tmp_path / "examples.jsonl").read_text())
        assert picked["hex"] == bytes(4 if is_better else 3).hex()


def test_messages_within_records_are_examples_if_their_versions_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    key, value = OffsetCommitKey(group="g"), OffsetCommitValue(offset=7)
    inner = [
        SimpleNamespace(message=message, version=version, raw=bytes([number]))
        for number, (message, version) in enumerate([(key, 0), (value, 99), (None, 0), (value, None), (value, 3)])
    ]
    monkeypatch.setattr(tool, "embedded", lambda protocol, found: inner if found is value else [])
    record = InternalRecord("t", b"k", b"v", key=key, value=value, version=3)
    outer = [(key, 0, b"k"), (value, 3, b"v")]
    assert list(tool.messages(record)) == [*outer, (key, 0, b"\0"), (value, 3, b"\4")]
    bare = InternalRecord("t", None, None, key=key)
    assert list(tool.messages(bare)) == [(key, 0, b"")]


def test_exchanges_are_the_requests_that_were_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, told = "0012 0000 00000007 ffff", "00000007 0000 00000000"
    line = {"broker": "4.1.1", "api_key": 18, "version": 0, "request": asked}
    frames = tmp_path / "frames.jsonl"
    frames.write_text("\n".join(json.dumps(line | {"response": response}) for response in (told, None)))
    monkeypatch.setattr(tool, "FRAMES", frames)
    found = [
        (*rest, [(name, data.hex(), trace.error) for name, data, trace in messages])
        for *rest, messages in tool.exchanges()
    ]
    request = "ApiVersionsRequest", asked.replace(" ", ""), None
    assert found == [("4.1.1", 0, [request, ("ApiVersionsResponse", told.replace(" ", ""), None)])]


def test_an_exchange_is_picked_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the best request and the best response, and a long one only if there is no short one."""
    for name in ("Ask", "Tell"):
        (tmp_path / f"{name}.json").write_text(clock(ZONE, name=name, validVersions="0-1"))
    layouts = lower(load([tmp_path], Report()).schema).by_message

    def exchange(version: int, ask: str, tell: str) -> tool.Recording:
        texts = [("Ask", bytes.fromhex(ask)), ("Tell", bytes.fromhex(tell))]
        classes = {name: message_class(layouts[name][version], version, {}) for name, _ in texts}
        return "one", version, [(name, data, trace_message(classes[name], data, version)) for name, data in texts]

    long, short, medium = f"bc05 {'61' * 699} 00", "02 61 00", "03 6161 00"
    monkeypatch.setattr(tool, "UNION", tmp_path)
    monkeypatch.setattr(tool, "records", lambda: iter(()))
    for given, picked in (
        ([(short, long), (medium, medium)], (medium, medium)),
        ([(short, medium), (medium, short)], (short, medium)),
        ([(short, long)], (short, long)),
        ([(short, "02 61"), (medium, long)], (medium, long)),
    ):
        monkeypatch.setattr(tool, "exchanges", lambda given=given: (exchange(1, *one) for one in given))
        tool.main()
        lines = [json.loads(line) for line in (tmp_path / "examples.jsonl").read_text().splitlines()]
        assert [(one["message"], one["hex"]) for one in lines] == [
            (name, text.replace(" ", "")) for name, text in zip(("Ask", "Tell"), picked, strict=True)
        ]


def test_records_of_all_topics_whose_bytes_are_those_of_their_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By release and topic, in the order of their files."""
    data = {name: OffsetCommitKey(group=name, topic="t", partition=1).encode(0) for name in "abcd"}
    stored = {
        ("__one", "00.log"): {"a": b"\0\1" + data["a"], "b": data["b"] + b"\0"},
        ("__one", "07.log"): {"c": data["c"]},
        ("__two", "00.log"): {"a": data["b"], "d": data["d"]},
        ("__two", "07.log"): {},
    }
    folders = [tmp_path / place for place in ("4.1.1-raft/__two-0", "4.0.0/__one-0", "4.0.0/other-0")]
    for folder in folders:
        folder.mkdir(parents=True)

    def internal_records(protocol: object, path: Path, topic: str) -> Iterator[SimpleNamespace]:
        assert protocol is PROTOCOL
        for name, raw in stored[topic, path.name].items():
            record = InternalRecord(topic, raw, None, key=OffsetCommitKey(group=name, topic="t", partition=1))
            yield SimpleNamespace(record=record)

    monkeypatch.setattr(tool, "LOGS", tmp_path)
    monkeypatch.setattr(
        tool, "scan", lambda folder: [SimpleNamespace(path=folder / name) for name in ("07.log", "00.log")]
    )
    monkeypatch.setattr(tool, "internal_records", internal_records)
    found = [(release, name, version, raw) for release, version, ((name, raw, _),) in tool.records()]
    picked = [("4.0.0", "a"), ("4.0.0", "c"), ("4.1.1", "d")]
    assert found == [(release, "OffsetCommitKey", 0, data[name]) for release, name in picked]
