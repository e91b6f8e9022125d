"""Models of other protocols than Kafka's: a small one with every feature, and one whose names pydantic needs."""

from __future__ import annotations

import ast
import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import clockwork_wire
from clockwork_wire import models
from kwire.models import WITH_RECORDS
from kwirec import emit
from kwirec.diagnostics.diagnostic import Report
from kwirec.driver import load
from kwirec.emitters.models import emit_models
from kwirec.emitters.modules import group_modules
from kwirec.emitters.package import emit_package
from kwirec.emitters.write import format_text
from tests.properties.values import FIXED, make
from tests.support.packages import compiled

CLOCKWORK = Path(__file__).parent.parent / "data" / "clockwork"

NAMES = (
    "Copy",
    "Json",
    "Schema",
    "Validate",
    "ModelConfig",
    "ModelFields",
    "ForVersion",
    "ToCodec",
    "Codec",
    "Struct",
)
"""Fields that would hide what models need themselves."""


def test_emission_is_the_same_each_time_and_only_formatted_by_black() -> None:
    paths = sorted(CLOCKWORK.rglob("*.json"))
    forwards, backwards = (group_modules(load(order, Report()).schema) for order in (paths, paths[::-1]))
    artifacts, again = (
        [*(emit_models(group, package="p") for group in groups), *emit_package(groups, name="p", errors=[])]
        for groups in (forwards, backwards)
    )
    assert artifacts == again
    for artifact in artifacts:
        assert ast.dump(ast.parse(artifact.text)) == ast.dump(ast.parse(format_text(artifact)))


@pytest.mark.slow
def test_a_protocol_with_every_feature() -> None:
    judged = 0
    for name in clockwork_wire.MODULES:
        cls = getattr(clockwork_wire, name)
        for version in cls.VALID_VERSIONS:
            model = getattr(models, f"{name}Model").for_version(version)
            judge = Draft202012Validator(model.model_json_schema())
            for source in FIXED.values():
                message = cls.decode(make(cls, version, source).encode(version), version)
                value = model.from_codec(message)
                assert value.to_codec() == message
                text = value.model_dump_json(context=WITH_RECORDS)
                assert judge.is_valid(json.loads(text))
                assert model.model_validate_json(text).model_dump_json(context=WITH_RECORDS) == text
                judged += 1
    assert judged > 50


def test_names_that_models_need_themselves(packages: Path, tmp_path: Path) -> None:
    fields: list[dict[str, Any]] = [
        {"name": name, "type": "int8", "versions": "0+", "about": "One."} for name in NAMES
    ]
    inner = {"name": "Inner", "type": "ModelOf", "versions": "0+", "about": "One.", "fields": fields}
    nested = {"name": "Nested", "type": "[]Versioned", "versions": "0+", "about": "One.", "fields": [inner]}
    definition = {"type": "data", "name": "Base", "validVersions": "0", "flexibleVersions": "0+", "about": "All."}
    (tmp_path / "Base.json").write_text(json.dumps(definition | {"fields": [*fields, nested]}))
    package: Any = compiled(tmp_path, "names_models", packages)
    model = importlib.import_module("names_models.models").BaseModel.for_version(0)
    message = make(package.Base, 0, FIXED["max"])
    value = model.from_codec(message)
    assert value.to_codec() == message
    assert model.model_validate_json(value.model_dump_json()) == value
    assert (value.copy_, value.model_config_, value.nested[0].inner.json_, value.codec) == (127, 127, 127, 127)
    assert json.loads(value.model_dump_json())["modelConfig"] == 127
    assert model(**{name: getattr(value, name) for name in model.model_fields}) == value


@pytest.mark.slow
def test_a_field_is_demanded_until_it_is_tagged(packages: Path, tmp_path: Path) -> None:
    late = {"name": "Late", "type": "int8", "versions": "0+", "tag": 0, "taggedVersions": "1+", "about": "One."}
    definition = {"type": "data", "name": "Turned", "validVersions": "0-1", "flexibleVersions": "0+", "about": "All."}
    (tmp_path / "Turned.json").write_text(json.dumps(definition | {"fields": [late]}))
    compiled(tmp_path, "turned_models", packages)
    model = importlib.import_module("turned_models.models").TurnedModel
    options: dict[str, Any] = {"parameters": {"package": "turned_models"}, "formatters": {".py": ["cat"]}}
    assert emit(
        load([tmp_path], Report()), [tmp_path], "pydantic", out=packages / "turned", report=Report(), **options
    )
    importlib.invalidate_caches()
    written = importlib.import_module("turned.turned")
    for before, after in ((model.for_version(0), model.for_version(1)), (written.TurnedV0, written.TurnedV1)):
        assert (before.model_json_schema()["required"], after.model_json_schema().get("required")) == (["late"], None)
        assert before.model_validate({"late": 0}).model_dump(mode="json") == {"late": 0}
        assert after.model_validate({}).model_dump(mode="json") == {}
        with pytest.raises(ValueError, match=r"late\n +Field required"):
            before.model_validate({})
