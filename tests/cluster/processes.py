"""Which processes have started which: from /proc, so on Linux alone."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def children(parent: int) -> list[int]:
    """The process ids of those that ``parent`` has started and that still run."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # gone meanwhile
            state, ppid = stat.read_text().rpartition(")")[2].split()[:2]  # the name may have blanks
            if int(ppid) == parent and state != "Z":
                found.append(int(stat.parent.name))
    return found


def descendants(parent: int) -> list[int]:
    """Its children, and theirs, and so on."""
    mine = children(parent)
    return mine + [one for child in mine for one in descendants(child)]
