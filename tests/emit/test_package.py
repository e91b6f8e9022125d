"""The files around the codecs, where a protocol has what the small one lacks: errors, and logs of many kinds."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.examples import clock, enum, field, request, response, tagged, value
from kwirec.driver import load
from kwirec.emitters.codecs import emit_module
from kwirec.emitters.models import emit_models
from kwirec.emitters.modules import group_modules
from kwirec.emitters.package import emit_descriptions, emit_package
from kwirec.lowering import lower

ERRORS = [
    {"code": -1, "name": "STOPPED", "retriable": True, "about": 'It stands; wind it "up".'},
    {"code": 0, "name": "NONE", "retriable": False, "about": "Fine."},
    {"code": 7, "name": "TOO_LATE", "retriable": False, "about": "The train has left."},
]


TOPIC, GROUP = {"entityType": "topicName"}, {"entityType": "groupId"}
PACKAGE = {
    "clocks/ClockRequest": request(
        field("Zone", **TOPIC), field("Bells", "[]Bell", fields=[field("Tone", **GROUP), field("Zone", **TOPIC)]),
        apiKey=7, aliases=["WatchRequest", "AskRequest"],
    ),
    "clocks/ClockResponse": response(
        field("Log", "records", nullableVersions="1+"), field("Id", "uuid", about="Whose."), tagged("Note", 0),
        apiKey=7, aliases=["WatchResponse"],
    ),
    "clocks/AlarmRequest": request(field("Group", **GROUP), name="AlarmRequest", apiKey=3),
    "clocks/AlarmResponse": response(name="AlarmResponse", apiKey=3),
    **{
        f"bells/{name}{part.capitalize()}": clock(
            name=f"{name}{part.capitalize()}",
            type=f"coordinator-{part}",
            apiKey=key,
            validVersions="0",
            flexibleVersions="none",
        )
        for name, key in (("Ring", 2), ("Chime", 1))
        for part in ("key", "value")
    },
    "gears/TickRecord": clock(name="TickRecord", type="metadata", apiKey=0),
    "gears/TockRecord": clock(name="TockRecord", type="metadata", apiKey=4),
    **{
        f"{name}Header": clock(field("Id", "int32"), name=f"{name}Header", type="header")
        for name in ("Own", "Request", "Response")
    },
    "Moon": enum(value("NEW", 0), value("class", 1), name="Moon"),
    "Tide": enum(value("LOW", -1), value("HIGH", 300), name="Tide", valueType="int16", about='It "turns".'),
}  # fmt: skip


def test_all_files_of_a_package_and_its_models(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    """They do not depend on the order of definitions."""
    for name, text in PACKAGE.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.json").write_text(text)
    (tmp_path / "errors.json").write_text(json.dumps(ERRORS))
    errors = load([tmp_path], Report()).errors
    shown = []
    for step in (1, -1):
        schema = load(sorted(tmp_path.rglob("[A-Z]*.json"))[::step], report := Report()).schema
        assert not report.has_errors(), [found.message for found in report.diagnostics]
        groups, halves = group_modules(schema), lower(schema).halves
        files = emit_package(groups, name="p", errors=errors, enums=schema.enums)
        files += [emit_models(one, package="p") for one in groups if one.path in ("api.clock", "coordinator.ring")]
        files += [emit_module(one, halves) for one in groups if one.path == "headers"]
        shown.append("".join(f"--- {one.path}\n{one.text}" for one in sorted(files, key=lambda one: one.path)))
    assert shown[0] == shown[1]
    assert shown[0] == snapshot


def record(folder: Path, log: str, name: str, kind: str, key: int) -> None:
    head = {"type": kind, "apiKey": key, "name": name, "about": "One.", "validVersions": "0"}
    (folder / log).mkdir(parents=True, exist_ok=True)
    (folder / log / f"{name}.json").write_text(json.dumps(head | {"flexibleVersions": "none", "fields": []}))


def emitted(folder: Path) -> dict[str, Any]:
    """What each module defines that needs no other module of the package."""
    loaded = load([folder], report := Report())
    assert not report.has_errors(), [found.message for found in report.diagnostics]
    found = {}
    for artifact in emit_package(group_modules(loaded.schema), name="p", errors=loaded.errors):
        if artifact.path in ("errors.py", "index.py", "record_types.py"):
            exec(compile(artifact.text, artifact.path, "exec"), module := {"__name__": "p"})
            found[artifact.path] = SimpleNamespace(**module)
    return found


def test_errors(tmp_path: Path) -> None:
    (tmp_path / "errors.json").write_text(json.dumps(ERRORS))
    record(tmp_path, "a", "A", "metadata", 0)
    module = emitted(tmp_path)["errors.py"]
    codes = list(module.ErrorCode)
    assert [(one.name, one.value, one.retriable, one.description) for one in codes] == [
        (one["name"], one["code"], one["retriable"], one["about"]) for one in ERRORS
    ]
    assert {module.ErrorCode.STOPPED} == module.RETRIABLE
    assert dict(zip(codes, [one["about"] for one in ERRORS], strict=True)) == module.DESCRIPTIONS
    assert (module.ErrorCode(9).name, module.ErrorCode(9).retriable) == ("UNKNOWN_9", False)
    assert module.ErrorCode(9).description == "Unknown to these definitions."
    with pytest.raises(ValueError, match="40000"):
        module.ErrorCode(40000)
    assert module.__doc__.startswith("The error codes of the protocol.")
    assert sorted(module.__all__) == ["DESCRIPTIONS", "ErrorCode", "RETRIABLE"]


def test_descriptions_are_those_that_were_written(tmp_path: Path) -> None:
    texts = {"Clock": clock(field("A", about="An\n  hour."), field("B", about="")),
             "Phase": enum(value("NEW", 0), value("OLD", 1, about=""))}  # fmt: skip
    for name, text in texts.items():
        (tmp_path / f"{name}.json").write_text(text)
    schema = load([tmp_path], Report()).schema
    assert json.loads(emit_descriptions(group_modules(schema), schema.enums).text) == {
        "data.clock": {"Clock": {"": "A clock.", "a": "An hour."}},
        "enums": {"Phase": {"": "A phase of the moon.", "NEW": "It is new."}},
    }


def test_logs_and_their_record_types(tmp_path: Path) -> None:
    """A log is called as the folder of its definitions, where two have one name with the folder around it."""
    for log, letter in (("one/log", "A"), ("two/log", "B"), ("9-bells", "C")):
        for key in (1, 0):
            record(tmp_path, log, f"{letter}{key}Key", "coordinator-key", key)
            record(tmp_path, log, f"{letter}{key}Value", "coordinator-value", key)
    record(tmp_path, "9-bells", "RingRecord", "metadata", 2)
    found = emitted(tmp_path)
    rows = {letter: {key: (f"{letter}{key}Key", f"{letter}{key}Value") for key in (0, 1)} for letter in "ABC"}
    logs = {"9-bells": rows["C"] | {2: (None, "RingRecord")}, "one/log": rows["A"], "two/log": rows["B"]}
    assert logs == found["index.py"].LOGS
    assert [list(types) for types in found["index.py"].LOGS.values()] == [[0, 1, 2], [0, 1], [0, 1]]
    enums = found["record_types.py"]
    assert enums.Log9BellsRecordType.__doc__ == "Types of records of the log 9-bells."
    assert {one.name: one.value for one in enums.Log9BellsRecordType} == {"C0": 0, "C1": 1, "RING_RECORD": 2}
    assert enums.__all__ == ["Log9BellsRecordType", "OneLogRecordType", "TwoLogRecordType"]


def test_names_of_enums_of_record_types_are_unique(tmp_path: Path) -> None:
    record(tmp_path, "the-log", "A", "metadata", 0)
    record(tmp_path, "the_log", "B", "metadata", 0)
    record(tmp_path, "the~log", "C", "metadata", 0)
    enums = emitted(tmp_path)["record_types.py"]
    members = {name: [one.name for one in getattr(enums, name)] for name in enums.__all__}
    assert members == {"TheLogRecordType": ["A"], "TheLogRecordTypeX": ["B"], "TheLogRecordTypeXX": ["C"]}
