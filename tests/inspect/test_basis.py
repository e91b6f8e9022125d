"""What a report says it is based on, and what it is worth if too little was read."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.command import main as run
from kwire_inspect.reasons import (
    CUT_IN_TUNNEL,
    DROPPED,
    FRAGMENTS_DIFFER,
    FRAGMENTS_LOST,
    HTTP,
    LIKE_TLS,
    MISSING,
    NO_DEPRECATED,
    NO_FRAME,
    NO_PACKET,
    NO_SECRETS,
    NO_TCP,
    NOT_KAFKA,
    NOT_READ,
    OTHER_REASONS,
    PARTIAL,
    SHORT,
    STRAY,
    TLS,
    UNDECIDED,
    advice,
)
from kwire_inspect.reports import basis as basis_module
from kwire_inspect.reports import encrypted
from kwire_inspect.reports.basis import Basis, Problem, basis_of, with_basis, with_problems
from kwire_inspect.reports.census import census
from kwire_inspect.reports.completed import completed
from kwire_inspect.reports.latency import latency
from kwire_inspect.reports.readiness import readiness
from kwire_inspect.reports.report import Report
from kwire_inspect.reports.terminal import print_report
from kwire_inspect.reports.text import counted
from kwire_inspect.schemas import EXCHANGES
from kwire_inspect.stored import Origin
from kwire_inspect.tables.clients import clients
from kwire_kafka import PROTOCOL
from tests.inspect.test_late_captures import OTHER_PORTS
from tests.support.capture_files import EPOCH, Conversation, packets, recorded, write_pcap
from tests.support.effort import examples
from tests.support.report_rows import START, client, clients_of, exchange, exchanges_of, table_of

REPORT = Report("clients", "Clients", ("2 clients seen.",), ())
ROWS = [
    exchange(number=0, request_size=100, response_size=200, at=0),
    exchange(number=1, request_size=100, at=60),
    exchange(number=None, at=30),
    *(exchange(None, None, number=None, time=None, problem=TLS, unread=size) for size in (500, 100)),
    exchange(None, None, number=None, time=None, problem=HTTP, unread=9000),
    exchange(None, None, number=None, time=None, problem=PARTIAL, unread=50),
]


def test_a_report_on_latency_and_its_basis_count_the_same_requests() -> None:
    """What brokers forwarded was sent to them before, and counts once."""
    forwarded = exchange(number=None, at=1, forwarded=True)
    table = exchanges_of(exchange(number=0), exchange(number=1, at=2), forwarded, exchange(0, 9, number=None, at=3))
    assert latency(table).summary[0].startswith("3 requests,")
    assert basis_of(table).requests == 3


@pytest.mark.parametrize("added_up", [False, True])
def test_the_basis_is_that_of_all_connections(added_up: bool) -> None:
    table = exchanges_of(*ROWS)
    basis = basis_of(clients(table) if added_up else table)
    requests = 2  # as the tables have it: what a log saw too counts once
    assert (basis.requests, basis.connections, basis.read, basis.unread, basis.share) == (requests, 1, 400, 600, 40.0)
    assert basis.first_seen == START
    assert [(one.reason, one.places, one.unread) for one in basis.problems] == [
        (HTTP, 1, 9000),
        (TLS, 2, 600),
        (PARTIAL, 1, 50),
    ]


def test_one_busy_client_does_not_hide_that_most_connections_are_encrypted() -> None:
    foreign = [exchange(None, None, number=0, time=None, position=at, problem=TLS, unread=10) for at in range(3)]
    seen = clients(exchanges_of(exchange(request_size=10**6), *foreign))
    report = readiness(seen, "4.1.1")
    assert report.summary[:4] == (
        "INCOMPLETE: only 25.0 % of the connections were read, but --min-coverage is 90 %. "
        "Clients may be missing. See the last table.",
        "Kafka 4.1.1 refuses none of 1 client.",
        "Based on 1 request on 1 connection, from 2026-01-02 12:00:00 to 2026-01-02 12:00:00 UTC.",
        "99.9 % of the bytes and 25.0 % of the connections were read. Unread: 30 bytes encrypted.",
    )
    assert report.exit_code == 4
    assert (
        readiness(clients(exchanges_of(exchange(request_size=10**6), *foreign)), "4.1.1", min_coverage=25).exit_code
        == 0
    )


def test_a_report_in_python_says_by_itself_that_all_is_encrypted() -> None:
    seen = clients(
        exchanges_of(exchange(None, None, number=0, time=None, problem=TLS, unread=10)), origin=Origin("1 capture")
    )
    for report in (readiness(seen, "4.1.1"), census(seen)):
        assert report.summary[0].startswith("INCOMPLETE: only 0.0 % of the bytes")
        assert report.summary[2].startswith("Based on 1 capture")
        assert report.exit_code == 4
        assert report.tables[-1].column("problem") == [TLS]


def test_a_report_on_another_table_says_what_it_needs() -> None:
    exchanges: Any = exchanges_of(exchange())
    with pytest.raises(TypeError, match=r"expected a table of clients: pass clients\(exchanges\)"):
        readiness(exchanges, "4.1.1")
    with pytest.raises(TypeError, match=r"expected a table of clients: pass clients\(exchanges\)"):
        census(exchanges)


def test_a_report_has_its_basis_after_its_verdict() -> None:
    basis = basis_of(exchanges_of(*ROWS))
    report = with_basis(REPORT, basis, "1 capture", 40)
    assert report.summary == (
        "2 clients seen.",
        "Based on 1 capture: 2 requests on 1 connection, from 2026-01-02 12:00:00 to 2026-01-02 12:01:00 UTC.",
        "40.0 % of the bytes and 100 % of the connections were read. Unread: 600 bytes encrypted.",
    )
    assert report.exit_code == 0


@pytest.mark.parametrize(("code", "expected"), [(0, 4), (1, 1)])
def test_a_poor_basis_is_the_headline_and_has_an_exit_code_of_its_own(code: int, expected: int) -> None:
    poor = Report("readiness", "", ("none refused",), (), exit_code=code)
    report = with_basis(poor, basis_of(exchanges_of(*ROWS)), "1 capture", 90)
    assert report.summary[0].startswith("INCOMPLETE: only 40.0 % of the bytes")
    assert report.exit_code == expected


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        (MISSING, "tcpdump -s 0"),
        (NO_FRAME, "in the middle of a connection"),
        (STRAY, "in the middle of a connection"),
        (UNDECIDED, "--ports"),
        (TLS, "--key-log"),
        (f"{TLS} ({NO_SECRETS})", "--key-log"),
        (LIKE_TLS, "--key-log"),
        (HTTP, "specify the broker ports with --ports to exclude these connections"),
        (f"{NOT_KAFKA}an unknown protocol", "specify the broker ports with --ports to exclude these connections"),
        (SHORT, "tcpdump -s 0"),
        (CUT_IN_TUNNEL, "increase the mirror's packet length"),
        (FRAGMENTS_LOST, "tcpdump -B"),
        (FRAGMENTS_DIFFER, ""),
        (NO_PACKET, "as the value of a record"),
        (DROPPED, "a filter"),
        (f"{NO_TCP}: 3 ARP", "tcpdump -i any"),
        (f"{NOT_READ}ESP (IP protocol 50)", "inside the tunnel"),
        (OTHER_REASONS, "inside the tunnel"),
        (NO_DEPRECATED, "3.7 or newer"),
        (PARTIAL, ""),
        ("truncated: the last packet is only 3 bytes long", ""),
    ],
)
def test_what_to_do_about_what_was_not_read(reason: str, told: str) -> None:
    assert told in advice(reason) if told else advice(reason) == ""


def test_logs_have_no_share() -> None:
    basis = Basis(5, 0, 0, None, None, ())
    report = with_basis(REPORT, basis, "1 request log", 100)
    assert report.summary[1:] == ("Based on 1 request log: 5 requests.",)
    assert report.exit_code == 0


def test_problems_are_grouped_and_whole_on_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    problems = [Problem(TLS, 7, 1000, "/var/a.pcap", 24), Problem(UNDECIDED, 1, 10), Problem(MISSING, 1, 0)]
    print_report(with_problems(REPORT, problems, [("b.txt", "empty file")]), Console(width=100))
    told = " ".join(capsys.readouterr().out.split())
    assert "not Kafka: TLS" in told
    assert "or use the" in told
    assert "--ports" in told
    assert "skipped: empty file" in told


def test_a_late_capture_is_no_all_clear(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """On ports of which nothing is known, with the second half of an answer at its beginning."""
    talk, *_ = [one for one in recorded("aiokafka-on-4.1.1") if len(one.segments) > 20]
    whole = packets(Conversation(talk.segments, *OTHER_PORTS), size=100)
    read, cut = write_pcap(tmp_path / "read.pcap", whole), write_pcap(tmp_path / "cut.pcap", whole[40:60])
    assert whole[0].time >= EPOCH
    assert run(["readiness", "--target", "4.1.1", str(read), "--out", str(tmp_path / "out")]) == 0
    assert "100 % of the bytes" in capfd.readouterr().out
    assert run(["readiness", "--target", "4.1.1", str(cut), "--out", str(tmp_path / "out")]) == 4
    assert "INCOMPLETE" in capfd.readouterr().out


def foreign(reason: str, at: int = 0, **facts: Any) -> dict[str, Any]:
    """A row about bytes that were not read."""
    return exchange(None, None, time=None, position=at, problem=reason) | {"number": None, **facts}


def test_problems_name_the_first_place_and_those_with_most_bytes_come_first() -> None:
    few = [foreign("b", 1, source="b.pcap", unread=7), foreign("b", 9, source="a.pcap", packets=3)]
    more = [foreign("a", 2, unread=2), foreign("c", unread=900, number=0), foreign("d")]
    seen = exchanges_of(*few, *more)
    for table in (seen, clients(seen)):
        found = [(one.reason, one.places, one.unread, one.source, one.position) for one in basis_of(table).problems]
        assert found == [
            ("c", 1, 900, "a.pcap", 0),
            ("b", 4, 7, "a.pcap", 9),
            ("a", 1, 2, "a.pcap", 2),
            ("d", 1, 0, "a.pcap", 0),
        ]
    report = with_problems(REPORT, basis_of(seen).problems, [("x.txt", "empty file")])
    rows = [(*row[:4], *row[5:]) for row in report.tables[-1].rows]
    assert rows == [
        ("c", 1, 1, 900, "a.pcap", 0),
        ("b", 4, None, 7, "a.pcap", 9),
        ("a", 1, None, 2, "a.pcap", 2),
        ("d", 1, None, None, "a.pcap", 0),
        ("skipped: empty file", 1, None, None, "x.txt", None),
    ]
    assert report.summary[-2:] == (
        "Some input could not be read. The last table lists 4 reasons.",
        "Skipped 1 file. See the last table.",
    )


LOST = (
    Problem(f"{TLS} ({NO_SECRETS})", 2, 50, connections=1),
    Problem(TLS, 1, 10),
    Problem(UNDECIDED, 1, 20),
    Problem(MISSING, 7, 5),
    Problem(f"{NOT_READ}ESP", 1, 15),
    Problem(PARTIAL, 1, 1000, connections=5),
    Problem(HTTP, 1, 2000, connections=7),
)
FULL = Basis(1, 3, 900, START, START + timedelta(hours=1, milliseconds=5), LOST)
ALL_READ = (
    "90.0 % of the bytes and 75.0 % of the connections were read. Unread: 20 bytes undecided, 60 bytes encrypted, "
)
ALL_READ += "5 bytes missing, 15 bytes in unsupported encapsulations."
FROM = "from 2026-01-02 12:00:00 to 2026-01-02 13:00:00.005 UTC."
LESS = "were read, but --min-coverage is {} %. Clients may be missing. See the last table."
LOGGED = Basis(2, 0, 0, START, None, ())


@pytest.mark.parametrize(
    ("basis", "least", "headline", "said"),
    [
        (FULL, 75, None, [f"1 request on 3 connections, {FROM}", ALL_READ]),
        (FULL, 75.5, f"only 75.0 % of the connections {LESS}", [f"1 request on 3 connections, {FROM}", ALL_READ]),
        (replace(FULL, read=100, connections=1, problems=(Problem(TLS, 1, 101),)), 50,
         f"only 49.8 % of the bytes {LESS}",
         [f"1 request on 1 connection, {FROM}",
          "49.8 % of the bytes and 100 % of the connections were read. Unread: 101 bytes encrypted."]),
        (Basis(0, 0, 0, None, None, (Problem(UNDECIDED, 1, 1),)), 1, f"only 0.0 % of the bytes {LESS}",
         ["0 requests.", "0.0 % of the bytes were read. Unread: 1 byte undecided."]),
        (Basis(0, 0, 0, None, None, (Problem(MISSING, 1, 0, connections=2),)), 1,
         f"only 0.0 % of the connections {LESS}", ["0 requests."]),
        (Basis(0, 0, 0, None, None, (Problem(HTTP, 1, 5, connections=2),)), 100, None, ["0 requests."]),
        (LOGGED, 100, None, ["2 requests."]),
        (replace(LOGGED, deprecated=0), 100, None,
         ["2 requests.", "Metrics count 0 requests with deprecated versions since the brokers started."]),
        (replace(LOGGED, requests=0, deprecated=1), 100, None,
         ["", "Metrics count 1 request with deprecated versions since the brokers started."]),
        (replace(LOGGED, known=False), 0, basis_module.OLDER.removeprefix("INCOMPLETE: "), ["2 requests."]),
        (replace(FULL, known=False), 100, basis_module.OLDER.removeprefix("INCOMPLETE: "),
         [f"1 request on 3 connections, {FROM}", ALL_READ]),
    ],
)  # fmt: skip
def test_a_basis_in_words(basis: Basis, least: float, headline: str | None, said: list[str]) -> None:
    """With the names of inputs and without. Too little is an exit code of its own, unless there is another."""
    first, *more = said
    first_lines = f": {first}" if first else ".", first or "0 requests."
    starts = [f"INCOMPLETE: {headline.format(f'{least:g}')}"] if headline else []
    for inputs, line in zip(("2 captures", ""), first_lines, strict=True):
        based = f"Based on {inputs}{line}" if inputs else f"Based on {line}"
        for code in (0, 1):
            report = with_basis(replace(REPORT, exit_code=code), basis, inputs, least)
            assert report.summary == (*starts, *REPORT.summary, based, *more)
            assert report.exit_code == (code or (4 if headline else 0))


def test_what_was_not_read_has_a_table() -> None:
    problems = [Problem(MISSING, 7, 0), Problem(TLS, 2, 10, "a.pcap", 24, 1)]
    skipped = [("b.txt", "empty file"), ("c", "a link")]
    read = [(MISSING, 7, None, None, advice(MISSING), None, None), (TLS, 2, 1, 10, advice(TLS), "a.pcap", 24)]
    left_out = [
        ("skipped: empty file", 1, None, None, "", "b.txt", None),
        ("skipped: a link", 1, None, None, "", "c", None),
    ]
    reasons = "Some input could not be read. The last table lists 2 reasons."
    files = "Skipped 2 files. See the last table."
    for given_problems, files_given, rows, said in (
        (problems, skipped, read + left_out, (reasons, files)),
        (problems, [], read, (reasons,)),
        ([], skipped, left_out, (files,)),
    ):
        report = with_problems(replace(REPORT, tables=(encrypted.ENCRYPTED,)), given_problems, files_given)
        assert report.tables[0] == encrypted.ENCRYPTED
        assert report.tables[1:] == (replace(basis_module.PROBLEMS, rows=tuple(rows)),)
        assert report.summary == (*REPORT.summary, *said)
    assert with_problems(REPORT, [], []) == REPORT


def test_the_basis_of_clients_counts_once_what_several_inputs_saw(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests of metrics are apart. Of more rows than a report has, all requests count."""
    hour = timedelta(hours=1)
    rows = [
        client(3, 9, 5, bytes=100, begun=2, connections=3, first_seen=START - hour),
        client(3, 9, 7, input_kind="request_log", bytes=0, last_seen=START + hour),
        client(0, 3, 4, bytes=20, begun=1),
        client(0, 3, 1, input_kind="request_log", bytes=0),
    ]
    counted_rows = [client(1, 4, 50, input_kind="metrics"), client(1, 3, 6, input_kind="metrics")]
    found = basis_of(clients_of(*rows, *counted_rows))
    assert found == Basis(11, 3, 120, START - hour, START + hour, (), deprecated=56)
    assert not basis_of(clients_of(rows[0], rows[1] | {"bytes": None})).known
    assert not basis_of(replace(clients_of(*rows), complete=False)).known
    for most, requests in ((4, 11), (3, 17)):
        monkeypatch.setattr(basis_module, "MAX_ROWS", most)
        assert basis_of(clients_of(*rows, *counted_rows)).requests == requests
    assert basis_of(clients_of(*rows[:1], *counted_rows)).requests == 5
    monkeypatch.undo()
    exchanges = [exchange(key, number=0, at=at) for at, key in enumerate((0, 0, 3))]
    exchanges += [exchange(key, number=None, at=at) for at, key in enumerate((0, 3, 3, 3, 12))]
    assert basis_of(exchanges_of(*exchanges)).requests == 2 + 3 + 1


