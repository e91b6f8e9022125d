"""What a release says to a request, and why: one version of one API, of a client that asks for versions or does not.

Takes what was used and the :class:`~kwire.releases.Release` in question, gives a :class:`Verdict`. No Spark.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire_kafka import ApiKey
from kwire_kafka.releases import RELEASES
from kwire_spark.reports.release_support import deprecated_in, is_known, refused_by, spans

if TYPE_CHECKING:
    from kwire.releases import Release

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
"""APIs that brokers and controllers use; an upgrade changes both ends. Fetch and others, which clients use too, are
not among them, nor are UpdateFeatures and UnregisterBroker, which are those of administrators."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """``state`` is one of :data:`SEVERITY`; ``reason`` is a sentence, empty if all is well.

    ``first`` is the first release that refuses what one before accepted, ``deprecated`` the first to call it so.
    """

    state: str
    reason: str = ""
    first: str | None = None
    deprecated: str | None = None


def judge(api_key: int, version: int, target: Release, *, negotiates: bool = False) -> Verdict:
    """What ``target`` does with it. ``negotiates``: the client was seen to ask for versions (ApiVersions).

    The truth is what the release accepts, not what it advertises: Produce 0-2 is advertised by 4.x and refused, and
    JoinGroup 0-1 is refused by 4.0.0 alone [KAFKA-18334, KAFKA-19444]. A version above all that the release accepts
    is no danger to a client that asks: it takes a lower one.
    """
    refusing, deprecating = refused_by(api_key, version), deprecated_in(api_key, version)
    first, deprecated = (refusing or (None,))[0], (deprecating or (None,))[0]
    state, reason = _state(api_key, version, target, negotiates)
    return Verdict(state, reason, first, deprecated)


def _state(api_key: int, version: int, target: Release, negotiates: bool) -> tuple[str, str]:
    api = target.apis.get(api_key)
    if api is not None and (
        api_key == ApiKey.API_VERSIONS or version in api.accepted
    ):  # ApiVersions always has an answer
        return (DEPRECATED, "it is going to be removed") if version in api.deprecated else (OK, "")
    if api is not None and version in api.unstable:
        return UNSURE, "accepted only where unstable.api.versions.enable is set"
    if not is_known(api_key, version):
        return UNKNOWN, (
            "no release that is known has it" if _has(api_key) else "no release that is known has this API"
        )
    refusing = refused_by(api_key, version)
    if target.name in refusing:
        return REFUSED, f"refused by {spans(refusing)}"
    if negotiates:
        return UNSURE, "newer than the target; the client asks for versions, and takes an older one if it has it"
    return REFUSED, "newer than the target, and the client was not seen to ask for versions"


def _has(api_key: int) -> bool:
    return any(api_key in release.apis for release in RELEASES.values())
