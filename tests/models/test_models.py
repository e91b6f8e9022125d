"""What models do beside round trips: refuse, name the place, keep what JSON lacks, and stay out of the way."""

from __future__ import annotations

import json
import math
import pickle
import subprocess
import sys
from typing import Any, assert_type

import pytest
from pydantic import TypeAdapter, ValidationError

from kwire.errors import UnknownMessageError, UnknownVersionError
from kwire.message import Message
from kwire.models import WITH_RECORDS, ModelOf
from kwire.uuids import Uuid
from kwire_kafka import (
    AlterClientQuotasRequest,
    FetchRequest,
    HeartbeatRequest,
    MetadataRequest,
    ProduceRequest,
    SaslAuthenticateRequest,
)
from kwire_kafka.api import alter_client_quotas, fetch, produce
from kwire_kafka.models import MODELS, FetchRequestModel, HeartbeatRequestModel, MetadataRequestModel
from kwire_kafka.models.api.alter_user_scram_credentials import ScramCredentialUpsertionModel
from kwire_kafka.models.api.fetch import FetchPartitionModel, FetchTopicModel
from kwire_kafka.models.api.produce import PartitionProduceDataModel, ProduceRequestModel
from kwire_rules import MODEL_NAMES, model_name
from tests.models.support import model_of

TOPIC_ID = Uuid(range(16))


def fetch_json(**changes: Any) -> dict[str, Any]:
    """A fetch request of version 13."""
    partition = {"partition": 0, "currentLeaderEpoch": -1, "fetchOffset": 5, "lastFetchedEpoch": -1}
    partition |= {"logStartOffset": -1, "partitionMaxBytes": 1024}
    value: dict[str, Any] = {"replicaId": -1, "maxWaitMs": 500, "minBytes": 1, "maxBytes": 4096, "isolationLevel": 0}
    value |= {"sessionId": 0, "sessionEpoch": -1, "forgottenTopicsData": [], "rackId": ""}
    return value | {"topics": [{"topicId": str(TOPIC_ID), "partitions": [partition]}]} | changes


def problems(model: type[ModelOf[Any]], value: Any) -> list[tuple[str, str]]:
    """Path and type of everything that the model finds wrong, the same for JSON and Python."""
    with pytest.raises(ValidationError) as from_python:
        model.model_validate(value)
    with pytest.raises(ValidationError) as from_json:
        model.model_validate_json(json.dumps(value))
    found = [[(error["loc"], error["type"]) for error in one.value.errors()] for one in (from_python, from_json)]
    assert found[0] == found[1]
    return [(".".join(map(str, place)), kind) for place, kind in found[0]]


def test_a_model_is_typed_and_equal_to_the_codec_object() -> None:
    model = FetchRequestModel.for_version(13).model_validate(fetch_json())
    assert_type(model, FetchRequestModel)
    assert_type(model.topics[0].partitions[0].fetch_offset, int)
    assert_type(model.cluster_id, str | None)
    assert_type(model.to_codec(), FetchRequest)
    assert isinstance(model, FetchRequestModel)
    assert model.topics[0].topic_id == TOPIC_ID
    partition = fetch.FetchPartition(fetch_offset=5, partition_max_bytes=1024)
    topic = fetch.FetchTopic(topic_id=TOPIC_ID, partitions=[partition])
    expected = FetchRequest(max_wait_ms=500, min_bytes=1, max_bytes=4096, topics=[topic])
    assert model.to_codec() == expected
    assert type(model).from_codec(expected) == model


def test_the_constructor_takes_attributes() -> None:
    Fetch, Topic = FetchRequestModel.for_version(13), FetchTopicModel.for_version(13)
    Partition = FetchPartitionModel.for_version(13)
    read = Fetch.model_validate(fetch_json())
    partition = Partition(
        partition=0,
        current_leader_epoch=-1,
        fetch_offset=5,
        last_fetched_epoch=-1,
        log_start_offset=-1,
        partition_max_bytes=1024,
    )
    made = Fetch(
        replica_id=-1,
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=4096,
        isolation_level=0,
        session_id=0,
        session_epoch=-1,
        topics=[Topic(topic_id=TOPIC_ID, partitions=[partition])],
        forgotten_topics_data=[],
        rack_id="",
    )
    assert made == read
    with pytest.raises(ValidationError, match=r"maxWaitMs\n +Field required"):
        Fetch(topics=[], min_bytes=1)  # type: ignore[call-arg]
    assert problems(Fetch, {"max_wait_ms": 500} | fetch_json())[0] == ("max_wait_ms", "extra_forbidden")


