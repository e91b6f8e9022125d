"""Enums of generated packages: names for values, and what shows them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clockwork_wire import ClockResponse
from clockwork_wire.arrow import ARROW
from clockwork_wire.enums import Stratum
from clockwork_wire.models import MODELS
from kwire.command import main
from kwire.compression import Codec
from kwire.records.control import TYPES
from kwire.schema import description, enum_class, fields
from kwire_kafka import PROTOCOL, enums
from kwire_kafka.record_types import GroupRecordType, MetadataRecordType, RemoteStorageRecordType
from tests.support.packages import compiled

LEVEL = next(field for field in fields(ClockResponse) if field.name == "level")


def test_members_are_integers_with_descriptions() -> None:
    assert [*Stratum] == [0, 1, 2, 16]
    assert (Stratum.PRIMARY.name, Stratum.PRIMARY.description) == ("PRIMARY", "It follows the sun.")
    assert description(Stratum) == "How far a clock is from the one that all others follow."
    assert ClockResponse(level=Stratum.PRIMARY) == ClockResponse(level=1)


def test_values_without_a_name_are_kept() -> None:
    assert (Stratum(7), Stratum(7).name, Stratum(7).description, Stratum.name_of(7)) == (7, "UNKNOWN_7", "", "")
    assert Stratum.name_of(0) == "UNKNOWN"
    assert ClockResponse.decode(ClockResponse(level=7).encode(4), 4).level == 7
    with pytest.raises(ValueError, match="200 is not a valid Stratum"):
        Stratum(200)


def test_a_field_leads_to_its_enum() -> None:
    assert enum_class(ClockResponse, LEVEL) is Stratum
    assert [enum_class(ClockResponse, field) for field in fields(ClockResponse) if not field.enum][:1] == [None]


def test_a_message_may_be_called_enums(packages: Path, tmp_path: Path) -> None:
    """Its module is then called as that of the enums."""
    values = '"values": [{"name": "NEW", "value": 1}]'
    (tmp_path / "Phase.json").write_text(f'{{"type": "enum", "name": "Phase", "valueType": "int8", {values}}}')
    field = '{"name": "Phase", "type": "int8", "versions": "0+", "enum": "Phase"}'
    for kind, fields_given in (("Request", ""), ("Response", field)):
        text = f'{{"apiKey": 3, "type": "{kind.lower()}", "name": "Enums{kind}", "validVersions": "0", '
        text += f'"flexibleVersions": "none", "fields": [{fields_given}]}}'
        (tmp_path / f"Enums{kind}.json").write_text(text)
    package = compiled(tmp_path, "called_enums", packages)
    (phase,) = fields(package.EnumsResponse)
    assert enum_class(package.EnumsResponse, phase) is package.enums.Phase


@pytest.mark.parametrize(("level", "note"), [(2, "2  SECONDARY"), (7, "7")])
def test_decode_shows_the_name_beside_the_value(level: int, note: str, capsys: pytest.CaptureFixture[str]) -> None:
    data = ClockResponse(level=level, ticks=[1]).encode(4).hex()
    command = ["decode", "--protocol", "clockwork_wire", "--message", "ClockResponse", "--version", "4", data]
    assert main(command) == 0
    [line] = [line for line in capsys.readouterr().out.splitlines() if "level" in line]
    assert line.partition("int8")[2].strip() == note
    assert main([*command, "--format", "json"]) == 0
    [span] = [span for span in json.loads(capsys.readouterr().out)["spans"] if span["name"] == "level"]
    assert (span["value"], span["note"]) == (level, note[3:])


def test_describe_lists_the_values(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", "ClockResponse", "--protocol", "clockwork_wire"]) == 0
    told = capsys.readouterr().out
    assert "level: int8 (Stratum), versions 2+" in told
    assert "1 PRIMARY: It follows the sun.\n" in told


def test_schemas_have_the_names_and_allow_other_values() -> None:
    names = {"name": "Stratum", "values": {"UNKNOWN": 0, "PRIMARY": 1, "SECONDARY": 2, "UNSYNCHRONIZED": 16}}
    place = MODELS["ClockResponse"].for_version(4).model_json_schema()["properties"]["level"]
    assert (place["x-enum"], place["maximum"], "enum" in place) == (names, 127, False)
    assert json.loads(ARROW["ClockResponse"].schema.field("level").metadata[b"enum"]) == names


def test_record_types_are_those_of_the_logs() -> None:
    logs = {"group": GroupRecordType, "metadata": MetadataRecordType, "remote_storage": RemoteStorageRecordType}
    for log, types in logs.items():
        assert tuple(types) == PROTOCOL.record_types(log)
    assert (GroupRecordType.OFFSET_COMMIT, MetadataRecordType.TOPIC_RECORD) == (1, 2)


def test_headers_are_those_of_the_definition(packages: Path, tmp_path: Path) -> None:
    """Also where they go back, which a comparison of the version alone could not tell."""
    half = '"apiKey": 3, "validVersions": "0-3", "flexibleVersions": "1+", "fields": []'
    for kind, headers in (("Request", '{"0": "1", "1": "2", "2-3": "0"}'), ("Response", '{"0-1": "0", "2+": "1"}')):
        text = f'{{ "type": "{kind.lower()}", "name": "Tick{kind}", "headerVersions": {headers}, {half} }}'
        (tmp_path / f"Tick{kind}.json").write_text(text)
    package = compiled(tmp_path, "headers_given", packages)
    assert [package.TickRequest.header_version(version) for version in range(4)] == [1, 2, 0, 0]
    assert [package.TickResponse.header_version(version) for version in range(4)] == [0, 0, 1, 1]


def test_control_records_and_codecs_have_the_numbers_of_the_definitions() -> None:
    """The runtime knows both without the definitions, which are compared with Kafka's own classes."""
    controls = {number: name.upper() for number, (name, _) in enumerate(TYPES)}
    named = {one.value: one.name for one in enums.ControlRecordType}
    assert controls | {-1: "UNKNOWN", 6: "KRAFT_VOTERS"} == named
    assert {one.value: one.name for one in Codec} == {one.value: one.name for one in enums.CompressionType}
