"""Dumps of DeprecatedRequestsPerSec, real ones and others: what they say, alone and beside captures."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from kwire.command import main as run
from kwire_inspect.inputs import find
from kwire_inspect.reasons import NO_DEPRECATED
from kwire_inspect.reports.client_usage import uses_of
from kwire_inspect.reports.readiness import readiness as make_report
from kwire_inspect.schemas import COUNTED
from kwire_inspect.text_logs import dumps, metrics_batches
from kwire_inspect.text_logs.metrics import NAMELESS, NONE
from kwire_kafka import PROTOCOL
from tests.support.report_rows import client, clients_of

SAMPLE = Path(__file__).parents[1] / "data" / "metrics"
DUMPS = ("exporter.prom", "exporter-rules.prom", "jmxtool-original.csv", "jmxtool-csv.csv", "jolokia.json")
BEAN = "kafka.network:type=RequestMetrics,name=DeprecatedRequestsPerSec"
RULES = "kafka_network_requestmetrics_deprecatedrequestspersec"
SOFTWARE = 'clientSoftwareName="app",clientSoftwareVersion="1.0"'


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [row for batch in metrics_batches(str(path), COUNTED, PROTOCOL) for row in batch.to_pylist()]


def counts(rows: Iterable[dict[str, Any]]) -> set[tuple[Any, ...]]:
    names = ("api", "version", "software_name", "software_version", "requests")
    return {tuple(row[name] for name in names) for row in rows if not row.get("problem")}


def made(folder: Path, *lines: str, name: str = "broker.prom") -> Path:
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in ("# TYPE kafka_server_x counter", *lines)))
    return path


def truth() -> set[tuple[Any, ...]]:
    """What the broker's request log calls deprecated."""
    apis = {name.upper(): name for name in PROTOCOL.api_names.values()}
    found = json.loads((SAMPLE / "truth.json").read_text())
    return {(apis[api.replace("_", "")], *more) for api, *more in found}


def readiness(out: Path, *arguments: object) -> tuple[int, dict[str, Any]]:
    code = run(["readiness", "--target", "4.4.0", "-q", "--out", str(out), *map(str, arguments)])
    return code, json.loads((out / "readiness.json").read_text())


