"""ApiVersions: what a release advertises."""

from __future__ import annotations

import re

from kwire.releases import Release
from kwire_kafka import PROTOCOL, ApiVersionsRequest, ApiVersionsResponse
from kwire_kafka.api.api_versions import ApiVersion, FinalizedFeatureKey, SupportedFeatureKey
from kwire_kafka.errors import ErrorCode
from kwire_testing.call import HANDLERS, Call, answers
from kwire_testing.refusal import Refused

API_VERSIONS = 18
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?")
FEATURES = {"group.version": 1, "transaction.version": 2}
"""Features of clusters since 4.0, with the levels that are in use."""


@answers(ApiVersionsRequest, ApiVersionsResponse)
def api_versions(call: Call, request: ApiVersionsRequest, response: ApiVersionsResponse) -> None:
    """Answer with the versions of all APIs that the release has and that have a handler."""
    call.check()
    software = request.client_software_name, request.client_software_version
    if call.version >= 3 and not all(_SOFTWARE.fullmatch(text) for text in software):
        raise Refused(ErrorCode.INVALID_REQUEST)
    release, levels = call.cluster.release, features(call.cluster.release)
    response.api_keys = [
        ApiVersion(api_key=key, min_version=versions[0], max_version=versions[-1])
        for key, versions in advertised(release).items()
    ]
    response.supported_features = [
        SupportedFeatureKey(name=name, max_version=level) for name, level in levels.items()
    ]
    response.finalized_features_epoch = 1 if levels else -1
    response.finalized_features = [
        FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
        for name, level in levels.items()
    ]


def unsupported(release: Release) -> ApiVersionsResponse:
    """Return the answer to an unknown version of ApiVersions, which lists its versions since 2.4 [KAFKA-WIRE 6]."""
    versions = release.apis[API_VERSIONS].advertised
    known = [ApiVersion(api_key=API_VERSIONS, min_version=versions[0], max_version=versions[-1])]
    return ApiVersionsResponse(
        error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=known if at_least(release, 2, 4) else []
    )


def advertised(release: Release) -> dict[int, range]:
    """Return the advertised versions of each API that has a handler."""
    offered = {key: served(release, key, api.advertised) for key, api in release.apis.items() if key in HANDLERS}
    return {key: versions for key, versions in offered.items() if versions}


def accepts(release: Release, key: int, version: int) -> bool:
    """Return whether a broker of this release answers this version."""
    api = release.apis.get(key)
    return key in HANDLERS and api is not None and version in served(release, key, api.accepted)


def served(release: Release, key: int, versions: range) -> range:
    """Return those versions of an API that the broker's listener has."""
    api = release.apis[key]
    listener = "broker" if at_least(release, 3, 3) else "zkBroker"
    here = not api.listeners or listener in api.listeners
    known = PROTOCOL.request(key).VALID_VERSIONS
    return range(max(versions.start, known.start), min(versions.stop, known.stop)) if here else range(0)


def features(release: Release) -> dict[str, int]:
    """Return the features of a cluster of this release, with their levels."""
    return FEATURES if at_least(release, 4, 0) else {}


def at_least(release: Release, major: int, minor: int) -> bool:
    """Return whether a release is of this line or a newer one."""
    first, second = release.name.split(".")[:2]
    return (int(first), int(second)) >= (major, minor)
