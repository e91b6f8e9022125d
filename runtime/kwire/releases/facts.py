"""What is known of a release: its APIs with their versions, and the tagged fields it brought."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kwire.protocol import UnknownApi

Versions = range | tuple[int, int] | str
"""A range of versions: ``range(3, 12)``, ``(3, 11)`` or ``"3-11"``."""

NONE = range(0)


@dataclass(frozen=True, slots=True)
class Api:
    """One API in one release, or as one peer announced it.

    ``accepted``
        what is parsed and answered, in the configuration a broker is shipped with
    ``advertised``
        what an ApiVersions response says: more than is accepted for Produce since 4.0, nothing for the telemetry APIs
        unless a plugin for them is configured, nothing for the Raft APIs of 2.7, which were not served yet
        [KAFKA-18659, KIP-714, KAFKA-10492]
    ``deprecated``
        which of the accepted versions the release itself calls so, known since 3.7; some of these stayed after all,
        and some versions went without having been deprecated
    ``unstable``
        what is accepted and advertised besides, once ``unstable.api.versions.enable`` is set
    ``listeners``
        ``broker``, ``controller``, ``zkBroker`` (a broker with ZooKeeper); empty before 2.8, which did not tell
    """

    key: int
    name: str
    accepted: range
    advertised: range
    deprecated: range = NONE
    unstable: range = NONE
    listeners: tuple[str, ...] = ()

    def status(self, version: int) -> str:
        """``stable``, ``deprecated`` or ``unstable`` if a broker takes the version; ``refused`` if it only says so;
        ``none``."""
        if version in self.unstable:
            return "unstable"
        if version in self.accepted:
            return "deprecated" if version in self.deprecated else "stable"
        return "refused" if version in self.advertised else "none"

    def offered(self, *, unstable: bool) -> range:
        return _joined(self.advertised, self.unstable) if unstable else self.advertised

    def taken(self, *, unstable: bool) -> range:
        return _joined(self.accepted, self.unstable) if unstable else self.accepted


@dataclass(frozen=True, slots=True)
class TaggedField:
    """A tagged field that a release brought to versions that existed before."""

    message: str
    field: str
    tag: int
    versions: range


@dataclass(frozen=True, slots=True)
class Release:
    """What one release speaks. ``source`` says where this is known from; ``apis`` is by api key."""

    name: str
    source: str
    apis: Mapping[int, Api]
    tagged: tuple[TaggedField, ...] = ()

    def api(self, which: int | str) -> Api:
        """An API by its key, or by the name it has in this release."""
        for key, api in self.apis.items():
            if which in (key, api.name):
                return api
        raise UnknownApi(f"release {self.name} has no api {which!r}")


def format_range(versions: range) -> str:
    """``range(3, 12)`` → ``3-11``, an empty one → ``none``."""
    if not versions:
        return "none"
    return str(versions[0]) if len(versions) == 1 else f"{versions[0]}-{versions[-1]}"


def parse_versions(versions: Versions) -> range:
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
    """The range of two neighbours, of which each may be empty."""
    if not lower or not upper:
        return lower or upper
    return range(lower.start, upper.stop)
