"""The templates and the program in docs/outputs.md and examples/outputs, as a reader would copy them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from syrupy.assertion import SnapshotAssertion

from kwire.struct import Struct
from kwire.uuids import Uuid
from kwirec import Report, emit, load
from kwirec.command import main
from tests.outputs.conftest import CLOCKWORK, write
from tests.properties.values import Extreme, make, message_class

ROOT = Path(__file__).parents[2]
KAFKA = ROOT / "message_defs" / "kafka"
PAGE = (ROOT / "docs" / "outputs.md").read_text()
EXAMPLES = ROOT / "examples" / "outputs"
FILES = dict(re.findall(r"`(table/[\w.]+)`[^`]*?:\n\n```\w+\n(.*?)```", PAGE, re.DOTALL)) | {
    path.relative_to(EXAMPLES).as_posix(): path.read_text() for path in sorted(EXAMPLES.glob("*/*"))
}


def rendered(name: str, tmp_path: Path, definitions: Path = CLOCKWORK, **options: Any) -> dict[str, str]:
    """Return the files that the templates of a folder make."""
    write(tmp_path / name, {path.partition("/")[2]: text for path, text in FILES.items() if path.startswith(name)})
    report = Report()
    emit(load([definitions], report), [definitions], tmp_path / name, out=tmp_path / "out", report=report, **options)
    assert [one.message for one in report.diagnostics] == []
    return {path.name: path.read_text() for path in (tmp_path / "out").iterdir() if path.name != "manifest.json"}


def test_the_page_has_the_table_and_the_beginning_of_go() -> None:
    assert "table/apis.md.jinja" in FILES
    (shown,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert set(shown.split("\n\n")) - set(FILES["go/emit.toml"].split("\n\n")) == set()


@pytest.mark.slow
def test_the_table(tmp_path: Path) -> None:
    assert rendered("table", tmp_path) == {
        "apis.md": "| key | API | versions | flexible |\n| -- | -- | -- | -- |\n| 900 | Clock | 0-4 | 2-4 |\n"
    }


@pytest.mark.slow
def test_the_structs_in_go(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    assert rendered("go", tmp_path)["clock_request.go"] == snapshot


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("go"), reason="needs Go")
@pytest.mark.parametrize(
    "definitions", [CLOCKWORK, pytest.param(KAFKA, marks=pytest.mark.long)], ids=["small", "kafka"]
)
def test_go_accepts_the_structs(tmp_path: Path, definitions: Path) -> None:
    assert rendered("go", tmp_path, definitions, formatters={".go": ["gofmt"]})
    (tmp_path / "go.mod").write_text("module example.org/kafka\n\ngo 1.20\n")
    done = subprocess.run(["go", "vet", "./out"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize(
    "definitions", [CLOCKWORK, pytest.param(KAFKA, marks=pytest.mark.long)], ids=["small", "kafka"]
)
def test_the_avro_schemas(tmp_path: Path, definitions: Path, snapshot: SnapshotAssertion) -> None:
    """Names of records are unique in a schema, and nothing else is in one of them."""
    files = rendered("avro", tmp_path, definitions)
    for text in files.values():
        names = [one["name"] for one in records(json.loads(text))]
        assert len(names) == len(set(names))
    if definitions == CLOCKWORK:
        assert json.loads(files["clock_request-3.avsc"]) == snapshot


def records(schema: Any) -> Iterator[dict[str, Any]]:
    match schema:
        case str():
            assert schema in ("null", "boolean", "int", "long", "double", "string", "bytes")
        case ["null", inner]:
            yield from records(inner)
        case {"type": "array", "items": inner}:
            yield from records(inner)
        case {"type": "record", "name": str(), "fields": list(fields)}:
            yield schema
            for field in fields:
                yield from records(field["type"])
        case _:
            raise AssertionError(schema)


READ = (
    *(("FetchRequest", 12), ("FetchRequest", 18), ("FetchResponse", 17), ("MetadataResponse", 13)),
    *(("JoinGroupRequest", 4), ("ConsumerGroupHeartbeatRequest", 1), ("AlterConfigsRequest", 0)),
    *(("UpdateMetadataRequest", 5), ("StreamsGroupHeartbeatResponse", 0)),
)
"""Messages that have every kind of field between them."""


@pytest.fixture(scope="module")
def dumped() -> str:
    result = CliRunner().invoke(main, ["dump", "--format", "json", str(KAFKA)])
    assert result.exit_code == 0
    return result.stdout


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("node"), reason="needs Node.js")
@pytest.mark.parametrize(
    ("name", "version"),
    READ,
)
def test_the_reader_in_javascript(tmp_path: Path, dumped: str, name: str, version: int) -> None:
    """It reads the bytes of all kinds of fields as kwire wrote them."""
    cls = message_class(name)
    message = make(cls, version, Extreme("min"))
    (tmp_path / "protocol.json").write_text(dumped)
    data = message.encode(version).hex()
    command = ["node", str(EXAMPLES / "reader.mjs"), "protocol.json", name, str(version), data]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == plain(message, version)


def plain(value: Any, version: int, kind: str = "") -> Any:
    match value:
        case Struct():
            return {
                field.defined_name: plain(getattr(value, field.name), version, field.type)
                for field in value.FIELDS
                if version in field.versions
            }
        case list():
            return [plain(item, version, kind) for item in value]
        case Uuid() | bytes():
            return bytes(value).hex()
        case int() if kind.endswith("int64"):
            return str(value)
    return value
