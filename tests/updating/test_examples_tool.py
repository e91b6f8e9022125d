"""``python -m tools.examples`` picks the bytes that show most, of what was recorded and can be read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from kwire.trace import Trace, trace_message
from kwire_guide.classes import message_class
from kwire_kafka import PROTOCOL
from kwire_kafka.coordinator.offset_commit import OffsetCommitKey
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
    ("two", "Wheel", 2, "02 00"),
]


def test_the_bytes_that_show_most_fields_are_picked_and_the_shortest_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first among equals, up to 700 bytes. Versions that no definition has are left out, and what is broken."""
    for name, text in DEFINITIONS.items():
        (tmp_path / f"{name}.json").write_text(text)
    layouts = lower(load([tmp_path], Report()).schema).by_message

    def found(lines: list[tuple[str, str, int, str]]) -> Iterator[tuple[str, str, int, bytes, Trace]]:
        for source, name, version, text in lines:
            data = bytes.fromhex(text)
            layout = layouts[name].get(version, layouts[name][max(layouts[name])])
            yield source, name, version, data, trace_message(message_class(layout, version, {}), data, version)

    monkeypatch.setattr(tool, "UNION", tmp_path)
    monkeypatch.setattr(tool, "frames", lambda: found(FRAMES))
    monkeypatch.setattr(tool, "records", lambda: found(RECORDS))
    tool.main()
    text = (tmp_path / "examples.jsonl").read_text()
    picked = [RECORDS[4], FRAMES[3], FRAMES[1], FRAMES[0]]
    assert [json.loads(line) for line in text.splitlines()] == [
        {"source": f"Kafka {source}", "message": name, "version": version, "hex": data.replace(" ", "")}
        for source, name, version, data in picked
    ]
    assert capsys.readouterr().out == f"4 examples, {len(text):,} bytes\n"


def test_frames_are_requests_and_the_responses_that_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, told = "0012 0000 00000007 ffff", "00000007 0000 00000000"
    line = {"broker": "4.1.1", "api_key": 18, "version": 0, "request": asked}
    frames = tmp_path / "frames.jsonl"
    frames.write_text("\n".join(json.dumps(line | {"response": response}) for response in (told, None)))
    monkeypatch.setattr(tool, "FRAMES", frames)
    found = [(*rest, data.hex(), trace.error) for *rest, data, trace in tool.frames()]
    request = ["4.1.1", "ApiVersionsRequest", 0, asked.replace(" ", ""), None]
    response = ["4.1.1", "ApiVersionsResponse", 0, told.replace(" ", ""), None]
    assert list(map(list, found)) == [request, response, request]


def test_records_of_all_topics_whose_bytes_are_those_of_their_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = [OffsetCommitKey(group=name, topic="t", partition=1) for name in ("a", "b")]
    data = [key.encode(0) for key in keys]
    folders = [tmp_path / place for place in ("4.1.1-raft/__two-0", "4.0.0/__one-0", "4.0.0/other-0")]
    for folder in folders:
        folder.mkdir(parents=True)

    def internal_records(protocol: object, path: Path, topic: str) -> Iterator[SimpleNamespace]:
        assert (protocol, path.name) == (PROTOCOL, "00.log")
        raw = {"__one": (b"\0\1" + data[0], data[1] + b"\0"), "__two": (None, data[1])}[topic]
        for key, text in zip(keys, raw, strict=True):
            record = SimpleNamespace(key=text and key, raw_key=text, value=None, version=None)
            yield SimpleNamespace(record=record)

    monkeypatch.setattr(tool, "LOGS", tmp_path)
    monkeypatch.setattr(tool, "scan", lambda folder: [SimpleNamespace(path=folder / "00.log")])
    monkeypatch.setattr(tool, "internal_records", internal_records)
    assert [(release, name, version, found) for release, name, version, found, _ in tool.records()] == [
        ("4.0.0", "OffsetCommitKey", 0, data[0]),
        ("4.1.1", "OffsetCommitKey", 0, data[1]),
    ]
