"""Reads dumps of a broker's metrics: Prometheus text, JmxTool output, and JSON from Jolokia or the Prometheus API.

``series_of`` yields the DeprecatedRequestsPerSec series of a file in bounded memory. Rules of the JMX exporter
determine the names of these series. The series are recognized by the metric name and the label values, which all
rules preserve.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kwire_inspect.text_logs.lines import Lines

DEPRECATED = re.compile(rb"deprecated_?requests", re.I)
"""Pattern that matches the name ``DeprecatedRequestsPerSec`` in every format."""
MAX_JSON = 16 << 20
"""Maximum size of a JSON file to parse, in bytes. Parsing needs several times the size of the file in memory."""
MAX_VALUES = 500_000
"""Maximum number of JSON values to parse, estimated from commas and brackets. Two bytes of JSON may become an object
of 64 bytes."""
MAX_COUNTED = 1 << 53
"""Maximum count. A broker would need centuries to reach this count. Up to this value, doubles represent integers
exactly.
"""
MAX_LABELS = 64
LONGEST = 255
"""Maximum number of characters of a label value to keep. The label values that Kafka defines are shorter."""

Problem = tuple[int, str]
"""Byte offset of a problem, and its description."""


class Series(NamedTuple):
    """A series with its labels, number of requests, and byte offset if known. Label names are in lower case and
    contain no ``_``."""

    labels: dict[str, str]
    requests: int
    position: int | None


_NAME = re.compile(r"\s*([A-Za-z_:][\w:]*)\s*\{")
_LABEL = re.compile(r'\s*([A-Za-z_]\w*)\s*=\s*"([^"\\]*+(?:\\.[^"\\]*+)*+)"\s*,?')
_VALUE = re.compile(r"\s*\}\s*([^\s#]+)")
_ESCAPED = re.compile(r"\\(.)", re.S)
_RATE = re.compile(r"rate|created|minute|mean|_\d+m\b", re.I)
"""Pattern that matches the names of metrics other than counts."""
_MERGED = re.compile(r"request_(?P<request>[A-Za-z]+)_version(?:_(?P<version>\d{1,5})_clientSoftwareName)?", re.I)
"""Pattern of a label that contains further labels. Such labels result from rules for only two labels:
``(.+)=(.+), (.+)=(.+)``."""

_OBJECT = re.compile(r"kafka\.network:(?=.*\bname=DeprecatedRequestsPerSec\b)(.*)", re.S)
_PROPERTY = re.compile(r'(?:^|,)([^=,]++)=("[^"\\]*+(?:\\.[^"\\]*+)*+"|[^,]*)')
_ATTRIBUTE = re.compile(r'"?(kafka\.network:.*):Count(?:[,=\t]"?(\d{1,19})"?)?\s*')
"""Pattern of JmxTool's attribute names. The pattern also matches the value in formats with one value per line."""
_SOFTWARE = re.compile(r"client_?software", re.I)
"""Pattern that matches the names of labels whose values clients choose."""


def series_of(path: str, problems: list[Problem]) -> Iterator[Series]:
    """Yield the series in a file. Append a problem to ``problems`` for each part that cannot be read."""
    parts: list[bytes] = []
    size = 0
    begun = False
    heading: list[str] = []
    row: tuple[int, list[str]] = 0, []
    with Lines(path, longest=MAX_JSON) as lines:
        for position, line in lines:
            if parts or (not begun and line.lstrip()[:1] in (b"{", b"[")):
                parts.append(line)
                if size + len(line) > MAX_JSON:
                    problems.append(
                        (
                            0,
                            f"JSON of more than {MAX_JSON >> 20} MB: request only DeprecatedRequestsPerSec MBeans",
                        )
                    )
                    return
            elif heading and not DEPRECATED.search(line):
                cells = _cells(line.decode("utf-8", "replace"))
                if len(cells) == len(heading):
                    row = position, cells  # the last row is the newest
            elif DEPRECATED.search(line):
                text = line.decode("utf-8", "replace")
                if text.startswith('"time"'):
                    yield from _row(heading, *row)
                    heading, row = _cells(text), (0, [])
                elif series := _exposed(text, position) or _attribute(text, position):
                    yield series
            size += len(line) + 1
            begun = begun or not (line.isspace() or not line)
        problems += lines.problems
    yield from _row(heading, *row)
    if parts and not lines.problems:
        if sum(part.count(sign) for part in parts for sign in (b"{", b"[", b",")) > MAX_VALUES:
            problems.append(
                (0, f"JSON of more than {MAX_VALUES:,} values: request only DeprecatedRequestsPerSec MBeans")
            )
            return
        yield from _json(b"\n".join(parts), problems)


