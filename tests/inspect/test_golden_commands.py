"""What the commands say of a small cluster that has two of everything: the whole text, and all files alike."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable
from datetime import datetime
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet
from syrupy.assertion import SnapshotAssertion

from kwire.command import main as run
from kwire.connection import CLIENT, SERVER
from kwire_inspect.capture import Peer
from kwire_kafka import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    FetchRequest,
    FetchResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    MetadataRequest,
    MetadataResponse,
    ProduceRequest,
)
from kwire_kafka.api.metadata import MetadataResponseTopic
from kwire_kafka.releases import RELEASES
from tests.support.capture_files import Conversation, Segment, merged, packets, write_pcap
from tests.support.connection_pieces import answered, asked

FOUR, SIX = Peer("10.0.0.9", 9092), Peer("fd00::9", 9093)
HELLO = b"\x16\x03\x01\x02\x00\x01" + bytes(511)
LINE = (
    '[2023-11-14 22:13:2{at},500] DEBUG Completed request:{{"isForwarded":{forwarded},"requestHeader":{{'
    '"requestApiKey":{key},"requestApiVersion":{version},"correlationId":{at},"clientId":"{who}",'
    '"requestApiKeyName":"{name}"}},"request":{{}},"response":{response},'
    '"connection":"10.0.0.9:9092-{host}:50000-0","totalTimeMs":{ms},"requestQueueTimeMs":0.25,'
    '"localTimeMs":1.5,"remoteTimeMs":0.5,"throttleTimeMs":0,"responseQueueTimeMs":0.25,"sendTimeMs":0.5,'
    '"securityProtocol":"PLAINTEXT","principal":"User:{user}","listener":"PLAINTEXT",'
    '"clientInformation":{{"softwareName":"unknown","softwareVersion":"unknown"}}}} (kafka.request.logger)\n'
)
REFUSED = """[2023-11-14 22:13:2{at},000] ERROR Exception while processing request from 10.0.0.9:9092-{host}:1-0 (k)
org.apache.kafka.common.errors.UnsupportedVersionException: Received request for api with key {key} ({name}) and \
unsupported version {version}
"""
COUNTED = 'kafka_network_RequestMetrics_Count{{name="DeprecatedRequestsPerSec",request="{name}",version="{version}",\
clientSoftwareName="{who}",clientSoftwareVersion="{release}",}} {count}\n'


def software(number: int, version: str, at: float) -> list[Segment]:
    request = ApiVersionsRequest(client_software_name="sarama", client_software_version=version)
    return [asked(request, 3, number, at, "app"), answered(ApiVersionsResponse(), 3, number, at + 0.125)]


def metadata(number: int, version: int, at: float, took: float, code: int = 0, throttle: int = 0) -> list[Segment]:
    topics = [MetadataResponseTopic(name=name, error_code=code) for name in ("orders", "returns")]
    response = MetadataResponse(topics=topics, throttle_time_ms=throttle)
    request = asked(MetadataRequest(topics=[]), version, number, at, "app")
    return [request, answered(response, version, number, at + took)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two captures, a request log, a server log and metrics of the same brokers; and two files of others."""
    folder = tmp_path_factory.mktemp("cluster")
    fetched = FetchResponse(throttle_time_ms=40)
    joined = [asked(JoinGroupRequest(group_id="g"), 1, 9, 1.5, "app"), answered(JoinGroupResponse(), 1, 9, 4.0)]
    fetches = [asked(FetchRequest(), 3, 8, 1.0, "app"), answered(fetched, 3, 8, 2.0)]
    write_pcap(
        folder / "a.pcap",
        merged(
            packets(one)
            for one in (
                Conversation([*software(1, "1.20", 0), *metadata(2, 1, 0.5, 0.25, 3), *fetches], server=FOUR),
                Conversation(
                    [*software(1, "1.45", 0), *metadata(2, 9, 0.5, 0.25, 0, 10), *joined], Peer("fd00::1", 50000), SIX
                ),
                Conversation(
                    [(CLIENT, 1, HELLO), (SERVER, 2, HELLO)], Peer("10.0.0.3", 50000), Peer("10.0.0.9", 9094)
                ),
                Conversation([asked(ProduceRequest(acks=1), 2, 1, 3, None)], Peer("10.0.0.2", 50000), FOUR),
            )
        ),
    )
    again = Conversation([*metadata(1, 1, 5, 0.25, 5), *metadata(2, 1, 6, 0.25, 5, 0)], Peer("10.0.0.1", 50999), FOUR)
    write_pcap(folder / "b.pcap", packets(again))
    shared = {"who": "app", "user": "alice", "host": "10.0.0.1", "forwarded": "false", "response": '{"errorCode":0}'}
    lines = [
        shared | {"at": 0, "key": 3, "name": "METADATA", "version": 1, "ms": 9.5},
        shared
        | {"at": 1, "key": 19, "name": "CREATE_TOPICS", "version": 1, "ms": 12, "host": "10.0.0.4", "user": "bob"},
        shared | {"at": 1, "key": 19, "name": "CREATE_TOPICS", "version": 1, "ms": 8, "forwarded": "true"},
    ]
    (folder / "kafka-request.log").write_text("".join(LINE.format(**line) for line in lines))
    refusals = [
        {"at": 3, "host": "10.0.0.2", "key": 0, "name": "Produce", "version": 2},
        {"at": 4, "host": "10.0.0.5", "key": 0, "name": "Produce", "version": 1},
    ]
    (folder / "server.log").write_text("".join(REFUSED.format(**one) for one in refusals))
    counts: list[dict[str, Any]] = [
        {"name": "Produce", "version": 2, "who": "unknown", "release": "unknown", "count": 7.0},
        {"name": "FetchConsumer", "version": 3, "who": "sarama", "release": "1.20", "count": 1.0},
        {"name": "FetchConsumer", "version": 2, "who": "kgo", "release": "1.0", "count": 7.0},
    ]
    (folder / "m.prom").write_text("".join(COUNTED.format(**one) for one in counts))
    (folder / "notes.txt").write_text("Nothing of a broker.")
    (folder / "empty.log").touch()
    return folder


