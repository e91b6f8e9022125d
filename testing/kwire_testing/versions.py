"""API versions of a release."""

from __future__ import annotations

from kwire.releases import Release
from kwire_kafka import PROTOCOL
from kwire_testing.call import HANDLERS


def at_least(release: Release, major: int, minor: int) -> bool:
    """Return whether a release is at least ``major.minor``."""
    first, second = release.name.split(".")[:2]
    return (int(first), int(second)) >= (major, minor)


def served(release: Release, key: int, *, advertised: bool) -> range:
    """Return the versions that a broker advertises or accepts. The range is empty for an API without a handler."""
    api = release.apis.get(key)
    listener = "broker" if at_least(release, 3, 3) else "zkBroker"
    if key not in HANDLERS or api is None or (api.listeners and listener not in api.listeners):
        return range(0)
    versions, known = api.advertised if advertised else api.accepted, PROTOCOL.request(key).VALID_VERSIONS
    return range(max(versions.start, known.start), min(versions.stop, known.stop))
