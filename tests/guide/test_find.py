"""What the search finds, without a browser: node runs the script of the page on the index of the whole site."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

NODE = shutil.which("node")
pytestmark = [pytest.mark.skipif(not NODE, reason="node is not installed"), pytest.mark.slow]

FIRST = {
    # Words of types, of the wire and of readers
    "uuid": "types.html#UUID",
    "varint": "types.html#VARINT",
    "zigzag": "types.html#VARINT",
    "ordering": "guide/framing.html#order",
    "pipelining": "guide/framing.html#order",
    "batching": "guide/producing.html#batches",
    "partitioner": "guide/producing.html#choosing-a-partition",
    "exactly once": "guide/transactions.html",
    "http": "guide/design.html",
    "why not http": "guide/design.html",
    "size limit": "guide/",
    "max request size": "guide/",
    "throttle": "guide/framing.html#errors-and-throttling",
    "sasl": "guide/authentication.html#sasl",
    "record batch": "guide/records.html#record-batch",
    "tagged fields": "guide/flexible.html#tagged-fields",
    "message sets": "guide/records.html#message-sets",
    "log files": "guide/log-files.html",
    "compression": "enums.html#CompressionType",
    "acks": "enums.html#Acks",
    # Mistakes
    "prodcue": "api/produce.html",
    "consmuer group": "api/consumer_group_describe.html",
    "metdata": "api/metadata.html",
    "isolation levle": "enums.html#IsolationLevel",
    # APIs, versions and releases
    "fetch": "api/fetch.html",
    "Metadata": "api/metadata.html",
    "join group": "api/join_group.html",
    "share group": "api/share_group_",
    "ConsumerGroupHeartbeat": "api/consumer_group_heartbeat.html",
    "apikey 68": "api/consumer_group_heartbeat.html",
    "Metadata 13": "api/metadata.html#request-v13",
    "metadata 9 10": "api/metadata.html#request-v10-vs-9",
    "Fetch 16": "api/fetch.html#request-v16",
    "Fetch 11 16": "api/fetch.html#request-v16-vs-11",
    "fetch v11 to v16": "api/fetch.html#request-v16-vs-11",
    "ApiVersions 3": "api/api_versions.html#request-v3",
    "OffsetCommit in 3.9.2": "api/offset_commit.html#request-releases",
    "3.9.2": "releases/3.9.0.html",
    "4.0 removed": "releases/4.0.0.html",
    "removed apis": "releases/4.0.0.html",
    "What did 4.0 remove?": "releases/4.0.0.html",
    "__consumer_offsets": "coordinator/offset_commit.html",
    "KIP-932": "KIP-932",
    "KIP-848": "KIP-848",
    # Errors, also by former names and by names of exceptions
    "87": "errors.html#87",
    "error 87": "errors.html#87",
    "27": "errors.html#27",
    "error 27": "errors.html#27",
    "what is error 74": "errors.html#74",
    "NOT_LEADER": "errors.html#6",
    "not leader for partition": "errors.html#6",
    "NOT_LEADER_FOR_PARTITION": "errors.html#6",
    "org.apache.kafka.common.errors.NotLeaderOrFollowerException": "errors.html#6",
    "GROUP_LOAD_IN_PROGRESS": "errors.html#14",
    "GROUP_COORDINATOR_NOT_AVAILABLE": "errors.html#15",
    "NOT_COORDINATOR_FOR_GROUP": "errors.html#16",
    # Fields and values
    "topic id": "topic_id in 59 messages",
    "leader_epoch": "leader_epoch in 34 messages",
    "fetch topic id": "api/fetch.html#request.",
    "fetch offset": "api/fetch.html#request.topics.partitions.fetch_offset",
    "group instance id": "group_instance_id",
    "high watermark": "high_watermark",
    "member epoch -1": "guide/groups.html#consumer-groups-of-kip-848",
    "READ_COMMITTED": "enums.html#IsolationLevel.READ_COMMITTED",
    "-2": "enums.html#ListOffsetsTimestamp.EARLIEST",
    "ListOffsets -2": "enums.html#ListOffsetsTimestamp.EARLIEST",
    # Documentation, if nothing else is meant
    "kwirec diff": "kwirec-diff.html",
}
"""Queries of readers, each with a part of the path or of the text of the first hit."""


def ask(site: Mapping[str, str], folder: Path, *queries: str) -> dict[str, Any]:
    """The groups of each query: titles, and hits as paths, texts and numbers of what they stand for."""
    for name in ("search.js", "minisearch.js", "find.js"):
        (folder / name).write_text(site[f"assets/{name}"], "utf-8")
    command = [NODE or "node", str(Path(__file__).with_name("find.cjs")), str(folder)]
    done = subprocess.run(command, input=json.dumps(queries), capture_output=True, text=True, timeout=120, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_what_is_meant_is_found_first(site: Mapping[str, str], tmp_path: Path) -> None:
    found = ask(site, tmp_path, *FIRST)
    first = {query: " ".join(map(str, groups[0][1][0])) if groups else "" for query, groups in found.items()}
    wrong = {
        query: first[query] for query, wanted in FIRST.items() if not re.search(rf"{re.escape(wanted)}", first[query])
    }
    assert wrong == {}


def test_groups_are_short_and_the_documentation_comes_last(site: Mapping[str, str], tmp_path: Path) -> None:
    found = ask(site, tmp_path, *FIRST)
    for query, groups in found.items():
        titles = [title for title, _ in groups]
        assert "Documentation" not in titles[:-1], query
        for _, hits in groups:
            assert len(hits) <= 6, query
            assert len(hits) < 6 or hits[-1][2] > 5, query  # the last stands for all of them


@pytest.mark.parametrize(
    ("text", "path", "said"),
    [
        ("001200030000000700016300", "api_versions.html#request-v3", 'header 2, correlation id 7, client id "c"'),
        ("0000001b0012000300000007ffff", "api_versions.html#request-v3", "header 2, correlation id 7, no client id"),
        ("000000080007000000000007", "controlled_shutdown.html#request-v0", "header 0, correlation id 7"),
        ("00:01:00:04:00:00:00:00:ff:ff", "fetch.html#request-v4", "header 1, correlation id 0, no client id"),
        ("000c0004", "heartbeat.html#request-v4", "header 2"),
    ],
)  # fmt: skip
def test_bytes_show_their_header(site: Mapping[str, str], tmp_path: Path, text: str, path: str, said: str) -> None:
    [[title, [[found, place, _]]], *_] = ask(site, tmp_path, text)[text]
    assert (title, found) == ("Meant", f"api/{path}-bytes")
    assert place.partition("version ")[2].partition(" ")[2] == said
    assert ask(site, tmp_path, "7fff0000", "00010") == {"7fff0000": [], "00010": []}
