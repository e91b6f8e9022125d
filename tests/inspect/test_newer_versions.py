"""Versions newer than the newest release known: reported as such, and read with a package that has them."""

from __future__ import annotations

import pickle
from datetime import UTC
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from rich.console import Console

from kwire.command import main as run
from kwire.connection import CLIENT, SERVER
from kwire.frames import frame
from kwire.headers import RequestHeader
from kwire.protocol import TAKE_IN, MessageRegistry
from kwire_inspect.command.live import live_report
from kwire_inspect.connections import ConnectionRows, frame_batches
from kwire_inspect.connections.batches import ConnectionProjection
from kwire_inspect.options import OptionError, Options
from kwire_inspect.readers.capture import CaptureReader
from kwire_inspect.reports.newer import newer_than_known
from kwire_inspect.rows import Projection
from kwire_inspect.schemas import CLIENTS, EXCHANGES
from kwire_inspect.tables import clients
from kwire_inspect.tables.structs import ExchangeStructs
from kwire_inspect.text_logs import Split, request_batches
from kwire_kafka import PROTOCOL, ApiVersionsRequest, ApiVersionsResponse, HeartbeatRequest, HeartbeatResponse
from kwire_kafka.releases import RELEASES
from tests.support.capture_files import Conversation, Segment, packets, write_pcap
from tests.support.connection_pieces import answered, asked, pieces, values
from tests.support.newer_kafka import NEWER, PACKAGE, RELEASE
from tests.support.report_rows import client, table_of

NEWEST = f"Kafka {RELEASES.newest.name}, the newest known release"
REASON = f"Heartbeat {NEWER} is newer than {NEWEST}"
KNOWN = [asked(HeartbeatRequest(group_id="g"), 4, 1), answered(HeartbeatResponse(), 4, 1)]


def unknown(api_key: int, version: int, number: int) -> list[Segment]:
    header = RequestHeader(api_key=api_key, api_version=version, correlation_id=number, client_id="me")
    number_bytes = number.to_bytes(4, "big")
    return [(CLIENT, 0.0, frame(header.encode(2) + b"what")), (SERVER, 0.0, frame(number_bytes + b"\0ever"))]


def beats(newer: MessageRegistry) -> list[Segment]:
    """A request and a response of the version that only the newer package has."""
    request_class: Any = newer["HeartbeatRequest"]
    response_class: Any = newer["HeartbeatResponse"]
    request, response = request_class(group_id="g", reason="why not"), response_class(error_code=27)
    payload = newer.encode_request(request, NEWER, correlation_id=2, client_id="me")
    return [
        (CLIENT, 0.0, frame(payload)),
        (SERVER, 0.0, frame(newer.encode_response(response, NEWER, correlation_id=2))),
    ]


def test_rows_say_what_is_newer_than_the_known_releases() -> None:
    segments = [*KNOWN, *unknown(12, NEWER, 2), *unknown(999, 0, 3)]
    number = f"API key 999 is not in {NEWEST}"
    exchanges = values(pieces(segments), "api", "outcome", "reason", table="exchanges")
    assert exchanges == [
        ("Heartbeat", "answered", None),
        ("Heartbeat", "answered", REASON),
        (None, "answered", number),
    ]
    frames = values(pieces(segments), "kind", "reason")
    assert frames == [(kind, why) for why in (None, REASON, number) for kind in ("request", "response")]


def test_versions_far_beyond_the_known_are_shown_where_side_and_border_are_certain() -> None:
    segments = [*KNOWN, *unknown(12, 200, 2), *KNOWN[:1]]
    found = values(pieces(segments), "api", "version", "outcome", "reason", table="exchanges")
    assert found[1] == ("Heartbeat", 200, "answered", f"Heartbeat 200 is newer than {NEWEST}")


def test_frames_beyond_the_limit_are_newer_and_not_too_large() -> None:
    large = [(CLIENT, 0.0, frame(unknown(12, NEWER, 2)[0][2][4:] + bytes(3 << 20))), unknown(12, NEWER, 2)[1]]
    assert values(pieces(large), "reason", table="exchanges") == [REASON]
    assert values(pieces(large), "reason") == [REASON, REASON]


def test_a_request_that_the_server_refuses_keeps_that_reason() -> None:
    (row,) = values(pieces(unknown(12, NEWER, 2)[:1]), "outcome", "reason", table="exchanges")
    assert row == ("unanswered", "the connection ended")


def test_a_package_that_has_the_version_reads_it(newer: MessageRegistry) -> None:
    names = ["api", "outcome", "reason", "error_codes"]
    schema = pa.schema([EXCHANGES.field(name) for name in names])
    segments = pieces([*KNOWN, *beats(newer)])
    (found,) = frame_batches(segments, schema, table="exchanges", protocol=newer)
    assert [tuple(row.values()) for row in found.to_pylist()] == [
        ("Heartbeat", "answered", None, []),
        ("Heartbeat", "answered", None, [27]),
    ]