def test_problems_and_senders_of_encrypted_bytes_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    facts: list[dict[str, Any]] = [{"client_host": "10.0.0.2", "unread": 6}, {"client_host": "10.0.0.2", "unread": 5}]
    facts += [{"client_host": "10.0.0.1", "server_port": port, "unread": 9} for port in (9093, 9092)]
    rows = [foreign(TLS, **{"server_port": 1} | one) for one in facts]
    rows += [foreign(f"{TLS} ({NO_SECRETS})", client_host=None, unread=30), foreign(MISSING, unread=31)]
    first = (None, None, f"{TLS} ({NO_SECRETS})", 30)
    ties = [("10.0.0.2", 1, TLS, 11), ("10.0.0.1", 9092, TLS, 9), ("10.0.0.1", 9093, TLS, 9)]
    reasons = [(MISSING, 31), (f"{TLS} ({NO_SECRETS})", 30), (TLS, 29)]
    for most in (2, 3, 1000):
        monkeypatch.setattr(encrypted, "MAX_ROWS", most)
        monkeypatch.setattr(basis_module, "MAX_PROBLEMS", most)
        found = basis_of(exchanges_of(*rows))
        assert found.encrypted == (first, *ties)[:most]
        assert [(one.reason, one.unread) for one in found.problems] == reasons[:most]
    report = encrypted.with_encrypted(REPORT, found.encrypted)
    assert report == replace(REPORT, tables=(replace(encrypted.ENCRYPTED, rows=(first, *ties)),))
    assert encrypted.with_encrypted(REPORT, ()) == REPORT
    for missing in ("client_host", "server_port", "unread"):
        schema = pa.schema([field for field in EXCHANGES if field.name != missing])
        older = table_of(schema, {name: cell for name, cell in rows[0].items() if name != missing})
        assert encrypted.encrypted_of(older) == (), "tables of an older kwire"


