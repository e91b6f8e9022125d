"""The requests of clients, and the refusals by targets, in the Prometheus text format (version 0.0.4).

Client names come from the wire, so they are untrusted. The names are escaped, and limited in length and number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kwire_inspect.reports.client_usage import Use
from kwire_inspect.reports.judgement import Judgement
from kwire_inspect.reports.release_support import REFUSED, SEVERITY
from kwire_inspect.reports.text import visible

MAX_CLIENTS = 1_000
"""Maximum number of time series with client names per target. The series with the most requests are kept."""

Labels = tuple[tuple[str, str], ...]


def exposition(uses: Iterable[Use], judgements: Sequence[Judgement]) -> str:
    """Return these metrics:

    - ``kwire_requests_total``: requests seen, by ``api`` and ``version``
    - ``kwire_refusals_total``: requests that a broker refused
    - ``kwire_clients``: clients by ``target`` and worst ``verdict``, each counted once, however many addresses
      it has
    - ``kwire_refused_client_requests_total``: requests that a ``target`` refuses, by ``client_id``, ``address``,
      ``api`` and ``version``, at most :data:`MAX_CLIENTS` for each target
    """
    requests: Counter[Labels] = Counter()
    refusals: Counter[Labels] = Counter()
    for use in uses:
        labels = _labels(api=use.api, version=use.version)
        requests[labels] += use.requests
        refusals[labels] += use.refusals
    clients: Counter[Labels] = Counter()
    refused: Counter[Labels] = Counter()
    for judgement in judgements:  # these judgements are not rolled up
        name = judgement.target.name
        clients.update({_labels(target=name, verdict=state): 0 for state in SEVERITY})
        worst = (verdicts[0][1].state for verdicts in judgement.rolled_up().by_client().values())
        clients.update(_labels(target=name, verdict=state) for state in worst)
        refused.update(_refused(judgement))
    lines = [
        *_metric("kwire_requests_total", "counter", "Requests seen.", requests),
        *_metric("kwire_refusals_total", "counter", "Requests that a broker refused.", refusals),
        *_metric("kwire_clients", "gauge", "Clients, by the worst verdict on their requests.", clients),
        *_metric("kwire_refused_client_requests_total", "counter", "Requests that a target refuses.", refused),
    ]
    return "".join(f"{line}\n" for line in lines)


def _refused(judgement: Judgement) -> Mapping[Labels, int]:
    found: Counter[Labels] = Counter()
    for use, verdict in judgement.clients:
        if verdict.state == REFUSED:
            who = _labels(target=judgement.target.name, client_id=use.client.client_id, address=use.client.host)
            found[*who, *_labels(api=use.api, version=use.version)] += use.requests
    return dict(found.most_common(MAX_CLIENTS))


def _labels(**texts: str | int | None) -> Labels:
    """Return the labels in escaped form, so that names which look the same share a series."""
    return tuple((label, visible("" if text is None else str(text))) for label, text in texts.items())


def _metric(name: str, kind: str, meaning: str, values: Mapping[Labels, int]) -> Iterator[str]:
    yield f"# HELP {name} {meaning}"
    yield f"# TYPE {name} {kind}"
    for labels, value in sorted(values.items()):
        inner = ",".join(f'{label}="{_quoted(text)}"' for label, text in labels)
        yield f"{name}{{{inner}}} {value}"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
