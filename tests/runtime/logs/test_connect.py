"""Records of Kafka Connect's own topics are JSON: decoded and printed as such, without the secrets in them."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire import DecodeError
from kwire.logs import decode_record, internal_records
from kwire.logs.connect import KEYS, connect_topic
from kwire.records import Record, encode_batch, read_batches
from kwire.trace import json_spans
from kwire.trace.batches import expand_records
from kwire.trace.internal import trace_record
from kwire.trace.json_spans import trace_json
from kwire.trace.view import as_json, show
from kwire_kafka import PROTOCOL

CONFIGS, OFFSETS, STATUS = "connect-configs", "connect-offsets", "connect-status"
CONNECTOR = {
    "name": "orders",
    "connector.class": "io.example.JdbcSource",
    "tasks.max": "3",
    "topics": "orders",
    "connection.password": "hunter2",
    "my.plugin.option": "hunter2",
}
CONFIG = json.dumps({"properties": CONNECTOR}).encode()
KEY = json.dumps({"key": "hunter2", "algorithm": "HmacSHA256", "creation-timestamp": 1700000000000}).encode()
RECORDS = [
    (CONFIGS, b"connector-orders", CONFIG, "ConnectorConfig"),
    (CONFIGS, b"task-orders-0", CONFIG, "TaskConfig"),
    (CONFIGS, b"commit-orders", b'{"tasks":3}', "TasksCommit"),
    (CONFIGS, b"target-state-orders", b'{"state":"PAUSED","state.v2":"STOPPED"}', "TargetState"),
    (CONFIGS, b"tasks-fencing-orders", b'{"task-count":3}', "TaskCount"),
    (CONFIGS, b"session-key", KEY, "SessionKey"),
    (CONFIGS, b"restart-connector-orders", b'{"include-tasks":true,"only-failed":false}', "ConnectorRestart"),
    (CONFIGS, b"logger-cluster-org.apache", b'{"level":"DEBUG"}', "LoggerLevel"),
    (OFFSETS, b'["orders",{"table":"t"}]', b'{"id":17}', "ConnectorOffset"),
    (STATUS, b"status-connector-orders", b'{"state":"RUNNING","trace":null}', "ConnectorStatus"),
    (STATUS, b"status-task-orders-0", b'{"state":"FAILED","trace":"java"}', "TaskStatus"),
    (STATUS, b"status-topic-t:connector-orders", b'{"topic":{"name":"t"}}', "TopicStatus"),
]


@pytest.mark.parametrize(("topic", "key", "value", "name"), RECORDS, ids=[name for *_, name in RECORDS])
def test_a_record_is_text_and_json(topic: str, key: bytes, value: bytes, name: str) -> None:
    record = decode_record(PROTOCOL, topic, key, value)
    assert (record.name, record.reason, record.key, record.value) == (name, None, None, None)
    assert record.json_key
    assert record.json_value
    assert record.json_key.value == (json.loads(key) if topic == OFFSETS else key.decode())
    assert record.json_value.value == json.loads(value)
    assert "hunter2" not in repr(record)
    gone = decode_record(PROTOCOL, topic, key, None)
    assert (gone.name, gone.tombstone, gone.json_value) == (name, True, None)


def test_all_kinds_are_here() -> None:
    assert [name for names in KEYS.values() for name in names] == [name for *_, name in RECORDS]


def test_harmless_settings_are_shown() -> None:
    record = decode_record(PROTOCOL, CONFIGS, b"connector-orders", CONFIG)
    shown = json.loads(repr(record.json_value))["properties"]
    hidden = {name for name, value in shown.items() if value == "[hidden]"}
    assert hidden == {"connection.password", "my.plugin.option"}
    assert {name: value for name, value in CONNECTOR.items() if name not in hidden}.items() <= shown.items()


@pytest.mark.parametrize(
    ("topic", "kind"),
    [
        ("connect-configs", "configs"),
        ("docker-connect-configs", "configs"),
        ("_connect_configs", "configs"),
        ("my-connect-cluster-config", "configs"),
        ("mm2-configs.source.internal", "configs"),
        ("connect-offsets", "offsets"),
        ("mm2-offsets.a.b.internal", "offsets"),
        ("connect.status", "status"),
        ("connect-cluster-status", "status"),
        ("mm2-status.a.internal", "status"),
        ("configs", ""),
        ("reconnect-configs", ""),
        ("connect-configs-backup", ""),
        ("mm2-offset-syncs.a.internal", ""),
        ("__consumer_offsets", ""),
    ],
)
def test_topics_are_known_by_their_usual_names(topic: str, kind: str) -> None:
    assert connect_topic(topic) == kind


@pytest.mark.parametrize(
    ("topic", "key", "value", "reason"),
    [
        (CONFIGS, None, b"{}", "the record has no key"),
        (CONFIGS, b"\xff", b"{}", "byte 0 of 1: not UTF-8"),
        (CONFIGS, b"else", b"{}", "unknown record type in the configs of Kafka Connect"),
        (CONFIGS, b"session-key-2", b"{}", "unknown record type in the configs of Kafka Connect"),
        (CONFIGS, b"task-a-0", b'{"properties":', "byte 14 of 14: not JSON, which ends here: expected a value"),
        (OFFSETS, b'["a",', b"{}", "byte 5 of 5: not JSON, which ends here: expected a value"),
        (STATUS, b"status-task-a-0", b"[" * 99, "byte 64 of 99: not JSON: nested more than 64 levels deep"),
        (STATUS, b"status-task-a-0", b"[" + b" " * 3000, "3001 bytes contain too many values to decode: increase"),
    ],
)
def test_what_is_not_json_is_a_reason(topic: str, key: bytes | None, value: bytes, reason: str) -> None:
    record = decode_record(PROTOCOL, topic, key, value, max_decoded=2000)
    assert (record.reason or "").startswith(reason)
    assert record.json_value is None


@given(st.sampled_from([CONFIGS, OFFSETS, STATUS]), st.binary() | st.none(), st.binary() | st.none())
def test_no_bytes_raise(topic: str, key: bytes | None, value: bytes | None) -> None:
    decode_record(PROTOCOL, topic, key, value)
    for start in KEYS[connect_topic(topic)].values():
        begun = None if key is None else start.encode() + key
        assert decode_record(PROTOCOL, topic, begun, value).raw_value == value
        for trace in trace_record(PROTOCOL, topic, begun, value):
            assert trace is None or show(trace)


@pytest.mark.parametrize(("topic", "key", "value", "name"), RECORDS, ids=[name for *_, name in RECORDS])
def test_a_trace_has_a_line_for_each_value(topic: str, key: bytes, value: bytes, name: str) -> None:
    keys, values = trace_record(PROTOCOL, topic, key, value)
    assert keys
    assert values
    assert topic == OFFSETS or [(span.name, span.meaning) for span in keys.spans] == [("key", name)]
    for trace, data in ((keys, key), (values, value)):
        assert (trace.error, trace.end) == (None, len(data))
        ends = [span.end for span in trace.spans]
        assert [span.start for span in trace.spans] == [0, *ends[:-1]]
    printed = show(values) + json.dumps(as_json(values))
    assert "hunter2" not in printed
    assert b"hunter2".hex() not in printed
    values.reveal()
    assert ("hunter2" in show(values)) == (b"hunter2" in value)
    assert name in show(values)


@pytest.mark.parametrize("size", range(len(CONFIG)))
def test_no_cut_shows_a_secret(size: int) -> None:
    """Up to the byte that is missing, and nothing after it."""
    for key in (b"connector-orders", b"session-key", b"unknown", None):
        _, values = trace_record(PROTOCOL, CONFIGS, key, CONFIG[:size])
        assert values
        assert values.error
        assert "hunter" not in show(values) + json.dumps(as_json(values))
        assert b"hunter".hex() not in json.dumps(as_json(values))


def test_values_of_unknown_records_are_hidden() -> None:
    _, values = trace_record(PROTOCOL, CONFIGS, b"plugin-x", b'{"level":"hunter2"}')
    assert values
    assert "hunter2" not in show(values)
    assert values.unknown == "unknown record type in the configs of Kafka Connect"


def test_a_key_that_is_no_text_is_shown() -> None:
    keys, _ = trace_record(PROTOCOL, CONFIGS, b"a\xff", b"{}")
    assert keys
    assert show(keys).endswith("\n        ^^ not UTF-8\n")
    assert " 61 " in show(keys)


def test_a_value_without_a_key_is_of_no_unknown_record() -> None:
    _, values = trace_record(PROTOCOL, OFFSETS, None, b"{}")
    assert values
    assert values.unknown == ""


def test_the_rest_of_a_broken_value_without_secrets_is_shown() -> None:
    _, values = trace_record(PROTOCOL, OFFSETS, b'["a",{}]', b'{"offset": }')
    assert values
    assert values.error
    assert re.search(r"^ +11  7d +\? +1 byte not read$", show(values), re.MULTILINE)


@pytest.mark.slow
def test_a_broken_value_is_noticed_even_if_lines_are_left_out() -> None:
    for end, kind in ((b"1]", ""), (b"?", "?")):
        _, values = trace_record(PROTOCOL, OFFSETS, b'["a",{}]', b"[" + b"1," * 20_000 + end)
        assert values
        assert [span.kind for span in values.spans if span.name == "left out"] == [kind]


@pytest.mark.slow
def test_a_long_value_has_bounded_lines() -> None:
    _, values = trace_record(PROTOCOL, OFFSETS, b'["a",{}]', b"[" + b"1," * 30_000 + b"1]")
    assert values
    assert len(values.spans) == 20_002
    assert "10002 lines left out" in show(values)
    deep = b'{"' + b"n" * 5000 + b'":'
    _, values = trace_record(PROTOCOL, OFFSETS, b'["a",{}]', deep * 60 + b"1" + b"}" * 60)
    assert values
    assert len(values.spans[-1].path) < 64 * 65


def test_records_of_any_topic_hide_configurations() -> None:
    """Nobody knows which topic the bytes of a batch are from."""
    hidden, shown = Record(b"connector-orders", CONFIG), Record(b"connector-orders", b"hunter2")
    assert "hunter2" not in repr(hidden)
    assert "hunter2" in repr(shown)
    data = encode_batch([hidden, Record(b"session-key", KEY), Record(b"status-task-a-0", b"{}")])
    *_, config, session, status = expand_records(data, 0, len(data), "", 0)
    assert (config.secret, session.secret, status.secret) == (True, True, False)
    broken = bytearray(data)
    broken[20] ^= 1
    with pytest.raises(DecodeError) as error:
        next(iter(read_batches(bytes(broken))))
    assert not any(pickle.loads(pickle.dumps(error.value)).data)


def test_the_log_of_a_topic_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "connect-configs-0"
    folder.mkdir()
    records = [Record(key, value, offset=number) for number, (_, key, value, _) in enumerate(RECORDS[:8])]
    (folder / f"{0:020}.log").write_bytes(encode_batch(records))
    found = [row.record for row in internal_records(PROTOCOL, folder)]
    assert [record.name for record in found] == [name for *_, name in RECORDS[:8]]


def test_a_trace_shows_numbers_as_they_are_written() -> None:
    found = trace_json(b'{"lsn": 0.10000000000000000555, "d": -0, "x": 1e400, "n": 5}', "value", None)
    assert [span.text for span in found.spans if span.kind == "number"] == [
        "0.10000000000000000555",
        "-0",
        "1e400",
        "",
    ]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 1 << 40) | st.text('ab "\\ü\n', max_size=4),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["a", "b", "ü c"]), inner, max_size=3),
    max_leaves=8,
)
KINDS = {dict: "object", list: "array", str: "string", int: "number", bool: "bool", type(None): "null"}


def walked(value: Any, names: list[str]) -> Iterator[tuple[str, str, str, Any, int]]:
    """Path, name, kind, value and depth of each value."""
    path = "".join(name if name.startswith("[") or not place else f".{name}" for place, name in enumerate(names))
    inner = isinstance(value, dict | list)
    yield path, names[-1] if names else "value", KINDS[type(value)], ... if inner else value, len(names) + 1
    children = (
        value
        if isinstance(value, dict)
        else {f"[{place}]": child for place, child in enumerate(value if inner else ())}
    )
    for name, child in children.items():
        yield from walked(child, [*names, name])


@given(VALUES, st.sampled_from([None, 1]), st.integers(1, 9), st.booleans())
def test_every_value_of_any_json_has_a_line_in_its_place(
    value: Any, indent: int | None, most: int, hide: bool
) -> None:
    """Of many values the last ones, and one line for those before."""
    data = json.dumps(value, indent=indent, ensure_ascii=False).encode()
    secret = (lambda *_: False) if hide else None
    whole = trace_json(data, "some JSON", secret)
    heading, *spans = whole.spans
    assert (heading.start, heading.end, heading.name, heading.kind, heading.depth) == (0, 0, "some JSON", "JSON", 0)
    assert [(one.path, one.name, one.kind, one.value, one.depth) for one in spans] == list(walked(value, []))
    assert [one.start for one in spans] == [0, *[one.end for one in spans[:-1]]]
    assert (spans[-1].end, whole.error, whole.secret) == (len(data), None, hide)
    for one in spans:
        if one.value is not ...:
            assert json.loads(data[one.content : one.end].rstrip(b"]}\n ")) == one.value
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_spans, "MAX_SPANS", most)
        last = trace_json(data, "some JSON", secret).spans
    before = max(0, len(spans) - most)
    assert last[-min(most, len(spans)) :] == spans[before:]
    lines = [(one.start, one.end, one.name, one.value, one.depth, one.secret, one.text) for one in last[:-most]]
    said = "1 line left out" if before == 1 else f"{before} lines left out"
    gap = [(0, spans[before].start, "left out", before, 0, hide, said)] if before else []
    assert lines == [*gap, (0, 0, "some JSON", ..., 0, False, "")][: len(lines)]
    assert len(last) == min(most, len(spans)) + 1 + bool(before)