ASKED = st.fixed_dictionaries(
    {
        "api_key": st.sampled_from([0, 3]),
        "number": st.sampled_from([0, 1, 2, None]),
        "request_size": st.sampled_from([0, 10, 500]),
        "response_size": st.sampled_from([None, 90]),
        "time": st.sampled_from([None, START, START + timedelta(seconds=1.5), START + timedelta(hours=1)]),
    }
)
UNREAD = st.fixed_dictionaries(
    {
        "problem": st.sampled_from(
            [TLS, f"{TLS} ({NO_SECRETS})", HTTP, PARTIAL, UNDECIDED, MISSING, f"{NOT_READ}ESP"]
        ),
        "number": st.sampled_from([0, None]),
        "unread": st.sampled_from([None, 0, 5, 400]),
        "packets": st.sampled_from([None, 3]),
        "client_host": st.sampled_from([None, "10.0.0.1", "10.0.0.2"]),
        "server_port": st.sampled_from([None, 9092, 9093]),
        "source": st.sampled_from(["b.pcap", "a.pcap"]),
        "position": st.sampled_from([3, 20]),
    }
)


@pytest.mark.slow
@examples(0.3)
@given(st.lists(ASKED, max_size=12), st.lists(UNREAD, max_size=12), st.sampled_from([0.0, 50.0, 90.0, 100.0]))
def test_the_basis_of_any_rows(asked: list[dict[str, Any]], unread: list[dict[str, Any]], least: float) -> None:
    rows = [exchange(one["api_key"]) | one | {"position": at} for at, one in enumerate(asked)]
    for row in rows:
        if row["number"] is None:
            row |= {"request_size": None, "response_size": None}  # as in request logs
    table = exchanges_of(*rows, *(exchange(None, None) | {"time": None} | one for one in unread))
    found = basis_of(table)

    kinds = {"request_log" if row["number"] is None else "capture" for row in rows}
    by_key = [[row["number"] is None for row in rows if row["api_key"] == key] for key in (0, 3)]
    most = sum(max(logs.count(True), logs.count(False)) for logs in by_key)
    times = [row["time"] for row in rows if row["time"]]
    read = sum((row["request_size"] or 0) + (row["response_size"] or 0) for row in rows)
    connections = sum(row["number"] == 0 for row in rows)
    assert found.requests == (most if len(kinds) == 2 else len(rows))
    for one in (found, basis_of(clients(table))):
        assert (one.read, one.connections, one.known, one.deprecated) == (read, connections, True, None)
        assert (one.first_seen, one.last_seen) == (min(times, default=None), max(times, default=None))
        assert (one.problems, one.encrypted) == (found.problems, found.encrypted)

    problems, encrypted = [], []
    for reason in {one["problem"] for one in unread}:
        of = [one for one in unread if one["problem"] == reason]
        places, size = sum(one["packets"] or 1 for one in of), sum(one["unread"] or 0 for one in of)
        source, position = min((one["source"], one["position"]) for one in of)
        problems.append(Problem(reason, places, size, source, position, sum(one["number"] == 0 for one in of)))
        for host, port in {(one["client_host"], one["server_port"]) for one in of if reason.startswith(TLS)}:
            here = [one["unread"] or 0 for one in of if (one["client_host"], one["server_port"]) == (host, port)]
            encrypted.append((host, port, reason, sum(here)))
    assert found.problems == tuple(sorted(problems, key=lambda one: (-one.unread, one.reason)))
    assert found.encrypted == tuple(sorted(encrypted, key=lambda one: (-one[3], one[0] or "", one[1] or 0, one[2])))

    lost = [one for one in problems if one.reason not in (PARTIAL, HTTP)]
    sums = [(read, sum(one.unread for one in lost)), (connections, sum(one.connections for one in lost))]
    shares = [100 * part / (part + other) if part + other else None for part, other in sums]
    coverage = min((share for share in shares if share is not None), default=None)
    enough = coverage is None or coverage >= least
    report = with_basis(REPORT, found, "1 capture", least)
    assert report.exit_code == (0 if enough else 4)
    of_what = "bytes" if coverage == shares[0] else "connections"
    said = [] if enough else [f"INCOMPLETE: only {percent(coverage)} of the {of_what} were read, but --min-coverage "]
    assert [sentence[: len(start)] for sentence, start in zip(report.summary, said, strict=False)] == said
    on = f" on {counted(connections, 'connection')}" if connections else ""
    span = f", from {min(times):%F %T} to {max(times):%F %T}" if times else ""
    span = re.sub(r"(:01)(?= to |$)", r"\1.500", span)
    said = [
        *REPORT.summary,
        f"Based on 1 capture: {counted(found.requests, 'request')}{on}{span}{' UTC' * bool(span)}.",
    ]
    if shares[0] is not None:
        named = {"undecided": UNDECIDED, "encrypted": TLS, "missing": MISSING}
        sizes = {name: sum(one.unread for one in lost if one.reason.startswith(of)) for name, of in named.items()}
        sizes["in unsupported encapsulations"] = sum(one.unread for one in lost if one.reason.startswith(NOT_READ))
        of_connections = "" if shares[1] is None else f" and {percent(shares[1])} of the connections"
        parts = [f"{counted(size, 'byte')} {name}" for name, size in sizes.items() if size]
        said.append(f"{percent(shares[0])} of the bytes{of_connections} were read.")
        said[-1] += f" Unread: {', '.join(parts)}." if parts else ""
    assert report.summary[not enough :] == tuple(said)


