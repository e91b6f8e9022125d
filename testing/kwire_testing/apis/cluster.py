"""Handlers for ApiVersions, logins, nodes and coordinators."""

from __future__ import annotations

import re

import kwire_kafka as kafka
from kwire.releases import Release
from kwire_kafka.api.api_versions import ApiVersion, FinalizedFeatureKey, SupportedFeatureKey
from kwire_kafka.api.describe_cluster import DescribeClusterBroker
from kwire_kafka.api.find_coordinator import Coordinator
from kwire_kafka.enums import CoordinatorType
from kwire_kafka.errors import ErrorCode
from kwire_testing.call import Call, answers, at_least, served
from kwire_testing.login import MECHANISMS
from kwire_testing.refusal import Refused

API_VERSIONS = 18
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?")
FEATURES = {"group.version": 1, "transaction.version": 2}
"""Features of clusters since 4.0, with their current levels."""
BROKERS = 1
"""Endpoint type of brokers, which is the only type that a broker accepts."""


@answers
def offer_versions(call: Call, request: kafka.ApiVersionsRequest, response: kafka.ApiVersionsResponse) -> None:
    """List the versions of all APIs that the release supports and that have a handler."""
    call.check()
    software = request.client_software_name, request.client_software_version
    if call.version >= 3 and not all(_SOFTWARE.fullmatch(text) for text in software):
        raise Refused(ErrorCode.INVALID_REQUEST)
    release = call.cluster.release
    response.api_keys = [
        ApiVersion(api_key=key, min_version=versions[0], max_version=versions[-1])
        for key in release.apis
        if (versions := served(release, key, advertised=True))
    ]
    if at_least(release, 4, 0):
        response.supported_features = [
            SupportedFeatureKey(name=name, max_version=FEATURES[name]) for name in FEATURES
        ]
        response.finalized_features_epoch = 1
        response.finalized_features = [
            FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
            for name, level in FEATURES.items()
        ]


def unsupported(release: Release) -> kafka.ApiVersionsResponse:
    """Return the response to an unknown version of ApiVersions. Since 2.4, the response lists the supported versions
    of ApiVersions [KAFKA-WIRE 6].
    """
    versions = release.apis[API_VERSIONS].advertised
    known = [ApiVersion(api_key=API_VERSIONS, min_version=versions[0], max_version=versions[-1])]
    return kafka.ApiVersionsResponse(
        error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=known if at_least(release, 2, 4) else []
    )


@answers
def begin_login(call: Call, request: kafka.SaslHandshakeRequest, response: kafka.SaslHandshakeResponse) -> None:
    """Start a login. After version 0 of SaslHandshake, the client sends tokens without headers."""
    response.mechanisms = [*MECHANISMS]
    call.check()
    call.login.begin(request.mechanism)


@answers
def go_on_with_login(
    call: Call, request: kafka.SaslAuthenticateRequest, response: kafka.SaslAuthenticateResponse
) -> None:
    call.check()
    response.auth_bytes = call.login.answer(request.auth_bytes)


@answers
def describe_cluster(
    call: Call, request: kafka.DescribeClusterRequest, response: kafka.DescribeClusterResponse
) -> None:
    call.check()
    if call.version and request.endpoint_type != BROKERS:
        raise Refused(ErrorCode.MISMATCHED_ENDPOINT_TYPE)
    cluster = call.cluster
    response.cluster_id, response.controller_id = cluster.id, min(cluster.nodes)
    response.brokers = [
        DescribeClusterBroker(broker_id=node.id, host=node.host, port=node.port) for node in cluster.nodes.values()
    ]


@answers
def find_coordinators(
    call: Call, request: kafka.FindCoordinatorRequest, response: kafka.FindCoordinatorResponse
) -> None:
    """Find the coordinator of each group or transactional id."""

    def find(key: str, answer: Coordinator | kafka.FindCoordinatorResponse) -> None:
        answer.node_id = answer.port = -1
        call.check(key=key)
        if request.key_type not in (CoordinatorType.GROUP, CoordinatorType.TRANSACTION):
            raise Refused(ErrorCode.INVALID_REQUEST)
        node = call.cluster.coordinator(key)
        answer.node_id, answer.host, answer.port = node.id, node.host, node.port

    call.each(find, request, response, "coordinator_keys", "coordinators")
    if call.version < 4:
        find(request.key, response)
