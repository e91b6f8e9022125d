"""Descriptions at run time: ``kwire describe``, ``help()`` and ``kwire.schema``."""

from __future__ import annotations

import io
import json
import pydoc
import subprocess
import sys
import zipfile
from importlib import import_module
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

import kwire_kafka
from kwire.command import main
from kwire.schema import description, fields, valid_version, walk
from kwire_kafka import PROTOCOL, DeleteTopicsResponse, FetchRequest
from kwire_kafka.api.fetch import FetchTopic

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "arguments",
    [
        ("MetadataRequest",),
        ("FetchRequest", "--version", "13"),
        ("FetchRequest.topics.partitions",),
        ("ListClientMetricsResourcesRequest",),
        ("OffsetCommitValue", "--format", "json"),
        ("MetadataRequest", "--version", "9", "--format", "json"),
    ],
    ids=" ".join,
)
def test_describe(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    assert main(["describe", *arguments]) == 0
    assert capsys.readouterr().out == snapshot


def test_texts_are_printed_in_their_own_letters(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kwire.command.describe.description", lambda *_: "größer")
    monkeypatch.setattr("kwire.command.describe.plain", lambda _: "kürzer")
    for format in ("text", "json"):
        assert main(["describe", "HeartbeatRequest", "--format", format]) == 0
        shown = capsys.readouterr().out
        assert "größer" in shown
        assert "kürzer" in shown


def test_json_has_all_fields(capsys: pytest.CaptureFixture[str]) -> None:
    main(["describe", "FetchRequest", "--format", "json", "--version", "0"])
    paths = [field["path"] for field in json.loads(capsys.readouterr().out)["fields"]]
    assert paths == [
        path for path, _, field in walk(FetchRequest) if 0 in field.versions and path != "topics.topic_id"
    ]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("UpdateFeaturesResponse", ["results.error_message", "0-1", "0-1", None, ""]),
        ("UpdateRaftVoterResponse", ["current_leader", "0+", None, "0+", {}]),
    ],
)
def test_versions_and_defaults_in_json(
    message: str, expected: list[object], capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a field that ends before the message does, and of a struct."""
    main(["describe", message, "--format", "json"])
    keys = ("path", "versions", "nullable", "tagged", "default")
    rows = [[field[key] for key in keys] for field in json.loads(capsys.readouterr().out)["fields"]]
    assert [row for row in rows if row[0] == expected[0]] == [expected]


def test_help_shows_every_field() -> None:
    out = io.StringIO()
    pydoc.Helper(output=out).help(FetchTopic)
    text = pydoc.plain(out.getvalue())
    for field in fields(FetchTopic):
        assert f"{field.name} ({field.type}, versions {field.versions.start}-{field.versions.stop - 1})" in text
        assert description(FetchTopic, field.name)[:40] in text


def test_one_version_is_written_as_one() -> None:
    """In ``help()``, where a field is in a single version."""
    assert "zk_migration_ready (bool, versions 3-" in (kwire_kafka.ApiVersionsResponse.__doc__ or "")
    single = [
        (cls, field)
        for cls in map(PROTOCOL.__getitem__, PROTOCOL)
        for field in cls.FIELDS
        if len(field.versions) == 1
    ]
    assert single
    for cls, field in single:
        assert f"{field.name} ({field.type}, version {field.versions.start})" in " ".join((cls.__doc__ or "").split())


def test_a_field_is_printed_without_what_is_usual() -> None:
    field = fields(FetchTopic)[0]
    assert repr(field).startswith("Field('topic', 'Topic', 'string', range(")
    assert "tag=" not in repr(field)
    assert "nullable=" not in repr(field)


@pytest.mark.parametrize("version", [3.0, 3.7, "3", None])
def test_a_version_is_a_whole_number(version: object) -> None:
    with pytest.raises(TypeError):
        valid_version(FetchRequest, version)  # type: ignore[arg-type]


def test_every_field_has_a_description() -> None:
    for name in PROTOCOL:
        for path, owner, field in walk(PROTOCOL[name]):
            assert description(owner, field.name), f"{name}.{path}"


def test_each_name_of_a_field_in_json_is_one() -> None:
    """Also where a former name differs from the current one in the case of its first letter alone."""
    for name in PROTOCOL:
        for _, _, field in walk(PROTOCOL[name]):
            assert len(set(field.json_names)) == len(field.json_names)
    (throttled,) = [field for field in fields(DeleteTopicsResponse) if field.name == "throttle_time_ms"]
    assert (throttled.former_names, throttled.json_names) == (("throttleTimeMs",), ("throttleTimeMs",))


def test_fields_of_a_version() -> None:
    assert [field.name for field in fields(FetchTopic, 0)] == ["topic", "partitions"]
    assert [field.name for field in fields(FetchTopic, 12)] == ["topic", "partitions"]
    assert [field.name for field in fields(FetchTopic, 13)] == ["topic_id", "partitions"]


def test_descriptions_are_read_from_a_zip_file(tmp_path: Path) -> None:
    package = Path(kwire_kafka.__file__).parent
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for path in ("__init__.py", "index.py", "descriptions.json", "api/__init__.py", "api/fetch.py"):
            archive.write(package / path, f"kwire_kafka/{path}")
    code = "from kwire_kafka.api import fetch; print(fetch.__file__); print(fetch.FetchTopic.__doc__)"
    folders = [str(tmp_path / "all.zip"), str(ROOT / "runtime"), *sys.path]
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:] = {folders!r}; {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "all.zip" in done.stdout
    assert "Read position and limits for each partition." in done.stdout


def test_structs_are_imported_from_the_module_that_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", "ProduceRequest"]) == 0
    assert (
        "\n  The class is in kwire_kafka.api.produce, with the classes of its structs.\n" in capsys.readouterr().out
    )
    assert vars(import_module("kwire_kafka.api.produce"))["TopicProduceData"]
    assert main(["describe", "ProduceRequest.topic_data", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["module"] == "kwire_kafka.api.produce"
