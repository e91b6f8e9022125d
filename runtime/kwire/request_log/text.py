"""Parsing the text of brokers before 2.8: ``HEADER -- REQUEST,response:RESPONSE from connection NAME;KEY:VALUE,…``.

The result contains the values of a line by attribute name. Bodies remain text, because the notation omits bytes and
quotes. The header changed between releases::

    RequestHeader(apiKey=METADATA, apiVersion=1, clientId=me, correlationId=1)              1.0 to 2.7
    {api_key=3,api_version=2,correlation_id=1,client_id=me}                                 0.9 to 0.11
    Name: TopicMetadataRequest; Version: 1; CorrelationId: 1; ClientId: me; Topics: t       0.8 and 0.9, with the body
"""

from __future__ import annotations

import re
from collections import deque
from typing import Any

MARK = "Completed request:"
"""The start of the message in every request log line."""

API_KEYS = (
    *("PRODUCE", "FETCH", "LIST_OFFSETS", "METADATA", "LEADER_AND_ISR", "STOP_REPLICA", "UPDATE_METADATA"),
    *("CONTROLLED_SHUTDOWN", "OFFSET_COMMIT", "OFFSET_FETCH", "FIND_COORDINATOR", "JOIN_GROUP", "HEARTBEAT"),
    *("LEAVE_GROUP", "SYNC_GROUP", "DESCRIBE_GROUPS", "LIST_GROUPS", "SASL_HANDSHAKE", "API_VERSIONS"),
    *("CREATE_TOPICS", "DELETE_TOPICS", "DELETE_RECORDS", "INIT_PRODUCER_ID", "OFFSET_FOR_LEADER_EPOCH"),
    *("ADD_PARTITIONS_TO_TXN", "ADD_OFFSETS_TO_TXN", "END_TXN", "WRITE_TXN_MARKERS", "TXN_OFFSET_COMMIT"),
    *("DESCRIBE_ACLS", "CREATE_ACLS", "DELETE_ACLS", "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "ALTER_REPLICA_LOG_DIRS"),
    *("DESCRIBE_LOG_DIRS", "SASL_AUTHENTICATE", "CREATE_PARTITIONS", "CREATE_DELEGATION_TOKEN"),
    *("RENEW_DELEGATION_TOKEN", "EXPIRE_DELEGATION_TOKEN", "DESCRIBE_DELEGATION_TOKEN", "DELETE_GROUPS"),
    *("ELECT_LEADERS", "INCREMENTAL_ALTER_CONFIGS", "ALTER_PARTITION_REASSIGNMENTS"),
    *("LIST_PARTITION_REASSIGNMENTS", "OFFSET_DELETE", "DESCRIBE_CLIENT_QUOTAS", "ALTER_CLIENT_QUOTAS"),
    *("DESCRIBE_USER_SCRAM_CREDENTIALS", "ALTER_USER_SCRAM_CREDENTIALS", "VOTE", "BEGIN_QUORUM_EPOCH"),
    *("END_QUORUM_EPOCH", "DESCRIBE_QUORUM", "ALTER_ISR", "UPDATE_FEATURES"),
)
"""Kafka's API constants by API key. The list is complete, because releases after 2.7 do not log text."""

_CLASSES = (
    *("ProducerRequest", "FetchRequest", "OffsetRequest", "TopicMetadataRequest", "LeaderAndIsrRequest"),
    *("StopReplicaRequest", "UpdateMetadataRequest", "ControlledShutdownRequest", "OffsetCommitRequest"),
    *("OffsetFetchRequest", "ConsumerMetadataRequest"),
)
"""The Scala classes of Kafka 0.8 and 0.9 by API key."""

_KEYS = {name: key for names in (API_KEYS, _CLASSES) for key, name in enumerate(names)}
_KEYS |= {"GROUP_COORDINATOR": 10, "GroupCoordinatorRequest": 10, "ELECT_PREFERRED_LEADERS": 43}

_BEGINNINGS = ("RequestHeader(", "{api_key=", "Name:")
_HEADERS = (
    re.compile(
        r"RequestHeader\(apiKey=(?P<name>\w+), apiVersion=(?P<api_version>-?\d+), clientId=(?P<client_id>.*?), "
        r"correlationId=(?P<correlation_id>-?\d+)\)",
        re.DOTALL,
    ),
    re.compile(
        r"\{api_key=(?P<api_key>-?\d+),api_version=(?P<api_version>-?\d+),correlation_id=(?P<correlation_id>-?\d+),"
        r"client_id=(?P<client_id>.*?)\}(?= -- )",
        re.DOTALL,
    ),
)
_NAMED = {
    "name": re.compile(r"Name: ?(\w+)"),
    "api_version": re.compile(r"; ?Version: ?(-?\d+)"),
    "correlation_id": re.compile(r"; ?CorrelationId: ?(-?\d+)"),
    "client_id": re.compile(r"; ?ClientId: ?(?:Some\((.*?)\)|(.*?))(?=;| from c)", re.DOTALL),
}
_CONNECTION = re.compile(r" from (?:connection|client) (?P<name>[^;]{1,600});(?=totalTime:)")
TIMES = {
    "totalTime": "total_time_ms",
    "requestQueueTime": "request_queue_time_ms",
    "localTime": "local_time_ms",
    "remoteTime": "remote_time_ms",
    "throttleTime": "throttle_time_ms",
    "responseQueueTime": "response_queue_time_ms",
    "sendTime": "send_time_ms",
}
"""Attributes for times, by their names in text. In JSON, ``Ms`` is appended to these names."""

NAMES = {"securityProtocol": "security_protocol", "principal": "principal", "listener": "listener"}
"""Other attributes, by their names in text and JSON."""

_MORE = ("temporaryMemoryBytes", "messageConversionsTime")
_FACT = re.compile(rf"(?:^|,)({'|'.join((*TIMES, *NAMES, *_MORE, 'clientInformation'))}):")
_SOFTWARE = re.compile(r"ClientInformation\(softwareName=(.{0,255}?), softwareVersion=(.{0,255}?)\)", re.DOTALL)
_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,9})?", re.ASCII)
_LOGGER = re.compile(r"[\w.$]+\)?(?::\d+)?")
"""Matches the logger name that Kafka's default layout appends to the message after a space and ``(``. The principal
before it may contain spaces.
"""