def test_problems_have_paths() -> None:
    value = fetch_json(maxBytes=2**31, isolationLevel=-129, rackId=None, sessionId=True, minBytes="1", maxWaitMs=1.5)
    value["topics"][0]["partitions"][0] |= {"partition": None, "fetchOffset": -(2**63) - 1}
    value["topics"][0]["topicId"] = "no uuid"
    assert problems(FetchRequestModel.for_version(13), value) == [
        ("maxWaitMs", "int_type"),
        ("minBytes", "int_type"),
        ("maxBytes", "less_than_equal"),
        ("isolationLevel", "greater_than_equal"),
        ("sessionId", "int_type"),
        ("topics.0.topicId", "uuid"),
        ("topics.0.partitions.0.partition", "int_type"),
        ("topics.0.partitions.0.fetchOffset", "greater_than_equal"),
        ("rackId", "string_type"),
    ]


@pytest.mark.parametrize("wrong", [None, 5, "A" * 16, [0] * 16])
def test_a_uuid_is_bytes_or_text(wrong: object) -> None:
    value = fetch_json(topics=[{"topicId": wrong, "partitions": []}])
    assert problems(FetchRequestModel.for_version(13), value) == [("topics.0.topicId", "uuid")]


def test_fields_of_other_versions_are_refused() -> None:
    value = fetch_json()
    assert problems(FetchRequestModel.for_version(15), value) == [("replicaId", "extra_forbidden")]
    del value["replicaId"]
    assert FetchRequestModel.for_version(15).model_validate(value).replica_state.replica_id == -1
    assert problems(FetchRequestModel.for_version(13), value) == [("replicaId", "missing")]
    value["topics"][0]["topic"] = "a"
    assert problems(FetchRequestModel.for_version(15), value) == [("topics.0.topic", "extra_forbidden")]
    with pytest.raises(AttributeError):
        _ = FetchRequestModel.for_version(0).model_construct().rack_id


def test_null_is_taken_where_the_version_has_it() -> None:
    assert problems(MetadataRequestModel.for_version(0), {"topics": None}) == [("topics", "list_type")]
    everything = MetadataRequestModel.for_version(1).model_validate({"topics": None})
    assert everything.to_codec() == MetadataRequest(topics=None)
    assert everything.model_dump_json() == '{"topics":null}'


