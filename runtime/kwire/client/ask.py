"""Asking a broker to describe itself and its cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire.connection import NoCommonVersionError
from kwire.releases.broker import BrokerAnswer, Feature, Node

if TYPE_CHECKING:
    from kwire.client.client import Client

CONTROLLERS = 2
"""The endpoint type in a DescribeCluster request to a controller [KIP-919]."""


async def ask(client: Client) -> BrokerAnswer:
    """Return the API versions and features that a broker supports, and the id and nodes of its cluster.

    The id and nodes come from a Metadata request. For a controller, which does not support Metadata, they come from a
    DescribeCluster request. If neither request is supported, the id is ``None`` and ``nodes`` is empty.
    """
    announced = client.api_versions
    supported = {feature.name: (feature.min_version, feature.max_version) for feature in announced.supported_features}
    finalized = {f.name: (f.min_version_level, f.max_version_level) for f in announced.finalized_features}
    names = dict.fromkeys([*supported, *finalized])
    cluster = await _cluster(client)
    return BrokerAnswer(
        name=client.address,
        apis=dict(client.versions),
        features=tuple(Feature(name, supported.get(name), finalized.get(name)) for name in names),
        cluster_id=getattr(cluster, "cluster_id", None),
        controller_id=getattr(cluster, "controller_id", None),
        nodes=tuple(
            Node(getattr(node, "node_id", getattr(node, "broker_id", -1)), node.host, node.port, node.rack)
            for node in getattr(cluster, "brokers", ())
        ),
    )


async def _cluster(client: Client) -> Any:
    metadata: Any = client.protocol["MetadataRequest"]
    describe: Any = client.protocol["DescribeClusterRequest"]
    for request in (metadata(topics=[]), describe(endpoint_type=CONTROLLERS)):
        try:
            version = client.version(type(request))
        except NoCommonVersionError:
            continue
        return (await client.call(request, version)).message
    return None
