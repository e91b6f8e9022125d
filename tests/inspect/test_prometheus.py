"""Metrics in Prometheus' text format, with hostile names in every place."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from kwire_inspect.reports import prometheus
from kwire_inspect.reports.client_usage import Client, Use
from kwire_inspect.reports.judgement import Judgement
from kwire_inspect.reports.prometheus import exposition
from kwire_kafka.releases import RELEASES

LINE = re.compile(r'(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+\{([a-z_]+="([^"\\\n]|\\["\\n])*",?)+\} [0-9]+)')
"""A comment, or a sample with quoted labels: the format, version 0.0.4."""


def metrics(*uses: Use, targets: tuple[str, ...] = ("4.1.1",)) -> str:
    return exposition(uses, [Judgement.of(uses, RELEASES[target]) for target in targets])


def use(name: str | None, api_key: int, version: int, requests: int = 1, refusals: int = 0) -> Use:
    return Use(Client(name, "10.0.0.1", None, None), api_key, f"key {api_key}", version, requests, refusals)


@given(st.text())
def test_any_name_is_one_label(name: str) -> None:
    text = metrics(use(name, 0, 2))
    assert all(LINE.fullmatch(line) for line in text.split("\n")[:-1])
    assert text.count("client_id=") == 1


def test_names_that_are_printed_alike_are_one_series() -> None:
    for one, other in (("\x1b", "\\x1b"), ("a" * 1000 + "b", "a" * 1000 + "c")):
        (line,) = [
            line for line in metrics(use(one, 0, 2, 3), use(other, 0, 2, 4)).split("\n") if "client_id=" in line
        ]
        assert line.endswith(" 7")


def test_series_with_names_are_limited() -> None:
    uses = [use(f"c{number}", 0, 2, number + 1) for number in range(prometheus.MAX_CLIENTS + 5)]
    text = metrics(*uses)
    assert text.count("client_id=") == prometheus.MAX_CLIENTS
    assert 'client_id="c4"' not in text
    assert f'kwire_clients{{target="4.1.1",verdict="refused"}} {len(uses)}' in text


def test_clients_may_become_fewer_and_requests_only_more() -> None:
    kinds = [line.split()[2:] for line in exposition([], []).splitlines() if line.startswith("# TYPE")]
    assert dict(kinds) == {
        "kwire_requests_total": "counter",
        "kwire_refusals_total": "counter",
        "kwire_clients": "gauge",
        "kwire_refused_client_requests_total": "counter",
    }


def test_the_whole_text() -> None:
    """Of two targets, with a client at two addresses, one without an id, and a name that has to be quoted."""
    rows = [("b", "1", (2, 4, 0)), ("a", "1", (1, 5, 2)), ("a", "2", (1, 3, 1))]
    uses = [Use(Client(name, host, None, None), 0, "Produce", *counts) for name, host, counts in rows]
    uses += [Use(Client(None, "3", None, None), 3, "Metadata", 9, 7, 0)]
    uses += [Use(Client('"\\\n', None, None, None), 0, "Produce", 1, 1, 1)]
    uses += [Use(Client("j", "1", None, None), 11, "JoinGroup", 1, 2), use("u", 9999, 0, 6, 6)]
    assert metrics(*uses, targets=("4.0.0", "4.1.1")).splitlines() == [
        "# HELP kwire_requests_total Requests seen.",
        "# TYPE kwire_requests_total counter",
        'kwire_requests_total{api="JoinGroup",version="1"} 2',
        'kwire_requests_total{api="Metadata",version="9"} 7',
        'kwire_requests_total{api="Produce",version="1"} 9',
        'kwire_requests_total{api="Produce",version="2"} 4',
        'kwire_requests_total{api="key 9999",version="0"} 6',
        "# HELP kwire_refusals_total Requests that a broker refused.",
        "# TYPE kwire_refusals_total counter",
        'kwire_refusals_total{api="JoinGroup",version="1"} 0',
        'kwire_refusals_total{api="Metadata",version="9"} 0',
        'kwire_refusals_total{api="Produce",version="1"} 4',
        'kwire_refusals_total{api="Produce",version="2"} 0',
        'kwire_refusals_total{api="key 9999",version="0"} 6',
        "# HELP kwire_clients Clients, by the worst verdict on their requests.",
        "# TYPE kwire_clients gauge",
        'kwire_clients{target="4.0.0",verdict="deprecated"} 0',
        'kwire_clients{target="4.0.0",verdict="ok"} 1',
        'kwire_clients{target="4.0.0",verdict="refused"} 4',
        'kwire_clients{target="4.0.0",verdict="unknown"} 1',
        'kwire_clients{target="4.0.0",verdict="unsure"} 0',
        'kwire_clients{target="4.1.1",verdict="deprecated"} 0',
        'kwire_clients{target="4.1.1",verdict="ok"} 2',
        'kwire_clients{target="4.1.1",verdict="refused"} 3',
        'kwire_clients{target="4.1.1",verdict="unknown"} 1',
        'kwire_clients{target="4.1.1",verdict="unsure"} 0',
        "# HELP kwire_refused_client_requests_total Requests that a target refuses.",
        "# TYPE kwire_refused_client_requests_total counter",
        *(
            f'kwire_refused_client_requests_total{{target="{target}",client_id="{name}",address="{host}",'
            f'api="{api}",version="{version}"}} {requests}'
            for target, name, host, api, version, requests in (
                ("4.0.0", r"\"\\\\n", "", "Produce", 1, 1),
                ("4.0.0", "a", "1", "Produce", 1, 5),
                ("4.0.0", "a", "2", "Produce", 1, 3),
                ("4.0.0", "b", "1", "Produce", 2, 4),
                ("4.0.0", "j", "1", "JoinGroup", 1, 2),
                ("4.1.1", r"\"\\\\n", "", "Produce", 1, 1),
                ("4.1.1", "a", "1", "Produce", 1, 5),
                ("4.1.1", "a", "2", "Produce", 1, 3),
                ("4.1.1", "b", "1", "Produce", 2, 4),
            )
        ),
    ]


def test_verdicts_on_nobody_are_zero() -> None:
    text = exposition([], [Judgement.of([], RELEASES[name]) for name in ("3.9.1", "4.1.1")])
    states = ("deprecated", "ok", "refused", "unknown", "unsure")
    expected = [
        f'kwire_clients{{target="{name}",verdict="{state}"}} 0' for name in ("3.9.1", "4.1.1") for state in states
    ]
    assert [line for line in text.splitlines() if not line.startswith("#")] == expected