OWNERS = "owner,client_id,address\nBilling,app,10.0.0.0/8\nPayments,,10.0.0.2\n"
REPORTS = {
    "clients": [],
    "readiness": ["--target", "4.1.1", "--target", "3.9.1"],
    "census": [],
    "latency": ["--min-coverage", "0"],
}
CODES = {"clients": 4, "readiness": 1, "census": 4, "latency": 0}


def write(given: Iterable[Path], out: Path, name: str, *options: str) -> Path:
    """Run a command that prints JSON, and return the folder of its files."""
    arguments = [*map(str, given), *REPORTS[name], "--format", "json", *options]
    assert run([name, *arguments, "--out", str(out), "-q"]) == CODES[name]
    return out


@pytest.mark.slow
@pytest.mark.parametrize("name", REPORTS)
def test_what_is_printed(
    cluster: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, snapshot: SnapshotAssertion
) -> None:
    (tmp_path / "owners.csv").write_text("owner,client_id,address\nBilling,app,10.0.0.0/8\nPayments,,10.0.0.2\n")
    write([cluster / "b.pcap"], tmp_path / "before", "latency")
    assert run(["clients", str(cluster / "b.pcap"), "--out", str(tmp_path / "before"), "-q"]) == 0
    more = ["--owners", str(tmp_path / "owners.csv"), "--since", str(tmp_path / "before")]
    capsys.readouterr()
    given = [str(cluster), *REPORTS[name], *(more if name == "readiness" else [])]
    assert run([name, *given, "--out", str(tmp_path / "out"), "-q"]) == CODES[name]
    text = capsys.readouterr().out.replace(str(tmp_path), "IN").replace(RELEASES.newest.name, "NEWEST")
    assert "\n".join(line.rstrip() for line in text.splitlines()) == snapshot


