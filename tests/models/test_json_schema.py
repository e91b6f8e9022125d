"""JSON Schema of every message and version: what it accepts and what it rejects is what the model does.

The judge is the jsonschema library. What a schema cannot say is tested here too: strings are limited in bytes.
"""

from __future__ import annotations

import json
import random
from functools import cache
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, ValidationError, model_validator

from kwire.models import WITH_RECORDS
from kwire_kafka import PROTOCOL
from kwire_kafka.models import FetchResponseModel, ProduceRequestModel
from tests.models.support import Model, changed, model_of, mutated
from tests.properties.values import FIXED, RandomSource, each_message, make, pairs

CHANGES = 8
"""How many changes of each message and version are judged, at random."""


@cache
def judge(model: Model) -> Draft202012Validator:
    return Draft202012Validator(model.model_json_schema())


def accepts(model: Model, value: Any) -> bool:
    """Whether the model takes a value, from JSON and from Python alike."""
    try:
        model.model_validate_json(json.dumps(value))
        taken = True
    except ValidationError:
        taken = False
    try:
        model.model_validate(value)
    except ValidationError:
        assert not taken
    else:
        assert taken
    return taken


@pytest.mark.slow
@each_message
@pytest.mark.long
def test_schema_and_model_agree(name: str) -> None:
    chosen = random.Random(name)
    for cls, version in pairs([name]):
        model = model_of(cls, version)
        for source in (FIXED["null"], RandomSource(chosen)):
            value = model.from_codec(make(cls, version, source)).model_dump(mode="json")
            assert judge(model).is_valid(value)
            assert accepts(model, value)
        for _ in range(CHANGES):
            other = mutated(value, chosen)
            assert judge(model).is_valid(other) == accepts(model, other), other


@pytest.mark.slow
def test_changes_are_of_both_kinds() -> None:
    """Else the test above would say nothing."""
    model = model_of(PROTOCOL["FetchRequest"], 17)
    value = model.from_codec(make(PROTOCOL["FetchRequest"], 17, FIXED["max"])).model_dump(mode="json")
    verdicts = [judge(model).is_valid(other) for other in changed(value)]
    assert verdicts.count(True) > 30
    assert verdicts.count(False) > 100
    assert [accepts(model, other) for other in changed(value)] == verdicts


@pytest.mark.slow
def test_schemas_are_schemas() -> None:
    for name in ("ProduceRequest", "AlterClientQuotasRequest", "VoteRequest"):
        for cls, version in pairs([name]):
            Draft202012Validator.check_schema(model_of(cls, version).model_json_schema())


def test_names_of_all_releases_but_one_at_a_time() -> None:
    model = ProduceRequestModel.for_version(9)
    partition = {"index": 3, "recordsSizeInBytes": 7}
    value = {"transactionalId": None, "acks": 1, "timeoutMs": 1}
    topic = {"name": "a", "partitionData": [partition]}
    old = {"name": "a", "partitions": [{"partitionIndex": 3, "records": None}]}
    rights: list[dict[str, Any]] = [{"topicData": [topic]}, {"topics": [old]}, {"topicData": [old]}, {"topics": []}]
    for right in rights:
        assert judge(model).is_valid(value | right)
        assert accepts(model, value | right)
    both = {"index": 3, "partitionIndex": 3, "records": None}
    none = {"records": None}
    more = {"index": 3, "records": None, "recordsSizeInBytes": 4}
    neither = {"index": 3}
    for wrong in (both, none, more, neither):
        json = value | {"topicData": [{"name": "a", "partitionData": [wrong]}]}
        assert not judge(model).is_valid(json)
        assert not accepts(model, json)


def test_the_default_of_a_tagged_uuid_is_text() -> None:
    parts = model_of(PROTOCOL["FetchRequest"], 17).model_json_schema()["$defs"]
    place = parts["FetchPartitionV17"]["properties"]["replicaDirectoryId"]
    assert place["default"] == "AAAAAAAAAAAAAAAAAAAAAA"
    assert "default" not in parts["FetchTopicV17"]["properties"]["topicId"]


def test_a_tagged_field_may_be_absent_or_have_one_of_its_names() -> None:
    cls = PROTOCOL["PartitionRecord"]
    model = model_of(cls, 2)
    value = model.from_codec(make(cls, 2, FIXED["zero"])).model_dump(mode="json")
    assert "lastKnownElr" not in value
    one, other = {"lastKnownElr": [1]}, {"lastKnownELR": [1]}
    for more, right in (({}, True), (one, True), (other, True), (one | other, False)):
        assert (judge(model).is_valid(value | more), accepts(model, value | more)) == (right, right), more


