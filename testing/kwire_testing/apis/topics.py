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
from kwire_kafka.errors import ErrorCode
from kwire_testing.call import Call, answers
from kwire_testing.cluster import Cluster, Partition, Topic
from kwire_testing.refusal import Refused

BROKERS = 1
"""The type of endpoints that a broker knows."""


@answers(MetadataRequest)
def metadata(call: Call, request: MetadataRequest) -> MetadataResponse:
    """Answer with nodes and topics, and make topics that are missing if the request allows that."""
    cluster, asked = call.cluster, request.topics
    if asked is None or (call.version == 0 and not asked):
        asked = [MetadataRequestTopic(name=name) for name in cluster.topics]
    create = cluster.auto_create and (call.version < 4 or request.allow_auto_topic_creation)
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=node.id, host=node.host, port=node.port) for node in cluster.nodes.values()
        ],
        cluster_id=cluster.id,
        controller_id=min(cluster.nodes),
        topics=[_described(call, topic, create=create) for topic in asked],
    )


def _described(call: Call, asked: MetadataRequestTopic, *, create: bool) -> MetadataResponseTopic:
    try:
        if create and asked.name and call.cluster.find(asked.name) is None:
            call.cluster.create(asked.name)
        topic = call.topic(asked.name, asked.topic_id)
    except Refused as refusal:
        name = asked.name if asked.name or call.version >= 12 else ""
        return MetadataResponseTopic(error_code=refusal.error, name=name, topic_id=asked.topic_id)
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        partitions=[_partition(call.cluster, partition) for partition in topic.partitions],
    )


def _partition(cluster: Cluster, partition: Partition) -> MetadataResponsePartition:
    return MetadataResponsePartition(
        partition_index=partition.index,
        leader_id=partition.leader,
        leader_epoch=partition.epoch,
        replica_nodes=list(cluster.nodes),
        isr_nodes=list(cluster.nodes),
    )


@answers(DescribeClusterRequest)
def describe_cluster(call: Call, request: DescribeClusterRequest) -> DescribeClusterResponse:
    """Answer with the nodes."""
    call.check()
    if call.version and request.endpoint_type != BROKERS:
        raise Refused(ErrorCode.MISMATCHED_ENDPOINT_TYPE)
    cluster = call.cluster
    return DescribeClusterResponse(
        cluster_id=cluster.id,
        controller_id=min(cluster.nodes),
        brokers=[
            DescribeClusterBroker(broker_id=node.id, host=node.host, port=node.port)
            for node in cluster.nodes.values()
        ],
    )


@answers(FindCoordinatorRequest)
def find_coordinator(call: Call, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    """Answer with the node for each group or transactional id."""
    if call.version >= 4:
        return FindCoordinatorResponse(coordinators=[_coordinator(call, key) for key in request.coordinator_keys])
    one = _coordinator(call, request.key)
    return FindCoordinatorResponse(error_code=one.error_code, node_id=one.node_id, host=one.host, port=one.port)


def _coordinator(call: Call, key: str) -> Coordinator:
    try:
        call.check(key=key)
    except Refused as refusal:
        return Coordinator(key=key, error_code=refusal.error, node_id=-1, port=-1)
    node = call.cluster.coordinator(key)
    return Coordinator(key=key, node_id=node.id, host=node.host, port=node.port)


@answers(CreateTopicsRequest)
def create_topics(call: Call, request: CreateTopicsRequest) -> CreateTopicsResponse:
    """Make topics, or only check whether they could be made."""
    return CreateTopicsResponse(topics=[_created(call, one, only=request.validate_only) for one in request.topics])


def _created(call: Call, asked: CreatableTopic, *, only: bool) -> CreatableTopicResult:
    cluster, replicas = call.cluster, asked.replication_factor
    try:
        call.check(topic=asked.name)
        if asked.assignments:
            count, replicas = len(asked.assignments), len(asked.assignments[0].broker_ids)
            placed = {node for one in asked.assignments for node in one.broker_ids or [-1]}
            indexes = sorted(one.partition_index for one in asked.assignments)
            if not placed <= cluster.nodes.keys() or indexes != list(range(count)):
                raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT)
        else:
            count, replicas = (1 if asked.num_partitions == -1 else asked.num_partitions), abs(replicas)
        if not 0 < replicas <= len(cluster.nodes):
            raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR)
        topic = cluster.create(asked.name, count, {config.name: config.value for config in asked.configs})
        for one in asked.assignments:
            topic.partitions[one.partition_index].leader = one.broker_ids[0]
        if only:
            cluster.delete(topic)
    except Refused as refusal:
        return CreatableTopicResult(
            name=asked.name, error_code=refusal.error, error_message=refusal.error.description
        )
    return CreatableTopicResult(
        name=topic.name,
        topic_id=topic.id,
        num_partitions=count,
        replication_factor=replicas,
        configs=[CreatableTopicConfigs(name=name, value=value) for name, value in topic.configs.items()],
    )


@answers(CreatePartitionsRequest)
def create_partitions(call: Call, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
    """Give topics more partitions."""
    return CreatePartitionsResponse(
        results=[_extended(call, topic, only=request.validate_only) for topic in request.topics]
    )


def _extended(call: Call, asked: CreatePartitionsTopic, *, only: bool) -> CreatePartitionsTopicResult:
    try:
        topic = call.topic(asked.name)
        if asked.count <= len(topic.partitions):
            raise Refused(ErrorCode.INVALID_PARTITIONS)
        if not only:
            call.cluster.extend(topic, asked.count)
    except Refused as refusal:
        return CreatePartitionsTopicResult(name=asked.name, error_code=refusal.error)
    return CreatePartitionsTopicResult(name=asked.name)


@answers(DeleteTopicsRequest)
def delete_topics(call: Call, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    """Remove topics, by name or id."""
    asked = request.topics if call.version >= 6 else [DeleteTopicState(name=name) for name in request.topic_names]
    return DeleteTopicsResponse(responses=[_deleted(call, one) for one in asked])


def _deleted(call: Call, asked: DeleteTopicState) -> DeletableTopicResult:
    try:
        topic: Topic = call.topic(asked.name, asked.topic_id)
    except Refused as refusal:
        return DeletableTopicResult(name=asked.name, topic_id=asked.topic_id, error_code=refusal.error)
    call.cluster.delete(topic)
    return DeletableTopicResult(name=topic.name, topic_id=topic.id)
