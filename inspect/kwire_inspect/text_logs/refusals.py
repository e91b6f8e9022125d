"""Converts refusals of requests in a broker's server.log to rows of REFUSALS.

A broker closes the connection without logging the request if it does not support the request's version, or if its
listener does not serve the API. Only the server log reports the refused request. Each entry consists of a line that
names the connection and of the exception. Since version 1.0, brokers write two entries per refusal ::

    [2026-11-21 18:22:25,415] ERROR Closing socket for 127.0.0.1:9092-127.0.0.1:54556-1-0 because of error (kafka.…
    org.apache.kafka.common.errors.UnsupportedVersionException: Received request for api with key 0 (Produce) and …
    [2026-11-21 18:22:25,470] ERROR Exception while processing request from 127.0.0.1:9092-127.0.0.1:54556-1-0 (ka…
    org.apache.kafka.common.errors.UnsupportedVersionException: Received request for api with key 0 (Produce) and …
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import tzinfo
from functools import cache
from typing import TYPE_CHECKING, Any

from kwire.request_log import located, micros
from kwire_inspect.connections.request_context import Columns
from kwire_inspect.rows import LAYOUTS, Row
from kwire_inspect.text_logs.hosts import peers
from kwire_inspect.text_logs.lines import Lines, Split

if TYPE_CHECKING:
    from kwire.protocol import MessageRegistry

NEAR = 64 << 10
"""Maximum distance in bytes between the two entries for a refusal. Other entries may come between the two, because
several threads write to the log at the same time.
"""

MAX_LINES, MAX_BYTES = 300, 1 << 20
"""Maximum number of lines and bytes to search for the end of an entry."""

LONGEST_MESSAGE = 1_000
PREFIX = 200
"""Number of characters before a message to search for its time."""

_FIRST = re.compile(
    rb"Closing socket for (?P<closing>\S+) because of error"
    rb"|Exception while processing request from (?P<from>[^\s\\\"]+)"
    rb"|(?:Unexpected error from|Failed authentication with) /?(?P<host>[^\s\\\";]+)"
    rb"(?: \(channelId=(?P<channel>[^\s)]+)\))?"
)
"""Pattern of an entry's first line. ``Unexpected error from`` and ``Failed authentication with`` occur while clients
authenticate.
"""

_COLLECTED = re.compile(
    r"(?:\S+ std(?:out|err) [FP] |[\w.-]+ +\| |[A-Z][a-z]{2} [ \d]\d [\d:]{8} \S+ [\w./-]+(?:\[\d+\])?: )"
)
"""Pattern of the prefixes that Kubernetes, docker compose and journald add to each line."""
_BEHIND = re.compile(r"\s|Caused by: |Suppressed: |\.\.\. \d+ |[\w$]+(?:\.[\w$]+)+(?:: |$)")
"""Pattern of the lines of an exception and its stack trace."""

_REASONS = (
    re.compile(
        r"Received request for api with key (?P<key>-?\d{1,10}) \((?P<api>\w+)\) "
        r"and unsupported version (?P<version>-?\d{1,10})"
    ),
    re.compile(r"Unsupported api with key (?P<key>-?\d{1,10}) \((?P<api>\w+)\) and version (?P<version>-?\d{1,10})"),
    re.compile(
        r"Received request api key (?P<api>\w+)(?: with version (?P<version>-?\d{1,10}))? which is not enabled"
    ),
    re.compile(
        r"Error getting request for apiKey: (?P<api>\w+), apiVersion: (?P<version>-?\d{1,10}), "
        r"connectionId: (?P<connection>[^\s,]+), listenerName: ListenerName\((?P<listener>[^)\r\n]{0,255})\), "
        r"principal: (?P<principal>[^\r\n]*)"
    ),
    re.compile(r"Unexpected Kafka request of type (?P<api>\w+) during SASL handshake"),
    re.compile(r"Error parsing request header\. Our best guess of the apiKey(?:Id)? is: (?P<key>-?\d{1,10})"),
    re.compile(r"Unknown API key (?P<key>-?\d{1,10})"),
)
"""Patterns of logged reasons. The broker versions that log them are, in the same order, 4.x, 4.x, 3.x, all, all, all
and 1.x.
"""

_NUMBER = re.compile(r"-?[0-9]{1,10}")

_LAYOUT = LAYOUTS["refusals"]


@cache
def api_keys(protocol: MessageRegistry) -> dict[str, int]:
    """Return the API keys by the names of Kafka's constants without underscores, including former names."""
    names = {name.upper(): key for key, name in protocol.api_names.items()}
    return names | {"ALTERISR": 56, "LISTCLIENTMETRICSRESOURCES": 74}


