"""Metadata, coordinators, and topics that are created, extended and deleted."""

from __future__ import annotations

from kwire_kafka import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DescribeClusterRequest,
    DescribeClusterResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    MetadataRequest,
    MetadataResponse,
)
from kwire_kafka.api.create_partitions import CreatePartitionsTopic, CreatePartitionsTopicResult
from kwire_kafka.api.create_topics import CreatableTopic, CreatableTopicConfigs, CreatableTopicResult
from kwire_kafka.api.delete_topics import DeletableTopicResult, DeleteTopicState
from kwire_kafka.api.describe_cluster import DescribeClusterBroker
from kwire_kafka.api.find_coordinator import Coordinator
from kwire_kafka.api.metadata import (
    MetadataRequestTopic,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kwire_kafka.enums import CoordinatorType
from kwire_kafka.errors import ErrorCode
from kwire_testing.call import Call, answers
from kwire_testing.cluster import check_name
from kwire_testing.refusal import Refused

BROKERS = 1
"""The type of endpoints that a broker knows."""


@answers(MetadataRequest, MetadataResponse)
def metadata(call: Call, request: MetadataRequest, response: MetadataResponse) -> None:
    """Answer with nodes and topics, and make topics that are missing if the request allows that."""
    cluster, topics = call.cluster, request.topics
    if topics is None or (call.version == 0 and not topics):
        topics = [MetadataRequestTopic(name=name) for name in cluster.topics]
    create = cluster.auto_create and (call.version < 4 or request.allow_auto_topic_creation)

    def describe(asked: MetadataRequestTopic, answer: MetadataResponseTopic) -> None:
        if asked.name is None and call.version < 12:
            answer.name = ""
        if asked.name is not None:
            check_name(asked.name)
        if create and asked.name and cluster.find(asked.name) is None:
            cluster.create(asked.name)
        topic = call.topic(asked.name, asked.topic_id)
        answer.name, answer.topic_id = topic.name, topic.id
        answer.partitions = [
            MetadataResponsePartition(
                partition_index=partition.index,
                leader_id=partition.leader,
                leader_epoch=partition.epoch,
                replica_nodes=[*cluster.nodes],
                isr_nodes=[*cluster.nodes],
            )
            for partition in topic.partitions
        ]

    response.cluster_id, response.controller_id = cluster.id, min(cluster.nodes)
    response.brokers = [
        MetadataResponseBroker(node_id=node.id, host=node.host, port=node.port) for node in cluster.nodes.values()
    ]
    response.topics = call.each(topics, MetadataResponseTopic, describe)


@answers(DescribeClusterRequest, DescribeClusterResponse)
def describe_cluster(call: Call, request: DescribeClusterRequest, response: DescribeClusterResponse) -> None:
    """Answer with the nodes."""
    call.check()
    if call.version and request.endpoint_type != BROKERS:
        raise Refused(ErrorCode.MISMATCHED_ENDPOINT_TYPE)
    cluster = call.cluster
    response.cluster_id, response.controller_id = cluster.id, min(cluster.nodes)
    response.brokers = [
        DescribeClusterBroker(broker_id=node.id, host=node.host, port=node.port) for node in cluster.nodes.values()
    ]


@answers(FindCoordinatorRequest, FindCoordinatorResponse)
def find_coordinator(call: Call, request: FindCoordinatorRequest, response: FindCoordinatorResponse) -> None:
    """Answer with the node for each group or transactional id."""

    def find(key: str, answer: Coordinator | FindCoordinatorResponse) -> None:
        answer.node_id = answer.port = -1
        call.check(key=key)
        if request.key_type not in (CoordinatorType.GROUP, CoordinatorType.TRANSACTION):
            raise Refused(ErrorCode.INVALID_REQUEST)
        node = call.cluster.coordinator(key)
        answer.node_id, answer.host, answer.port = node.id, node.host, node.port

    response.coordinators = call.each(request.coordinator_keys, Coordinator, find)
    if call.version < 4:
        find(request.key, response)


@answers(CreateTopicsRequest, CreateTopicsResponse)
def create_topics(call: Call, request: CreateTopicsRequest, response: CreateTopicsResponse) -> None:
    """Make topics, or only check whether they could be made."""
    cluster = call.cluster

    def create(asked: CreatableTopic, answer: CreatableTopicResult) -> None:
        call.check(topic=asked.name)
        count, replicas = 1 if asked.num_partitions == -1 else asked.num_partitions, abs(asked.replication_factor)
        if asked.assignments:
            if (asked.num_partitions, asked.replication_factor) != (-1, -1):
                raise Refused(ErrorCode.INVALID_REQUEST)
            count, replicas = len(asked.assignments), len(asked.assignments[0].broker_ids)
            indexes = sorted(one.partition_index for one in asked.assignments)
            if indexes != list(range(count)) or not all(_placed(call, one.broker_ids) for one in asked.assignments):
                raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT)
        if not 0 < replicas <= len(cluster.nodes):
            raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR)
        topic = cluster.create(asked.name, count, {config.name: config.value for config in asked.configs})
        for one in asked.assignments:
            topic.partitions[one.partition_index].leader = one.broker_ids[0]
        if request.validate_only:
            cluster.delete(topic)
        answer.topic_id, answer.num_partitions, answer.replication_factor = topic.id, count, replicas
        answer.configs = [CreatableTopicConfigs(name=name, value=value) for name, value in topic.configs.items()]

    response.topics = call.each_once(request.topics, CreatableTopicResult, create)


@answers(CreatePartitionsRequest, CreatePartitionsResponse)
def create_partitions(call: Call, request: CreatePartitionsRequest, response: CreatePartitionsResponse) -> None:
    """Give topics more partitions."""

    def extend(asked: CreatePartitionsTopic, answer: CreatePartitionsTopicResult) -> None:
        topic = call.topic(asked.name)
        more = asked.count - len(topic.partitions)
        if more <= 0:
            raise Refused(ErrorCode.INVALID_PARTITIONS)
        placed = asked.assignments
        if placed is not None and (len(placed) != more or not all(_placed(call, one.broker_ids) for one in placed)):
            raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT)
        if not request.validate_only:
            call.cluster.extend(topic, asked.count)

    response.results = call.each_once(request.topics, CreatePartitionsTopicResult, extend)


@answers(DeleteTopicsRequest, DeleteTopicsResponse)
def delete_topics(call: Call, request: DeleteTopicsRequest, response: DeleteTopicsResponse) -> None:
    """Remove topics, by name or id."""

    def delete(asked: DeleteTopicState, answer: DeletableTopicResult) -> None:
        if asked.name is not None and any(asked.topic_id):
            raise Refused(ErrorCode.INVALID_REQUEST)
        topic = call.topic(asked.name, asked.topic_id)
        answer.name, answer.topic_id = topic.name, topic.id
        call.cluster.delete(topic)

    topics = request.topics or [DeleteTopicState(name=name) for name in request.topic_names]
    response.responses = call.each_once(topics, DeletableTopicResult, delete)


def _placed(call: Call, nodes: list[int]) -> bool:
    """Return whether replicas may be at these nodes."""
    return bool(nodes) and len({*nodes}) == len(nodes) and {*nodes} <= call.cluster.nodes.keys()
