"""Models written out by ``kwirec emit pydantic`` accept, refuse and write what those made at run time do."""

from __future__ import annotations

import importlib.util
import json
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest
from pydantic import ValidationError

import clockwork_wire
from clockwork_wire.models import MODELS as CLOCK_MODELS
from kwire.errors import UnknownVersionError
from kwire.message import Message
from kwire.models import WITH_RECORDS, ModelOf, Models
from kwire_kafka import FetchRequest
from kwire_kafka.models import MODELS
from kwirec import Report, emit, load
from kwirec.naming import snake_case
from kwirec.outputs import Limits
from tests.models.support import Model, mutated
from tests.properties.values import FIXED, NAMES, RandomSource, make, message_class

ROOT = Path(__file__).parents[2]
UNION = ROOT / "message_defs" / "kafka"
SOME = "Fetch*:4,Fetch*:newest,Produce*:newest,ApiVersions*:3,OffsetCommit*:1,*Header:newest,Share*:newest,Vote*:2"
CLOCKWORK = ROOT / "tests" / "data" / "clockwork"
CLOCKS = "ClockHeader:0,ClockRequest:1-2,ClockResponse:1,ClockResponse:3,Escapement:4-5,Gear:0,Pendulum*,Winding*"


def emitted(
    out: Path, only: str, definitions: Path = UNION, **parameters: object
) -> Iterator[tuple[str, ModuleType]]:
    """The modules that the templates make, by the name of the message."""
    report = Report()
    loaded = load([definitions], report)
    options: dict[str, Any] = {"formatters": {".py": ["cat"]}, "limits": Limits(seconds=600)}
    assert emit(
        loaded, [definitions], "pydantic", out=out, only=only, report=report, parameters=parameters, **options
    )
    for message in loaded.schema.messages:
        if (path := out / f"{snake_case(message.name)}.py").is_file():
            yield message.name, imported(path)


def imported(path: Path) -> ModuleType:
    name = f"emitted_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def outcome(model: Model, value: Any, *, text: bool) -> Any:
    """What a model makes of a value: what it writes, or the problems that it finds."""
    try:
        found = model.model_validate_json(json.dumps(value)) if text else model.model_validate(value)
    except ValidationError as problem:
        return problem.errors(include_url=False, include_context=False)
    return found.model_dump(), found.model_dump_json(), found.model_dump_json(context=WITH_RECORDS), repr(found)


def schema_of(model: Model) -> str:
    """The JSON Schema of a model, without spaces after descriptions, which depend on the layout of docstrings."""
    return json.dumps(model.model_json_schema()).replace('\\n    "', '"')


def assert_same(cls: type[Message], module: ModuleType, chosen: Random, models: Models = MODELS) -> int:
    """Compare each version of a message that a module has."""
    name = cls.__name__
    versions = [version for version in cls.VALID_VERSIONS if hasattr(module, f"{cls.__name__}V{version}")]
    for version in versions:
        model: Model = getattr(module, f"{cls.__name__}V{version}")
        twin: Model = models[name].for_version(version)
        assert schema_of(model) == schema_of(twin), (name, version)
        messages = [make(cls, version, FIXED[case]) for case in ("max", "null", "unknown tags")]
        messages += [make(cls, version, RandomSource(chosen)) for _ in range(3)]
        for message in messages:
            mine, theirs = model.from_codec(message), twin.from_codec(message)
            assert mine.to_codec() == theirs.to_codec()
            assert mine.unknown_tags == theirs.unknown_tags
            value = json.loads(theirs.model_dump_json(context=WITH_RECORDS))
            for _ in range(6):
                for text in (False, True):
                    assert outcome(model, value, text=text) == outcome(twin, value, text=text), (name, version, value)
                value = mutated(value, chosen)
    return len(versions)


@pytest.mark.slow
def test_models_with_every_feature_agree_with_those_made_at_run_time(tmp_path: Path) -> None:
    found = {
        name: assert_same(clockwork_wire.PROTOCOL[name], module, Random(name), CLOCK_MODELS)
        for name, module in emitted(tmp_path, CLOCKS, CLOCKWORK, package="clockwork_wire")
    }
    assert found.keys() == {name for name in clockwork_wire.MODULES if clockwork_wire.PROTOCOL[name].VALID_VERSIONS}
    assert (found["ClockRequest"], found["ClockResponse"], found["Gear"]) == (2, 2, 1)


@pytest.mark.long
def test_some_models_agree_with_those_made_at_run_time(tmp_path: Path) -> None:
    found = {name: assert_same(message_class(name), module, Random(7)) for name, module in emitted(tmp_path, SOME)}
    assert found["FetchRequest"] == 2
    assert len(found) > 25


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(1200)
def test_all_models_agree_with_those_made_at_run_time(tmp_path: Path) -> None:
    found = {name: assert_same(message_class(name), module, Random(name)) for name, module in emitted(tmp_path, "")}
    assert {name: len(message_class(name).VALID_VERSIONS) for name in NAMES} == found


@pytest.mark.slow
def test_a_model_is_of_one_version_and_can_be_pickled(tmp_path: Path) -> None:
    module = dict(emitted(tmp_path, "FetchRequest:13"))["FetchRequest"]
    model: type[ModelOf[FetchRequest]] = module.FetchRequestV13
    assert model.for_version(13) is model
    with pytest.raises(UnknownVersionError, match="unknown version 12 of FetchRequestV13"):
        model.for_version(12)
    message = FetchRequest()
    fetch = model.from_codec(message)
    assert pickle.loads(pickle.dumps(fetch)) == fetch
    assert type(fetch).VERSION == 13
    derived: Any = type("Mine", (model,), {"__module__": __name__})
    assert derived.from_codec(message).to_codec() == message


@pytest.mark.long
def test_models_pass_type_checkers(tmp_path: Path) -> None:
    """In strict mode, also where an application uses one as an annotation."""
    report = Report()
    out = tmp_path / "models"
    assert emit(load([UNION], report), [UNION], "pydantic", out=out, only="Fetch*:13,CreateTopics*:5", report=report)
    (tmp_path / "app.py").write_text(
        "from models.fetch_request import FetchRequestV13\n\n"
        "def wait(body: FetchRequestV13) -> int:\n"
        "    return body.max_wait_ms + len(body.topics[0].partitions) + body.to_codec().min_bytes\n"
    )
    mypy = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "app.py", "models"]
    path = ":".join(str(ROOT / folder) for folder in ("runtime", "generated"))
    done = subprocess.run(mypy, cwd=tmp_path, env={"MYPYPATH": path}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    (tmp_path / "pyrightconfig.json").write_text(
        json.dumps({"typeCheckingMode": "strict", "extraPaths": path.split(":"), "include": ["app.py", "models"]})
    )
    pyright = [str(Path(sys.executable).with_name("basedpyright")), "--pythonpath", sys.executable]
    done = subprocess.run(pyright, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
