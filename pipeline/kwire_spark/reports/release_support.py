"""Releases of Kafka that deprecate or refuse a version of an API [KIP-896, KAFKA-WIRE 2.1].

Releases are exact, since some removals were reverted: JoinGroup 0-1 is refused by 4.0.0 alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from kwire_kafka.releases import RELEASES


@cache
def refused_by(api_key: int, version: int) -> tuple[str, ...]:
    """The releases that refuse a version that an earlier one accepted, oldest first; not those that are too old for
    it."""
    accepting = [name for name, release in RELEASES.items() if _accepts(name, api_key, version)]
    if not accepting:
        return ()
    names = list(RELEASES)
    later = names[names.index(accepting[0]) :]
    return tuple(name for name in later if name not in accepting)


@cache
def deprecated_in(api_key: int, version: int) -> tuple[str, ...]:
    """The releases that deprecate a version, oldest first; from 3.7 on."""
    return tuple(
        name
        for name, release in RELEASES.items()
        if api_key in release.apis and version in release.apis[api_key].deprecated
    )


def is_known(api_key: int, version: int) -> bool:
    """Whether any release accepts this version."""
    return any(_accepts(name, api_key, version) for name in RELEASES)


def spans(releases: Sequence[str]) -> str:
    """Releases as text, with adjacent ones joined.

    >>> spans(["3.7.2", "3.8.1", "4.0.0"]), spans(["4.0.1", "4.1.1"]), spans([])
    ('3.7.2 to 3.8.1, 4.0.0', '4.0.1 and newer', '')
    """
    order = list(RELEASES)
    runs: list[list[str]] = []
    for name in releases:
        if runs and order.index(runs[-1][-1]) + 1 == order.index(name):
            runs[-1].append(name)
        else:
            runs.append([name])
    return ", ".join(_run(run, order[-1]) for run in runs)


def _run(run: list[str], newest: str) -> str:
    if run[-1] == newest:
        return f"{run[0]} and newer"
    return run[0] if len(run) == 1 else f"{run[0]} to {run[-1]}"


def _accepts(name: str, api_key: int, version: int) -> bool:
    api = RELEASES[name].apis.get(api_key)
    return api is not None and (version in api.accepted or version in api.unstable)
