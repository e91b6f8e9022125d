"""What must hold of a run, fresh or stored: each function gives what does not, so that nothing is what is wanted.

What the pipeline makes of capture and logs is compared with ``truth.json``, and that with what clients told.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from datetime import UTC
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from kwire_inspect.capture import read_pieces
from kwire_inspect.connections import frame_batches
from kwire_inspect.connections.connection import NEVER_READ
from kwire_inspect.rows import Projection
from kwire_inspect.schemas import EXCHANGES, FRAMES, REFUSALS
from kwire_inspect.text_logs import refusal_batches, request_batches, splits
from kwire_kafka.releases import RELEASES
from tests.e2e_traffic.cast import CAST
from tests.e2e_traffic.told import BEFORE_LOGIN, told

Row = Mapping[str, Any]
Check = Callable[["Run"], Sized]
KEYS = ("client_id", "client_host", "software_name", "software_version", "principal", "api", "version", "forwarded")
CLEAN = {"request", "response", "sasl_token", "unanswered"}
"""The kinds of rows of which all bytes were understood."""

LAST = "BrokerHeartbeat"
"""A broker that stops says so to its controller, which does not log it any more."""

SILENT = {
    member.client_id
    for member in CAST
    if member.mechanism and (member.tools or member.program in ("Clients", "sarama", "kafkago"))
}
"""Clients that do not say which requests they sent before they were let in."""

WRONG = {("ListGroups", 2): ("ListGroups", 1)}
WRONG_IN = ("kafka-python", "aiokafka")
"""What these say they send, and what they do send: in this class the number was forgotten."""


class Run:
    """The folder of a run or of its sample: what it holds, read once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def frames(self) -> list[Row]:
        return _rows(frame_batches(read_pieces([self.file("traffic.pcap")]), FRAMES), FRAMES)

    @cached_property
    def exchanges(self) -> list[Row]:
        pieces = read_pieces([self.file("traffic.pcap")])
        return _rows(frame_batches(pieces, EXCHANGES, table="exchanges"), EXCHANGES)

    @cached_property
    def logged(self) -> list[Row]:
        chosen = Projection("logged_exchanges")
        parts = splits([self.file("kafka-request.log")], 1 << 20)
        return [row for part in parts for row in _rows(request_batches(part, chosen, UTC), EXCHANGES)]

    @cached_property
    def refusals(self) -> list[Row]:
        chosen = Projection("refusals")
        parts = splits([self.file("server.log")], 1 << 20)
        return [row for part in parts for row in _rows(refusal_batches(part, chosen, UTC), REFUSALS)]

    @cached_property
    def truth(self) -> list[Row]:
        found: list[Row] = json.loads((self.folder / "truth.json").read_text())
        return found

    @cached_property
    def told(self) -> dict[str, Counter[tuple[str, int]]]:
        stored = self.folder / "told.json"
        if not stored.exists():
            return told(self.folder)
        said = json.loads(stored.read_text()).items()
        return {client: Counter({(api, version): count for api, version, count in rows}) for client, rows in said}

    @cached_property
    def refused(self) -> set[str]:
        """The clients that the broker's verdict is against."""
        return {client for client, verdict in self._verdicts.items() if verdict["verdict"] == "refused"}

    @cached_property
    def failed(self) -> dict[str, Any]:
        """What clients could not do though the broker refused nothing, by client."""
        return {client: one["failed"] for client, one in self._verdicts.items() if one["verdict"] == "failed"}

    @cached_property
    def unhindered(self) -> set[str]:
        """Clients that were refused something and could do everything nevertheless."""
        return {client for client in self.refused if not self._verdicts[client]["failed"]}

    @cached_property
    def _verdicts(self) -> dict[str, Any]:
        verdicts: dict[str, Any] = json.loads((self.folder / "verdicts.json").read_text())
        return verdicts

    def file(self, name: str) -> str:
        """A file as it is, or compressed in some way; tcpdump leaves what it said beside it."""
        return str(next(path for end in ("", ".gz", ".zst") if (path := self.folder / f"{name}{end}").exists()))


def judged_wrongly(run: Run) -> Sized:
    """Clients that failed without being refused, or were refused and did not fail."""
    return run.failed or run.unhindered


def not_understood(run: Run) -> list[Row]:
    """Rows of the capture that are not a request, a response or a token in full, and whatever is broken."""
    return [row for row in run.frames if row["kind"] not in CLEAN or row["problem"]]


def not_paired(run: Run) -> Counter[Any]:
    """Requests without a response that the broker neither refused nor answered when the client was gone.

    It reads none after one that it refuses."""
    missing = _places((row for row in run.exchanges if not _never_read(row)), "unanswered")
    late = _places(run.logged) - _places(run.exchanges, "answered")
    return missing - _places(run.refusals) - late


def not_captured(run: Run) -> Counter[Any]:
    """Refusals in the server log that are no requests without a response in the capture."""
    return _places(run.refusals) - _places(run.exchanges, "unanswered")