def test_fields_without_a_tag_have_no_default() -> None:
    """Readers of the schema would fill in what the model refuses."""
    for name in ("FetchResponse", "ProduceRequest"):
        parts = model_of(PROTOCOL[name], 12).model_json_schema()["$defs"].values()
        places = {key: place for part in parts for key, place in part["properties"].items()}
        assert "default" not in places["records"].keys() | places["recordsSizeInBytes"].keys()


def test_records_are_base64_or_a_size() -> None:
    cls = PROTOCOL["FetchResponse"]
    model = model_of(cls, 13)
    message = make(cls, 13, FIXED["max"])
    for context in (None, WITH_RECORDS):
        value = model.from_codec(message).model_dump(mode="json", context=context)
        assert judge(model).is_valid(value)


def test_schemas_describe_their_fields() -> None:
    schema = FetchResponseModel.for_version(16).model_json_schema()
    assert schema["title"] == "FetchResponse version 16"
    assert schema["description"].startswith("Returns record batches")
    place = schema["properties"]["throttleTimeMs"]
    assert (place["minimum"], place["maximum"], place["type"]) == (-(2**31), 2**31 - 1, "integer")
    assert "quota" in place["description"]
    assert "topic" not in schema["$defs"]["FetchableTopicResponseV16"]["properties"]
    state = schema["$defs"]["PartitionDataV16"]["properties"]["divergingEpoch"]
    assert state["$ref"] == "#/$defs/EpochEndOffsetV16"


def test_names_of_former_releases_are_deprecated() -> None:
    properties = model_of(PROTOCOL["FetchRequest"], 4).model_json_schema()["properties"]
    former = {name: place for name, place in properties.items() if "deprecated" in place}
    assert former["maxWait"] == properties["maxWaitMs"] | {"deprecated": True}
    assert "maxWaitMs" not in former
    properties = model_of(PROTOCOL["FetchResponse"], 4).model_json_schema()["$defs"]["PartitionDataV4"]["properties"]
    size = {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}
    size |= {"description": "Size of the omitted records in bytes."}
    assert properties["recordsSizeInBytes"] == size
    assert properties["recordSetSizeInBytes"] == size | {"deprecated": True}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ProduceRequest", "FetchRequest", "AlterClientQuotasRequest"])
def test_schemas_of_output_and_by_attribute_are_the_same(name: str) -> None:
    """Web frameworks ask for that of output; JSON has Kafka's names whatever ``by_alias`` says."""
    for cls, version in pairs([name]):
        model = model_of(cls, version)
        assert model.model_json_schema(mode="serialization") == model.model_json_schema()
        assert model.model_json_schema(by_alias=False) == model.model_json_schema()


def test_schemas_of_output_in_classes_around_and_below() -> None:
    model: Any = ProduceRequestModel.for_version(9)

    class Kept(model):  # type: ignore[misc]
        seen: int = 0

        @model_validator(mode="after")
        def _seen(self) -> Any:
            return self

    class Log(BaseModel):
        all: list[Kept] = []

    value = model.from_codec(make(PROTOCOL["ProduceRequest"], 9, FIXED["max"])).model_dump(mode="json")
    judge = Draft202012Validator(Log.model_json_schema(mode="serialization"))
    assert judge.is_valid(Log.model_validate({"all": [value]}).model_dump(mode="json"))
    assert not judge.is_valid({"all": [value | {"acks": "1"}]})


@pytest.mark.parametrize(
    "text", ["A" * 21 + "B", "A" * 23, "A" * 21, "A" * 21 + "=", "A" * 21 + "\n", "+" * 21 + "A"]
)
def test_uuids_have_one_form(text: str) -> None:
    """So that what was read is written again: 22 characters hold four bits more than a uuid has."""
    model = model_of(PROTOCOL["DeleteTopicsRequest"], 6)
    value = {"topics": [{"name": None, "topicId": "A" * 22}], "timeoutMs": 1}
    assert accepts(model, value)
    value["topics"] = [{"name": None, "topicId": text}]
    assert not accepts(model, value)
    assert not judge(model).is_valid(value)


def test_strings_are_limited_in_bytes_which_schemas_cannot_say() -> None:
    model = model_of(PROTOCOL["HeartbeatRequest"], 0)
    value = {"groupId": "ü" * 16384, "generationId": 1, "memberId": ""}
    assert judge(model).is_valid(value)
    with pytest.raises(ValidationError, match=r"groupId\n.*at most 32767 bytes, not 32768"):
        model.model_validate(value)
    assert model.model_validate(value | {"groupId": "ü" * 16383}).to_codec().encode(0)
    for too_long in ("a" * 32768, "\ud800"):
        with pytest.raises(ValidationError, match="groupId"):
            model.model_validate(value | {"groupId": too_long})
