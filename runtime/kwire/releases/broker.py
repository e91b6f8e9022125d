"""Compares the versions in a broker's own answer with the known releases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kwire.releases.facts import NONE, Release

ANSWERED = "its answer to ApiVersions"
"""The source of a ``Release`` that describes a broker."""

LISTENERS = ("broker", "zkBroker", "controller")


class Node(NamedTuple):
    """A node of the cluster, with the address for clients."""

    id: int
    host: str
    port: int
    rack: str | None


class Feature(NamedTuple):
    """A feature, with the lowest and highest version that the broker supports and the levels used by the cluster."""

    name: str
    supported: tuple[int, int] | None
    finalized: tuple[int, int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerAnswer:
    """A broker's description of itself. ``apis`` contains its advertised versions by API key.

    ``name`` is the address of the broker. The answer can be passed to ``Releases.negotiate``.
    """

    name: str
    apis: Mapping[int, range]
    features: tuple[Feature, ...] = ()
    cluster_id: str | None = None
    controller_id: int | None = None
    nodes: tuple[Node, ...] = ()

    @classmethod
    def from_json(cls, value: Any) -> BrokerAnswer:
        """Return a broker's name and versions from the output of ``kwire broker --format json``.

        Raise ``ValueError`` for other data.
        """
        try:
            rows = [(row["api_key"], row["min_version"], row["max_version"]) for row in value["apis"]]
            name = value["broker"]
        except (TypeError, KeyError):
            name, rows = "", []
        int16 = range(-(1 << 15), 1 << 15)
        offered = [row for row in rows if row[1:] != (None, None)]
        if not (offered and type(name) is str and all(type(n) is int and n in int16 for row in offered for n in row)):
            raise ValueError("expected the output of kwire broker --format json")
        return cls(name=name, apis={key: range(low, high + 1) for key, low, high in offered})


@dataclass(frozen=True, slots=True)
class ApiFit:
    """A broker's API compared with a release. The following attributes are version ranges.

    ``offered``
        the versions that the broker advertises, empty if it does not have the API
    ``lacks``
        versions that the release advertises but the broker does not
    ``more``
        versions that the broker advertises but the release neither advertises nor accepts
    ``unstable``
        versions that the broker advertises but that are unstable in the release
    ``refused``
        versions that both advertise but the release refuses [KAFKA-18659]
    """

    key: int
    name: str
    offered: range
    lacks: tuple[range, ...]
    more: tuple[range, ...]
    unstable: tuple[range, ...]
    refused: tuple[range, ...]


@dataclass(frozen=True, slots=True)
class BrokerFit:
    """The known releases closest to a broker, oldest first, and its APIs compared with the newest of them.

    ``exact`` is true if the advertised versions are equal, except for unstable versions and APIs that require a
    plugin. ``listener`` is the type of the listener: ``broker``, ``zkBroker`` or ``controller``. The type is empty
    for releases before 2.8.
    """

    releases: tuple[str, ...]
    listener: str
    exact: bool
    apis: tuple[ApiFit, ...] = field(repr=False)


def fit(answer: BrokerAnswer, releases: Mapping[str, Release], name_of: Callable[[int], str]) -> BrokerFit:
    """Return the releases that differ from a broker in the fewest versions, and a comparison with the newest one.

    Equally close releases are ranked by the number of the broker's versions that are unstable in them.
    """
    known = {key for release in releases.values() for key in release.apis}
    found: dict[tuple[int, int], list[tuple[str, str]]] = {}
    for release in releases.values():
        for listener in LISTENERS if any(api.listeners for api in release.apis.values()) else ("",):
            rows = [_compared(answer, release, key, listener) for key in known]
            differing = sum(len(part) for row in rows for part in row.lacks + row.more)
            unstable = sum(len(part) for row in rows for part in row.unstable)
            found.setdefault((differing, unstable), []).append((release.name, listener))
    nearest = min(found)
    newest, listener = found[nearest][-1]
    keys = sorted(releases[newest].apis.keys() | answer.apis.keys())
    rows = [_compared(answer, releases[newest], key, listener, name_of(key)) for key in keys]
    return BrokerFit(
        tuple(name for name, other in found[nearest] if other == listener),
        listener,
        nearest[0] == 0 and answer.apis.keys() <= known,
        tuple(row for row in rows if row.offered or row.lacks),
    )


def _compared(answer: BrokerAnswer, release: Release, key: int, listener: str, name: str = "") -> ApiFit:
    offered, api = answer.apis.get(key, NONE), release.apis.get(key)
    if api is None or (api.listeners and listener not in api.listeners):
        return ApiFit(key, name, offered, (), _without(offered, NONE), (), ())
    served = [versions for versions in (api.advertised, api.accepted, api.unstable) if versions]
    known = range(min(v.start for v in served), max(v.stop for v in served)) if served else NONE
    return ApiFit(
        key,
        name,
        offered,
        lacks=_without(api.advertised, offered),
        more=_without(offered, known),
        unstable=_without(_common(offered, api.unstable), NONE),
        refused=_without(_common(offered, api.advertised), api.accepted),
    )


def _common(one: range, other: range) -> range:
    return range(max(one.start, other.start), min(one.stop, other.stop)) if one and other else NONE


def _without(versions: range, other: range) -> tuple[range, ...]:
    """Return the non-empty parts of ``versions`` below and above ``other``."""
    below = range(versions.start, min(versions.stop, other.start)) if other else versions
    above = range(max(versions.start, other.stop), versions.stop) if other else NONE
    return tuple(part for part in (below, above) if part)