@pytest.mark.parametrize("topics", [(), {}, "", set(), iter(()), {"name": "t"}])
def test_an_array_is_a_list(topics: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        MetadataRequestModel.for_version(1).model_validate({"topics": topics})
    assert [error["type"] for error in caught.value.errors()] == ["list_type"]


def test_tagged_fields_with_defaults_are_not_shown() -> None:
    value = {name: one for name, one in fetch_json().items() if name != "replicaId"}
    model = FetchRequestModel.for_version(17).model_validate(value)
    assert model.model_dump(mode="json") == value
    assert (model.cluster_id, model.replica_state.replica_epoch) == (None, -1)
    model.cluster_id = "c"
    model.replica_state.replica_epoch = 4
    shown = {"clusterId": "c", "replicaState": {"replicaId": -1, "replicaEpoch": 4}}
    assert model.model_dump(mode="json") == shown | value
    assert FetchRequestModel.for_version(17).model_validate(value).replica_state.replica_epoch == -1


def test_names_of_former_releases_are_understood_and_not_written() -> None:
    value = fetch_json()
    old = {name: one for name, one in value.items() if name not in ("maxWaitMs", "sessionEpoch", "topics")}
    topic = value["topics"][0]
    partitions = [{"partitionIndex" if k == "partition" else k: v for k, v in topic["partitions"][0].items()}]
    old |= {"maxWait": 500, "epoch": -1, "topics": [{"topicId": topic["topicId"], "fetchPartitions": partitions}]}
    model = FetchRequestModel.for_version(13).model_validate(old)
    assert model == FetchRequestModel.for_version(13).model_validate(value)
    assert model.model_dump(mode="json") == value
    assert problems(FetchRequestModel.for_version(13), value | {"maxWait": 500}) == [("maxWait", "extra_forbidden")]


def produce_json(**partition: Any) -> dict[str, Any]:
    topic = {"name": "a", "partitionData": [{"index": 0} | partition]}
    return {"transactionalId": None, "acks": -1, "timeoutMs": 9, "topicData": [topic]}


def test_records_may_be_left_out_but_then_there_is_no_codec_object() -> None:
    model = ProduceRequestModel.for_version(9).model_validate(produce_json(recordsSizeInBytes=77))
    data = model.topic_data[0].partition_data[0]
    assert (data.records, data.records_size_in_bytes) == (None, 77)
    assert model.model_dump(mode="json") == produce_json(recordsSizeInBytes=77)
    assert json.loads(model.model_dump_json(by_alias=True)) == produce_json(recordsSizeInBytes=77)
    with pytest.raises(ValueError, match="records were left out"):
        model.to_codec()
    empty = ProduceRequestModel.for_version(9).model_validate(produce_json(recordsSizeInBytes=0))
    assert empty.to_codec().topic_data[0].partition_data[0].records == b""
    whole = ProduceRequestModel.for_version(9).model_validate(produce_json(records="cmVjb3Jkcw=="))
    assert whole.topic_data[0].partition_data[0].records == b"records"
    for context in (None, {}, {"records": False}, {"request_id": 7}):
        assert whole.model_dump(mode="json", context=context) == produce_json(recordsSizeInBytes=7)
    assert whole.model_dump(mode="json", context=WITH_RECORDS) == produce_json(records="cmVjb3Jkcw==")
    assert whole.to_codec().topic_data[0].partition_data[0].records == b"records"
    null = ProduceRequestModel.for_version(9).model_validate(produce_json(records=None))
    assert null.model_dump(mode="json") == produce_json(records=None)
    assert null.to_codec().topic_data[0].partition_data[0].records is None


def test_dumps_for_python_have_its_values_and_attributes() -> None:
    """Numbers that JSON lacks, uuids and bytes as they are, under the names of the attributes."""

    def dumped(message: Message, version: int) -> Any:
        return model_of(type(message), version).from_codec(message).model_dump()

    ops = [alter_client_quotas.OpData(key="k", value=math.inf)]
    entry = alter_client_quotas.AlterClientQuotasRequestEntryData(ops=ops)
    found = dumped(AlterClientQuotasRequest(entries=[entry]), 0)
    assert found["entries"][0]["ops"] == [{"key": "k", "value": math.inf, "remove": False}]
    found = dumped(FetchRequest(topics=[fetch.FetchTopic(topic_id=TOPIC_ID)]), 13)
    assert found["topics"] == [{"topic_id": TOPIC_ID, "partitions": []}]
    partitions = [produce.PartitionProduceData(index=1, records=b"r")]
    found = dumped(ProduceRequest(topic_data=[produce.TopicProduceData(partition_data=partitions)]), 9)
    records = {"index": 1, "records": b"r", "records_size_in_bytes": None}
    assert found["topic_data"] == [{"name": "", "partition_data": [records]}]
    assert dumped(SaslAuthenticateRequest(auth_bytes=b"x"), 2) == {"auth_bytes": b"x"}


def test_records_and_their_size_exclude_each_other() -> None:
    Produce = ProduceRequestModel.for_version(9)
    place = "topicData.0.partitionData.0"
    assert problems(Produce, produce_json()) == [(place, "records")]
    assert problems(Produce, produce_json(records=None, recordsSizeInBytes=1)) == [(place, "records")]
    assert problems(Produce, produce_json(recordsSizeInBytes=-1)) == [
        (f"{place}.recordsSizeInBytes", "greater_than_equal")
    ]
    assert problems(Produce, produce_json(records="cmVjb3Jkcw")) == [(f"{place}.records", "base64")]
    with pytest.raises(ValidationError, match="Either records or recordsSizeInBytes is required, not both"):
        PartitionProduceDataModel.for_version(9)(index=1)


def test_unknown_tags_go_through_the_model_and_not_through_json() -> None:
    tags = ((7, b"seven"), (9, b""))
    inner = produce.TopicProduceData(name="a", unknown_tags=((3, b"x"),))
    request = ProduceRequest(acks=1, topic_data=[inner], unknown_tags=tags)
    model = ProduceRequestModel.for_version(9).from_codec(request)
    assert model.unknown_tags == tags
    assert model.topic_data[0].unknown_tags == ((3, b"x"),)
    assert "unknown_tags=((7, b'seven')" in repr(model)
    secret = SaslAuthenticateRequest(unknown_tags=((7, b"s3cret"),))
    shown = repr(MODELS["SaslAuthenticateRequest"].for_version(2).from_codec(secret))
    assert ("s3cret" in shown, "unknown_tags='[hidden]'" in shown) == (False, True)
    assert model.to_codec() == request
    read = ProduceRequestModel.for_version(9).model_validate_json(model.model_dump_json())
    assert read.unknown_tags == ()
    assert read != model
    read.unknown_tags = tags
    read.topic_data[0].unknown_tags = ((3, b"x"),)
    assert read == model
    assert "unknown_tags" not in model.model_dump()


def test_errors_in_a_struct_of_a_message_with_secrets_quote_no_values() -> None:
    upsertion = ScramCredentialUpsertionModel.for_version(0)
    with pytest.raises(ValidationError, match="saltedPassword") as caught:
        upsertion.model_validate(
            {"name": "u", "mechanism": 1, "iterations": 1, "salt": "", "saltedPassword": "s3cret"}
        )
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("size", [0, 15, 17])
def test_a_uuid_has_sixteen_bytes(size: int) -> None:
    topic = fetch.FetchTopic(topic_id=bytes(size))  # type: ignore[arg-type]
    with pytest.raises(ValidationError, match="Input should be a uuid: 16 bytes"):
        FetchRequestModel.for_version(13).from_codec(FetchRequest(topics=[topic]))


def test_versions_without_tags_refuse_unknown_ones() -> None:
    with pytest.raises(ValidationError, match="version 8 of ProduceRequest has no tagged fields"):
        ProduceRequestModel.for_version(8).from_codec(ProduceRequest(unknown_tags=((7, b""),)))
    model = ProduceRequestModel.for_version(8).from_codec(ProduceRequest())
    with pytest.raises(ValueError, match="has no tagged fields"):
        model.unknown_tags = ((7, b""),)


def test_codec_objects_of_another_kind_are_refused() -> None:
    wrong: Any = HeartbeatRequest()
    with pytest.raises(ValidationError, match="valid dictionary or instance of FetchRequest"):
        FetchRequestModel.for_version(4).from_codec(wrong)
    with pytest.raises(ValidationError, match=r"topics\.0"):
        FetchRequestModel.for_version(4).from_codec(FetchRequest(topics=[wrong]))


def test_versions() -> None:
    model = FetchRequestModel.for_version(12)
    assert model is FetchRequestModel.for_version(12)
    assert model.for_version(13) is FetchRequestModel.for_version(13)
    assert model.VERSION == 12
    assert model.STRUCT is model.MESSAGE is FetchRequest
    assert (model.__name__, model.__module__) == ("FetchRequestV12", FetchRequestModel.__module__)
    for wrong in (-1, 19, 32767):
        with pytest.raises(UnknownVersionError, match=f"unknown version {wrong} of FetchRequest"):
            FetchRequestModel.for_version(wrong)


def test_the_model_of_all_versions_is_none_itself() -> None:
    with pytest.raises(TypeError, match=r"use FetchRequestModel\.for_version"):
        FetchRequestModel.model_validate(fetch_json())
    with pytest.raises(TypeError, match="covers all versions"):
        FetchRequestModel.model_json_schema()


def test_models_by_name() -> None:
    assert MODELS["HeartbeatRequest"] is HeartbeatRequestModel
    assert MODELS["ListClientMetricsResourcesRequest"] is MODELS["ListConfigResourcesRequest"]
    with pytest.raises(UnknownMessageError):
        MODELS["HeartbeatRequestModel"]
    import kwire_kafka.models

    with pytest.raises(AttributeError):
        getattr(kwire_kafka.models, "HeartbeatRequest")  # noqa: B009  # type checkers refuse the attribute
    assert {"MODELS", "HeartbeatRequestModel"} < set(dir(kwire_kafka.models))


def test_pydantic_takes_models_as_parts_of_others() -> None:
    model: Any = HeartbeatRequestModel.for_version(0)
    heartbeats = TypeAdapter[Any](list[model])
    found = heartbeats.validate_json('[{"groupId": "g", "generationId": 1, "memberId": "m"}]')
    assert found[0].to_codec() == HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    assert json.loads(heartbeats.dump_json(found)) == [{"groupId": "g", "generationId": 1, "memberId": "m"}]
    assert heartbeats.json_schema()["items"]["$ref"] == "#/$defs/HeartbeatRequestV0"


def test_include_and_exclude_work_on_kafkas_form() -> None:
    model = FetchRequestModel.for_version(13).model_validate(fetch_json())
    assert model.model_dump(mode="json", include={"min_bytes", "rack_id"}) == {"minBytes": 1, "rackId": ""}
    assert "topics" not in json.loads(model.model_dump_json(exclude={"topics"}, by_alias=True))


def test_names_that_pydantic_takes_are_known() -> None:
    """A field called ``copy`` or ``ModelConfig`` gets another attribute, at run time and for type checkers."""
    public = {name for name in dir(ModelOf) if not name.startswith(("_", "model_")) and not name.isupper()}
    assert public <= MODEL_NAMES
    for name in ("copy", "model_config", "topics"):
        assert model_name(name) == name + "_" * (name != "topics")


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_a_model_imports_and_builds_nothing_of_others() -> None:
    code = (
        "import sys; from kwire_kafka.models import FetchRequestModel as M; import kwire.models.build as b; "
        "print(b._built.cache_info().currsize, *[n for n in sys.modules if n.startswith('kwire_kafka.')]); "
        "V = M.for_version(13); print(V.__pydantic_complete__, b._built.cache_info().currsize)"
    )
    first, second = run(code).splitlines()
    assert first.split()[0] == "0"
    modules = {name for name in first.split()[1:] if ".api." in name and not name.endswith("__mypyc")}
    assert modules == {"kwire_kafka.api.fetch", "kwire_kafka.models.api.fetch"}
    assert second == "False 4"


class Audited(HeartbeatRequestModel.for_version(0)):  # type: ignore[misc]
    """What a user may make of a model."""

    seen: int = 0


def test_models_can_be_derived_from() -> None:
    value = Audited(group_id="g", generation_id=1, member_id="m", seen=4)
    assert value.to_codec() == HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    assert pickle.loads(pickle.dumps(value)) == value
    assert json.loads(value.model_dump_json()) == {"groupId": "g", "generationId": 1, "memberId": "m", "seen": 4}
    assert Audited.for_version(0) is HeartbeatRequestModel.for_version(0)
    assert "seen" in Audited.model_json_schema()["properties"]


def test_threads_get_the_same_model() -> None:
    code = (
        "import sys; sys.setswitchinterval(1e-6); from concurrent.futures import ThreadPoolExecutor as Pool; "
        "from kwire_kafka.models import FetchResponseModel as M; "
        "print(len(set(Pool(8).map(lambda _: M.for_version(13), range(8)))))"
    )
    assert run(code) == "1\n"


def test_records_that_were_put_in_later_go_anywhere() -> None:
    model = ProduceRequestModel.for_version(9).model_validate(produce_json(recordsSizeInBytes=77))
    data = model.topic_data[0].partition_data[0]
    data.records = b"later"
    assert model.model_dump(mode="json") == produce_json(recordsSizeInBytes=5)
    assert model.to_codec().topic_data[0].partition_data[0].records == b"later"
    data.records_size_in_bytes = None
    assert type(model).model_validate(model) == model


def test_codecs_do_not_know_pydantic() -> None:
    code = (
        "import sys; import kwire_kafka, kwire.interpreter, kwire.records, kwire.connection, kwire.logs; "
        "m = kwire_kafka.FetchRequest(); m.decode(m.encode(13), 13); print('pydantic' in sys.modules)"
    )
    assert run(code) == "False\n"


@pytest.mark.parametrize("module", ["kwire.models", "kwire_kafka.models", "kwire_kafka.models.api.fetch"])
def test_who_lacks_pydantic_is_told_what_to_install(module: str) -> None:
    code = f"import sys; sys.modules['pydantic'] = None; import {module}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.endswith("ModuleNotFoundError: models need pydantic: pip install 'kwire[models]'\n")


@pytest.mark.parametrize("missing", ["pydantic_core", "kwire.models.kinds"])
def test_another_module_that_is_missing_is_named(missing: str) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None; import kwire.models"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.endswith(f"ModuleNotFoundError: import of {missing} halted; None in sys.modules\n")


def test_importing_the_models_of_an_api_builds_none_of_them() -> None:
    """Fields and validators are built with the first version that is asked for: building all takes seconds."""
    code = (
        "import kwire_kafka.models.api.fetch as models; found = list(vars(models).values()); "
        "classes = [one for one in found if isinstance(one, type)]; "
        "print(len(classes) > 10, [one for one in classes if one.model_fields or one.__pydantic_complete__])"
    )
    assert run(code) == "True []\n"


def test_bytes_of_a_uuid_are_printed_as_kafka_prints_them() -> None:
    model = MODELS["MetadataRequest"].for_version(12)
    topic = {"topicId": bytes(15) + b"\1", "name": None}
    values = {"topics": [topic], "allowAutoTopicCreation": True, "includeTopicAuthorizedOperations": False}
    written = model.model_validate(values).model_dump(mode="json")
    assert written["topics"] == [{"topicId": "AAAAAAAAAAAAAAAAAAAAAQ", "name": None}]
