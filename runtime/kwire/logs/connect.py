"""The topics in which Kafka Connect stores connectors, offsets and states. Keys are text, and values are JSON.

Users choose the names of these topics, so only common names are recognised, such as ``connect-configs``,
``docker-connect-offsets`` and ``connect-cluster-status``, or ``mm2-configs.A.internal`` for MirrorMaker 2. The key
formats come from Kafka's classes ``KafkaConfigBackingStore``, ``KafkaStatusBackingStore`` and
``OffsetStorageWriter``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from kwire.errors import DecodeError
from kwire.logs.json_text import JsonText, Rule, read_json
from kwire.secrets import CONNECT_SECRETS, whole_record

CONFIGS, OFFSETS, STATUS = "configs", "offsets", "status"

PATTERNS: Mapping[str, str] = {
    CONFIGS: r"(?:.*[._-])?connect(?:[._-].*)?[._-]configs?|mm2-configs\..*\.internal",
    OFFSETS: r"(?:.*[._-])?connect(?:[._-].*)?[._-]offsets?|mm2-offsets\..*\.internal",
    STATUS: r"(?:.*[._-])?connect(?:[._-].*)?[._-]status(?:es)?|mm2-status\..*\.internal",
}
"""Patterns that match the common names of each kind of topic."""

KEYS: Mapping[str, Mapping[str, str]] = {
    CONFIGS: {
        "ConnectorConfig": "connector-",
        "TaskConfig": "task-",
        "TasksCommit": "commit-",
        "TargetState": "target-state-",
        "TaskCount": "tasks-fencing-",
        "SessionKey": "session-key",
        "ConnectorRestart": "restart-connector-",
        "LoggerLevel": "logger-cluster-",
    },
    OFFSETS: {"ConnectorOffset": "["},
    STATUS: {
        "ConnectorStatus": "status-connector-",
        "TaskStatus": "status-task-",
        "TopicStatus": "status-topic-",
    },
}
"""The name and key prefix of each record type, by kind of topic."""


@lru_cache(256)
def connect_topic(topic: str) -> str:
    """Return the kind of a topic, which is a key of ``KEYS``, or an empty string if it is not a topic of Kafka
    Connect."""
    return next((kind for kind, pattern in PATTERNS.items() if re.fullmatch(pattern, topic)), "")


def connect_record(kind: str, key: bytes) -> str | None:
    """Return the name of the record type with this key, or ``None`` if the key is unknown in this kind of topic."""
    exact = {"session-key"}
    for name, start in KEYS[kind].items():
        if key.startswith(start.encode()) and (start not in exact or key == start.encode()):
            return name
    return None


def secrets_of(kind: str, name: str | None) -> Rule | None:
    """Return the rule that marks secrets in the value of a record, or ``None`` if the value contains no secrets. Only
    records in configuration topics contain secrets. Records of unknown types in these topics may also contain
    secrets.
    """
    if kind != CONFIGS:
        return None
    return CONNECT_SECRETS.get(name) if name else whole_record


def read_key(kind: str, key: bytes) -> JsonText:
    """Return the key, which is JSON in an offsets topic and plain text in other topics.

    Raise ``DecodeError`` if the key is invalid.
    """
    if kind == OFFSETS:
        return read_text(key, None)
    try:
        key.decode()
    except UnicodeDecodeError as error:
        raise DecodeError("not UTF-8", offset=error.start, data=key) from None
    return JsonText(key, plain=True)


def read_text(data: bytes, secret: Rule | None) -> JsonText:
    """Return ``data`` as JSON text. Raise ``DecodeError`` if ``data`` is not JSON."""
    for _ in read_json(data):
        pass
    return JsonText(data, secret)


__all__ = ["KEYS", "PATTERNS", "connect_record", "connect_topic", "read_key", "read_text", "secrets_of"]
