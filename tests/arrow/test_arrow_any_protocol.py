"""Columns of other protocols than Kafka's: a small one with every feature, and one whose names are in the way."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import clockwork_wire
from clockwork_wire.arrow import ARROW
from kwire.arrow import Arrow
from tests.properties.values import FIXED, as_decoded, exact, make
from tests.support.packages import compiled


def test_a_protocol_with_every_feature() -> None:
    judged = 0
    for name in clockwork_wire.MODULES:
        columns = ARROW[name]
        pairs = [(version, source) for version in columns.message.VALID_VERSIONS for source in FIXED.values()]
        messages: list[Any] = [make(columns.message, *pair) for pair in pairs]
        versions = [version for version, _ in pairs]
        back = columns.messages(columns.array(messages, versions), versions)
        for version, sent, came in zip(versions, messages, back, strict=True):
            assert exact(came) == exact(as_decoded(sent, version)), f"{name} v{version}"
            judged += 1
    assert judged > 50


def field(name: str, type: str = "int8", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": type, "versions": "0+", "about": 'One: of "these".'} | more


def test_names_and_shapes_that_are_in_the_way(packages: Path, tmp_path: Path) -> None:
    """Attributes that Python and Arrow use themselves, arrays of uuids, and a message without fields."""
    fields = [field("Items"), field("Type"), field("Class"), field("Field"), field("Element"), field("Uuid", "uuid")]
    nested = field("Nested", "[]Columns", fields=[field("Tags", "[]string"), field("Ids", "[]uuid")])
    late = {"versions": "1+", "nullableVersions": "1+", "default": "null", "fields": [field("X", versions="1")]}
    messages_of = {"Names": [*fields, nested, field("Late", "Rest", **late)], "Bare": []}
    common = {"type": "data", "validVersions": "0-1", "flexibleVersions": "none", "about": "All."}
    for name, inside in messages_of.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(common | {"name": name, "fields": inside}))
    package = compiled(tmp_path, "names_arrow", packages)
    arrow: Arrow = importlib.import_module("names_arrow.arrow").ARROW
    for name in messages_of:
        messages = [make(getattr(package, name), 1, FIXED[source]) for source in ("max", "null", "zero")]
        array = arrow[name].array([*messages, None], 1)
        array.validate(full=True)
        assert arrow[name].messages(array, 1) == [*messages, None]
    metadata = arrow["Names"].schema.field("items").metadata
    assert metadata == {b"comment": b'One: of "these".'}