def test_structs_have_the_fields_of_the_package(newer: MessageRegistry) -> None:
    (batch,) = frame_batches(pieces(beats(newer)), table="exchanges", protocol=newer)
    (row,) = next(iter(ExchangeStructs(12, protocol=newer)([batch]))).to_pylist()
    assert (row["request"]["reason"], row["response"]["error_code"], row["reason"]) == ("why not", 27, None)
    (row,) = next(iter(ExchangeStructs(12)([batch]))).to_pylist()
    assert (row["request"], row["reason"]) == (None, REASON)


def test_the_package_reaches_workers_by_its_name(newer: MessageRegistry) -> None:
    work = ExchangeStructs(12, protocol=newer), Options({"protocol": PACKAGE})
    structs, options = pickle.loads(pickle.dumps(work))
    assert structs.protocol is newer
    assert options.protocol() is newer


def test_the_option_of_the_sources(newer: MessageRegistry, tmp_path: Path) -> None:
    path = write_pcap(tmp_path / "newer.pcap", packets(Conversation(beats(newer))))
    schema = pa.schema([EXCHANGES.field(name) for name in ("version", "error_codes", "reason")])
    rows = {}
    for protocol in ("kwire_kafka", PACKAGE):
        options = Options({"path": str(path), "rows": "exchanges", "protocol": protocol})
        reader = pickle.loads(pickle.dumps(CaptureReader(options, schema)))
        (batch,) = [batch for task in reader.tasks() for batch in reader.read(task)]
        (rows[protocol],) = batch.to_pylist()
    assert rows == {
        "kwire_kafka": {"version": NEWER, "error_codes": None, "reason": REASON},
        PACKAGE: {"version": NEWER, "error_codes": [27], "reason": None},
    }


def test_request_logs(newer: MessageRegistry, tmp_path: Path) -> None:
    header = f'"requestApiKey":12,"requestApiVersion":{NEWER},"correlationId":1,"clientId":"me"'
    header += ',"requestApiKeyName":"HEARTBEAT"'
    body = '"groupId":"g","generationId":1,"memberId":"m","groupInstanceId":null,"reason":"why not"'
    line = (
        f'Completed request:{{"isForwarded":false,"requestHeader":{{{header}}},"request":{{{body}}},'
        '"response":{"throttleTimeMs":0,"errorCode":27},"connection":"10.0.0.9:9092-10.0.0.1:50412-0",'
        '"totalTimeMs":1.0,"requestQueueTimeMs":0.1,"localTimeMs":0.1,"remoteTimeMs":0.1,"throttleTimeMs":0,'
        '"responseQueueTimeMs":0.1,"sendTimeMs":0.1,"securityProtocol":"PLAINTEXT","principal":"User:a",'
        '"listener":"PLAINTEXT","clientInformation":{"softwareName":"lib","softwareVersion":"1"}}'
    )
    (tmp_path / "request.log").write_text(line + "\n")
    for protocol, reason in ((PROTOCOL, REASON), (newer, None)):
        projection = Projection("logged_exchanges", protocol=protocol)
        (batch,) = request_batches(Split(str(tmp_path / "request.log")), projection, UTC)
        (row,) = batch.to_pylist()
        assert (row["version"], row["software_name"], row["error_codes"], row["reason"]) == (
            NEWER,
            "lib",
            [27],
            reason,
        )
        assert (row["request"] is None) == (protocol is PROTOCOL)


@pytest.mark.parametrize("name", ["no_such_package", "json", "../json", "os.path;x"])
def test_what_is_not_a_generated_package_is_a_wrong_option(name: str) -> None:
    with pytest.raises(OptionError, match="the option protocol must name a package that kwirec generated"):
        Options({"protocol": name}).protocol()


def test_the_state_of_a_stream_is_of_the_package(newer: MessageRegistry) -> None:
    request, response = pieces(beats(newer))[:2]
    rows = ConnectionRows(request.connection, ConnectionProjection("exchanges", protocol=newer))
    assert rows.feed(request) == []
    (row,) = rows.feed(response)
    assert row is not None


HEARTBEATS = {"api_key": 12, "version": NEWER}


def test_the_summary_has_what_is_newer_once() -> None:
    seen = [
        {"input_kind": "capture", "requests": 1200, **HEARTBEATS},
        {"input_kind": "request_log", "requests": 1000, **HEARTBEATS},  # the same requests
        {"input_kind": "capture", "requests": 5, "api_key": 999, "version": 2},
        {"input_kind": "capture", "requests": 7, "api_key": 12, "version": 4},
    ]
    assert newer_than_known(seen, PROTOCOL) == (
        f"Counted but did not decode 1,205 requests newer than {NEWEST}: Heartbeat {NEWER} (1,200), "
        f"API key 999 in version 2 (5); {TAKE_IN}.",
    )
    assert newer_than_known(seen[3:], PROTOCOL) == ()
    (sentence,) = newer_than_known([{"input_kind": "capture", "requests": 2, "api_key": 12, "version": -1}], PROTOCOL)
    assert sentence.startswith("Counted but did not decode 2 requests older than the known versions: Heartbeat -1")


