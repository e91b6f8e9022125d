"""The Kafka releases that deprecate or refuse an API version, and a release's verdict on a request, with the reason
[KIP-896, KAFKA-WIRE 2.1]. Spark is not required.

Patch releases are distinguished, because some removals were reverted. For example, only 4.0.0 refuses JoinGroup 0-1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import dropwhile
from typing import TYPE_CHECKING

from kwire.protocol import registry
from kwire.releases import format_range
from kwire.releases.broker import ANSWERED
from kwire_inspect.options import OptionError
from kwire_inspect.reports.text import runs
from kwire_kafka import ApiKey
from kwire_kafka.releases import RELEASES

if TYPE_CHECKING:
    from kwire.releases import Api, Release, Releases

OK, DEPRECATED, UNKNOWN, UNSURE, REFUSED = "ok", "deprecated", "unknown", "unsure", "refused"
SEVERITY = {OK: 0, DEPRECATED: 1, UNKNOWN: 2, UNSURE: 3, REFUSED: 4}

BETWEEN_BROKERS = frozenset(
    {
        ApiKey.LEADER_AND_ISR,
        ApiKey.STOP_REPLICA,
        ApiKey.UPDATE_METADATA,
        ApiKey.CONTROLLED_SHUTDOWN,
        ApiKey.WRITE_TXN_MARKERS,
        ApiKey.VOTE,
        ApiKey.BEGIN_QUORUM_EPOCH,
        ApiKey.END_QUORUM_EPOCH,
        ApiKey.ALTER_PARTITION,
        ApiKey.ENVELOPE,
        ApiKey.FETCH_SNAPSHOT,
        ApiKey.BROKER_REGISTRATION,
        ApiKey.BROKER_HEARTBEAT,
        ApiKey.ALLOCATE_PRODUCER_IDS,
        ApiKey.CONTROLLER_REGISTRATION,
        ApiKey.ASSIGN_REPLICAS_TO_DIRS,
        ApiKey.UPDATE_RAFT_VOTER,
        ApiKey.INITIALIZE_SHARE_GROUP_STATE,
        ApiKey.READ_SHARE_GROUP_STATE,
        ApiKey.WRITE_SHARE_GROUP_STATE,
        ApiKey.DELETE_SHARE_GROUP_STATE,
        ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
    }
)
"""APIs that only brokers and controllers use, so an upgrade changes both ends of a connection. The set contains
neither APIs that clients also use, such as Fetch, nor administrative APIs, such as UnregisterBroker.
"""


def releases_of(package: str) -> Releases:
    """Return the releases in a generated package. Raises :class:`OptionError` if the package defines none."""
    try:
        return registry(package).releases
    except (ImportError, ValueError) as error:
        hint = "Generate the package from definitions with a releases.json, or specify another with --releases"
        raise OptionError(f"no releases in the package {package}: {error}. {hint}") from None


@cache
def refused_by(api_key: int, version: int, releases: Releases = RELEASES) -> tuple[str, ...]:
    """Return the releases that refuse a version that an earlier release accepted, oldest first.

    Releases that are too old for the version are not included.
    """
    later = dropwhile(lambda name: not _accepts(releases[name], api_key, version), releases)
    return tuple(name for name in later if not _accepts(releases[name], api_key, version))


@cache
def deprecated_in(api_key: int, version: int, releases: Releases = RELEASES) -> tuple[str, ...]:
    """Return the releases that deprecate a version, oldest first. Deprecations are known for release 3.7 and
    newer."""
    return tuple(
        name
        for name, release in releases.items()
        if api_key in release.apis and version in release.apis[api_key].deprecated
    )


def is_known(api_key: int, version: int, releases: Releases = RELEASES) -> bool:
    """Return whether any release accepts this version."""
    return any(_accepts(release, api_key, version) for release in releases.values())


def is_newer(api_key: int, version: int, releases: Releases = RELEASES) -> bool:
    """Return whether the version is newer than all versions of this API that any release accepts."""
    apis = [release.apis[api_key] for release in releases.values() if api_key in release.apis]
    return bool(apis) and all(version >= api.all_accepted(unstable=True).stop for api in apis)


def spans(names: Sequence[str], releases: Releases = RELEASES) -> str:
    """Return the names of releases as text, with adjacent releases joined.

    >>> spans(["3.7.2", "3.8.0", "4.0.0"]), spans([])
    ('3.7.2 to 3.8.0, 4.0.0', '')
    """
    order = list(releases)
    texts = []
    for run in runs(map(order.index, names)):
        first, last = order[run[0]], order[run[-1]]
        several = f"{first} to {last}" if first != last else first
        texts.append(f"{first} and newer" if last == order[-1] else several)
    return ", ".join(texts)


def _accepts(release: Release, api_key: int, version: int) -> bool:
    api = release.apis.get(api_key)
    return api is not None and (version in api.accepted or version in api.unstable)


def _has_older(api_key: int, version: int, api: Api, releases: Releases) -> bool:
    """Return whether clients that send a version too new for ``api`` also support an older version that ``api``
    accepts. Assume that such clients support the versions of the first release that accepts ``version``. If no
    release accepts it, assume that they support the versions of the newest release.
    """
    first = next((release for release in releases.values() if _accepts(release, api_key, version)), releases.newest)
    return api_key in first.apis and first.apis[api_key].accepted.start < api.accepted.stop


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict on a request. ``state`` is one of :data:`SEVERITY`. ``reason`` is empty if the state is ok.

    ``first`` is the first release that refuses the version after an earlier release accepted it. ``deprecated`` is
    the first release that deprecates the version.
    """

    state: str
    reason: str = ""
    first: str | None = None
    deprecated: str | None = None


