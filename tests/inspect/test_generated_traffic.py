"""Reports on generated traffic with two of everything, compared whole with plain Python on one row at a time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from math import ceil
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.releases import Release
from kwire_inspect.command.reports import clients_report, usage_of
from kwire_inspect.reports.census import census
from kwire_inspect.reports.client_usage import Client, Use, uses_of
from kwire_inspect.reports.judgement import Judgement
from kwire_inspect.reports.latency import latency
from kwire_inspect.reports.prometheus import exposition
from kwire_inspect.reports.readiness import readiness
from kwire_inspect.reports.release_support import SEVERITY, Verdict, judge
from kwire_inspect.reports.report import Table
from kwire_kafka.errors import ErrorCode
from kwire_kafka.releases import RELEASES
from tests.support.effort import examples
from tests.support.report_rows import START, client, clients_of, exchange, exchanges_of

Row = dict[str, Any]
T = TypeVar("T")


def grouped(rows: Iterable[Row], *names: str) -> dict[Any, list[Row]]:
    groups = defaultdict(list)
    for row in rows:
        groups[tuple(row[name] for name in names)].append(row)
    return groups


def few_or_many(rows: st.SearchStrategy[T]) -> st.SearchStrategy[list[T]]:
    """So many that some are alike in all columns but one; or a few, which are easy to read."""
    many = st.lists(rows, min_size=15, max_size=40)
    return st.lists(rows, max_size=3) | many | many


@st.composite
def exchanges(draw: Callable[..., Any]) -> list[Row]:
    """Requests, some of them several times, each at a place of its own."""
    facts = st.fixed_dictionaries(
        {
            "api_key": st.sampled_from([0, 1, 3, 9999, None]),
            "version": st.sampled_from([1, 2]),
            "client_id": st.sampled_from([None, "one", "two"]),
            "client_host": st.sampled_from(["10.0.0.1", "10.0.0.2"]),
            "principal": st.sampled_from([None, "User:ANONYMOUS", "User:a", "User:b"]),
            "number": st.sampled_from([0, 1, None]),
            "forwarded": st.sampled_from([None, False, True]),
            "outcome": st.sampled_from(["answered", "answered", "unanswered", "undecodable", "none", None]),
            "error_codes": st.sampled_from([None, [], [3], [3, 5], [1234]]),
            "throttle_ms": st.sampled_from([None, 0, 10, 40]),
            "latency_ms": st.sampled_from([None, 0.5, 1.0, 20.0]),
            "queue_ms": st.sampled_from([None, 1.0, 2.0]),
            "local_ms": st.sampled_from([None, 4.0]),
            "remote_ms": st.sampled_from([None, 8.0]),
            "at": st.sampled_from([None, 0.0, 0.5, 1.0, 3.0, 300.0]),
            "source": st.sampled_from(["a.pcap", "b.pcap"]),
            "problem": st.sampled_from([None, None, None, "cut off"]),
        }
    )
    found = draw(few_or_many(st.tuples(facts, st.sampled_from([1, 1, 1, 2, 9, 10, 100]))))
    rows = [one for one, times in found for _ in range(times)]
    return [exchange(**one | {"at": one["at"] or 0, "position": at}) | _when(one) for at, one in enumerate(rows)]


def _when(row: Row) -> Row:
    return {"time": None} if row["at"] is None else {}


def quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[max(ceil(share * len(values)), 1) - 1]


def mean(rows: Iterable[Row], name: str) -> float | None:
    known = [row[name] for row in rows if row[name] is not None]
    return round(sum(known) / len(known), 9) if known else None


def first(rows: Iterable[Row]) -> tuple[Any, ...]:
    found = min(rows, key=lambda row: (row["time"] is None, row["time"] or START, row["source"], row["position"]))
    return found["source"], found["position"]


def plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def nulls_first(*cells: Any) -> list[str]:
    return [cell or "" for cell in cells]


@pytest.mark.slow
@examples(0.15)
@given(exchanges())
def test_latency(rows: list[Row]) -> None:
    report = latency(exchanges_of(*rows))
    seen = [row for row in rows if row["problem"] is None and row["outcome"] is not None]
    for row in seen:
        row["kind"] = "forwarded" if row["forwarded"] else "request_log" if row["number"] is None else "capture"
        row["api"] = row["api"] or ("unknown" if row["api_key"] is None else f"key {row['api_key']}")
    apis = []
    for (api, kind), group in grouped(seen, "api", "kind").items():
        times = [row["latency_ms"] for row in group if row["latency_ms"] is not None]
        outcomes = Counter(row["outcome"] for row in group)
        failed = sum(bool(row["error_codes"]) for row in group)
        apis.append(
            (
                *(api, kind, len(group), outcomes["unanswered"], outcomes["undecodable"], failed),
                100 * failed / outcomes["answered"] if outcomes["answered"] else None,
                quantile(times, 0.5) if times else None,
                quantile(times, 0.9) if len(times) >= 10 else None,
                quantile(times, 0.99) if len(times) >= 100 else None,
                max(times, default=None),
                *(mean(group, name) for name in ("queue_ms", "local_ms", "remote_ms")),
            )
        )
    apis.sort(key=lambda row: (-row[2], *row[:2]))
    assert report.table("apis").rows == tuple(apis)

    with_codes = [row | {"code": code} for row in seen for code in row["error_codes"] or ()]
    errors = [
        (*key, ErrorCode(key[2]).name, len(group), *first(group))
        for key, group in grouped(with_codes, "api", "kind", "code").items()
    ]
    errors.sort(key=lambda row: (-row[4], *row[:3]))
    assert report.table("errors").rows == tuple(errors)

    throttled = [row for row in seen if row["throttle_ms"]]
    for group in grouped(throttled, "client_id", "client_host").values():
        known = {row["principal"] for row in group} - {None, "User:ANONYMOUS"}
        for row in group:
            named = row["principal"] if row["principal"] in known else None
            row["who"] = named or (min(known) if len(known) == 1 else None)
    paused = [
        (*key, len(group), sum(row["throttle_ms"] for row in group), max(row["throttle_ms"] for row in group))
        for key, group in grouped(throttled, "client_id", "client_host", "who", "api", "kind").items()
    ]
    paused.sort(key=lambda row: (-row[6], *nulls_first(*row[:5])))
    assert report.table("throttled").rows == tuple(paused)

    names = ("latency_ms", "api", "version", "kind", "client_id", "client_host", "time", "source", "position")
    measured = [row for row in seen if row["latency_ms"] is not None]
    measured.sort(key=lambda row: (-row["latency_ms"], row["source"], row["position"]))
    assert report.table("slowest").rows == tuple(tuple(row[name] for name in names) for row in measured[:20])

    once = [next(row for row in apis if row[0] == api) for api in dict.fromkeys(row[0] for row in apis)]
    sums = [sum(row[place] for row in once) for place in (2, 3, 5)]
    said = [f"{plural(sums[0], 'request')}, {sums[1]} unanswered, {sums[2]} answered with an error."]
    answering = [row for row in once if row[0] != "Fetch"]
    for place, where in ((9, "at the 99th percentile"), (10, "at most")):
        if found := [row for row in answering if row[place] is not None]:
            slow = max(found, key=lambda row: row[place])
            said.append(f"Apart from long polls, {slow[0]} is slowest, with {slow[place]:g} ms {where}.")
            break
    if errors:
        api, _, _, error, responses, *_ = errors[0]
        said.append(f"The most frequent error is {error} in {plural(responses, 'response')} of {api}.")
    if number := len({row[:3] for row in paused}):
        said.append(f"{plural(number, 'client')} {'was' if number == 1 else 'were'} throttled.")
    assert report.summary == (tuple(said) if seen else ("No requests found.",))

    seconds = [row["time"] for row in seen if row["time"]]
    step = timedelta(seconds=10 if seconds and max(seconds) - min(seconds) > timedelta(minutes=1) else 1)
    timed = [row | {"at": (row["time"] - START) // step} for row in with_codes if row["time"]]
    moments: Counter[tuple[int, str]] = Counter()
    for (_, at, code), group in grouped(timed, "kind", "at", "code").items():
        moments[at, ErrorCode(code).name] = max(moments[at, ErrorCode(code).name], len(group))
    totals: Counter[str] = Counter()
    for (_, name), number in moments.items():
        totals[name] += number
    steps = [*range(min((at for at, _ in moments), default=0), max((at for at, _ in moments), default=-1) + 1)]
    times = [f"{START + at * step:%F %T} UTC" for at in steps]
    ranked = sorted(totals, key=lambda name: (-totals[name], name))
    series = [(name, times, [moments[at, name] for at in steps]) for name in ranked]
    drawn = [chart for chart in report.charts if chart.name == "errors"]
    assert [(trace["name"], trace["text"], trace["y"]) for chart in drawn for trace in chart.figure["data"]] == series


IDENTITIES = [
    ("one", "10.0.0.1", "sarama", "1.20", "User:a"),
    ("one", "10.0.0.2", "sarama", "1.20", "User:a"),
    ("one", "10.0.0.2", "sarama", "1.45", "User:a"),
    ("one", "10.0.0.2", "sarama", "1.45", "User:b"),
    ("two", "10.0.0.1", None, None, None),
    ("two", "10.0.0.2", None, None, None),
    (None, "10.0.0.1", None, None, "User:a"),
    (None, "10.0.0.2", "kgo", None, None),
    ("broker-1-fetcher-0", "10.0.0.9", None, None, None),
]
SUPPORT = {
    (0, 1): ("Produce", "refused", "3.7.0 to 3.9.2", "4.0.0 and newer"),
    (0, 2): ("Produce", "refused", "3.7.0 to 3.9.2", "4.0.0 and newer"),
    (0, 9): ("Produce", "current", "", ""),
    (1, 3): ("Fetch", "refused", "3.7.0 to 3.9.2", "4.0.0 and newer"),
    (1, 12): ("Fetch", "current", "", ""),
    (3, 1): ("Metadata", "current", "3.7.0 to 3.9.0", ""),
    (11, 1): ("JoinGroup", "current", "3.7.0 to 3.9.1", "4.0.0"),
    (18, 3): ("ApiVersions", "current", "", ""),
    (22, 6): ("InitProducerId", "unstable", "", ""),
    (9999, 0): ("key 9999", "unknown", "", ""),
}
"""Key and version → the API, and what the releases say to the version."""
HOUR = timedelta(hours=1)


@st.composite
def clients_rows(draw: Callable[..., Any]) -> list[Row]:
    """Rows of CLIENTS, of clients that tell all of themselves in each of their requests."""
    facts = st.fixed_dictionaries(
        {
            "who": st.sampled_from(IDENTITIES),
            "use": st.sampled_from([*SUPPORT]),
            "input_kind": st.sampled_from(["capture", "capture", "request_log", "forwarded"]),
            "server_port": st.sampled_from([9092, 9093]),
            "requests": st.sampled_from([1, 2, 5]),
            "errors": st.sampled_from([0, 1]),
            "refused": st.sampled_from([0, 0, 1]),
            "first_seen": st.sampled_from([None, START, START + HOUR]),
            "last_seen": st.sampled_from([None, START + HOUR, START + 2 * HOUR]),
            "source": st.sampled_from(["/captures/a.pcap", "b.pcap"]),
            "position": st.sampled_from([0, 7]),
        }
    )
    names = ("client_id", "client_host", "software_name", "software_version", "principal")
    return [
        client(*one["use"]) | one | dict(zip(names, one["who"], strict=True)) | {"api": _api(one["use"][0])}
        for one in draw(few_or_many(facts))
    ]


def _api(key: int) -> str | None:
    return None if key == 9999 else next(name for (other, _), (name, *_) in SUPPORT.items() if other == key)


def who_of(row: Row) -> Client:
    name, host, library, version, principal = row["who"]
    return Client(name, host, " ".join(filter(None, [library, version])) or None, principal)


def counts_of(rows: list[Row]) -> tuple[Any, ...]:
    """Requests, errors and refusals: of each client and version as the input kind with most of them has them."""
    sums = []
    for name in ("requests", "errors", "refused"):
        kinds = Counter(
            {key: sum(row[name] for row in of) for key, of in grouped(rows, "who", "use", "input_kind").items()}
        )
        sums.append(sum(max(kinds[key] for key in kinds if key[:2] == use) for use in {key[:2] for key in kinds}))
    firsts, lasts = ([row[name] for row in rows if row[name]] for name in ("first_seen", "last_seen"))
    return *sums, min(firsts, default=None), max(lasts, default=None)


def brokers_in(rows: list[Row]) -> set[Client]:
    """Followers, of which nothing but requests of followers was seen."""
    apis = defaultdict(set)
    for row in rows:
        if row["input_kind"] != "forwarded":
            apis[who_of(row)].add(row["api_key"])
    return {who for who, keys in apis.items() if who.client_id == "broker-1-fetcher-0" and keys <= {1, 18}}


@pytest.mark.slow
@examples(0.25)
@given(clients_rows())
def test_census(rows: list[Row]) -> None:
    report = census(clients_of(*rows))
    brokers = brokers_in(rows)
    seen = [row for row in rows if who_of(row) not in brokers]

    def ranked(found: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        return sorted(found, key=lambda row: (-row[-5], *(str(cell or "") for cell in row[:-5])))

    order = ("refused", "unstable", "deprecated", "current", "unknown")
    versions = [
        (use[0], *SUPPORT[use][:1], use[1], *SUPPORT[use][1:], len({row["who"] for row in group}), *counts_of(group))
        for (use,), group in grouped(seen, "use").items()
    ]
    assert report.table("versions").rows == tuple(
        sorted(versions, key=lambda row: (order.index(row[3]), row[0], row[2]))
    )
    people = [
        (
            *who_of(group[0])[:4],
            len({row["api_key"] for row in group}),
            len({row["use"] for row in group}),
            *counts_of(group),
        )
        for group in grouped(seen, "who").values()
    ]
    assert report.table("clients").rows == tuple(ranked(people))
    software = defaultdict(list)
    for row in seen:
        software[who_of(row).software or "unknown"].append(row)
    libraries = [(name, len({row["who"] for row in of}), *counts_of(of)) for name, of in software.items()]
    assert report.table("software").rows == tuple(ranked(libraries))

    charts = [chart.figure for chart in report.charts]
    if versions:
        heat, keys, across = charts[-1], sorted({row[0] for row in versions}), sorted({row[2] for row in versions})
        requests = {(row[0], row[2]): row[7] for row in versions}
        assert heat["layout"]["yaxis"]["ticktext"] == [_api(key) or f"key {key}" for key in keys]
        assert heat["layout"]["xaxis"]["ticktext"] == [str(version) for version in across]
        assert heat["data"][0]["customdata"] == [[requests.get((key, at), 0) for at in across] for key in keys]
    left_out = sum(counts_of([row for row in rows if who_of(row) in brokers])[:1])
    said = ["No requests found."]
    if versions:
        states, moments = Counter(row[3] for row in versions), counts_of(seen)[3:]
        span = f", from {moments[0]:%F %T} to {moments[1]:%F %T} UTC" if all(moments) else ""
        apis = plural(len({row[0] for row in versions}), "API")
        said = [
            f"{plural(len(people), 'client')} used {apis} in {plural(len(versions), 'version')}{span}.",
            f"Of these versions, Kafka {RELEASES.newest.name} refuses {states['refused']} and deprecates 0.",
        ]
    said += [f"Excludes {plural(left_out, 'request')} from brokers and controllers."] if brokers else []
    assert report.summary[: len(said)] == tuple(said)


@examples(0.15)
@given(clients_rows())
def test_clients(rows: list[Row]) -> None:
    report = clients_report(usage_of(clients_of(*rows).table.rows()), 0)
    groups = grouped(rows, "who", "api_key", "input_kind")
    listed = {
        key: (
            *(key[2], *key[0], _api(key[1]), tuple(sorted({row["version"] for row in group}))),
            *(sum(row[name] for row in group) for name in ("requests", "errors", "refused")),
            max((row["last_seen"] for row in group if row["last_seen"]), default=None),
        )
        for key, group in groups.items()
    }
    order = sorted(listed, key=lambda key: [(cell is not None, cell) for cell in (*key[0], *key[1:])])
    brokers = {tuple(who) for who in brokers_in(rows)}
    is_broker = [who_of({"who": key[0]}) in brokers for key in order]
    for name, wanted in (("list", False), ("brokers", True)):
        expected = [listed[key] for key, one in zip(order, is_broker, strict=True) if one == wanted]
        found = [table.rows for table in report.tables if table.name == name]
        assert found == ([tuple(expected)] if expected or not wanted else [])
    assert report.summary == (f"{plural(len({row['who'] for row in rows}) - len(brokers), 'client')} seen.",)


Judged = tuple[Use, Verdict]


def uses_in(rows: list[Row]) -> list[Use]:
    found, brokers = [], brokers_in(rows)
    for (_, (key, version)), group in grouped(rows, "who", "use").items():
        kind = min(row["input_kind"] for row in group)
        example = min(
            (row for row in group if row["input_kind"] == kind),
            key=lambda row: (not row["first_seen"], row["first_seen"] or START, *map(row.get, PLACE)),
        )
        who, counts = who_of(example), counts_of(group)
        place, kinds = f"{example['source']}:{example['position']}", tuple(
            sorted({row["input_kind"] for row in group})
        )
        name = _api(key) or f"key {key}"
        found.append(Use(who, key, name, version, counts[0], counts[2], counts[4], place, who in brokers, kinds))
    return found


PLACE = ("server_port", "source", "position")


def worst_first(pair: Judged) -> Any:
    return -SEVERITY[pair[1].state], nulls_first(*pair[0].client), pair[0].api_key, pair[0].version


def judged(uses: list[Use], target: Release) -> list[Judged]:
    asking = {use.client[:2] for use in uses if use.api_key == 18 or use.client.software}
    pairs = [(use, judge(use.api_key, use.version, target, negotiates=use.client[:2] in asking)) for use in uses]
    return sorted(pairs, key=worst_first)


def anywhere(who: Client) -> Client:
    return who._replace(host=None) if who.client_id else who


def joined(pairs: list[Judged]) -> list[Judged]:
    """The same of clients at any address: the worst verdict of a version, and all that was counted."""
    groups: defaultdict[Any, list[Judged]] = defaultdict(list)
    for use, verdict in pairs:
        groups[anywhere(use.client), use.api_key, use.version].append((use, verdict))
    found = []
    for (who, _, _), group in groups.items():
        uses = [use for use, _ in group]
        sums: Row = {count: sum(getattr(use, count) for use in uses) for count in ("requests", "refusals")}
        last = max((use.last_seen for use in uses if use.last_seen), default=None)
        kinds = tuple(dict.fromkeys(kind for use in uses for kind in use.input_kind))
        found.append((replace(uses[0], client=who, **sums, last_seen=last, input_kind=kinds), group[0][1]))
    return sorted(found, key=worst_first)


def by(pairs: Iterable[Judged], *names: str) -> dict[Any, list[Judged]]:
    groups = defaultdict(list)
    for use, verdict in pairs:
        groups[tuple(getattr(use, name) for name in names)].append((use, verdict))
    return groups


def earliest(releases: Iterable[str | None]) -> str | None:
    return min(filter(None, releases), key=[*RELEASES].index, default=None)


@pytest.mark.slow
@examples(0.15)
@given(clients_rows(), st.sampled_from(["3.9.1", "4.0.0", "4.1.1"]))
def test_readiness(rows: list[Row], name: str) -> None:
    target, uses = RELEASES[name], uses_in(rows)
    report = readiness(clients_of(*rows), name)
    each = judged(uses, target)
    apart = [(use, verdict) for use, verdict in each if not use.of_broker]
    pairs, people = joined(apart), by(joined(apart), "client")
    hosts = {
        who: sorted({use.client.host or "" for use, _ in apart if anywhere(use.client) == who}) for (who,) in people
    }

    def cells(who: Client) -> tuple[Any, ...]:
        found = hosts[who]
        return (who.client_id, found[0], None) if len(found) == 1 else (who.client_id, None, len(found))

    for table, states in (("refused", ["refused"]), ("doubtful", ["deprecated", "unknown", "unsure"])):
        expected = []
        for (who, key), group in by(pairs, "client", "api_key").items():
            if not (bad := [(use, verdict) for use, verdict in group if verdict.state in states]):
                continue
            api, (first_use, first_verdict) = target.apis.get(key), bad[0]
            common = [use.version for use, _ in group if api and use.version in api.accepted]
            counted = [sum(getattr(use, count) for use, _ in bad) for count in ("requests", "refusals")]
            expected.append(
                (
                    *(*cells(who), first_use.api, tuple(use.version for use, _ in bad)),
                    *([first_verdict.state] if len(states) > 1 else []),
                    *(earliest(verdict.first for _, verdict in bad), max(common, default=None), first_use.place),
                    f"{api.accepted.start}-{api.accepted.stop - 1}" if api else "none",
                    *(first_verdict.reason, who.software, who.principal, None, *counted),
                    max((use.last_seen for use, _ in bad if use.last_seen), default=None),
                    earliest(verdict.deprecated for _, verdict in bad),
                    tuple(sorted({kind for use, _ in bad for kind in use.input_kind})),
                )
            )
        assert report.table(table).rows == tuple(expected)

    def summed(group: list[Judged]) -> tuple[Any, ...]:
        refused = dict.fromkeys(use.api for use, verdict in group if verdict.state == "refused")
        kinds = sorted({kind for use, _ in group for kind in use.input_kind})
        apis, requests = len({use.api_key for use, _ in group}), sum(use.requests for use, _ in group)
        return group[0][1].state, tuple(refused), apis, None, requests, tuple(kinds)

    assert report.table("clients").rows == tuple(
        (*cells(who), who.software, who.principal, *summed(group)) for (who,), group in people.items()
    )
    addresses = [(*who[:4], *summed(group)) for (who,), group in by(apart, "client").items()]
    shown = [table.rows for table in report.tables if table.name == "addresses"]
    assert shown == ([tuple(addresses)] if any(len(of) > 1 for of in hosts.values()) else [])
    among = defaultdict(list)
    for use, verdict in each:
        if use.of_broker:
            among[use.api_key, verdict.state].append((use, verdict))
    assert report.table("between-brokers").rows == tuple(
        (
            *(group[0][0].api, tuple(sorted({use.version for use, _ in group})), state),
            *(
                earliest(verdict.first for _, verdict in group),
                sum(use.requests for use, _ in group),
                group[0][0].place,
            ),
        )
        for (_, state), group in among.items()
    )

    worst = {who: group[0][1].state for (who,), group in people.items()}
    refused = [who for who, state in worst.items() if state == "refused"]
    outcome = {"refused": "failed", "unsure": "skipped", "unknown": "skipped"}
    assert [(check.group, check.state) for check in report.checks] == [
        (f"Kafka {name}", outcome.get(state, "passed")) for state in worst.values()
    ]
    assert report.exit_code == bool(refused)
    places = []
    for who in refused:
        several = len(hosts[who]) > 1
        places.append(f"{who} ({len(hosts[who])} addresses)" if several else str(who._replace(host=hosts[who][0])))
    told = f"Kafka {name} refuses {len(refused) or 'none'} of {plural(len(people), 'client')}"
    told += f": {'; '.join(places)}." if refused else "."
    assert report.summary[0] == (told if people else "No clients found.")


TARGETS = st.permutations(["3.9.1", "4.0.0", "4.1.1"]).flatmap(
    lambda names: st.integers(1, 3).map(lambda most: names[:most])
)


@pytest.mark.slow
@examples(0.15)
@given(clients_rows(), TARGETS, st.randoms(use_true_random=False))
def test_several_targets_are_what_each_says_alone(rows: list[Row], names: list[str], random: Any) -> None:
    alone = [readiness(clients_of(*rows), name) for name in names]
    together = readiness(clients_of(*random.sample(rows, len(rows))), names)
    for table in ("refused", "doubtful", "between-brokers"):
        several = together.table(table)
        columns = [column.name for column in several.columns if column.name != "target" or len(names) == 1]
        found = [*zip(*map(several.column, columns), strict=True)]
        assert found == [row for report in alone for row in report.table(table).rows]
        if len(names) > 1:
            assert several.column("target") == [
                name for name, report in zip(names, alone, strict=True) for _ in report.table(table).rows
            ]
    assert together.checks == tuple(check for report in alone for check in report.checks)
    assert together.exit_code == max(report.exit_code for report in alone)
    for table in ("clients", "addresses"):
        tables = [one for one in together.tables if one.name == table]
        for report, name in zip(alone, names, strict=True):
            verdict = f"verdict_{name}" if len(names) > 1 else "verdict"
            of_one = [one for one in report.tables if one.name == table]
            assert [_verdicts(one, verdict) for one in tables] == [_verdicts(one, "verdict") for one in of_one]
    uses = uses_of(clients_of(*rows).table.rows())
    assert exposition(uses, [Judgement.of(uses, RELEASES[name]) for name in names]) == metrics(rows, names)


def _verdicts(table: Table, verdict: str) -> list[Any]:
    names = ("client_id", "client_host", "software", "principal", verdict, "apis", "requests", "input_kind")
    return sorted(zip(*map(table.column, names), strict=True), key=str)


def metrics(rows: list[Row], names: list[str]) -> str:
    """The metrics of these clients, one sample after the other."""
    samples: Counter[str] = Counter()
    uses = uses_in(rows)
    for use in uses:
        labels = f'{{api="{use.api}",version="{use.version}"}}'
        samples[f"kwire_requests_total{labels}"] += use.requests
        samples[f"kwire_refusals_total{labels}"] += use.refusals
    for name in names:
        samples.update({f'kwire_clients{{target="{name}",verdict="{state}"}}': 0 for state in SEVERITY})
        pairs = [(use, verdict) for use, verdict in judged(uses, RELEASES[name]) if not use.of_broker]
        for group in by(joined(pairs), "client").values():
            samples[f'kwire_clients{{target="{name}",verdict="{group[0][1].state}"}}'] += 1
        for use, verdict in pairs:
            if verdict.state == "refused":
                who = f'target="{name}",client_id="{use.client.client_id or ""}",address="{use.client.host}"'
                labels = f'{who},api="{use.api}",version="{use.version}"'
                samples[f"kwire_refused_client_requests_total{{{labels}}}"] += use.requests
    lines = []
    for name, kind, meaning in (
        ("kwire_requests_total", "counter", "Requests seen."),
        ("kwire_refusals_total", "counter", "Requests that a broker refused."),
        ("kwire_clients", "gauge", "Clients, by the worst verdict on their requests."),
        ("kwire_refused_client_requests_total", "counter", "Requests that a target refuses."),
    ):
        lines += [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]
        lines += sorted(f"{sample} {value}" for sample, value in samples.items() if sample.startswith(f"{name}{{"))
    return "".join(f"{line}\n" for line in lines)


@st.composite
def half_known(draw: Callable[..., Any]) -> list[Row]:
    """Rows of CLIENTS of every kind of input, of clients that tell little of themselves."""
    facts = st.fixed_dictionaries(
        {
            "input_kind": st.sampled_from(["capture", "request_log", "forwarded", "server_log", "metrics"]),
            "client_id": st.sampled_from([None, "", "one", "two"]),
            "client_host": st.sampled_from([None, "10.0.0.1", "10.0.0.2"]),
            "software_name": st.sampled_from([None, "sarama", "kgo"]),
            "principal": st.sampled_from([None, "User:ANONYMOUS", "User:a", "User:b"]),
            "use": st.sampled_from([(0, 1), (0, 2), (3, 9), (19, 6), (19, 7)]),
            "requests": st.sampled_from([1, 2, 5]),
        }
    )
    nobody = {"client_id": None, "principal": None}
    nowhere = nobody | {"client_host": None}
    less = {"server_log": nobody | {"software_name": None}, "metrics": nowhere}
    found = [one | less.get(one["input_kind"], {}) for one in draw(few_or_many(facts))]
    rows = [client(*one["use"]) | one for one in found]
    return (
        [of[0] for of in grouped(rows, *(name for name in found[0] if name != "requests")).values()] if rows else []
    )


def told_by(row: Row) -> Client:
    principal = None if row["principal"] == "User:ANONYMOUS" else row["principal"]
    return Client(row["client_id"], row["client_host"], row["software_name"], principal)


def only(known: Iterable[str | None]) -> str | None:
    found = {*known} - {None, ""}
    return found.pop() if len(found) == 1 else None


def senders(rows: list[Row]) -> list[tuple[Client, Row]]:
    """Who sent the requests of each row; without rows whose requests another row has."""
    named = [row for row in rows if row["input_kind"] not in ("server_log", "metrics")]
    homes = defaultdict(set)
    for row in named:
        if row["client_host"] and row["input_kind"] != "forwarded":
            homes[row["client_id"]].add(row["client_host"])
    kept = []
    for row in named:
        passed_on = row["input_kind"] == "forwarded"
        if passed_on and row["use"] == (19, 7) and row["client_id"] in homes:
            continue  # the broker's own request
        if row["client_host"] is None:
            if any(
                one["client_host"] and (one["client_id"], one["use"]) == (row["client_id"], row["use"])
                for one in named
            ):
                continue
            row = row | {
                "client_host": only(homes.get(row["client_id"], ())) if passed_on and row["client_id"] else None
            }
        kept.append(row)
    found = []
    for row in kept:
        who = told_by(row)
        same = [one for one in map(told_by, kept) if one[:2] == who[:2]]
        software, principal = only(one.software for one in same), only(one.principal for one in same)
        found.append((who._replace(software=who.software or software, principal=who.principal or principal), row))
    for row in rows:
        seen = any((one["client_host"], one["use"]) == (row["client_host"], row["use"]) for one in named)
        if row["input_kind"] == "server_log" and not seen:
            found.append((told_by(row), row))
    others = [*found]
    found += [(told_by(row), row) for row in rows if row["input_kind"] == "metrics" and not counting(row, others)]
    return found


def counting(row: Row, seen: list[tuple[Client, Row]]) -> list[tuple[Client, Row]]:
    """Those whose requests a metric may have counted."""
    library = row["software_name"]
    return [
        (who, one)
        for who, one in seen
        if one["use"] == row["use"] and (library is None or library in (who.software, one["software_name"]))
    ]


def most(seen: list[tuple[Client, Row]]) -> int:
    """The requests of each client and version, as the kind of input with most of them has them."""
    sums: Counter[Any] = Counter()
    for who, row in seen:
        sums[(who, row["use"]), row["input_kind"]] += row["requests"]
    return sum(max(sums[key] for key in sums if key[0] == use) for use in {use for use, _ in sums})


@pytest.mark.slow
@examples(0.15)
@given(half_known())
def test_whose_requests_they_are(rows: list[Row]) -> None:
    seen = senders(rows)
    by_use = defaultdict(list)
    for who, row in seen:
        by_use[who, row["use"]].append((who, row))
    expected = [
        (who, *use, most(group), tuple(sorted({row["input_kind"] for _, row in group})))
        for (who, use), group in by_use.items()
    ]
    found = [(use.client, use.api_key, use.version, use.requests, use.input_kind) for use in uses_of(rows)]
    assert sorted(found, key=str) == sorted(expected, key=str)

    report = readiness(clients_of(*rows), ["4.1.1", "3.9.1"])
    others = senders([row for row in rows if row["input_kind"] != "metrics"])
    metrics = []
    for row in (row for row in rows if row["input_kind"] == "metrics"):
        counted, refused = counting(row, others), ("4.1.1",) * (row["api_key"] == 0)
        people = {str(who._replace(host=None) if who.client_id else who) for who, _ in counted}
        metrics.append(
            (
                row["api"],
                row["version"],
                row["software_name"],
                row["requests"],
                most(counted),
                sorted(people),
                refused,
            )
        )
    shown: list[Any] = [table.rows for table in report.tables if table.name == "metrics"]
    cells = [[(*row[:5], sorted(row[5]), row[6]) for row in found] for found in shown]
    order = [(not row[6], row[4] > 0, -row[3]) for found in cells for row in found]
    assert order == sorted(order), "what matters most is first"
    assert [sorted(found, key=str) for found in cells] == ([sorted(metrics, key=str)] if metrics else [])


@pytest.mark.slow
@examples(0.15)
@given(clients_rows(), clients_rows(), st.permutations(["4.0.0", "4.1.1"]))
def test_what_changed_since_an_earlier_run(before: list[Row], now: list[Row], names: list[str]) -> None:
    def states(rows: list[Row], target: str) -> dict[str, tuple[str, tuple[str, ...], int]]:
        found = defaultdict(list)
        for use, verdict in judged(uses_in(rows), RELEASES[target]):
            if not use.of_broker:
                found[use.client.client_id or str(use.client)].append((use, verdict))
        return {
            name: (
                group[0][1].state,
                tuple(sorted({use.client.software or "" for use, _ in group} - {""})),
                sum(use.requests for use, _ in group),
            )
            for name, group in found.items()
        }

    rows: list[tuple[Any, ...]] = []
    for target in names:
        old, new = states(before, target), states(now, target)
        for name in old.keys() | new.keys():
            was, then = old.get(name), new.get(name)
            change = (
                "gone" if then is None else "new" if was is None else "other software" if was[1] != then[1] else ""
            )
            if was and then and was[0] != then[0]:
                change = "worse" if SEVERITY[then[0]] > SEVERITY[was[0]] else "better"
            if change:
                nothing: Any = (None, (), 0)
                facts = zip(was or nothing, then or nothing, strict=True)
                verdicts, libraries, requests = facts
                rows.append((name, target, change, *verdicts, *libraries, requests[1]))
    rows.sort(key=lambda row: (("worse", "new", "better", "gone", "other software").index(row[2]), *row[:2]))
    report = readiness(clients_of(*now), names, before=clients_of(*before))
    assert report.tables[0].rows == tuple(rows)
    newly = {row[0] for row in rows if row[3] != row[4] == "refused"}
    no_longer = {row[0] for row in rows if row[4] != row[3] == "refused"}
    said = f"Since the earlier run: {plural(len(newly), 'client')} newly refused, {len(no_longer)} no longer refused."
    assert sum(sentence.startswith(said) for sentence in report.summary) == 1
