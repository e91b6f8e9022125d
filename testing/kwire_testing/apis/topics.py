"""Handlers for topics and their configurations."""

from __future__ import annotations

from collections.abc import Sequence

import kwire_kafka as kafka
from kwire_kafka.api.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from kwire_kafka.api.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
)
from kwire_kafka.api.delete_topics import DeletableTopicResult, DeleteTopicState
from kwire_kafka.api.describe_configs import (
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
)
from kwire_kafka.api.metadata import (
    MetadataRequestTopic,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kwire_kafka.enums import ConfigResourceType, ConfigSource, ConfigType
from kwire_kafka.errors import ErrorCode
from kwire_testing.call import Call, answers, answers_each
from kwire_testing.cluster import check_name
from kwire_testing.refusal import Refused

TOPIC = {"cleanup.policy": "delete", "max.message.bytes": "1048588", "retention.ms": "604800000"}
KINDS = {"cleanup.policy": ConfigType.LIST, "max.message.bytes": ConfigType.INT, "retention.ms": ConfigType.LONG}
BROKER = {"auto.create.topics.enable": "true", "default.replication.factor": "1", "num.partitions": "1"}


@answers
def describe(call: Call, request: kafka.MetadataRequest, response: kafka.MetadataResponse) -> None:
    """Describe nodes and topics. Create missing topics if the request allows it."""
    cluster, topics = call.cluster, request.topics
    if topics is None or (call.version == 0 and not topics):
        topics = [MetadataRequestTopic(name=name) for name in cluster.topics]
    create = cluster.auto_create and (call.version < 4 or request.allow_auto_topic_creation)
    nodes = [*cluster.nodes]
    response.cluster_id, response.controller_id = cluster.id, min(nodes)
    response.brokers = [
        MetadataResponseBroker(node_id=node.id, host=node.host, port=node.port) for node in cluster.nodes.values()
    ]

    def fill(item: MetadataRequestTopic, answer: MetadataResponseTopic) -> None:
        if item.name is None and call.version < 12:
            answer.name = ""
        if item.name is not None:
            check_name(item.name)
        if create and item.name and cluster.find(item.name) is None:
            cluster.create(item.name)
        topic = call.topic(item.name, item.topic_id)
        answer.name, answer.topic_id = topic.name, topic.id
        answer.partitions = [
            MetadataResponsePartition(
                partition_index=partition.index,
                leader_id=partition.leader,
                leader_epoch=partition.epoch,
                replica_nodes=nodes,
                isr_nodes=nodes,
            )
            for partition in topic.partitions
        ]

    call.each(fill, kafka.MetadataRequest(topics=topics), response, "topics")


@answers_each("topics", once=True)
def create(
    call: Call, request: kafka.CreateTopicsRequest, item: CreatableTopic, answer: CreatableTopicResult
) -> None:
    """Create a topic, or only validate the request."""
    call.check(topic=item.name)
    count, replicas = 1 if item.num_partitions == -1 else item.num_partitions, abs(item.replication_factor)
    if item.assignments:
        if (item.num_partitions, item.replication_factor) != (-1, -1):
            raise Refused(ErrorCode.INVALID_REQUEST)
        count, replicas = len(item.assignments), len(item.assignments[0].broker_ids)
        if sorted(one.partition_index for one in item.assignments) != [*range(count)]:
            raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT)
        _check_assignments(call, item.assignments)
    if not 0 < replicas <= len(call.cluster.nodes):
        raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR)
    topic = call.cluster.create(item.name, count, {config.name: config.value for config in item.configs})
    for one in item.assignments:
        topic.partitions[one.partition_index].leader = one.broker_ids[0]
    if request.validate_only:
        call.cluster.delete(topic)
    answer.topic_id, answer.num_partitions, answer.replication_factor = topic.id, count, replicas
    answer.configs = [CreatableTopicConfigs(name=name, value=topic.configs[name]) for name in topic.configs]


@answers_each("topics", "results", once=True)
def extend(
    call: Call,
    request: kafka.CreatePartitionsRequest,
    item: CreatePartitionsTopic,
    answer: CreatePartitionsTopicResult,
) -> None:
    """Add partitions to a topic."""
    topic = call.topic(item.name)
    more = item.count - len(topic.partitions)
    if more <= 0:
        raise Refused(ErrorCode.INVALID_PARTITIONS)
    if item.assignments is not None:
        if len(item.assignments) != more:
            raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT)
        _check_assignments(call, item.assignments)
    if not request.validate_only:
        call.cluster.extend(topic, item.count)


@answers
def delete(call: Call, request: kafka.DeleteTopicsRequest, response: kafka.DeleteTopicsResponse) -> None:
    """Delete topics by name or id."""

    def fill(item: DeleteTopicState, answer: DeletableTopicResult) -> None:
        if item.name is not None and any(item.topic_id):
            raise Refused(ErrorCode.INVALID_REQUEST)
        topic = call.topic(item.name, item.topic_id)
        answer.name, answer.topic_id = topic.name, topic.id
        call.cluster.delete(topic)

    topics = request.topics or [DeleteTopicState(name=name) for name in request.topic_names]
    call.each(fill, kafka.DeleteTopicsRequest(topics=topics), response, "topics", "responses", once=True)


@answers_each("resources", "results")
def describe_configs(
    call: Call,
    request: kafka.DescribeConfigsRequest,
    item: DescribeConfigsResource,
    answer: DescribeConfigsResult,
) -> None:
    """Describe the configurations that CreateTopics has set, and a few defaults."""
    own: dict[str, str | None] = {}
    topics = item.resource_type == ConfigResourceType.TOPIC
    if topics:
        check_name(item.resource_name)
        defaults, own = TOPIC, call.topic(item.resource_name).configs
    else:
        call.check()
        if item.resource_type != ConfigResourceType.BROKER or item.resource_name not in ("", str(call.node)):
            raise Refused(ErrorCode.INVALID_REQUEST)
        defaults = BROKER | {"auto.create.topics.enable": str(call.cluster.auto_create).lower()}
    answer.configs = [
        DescribeConfigsResourceResult(
            name=name,
            value=value,
            config_source=ConfigSource.TOPIC_CONFIG if name in own else ConfigSource.DEFAULT_CONFIG,
            read_only=not topics,
            config_type=KINDS.get(name, ConfigType.UNKNOWN),
            documentation=None,
        )
        for name, value in {**defaults, **own}.items()
        if not item.configuration_keys or name in item.configuration_keys
    ]


def _check_assignments(
    call: Call, assignments: Sequence[CreatableReplicaAssignment] | Sequence[CreatePartitionsAssignment]
) -> None:
    """Raise ``Refused`` unless each partition is assigned to distinct existing nodes."""
    for nodes in (one.broker_ids for one in assignments):
        if not nodes or len({*nodes}) < len(nodes) or not {*nodes} <= call.cluster.nodes.keys():
            raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT)