def table(report: dict[str, Any], name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = report["tables"][name]["rows"]
    return rows


@pytest.mark.parametrize("name", DUMPS)
def test_a_real_dump_says_what_the_request_log_calls_deprecated(name: str) -> None:
    assert find([SAMPLE / name]).metrics == (str(SAMPLE / name),)
    rows = rows_of(SAMPLE / name)
    assert counts(rows) == truth()
    assert {row["input_kind"] for row in rows} == {"metrics"}
    assert {row["client_id"] for row in rows} == {row["client_host"] for row in rows} == {None}


def test_metrics_alone_refuse_by_software(tmp_path: Path) -> None:
    code, report = readiness(tmp_path, SAMPLE / "exporter-rules.prom")
    assert code == 1
    said = " ".join(report["summary"])
    assert "Based on 1 metrics dump (exporter-rules.prom). Metrics count 24 requests with deprecated" in said
    assert "refuses 2 of 2 clients: clients of unknown software; clients of legacy-app 1.2.3" in said
    assert "Only metrics were read" in said
    refused = table(report, "refused")
    assert {(row["api"], version) for row in refused for version in row["versions"]} == {one[:2] for one in truth()}
    assert all(row["reason"].endswith("(from metrics, by software only)") for row in refused)
    assert {row["software"] for row in refused} == {None, "legacy-app 1.2.3"}


@pytest.mark.slow
def test_beside_a_capture_nobody_counts_twice(tmp_path: Path) -> None:
    code, alone = readiness(tmp_path / "alone", SAMPLE / "traffic.pcap.gz")
    assert code == 1
    code, both = readiness(tmp_path / "both", SAMPLE / "traffic.pcap.gz", SAMPLE / "jolokia.json")
    assert code == 1
    for name in ("refused", "clients", "advice"):
        assert table(both, name) == table(alone, name)
    assert "Other inputs contain all requests with deprecated versions that metrics count." in both["summary"]
    seen = table(both, "metrics")
    assert {(row["api"], row["version"]) for row in seen} == {one[:2] for one in truth()}
    assert all(row["seen"] >= row["requests"] and row["refused_by"] == ["4.4.0"] for row in seen)
    (commit,) = [row for row in seen if row["api"] == "OffsetCommit"]
    assert commit["clients"] == ["raw-old"]


def test_what_a_capture_did_not_see_is_refused_by_metrics(tmp_path: Path) -> None:
    more = made(tmp_path, f'{RULES}_total{{request="Fetch",version="3",{SOFTWARE}}} 7.0')
    _, report = readiness(tmp_path / "out", SAMPLE / "traffic.pcap.gz", more)
    (row,) = [row for row in table(report, "refused") if row["software"] == "app 1.0"]
    assert (row["api"], row["versions"], row["requests"], row["input_kind"]) == ("Fetch", [3], 7, ["metrics"])
    assert "Metrics count more requests of 1 deprecated version than other inputs" in " ".join(report["summary"])
    checks = (tmp_path / "out" / "readiness.junit.xml").read_text()
    assert "clients of app 1.0" in checks


@pytest.mark.parametrize(
    ("counted", "seen", "users"),
    [
        ("app", "app", {"one"}),
        (None, "app", {"one"}),  # a controller does not know the software of a request that a broker forwarded
        (None, None, {"one"}),
        ("other", "app", {"one", None}),
        ("app", None, {"one", None}),
    ],
)
def test_whose_requests_metrics_count(counted: str | None, seen: str | None, users: set[str | None]) -> None:
    metrics = client(0, 2, input_kind="metrics", client_id=None, client_host=None, software_name=counted)
    rows = [client(0, 2, software_name=seen), metrics]
    assert {use.client.client_id for use in uses_of(rows)} == users
    before_its_name = client(0, 2, software_name=None)
    named = [before_its_name, client(18, 3, software_name="app"), metrics]
    known = counted in ("app", None)
    assert len([use for use in uses_of(named) if use.api_key == 0]) == (1 if known else 2)


@pytest.mark.slow
def test_a_report_on_metrics_is_none_itself(tmp_path: Path) -> None:
    broken = made(tmp_path, "kafka_log_size 1")
    code, first = readiness(tmp_path / "out", SAMPLE / "exporter.prom", broken)
    assert code == 1
    assert not any(find([file]).metrics for file in (tmp_path / "out").iterdir() if file.is_file())
    code, again = readiness(tmp_path / "again", tmp_path / "out")
    assert (code, again["tables"]["refused"]) == (1, first["tables"]["refused"])


@pytest.mark.slow
def test_tables_keep_what_metrics_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inputs = [str(SAMPLE / "traffic.pcap.gz"), str(SAMPLE / "exporter.prom")]
    assert run(["tables", "-q", "--out", str(tmp_path / "tables"), *inputs]) == 0
    _, direct = readiness(tmp_path / "direct", *inputs)
    _, stored = readiness(tmp_path / "stored", tmp_path / "tables")
    assert (direct["summary"], direct["tables"]) == (stored["summary"], stored["tables"])
    assert run(["clients", "-q", "--out", str(tmp_path / "clients"), inputs[1]]) == 0
    assert "2 clients seen" in capsys.readouterr().out


@pytest.mark.parametrize(
    "labels",
    [
        f'request="Fetch",version="2",{SOFTWARE}',
        f'request="Fetch",version="2",{SOFTWARE.lower()},',
        'request="Fetch", version="2", client_software_name="app", client_software_version="1.0"',
        'request_Fetch_version_2_clientSoftwareName="app",clientSoftwareVersion="1.0"',
        'request_fetch_version="2",clientSoftwareName="app",clientSoftwareVersion="1.0"',
    ],
)
@pytest.mark.parametrize(
    "name", [f"{RULES}_total", RULES, f"{RULES}_count", "kafka_network_DeprecatedRequests_Count"]
)
def test_names_that_rules_of_the_exporter_give(name: str, labels: str, tmp_path: Path) -> None:
    rows = rows_of(made(tmp_path, f"{name}{{{labels}}} 3.0 1795374476028 # {{}} 1"))
    assert counts(rows) == {("Fetch", 2, "app", "1.0", 3)}


def test_rates_are_no_counts(tmp_path: Path) -> None:
    labels = f'request="Fetch",version="2",{SOFTWARE}'
    rates = [f"{RULES}_{name}{{{labels}}} 3.0" for name in ("oneminuterate", "meanrate", "fifteen_minute", "created")]
    others = [
        f'{RULES}{{{labels},aggregate="MeanRate"}} 1.0',
        f"{RULES}{{{labels}}} 0.25",
        f"{RULES}{{{labels}}} NaN",
    ]
    (row,) = rows_of(made(tmp_path, *rates, *others))
    assert row["problem"] == NO_DEPRECATED


def test_fetches_of_consumers_count_once_and_those_of_followers_not(tmp_path: Path) -> None:
    line = f'{RULES}_total{{request="%s",version="%d",{SOFTWARE}}} %d'
    fetches = [("Fetch", 1, 9), ("FetchConsumer", 1, 5), ("FetchFollower", 1, 4), ("Fetch", 2, 9)]
    others = [("FetchFollower", 2, 4), ("FetchFollower", 3, 2), ("Fetch", 3, 2)]
    rows = rows_of(made(tmp_path, *(line % one for one in fetches + others)))
    assert counts(rows) == {("Fetch", 1, "app", "1.0", 5), ("Fetch", 2, "app", "1.0", 5)}
    assert len(rows) == 2


def test_brokers_are_added_up_and_repetitions_are_not(tmp_path: Path) -> None:
    line = f'{RULES}_total{{instance="%s",request="Produce",version="2",{SOFTWARE}}} %d'
    rows = rows_of(made(tmp_path, line % ("a", 3), line % ("b", 4), line % ("a", 5)))
    assert counts(rows) == {("Produce", 2, "app", "1.0", 9)}


def test_what_a_dump_has_twice_counts_as_it_was_last_even_if_that_is_nothing(tmp_path: Path) -> None:
    line = f'{RULES}_total{{request="%s",version="%d",{SOFTWARE}}} %d'
    restarted = [("Produce", 1, 5), ("Produce", 1, 0), ("Produce", 123, 6)]
    idle = [("Fetch", 4, 3), ("FetchConsumer", 4, 0), ("FetchFollower", 4, 3)]
    rows = rows_of(made(tmp_path, *(line % one for one in restarted + idle)))
    assert counts(rows) == {("Produce", 123, "app", "1.0", 6)}


def test_of_a_series_that_an_answer_has_twice_the_last_counts(tmp_path: Path) -> None:
    mbean = f"{BEAN},request=Produce,version=1,clientSoftwareName=app"
    path = tmp_path / "twice.json"
    path.write_text(json.dumps({name: {mbean: {"Count": count}} for name, count in (("first", 4), ("second", 7))}))
    assert counts(rows_of(path)) == {("Produce", 1, "app", None, 7)}


def test_what_only_metrics_saw_comes_first_then_what_they_count_most_of() -> None:
    nobody = {"input_kind": "metrics", "client_id": None, "client_host": None}
    counted = [client(0, n, c, **nobody) for n, c in enumerate((3, 9, 1))]
    report = make_report(clients_of(*counted, client(0, 0, 5), client(0, 1, 6)), "4.4.0")
    assert report.table("metrics").column("version") == [2, 1, 0]


def test_the_last_line_of_jmxtool_counts(tmp_path: Path) -> None:
    name = f"{BEAN},request=Produce,version=1,clientSoftwareName=app,clientSoftwareVersion=1.0"
    path = tmp_path / "jmx.csv"
    path.write_text(f'"time","{name}:Count","{name}:MeanRate"\n12:01:01,3,1\n12:01:03,8,1\nbroken,1\n')
    assert counts(rows_of(path)) == {("Produce", 1, "app", "1.0", 8)}


def test_each_heading_of_jmxtool_has_a_last_line(tmp_path: Path) -> None:
    name = f"{BEAN},request=%s,version=1,clientSoftwareName=app,clientSoftwareVersion=1.0"
    run = '"time","{}:Count"\n12:01:01,3\n12:01:03,{}\n'
    path = tmp_path / "jmx.csv"
    path.write_text(run.format(name % "Produce", 8) + run.format(name % "Fetch", 9))
    assert counts(rows_of(path)) == {("Produce", 1, "app", "1.0", 8), ("Fetch", 1, "app", "1.0", 9)}


def test_series_without_a_version_are_one_problem_at_the_first(tmp_path: Path) -> None:
    path = made(tmp_path, *(f'{RULES}_total{{request="{api}",{SOFTWARE}}} 3' for api in ("Fetch", "Produce")))
    (row,) = rows_of(path)
    assert (row["problem"], row["requests"]) == (NAMELESS, 1)
    assert row["position"] == path.read_text().index(RULES)


@pytest.mark.parametrize(
    "answer",
    [
        {"request": {"mbean": f"{BEAN},request=Produce,version=1,clientSoftwareName=app"}, "value": {"Count": 4}},
        [{"request": {"mbean": f'{BEAN},clientSoftwareName="app",request=Produce,version=1'}, "value": {"Count": 4}}],
        {
            "data": {
                "result": [
                    {
                        "metric": {
                            "__name__": f"{RULES}_total",
                            "request": "Produce",
                            "version": "1",
                            "clientsoftwarename": "app",
                        },
                        "value": [1795374476.0, "4"],
                    }
                ]
            }
        },
    ],
    ids=["jolokia", "jolokia in bulk", "Prometheus' API"],
)
@pytest.mark.parametrize("indent", [None, 1])
def test_answers_in_json(answer: object, indent: int | None, tmp_path: Path) -> None:
    path = tmp_path / "answer"
    path.write_text(json.dumps(answer, indent=indent))
    assert find([path]).metrics == (str(path),)
    assert counts(rows_of(path)) == {("Produce", 1, "app", None, 4)}


def test_the_last_value_of_a_range_counts(tmp_path: Path) -> None:
    labels = {"__name__": f"{RULES}_total", "request": "Produce", "version": "1"}
    answer = {"data": {"resultType": "matrix", "result": [{"metric": labels, "values": [[1, "3"], [2, "4"]]}]}}
    (tmp_path / "a").write_text(json.dumps(answer))
    assert counts(rows_of(tmp_path / "a")) == {("Produce", 1, None, None, 4)}


def test_a_rate_of_jolokia_is_no_count(tmp_path: Path) -> None:
    bean = f"{BEAN},request=Produce,version=1"
    (tmp_path / "a").write_text(json.dumps({"request": {"mbean": bean, "attribute": "MeanRate"}, "value": 3}))
    assert [row["problem"] for row in rows_of(tmp_path / "a")] == [NO_DEPRECATED]


def test_what_is_wanted_may_come_late(tmp_path: Path) -> None:
    filler = (f'kafka_log_size{{partition="{number}"}} 1.0' for number in range(20_000))
    path = made(tmp_path, *filler, f'{RULES}_total{{request="Produce",version="0",{SOFTWARE}}} 1')
    packed = tmp_path / "broker.prom.gz"
    packed.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    for one in (path, packed):
        assert find([one]).metrics == (str(one),)
        assert counts(rows_of(one)) == {("Produce", 0, "app", "1.0", 1)}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("kafka_log_size 1", NO_DEPRECATED),
        (f"{RULES}_total{{}} 1", NAMELESS),
        (f'{RULES}_total{{request="Fetch",version="²"}} 1', NAMELESS),
        (f'{RULES}_total{{request="Fetch",version="99999"}} 1', NAMELESS),
        (f'{RULES}_total{{request="Dance",version="1"}} 1', "requests of an unknown API: Dance"),
        (f'{RULES}_total{{request="Fetch",version="1"', NO_DEPRECATED),
        (f'{RULES}_total{{request="Fetch",version="1"}} 1e99', NO_DEPRECATED),
    ],
)
def test_what_cannot_be_read_is_said(
    line: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = made(tmp_path, line)
    assert [row["problem"] for row in rows_of(path)] == [reason]
    assert run(["clients", "-q", "--out", str(tmp_path / "out"), str(path)]) == 2
    assert reason in capsys.readouterr().err
    assert run(["clients", "-q", "--mode", "failfast", "--out", str(tmp_path / "out"), str(path)]) == 3


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"deprecatedrequests": ', "JSON that cannot be parsed"),
        ("[" * 1000 + '"deprecatedrequests"', "JSON that cannot be parsed"),
        (
            '{"deprecatedrequests":\n' + "1,\n" * 2000,
            "JSON of more than 0 MB: request only DeprecatedRequestsPerSec MBeans",
        ),
        (
            '{"deprecatedrequests":[' + "[]," * 800,
            "JSON of more than 1,000 values: request only DeprecatedRequestsPerSec MBeans",
        ),
        ('{"deprecatedrequests":\n' + "1," * 3000, "a line of 6000 bytes is skipped"),
    ],
)
def test_hostile_json(text: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dumps, "MAX_JSON", 4000)
    if "values" in reason:
        monkeypatch.setattr(dumps, "MAX_VALUES", 1000)
    (tmp_path / "a.json").write_text(text)
    (row,) = rows_of(tmp_path / "a.json")
    assert row["problem"].startswith(reason)


