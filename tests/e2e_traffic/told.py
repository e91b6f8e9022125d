"""What client libraries log of their requests, each in its own words: nothing here decodes bytes."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

from kwire_kafka import PROTOCOL

Spoken = Counter[tuple[str, int]]
"""How many requests by API and version."""

LINES = {
    "kafka-python-1": re.compile(r"Request \d+: (\w+)Request_v(\d+)\("),
    "kafka-python-2": re.compile(r"Request \d+: (\w+)Request_v(\d+)\("),
    "kafka-python-as": re.compile(r"Request \d+: (\w+)Request_v(\d+)\("),
    "standby": re.compile(r"Request \d+: (\w+)Request_v(\d+)\("),
    "kafka-python-3": re.compile(r"Request \d+: (\w+)Request\(version=(\d+)"),
    "aiokafka-0.8": re.compile(r" Request \d+: (\w+)Request_v(\d+)\("),
    "aiokafka-0.14": re.compile(r"^Request to \S+ \d+: (\w+)Request_v(\d+)\("),
    "librdkafka": re.compile(r": Sent (\w+)Request \(v(\d+), "),
    **dict.fromkeys(
        ("java-4", "java-consumer", "java-share"),
        re.compile(r"Sending (\w+) request with header RequestHeader\(apiKey=\w+, apiVersion=(\d+),"),
    ),
    "franz-go": re.compile(r"\bwrote (\w+) v(\d+); .* err: <nil>"),
    "kafkajs": re.compile(r"^Request (\w+)\(key: \d+, version: (\d+)\)$"),
}
"""By the beginning of the client's name. Older Java clients, and those of 3.9 as they come, do not say versions;
sarama and kafka-go say nothing of what they send."""

FORMER = {
    "apiversion": "ApiVersions",
    "groupcoordinator": "FindCoordinator",
    "offset": "ListOffsets",
    "consumergroupdescribe": "ConsumerGroupDescribe",
}
"""Other names, in lower case."""

API_NAMES = {PROTOCOL.api_name(key).lower(): PROTOCOL.api_name(key) for key in PROTOCOL.api_keys}

BEFORE_LOGIN = ("ApiVersions", "SaslHandshake", "SaslAuthenticate")
"""What the broker answers before it lets a client in, without an entry in its request log."""


def told(folder: Path) -> dict[str, Spoken]:
    """By client, for all that say what they send, those in `tests.e2e_traffic.raw` among them."""
    found: dict[str, Spoken] = {}
    for path in sorted((folder / "told").glob("*.txt")):
        pattern = next((lines for start, lines in LINES.items() if path.stem.startswith(start)), None)
        if pattern is not None:
            found[path.stem] = _spoken(path, pattern)
    for one in json.loads((folder / "asked.json").read_text()):
        found.setdefault(one["client_id"], Counter())[one["api"], one["version"]] += 1
    return found


def _spoken(path: Path, pattern: re.Pattern[str]) -> Spoken:
    spoken: Spoken = Counter()
    with path.open(errors="replace") as lines:
        for line in lines:
            if match := pattern.search(line):
                spoken[_api(match[1]), int(match[2])] += 1
    return spoken


def _api(name: str) -> str:
    plain = name.replace("_", "").lower()
    return FORMER.get(plain) or API_NAMES[plain]
