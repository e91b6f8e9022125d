"""Who really spoke what: ``truth.json``, from the broker's request log and the logs of the clients.

Nothing here decodes what was captured. The request log is read as the JSON it is. What a broker does not log there,
it or the client says elsewhere: requests before a login (the client's log), requests that it refuses (server.log).
A request that a broker passes on to its controller is in the log twice, the second time as ``forwarded``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kwire_kafka import PROTOCOL
from tests.e2e_traffic.cast import CAST
from tests.e2e_traffic.told import BEFORE_LOGIN, told
from tests.e2e_traffic.verdicts import refusals

MARK = "Completed request:"


class Who(NamedTuple):
    """A row of the truth, without its count. What is not known is null, as is a principal without a login."""

    client_id: str | None
    host: str
    software_name: str | None
    software_version: str | None
    principal: str | None
    api: str
    version: int
    source: str
    forwarded: bool = False


def write_truth(folder: Path) -> None:
    """``truth.json`` in the folder of a run: a list of rows with their counts."""
    counts = Counter(_logged(folder / "kafka-request.log"))
    counts.update(_before_login(folder, counts))
    counts.update(_refused(folder))
    rows = [{**who._asdict(), "count": count} for who, count in sorted(counts.items(), key=repr)]
    (folder / "truth.json").write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


def request_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The JSON of every request in a request log."""
    decoder = json.JSONDecoder()
    with path.open() as lines:
        for line in lines:
            if MARK in line:
                yield decoder.raw_decode(line, line.index(MARK) + len(MARK))[0]


def _logged(path: Path) -> Iterator[Who]:
    for line in request_lines(path):
        header = line["requestHeader"]
        yield Who(
            header["clientId"],
            _remote_host(line["connection"]),
            *_software(line),
            None if line["principal"] == "User:ANONYMOUS" else line["principal"],
            PROTOCOL.api_name(header["requestApiKey"]),
            header["requestApiVersion"],
            "request_log",
            line["isForwarded"],
        )


def _before_login(folder: Path, logged: Counter[Who]) -> Iterator[Who]:
    """What a client with a login says it sent, beyond what the broker logged: software is what it told elsewhere."""
    said = told(folder)
    for member in CAST:
        if member.mechanism and member.client_id in said:
            mine = [who for who in logged.elements() if who.client_id == member.client_id and not who.forwarded]
            missing = said[member.client_id] - Counter((who.api, who.version) for who in mine)
            for api, version in missing.elements():
                if api in BEFORE_LOGIN and mine:
                    yield mine[-1]._replace(api=api, version=version, principal=None, source="told")


def _refused(folder: Path) -> Iterator[Who]:
    """What server.log says that it refused; the name of the client follows from the time."""
    for client_id, api, version in refusals(folder):
        yield Who(client_id, "127.0.0.1", None, None, None, api, version, "server_log")


def _software(line: dict[str, Any]) -> tuple[str | None, str | None]:
    """What the broker knew when the request came, or what it learns from this very request."""
    told, known = line["request"], line["clientInformation"]
    name = told.get("clientSoftwareName") or known["softwareName"]
    version = told.get("clientSoftwareVersion") or known["softwareVersion"]
    return _known(name), _known(version)


def _remote_host(connection: str) -> str:
    """``local:port-remote:port-index``, since 4.0 with the number of a processor before the index."""
    return connection.split("-")[1].rsplit(":", 1)[0]


def _known(text: str) -> str | None:
    return None if text in ("unknown", "") else text
