"""What a report says it is based on, and what it is worth if too little was read."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

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
from kwire_inspect.reports.basis import Basis, Problem, basis_of, with_basis, with_problems
from kwire_inspect.reports.census import census
from kwire_inspect.reports.latency import latency
from kwire_inspect.reports.readiness import readiness
from kwire_inspect.reports.report import Report
from kwire_inspect.reports.terminal import print_report
from kwire_inspect.reports.text import counted
from kwire_inspect.stored import Origin
from kwire_inspect.tables.clients import clients
from tests.inspect.test_late_captures import OTHER_PORTS
from tests.support.capture_files import EPOCH, Conversation, packets, recorded, write_pcap
from tests.support.effort import examples
from tests.support.report_rows import START, exchange, exchanges_of

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
        "INCOMPLETE: only 25.0 % of the connections were read, less than the 90 % of --min-coverage: "
        "clients may be missing. See the last table.",
        "Kafka 4.1.1 refuses none of 1 client.",
        "Based on 1 request on 1 connection, from 2026-01-02 12:00:00 to 2026-01-02 12:00:00 UTC.",
        "99.9 % of the bytes and 25.0 % of the connections were read; 30 bytes encrypted.",
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
    with pytest.raises(TypeError, match=r"a table of clients is expected: clients\(exchanges\)"):
        readiness(exchanges, "4.1.1")
    with pytest.raises(TypeError, match=r"a table of clients is expected: clients\(exchanges\)"):
        census(exchanges)


def test_a_report_has_its_basis_after_its_verdict() -> None:
    basis = basis_of(exchanges_of(*ROWS))
    report = with_basis(REPORT, basis, "1 capture", 40)
    assert report.summary == (
        "2 clients seen.",
        "Based on 1 capture: 2 requests on 1 connection, from 2026-01-02 12:00:00 to 2026-01-02 12:01:00 UTC.",
        "40.0 % of the bytes and 100 % of the connections were read; 600 bytes encrypted.",
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
        (MISSING, "tcpdump -B"),
        (NO_FRAME, "in the middle of connections"),
        (STRAY, "in the middle of connections"),
        (UNDECIDED, "--ports"),
        (TLS, "--key-log"),
        (f"{TLS} ({NO_SECRETS})", "--key-log"),
        (LIKE_TLS, "--key-log"),
        (HTTP, "leave such connections out with --ports"),
        (f"{NOT_KAFKA}an unknown protocol", "leave such connections out with --ports"),
        (SHORT, "tcpdump -s 0"),
        (CUT_IN_TUNNEL, "raise the mirror's packet length"),
        (FRAGMENTS_LOST, "tcpdump -B"),
        (FRAGMENTS_DIFFER, ""),
        (NO_PACKET, "as the value of a record"),
        (DROPPED, "a filter"),
        (f"{NO_TCP}: 3 ARP", "tcpdump -i any"),
        (f"{NOT_READ}ESP (IP protocol 50)", "inside of the tunnel"),
        (OTHER_REASONS, "inside of the tunnel"),
        (NO_DEPRECATED, "3.7 or newer"),
        (PARTIAL, ""),
        ("truncated: the last packet has only 3 bytes", ""),
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
        "Not everything could be read: 4 reasons in the last table.",
        "1 file skipped: see the last table.",
    )


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
    of_what = "bytes of connections" if coverage == shares[0] else "connections"
    said = [] if enough else [f"INCOMPLETE: only {percent(coverage)} of the {of_what} were read, less than the "]
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
        sizes["in encapsulations that are not read"] = sum(
            one.unread for one in lost if one.reason.startswith(NOT_READ)
        )
        of_connections = "" if shares[1] is None else f" and {percent(shares[1])} of the connections"
        parts = [f"{counted(size, 'byte')} {name}" for name, size in sizes.items() if size]
        said.append(f"{'; '.join([f'{percent(shares[0])} of the bytes{of_connections} were read', *parts])}.")
    assert report.summary[not enough :] == tuple(said)


def percent(share: float | None) -> str:
    assert share is not None
    return "100 %" if share == 100 else f"{min(share, 99.9):.1f} %"
