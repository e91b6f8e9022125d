"""Releases, with the versions of their APIs and the tagged fields that they introduced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kwire.errors import UnknownApiError

Versions = range | tuple[int, int] | str
"""A version range, such as ``range(3, 12)``, ``(3, 11)`` or ``"3-11"``."""

NONE = range(0)


@dataclass(frozen=True, slots=True)
class Api:
    """One API in one release, or as advertised by one peer.

    ``accepted``
        the versions that a broker with the default configuration parses and answers
    ``advertised``
        the versions in an ApiVersions response. Since 4.0, brokers advertise more versions of Produce than they
        accept. They advertise no versions of telemetry APIs unless a plugin for these APIs is configured. Brokers of
        2.7 advertise no versions of the Raft APIs, which they do not yet serve [KAFKA-18659, KIP-714, KAFKA-10492].
    ``deprecated``
        the accepted versions that the release declares deprecated. Releases before 3.7 declare no deprecations. Some
        of these versions were kept after all, and some other versions were removed without prior deprecation.
    ``unstable``
        the versions that are accepted and advertised only if ``unstable.api.versions.enable`` is set
    ``listeners``
        ``broker``, ``controller`` or ``zkBroker`` (a broker with ZooKeeper), unknown and therefore empty before 2.8
    """

    key: int
    name: str
    accepted: range
    advertised: range
    deprecated: range = NONE
    unstable: range = NONE
    listeners: tuple[str, ...] = ()

    def status(self, version: int) -> str:
        """Return the status of ``version`` in this release.

        The status is ``stable``, ``deprecated`` or ``unstable`` if a broker accepts the version, ``refused`` if it
        only advertises the version, and ``none`` otherwise.
        """
        if version in self.unstable:
            return "unstable"
        if version in self.accepted:
            return "deprecated" if version in self.deprecated else "stable"
        return "refused" if version in self.advertised else "none"

    def all_advertised(self, *, unstable: bool) -> range:
        """Return the advertised versions. With ``unstable``, include unstable versions."""
        return _joined(self.advertised, self.unstable) if unstable else self.advertised

    def all_accepted(self, *, unstable: bool) -> range:
        """Return the accepted versions. With ``unstable``, include unstable versions."""
        return _joined(self.accepted, self.unstable) if unstable else self.accepted


@dataclass(frozen=True, slots=True)
class TaggedField:
    """A tagged field that a release added to existing versions."""

    message: str
    field: str
    tag: int
    versions: range


@dataclass(frozen=True, slots=True)
class Release:
    """A release. ``source`` names the source of its data. ``apis`` maps API keys to APIs."""

    name: str
    source: str
    apis: Mapping[int, Api]
    tagged: tuple[TaggedField, ...] = ()

    def api(self, which: int | str) -> Api:
        """Return the API with this key or with this name in the release.

        Raise ``UnknownApiError`` if the release does not have this API.
        """
        for key, api in self.apis.items():
            if which in (key, api.name):
                return api
        raise UnknownApiError(which, [api.name for api in self.apis.values()], of=f"release {self.name}")


def format_range(versions: range) -> str:
    """Return a range as text, such as ``3-11``, or ``none`` for an empty range."""
    if not versions:
        return "none"
    return str(versions[0]) if len(versions) == 1 else f"{versions[0]}-{versions[-1]}"


def parse_versions(versions: Versions) -> range:
    """Return the range for a ``range``, a string, or a pair of the lowest and highest version.

    For a string, this is the inverse of ``format_range``.
    """
    if isinstance(versions, range):
        return versions
    if not isinstance(versions, str):
        low, high = versions
        return range(low, high + 1)
    if versions in ("", "none"):
        return NONE
    first, dash, last = versions.partition("-")
    return range(int(first), int(last if dash else first) + 1)


def _joined(lower: range, upper: range) -> range:
    """Return the union of two adjacent ranges, either of which may be empty."""
    if not lower or not upper:
        return lower or upper
    return range(lower.start, upper.stop)