def percent(share: float | None) -> str:
    assert share is not None
    return "100 %" if share == 100 else f"{min(share, 99.9):.1f} %"


def test_reports_end_with_all_that_was_not_read() -> None:
    """After their own tables: encrypted connections, then all problems and skipped files."""
    origin = Origin("2 captures", (("b.txt", "empty file"),))
    lost = foreign(TLS, unread=300, client_host="10.0.0.2", server_port=9093)
    table = exchanges_of(exchange(9999, 7, number=0, request_size=100), lost)
    seen, end = clients(table, origin=origin), ("10.0.0.2", 9093, TLS, 300)
    headline = "INCOMPLETE: only 25.0 % of the bytes were read, but --min-coverage is 26 %. "
    more = (
        "Counted but did not decode 1 request newer",
        "Based on 2 captures: 1 request on 1 connection, from 2026-01-02 12:00:00 to 2026-01-02 12:00:00 UTC.",
        "25.0 % of the bytes and 100 % of the connections were read. Unread: 300 bytes encrypted.",
        "Some input could not be read. The last table lists 1 reason.",
        "Skipped 1 file. See the last table.",
    )
    report = Report("r", "R", ("Said.",), (basis_module.PROBLEMS,))
    made = completed(report, basis_of(table), origin, 26, PROTOCOL, table)
    for one, own in ((readiness(seen, "4.1.1", min_coverage=26), 1), (census(seen, min_coverage=26), 2), (made, 1)):
        assert (one.summary[0][: len(headline)], one.exit_code) == (headline, 4)
        said = one.summary[-len(more) :]
        assert [said[0][: len(more[0])], *said[1:]] == [*more]
        assert len(one.summary) == 1 + own + len(more)
        assert one.tables[-2] == replace(encrypted.ENCRYPTED, rows=(end,))
        assert one.tables[-1].column("problem") == [TLS, "skipped: empty file"]
    enough = readiness(seen, "4.1.1", min_coverage=25)
    assert (enough.exit_code, enough.summary[1:]) == (0, readiness(seen, "4.1.1").summary[2:])
    problems = completed(report, [Problem(TLS, 1, 300)], origin, 100, PROTOCOL)
    assert problems.summary == ("Said.", *more[-2:])
    assert (len(problems.tables), problems.exit_code) == (2, 0)
