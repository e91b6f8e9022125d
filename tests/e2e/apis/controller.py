"""What brokers and controllers say to the active controller, said by a broker that exists only on paper."""

from __future__ import annotations

import re
from typing import Any

from kwire.uuids import Uuid
from kwire_kafka import PROTOCOL, CreateTopicsResponse, DefaultPrincipalData
from kwire_kafka.errors import ErrorCode
from tests.e2e.apis.cluster import CONTROLLERS, METADATA
from tests.e2e.apis.security import SCRAM_SHA_256, credential
from tests.e2e.messages import build
from tests.e2e.walk import SOFTWARE, Walk
from tests.real_kafka.broker import HOST, NODE

METADATA_ID = Uuid(bytes(15) + b"\1")
ENDPOINT = {"name": "CONTROLLER", "host": HOST, "port": 9}
CREATE_TOPICS = 19
PAPER = 90
"""The first of the node ids on paper; one for each version of BrokerRegistration."""


def raft(walk: Walk) -> None:
    """The log of the quorum is read, and its snapshots; votes and epochs are those of a leader who has lost."""
    quorum = walk.latest("DescribeQuorum", topics=_metadata()).topics[0].partitions[0]
    partition = {
        "partition": 0,
        "current_leader_epoch": quorum.leader_epoch,
        "last_fetched_epoch": quorum.leader_epoch,
        "fetch_offset": quorum.high_watermark - 1,
        "partition_max_bytes": 4000,
    }
    for version in walk.versions("Fetch"):
        topic = {"topic": METADATA, "topic_id": METADATA_ID, "partitions": [partition]}
        by_name = {ErrorCode.INVALID_REQUEST} if version < 13 else ()  # the quorum goes by topic ids
        fetched = walk.ask("Fetch", version, replica_id=-1, max_bytes=4000, topics=[topic], allow=by_name)
        assert by_name or fetched.responses[0].partitions[0].records
    _snapshots(walk, quorum.leader_epoch)
    walk.every("DescribeQuorum", topics=_metadata())
    lost = {ErrorCode.FENCED_LEADER_EPOCH}
    walk.every("Vote", voter_id=NODE, topics=_metadata(replica_id=2, replica_epoch=quorum.leader_epoch), allow=lost)
    walk.every("BeginQuorumEpoch", voter_id=NODE, topics=_metadata(leader_id=2), allow=lost)
    walk.every("EndQuorumEpoch", topics=_metadata(leader_id=2), allow=lost)


def _metadata(**partition: Any) -> list[dict[str, Any]]:
    return [{"topic_name": METADATA, "partitions": [{"partition_index": 0, **partition}]}]


def _snapshots(walk: Walk, epoch: int) -> None:
    walk.topic(walk.prefix + "worth-a-snapshot", 40)
    folder = walk.broker.log_dir / f"{METADATA}-0"
    snapshot = walk.wait("a snapshot", lambda: sorted(folder.glob("*.checkpoint"))[1:])[-1]  # the first is empty
    found = re.fullmatch(r"(\d+)-(\d+)\.checkpoint", snapshot.name)
    assert found
    partition = {
        "partition": 0,
        "current_leader_epoch": epoch,
        "snapshot_id": {"end_offset": int(found[1]), "epoch": int(found[2])},
        "position": 0,
    }
    topic = {"name": METADATA, "partitions": [partition]}
    for response in walk.every("FetchSnapshot", replica_id=-1, max_bytes=1 << 20, topics=[topic]):
        assert response.topics[0].partitions[0].size == snapshot.stat().st_size


