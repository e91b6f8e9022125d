"""Pydantic models of CreateTopicsRequest, a class for each version."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, Strict

from kwire.models import VersionModel, types
from kwire_kafka.api import create_topics as codec


class CreateTopicsRequestV7(VersionModel[codec.CreateTopicsRequest]):
    """Sent by an admin client to the controller (forwarded by any broker in KRaft) to create topics, or to validate
    that.
    """

    STRUCT = codec.CreateTopicsRequest
    MESSAGE = codec.CreateTopicsRequest
    VERSION = 7

    topics: Annotated[list[CreatableTopicV7], Strict()] = Field(
        validation_alias="topics", serialization_alias="topics"
    )
    """Topics to create; each succeeds or fails on its own."""

    timeout_ms: types.Int32 = Field(validation_alias="timeoutMs", serialization_alias="timeoutMs")
    """Milliseconds to wait for the creation before TIMED_OUT; it can still complete later."""

    validate_only: types.Bool = Field(validation_alias="validateOnly", serialization_alias="validateOnly")
    """True runs all checks, policies included, but creates nothing."""


class CreatableTopicV7(VersionModel[codec.CreatableTopic]):
    """One topic to create, with its partitions and settings."""

    STRUCT = codec.CreatableTopic
    MESSAGE = codec.CreateTopicsRequest
    VERSION = 7

    name: types.String = Field(validation_alias="name", serialization_alias="name")
    """Name of the topic, at most 249 letters, digits, dots, underscores and hyphens."""

    num_partitions: types.Int32 = Field(validation_alias="numPartitions", serialization_alias="numPartitions")
    """Number of partitions; -1 for the broker's default or if assignments are given."""

    replication_factor: types.Int16 = Field(
        validation_alias="replicationFactor", serialization_alias="replicationFactor"
    )
    """Number of replicas of each partition; -1 for the broker's default or if assignments are given."""

    assignments: Annotated[list[CreatableReplicaAssignmentV7], Strict()] = Field(
        validation_alias="assignments", serialization_alias="assignments"
    )
    """Manual replica assignment of every partition; empty lets the controller assign them."""

    configs: Annotated[list[CreatableTopicConfigV7], Strict()] = Field(
        validation_alias="configs", serialization_alias="configs"
    )
    """Topic-level settings that override broker defaults, e.g. retention.ms."""


class CreatableReplicaAssignmentV7(VersionModel[codec.CreatableReplicaAssignment]):
    """Manual assignment of one partition."""

    STRUCT = codec.CreatableReplicaAssignment
    MESSAGE = codec.CreateTopicsRequest
    VERSION = 7

    partition_index: types.Int32 = Field(validation_alias="partitionIndex", serialization_alias="partitionIndex")
    """Number of the partition; the numbers must run from 0 without gaps."""

    broker_ids: Annotated[list[types.Int32], Strict()] = Field(
        validation_alias="brokerIds", serialization_alias="brokerIds"
    )
    """Broker ids of the assigned replicas, the preferred leader first."""


class CreatableTopicConfigV7(VersionModel[codec.CreatableTopicConfig]):
    """One setting for the new topic."""

    STRUCT = codec.CreatableTopicConfig
    MESSAGE = codec.CreateTopicsRequest
    VERSION = 7

    name: types.String = Field(validation_alias="name", serialization_alias="name")
    """Name of the setting, e.g. cleanup.policy."""

    value: types.String | None = Field(validation_alias="value", serialization_alias="value")
    """Value as text; null can be encoded but the controller refuses it."""
