"""Advice on clients that a target refuses: upgrade the library, or change one of its settings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

from kwire_inspect.reports.judgement import Judgement
from kwire_inspect.reports.libraries import CLIENT_APIS, JAVA, dotted, library_of, tried, works_since
from kwire_inspect.reports.release_support import REFUSED
from kwire_inspect.reports.report import Column, Table
from kwire_inspect.reports.text import listed, visible

if TYPE_CHECKING:
    from kwire.releases import Releases
    from kwire_inspect.reports.client_usage import Client
    from kwire_inspect.reports.libraries import Library

    Since = Callable[[str], tuple[int, ...] | None]
    """Function that returns the oldest version of a library that works on a target, or ``None``."""

SETTINGS = {
    "kafka-python": "remove `api_version` if it selects an old broker",
    "aiokafka": "remove `api_version` if it selects an old broker",
    "librdkafka": "remove `api.version.request` and `broker.version.fallback`, which select old versions",
    "sarama": "set `Config.Version` to 2.1 or newer",
    "franz-go": "remove `kgo.MaxVersions` if it selects an old broker",
}
"""Advice on settings that make a library use older API versions than necessary. The settings are from each library's
documentation, and were tried in ``tests.e2e_traffic.libraries``.
"""

ANY_SETTING = "look for a setting that selects an old broker or old versions"

ADVICE = Table("advice", "What to do", empty="Nothing. No client is refused.").with_columns(
    Column("advice", "what to do", whole=True),
    Column("clients", comment="Number of clients."),
    Column("examples", comment="Client ids of some of the clients."),
    "owners",
    Column("target"),
)
EXAMPLES = 5


def advice_table(judgements: Sequence[Judgement], releases: Releases) -> Table:
    """Return a table with one row per piece of advice and target, sorted by the number of clients in descending
    order."""
    groups: defaultdict[tuple[str, str], list[Client]] = defaultdict(list)
    for judgement in judgements:
        since = cache(partial(works_since, target=judgement.target, releases=releases))
        for client, verdicts in judgement.by_client().items():
            if refused := {use.api_key: use.api for use, verdict in verdicts if verdict.state == REFUSED}:
                text = advice(client, refused, judgement.target.name, since)
                groups[text, judgement.target.name].append(client)
    rows = []
    for (text, target), clients in sorted(groups.items(), key=lambda group: -len(group[1])):
        names = dict.fromkeys(client.client_id or str(client) for client in clients)
        rows.append(
            {
                "advice": text,
                "clients": len(clients),
                "examples": tuple(names)[:EXAMPLES],
                "owners": tuple(dict.fromkeys(filter(None, (client.owner for client in clients)))),
                "target": target,
            }
        )
    return ADVICE.with_rows(rows)


def advice(client: Client, refused: Mapping[int, str], target: str, since_of: Since) -> str:
    """Return advice for a client that uses API versions which ``target`` refuses.

    ``refused`` maps the keys of the refused APIs to their names. ``since_of`` returns the oldest version of a library
    that works on the target.
    """
    library, software = library_of(client), visible(client.software or "", 60)
    if not refused.keys() & set(CLIENT_APIS):  # the trials do not include administrative requests
        name = _named(library) if library else software or "the library"
        apis = listed([*refused.values()])
        return f"Upgrade {name} to its newest release, or ask the owner. The client sends old versions of {apis}."
    if library is None:
        return _unknown(software, target, since_of)
    since = since_of(library.name)
    if since is None:
        return f"Upgrade {_named(library._replace(version=()))}. None of the tested releases works with {target}."
    needed = f"{dotted(since)} or newer"
    setting = SETTINGS.get(library.name, ANY_SETTING)
    if not library.version:
        return f"Upgrade {_named(library)} to {needed}. If the library is new enough, change its settings: {setting}."
    if library.version < since:
        return f"Upgrade {_named(library)} to {needed}."
    return f"Change the settings of {_named(library)}, which supports newer API versions: {setting}."


def _named(library: Library) -> str:
    """Return the name and version of a library. If the library is a guess, add what the guess is based on."""
    name = "Kafka's Java clients" if library.name == JAVA else library.name
    version = f" {dotted(library.version)}" if library.version else ""
    return f"{name}{version} (its client id is the default of {name})" if library.is_guess else f"{name}{version}"


def _unknown(software: str, target: str, since_of: Since) -> str:
    names = [name for name in dict.fromkeys(one.library for one in tried()) if name != JAVA]
    working = [f"{name} {dotted(found)}" for name in names if (found := since_of(name))]
    java = since_of(JAVA)
    working += [f"Kafka's Java clients {dotted(java)}"] if java else []
    first = f"{software} is not a known library" if software else "The library is unknown"
    if not working:
        return f"{first}. Ask the owner."
    return f"{first}. Ask the owner. These library versions and newer ones work with {target}: {', '.join(working)}."