@pytest.mark.parametrize(("versions", "more"), [(10, ""), (11, ", 1 more versions"), (12, ", 2 more versions")])
def test_only_the_most_frequent_are_named(versions: int, more: str) -> None:
    """All are counted. Those that are as frequent are in the order of their keys."""
    counts = [(999, 5, 1000), (990, 99, 7), *((998, version, 7) for version in range(versions - 2))]
    counts += [(12, 0, 9), (12, -1, 3), (3, -2, 4)]  # one is known
    seen = [{"input_kind": "c", "requests": n, "api_key": key, "version": version} for key, version, n in counts]
    named = ["API key 999 in version 5 (1,000)", "API key 990 in version 99 (7)"]
    named += [f"API key 998 in version {version} (7)" for version in range(8)]
    first = f"Counted but did not decode {1000 + 7 * (versions - 1):,} requests newer than {NEWEST}: "
    assert newer_than_known(seen[::-1], PROTOCOL) == (
        f"{first}{', '.join(named)}{more}; {TAKE_IN}.",
        "Counted but did not decode 7 requests older than the known versions: Metadata -2 (4), Heartbeat -1 (3); "
        f"{TAKE_IN}.",
    )


def test_of_very_many_versions_the_most_frequent_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "MAX_VERSIONS", 2)
    rows = [client(api_key=999, version=version, requests=requests) for version, requests in enumerate((1, 5, 2, 3))]
    seen = clients.versions_seen(table_of(CLIENTS, *rows))
    assert [(row["version"], row["requests"]) for row in seen] == [(1, 5), (3, 3)]


@pytest.fixture(scope="module")
def capture(newer: MessageRegistry, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A client that negotiates, and then sends a version that only the newer package has."""
    asks = ApiVersionsRequest(client_software_name="lib", client_software_version="9.9")
    segments = [asked(asks, 3, 1), answered(ApiVersionsResponse(), 3, 1), *beats(newer)]
    path = tmp_path_factory.mktemp("given") / "newer.pcap"
    return str(write_pcap(path, packets(Conversation(segments))))


REPORTS = [["clients"], ["readiness", "--target", RELEASES.newest.name], ["census"], ["latency"]]


def test_the_live_page_says_it_too(capture: str, tmp_path: Path) -> None:
    assert run(["clients", capture, "--out", str(tmp_path), "--engine", "local", "-q"]) == 0
    live = live_report(str(tmp_path), "parquet", [RELEASES.newest.name], None, PROTOCOL, Console(stderr=True))
    assert live.update()
    assert (tmp_path / "readiness.html").read_text().count("Counted but did not decode") == 1


@pytest.mark.parametrize("command", REPORTS, ids=lambda command: command[0])
def test_each_report_says_once_what_is_newer(
    command: list[str], capture: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, capture, "--out", str(tmp_path), "-q"]) == 0
    (report,) = tmp_path.glob("*.html")
    assert report.read_text().count("Counted but did not decode") == 1
    out = " ".join(capfd.readouterr().out.split())
    assert (
        out.count(f"Counted but did not decode 1 request newer than {NEWEST}: Heartbeat {NEWER} (1); {TAKE_IN}.") == 1
    )


@pytest.mark.parametrize("command", REPORTS, ids=lambda command: command[0])
def test_each_report_takes_the_package_that_has_it(
    command: list[str], capture: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    command = [RELEASE if word == RELEASES.newest.name else word for word in command]
    assert run([*command, capture, "--out", str(tmp_path), "-q", "--protocol", PACKAGE]) == 0
    out = capfd.readouterr().out
    assert "Counted but did not decode" not in out
    assert {"readiness": "refuses none", "latency": "BEATS_NO_MORE"}.get(command[0], "Heartbeat") in out


def test_releases_of_another_package(capture: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    arguments = [capture, "--out", str(tmp_path), "-q", "--protocol", PACKAGE]
    assert run(["readiness", "--target", RELEASES.newest.name, *arguments]) == 2
    assert "unknown release" in capfd.readouterr().err
    known = ["--releases", "kwire_kafka"]
    assert run(["readiness", "--target", RELEASES.newest.name, *arguments, *known]) == 0
    assert run(["census", *arguments, "--releases", "json"]) == 2
    assert "no releases in the package json" in capfd.readouterr().err


def test_an_unknown_target_tells_how_to_take_it_in(
    capture: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["readiness", "--target", "98.0.0", capture, "--out", str(tmp_path), "-q"]) == 2
    assert TAKE_IN in capfd.readouterr().err


def test_the_name_of_the_package_is_checked_first(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["clients", str(tmp_path / "none"), "--protocol", "../x", "--out", str(tmp_path), "-q"]) == 2
    assert "'../x' is not a package name" in capfd.readouterr().err