@pytest.mark.timeout(30)
@pytest.mark.parametrize("end", ["", ",request=Fetch,version=2"])
def test_long_names_take_linear_time(end: str, tmp_path: Path) -> None:
    rows = rows_of(made(tmp_path, f"{BEAN},{'a' * 2_000_000}{end}:Count=5"))
    assert counts(rows) == ({("Fetch", 2, None, None, 5)} if end else set())


@pytest.mark.timeout(30)
def test_a_long_heading_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "jmx.csv"
    heading = f'"time","{BEAN},request=Fetch,version=2,x={"a" * 100_000}:Count"'
    path.write_text("\n".join([heading, *["12:01,5"] * 100_000, "12:02,6"]))
    assert counts(rows_of(path)) == {("Fetch", 2, None, None, 6)}


@pytest.mark.timeout(30)
def test_nested_json_takes_linear_time(tmp_path: Path) -> None:
    depth, path = 450, tmp_path / "a.json"
    path.write_text('{"metric": ' * depth + f'"{"a" * 8_000_000}"' + ', "value": [1]}' * depth)
    assert [row["problem"] for row in rows_of(path)] == [NO_DEPRECATED]


def test_sums_are_limited(tmp_path: Path) -> None:
    line = f'{RULES}_total{{instance="%d",request="Produce",version="2"}} 9e15'
    (row,) = rows_of(made(tmp_path, *(line % number for number in range(2000))))
    assert row["requests"] == dumps.MAX_COUNTED


