"""What the search finds, without a browser: node runs the script of the page on the index of the whole site."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from kwire_guide.assets import assets

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
    "Fetch 16, 11": "api/fetch.html#request-v16-vs-11",
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

STATEMENTS = {
    "network byte order": "types.html|guide/reading",
    "big endian": "types.html|guide/reading",
    "length prefix of a string": "compact-lengths|types.html#STRING",
    "null string": "types.html#NULLABLE_STRING",
    "nullable array": "types.html",
    "zigzag encoding": "types.html#VARINT",
    "request size": "guide/framing.html|guide/limits",
    "4 byte size header": "guide/framing.html#frames|guide/first-request",
    "correlation id": "correlation_id|framing|headers.html",
    "client id": "client_id|headers|first-request",
    "request header": "headers.html",
    "response header version": "headers.html|framing.html#headers",
    "header of ApiVersions response": "framing.html#headers|first-request|api_versions",
    "why keep connections open": "framing",
    "one connection per broker": "framing",
    "connection pool": "framing",
    "tcp": "framing",
    "in flight requests": "framing.html#order",
    "max.in.flight": "framing.html#order|producing",
    "order of responses": "framing.html#order",
    "bootstrap servers": "bootstrapping",
    "which broker is the leader": "bootstrapping",
    "find leader of partition": "bootstrapping|api/metadata",
    "auto create topics": "bootstrapping|allow_auto_topic_creation",
    "stale metadata": "bootstrapping",
    "metadata refresh": "bootstrapping",
    "retry backoff": "bootstrapping",
    "rebootstrap": "bootstrapping|errors.html",
    "replication factor": "producing|replication_factor",
    "semantic partitioning": "producing.html#choosing",
    "murmur2": "producing.html#choosing",
    "sticky partitioner": "producing.html#choosing",
    "round robin": "producing.html#choosing",
    "linger": "producing.html#batches",
    "required acks": "Acks|producing",
    "acks all": "Acks|producing.html#produce",
    "acks 0 no response": "producing|framing|Acks",
    "produce timeout": "producing.html#produce",
    "old clients new brokers": "compatibility",
    "new clients old brokers": "compatibility",
    "backward compatibility": "compatibility",
    "forward compatibility": "compatibility",
    "bidirectional compatibility": "compatibility",
    "upgrade order": "compatibility",
    "upgrade brokers first": "compatibility",
    "rolling upgrade": "compatibility",
    "version negotiation": "versions",
    "supported versions": "versions",
    "unsupported version": "errors.html#35",
    "api versions before sasl": "versions.html|authentication",
    "highest common version": "versions",
    "kafka 0.9 broker ApiVersions": "versions",
    "sasl handshake": "sasl_handshake|authentication",
    "sasl plain": "authentication",
    "scram": "authentication|Scram",
    "oauthbearer": "authentication",
    "sasl without handshake gssapi": "authentication",
    "reauthentication": "authentication.html#another-login",
    "authentication failed": "errors.html#58|authentication",
    "partial message at end of fetch": "fetching",
    "incomplete batch": "fetching",
    "offset before requested": "fetching",
    "long polling": "fetching|api/fetch",
    "min bytes": "min_bytes|fetching",
    "max wait": "max_wait_ms|fetching",
    "fetch partition order": "fetching",
    "starvation": "fetching",
    "replica id -1": "fetching|replica_id",
    "debug consumer": "fetching",
    "isolation level": "IsolationLevel",
    "aborted transactions": "aborted_transactions|transactions|fetching",
    "last stable offset": "last_stable_offset",
    "fetch session": "fetching.html#sessions",
    "incremental fetch": "fetching.html#sessions",
    "earliest offset": "ListOffsetsTimestamp",
    "latest offset": "ListOffsetsTimestamp",
    "offset for timestamp": "fetching.html#offsets-by-time|list_offsets",
    "max timestamp": "max_timestamp|ListOffsetsTimestamp",
    "truncation detection": "fetching.html#leader-epochs",
    "leader epoch": "leader_epoch",
    "message format": "records",
    "magic byte": "records",
    "crc": "records",
    "crc32c": "records.html#record-batch",
    "attributes bits": "records.html#record-batch|attributes",
    "timestamp type": "records|TimestampType",
    "log append time": "records|TimestampType",
    "record headers": "records.html#record",
    "tombstone": "records",
    "relative offsets": "records.html#message-sets",
    "inner message offsets": "records.html#message-sets",
    "wrapper message": "records.html#message-sets",
    "compressed message set": "records.html#message-sets",
    "snappy framing": "records.html#message-sets",
    "zstd": "CompressionType|records.html",
    "lz4": "CompressionType|records.html",
    "down-conversion": "records.html#formats-and-versions|compatibility.html#conversion",
    "downconversion removed": "records.html#formats-and-versions|compatibility.html#conversion",
    "message format conversion": "records.html#formats-and-versions|compatibility.html#conversion",
    "control batch": "records.html#control-records",
    "base sequence": "records|base_sequence",
    "sequence number": "producing.html#once-and-in-order|records|base_sequence",
    "producer epoch": "producer_epoch",
    "idempotent producer": "producing.html#once",
    "consumer group": "guide/groups|consumer_group",
    "group coordinator": "groups|bootstrapping|find_coordinator",
    "coordinator of a group": "bootstrapping|groups|find_coordinator",
    "join group protocol": "join_group|groups.html",
    "group leader": "groups",
    "member id required": "errors.html#79",
    "static membership": "groups.html|group_instance_id",
    "cooperative rebalance": "groups",
    "assignment strategy": "groups|consumer_protocol",
    "heartbeat interval": "heartbeat",
    "session timeout": "session_timeout",
    "commit offsets": "offset_commit|groups.html#committed-offsets",
    "simple consumer": "groups.html#committed-offsets",
    "generation -1": "groups.html#committed-offsets",
    "retention time": "retention_time_ms",
    "offsets in zookeeper": "groups.html#committed-offsets",
    "list groups on all brokers": "bootstrapping|list_groups",
    "describe groups": "describe_groups",
    "error codes": "errors.html",
    "retriable errors": "errors.html|framing",
    "offset out of range": "errors.html#1",
    "message too large": "errors.html#10",
    "max message bytes": "limits",
    "message.max.bytes": "limits",
    "fetch.max.bytes": "limits",
    "maximum string length": "limits|types.html#STRING",
    "topic name length": "limits",
    "offset metadata size": "limits",
    "sasl.server.max.receive.size": "limits",
    "group.max.size": "limits",
    "connections.max.idle.ms": "limits|framing",
    "why custom protocol": "design",
    "why binary protocol": "design",
    "why tcp": "design|framing",
    "why not json": "design",
    "why not many protocols": "design",
    "bnf": "reading.html#grammars",
    "grammar": "reading.html#grammars",
    "tagged fields": "flexible.html#tagged-fields",
    "tag buffer": "flexible.html#tagged-fields|TAG_BUFFER",
    "compact string": "COMPACT_STRING",
    "unsigned varint": "types.html#UNSIGNED_VARINT",
    "first flexible version": "flexible",
    "ignorable": "types|versions|flexible",
    "first request byte by byte": "first-request",
    "hello world": "first-request",
    "share fetch acknowledge": "share_acknowledge|share_fetch|groups.html#share",
    "acquired records": "acquired_records|groups.html#share",
    "delivery count": "delivery_count|groups",
    "two phase commit": "KIP-939|transactions|two_phase|enable2_pc",
    "transaction timeout": "transaction_timeout_ms|limits",
    "fencing": "transactions|errors",
    "zombie": "transactions",
    "envelope": "api/envelope",
    "quotas": "framing.html#errors|client_quotas",
    "raft voters": "raft_voter|voters",
    "log segment": "log-files",
    "index file": "log-files",
    "topic id": "topic_id",
    "preferred read replica": "preferred_read_replica",
    "rack awareness": "rack_id|rack",
    "follower fetching": "bootstrapping|fetching|preferred_read_replica",
    "clients maintain a connection per broker": "framing",
    "server guarantees order on a single TCP connection": "framing.html#order",
    "requests are size delimited": "framing.html#frames",
    "size of the subsequent request": "framing.html#frames",
    "client decides which partition a message goes to": "choosing-a-partition",
    "partitioning strategies": "choosing-a-partition",
    "publish to wrong broker error": "errors.html#6",
    "bootstrap urls or brokers list": "bootstrapping",
    "client must cache metadata": "bootstrapping",
    "refetch metadata on error": "bootstrapping",
    "unknown api version connection closed": "versions|framing",
    "message set not preceded by an int32": "records.html#message-sets",
    "attributes lowest 3 bits compression codec": "CompressionType",
    "message key may be null": "records",
    "magic id to evolve format": "records.html#formats-and-versions",
    "nested message compressed as value": "records.html#message-sets",
    "acks 0 server will not send response": "producing.html#produce",
    "timeout milliseconds the server can await acknowledgements": "producing.html#produce",
    "highwater mark offset": "high_watermark",
    "log end offset how far behind": "fetching.html#fetch|high_watermark",
    "consumer lag": "high_watermark",
    "time -1 latest offset -2 earliest": "fetching.html#offsets-by-time|ListOffsetsTimestamp",
    "protocol primitive types": "types.html",
    "notes on reading the request format grammars": "reading.html#grammars",
    "request header v2": "headers.html",
    "compact arrays length plus one": "types.html#COMPACT_ARRAY",
    "zig-zag encoding": "types.html#VARINT",
    "sasl authentication sequence": "authentication|sasl_authenticate",
    "SaslHandshakeRequest version 0 raw tokens": "authentication.html#sasl",
    "client should first send ApiVersions request": "versions.html#apiversions",
    "UNSUPPORTED_VERSION api versions response downgrade": "versions.html#apiversions",
    "some common philosophical questions": "design",
    "socket open connections TLS": "framing|authentication",
    "unclean message beyond the max request size": "limits",
    "KIP-896": "kips.html#KIP-896",
    "KIP-500": "kips.html#KIP-500",
    "broker may send partial message": "fetching",
    "CORRELATION_ID user supplied integer": "correlation_id|headers|first-request",
    "number of bytes of the request that follows": "framing.html#frames",
    "why not amqp protobuf thrift": "design",
    "is it possible to add a new api": "compatibility|versions|design",
    "fetch size must be larger than largest message": "limits",
    "data is opaque to the broker": "design",
    "how a piece of data is assigned to a partition": "producing.html#choosing",
    "clients directly control assignment": "producing.html#choosing",
    "batch across topics and partitions in one request": "producing.html#batches",
    "log compaction key": "log-files.html#compaction",
    "consumer metadata request": "find_coordinator",
    "leader is -1 when no leader election": "errors.html#5|leader_id",
    "CRC is the CRC32 of the remainder of the message bytes": "records",
    "requests initiated by the client": "framing",
    "servers continue to support old clients": "compatibility",
    "batch overhead size 61 bytes": "records.html#record-batch",
    "log entry offset and size": "records.html#message-sets",
    "partitionLeaderEpoch set by broker not covered by crc": "records.html#record-batch",
    "delete horizon tombstone": "records.html#record-batch",
    "lastOffsetDelta preserved by compaction": "records.html#record-batch",
    "header key must not be null": "records.html#record",
    "end transaction marker coordinator epoch": "records.html#control|end_txn_marker",
    "KIP-511 client software name": "kips.html#KIP-511",
    "KIP-447 producer scalability eos group metadata": "kips.html#KIP-447",
}
"""What readers of the old pages about the protocol look for, each with a pattern for one of the first four hits."""

TASKS = {
    "topic ids of Fetch": (
        "fetch topic id",
        {"api/fetch.html#request.topics.topic_id": ["13+"], "api/fetch.html#request-history": ["KIP-516", "3.1.0"]},
    ),
    "Metadata 9 to 13": (
        "metadata 9 10",
        {"api/metadata.html#request-history": ["KIP-516", "from version 12 on", "KIP-1102"]},
    ),
    "the response to ApiVersions 3": (
        "header of ApiVersions response",
        {"guide/framing.html#headers": ["always have header 0, because"]},
    ),
    "the bytes of ApiVersions 3": (
        "ApiVersions 3",
        {
            "api/api_versions.html#request-bytes": ["client_software_name"],
            "api/api_versions.html#response-bytes": ["ResponseHeader v0"],
        },
    ),
    "APIs that 4.0 removed": (
        "4.0 removed",
        {
            "releases/4.0.0.html#Removed-APIs": [
                "LeaderAndIsr",
                "StopReplica",
                "UpdateMetadata",
                "ControlledShutdown",
            ],
            "releases/4.0.0.html#Removed-versions": ["Produce 0-2", "Fetch 0-3"],
            "releases/4.0.0.html#Proposals": ["KIP-500", "KIP-896", "KIP-890", "Produce 12"],
        },
    ),
    "the clients that 4.0 refuses": (
        "old clients new brokers",
        {"guide/compatibility.html": ["clients before 2.1", "KIP-896", "2.1 to 3.9"]},
    ),
    "error 87": (
        "87",
        {"errors.html#87": ["INVALID_RECORD", "Produce"], "api/produce.html#errors": ["A record breaks a rule"]},
    ),
    "tagged fields": (
        "tagged fields",
        {"guide/flexible.html#tagged-fields": ["skips it by its size", "08", "8 bytes follow", "Tags ascend"]},
    ),
    "the range of the CRC": (
        "record batch",
        {"guide/records.html#record-batch": ["covered by the CRC", "CRC-32C of all that follows", "17"]},
    ),
    "member epoch -1": (
        "member epoch -1",
        {"guide/groups.html#consumer-groups-of-kip-848": ["-1 to leave", "-2 to leave for a restart"]},
    ),
    "KIPs of ShareFetch": (
        "ShareFetch",
        {"api/share_fetch.html#request-history": ["KIP-932", "KIP-1206", "KIP-1222"]},
    ),
    "login": (
        "sasl",
        {
            "guide/authentication.html#sasl": [
                "SaslHandshake",
                "auth_bytes",
                "alice",
                "closes the connection",
                "a byte 01",
            ]
        },
    ),
    "order and pipelining": (
        "pipelining",
        {"guide/framing.html#order": ["one at a time and answers them in order", "several requests"]},
    ),
    "size limits": (
        "size limit",
        {
            "guide/limits.html": [
                "message.max.bytes",
                "max.message.bytes",
                "max.request.size",
                "55 MiB",
                "replica.fetch.max.bytes",
                "4,096 bytes",
                "512 KiB",
                "group.max.size",
                "32,767 bytes",
            ]
        },
    ),
}
"""Tasks of readers: the query, and the places within its first hits, or a click from there, with the facts."""


def ask(site: Mapping[str, str], folder: Path, *queries: str, whole: str = "") -> dict[str, Any]:
    """The groups of each query: titles, and hits as paths, texts and numbers of what they stand for."""
    for name in ("search.js", "minisearch.js", "find.js"):
        (folder / name).write_text(site[f"assets/{name}"], "utf-8")
    command = [NODE or "node", str(Path(__file__).with_name("find.cjs")), str(folder), whole]
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


def test_statements_of_the_old_pages_are_found(site: Mapping[str, str], tmp_path: Path) -> None:
    found = ask(site, tmp_path, *STATEMENTS)
    first = {
        query: [" ".join(map(str, hit)) for _, hits in groups for hit in hits][:4] for query, groups in found.items()
    }
    wrong = {
        query: hits
        for query, hits in first.items()
        if not any(re.search(STATEMENTS[query], hit, re.IGNORECASE) for hit in hits)
    }
    assert wrong == {}


def said(page: str, anchor: str) -> str:
    """The text of a section, of a row of a table, or of a page."""
    if anchor:
        before, start, text = page.partition(f' id="{anchor}"')
        assert start, anchor
        tag = before.rpartition("<")[2].split()[0]
        end = re.search(rf"<h[1-{tag[1]}]\b", text) if re.fullmatch("h[1-6]", tag) else re.search("</tr>", text)
        page = text[: end.start() if end else None]
    page = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<wbr>|<[^>]+>", lambda tag: "" if tag[0] == "<wbr>" else " ", page)).split())


def test_tasks_need_two_clicks_at_most(site: Mapping[str, str], tmp_path: Path) -> None:
    """The first click is on a hit, the second on a section of its page or on a link there."""
    found = ask(site, tmp_path, *(query for query, _ in TASKS.values()))
    wrong: dict[str, object] = {}
    for task, (query, places) in TASKS.items():
        hits = [hit[0].partition("#")[0] for _, group in found[query] for hit in group][:4]
        for place, facts in places.items():
            path, _, anchor = place.partition("#")
            if path not in hits and not any(os.path.relpath(path, Path(hit).parent) in site[hit] for hit in hits):
                wrong[f"{task}: the way to {place}"] = hits
            if missing := [fact for fact in facts if fact not in said(site[path], anchor)]:
                wrong[f"{task}: {place}"] = missing
    assert wrong == {}


def test_groups_are_short_and_the_documentation_comes_last(site: Mapping[str, str], tmp_path: Path) -> None:
    found = ask(site, tmp_path, *FIRST)
    for query, groups in found.items():
        titles = [title for title, _ in groups]
        assert "Documentation" not in titles[:-1], query
        for _, hits in groups:
            assert len(hits) <= 6, query
            assert len(hits) < 6 or hits[-1][2] > 5, query  # the last stands for all of them


HEADERS = {
    "001200030000000700016300": ("api_versions.html#request-v3", 'header 2, correlation id 7, client id "c"'),
    "0000001b0012000300000007ffff": ("api_versions.html#request-v3", "header 2, correlation id 7, no client id"),
    "000000080007000000000007": ("controlled_shutdown.html#request-v0", "header 0, correlation id 7"),
    "00:01:00:04:00:00:00:00:ff:ff": ("fetch.html#request-v4", "header 1, correlation id 0, no client id"),
    "000c0004": ("heartbeat.html#request-v4", "header 2"),
}


def test_bytes_show_their_header(site: Mapping[str, str], tmp_path: Path) -> None:
    answers = ask(site, tmp_path, *HEADERS, "7fff0000", "00010")
    assert (answers.pop("7fff0000"), answers.pop("00010")) == ([], [])
    for text, (path, said) in HEADERS.items():
        [[title, [[found, place, _]]], *_] = answers[text]
        assert (title, found) == ("Meant", f"api/{path}-bytes")
        assert place.partition("version ")[2].partition(" ")[2] == said


SMALL: dict[str, Any] = {
    "entries": [
        ["guide/order.html", "Order", "guide", "batch", "Requests are ordered by brokers.", 3, 0],
        ["#passes", "Passes", "in Order", "", "Boxes, and what matches them, pass.", 2, 0],
        ["api/clock.html", "Clock", "clocks", "ClockRequest ClockResponse api key 7", "Asks for time. " * 20, 4, 1],
        ["api/clock_hands.html", "ClockHands", "clocks", "ClockHandsRequest", "Moves the hands of clocks.", 4, 1],
        ["api/wind.html", "Wind", "winding", "WindRequest", "Winds a clock.", 4, 1],
        ["enums.html#Phase", "Phase", "enum", "ClockRequest.moon", "A phase of the moon.", 3, 2],
        ["#Phase.NEW", "NEW", "in Phase", "-2 ClockRequest.moon", "It is new.", 2, 2],
        ["#Phase.OLD", "OLD", "in Phase", "2 ClockRequest.moon", "It is old.", 2, 2],
        ["#Side.DARK", "DARK", "in Side", "-2 WindRequest.side", "It is dark.", 2, 2],
        ["errors.html#7", "TOO_LATE", "error 7", "7 error code 7 LateClock", "It is late.", 4, 4],
        ["#17", "TOO_LATE_AGAIN", "error 17", "17 error code 17", "It is later than -1.", 4, 4],
        ["kips.html#KIP-12", "KIP-12", "proposal", "kip", "ClockRequest 1", 3, 2],
        ["#KIP-1", "KIP-1", "proposal", "kip", "WindRequest 1", 3, 2],
        ["releases/4.0.0.html", "Kafka 4.0", "release", "release upgrade 4.0.0 4.0", "Removed: Bell.", 3, 2],
        ["project/a.html", "Manual", "documentation", "", "alpha beta gamma delta epsilon zeta", 2, 5],
        *([f"#{name}", name, "in Manual", "", "alphas of clocks", 1, 5] for name in "bcdefgh"),
    ],
    "fields": {
        "api/clock.html#request.": ["ClockRequest", [["hour", "old_hour", "One."], ["zone.min_hour", "", "Two."]]],
        "api/clock.html#response.": ["ClockResponse", [["hour", "", "Three."], ["hours.hour", "", "Four."]]],
        "api/wind.html#request.": ["WindRequest", [["hour", "", "Five."], ["spring", "", "Six."]]],
        "api/clock_hands.html#request.": ["ClockHandsRequest", [["hour", "", "Seven."], ["spring", "", "Eight."]]],
    },
    "synonyms": {"exactly once": "Order, TOO_LATE", "once": "Wind", "what is late": "Passes"},
    "apis": {"7": ["api/clock.html", "Clock", 3, "0122"], "0": ["api/wind.html", "Wind", 0, "1"]},
}
"""An index with two of what decides: groups, names, places, values and synonyms."""

ASKED = """\
clock | Clock | clockhands | ClockHands | clo | clack | klack | wand | order | ordering | orders ordered | boxes |
matching passes | hour | clock hour | ClockRequest hour | min_hour | old hour | spring | alpha | alpha beta zeta |
alpha beta gamma delta wind | the | what is the order of | exactly once | once wind | is it exactly once or not? |
what is late | late | error 7 | 7 | 17 | TOO_LATE | too late again | -2 | Phase -2 | sides −2 | 2 | -1 | KIP-12 |
kip 1 wind | kip-12 | 4.0 | 4.0.0 | Clock 4 | clock v5 3 | Clock 4.0.1 | ClockRequest 3 | wind clock 5 | Clock-5 |
 Clock  5  | nothing at all |   | LateClockException | org.apache.kafka.common.Order | Order 5 | 0x00070004 |
