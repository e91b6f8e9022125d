"""``python -m tools.kips`` reads the numbers of Kafka improvement proposals (KIPs) from comments in definitions.

From a comment such as ``// Version 9 adds CurrentLeaderEpoch, as described in KIP-320.`` the command keeps
only the fact that version 9 of the message belongs to KIP-320. The command reads the newest 3.x release, which still
has the comments about versions that 4.0 removed, and the newest release. The result is
``message_defs/kafka/kips.json``, which the guide shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from kwire_guide.kips import KIPS
from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.reading import read_sources
from kwirec.driver import load
from kwirec.json_text import json_text
from kwirec.merge.history import read_history
from tools.maven import bring

DEFINITIONS = Path(__file__).parents[1] / "message_defs" / "kafka"
_NAME = re.compile(r'"name"\s*:\s*"(\w+)"')
_BEGIN = re.compile(r"(?:Starting (?:in|with|from) )?[Vv]er(?:sion|ison)s? (\d+)(?:(-| to | and | through )(\d+))?\b")
_KIP = re.compile(r"KIP-(\d+)")


def main() -> None:
    names = read_history(DEFINITIONS).names
    releases = [[name for name in names if name.startswith("3.")][-1], names[-1]]
    known = {
        name: message
        for message in load([DEFINITIONS], Report()).schema.messages
        for name in (message.name, *message.aliases)
    }
    found: dict[str, dict[int, set[int]]] = {}
    for jars in bring(releases):
        for source in read_sources(list(jars.modules.values()), Report(), required=False):
            named = _NAME.search(source.text)
            message = known.get(named[1]) if named else None
            for version, kip in kips(source.text) if message else ():
                if message and version in message.valid:
                    found.setdefault(message.name, {}).setdefault(version, set()).add(kip)
    data = {name: {str(v): sorted(found[name][v]) for v in sorted(found[name])} for name in sorted(found)}
    (DEFINITIONS / KIPS).write_text(json_text(data, levels=2, indent=2) + "\n", "utf-8")
    print(f"{sum(map(len, data.values()))} versions of {len(data)} messages")


def kips(text: str) -> Iterator[tuple[int, int]]:
    """Yield each version with its KIP from comments. Lines without a version belong to the version above."""
    versions: range = range(0)
    for line in text.splitlines():
        comment = line.strip().removeprefix("//").strip() if line.strip().startswith("//") else ""
        if begin := _BEGIN.match(comment):
            first, last = int(begin[1]), int(begin[3] or begin[1])
            versions = range(first, last + 1)
        elif not comment:
            versions = versions if line.strip().startswith("//") else range(0)
        for kip in _KIP.findall(comment):
            yield from ((version, int(kip)) for version in versions)


if __name__ == "__main__":
    main()
