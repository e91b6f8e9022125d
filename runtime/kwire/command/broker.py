"""``kwire broker``: compare the API versions of a broker with the known releases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from kwire.command.connecting import EXIT_CODES, connecting, talk
from kwire.command.options import PROTOCOL, Options, epilog, format_option, put, put_json
from kwire.errors import counted, cut
from kwire.protocol import registry
from kwire_rules import address_text, printable

if TYPE_CHECKING:
    from kwire.client import Client
    from kwire.releases import BrokerAnswer, BrokerFit, Feature

MAX_LINES = 100
"""Maximum number of nodes, and of features, in the text output."""

_EPILOG = f"""\
examples:
  kwire broker localhost:9092
  kwire broker broker.example:9093 --config client.properties --format json > broker.json
  kwire broker broker.example:9093 --ca ca.pem --mechanism SCRAM-SHA-512 --user alice --password-file secret
{EXIT_CODES}"""


@click.command(epilog=epilog(_EPILOG))
@connecting
@format_option("text", "json")
@PROTOCOL
def broker(**values: Any) -> int:
    """Ask the broker at ADDRESS which APIs it accepts, and compare the answer with the known releases.

    Print matching releases, API versions, features, cluster and nodes. ADDRESS is HOST:PORT. The default port is
    9092.
    """
    options = Options(**values)
    try:
        protocol = registry(options.protocol)
        releases = protocol.releases
    except (ImportError, ValueError) as problem:
        options.error(str(problem))

    async def printed(client: Client) -> int:
        from kwire.client import ask

        answer = await ask(client)
        found = releases.fit(answer)
        if options.format == "json":
            put_json(as_json(answer, found))
        else:
            put("\n".join(_text(answer, found)))
        return 0

    return talk(options, protocol, printed)


def as_json(answer: BrokerAnswer, found: BrokerFit) -> dict[str, Any]:
    """Return the answer as a JSON object that ``BrokerAnswer.from_json`` can read. Version ranges are strings."""
    return {
        "broker": answer.name,
        "releases": found.releases,
        "exact": found.exact,
        "listener": found.listener,
        "cluster_id": answer.cluster_id,
        "controller_id": answer.controller_id,
        "nodes": [node._asdict() for node in answer.nodes],
        "features": [feature._asdict() for feature in answer.features],
        "apis": [
            {
                "api_key": api.key,
                "name": api.name,
                "min_version": api.offered[0] if api.offered else None,
                "max_version": api.offered[-1] if api.offered else None,
                **{kind: _ranges(getattr(api, kind)) for kind in ("lacks", "more", "unstable", "refused")},
            }
            for api in found.apis
        ],
    }


def _text(answer: BrokerAnswer, found: BrokerFit) -> Iterator[str]:
    """Yield the lines of the text output.

    Text from the broker is escaped here, so that it cannot start a new line.
    """
    releases = f"Kafka {', '.join(found.releases)}" + (f" ({found.listener})" if found.listener else "")
    yield f"{printable(answer.name)} {'fits' if found.exact else 'fits no known release; the nearest is'} {releases}"
    yield ""
    if answer.cluster_id is not None:
        yield f"cluster     {printable(cut(answer.cluster_id))}, controller {answer.controller_id}"
    nodes = [
        f"{node.id} at {address_text(node.host, node.port)}" + (f", rack {node.rack}" if node.rack else "")
        for node in answer.nodes
    ]
    yield from _list("nodes", nodes)
    yield from _list("features", [_feature(feature) for feature in answer.features])
    yield ""
    rows = [("API", "key", "versions", f"against {found.releases[-1]}")]
    for api in found.apis:
        notes = [
            f"{kind} {text}"
            for kind in ("lacks", "more", "unstable", "refused")
            if (text := _ranges(getattr(api, kind)))
        ]
        rows.append((api.name, str(api.key), _ranges((api.offered,)) or "none", "; ".join(notes)))
    wide, key, versions, _ = (max(map(len, column)) for column in zip(*rows, strict=True))
    for row in rows:
        yield f"{row[0]:<{wide}}  {row[1]:>{key}}  {row[2]:<{versions}}  {row[3]}".rstrip()


def _list(title: str, items: Sequence[str]) -> Iterator[str]:
    for number, item in enumerate(items[:MAX_LINES]):
        yield f"{'' if number else title:<11} {printable(cut(item, 200))}"
    if len(items) > MAX_LINES:
        yield f"{'':<11} and {counted(len(items) - MAX_LINES, 'other')}"


def _feature(feature: Feature) -> str:
    supported = "unsupported" if feature.supported is None else "supported {}-{}".format(*feature.supported)
    used = "not finalized" if feature.finalized is None else f"at level {feature.finalized[1]}"
    return f"{feature.name} {used}, {supported}"


def _ranges(versions: Sequence[range]) -> str:
    from kwire.releases import format_range

    return ", ".join(format_range(part) for part in versions if part)