def brokers(walk: Walk) -> None:
    """Brokers on paper register, live for a moment, ask for what brokers ask for, and are struck off the list."""
    supported = walk.latest("ApiVersions", **SOFTWARE).supported_features
    features = [
        {
            "name": feature.name,
            "min_supported_version": feature.min_version,
            "max_supported_version": feature.max_version,
        }
        for feature in supported
    ]
    cluster_id = walk.latest("DescribeCluster", endpoint_type=CONTROLLERS).cluster_id
    listener = {"name": "PLAINTEXT", "host": HOST, "port": 9, "security_protocol": 0}
    for version in walk.versions("BrokerRegistration"):
        registered = walk.ask(
            "BrokerRegistration",
            version,
            broker_id=PAPER + version,
            cluster_id=cluster_id,
            incarnation_id=_uuid(version),
            listeners=[listener],
            features=features,
            log_dirs=[_uuid(100 + version)],
            allow={ErrorCode.INVALID_REGISTRATION} if version < 2 else (),  # without log directories
        )
        if not registered.error_code:
            _life_on_paper(walk, broker_id=PAPER + version, broker_epoch=registered.broker_epoch)
    controller = {"controller_id": NODE, "incarnation_id": _uuid(NODE), "listeners": [listener], "features": features}
    walk.every("ControllerRegistration", **controller)


def _life_on_paper(walk: Walk, **broker: int) -> None:
    walk.every("BrokerHeartbeat", **broker, current_metadata_offset=1, want_fence=True)
    walk.every("AllocateProducerIds", **broker)
    walk.every("AlterPartition", **broker, topics=[])
    walk.every("AssignReplicasToDirs", **broker, directories=[])
    walk.every("UnregisterBroker", broker_id=broker["broker_id"])


def _uuid(number: int) -> Uuid:
    return Uuid(bytes([0x60, *bytes(14), number]))


def nodes(walk: Walk) -> None:
    brokers_wanted = {ErrorCode.INVALID_REQUEST}  # version 0 cannot say that it wants to know the controllers
    for version in walk.versions("DescribeCluster"):
        walk.ask("DescribeCluster", version, endpoint_type=CONTROLLERS, allow=() if version else brokers_wanted)
    not_in_kraft = {ErrorCode.UNKNOWN_SERVER_ERROR}  # listed by Kafka 3.9.1, implemented for ZooKeeper only
    walk.every("ControlledShutdown", broker_id=77, broker_epoch=1, allow=not_in_kraft)
    voter = {"cluster_id": None, "current_leader_epoch": 0, "voter_id": NODE, "listeners": [ENDPOINT]}
    walk.every("UpdateRaftVoter", **voter, allow={ErrorCode.FENCED_LEADER_EPOCH})


def envelopes(walk: Walk) -> None:
    """A request that a broker forwards for its client, header included."""
    topic = {"name": "enveloped", "num_partitions": 1, "replication_factor": 1}
    inner = build("CreateTopics", 7, {"topics": [topic], "timeout_ms": 5000, "validate_only": True})
    (answer,) = walk.every(
        "Envelope",
        request_data=PROTOCOL.encode_request(inner, 7, correlation_id=4711, client_id="inner"),
        request_principal=b"\0\0" + DefaultPrincipalData(type="User", name="admin").encode(0),
        client_host_address=bytes([127, 0, 0, 1]),
    )
    opened = PROTOCOL.decode_response(answer.response_data, CREATE_TOPICS, 7)
    assert isinstance(opened.message, CreateTopicsResponse)
    assert opened.header.correlation_id == 4711
    assert [(topic.name, topic.error_code) for topic in opened.message.topics] == [("enveloped", 0)]


def credentials(walk: Walk) -> None:
    """Who has not authenticated gets no token, and cannot authenticate where nobody asks for it."""
    walk.every("SaslHandshake", mechanism="PLAIN", allow={ErrorCode.ILLEGAL_SASL_STATE})
    walk.every("SaslAuthenticate", auth_bytes=b"\0admin\0admin-secret", allow={ErrorCode.ILLEGAL_SASL_STATE})
    refused = {ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED}
    walk.every("CreateDelegationToken", renewers=[], max_lifetime_ms=-1, allow=refused)
    walk.every("RenewDelegationToken", hmac=b"none", renew_period_ms=1, allow=refused)
    walk.every("ExpireDelegationToken", hmac=b"none", expiry_time_period_ms=1, allow=refused)
    unknown = {ErrorCode.UNKNOWN_SERVER_ERROR}  # listed, but a controller does not implement it
    walk.every("DescribeDelegationToken", owners=None, allow=unknown)
    walk.every("AlterUserScramCredentials", upsertions=[credential("erin", SCRAM_SHA_256)])
    walk.every("DescribeUserScramCredentials", users=[], allow=unknown)
