"""Entries of server logs as rows of REFUSALS: what real brokers wrote, in any splits and layouts."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire_inspect.options import BrokenInputError
from kwire_inspect.rows import Projection
from kwire_inspect.text_logs import Split, batches, refusal_batches, refusals, splits
from kwire_kafka.releases import RELEASES
from tests.support.effort import examples

LOGS = Path(__file__).parents[1] / "data" / "server_logs"
ASKED_OF_4 = {
    *((key, 0) for key in (0, 1, 2, 8, 9, 19, 29, 38, 4, 5, 6, 7, 56)),
    *((0, 2), (0, 99), (1, 99)),
}
"""What a 4.x broker was asked and does not have, as far as it tells the version."""

Rows = list[dict[str, Any]]


def rows(*cut: Split, failfast: bool = False) -> Rows:
    batches = [one for split in cut for one in refusal_batches(split, Projection("refusals"), UTC, failfast=failfast)]
    return [row for batch in batches for row in batch.to_pylist()]


def text(release: str) -> str:
    return gzip.decompress((LOGS / f"{release}.log.gz").read_bytes()).decode()


def of(tmp_path: Path, text: str) -> Rows:
    path = tmp_path / "server.log"
    path.write_text(text)
    return rows(Split(str(path)))


@pytest.mark.parametrize(
    "reason",
    [
        f"Received request for api with key {'9' * 5000} (Produce) and unsupported version 2",
        f"Received request for api with key 0 (Produce) and unsupported version {'9' * 5000}",
        f"Received request api key {'9' * 5000} which is not enabled",
        "Received request api key \u00b2 which is not enabled",
        f"Unknown API key {'9' * 5000}",
    ],
)
def test_numbers_that_are_none_stop_nothing(tmp_path: Path, reason: str) -> None:
    def entry(said: str) -> str:
        closing = "[2026-11-21 18:22:25,415] ERROR Closing socket for 10.0.0.9:9092-10.0.0.1:5-1-0 because of error"
        return f"{closing}\norg.apache.kafka.common.errors.InvalidRequestException: {said}\n"

    *_, last = of(
        tmp_path, entry(reason) + entry("Received request for api with key 1 (Fetch) and unsupported version 3")
    )
    assert (last["api_key"], last["version"]) == (1, 3)


@pytest.mark.parametrize("release", ["4.0.0", "4.1.1"])
def test_brokers_tell_which_versions_they_refused(release: str) -> None:
    found = rows(Split(str(LOGS / f"{release}.log.gz")))
    assert not [row for row in found if row["problem"]]
    told = Counter((row["api_key"], row["version"]) for row in found if row["listener"] is None)
    join_group = {(11, 0), (11, 1)} if release == "4.0.0" else set()
    assert {one for one in told if one[1] is not None} - {(74, 1)} == ASKED_OF_4 | join_group
    assert told[0, 2] == 2
    assert told[1, 0] == 2
    assert {count for one, count in told.items() if one not in {(0, 2), (1, 0)} and one[1] is not None} == {1}
    for key, version in ASKED_OF_4 | join_group:
        assert version not in RELEASES[release].api(key).accepted if key in RELEASES[release].apis else True
    for row in found:
        assert row["client_host"] == row["server_host"] == "127.0.0.1"
        assert row["connection"].startswith(f"127.0.0.1:{row['server_port']}-127.0.0.1:{row['client_port']}-")
        assert row["time"].year == 2026
    assert len({row["connection"] for row in found}) == len(found)


def test_brokers_before_4_tell_what_their_listener_does_not_have() -> None:
    told = {(row["api"], row["version"]) for row in rows(Split(str(LOGS / "3.9.1.log.gz"))) if not row["listener"]}
    assert {("UpdateMetadata", 0), ("LeaderAndIsr", 0), ("Fetch", 99)} <= told
    named = [row for row in rows(Split(str(LOGS / "2.7.2.log.gz"))) if row["principal"] == "User:alice"]
    assert [(row["api"], row["version"], row["listener"]) for row in named] == [("Produce", 2, "SASL_PLAINTEXT")]


@pytest.mark.parametrize("release", ["2.7.2", "3.3.2", "3.9.1", "4.0.0", "4.1.1"])
def test_each_refusal_is_one_row(release: str) -> None:
    """Brokers write two entries for each, and one for what happens while a client authenticates."""
    processing = re.findall(r"(?:Exception while processing request from|Closing socket for) (\S+)", text(release))
    authenticating = re.findall(r"Unexpected Kafka request of type|apiKey: SASL_HANDSHAKE", text(release))
    assert len(set(processing)) > 20
    found = rows(Split(str(LOGS / f"{release}.log.gz")))
    assert len(found) == len(set(processing)) + len(authenticating)
    assert [row["client_host"] for row in found] == ["127.0.0.1"] * len(found)


@pytest.mark.slow
@examples(0.25)
@given(st.integers(300, 20_000), st.integers(100, 5_000))
def test_splits_of_any_size_give_the_same_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, near: int
) -> None:
    monkeypatch.setattr(refusals, "NEAR", near)
    path = tmp_path / "server.log"
    path.write_text(text("4.1.1"))
    assert rows(*splits([str(path)], size)) == rows(Split(str(path)))


def first_entries() -> tuple[str, str]:
    found = re.search(r"(\[.*Closing socket.*\n.*\n)(\[.*Exception while.*\n.*\n)", text("4.1.1"))
    assert found is not None
    return found[1], found[2]


def facts(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["api_key"], row["api"], row["version"], row["client_port"], row["time"], row["problem"]


def test_layouts(tmp_path: Path) -> None:
    both = "".join(first_entries())
    (plain,) = of(tmp_path, both)
    assert plain["message"].startswith("org.apache.kafka.common.errors.UnsupportedVersionException: Received request")
    expected = facts(plain)
    lines = both.splitlines()
    assert [facts(row) for row in of(tmp_path, both.replace("\n", "\r\n"))] == [expected]
    for before in ("kafka-1  | ", "Nov 21 18:22:25 host kafka[7]: "):
        assert [facts(row) for row in of(tmp_path, "\n".join(before + line for line in lines))] == [expected]
    (row,) = of(tmp_path, "\n".join(f"2026-11-21T18:22:26.5Z stdout F {line}" for line in lines))
    assert row["time"] == datetime(2026, 11, 21, 18, 22, 26, 500_000, UTC)
    docker = [json.dumps({"log": line + "\n", "stream": "stdout"}) for line in lines]
    assert [facts(row) for row in of(tmp_path, "\n".join(docker))] == [expected]
    logstash = [
        json.dumps({"@timestamp": "2026-11-21T18:22:26Z", "message": one.split("ERROR ")[1], "stack_trace": reason})
        for one, reason in (lines[0:2], lines[2:4])
    ]
    (row,) = of(tmp_path, "\n".join(logstash))
    assert facts(row)[:4] == expected[:4]
    assert row["time"].second == 26


def test_lines_deep_in_the_json_of_a_collector(tmp_path: Path) -> None:
    """As collectors wrap what others have wrapped."""
    lines = first_entries()[0].splitlines()
    wrapped = [json.dumps({"a": {"b": {"c": {"d": {"message": line}}}}, "stream": "stdout"}) for line in lines]
    (plain,), (row,) = of(tmp_path, "\n".join(lines)), of(tmp_path, "\n".join(wrapped))
    assert facts(row) == facts(plain)


def test_clients_that_fail_to_log_in_are_no_refusals(tmp_path: Path) -> None:
    line = (
        "[2026-11-21 18:22:25,415] INFO Failed authentication with /10.0.0.1 (channelId=x) (SSL handshake failed)\n"
    )
    assert of(tmp_path, line * 2) == []


def test_ipv6(tmp_path: Path) -> None:
    name = "0:0:0:0:0:0:0:1:9092-2001:db8:0:0:0:0:0:5:50000-1-0"
    (row,) = of(tmp_path, re.sub(r"127\S+", name, first_entries()[1]))
    peers = row["connection"], row["client_host"], row["client_port"], row["server_host"], row["server_port"]
    assert peers == (name, "2001:db8::5", 50000, "::1", 9092)
    (row,) = of(tmp_path, re.sub(r"127\S+", "a.example:9092-b.example:5-1-0", first_entries()[1]))
    assert (row["client_host"], row["server_host"]) == ("b.example", "a.example")


def test_either_entry_is_enough(tmp_path: Path) -> None:
    for entry in first_entries():
        assert [row["api"] for row in of(tmp_path, entry)] == ["Produce"]


def test_an_entry_without_its_reason_is_corrupt(tmp_path: Path) -> None:
    whole, other = first_entries()
    found = of(tmp_path, other.replace("54556", "1") + whole.splitlines()[0])
    assert [row["problem"] is None for row in found] == [True, False]
    assert found[1]["position"] == len(other.replace("54556", "1"))
    with pytest.raises(BrokenInputError, match="ends before the reason"):
        rows(Split(str(tmp_path / "server.log")), failfast=True)


def test_old_brokers_do_not_name_connections_of_clients_that_authenticate(tmp_path: Path) -> None:
    line = (
        "[2026-11-21 18:47:49,687] WARN [SocketServer brokerId=1] Unexpected error from /10.0.0.1; closing connection"
    )
    (row,) = of(
        tmp_path, f"{line}\nCaused by: x.y: Unexpected Kafka request of type PRODUCE during SASL handshake.\n"
    )
    assert (row["connection"], row["client_host"], row["api"], row["version"]) == (None, "10.0.0.1", "Produce", None)
    named = (
        "Failed authentication with /10.0.0.1 (channelId=10.0.0.9:9092-10.0.0.2:5-1) (no)\nx.Y: Unknown API key 3\n"
    )
    (row,) = of(tmp_path, named)
    assert (row["connection"], row["client_host"]) == ("10.0.0.9:9092-10.0.0.2:5-1", "10.0.0.2")


def test_errors_of_other_kinds_are_no_refusals(tmp_path: Path) -> None:
    line = first_entries()[0].splitlines()[0]
    assert of(tmp_path, f"{line}\njava.io.IOException: Connection reset by peer\n\tat java.net.Socket\n") == []
    assert of(tmp_path, "[2026-11-21 18:22:25,415] INFO all is well\n") == []
    assert of(tmp_path, "") == []


def test_two_refusals_that_differ_in_one_fact_are_two(tmp_path: Path) -> None:
    def entry(connection: str, key: int, version: int) -> str:
        closing = f"[2026-11-21 18:22:25,415] ERROR Closing socket for {connection} because of error"
        said = f"Received request for api with key {key} (Fetch) and unsupported version {version}"
        return f"{closing}\norg.apache.kafka.common.errors.UnsupportedVersionException: {said}\n"

    one, other = "10.0.0.9:9092-10.0.0.1:5-1-0", "10.0.0.9:9092-10.0.0.1:6-1-0"
    told = [(one, 1, 2), (one, 1, 3), (one, 1, 2), (one, 0, 2), (other, 1, 2)]
    found = of(tmp_path, "".join(entry(*facts) for facts in told))
    assert [(row["client_port"], row["api_key"], row["version"]) for row in found] == [
        (5, 1, 2),
        (5, 1, 3),
        (5, 0, 2),
        (6, 1, 2),
    ]


CLOSING = "[2026-11-21 18:22:25,415] ERROR Closing socket for 10.0.0.9:9092-10.0.0.1:5-1-0 because of error"
GETTING = (
    "Error getting request for apiKey: FETCH, apiVersion: 2, connectionId: 10.0.0.9:9092-10.0.0.1:5-1-0, "
    "listenerName: ListenerName(SASL_SSL), principal: User:a b"
)


@pytest.mark.parametrize(
    ("said", "api_key", "api", "version", "more"),
    [
        ("Received request for api with key 0 (Produce) and unsupported version 2", 0, "Produce", 2, {}),
        ("Received request for api with key 0 (Other) and unsupported version 2", 0, "Produce", 2, {}),
        ("Received request for api with key 999 (Newer) and unsupported version -1", 999, "Newer", -1, {}),
        ("Unsupported api with key 1 (Fetch) and version 3", 1, "Fetch", 3, {}),
        ("Received request api key LEADER_AND_ISR with version 4 which is not enabled", 4, "LeaderAndIsr", 4, {}),
        ("Received request api key ALTER_ISR which is not enabled", 56, "AlterPartition", None, {}),
        ("Received request api key LIST_CLIENT_METRICS_RESOURCES which is not enabled", 74, None, None, {}),
        ("Received request api key 6 which is not enabled", 6, "UpdateMetadata", None, {}),
        ("Received request api key BREW_COFFEE which is not enabled", None, "BREW_COFFEE", None, {}),
        (GETTING, 1, "Fetch", 2, {"listener": "SASL_SSL", "principal": "User:a b"}),
        ("Unexpected Kafka request of type METADATA during SASL handshake", 3, "Metadata", None, {}),
        ("Error parsing request header. Our best guess of the apiKey is: 3", 3, "Metadata", None, {}),
        ("Error parsing request header. Our best guess of the apiKeyId is: 3", 3, "Metadata", None, {}),
        ("Unknown API key 999", 999, None, None, {}),
    ],
)
def test_each_reason_as_a_whole_row(
    tmp_path: Path, said: str, api_key: int | None, api: str | None, version: int | None, more: dict[str, str]
) -> None:
    (row,) = of(tmp_path, f"of something else\n{CLOSING}\nx.y.Exception: {said}. And more.\n\tat x.y.Z\n")
    assert row == {
        "source": str(tmp_path / "server.log"),
        "position": 18,
        "connection": "10.0.0.9:9092-10.0.0.1:5-1-0",
        "client_host": "10.0.0.1",
        "client_port": 5,
        "server_host": "10.0.0.9",
        "server_port": 9092,
        "time": datetime(2026, 11, 21, 18, 22, 25, 415_000, UTC),
        "api_key": api_key,
        "api": api or (row["api"] if api_key == 74 else None),
        "version": version,
        "listener": more.get("listener"),
        "principal": f"{more['principal']}. And more." if more else None,
        "message": f"x.y.Exception: {said}{'. And more.' if more else ''}",
        "problem": None,
    }


def refused(version: int, before: str = "", behind: str = "") -> str:
    said = f"Received request for api with key 0 (Produce) and unsupported version {version}"
    return f"{before}{CLOSING}\nx.y.Exception: {said}{behind}\n"


def test_what_of_an_entry_is_kept_and_looked_at(tmp_path: Path) -> None:
    long = "x.y." + "Z" * 2000
    (row,) = of(tmp_path, f"{CLOSING}\n{long}: Unknown API key 3\n")
    assert row["message"] == long[:1000]
    between = "Suppressed: b\n... 3 more\nx.y.Z\n at x\n"
    assert [row["api_key"] for row in of(tmp_path, f"{CLOSING}\n{between}Caused by: x.Y: Unknown API key 3\n")] == [3]
    assert of(tmp_path, f"{CLOSING}\nx.y\nand more\nCaused by: x.Y: Unknown API key 3\n") == []
    stack = "\tat x.y.Z\n"
    far = [of(tmp_path, f"{CLOSING}\n{stack * count}Caused by: x.Y: Unknown API key 3\n") for count in (298, 299)]
    assert [[row["api_key"] for row in found] for found in far] == [[3], []]
    far = [
        of(tmp_path, f"{CLOSING}\n\t{'x' * size}\nCaused by: x.Y: Unknown API key 3\n")
        for size in (1_000_000, 1 << 20)
    ]
    assert [[row["api_key"] for row in found] for found in far] == [[3], [None]]
    for before in ("x" * 300, "{no JSON} ", '{"a":' * 50_000):
        (row,) = of(tmp_path, refused(1, before=before))
        assert (row["time"].second, row["version"]) == (25, 1)
    nested = json.dumps({"a": {"b": {"c": {"d": {"e": CLOSING}}}}, "log": "Unknown API key 3"})
    assert [row["api_key"] for row in of(tmp_path, nested)] == [3]
    ordered = json.dumps({"a": "Unknown API key 9", "message": "Unknown API key 4", "b": CLOSING})
    assert [row["api_key"] for row in of(tmp_path, ordered)] == [4]


@pytest.mark.parametrize(("distance", "count"), [(refusals.NEAR, 1), (refusals.NEAR + 1, 2)])
def test_the_same_refusal_far_behind_is_another(tmp_path: Path, distance: int, count: int) -> None:
    entry = refused(1)
    padding = "y" * (distance - len(entry) - 1) + "\n"
    path = tmp_path / "server.log"
    path.write_text(entry + padding + entry)
    assert len(rows(Split(str(path)))) == count
    assert len(rows(Split(str(path), 0, 10), Split(str(path), 10))) == count, "in another split, too"


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([(1, 0), (1, 0), (1, 0)], [1]),
        ([(1, 0), (2, 0), (1, 0), (2, 0), (3, 0)], [1, 2, 3]),
        ([(1, 0), (1, 1), (1, 1), (1, 1)], [1]),
        ([(1, 0), (2, 1), (1, 1), (2, 1), (1, 2)], [1, 2, 1, 2, 1]),
        ([(1, 0), (1, 2), (1, 0), (2, 2), (1, 0)], [1, 1, 2, 1]),
        ([(1, 0), (2, 2), (2, 2), (1, 0)], [1, 2, 2, 1]),
    ],
)
@pytest.mark.parametrize("size", [7, 1000, 1_000_000])
def test_entries_near_the_last_for_the_same_refusal_are_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entries: list[tuple[int, int]], expected: list[int], size: int
) -> None:
    """Versions, each with the number of 300 bytes before it. So long as each is within 500 bytes of the one before,
    there is one row, also where a file is split."""
    monkeypatch.setattr(refusals, "NEAR", 500)
    monkeypatch.setattr(batches, "NEAR", 500)
    path = tmp_path / "server.log"
    parts = [f"{'y' * 299}\n" * count + refused(version)[: -len("x")] + "\n" for version, count in entries]
    path.write_text("".join(parts))
    assert [row["version"] for row in rows(*splits([str(path)], size))] == expected
    places = [row["position"] for row in rows(Split(str(path)))]
    assert places == sorted(places)
    assert all(path.read_text()[place:].startswith(CLOSING) for place in places)


@pytest.mark.parametrize(
    ("most", "bytes_", "sizes"),
    [(100, 100_000, [5]), (2, 100_000, [2, 2, 1]), (5, 100_000, [5]), (100, 2, [2, 2, 1]), (100, 3, [3, 2])],
)
def test_batches_end_at_their_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, bytes_: int, sizes: list[int]
) -> None:
    """At so many rows, or at the bytes of so many entries."""
    path = tmp_path / "server.log"
    path.write_text("".join(refused(version) for version in range(5)))
    monkeypatch.setattr(batches, "BATCH_ROWS", most)
    monkeypatch.setattr(batches, "BATCH_BYTES", bytes_ * (len(refused(0)) - 1))
    found = list(refusal_batches(Split(str(path)), Projection("refusals"), UTC))
    assert [batch.num_rows for batch in found] == sizes
    assert [row["version"] for batch in found for row in batch.to_pylist()] == [*range(5)]
