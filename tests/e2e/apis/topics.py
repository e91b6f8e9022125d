"""Topics: made, described, moved, deleted. What changes them is answered by the controller's listener too."""

from __future__ import annotations

from kwire_kafka.errors import ErrorCode
from tests.e2e.walk import Walk
from tests.real_kafka.broker import NODE


def made_and_deleted(walk: Walk) -> None:
    walk.each(
        "CreateTopics",
        lambda version: {
            "topics": [
                {
                    "name": f"{walk.prefix}made-{version}",
                    "num_partitions": 2,
                    "replication_factor": 1,
                    "configs": [{"name": "retention.ms", "value": "604800000"}],
                },
                {
                    "name": f"{walk.prefix}assigned-{version}",
                    "num_partitions": -1,
                    "replication_factor": -1,
                    "assignments": [{"partition_index": 0, "broker_ids": [NODE]}],
                },
            ],
            "timeout_ms": 10000,
        },
    )
    never = {"name": "never", "num_partitions": 1, "replication_factor": 1}
    walk.latest("CreateTopics", topics=[never], validate_only=True)
    for number, version in enumerate(walk.versions("DeleteTopics")):
        name = f"{walk.prefix}made-{walk.versions('CreateTopics')[number % len(walk.versions('CreateTopics'))]}"
        deleted = walk.ask("DeleteTopics", version, topics=[{"name": name}], topic_names=[name], timeout_ms=10000)
        assert [topic.name for topic in deleted.responses] == [name]


def described(walk: Walk) -> None:
    topic_id = walk.topic("described", 2)
    names = [{"name": "described"}]
    operations = {"include_topic_authorized_operations": True, "include_cluster_authorized_operations": True}
    for response in walk.every("Metadata", topics=names, **operations):
        assert [len(topic.partitions) for topic in response.topics] == [2]
    walk.each("Metadata", lambda version: {"topics": None if version else []})
    by_id = walk.latest("Metadata", topics=[{"name": None, "topic_id": topic_id}])
    assert by_id.topics[0].name == "described"
    cursor = {"topic_name": "described", "partition_index": 1}
    walk.every("DescribeTopicPartitions", topics=names, response_partition_limit=2000)
    walk.every("DescribeTopicPartitions", topics=names, response_partition_limit=1, cursor=cursor)


def widened(walk: Walk) -> None:
    name = walk.prefix + "widened"
    walk.topic(name)
    walk.each(
        "CreatePartitions",
        lambda version: {
            "topics": [{"name": name, "count": 2 + version, "assignments": [{"broker_ids": [NODE]}]}],
            "timeout_ms": 10000,
        },
    )
    one = [{"topic": name, "partitions": [0]}]
    walk.every("ElectLeaders", topic_partitions=one, timeout_ms=5000, allow={ErrorCode.ELECTION_NOT_NEEDED})
    to_itself = {"partition_index": 0, "replicas": [NODE]}
    walk.every("AlterPartitionReassignments", topics=[{"name": name, "partitions": [to_itself]}], timeout_ms=5000)
    walk.every("ListPartitionReassignments", topics=None, timeout_ms=5000)


def moved(walk: Walk) -> None:
    """To the other folder of its broker."""
    walk.topic("moved")
    one = [{"topic": "moved", "partitions": [0]}]
    walk.wait(
        "the log", lambda: [found for found in walk.latest("DescribeLogDirs", topics=one).results if found.topics]
    )
    folders = {folder.log_dir: folder for folder in walk.every("DescribeLogDirs", topics=one)[-1].results}
    assert folders.keys() == {str(folder) for folder in walk.broker.log_dirs}
    free = next(name for name, folder in folders.items() if not folder.topics)
    walk.every("AlterReplicaLogDirs", dirs=[{"path": free, "topics": [{"name": "moved", "partitions": [0]}]}])
