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