def judge(
    api_key: int, version: int, target: Release, *, negotiates: bool = False, releases: Releases = RELEASES
) -> Verdict:
    """Return the verdict of ``target``. ``negotiates`` is true if the client was seen to send ApiVersions requests.

    The verdict depends on the versions that a release accepts, not on the versions that it advertises. For example,
    4.x advertises Produce 0-2 but refuses them, and only 4.0.0 refuses JoinGroup 0-1 [KAFKA-18334, KAFKA-19444]. A
    version that is too new for the release does no harm if the client negotiates, because the client will then use a
    lower version. ``releases`` are the known releases. The target is one of these releases, unless ``RELEASES.of``
    created the target from a broker's answer.
    """
    first = next(iter(refused_by(api_key, version, releases)), None)
    deprecated = next(iter(deprecated_in(api_key, version, releases)), None)
    return Verdict(*_state(api_key, version, target, negotiates, releases), first, deprecated)


def _state(api_key: int, version: int, target: Release, negotiates: bool, releases: Releases) -> tuple[str, str]:
    api = target.apis.get(api_key)
    always_answered = api_key == ApiKey.API_VERSIONS
    if api is not None and (version in api.accepted or always_answered):
        return (DEPRECATED, "a future release will remove the version") if version in api.deprecated else (OK, "")
    if api is not None and version in api.unstable:
        return UNSURE, "accepted only if unstable.api.versions.enable is set"
    if (
        api is not None
        and negotiates
        and version >= api.accepted.stop
        and _has_older(api_key, version, api, releases)
    ):
        return OK, ""
    if target.source == ANSWERED:
        return _not_offered(api, version, negotiates)
    if is_newer(api_key, version, releases):
        return UNKNOWN, f"newer than Kafka {releases.newest.name}, the newest known release"
    if not is_known(api_key, version, releases):
        has_api = any(api_key in release.apis for release in releases.values())
        return UNKNOWN, f"no known release has this {'version' if has_api else 'API'}"
    refusing = refused_by(api_key, version, releases)
    if target.name in refusing:
        return REFUSED, f"refused by {spans(refusing, releases)}"
    if negotiates:
        lacks = "does not have this API" if api is None else "accepts only older versions, which the client may lack"
        return UNSURE, f"the client negotiates, but the target {lacks}"
    return REFUSED, "newer than the target, and the client was not seen to negotiate versions"


def _not_offered(api: Api | None, version: int, negotiates: bool) -> tuple[str, str]:
    """Return the state and reason for a version that a broker does not accept. The broker's release may be
    unknown."""
    has = f"accepts {format_range(api.accepted)}" if api and api.accepted else "does not offer this API"
    if api and version < api.accepted.start:
        return REFUSED, f"the broker {has}"
    if negotiates:
        return UNSURE, f"the client negotiates, but the broker {has}"
    return REFUSED, f"the broker {has}, and the client was not seen to negotiate versions"


def titled(target: Release) -> str:
    """Return the name of a target with its kind, such as ``Kafka 4.1.1`` or ``the broker b.example:9092``."""
    return f"{'the broker' if target.source == ANSWERED else 'Kafka'} {target.name}"


def each_once(targets: Iterable[Release]) -> list[Release]:
    """Return the targets without duplicates.

    Raises :class:`OptionError` if different targets have the same name, because reports distinguish them by name.
    """
    found: dict[str, Release] = {}
    for target in targets:
        if found.setdefault(target.name, target).apis != target.apis:
            raise OptionError(f"two different targets are named {target.name}: specify them by different names")
    return list(found.values())
