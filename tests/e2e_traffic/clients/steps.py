"""What all clients are told, and how they say what became of it.

Each client is a program of its own, in an environment of its own: it takes a ``Task`` as JSON, goes through its
steps, and prints a line of JSON for each. What its library logs goes to standard error, for `tests.e2e_traffic.told`.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

SECONDS = 15
"""How long a step may take: what a broker refuses is tried again and again until then."""

PATIENCE = 18
"""How long a step is waited for that has no limit of its own: old clients never give up."""

VALUES = tuple(f"value {number}".encode() for number in range(20))
"""What every client writes."""

Steps = Mapping[str, Callable[[], object]]


@dataclass(frozen=True)
class Task:
    """Where a client connects, as whom, and what it calls itself. ``topic`` exists and is its own."""

    bootstrap: str
    client_id: str
    topic: str
    mechanism: str | None = None
    user: str | None = None
    password: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    only: list[str] = field(default_factory=list)
    """Names of steps, if not all of them can be gone through."""

    @property
    def group(self) -> str:
        return f"{self.client_id}-group"

    @property
    def made(self) -> str:
        """A topic that the client creates itself."""
        return f"{self.client_id}-made"

    def as_json(self) -> str:
        return json.dumps(asdict(self))


def main(steps: Callable[[Task], Steps]) -> None:
    """Go through all steps, whatever becomes of each, until one does not end."""
    logging.basicConfig(level=logging.DEBUG, stream=sys.stderr, format="%(message)s")
    task = Task(**json.loads(sys.argv[1]))
    for name, step in steps(task).items():
        if task.only and name not in task.only:
            continue
        problems: list[str] = []
        going = threading.Thread(target=_try, args=(step, problems), daemon=True)
        going.start()
        going.join(PATIENCE)
        if going.is_alive():
            problems.append(f"TimeoutError: no end after {PATIENCE} s")
        print(json.dumps({"step": name, "error": problems[0] if problems else None}), flush=True)
        if going.is_alive():
            os._exit(1)  # it would go on for ever


def _try(step: Callable[[], object], problems: list[str]) -> None:
    try:
        step()
    except Exception as problem:
        problems.append(f"{type(problem).__name__}: {problem}")


def check(found: int) -> None:
    """Whether everything that was written has been read."""
    if found < len(VALUES):
        raise TimeoutError(f"{found} of {len(VALUES)} records were read")
