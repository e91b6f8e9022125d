"""Requests with versions newer than the newest known release. Each report mentions such requests once in its
summary."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kwire.protocol import TAKE_IN
from kwire_inspect.reports.client_usage import grouped, highest
from kwire_inspect.reports.text import counted

if TYPE_CHECKING:
    from kwire.protocol import MessageRegistry
    from kwire_inspect.reports.client_usage import Row

MAX_NAMED = 10
"""Maximum number of versions to name in a sentence."""


def newer_than_known(seen: Iterable[Row], protocol: MessageRegistry) -> tuple[str, ...]:
    """Return sentences, with advice, on requests with APIs or versions that ``protocol`` does not contain.

    ``seen`` contains rows of ``tables.clients.versions_seen``. For each version, only the input type with the highest
    count is used. The result is empty if there are no such requests.
    """
    groups = grouped(seen, lambda row: (row["api_key"], row["version"]))
    counts = {key: highest(rows, "requests") for key, rows in groups.items() if protocol.unknown(*key)}
    dropped = {key: count for key, count in counts.items() if _is_older(protocol, *key)}
    newest = protocol.newest_release
    known = f"Kafka {newest}, the newest known release" if newest else "the known versions"
    return (
        *_sentence(f"newer than {known}", counts.keys() - dropped.keys(), counts, protocol),
        *_sentence("older than the known versions", dropped.keys(), counts, protocol),
    )


def _sentence(
    what: str, keys: Iterable[tuple[int, int]], counts: dict[tuple[int, int], int], protocol: MessageRegistry
) -> list[str]:
    most = sorted(keys, key=lambda key: (-counts[key], key))
    if not most:
        return []
    names = [f"{_name(protocol, *key)} ({counts[key]:,})" for key in most[:MAX_NAMED]]
    names += [f"{len(most) - MAX_NAMED:,} more versions"] if len(most) > MAX_NAMED else []
    requests = counted(sum(counts[key] for key in most), "request")
    return [f"Counted but did not decode {requests} {what}: {', '.join(names)}; {TAKE_IN}."]


def _is_older(protocol: MessageRegistry, api_key: int, version: int) -> bool:
    """Return whether ``protocol`` lacks the version because its definitions are from releases that removed it."""
    return api_key in protocol.api_names and version < protocol.request(api_key).VALID_VERSIONS.start


def _name(protocol: MessageRegistry, api_key: int, version: int) -> str:
    name = protocol.api_names.get(api_key)
    return f"{name} {version}" if name else f"API key {api_key} in version {version}"