def test_half_a_surrogate_pair_is_replaced(tmp_path: Path) -> None:
    bean = f"{BEAN},request=Produce,version=1,clientSoftwareName=\ud800app"
    labels = {"__name__": RULES, "request": "Produce", "version": "2", "clientSoftwareName": "\ud800app"}
    metrics = {"metric": labels, "value": [1, "3"]}
    (tmp_path / "a.json").write_text(json.dumps([{"request": {"mbean": bean}, "value": {"Count": 4}}, metrics]))
    assert counts(rows_of(tmp_path / "a.json")) == {
        ("Produce", 1, "?app", None, 4),
        ("Produce", 2, "?app", None, 3),
    }


def test_software_may_be_named_like_a_rate(tmp_path: Path) -> None:
    path = made(tmp_path, f'{RULES}{{request="Fetch",version="2",clientSoftwareName="AppRate"}} 3')
    assert counts(rows_of(path)) == {("Fetch", 2, "AppRate", None, 3)}


def test_json_may_begin_with_an_empty_line_and_the_last_of_a_list_counts(tmp_path: Path) -> None:
    mbean = f"{BEAN},request=Produce,version=1"
    answers = [{"request": {"mbean": mbean, "attribute": ["Count"]}, "value": {"Count": count}} for count in (3, 4)]
    (tmp_path / "a.json").write_text(f" \n\n {json.dumps([*answers, {'request': {'mbean': mbean}, 'value': True}])}")
    assert counts(rows_of(tmp_path / "a.json")) == {("Produce", 1, None, None, 4)}


