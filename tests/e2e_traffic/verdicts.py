"""The broker is the judge: ``verdicts.json``, who could go on and who could not.

A client is refused when the broker closed its connection for a version that it does not know: what its steps came to
is beside it. Whoever failed without that did so for another reason, as a machine that is too busy: nobody should.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kwire_kafka import PROTOCOL

REFUSAL = re.compile(
    r"Exception while processing request from (?P<connection>\S+) .*\n"
    r".*Received request for api with key (?P<key>\d+) \(\w+\) and unsupported version (?P<version>\d+)"
)


def write_verdicts(folder: Path) -> None:
    """``verdicts.json`` in the folder of a run, by client: verdict, requests refused, steps that failed."""
    refused: defaultdict[str, Counter[tuple[str, int]]] = defaultdict(Counter)
    for client_id, api, version in refusals(folder):
        refused[client_id][api, version] += 1
    failed = failures(folder)
    verdicts = {}
    for client_id in dict.fromkeys(step["client_id"] for step in _steps(folder)):
        verdicts[client_id] = {
            "verdict": "refused" if client_id in refused else "failed" if client_id in failed else "fine",
            "requests": [[api, version, count] for (api, version), count in sorted(refused[client_id].items())],
            "failed": failed.get(client_id, {}),
        }
    (folder / "verdicts.json").write_text(json.dumps(verdicts, indent=1) + "\n")


def refusals(folder: Path) -> Iterator[tuple[str, str, int]]:
    """Client, API and version of every request that the broker says it refused.

    Clients came one after the other: whose it was, the place in the log tells."""
    log = (folder / "server.log").read_text(errors="replace").splitlines(keepends=True)
    for step in _steps(folder):
        for found in REFUSAL.finditer("".join(log[step["log_from"] : step["log_to"]])):
            yield step["client_id"], PROTOCOL.api_name(int(found["key"])), int(found["version"])


def failures(folder: Path) -> Mapping[str, dict[str, str]]:
    """By client, the steps that failed."""
    failed: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for step in _steps(folder):
        if step["error"] is not None:
            failed[step["client_id"]][step["step"]] = step["error"]
    return failed


def _steps(folder: Path) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = json.loads((folder / "steps.json").read_text())
    return steps