def test_junit(cluster: Path, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    written = write([cluster], tmp_path, "readiness") / "readiness.junit.xml"
    assert re.sub("<system-out>.*?</system-out>", "", written.read_text(), flags=re.S) == snapshot


class Tables(HTMLParser):
    """The tables of a page: lists of rows of texts, the headings first."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[list[list[str]]] = []
        self.in_cell = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "table":
            self.found.append([])
        elif tag == "tr":
            self.found[-1].append([])
        elif tag in ("th", "td"):
            self.found[-1][-1].append("")
            self.in_cell = True

    def handle_endtag(self, tag: str) -> None:
        self.in_cell = self.in_cell and tag not in ("th", "td")

    def handle_data(self, data: str) -> None:
        if self.in_cell:
            self.found[-1][-1][-1] += data


def of_csv(cell: Any) -> str:
    if isinstance(cell, float):
        return f"{cell:.17g}" if cell != int(cell) else str(int(cell))
    return ", ".join(map(str, cell)) if isinstance(cell, list) else "" if cell is None else str(cell)


def of_page(cell: Any, name: str) -> str:
    """A cell as people read it."""
    if isinstance(cell, float):
        return f"{cell:.4g}" if cell < 1000 else f"{cell:.0f}"
    if isinstance(cell, str) and name in ("source", "evidence"):
        return cell.rpartition("/")[2]
    when = isinstance(cell, str) and re.fullmatch(r"(....-..-..)T(..:..:..)(?:(\.\d{3})000)?\+00:00", cell)
    return f"{when[1]} {when[2]}{when[3] or ''}" if when else of_csv(cell)


@pytest.mark.parametrize("name", REPORTS)
def test_all_files_of_a_report_have_the_same_cells(cluster: Path, tmp_path: Path, name: str) -> None:
    out = write([cluster], tmp_path / "out", name, "--guide-url", "https://guide.example/")
    tables = json.loads((out / f"{name}.json").read_text())["tables"]
    files = [f"{name}-{table}.{ending}" for table in tables for ending in ("csv", "parquet")]
    pages = [f"{name}.{ending}" for ending in ("html", "json", "md", "junit.xml")[: 4 if name == "readiness" else 3]]
    kept = {"_kwire", *({"clients", "problems"} if name != "latency" else ())}
    assert {path.name for path in out.iterdir()} == {*files, *pages, *kept}
    html = iter(Tables((out / f"{name}.html").read_text()).found)
    lines = [line[2:-2] for line in (out / f"{name}.md").read_text().splitlines() if line.startswith("| ")]
    markdown = iter([unescape(re.sub(r"</?code>|\[(.*?)\]\(<.*?>\)", r"\1", line)) for line in lines])
    for table, told in tables.items():
        rows = [{key: cell for key, cell in row.items() if key != "guide"} for row in told["rows"]]
        exact = parquet.read_table(out / f"{name}-{table}.parquet").to_pylist()
        cells, expected = ([{key: _exact(row[key]) for key in row} for row in found] for found in (exact, rows))
        assert cells == expected
        with (out / f"{name}-{table}.csv").open() as file:
            flat = [*csv.DictReader(file)]
        assert [[_iso_text(cell) for cell in row.values()] for row in flat] == [
            [of_csv(cell) for cell in row.values()] for row in rows
        ]
        if not rows:
            continue
        filled = [key for key in rows[0] if any(row[key] not in (None, "", []) for row in rows)]
        people = [[of_page(row[key], key) for key in filled] for row in rows]
        headings, *shown = next(html)
        assert shown == people
        assert next(markdown).split(" | ") == headings
        assert [next(markdown).split(" | ") for _ in rows] == people


def _exact(cell: Any) -> Any:
    """A cell of JSON or Parquet, which has no list in a column without any value."""
    return cell.isoformat() if isinstance(cell, datetime) else None if cell == [] else cell


def _iso_text(text: str) -> str:
    if not re.fullmatch(r"....-..-.. ..:..:..(\.\d+)?Z", text):
        return text
    return datetime.fromisoformat(text).isoformat()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["readiness", "latency"])
def test_the_order_of_inputs_and_the_number_of_processes_change_nothing(
    cluster: Path, tmp_path: Path, name: str
) -> None:
    def tables(*given: Path, options: tuple[str, ...] = ()) -> Any:
        written = write(given, tmp_path / "out", name, *options) / f"{name}.json"
        found = json.loads(written.read_text())["tables"]
        found["problems"]["rows"].sort(key=str)
        return found

    expected = tables(cluster)
    files = sorted(cluster.iterdir())
    assert tables(*files[::-1]) == expected
    assert tables(*files[::2], *files[1::2], cluster, options=("--processes", "2")) == expected
    assert run(["tables", str(cluster), "--out", str(tmp_path / "tables"), "-q"]) in (0, 4)
    assert tables(tmp_path / "tables") == expected