def is_text(text: str, begin: int) -> bool:
    """Return whether a message in this notation, possibly cut off, begins at ``begin`` of ``text``."""
    rest = text[begin : begin + 16].rstrip()
    if rest in ("", "{"):
        return False
    return any(rest.startswith(beginning) or beginning.startswith(rest) for beginning in _BEGINNINGS)


def text_values(text: str, begin: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values of the header and the other values of the line, by attribute.

    Raise ``ValueError`` if a part is missing.
    """
    tail = next(iter(deque(_CONNECTION.finditer(text, begin), 1)), None)
    if tail is None:
        raise ValueError("the line ends before the connection and the times")
    if MARK in text[begin:]:
        raise ValueError("the line is cut off, and another line follows it")
    message = text[begin : tail.start()]
    header, body = _header(message)
    request, _, response = body.partition(",response:")
    values = _facts(text[tail.end() :])
    if "send_time_ms" not in values:
        raise ValueError("the line ends in the middle of the times")
    bodies = {"request_text": request or None, "response_text": response or None}
    return header, bodies | {"connection": tail["name"]} | values


def _header(message: str) -> tuple[dict[str, Any], str]:
    """Return the values of the header and the text after the header."""
    for layout in _HEADERS:
        if found := layout.match(message):
            return _numbers(found.groupdict()), message[found.end() :].removeprefix(" -- ")
    values = {}
    for name, pattern in _NAMED.items():
        if found := pattern.search(message + ";"):
            values[name] = next((group for group in found.groups() if group is not None), None)
    return _numbers(values), message


def _numbers(found: dict[str, str | None]) -> dict[str, Any]:
    name, number, version = found.get("name"), found.get("api_key"), found.get("api_version")
    if version is None or name is number is None:
        raise ValueError("the header lacks the API or the version")
    key = _KEYS.get(name) if name else int(number or 0)
    if key is None:
        raise ValueError(f"unknown API {name}")
    correlation, client = found.get("correlation_id"), found.get("client_id")
    return {
        "api_key": key,
        "api_version": int(version),
        "api_name": API_KEYS[key] if 0 <= key < len(API_KEYS) else None,
        "correlation_id": None if correlation is None else int(correlation),
        "client_id": None if client == "null" else client,
    }


def _facts(tail: str) -> dict[str, Any]:
    """Return the comma-separated values after the connection, by attribute. Principals may contain commas as well."""
    values: dict[str, Any] = {}
    more: dict[str, Any] = {}
    marks = list(_FACT.finditer(tail))
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        name, value = mark[1], tail[mark.end() : following.start() if following else len(tail)]
        if following is None:
            value = _without_logger(value)
        if name == "clientInformation":
            if software := _SOFTWARE.match(value):
                values |= {"software_name": software[1], "software_version": software[2]}
        elif name in NAMES:
            values[NAMES[name]] = value
        elif number := _NUMBER.match(value):
            (more if name in _MORE else values)[TIMES.get(name, name)] = float(number[0])
    return values | ({"more": more} if more else {})


def _without_logger(value: str) -> str:
    message, _, logger = value.rstrip().rpartition("(")
    if message[-1:].isspace() and _LOGGER.fullmatch(logger):
        return message.rstrip()
    return value.rstrip("\r\n")
