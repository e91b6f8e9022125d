"""Pydantic models of CreateTopicsResponse, a class for each version."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, Strict

from kwire.models import VersionModel, types
from kwire_kafka.api import create_topics as codec


class CreateTopicsResponseV7(VersionModel[codec.CreateTopicsResponse]):
    """Reports, for each topic, whether it was created, with its id and effective settings."""

    STRUCT = codec.CreateTopicsResponse
    MESSAGE = codec.CreateTopicsResponse
    VERSION = 7

    throttle_time_ms: types.Int32 = Field(validation_alias="throttleTimeMs", serialization_alias="throttleTimeMs")
    """Milliseconds the client must pause because it exceeded a quota, e.g. that on topic mutations; 0 if it is not
    throttled.
    """

    topics: Annotated[list[CreatableTopicResultV7], Strict()] = Field(
        validation_alias="topics", serialization_alias="topics"
    )
    """One outcome for each topic of the request."""


class CreatableTopicResultV7(VersionModel[codec.CreatableTopicResult]):
    """Outcome for one topic, with its properties if it was created."""

    STRUCT = codec.CreatableTopicResult
    MESSAGE = codec.CreateTopicsResponse
    VERSION = 7

    name: types.String = Field(validation_alias="name", serialization_alias="name")
    """Name of the topic."""

    topic_id: types.Uuid = Field(validation_alias="topicId", serialization_alias="topicId")
    """Id of the new topic; the zero UUID if it was not created."""

    error_code: types.Int16 = Field(validation_alias="errorCode", serialization_alias="errorCode")
    """0 if created or found valid; otherwise the reason, e.g. TOPIC_ALREADY_EXISTS or INVALID_REPLICATION_FACTOR."""

    error_message: types.String | None = Field(validation_alias="errorMessage", serialization_alias="errorMessage")
    """Human-readable explanation of the error by the controller or a policy; null if there is none."""

    topic_config_error_code: types.Int16 = Field(
        default=0, validation_alias="topicConfigErrorCode", serialization_alias="topicConfigErrorCode"
    )
    """Non-zero if the topic was created but the caller may not read its settings, which are then omitted."""

    num_partitions: types.Int32 = Field(validation_alias="numPartitions", serialization_alias="numPartitions")
    """Number of partitions; -1 on error or if the caller may not read it."""

    replication_factor: types.Int16 = Field(
        validation_alias="replicationFactor", serialization_alias="replicationFactor"
    )
    """Number of replicas of each partition; -1 on error or if the caller may not read it."""

    configs: Annotated[list[CreatableTopicConfigsV7], Strict()] | None = Field(
        validation_alias="configs", serialization_alias="configs"
    )
    """Effective settings including defaults; null on error or if the caller may not read them."""


class CreatableTopicConfigsV7(VersionModel[codec.CreatableTopicConfigs]):
    """One effective setting of the created topic."""

    STRUCT = codec.CreatableTopicConfigs
    MESSAGE = codec.CreateTopicsResponse
    VERSION = 7

    name: types.String = Field(validation_alias="name", serialization_alias="name")
    """Name of the setting."""

    value: types.String | None = Field(validation_alias="value", serialization_alias="value")
    """Effective value as text; null if it is sensitive or unset."""

    read_only: types.Bool = Field(validation_alias="readOnly", serialization_alias="readOnly")
    """True if it cannot be changed at run time."""

    config_source: types.Int8 = Field(validation_alias="configSource", serialization_alias="configSource")
    """Source of the value: 1 topic, 2-3 dynamic broker, 4 static broker, 5 built-in; -1 if not given."""

    is_sensitive: types.Bool = Field(validation_alias="isSensitive", serialization_alias="isSensitive")
    """True for passwords and other secrets, whose value the broker never reveals."""