@pytest.mark.parametrize(
    ("text", "is_metrics"),
    [
        ("kafka_log_size 1\n", True),
        ('x 1\nkafka_log_size{topic="a b"} NaN 1795374476028\n', True),
        ("# HELP kafka_log_size Size\n", True),
        ("jmx_scrape_duration_seconds 2.5e-3\n", True),
        ("kafka_brokers is the list of brokers\n", False),
        ('kafka_cluster {\n  name = "a"\n}\n', False),
        ("# kafka_brokers: two\nkafka_brokers = 2\n", False),
        ('"time","kafka.network:type=A,name=B:Count"\n1,2\n', True),
        ("time\t1\njava.lang:type=A:Count\t2\nkafka.network:type=A,name=B:Count\t2\n", True),
        ("time=1\nkafka.network:type=A,name=B:Count=2\n", True),
        ("time,what\n12:01,kafka.network:type=A was asked for\n", False),
    ],
)
def test_what_is_a_dump_of_metrics(text: str, is_metrics: bool, tmp_path: Path) -> None:
    (tmp_path / "a").write_text(text)
    assert bool(find([tmp_path / "a"]).metrics) == is_metrics


def test_hostile_labels_are_cut_and_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = r"\"}\\ \n" + "\x1b[31m" + "x" * 100_000
    path = made(tmp_path, f'{RULES}_total{{request="Fetch",version="1",clientSoftwareName="{text}"}} 1')
    (row,) = rows_of(path)
    assert row["software_name"].startswith('"}\\ \n\x1b[31mxxx')
    assert len(row["software_name"]) <= 255
    assert readiness(tmp_path / "out", path)[0] == 1
    assert "\x1b" not in capsys.readouterr().out
    assert "\x1b" not in (tmp_path / "out" / "readiness.html").read_text()