_SAME = ("connection", "api_key", "api", "version", "problem")
"""Columns that are equal in both entries for a refusal."""


def refusal_rows(
    lines: Lines, split: Split, zone: tzinfo, protocol: MessageRegistry
) -> Iterator[tuple[int, list[Row]]]:
    """Yield the length and the row of each entry in ``split`` that reports a refusal. Skip the second entry for a
    refusal.

    ``lines`` starts ``NEAR`` bytes before the split, so that entries on both sides of the boundary can be matched.
    """
    seen: dict[tuple[Any, ...], int] = {}
    for position, line in lines:
        if position >= split.start and not split.has(position):
            return
        first = _FIRST.search(line)
        if not first:
            continue
        text = _entry(line, lines)
        refusal = _refusal(line, first, text, zone, protocol)
        if refusal is None:
            continue
        key = tuple(refusal.get(column) for column in _SAME)
        before = seen.get(key, -NEAR - 1)
        seen = {one: place for one, place in seen.items() if position - place <= NEAR} | {key: position}
        if position >= split.start and position - before > NEAR:
            yield len(text), [_LAYOUT.row(source=split.path, position=position, **refusal)]


def _entry(line: bytes, lines: Lines) -> str:
    """Return the text of an entry: its first line and the lines of the exception that follows."""
    parts = [_text(line)]
    size = len(line)
    for position, other in lines:
        size += len(other)
        text = _text(other) if len(parts) < MAX_LINES and size < MAX_BYTES else ""
        if not _BEHIND.match(text):
            lines.give_back((position, other))
            break
        parts.append(text)
    return "\n".join(parts)


def _text(line: bytes) -> str:
    """Return a line without the prefix of a log collector. If the line is a JSON object, return all strings in the
    object.
    """
    text = line.decode("utf-8", "replace")
    if found := _COLLECTED.match(text):
        text = text[found.end() :]
    if not text.startswith("{"):
        return text
    try:
        return "\n".join(_strings(json.loads(text)))
    except (ValueError, RecursionError):
        return text


def _strings(found: Any, depth: int = 0) -> Iterator[str]:
    if type(found) is str:
        yield found
    elif type(found) is dict and depth < 6:
        for name in sorted(found, key=lambda name: name not in ("log", "message")):
            yield from _strings(found[name], depth + 1)


def _refusal(
    line: bytes, first: re.Match[bytes], text: str, zone: tzinfo, protocol: MessageRegistry
) -> Columns | None:
    """Return the columns of an entry, or ``None`` if it does not report a refusal."""
    found = next((match for reason in _REASONS if (match := reason.search(text))), None)
    if found is None:
        cut = "\n" not in text.strip() and not first["host"]
        reason = "a request was refused, but the entry ends before the reason"
        return {"problem": reason} if cut else None
    told = found.groupdict()
    key, api = _api(protocol, told.get("key"), told.get("api"))
    version = told.get("version")
    begin = text.rfind("\n", 0, found.start()) + 1
    said = text[begin : found.end()].strip()
    return {
        **_peers(first, told.get("connection")),
        "time": _time(line, first, zone),
        "api_key": key,
        "api": api,
        "version": None if version is None else int(version),
        "listener": told.get("listener"),
        "principal": told.get("principal"),
        "message": said[:LONGEST_MESSAGE],
    }


def _peers(first: re.Match[bytes], told: str | None) -> Columns:
    """Return the columns for the ends of the connection. Old brokers name the connection only in the reason, or not
    at all.
    """
    name = first["closing"] or first["from"] or first["channel"]
    connection = name.decode("utf-8", "replace") if name else told
    if connection is None:
        return {"client_host": first["host"].decode("utf-8", "replace")}
    return peers(connection)


def _api(protocol: MessageRegistry, key: str | None, api: str | None) -> tuple[int | None, str | None]:
    """Return the key and name of an API. Brokers log the key, the name, or the name of Kafka's constant."""
    if key is None and api is not None and _NUMBER.fullmatch(api):
        key, api = api, None
    number = int(key) if key is not None else api_keys(protocol).get((api or "").replace("_", "").upper())
    return number, protocol.api_names.get(number, api) if number is not None else api


def _time(line: bytes, first: re.Match[bytes], zone: tzinfo) -> int | None:
    mark = first[0].decode("utf-8", "replace")
    found = located(line.decode("utf-8", "replace"), mark)
    return micros(found[0][-PREFIX:], zone) if found else None