00070006 0000000a | 0007 0005 0000000a 0002 6162 | 00070005 0000000a 0063 6162 | 00000008 00000000 00000009 |
00070002 | 00070003 00000001 ffff | 0000000a 0000""".replace(" |\n", " | ").split(" | ")


def test_whole_answers_of_a_small_index(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    """Groups with all that a hit shows, and the words and stems of queries."""
    texts = {artifact.path: artifact.text for artifact in assets()}
    site = {**texts, "assets/search.js": f"window.kwireSearch = {json.dumps(SMALL)};"}
    lines = []
    for query, found in ask(site, tmp_path, *ASKED, whole="whole").items():
        lines.append(f"{query!r}: {' '.join(found['words'])} / {' '.join(found['stems'])}")
        for group in found["groups"]:
            hits = [
                f"{one['path']} {one['name']}, {one['place']}, {len(one.get('all', ''))}, {len(one['doc'])}"
                for one in group["hits"]
            ]
            lines.append(f"  {group['title']}: {'; '.join(hits)}")
    assert "\n".join(lines) == snapshot


def test_two_thirds_of_the_words_in_the_guide_come_before_all_words_in_documentation(tmp_path: Path) -> None:
    """Two of three words are enough, three of five are not."""
    entries = [["guide/a.html", "A", "guide", "", "alpha beta gamma", 3, 0]]
    entries += [["project/b.html", "B", "documentation", "", "alpha beta gamma delta epsilon zeta", 2, 5]]
    script = json.dumps({"entries": entries, "fields": {}, "synonyms": {}, "apis": {}})
    texts = {artifact.path: artifact.text for artifact in assets()}
    site = {**texts, "assets/search.js": f"window.kwireSearch = {script};"}
    found = ask(site, tmp_path, "alpha beta zeta", "alpha beta gamma delta zeta")
    assert [[title for title, _ in groups] for groups in found.values()] == [
        ["Chapters", "Documentation"],
        ["Documentation"],
    ]
