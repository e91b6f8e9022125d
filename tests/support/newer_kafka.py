"""A package that a user generated from a Kafka newer than the newest known release: a few messages. Heartbeat has a
version more, with the field ``reason``."""

from __future__ import annotations

import json
from pathlib import Path

from kwire.protocol import MessageRegistry
from kwire_kafka import HeartbeatRequest
from tests.support.packages import compiled

DEFINITIONS = Path(__file__).parents[2] / "message_defs" / "kafka"
PACKAGE, RELEASE = "newer_kafka", "99.0.0"
APIS = ("Heartbeat", "ApiVersions", "SaslHandshake", "SaslAuthenticate", "Metadata", "CreateTopics")
NEWER = HeartbeatRequest.VALID_VERSIONS.stop
"""The version of Heartbeat that kwire_kafka does not have."""
REASON = {"name": "Reason", "type": "string", "versions": f"{NEWER}+", "about": "Why the member still beats."}
ERROR = {"code": 27, "name": "BEATS_NO_MORE", "retriable": False, "about": "The name of this code in the package."}


def newer_kafka(folder: Path) -> MessageRegistry:
    """The messages of the package, made in ``folder``, which has to be on the path of imports."""
    definitions = folder / "definitions"
    definitions.mkdir()
    keys = set()
    for path in DEFINITIONS.rglob("*.json"):
        if path.stem.removesuffix("Request").removesuffix("Response") in APIS:
            lines = path.read_text().splitlines()
            message = json.loads("\n".join(line for line in lines if not line.startswith("//")))
            keys.add(str(message["apiKey"]))
            if path.stem.startswith("Heartbeat"):
                message["validVersions"] = f"0-{NEWER}"
                message["fields"] += [REASON] if path.stem == "HeartbeatRequest" else []
            (definitions / path.name).write_text(json.dumps(message))
    *_, facts = json.loads((DEFINITIONS / "releases.json").read_text()).values()
    apis = {key: api for key, api in facts["apis"].items() if key in keys}
    apis["12"] = apis["12"] | {"accepts": f"0-{NEWER}"}
    (definitions / "releases.json").write_text(json.dumps({RELEASE: {"source": "made up", "apis": apis}}))
    (definitions / "errors.json").write_text(json.dumps([ERROR]))
    protocol: MessageRegistry = compiled(definitions, PACKAGE, folder).PROTOCOL
    return protocol