def test_series_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwire_inspect.text_logs.metrics.MAX_SERIES", 2)
    lines = [f'{RULES}_total{{request="Fetch",version="{version}"}} 1' for version in range(4)]
    rows = rows_of(made(tmp_path, *lines))
    assert [row["version"] for row in rows] == [0, 1, None]
    assert rows[-1]["problem"] == "more than 2 series: the rest is ignored"
    names = [
        f"{BEAN},version=1",
        NAMED % ("Brew", 1, "a"),
        f"{BEAN}, request=Fetch, version=3",
        NAMED % ("Fetch", 2, "a"),
    ]
    (tmp_path / "a.json").write_text(json.dumps({name: {"Count": 1} for name in names}))
    reasons = [rows[-1]["problem"], NAMELESS, "requests of an unknown API: Brew"]
    told = [(row["position"], row["problem"] or row["version"]) for row in rows_of(tmp_path / "a.json")]
    assert told == [(None, 3), *((0, reason) for reason in reasons)]


def test_metrics_of_kwire_itself_are_none_of_a_broker(tmp_path: Path) -> None:
    path = tmp_path / "kwire.prom"
    path.write_text('# TYPE kwire_requests_total counter\nkwire_requests_total{api="Fetch",version="1"} 3\n')
    assert not find([path]).metrics