def _exposed(line: str, position: int) -> Series | None:
    """Return the series in a line of Prometheus text."""
    if not (name := _NAME.match(line)):
        return None
    labels: dict[str, str] = {}
    at = name.end()
    while len(labels) < MAX_LABELS and (found := _LABEL.match(line, at)):
        labels[found[1]] = _ESCAPED.sub(lambda one: "\n" if one[1] == "n" else one[1], found[2])
        at = found.end()
    value = _VALUE.match(line, at)
    return _series(name[1], labels, value[1], position) if value else None


def _series(name: str, labels: Mapping[str, str], value: object, position: int | None) -> Series | None:
    """Return a series, or ``None`` if its value is not a count."""
    if _RATE.search(name) or any(text.endswith("Rate") for key, text in labels.items() if not _SOFTWARE.search(key)):
        return None
    count = _count(value)
    if count is None:
        return None
    told: dict[str, str] = {}
    for label, text in labels.items():
        text = text[:LONGEST]
        if merged := _MERGED.fullmatch(label):
            last = "version" if merged["version"] is None else "clientsoftwarename"
            told |= {key: part for key, part in merged.groupdict().items() if part} | {last: text}
        elif label not in ("name", "type", "__name__"):
            told[label[:LONGEST].replace("_", "").lower()] = text
    return Series(told, count, position)


def _count(value: object) -> int | None:
    """Return the value of a counter, or ``None`` if the value is not a valid count."""
    try:
        number = float(value)  # type: ignore[arg-type]
        return int(number) if number.is_integer() and 0 <= number < MAX_COUNTED else None
    except (TypeError, ValueError, OverflowError):
        return None


def _object(name: str, value: object, position: int | None) -> Series | None:
    """Return the series for an MBean name and the value of its Count attribute."""
    if not (found := _OBJECT.fullmatch(name)):
        return None
    labels = {key.strip(): _unquoted(text) for key, text in _PROPERTY.findall(found[1])}
    return _series("", labels, value, position)


def _unquoted(text: str) -> str:
    return _ESCAPED.sub(r"\1", text[1:-1]) if text[:1] == '"' else text


def _attribute(line: str, position: int) -> Series | None:
    found = _ATTRIBUTE.fullmatch(line)
    return _object(found[1], found[2], position) if found and found[2] else None


def _cells(line: str) -> list[str]:
    try:
        return next(csv.reader([line], strict=True), [])
    except csv.Error:
        return []


def _row(heading: list[str], position: int, cells: list[str]) -> Iterator[Series]:
    """Yield the series whose values are in a line, in the order of JmxTool's header."""
    for name, value in zip(heading, cells, strict=False):
        found = _ATTRIBUTE.fullmatch(name)
        if found and (series := _object(found[1], value, position)):
            yield series


def _json(text: bytes, problems: list[Problem]) -> Iterator[Series]:
    """Yield the series in a response from the Prometheus API, or from Jolokia, which uses MBean names as keys."""
    try:
        waiting: list[Any] = [json.loads(text)]
    except (ValueError, RecursionError):
        problems.append((0, "JSON that cannot be parsed"))
        return
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += reversed(node)
        elif isinstance(node, dict):
            yield from _of_node(node)
            waiting += reversed(node.values())


def _of_node(node: dict[str, Any]) -> Iterator[Series]:
    metric, value, request = node.get("metric"), node.get("value"), node.get("request")
    if isinstance(values := node.get("values"), list) and values:
        value = values[-1]  # the last value of a range query
    if isinstance(metric, dict) and isinstance(value, list):
        labels = {_text(key): _text(text) for key, text in metric.items() if isinstance(text, str)}
        if any(DEPRECATED.search(text.encode()) for text in labels.values()):
            series = _series(labels.get("__name__", ""), labels, value[-1] if value else None, None)
            if series:
                yield series
    if isinstance(request, dict) and isinstance(request.get("mbean"), str):
        is_count = isinstance(value, dict) or request.get("attribute", "Count") == "Count"
        node = {request["mbean"]: value} if is_count else {}
    for name, found in node.items():
        count = found.get("Count") if isinstance(found, dict) else found
        if type(count) is int and (series := _object(_text(name), count, None)):
            yield series


def _text(text: str) -> str:
    """Return the text without lone surrogates, which JSON strings may contain but Arrow strings may not."""
    return text.encode("utf-8", "replace").decode()
