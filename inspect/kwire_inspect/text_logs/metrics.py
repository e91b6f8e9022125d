"""Converts dumps of a broker's metrics to rows of CLIENTS: the number of requests in deprecated versions [KIP-896].

Since version 3.7, a broker counts requests in deprecated versions from its start. The counts distinguish the API,
version and client software, but not the client id or address:
``kafka.network:type=RequestMetrics,name=DeprecatedRequestsPerSec,request=Fetch,version=2,clientSoftwareName=…``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa

from kwire.protocol import MessageRegistry
from kwire.request_log.line import known_software
from kwire_inspect.options import BrokenInputError
from kwire_inspect.reasons import NO_DEPRECATED
from kwire_inspect.tables.clients import METRICS
from kwire_inspect.text_logs.dumps import MAX_COUNTED, Problem, series_of
from kwire_inspect.text_logs.refusals import api_keys

MAX_SERIES = 100_000
"""Maximum number of series in a dump. A broker has at most a few hundred series."""
NONE = dict.fromkeys(("errors", "refused", "connections", "bytes", "begun"), 0)
"""Columns that metrics dumps do not determine, with the value 0."""
NAMELESS = "a series without the API and version of its requests"
_VERSION = re.compile(r"[0-9]{1,4}")
FETCH, BY_CONSUMERS, BY_FOLLOWERS = "Fetch", "FetchConsumer", "FetchFollower"
"""Names under which brokers count each Fetch request twice: by API and by sender."""


class Counted(NamedTuple):
    """Labels by which a broker counts requests."""

    request: str
    version: int
    software_name: str | None
    software_version: str | None


def metrics_batches(
    path: str, schema: pa.Schema, protocol: MessageRegistry, *, failfast: bool = False
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a dump with the columns of COUNTED in ``schema``.

    Parts that cannot be read become rows with a ``problem``, or raise ``BrokenInputError`` if ``failfast`` is true.
    """
    problems: list[Problem] = []
    rows = [*_rows(path, _counted(path, problems), protocol, problems)]
    if not rows and not problems:
        problems.append((0, NO_DEPRECATED))
    for position, reason in problems:
        if failfast:
            raise BrokenInputError(path, position, reason)
        rows.append({**NONE, "source": path, "position": position, "requests": 1, "problem": reason})
    yield pa.RecordBatch.from_pylist([{name: row.get(name) for name in schema.names} for row in rows], schema=schema)


def _counted(path: str, problems: list[Problem]) -> dict[Counted, tuple[int, int | None]]:
    """Return the count for each set of labels, and the position of its first series.

    If a dump covers several brokers, their counts are added. If a series is repeated, its last count is used.
    """
    found: dict[int, tuple[Counted, int, int | None]] = {}  # keyed by hash, because labels can be long
    nameless = None
    for series in series_of(path, problems):
        if (counted := _facts(series.labels)) is None:
            nameless = nameless or (series.position or 0, NAMELESS)
        elif (labels := hash(frozenset(series.labels.items()))) in found or len(found) < MAX_SERIES:
            found[labels] = counted, series.requests, series.position
        else:
            problems.append((series.position or 0, f"more than {MAX_SERIES:,} series: the rest is ignored"))
            break
    problems += [nameless] if nameless else []
    sums: Counter[Counted] = Counter()
    places: dict[Counted, int | None] = {}
    for counted, count, position in found.values():
        sums[counted] = min(sums[counted] + count, MAX_COUNTED)
        places.setdefault(counted, position)
    return {counted: (count, places[counted]) for counted, count in sums.items()}


def _facts(labels: dict[str, str]) -> Counted | None:
    """Return the labels that identify the counted requests, or ``None`` if the API or version is missing."""
    request, version = labels.get("request"), labels.get("version", "")
    if not request or not _VERSION.fullmatch(version):
        return None
    name, number = (known_software(labels.get(label)) for label in ("clientsoftwarename", "clientsoftwareversion"))
    return Counted(request, int(version), name, number)


def _rows(
    path: str,
    found: dict[Counted, tuple[int, int | None]],
    protocol: MessageRegistry,
    problems: list[Problem],
) -> Iterator[dict[str, Any]]:
    unknown = None
    for counted, (count, position) in found.items():
        name = FETCH if counted.request == BY_CONSUMERS else counted.request
        if name == BY_FOLLOWERS:
            continue  # brokers are not clients
        if counted.request == FETCH:
            if counted._replace(request=BY_CONSUMERS) in found:
                continue
            count -= found.get(counted._replace(request=BY_FOLLOWERS), (0, None))[0]
        key = api_keys(protocol).get(name.replace("_", "").upper())
        if key is None:
            unknown = unknown or (position or 0, name)
        elif count > 0:
            yield {
                **NONE,
                "input_kind": METRICS,
                "software_name": counted.software_name,
                "software_version": counted.software_version,
                "api_key": key,
                "api": protocol.api_names[key],
                "version": counted.version,
                "requests": count,
                "source": path,
                "position": position,
            }
    if unknown:
        problems.append((unknown[0], f"requests of an unknown API: {unknown[1]}"))