def exposed(*series: tuple[str, object]) -> str:
    return "".join(f"{RULES}_total{{{labels}}} {value}\n" for labels, value in series)


FETCHES = 'request="Fetch",version="%d",clientSoftwareName="a"'
NAMED = f"{BEAN},request=%s,version=%d,clientSoftwareName=%s"
WHOLE = {
    "two brokers and repetitions": exposed(
        ('instance="a",request="Fetch",version="1"', 3),
        ('instance="b",request="Fetch",version="1"', 4),
        ('instance="a",request="Fetch",version="1"', 5),
        ('instance="b",request="Produce",version="0001",clientSoftwareName="unknown",clientSoftwareVersion="2"', 1),
        ('instance="b",request="LEADER_AND_ISR",version="2",client_software_name="A_b"', "7.0"),
        ('instance="b",request="Produce",version="3"', 0),
    ),
    "fetches": exposed(
        *((FETCHES % version, 9) for version in (1, 2, 3, 4)),
        *((FETCHES.replace("Fetch", "FetchConsumer") % version, 2) for version in (1, 5)),
        *((FETCHES.replace("Fetch", "FetchFollower") % one, count) for one, count in ((2, 4), (3, 9), (6, 1))),
    ),
    "problems of several kinds": exposed(
        ('request="Dance",version="1"', 2),
        ('version="1"', 2),
        ('request="Sing",version="1"', 2),
        ('request="Fetch",version="10000"', 2),
        ('request="Fetch",version="9999"', 2),
        ('request="Fetch",version="1"', 0.5),
        ('request="Fetch",version="2"', -1),
        ('request="Fetch",version="3"', f"{2**53}.0"),
        ('request="Fetch",version="4"', f"{2**53 - 1}.0"),
        ('request="Fetch",version="5"', "NaN"),
    ),
    "labels in labels": exposed(
        ('request_Fetch_version_3_clientSoftwareName="a, b"', 2),
        ('request_Produce_version="5",other="x"', 3),
        ('request_Produce_version_123456_clientSoftwareName="a"', 3),
        ('name="x",type="y",__name__="z",request="Fetch",version="1",clientSoftwareName="q\\"\\n\\\\"', 4),
    ),
    "two headings of JmxTool": (
        f'"time","{NAMED % ("Fetch", 2, "a")}:Count","{NAMED % ("Produce", 1, "b")}:Count"\n1,7,5\n2,9,6\n3,10\n'
        f'"time","{NAMED % ("Fetch", 2, "c")}:Count","{NAMED % ("Fetch", 3, "d")}:MeanRate"\n"4",1,8\n5,"2,8\n'
    ),
    "lines of JmxTool": (
        f'time,1\n{NAMED % ("Fetch", 2, "a")}:Count=7\n{NAMED % ("Produce", 1, "b, c")}:Count,"5"\n'
        f'{NAMED % ("Fetch", 2, "d")}:Count\t6\n{NAMED % ("Fetch", 2, "e")}:Count\n'
        f'{NAMED % ("Fetch", 2, "f")}:Mean=6\n'
    ),
    "Jolokia": json.dumps(
        [
            {"request": {"mbean": NAMED % ("Fetch", 1, "a")}, "value": {"Count": 4, "MeanRate": 2}},
            {"request": {"mbean": NAMED % ("Fetch", 2, "a"), "attribute": "Count"}, "value": 5},
            {"request": {"mbean": NAMED % ("Fetch", 3, "a"), "attribute": "MeanRate"}, "value": 6},
            {"request": {"mbean": NAMED % ("Fetch", 4, "a")}, "value": 7},
            {"value": {NAMED % ("Fetch", 5, '"a,\\"b"'): {"Count": 8}, NAMED % ("Fetch", 6, "b"): {"Count": True}}},
            {"value": {NAMED % ("Fetch", 5, '"a,\\"b"'): {"Count": 9}, "java.lang:type=A": {"Count": 8}}},
        ]
    ),
    "Prometheus": json.dumps(
        {
            "data": [
                {"metric": {"__name__": RULES, "request": "Fetch", "version": "1"}, "value": [1.5, "3"]},
                {"metric": {"__name__": RULES, "request": "Fetch", "version": "2"}, "values": [[1, "4"], [2, "5"]]},
                {"metric": {"x": "DeprecatedRequests", "request": "Fetch", "version": "3", "a": 4}, "value": [1, 6]},
                {"metric": {"__name__": "other", "request": "Fetch", "version": "4"}, "value": [1, "7"]},
                {"metric": {"__name__": f"{RULES}_rate", "request": "Fetch", "version": "5"}, "value": [1, "8"]},
                {"metric": {"__name__": RULES, "request": "Fetch", "version": "6"}, "value": []},
            ]
        }
    ),
    "JSON behind text": exposed((FETCHES % 1, 3)) + '{"a": 1}\n[2]\n' + exposed((FETCHES % 2, 4)),
    "nothing": "a 1\n",
}  # fmt: skip


