"""Every stage of a small protocol as text: one snapshot for each, read whenever it changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.examples import clock
from kwirec.diagnostics.reading import read_sources
from kwirec.diagnostics.source import Source
from kwirec.dump import dump_layouts, dump_schema, dump_syntax
from kwirec.frontend import Document, parse
from kwirec.ir import Schema, resolve
from kwirec.lowering import lower

CLOCKWORK = Path(__file__).parents[1] / "data" / "clockwork"


@pytest.fixture
def documents(monkeypatch: pytest.MonkeyPatch) -> list[Document]:
    monkeypatch.chdir(CLOCKWORK)
    report = Report()
    documents = [parse(source, report) for source in read_sources([Path()], report)]
    assert report.diagnostics == []
    return documents


@pytest.fixture
def schema(documents: list[Document]) -> Schema:
    report = Report()
    schema = resolve(documents, report)
    assert report.diagnostics == []
    return schema


def test_syntax(documents: list[Document], snapshot: Any) -> None:
    assert dump_syntax(documents) == snapshot


def test_schema(schema: Schema, snapshot: Any) -> None:
    assert dump_schema(schema) == snapshot


def test_layouts(schema: Schema, snapshot: Any) -> None:
    assert dump_layouts(schema, lower(schema)) == snapshot


def test_the_example_protocol_uses_everything(documents: list[Document]) -> None:
    """What is to be tested with this protocol must be in it: every attribute, every type, every kind of message."""
    from kwirec.frontend.syntax import ATTRIBUTES, ErrorDecl
    from kwirec.ir.schema import PRIMITIVES, MessageKind

    text = "".join(document.source.text for document in documents)
    words = set(text.split('"')[1::2])
    assert {name for node, names in ATTRIBUTES.items() if node is not ErrorDecl for name in names} <= words
    assert {word.removeprefix("[]") for word in words} >= set(PRIMITIVES)
    assert {message.type.value for document in documents for message in document.messages} == {
        kind.value for kind in MessageKind
    }


def test_equal_layouts_are_shown_once_with_all_their_versions(schema: Schema) -> None:
    heads = [line for line in dump_layouts(schema, lower(schema)).splitlines() if not line.startswith(" ")]
    assert [head.rpartition(" ")[0] for head in heads if head.startswith("ClockRequest")] == [
        "ClockRequest v0",
        "ClockRequest v1",
        "ClockRequest v2",
        "ClockRequest v3-4",
    ]
    assert "SundialRequest none" in heads


def test_the_first_api_key_is_shown() -> None:
    schema = resolve([parse(Source("Clock.json", clock(type="metadata", apiKey=0)), Report())], Report())
    assert dump_schema(schema).startswith("message Clock  metadata key=0 valid=0-2 ")


def test_what_a_response_takes_from_its_request_is_shown_below_its_name() -> None:
    text = "AskRequest => key 7, max version 1\n  A: int8\n\nAskResponse =>\n  B: int8\n"
    shown = dump_syntax([parse(Source("Ask.krm", text), Report())]).partition("message AskResponse\n")[2]
    assert [line.strip() for line in shown.splitlines()[:3]] == [
        "1:1   flexibleVersions = none",
        "1:15   apiKey = 7",
        "1:22   validVersions = 0-1",
    ]