def capture_differs(run: Run) -> dict[tuple[Any, ...], tuple[int, int]]:
    """Requests by who sent them: numbers in the capture and in the truth, where they are not the same."""
    refused = _places(run.refusals)
    seen = [
        row
        for row in run.exchanges
        if not refused[_place(row)] and not _of_silent(row) and row["api"] != LAST and not _never_read(row)
    ]
    truth = [row for row in run.truth if row["source"] != "server_log" and row["api"] != LAST]
    known = _spoken(_as_logged(row, run.folder.name) for row in truth)
    passed_on = sum(count for key, count in known.items() if key[-1])
    found = _spoken(_as_logged(row, run.folder.name) for row in seen if row["api"] != "Envelope")
    found["envelopes"] = sum(row["api"] == "Envelope" for row in seen)
    known["envelopes"] = passed_on
    return _unequal(found, known)


def request_log_differs(run: Run) -> dict[tuple[Any, ...], tuple[int, int]]:
    """The same for what is made of the request log. What a broker passed on came from its address: no client's."""
    known = [row for row in run.truth if row["source"] == "request_log"]
    return _unequal(_spoken(run.logged), _spoken({**row, "host": None} if row["forwarded"] else row for row in known))


def server_log_differs(run: Run) -> dict[tuple[Any, ...], tuple[int, int]]:
    """The same for APIs and versions that the server log says were refused."""
    known: Counter[Any] = Counter()
    for row in run.truth:
        if row["source"] == "server_log":
            known[row["api"], row["version"]] += row["count"]
    return _unequal(Counter((row["api"], row["version"]) for row in run.refusals), known)


def told_differs(run: Run) -> dict[tuple[Any, ...], tuple[int, int]]:
    """What clients said they sent against the truth, with the few wrong things that they say put right.

    What no broker read is nowhere but in the capture."""
    known: Counter[Any] = Counter()
    for row in run.truth:
        if not row["forwarded"]:
            known[_speaker(row["client_id"]), row["api"], row["version"]] += row["count"]
    known.update((row["client_id"], row["api"], row["version"]) for row in run.exchanges if _never_read(row))
    told = {client: _right(one) if client.startswith(WRONG_IN) else one for client, one in run.told.items()}
    said = Counter({(client, *api): count for client, one in told.items() for api, count in one.items()})
    clients = set(run.told)
    return _unequal(said, Counter({key: count for key, count in known.items() if key[0] in clients}))


CHECKS: tuple[Check, ...] = (
    judged_wrongly,
    not_understood,
    not_paired,
    not_captured,
    capture_differs,
    request_log_differs,
    server_log_differs,
    told_differs,
)


def _right(said: Counter[tuple[str, int]]) -> Counter[tuple[str, int]]:
    right: Counter[tuple[str, int]] = Counter()
    for api, count in said.items():
        right[WRONG.get(api, api)] += count
    return right


def _speaker(client_id: str | None) -> str | None:
    """Two members of a group are one program, whose log does not tell them apart."""
    return client_id[2:].removesuffix("-owner") if client_id and client_id.endswith("-owner") else client_id


def _spoken(rows: Iterable[Row]) -> Counter[Any]:
    """Requests by ``KEYS``. To a request log a client without a login is anonymous, to a capture it has no name."""
    spoken: Counter[Any] = Counter()
    for row in rows:
        values = {"client_host": row.get("host"), **row, "forwarded": bool(row["forwarded"])}
        if values["principal"] == "User:ANONYMOUS":
            values["principal"] = None
        spoken[tuple(values[key] for key in KEYS)] += row.get("count", 1)
    return spoken


def _as_logged(row: Row, release: str) -> Row:
    """A broker does not read the software in an ApiVersions request that is newer than it; its header is enough."""
    if row["api"] != "ApiVersions" or row["version"] in RELEASES[release].api("ApiVersions").accepted:
        return row
    return {**row, "software_name": None, "software_version": None}


def _never_read(row: Row) -> bool:
    """Whether the request came after one that the broker refused, on the same connection."""
    return bool(row["reason"] == NEVER_READ)


def _of_silent(row: Row) -> bool:
    """Whether nobody but the wire knows of this request."""
    return row["client_id"] in SILENT and row["api"] in BEFORE_LOGIN and row["principal"] is None


def _places(rows: Iterable[Row], outcome: str | None = None) -> Counter[Any]:
    return Counter(_place(row) for row in rows if outcome is None or row["outcome"] == outcome)


def _place(row: Row) -> tuple[Any, ...]:
    return tuple(row[key] for key in ("client_host", "client_port", "server_port", "api", "version"))


def _unequal(found: Counter[Any], known: Counter[Any]) -> dict[Any, tuple[int, int]]:
    return {key: (found[key], known[key]) for key in found.keys() | known.keys() if found[key] != known[key]}


def _rows(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> list[Row]:
    rows: list[Row] = pa.Table.from_batches(batches, schema).to_pylist()
    return rows
