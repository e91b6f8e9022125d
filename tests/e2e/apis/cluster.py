"""The cluster as a whole: versions, nodes, the quorum."""

from __future__ import annotations

from kwire.uuids import Uuid
from kwire_kafka.errors import ErrorCode
from tests.e2e.walk import SOFTWARE, Walk
from tests.real_kafka.broker import HOST, NODE

METADATA = "__cluster_metadata"
NOBODY = Uuid(b"\5" * 16)
BROKERS, CONTROLLERS = 1, 2


def api_versions(walk: Walk) -> None:
    assert all(response.api_keys for response in walk.every("ApiVersions", **SOFTWARE))


def cluster(walk: Walk) -> None:
    walk.every("DescribeCluster", include_cluster_authorized_operations=True, endpoint_type=BROKERS)
    partitions = [{"partition_index": 0}]
    for response in walk.every("DescribeQuorum", topics=[{"topic_name": METADATA, "partitions": partitions}]):
        assert response.topics[0].partitions[0].leader_id == NODE
    walk.every("UnregisterBroker", broker_id=44, allow={ErrorCode.BROKER_ID_NOT_REGISTERED})


def voters(walk: Walk) -> None:
    """Nobody is there to become a voter: the quorum waits for it, and gives up."""
    voter = {"cluster_id": None, "voter_id": 9, "voter_directory_id": NOBODY}
    listeners = [{"name": "CONTROLLER", "host": HOST, "port": 9}]
    walk.every("AddRaftVoter", **voter, listeners=listeners, timeout_ms=200, allow={ErrorCode.REQUEST_TIMED_OUT})
    walk.every("RemoveRaftVoter", **voter, allow={ErrorCode.VOTER_NOT_FOUND})
    walk.every("UnregisterController", controller_id=9, allow={ErrorCode.CONTROLLER_ID_NOT_REGISTERED})