@pytest.mark.parametrize("name", WHOLE)
def test_each_dump_as_whole_rows(tmp_path: Path, name: str, snapshot: SnapshotAssertion) -> None:
    """Requests, version and software, then the place or the problem. Other columns are always the same."""
    path = tmp_path / "dump"
    path.write_text(WHOLE[name])
    told = []
    for row in rows_of(path):
        software = f"{row['software_name']} {row['software_version']}"
        what = f"{row['requests']} × {row['api']} ({row['api_key']}) {row['version']} of {software!r}"
        told.append(f"{row['position']}: {row['problem'] or what}")
        assert row["requests"] == 1 or not row["problem"]
        shown = {"requests", "api", "api_key", "version", "software_name", "software_version", "position", "problem"}
        rest = {column: value for column, value in row.items() if column not in shown and value}
        assert rest == {"source": str(path)} | ({} if row["problem"] else {"input_kind": "metrics"})
        assert [row[column] for column in NONE] == [0] * len(NONE)
    assert "\n".join(told) == snapshot


@pytest.mark.parametrize(("series", "left_out"), [(2, 0), (3, 1)])
def test_so_many_series_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, series: int, left_out: int) -> None:
    """Those that come again count all the same."""
    monkeypatch.setattr("kwire_inspect.text_logs.metrics.MAX_SERIES", 2)
    text = exposed(*((FETCHES % version, 1) for version in range(series)), (FETCHES % 0, 5))
    (tmp_path / "a").write_text(text)
    rows = rows_of(tmp_path / "a")
    assert [row["requests"] for row in rows if not row["problem"]] == ([5, 1] if not left_out else [1, 1])
    assert len(rows) == 2 + left_out


@pytest.mark.parametrize(("limit", "told"), [(0, True), (1, False)])
def test_so_much_json_is_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int, told: bool) -> None:
    """In bytes of lines and their breaks, and in values by their signs."""
    text = json.dumps({NAMED % ("Fetch", 1, "a"): {"Count": 4}}, indent=1)
    (tmp_path / "a").write_text(text)
    for name, size in (("MAX_JSON", len(text) - 1), ("MAX_VALUES", text.count("{") + text.count(",") - 1)):
        with monkeypatch.context() as patch:
            patch.setattr(dumps, name, size + limit)
            assert [bool(row["problem"]) for row in rows_of(tmp_path / "a")] == [told]
