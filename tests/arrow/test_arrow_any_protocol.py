"""Columns of other protocols than Kafka's: a small one with every feature, and one whose names are in the way."""

from __future__ import annotations

import ast
import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kwire.arrow import Arrow
from kwirec.diagnostics.diagnostic import Report
from kwirec.driver import load
from kwirec.emitters.arrow import emit_arrow
from kwirec.emitters.codecs import emit_module
from kwirec.emitters.modules import group_modules
from kwirec.emitters.package import emit_package
from kwirec.emitters.write import format_text
from tests.properties.values import FIXED, as_decoded, exact, make

CLOCKWORK = Path(__file__).parent.parent / "data" / "clockwork"


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    out = tmp_path_factory.mktemp("packages")
    sys.path.insert(0, str(out))
    yield out
    sys.path.remove(str(out))


def compiled(definitions: Path, package: str, out: Path) -> tuple[ModuleType, Arrow]:
    """The package as it is emitted, and its columns."""
    report = Report()
    groups = group_modules(load([definitions], report).schema)
    assert not report.has_errors(), [diagnostic.message for diagnostic in report.diagnostics]
    artifacts = [emit_module(group) for group in groups]
    artifacts += emit_package(groups, name=package, errors=[]) + emit_arrow(groups, package=package)
    for artifact in artifacts:
        path = out / package / artifact.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(artifact.text, encoding="utf-8")
    importlib.invalidate_caches()
    found: Arrow = importlib.import_module(f"{package}.arrow").ARROW
    return importlib.import_module(package), found


def test_emission_is_the_same_each_time_and_only_formatted_by_black() -> None:
    paths = sorted(CLOCKWORK.rglob("*.json"))
    forwards, backwards = (group_modules(load(order, Report()).schema) for order in (paths, paths[::-1]))
    artifacts = emit_arrow(forwards, package="p")
    assert artifacts == emit_arrow(backwards, package="p")
    for artifact in artifacts:
        assert ast.dump(ast.parse(artifact.text)) == ast.dump(ast.parse(format_text(artifact)))


def test_a_protocol_with_every_feature(packages: Path) -> None:
    package, arrow = compiled(CLOCKWORK, "clockwork_arrow", packages)
    judged = 0
    for name in package.MODULES:
        columns = arrow[name]
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
    package, arrow = compiled(tmp_path, "names_arrow", packages)
    for name in messages_of:
        messages = [make(getattr(package, name), 1, FIXED[source]) for source in ("max", "null", "zero")]
        array = arrow[name].array([*messages, None], 1)
        array.validate(full=True)
        assert arrow[name].messages(array, 1) == [*messages, None]
    metadata = arrow["Names"].schema.field("items").metadata
    assert metadata == {b"comment": b'One: of "these".'}
