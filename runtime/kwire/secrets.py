"""The secrets in Kafka's messages, in one table for all code that prints, logs, stores or forwards messages.

Secrets are passwords, salts, keys, tokens, and configuration values unless their names are known to be harmless. User
names, mechanisms, iteration counts and token ids are not secrets. Application data in records, offset metadata and
subscriptions is not secret either, because it cannot be used to log in. ``kwire.redaction`` removes secrets.
``repr``, errors and ``kwire.trace`` hide secrets. Codecs import this module, so it has very few imports.
"""

from __future__ import annotations

from operator import is_

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Rule = Callable[[Any], bool]
    """A function that returns whether a field is a secret, given the struct to which the rule applies. The struct's
    fields may be ``None`` if they come later on the wire or could not be read.
    """

METADATA_TOPIC = "__cluster_metadata"
METADATA_TOPIC_ID = (1).to_bytes(16, "big")
"""The metadata topic's id in every cluster. The records of this topic contain salted passwords and configurations
[KIP-631]."""

METADATA_STARTS = (b"\1\x04\0", b"\1\x0b\0")
"""The first bytes of metadata records with secrets: ConfigRecord and UserScramCredentialRecord [KAFKA-WIRE 41]."""

TAGS = "unknown_tags"
"""The attribute for unknown tagged fields. In structs with secrets, these fields may also be secrets."""

FETCHED = "FetchResponse"
"""Name of the message that contains secrets only in records of the metadata topic."""

HIDDEN = "[hidden]"
"""The replacement for a secret string."""

_SENSITIVE = (
    r"(?i)passw(?:or)?d(?!\.encoder)|passphrase|secret|credential|jaas|private|\bkeys?$|(?:api|access)[._-]?key|token$"
    r"|certificate\.chain$|truststore\.certificates$"
)
_HARMLESS = (
    r"(?i)(?:^|[._-])(?:ms|bytes|sec(?:ond)?s?|minutes|hours|days|size|length|count|num|max|min|ratio|percent(?:age)?|factor"
    r"|threshold|limit|rate|jitter|interval|timeout|relogin|retries|attempts|iterations|slots|snapshots|threads|acks"
    r"|partitions?|replicas|isr|fetchers|messages|records|requests|connections|sessions|locks|samples|epoch|versions?"
    r"|enabled?|disabled?|allocate|preallocate|delete|policy|types?|level|codec|format|reset|ids?|rack|roles?|names?"
    r"|listeners?|servers|voters|ip|overrides|map|dirs?|path|prefix|class(?:es)?|suites|(?:de)?serializer|reporters?"
    r"|assignors?|providers?|protocols?|mechanisms?|algorithm|implementation|rules|changes|hostname|audience|issuer|cmd|acl"
    r"|acl\.found|metrics|match|topics?(?:\.regex)?|transforms|converter|super\.users|client\.auth|zookeeper\.connect|(?:key|trust)store\.location"
    r"|(?:token|jwks)\.endpoint\.url)$"
)

_LONGEST_NAME = 255


def is_sensitive(config: str) -> bool:
    """Return whether a configuration's value must be hidden, judging by its name, which may have a listener prefix.

    A value is shown if its name ends with a word that Kafka uses for settings without secrets (``retention.ms``,
    ``cleanup.policy``) and contains no word that suggests a secret. All other values are hidden, because plugins can
    choose any names. Values with very long names are also hidden.
    """
    return len(config) > _LONGEST_NAME or _is_sensitive(config)


def _is_sensitive(config: str) -> bool:
    known = _KNOWN.get(config)
    if known is None:
        import re

        known = re.search(_SENSITIVE, config) is not None or re.search(_HARMLESS, config) is None
        if len(_KNOWN) == MAX_KNOWN:
            _KNOWN.clear()
        _KNOWN[config] = known
    return known


_KNOWN: dict[str, bool] = {}
"""A cache of config names. A plain dictionary is used, because importing ``functools`` would take longer than
importing a codec."""

MAX_KNOWN = 1024


def always(struct: Any) -> bool:
    return True


def _by_name(config: Any) -> bool:
    name = getattr(config, "name", None)
    return not isinstance(name, str) or is_sensitive(name)


def _by_flag(config: Any) -> bool:
    """Return true if the broker marked the value as sensitive or did not report its sensitivity."""
    return getattr(config, "is_sensitive", None) is not False


def _by_both(config: Any) -> bool:
    return _by_flag(config) or _by_name(config)


def _of_metadata(topic: Any) -> bool:
    name, id = getattr(topic, "topic", None), getattr(topic, "topic_id", None)
    return name == METADATA_TOPIC or id == METADATA_TOPIC_ID or (name is None and id is None)


SECRETS: Mapping[str, Mapping[str, Rule]] = {
    "SaslAuthenticateRequest": {"auth_bytes": always},
    "SaslAuthenticateResponse": {"auth_bytes": always},
    "AlterUserScramCredentialsRequest": {
        "ScramCredentialUpsertion.salt": always,
        "ScramCredentialUpsertion.salted_password": always,
    },
    "UserScramCredentialRecord": {"salt": always, "stored_key": always, "server_key": always},
    "CreateDelegationTokenResponse": {"hmac": always},
    "RenewDelegationTokenRequest": {"hmac": always},
    "ExpireDelegationTokenRequest": {"hmac": always},
    "DescribeDelegationTokenResponse": {"DescribedDelegationToken.hmac": always},
    "AlterConfigsRequest": {"AlterableConfig.value": _by_name},
    "IncrementalAlterConfigsRequest": {"AlterableConfig.value": _by_name},
    "DescribeConfigsResponse": {
        "DescribeConfigsResourceResult.value": _by_both,
        "DescribeConfigsResourceResult.synonyms.value": _by_flag,
        "DescribeConfigsSynonym.value": _by_name,
    },
    "CreateTopicsRequest": {"CreatableTopicConfig.value": _by_name},
    "CreateTopicsResponse": {"CreatableTopicConfigs.value": _by_both},
    "ConfigRecord": {"value": _by_name},
    "FetchResponse": {"FetchableTopicResponse.partitions.records": _of_metadata},
    "FetchSnapshotResponse": {"FetchSnapshotResponsePartitionSnapshot.unaligned_records": always},
    "EnvelopeRequest": {"request_data": always},
    "EnvelopeResponse": {"response_data": always},
    "RequestHeader": {},
    "ResponseHeader": {},
}
"""Fields that are or may be secrets, by message. A path starts at the struct to which the rule applies, which is the
message itself unless the path begins with the class name of another struct. ``kwire.redaction`` redacts the contents
of an Envelope, and all other code hides them. Headers are listed because the bytes after an unreadable header may
contain secrets. Unknown tagged fields are secrets in all structs of these messages, except in Fetch responses about
other topics.
"""


def _of_connector(depth: int, name: str) -> bool:
    """Return whether a value is a secret connector setting. Settings are members of the top-level ``properties``."""
    return (depth, name) != (1, "properties") and is_sensitive(name)


def _of_session(depth: int, name: str) -> bool:
    return name not in ("algorithm", "creation-timestamp")


def whole_record(depth: int, name: str) -> bool:
    """Return true, so that all values of unknown records in the connector topic are hidden."""
    return True


CONNECT_SECRETS: Mapping[str, Callable[[int, str], bool]] = {
    "ConnectorConfig": _of_connector,
    "TaskConfig": _of_connector,
    "SessionKey": _of_session,
}
"""Functions that return whether a JSON value is a secret, given its depth and name, by type of Kafka Connect
record."""

CONNECT_STARTS = (b"connector-", b"task-", b"session-key")
"""Key prefixes of Kafka Connect records with secrets [KIP-507]."""

STRUCTS: dict[str, dict[tuple[str, ...], Rule]] = {}
"""The paths and rules of ``SECRETS``, by the class name of the struct to which they apply."""

for _message, _rules in SECRETS.items():
    for _path, _rule in _rules.items():
        _owner, _, _within = _path.partition(".") if _path[0].isupper() else (_message, "", _path)
        STRUCTS.setdefault(_owner, {})[tuple(_within.split("."))] = _rule


def changed(value: Any, path: tuple[str, ...], change: Callable[[Any], Any]) -> Any:
    """Return a copy of ``value`` with ``change`` applied at ``path``, in each element of lists along the path.

    If there is no change, return the same object.
    """
    if isinstance(value, list):
        new = [changed(element, path, change) for element in value]
        return value if all(map(is_, new, value)) else new
    if value is None or not path:
        return change(value)
    old = getattr(value, path[0])
    inner = changed(old, path[1:], change)
    return value if inner is old else value.replace(**{path[0]: inner})


def erased(value: Any) -> Any:
    """Return the replacement for a secret. Bytes and tagged fields become empty, and strings become ``HIDDEN``."""
    return value if not value else HIDDEN if isinstance(value, str) else type(value)()


def may_contain(message: str, seen: bytes | bytearray) -> bool:
    """Return whether a message with this name may contain secrets in its first bytes, ``seen``.

    In a Fetch response, metadata records follow the name or id of the metadata topic.
    """
    if message == FETCHED:
        return METADATA_TOPIC.encode() in seen or METADATA_TOPIC_ID in seen
    return message in SECRETS


def is_secret_record(key: bytes | None, value: bytes | None) -> bool:
    """Return whether a record looks like a cluster metadata or Kafka Connect configuration record with secrets.

    The name of its topic does not matter.
    """
    if value is None:
        return False
    if key is not None and key.startswith(CONNECT_STARTS):
        return b'"properties"' in value or key == CONNECT_STARTS[-1]
    return value.startswith(METADATA_STARTS)


def shown(struct: Any) -> dict[str, str]:
    """Return the text that ``repr`` shows for each field of ``struct`` that is or contains a secret."""
    found = {}
    for path, rule in STRUCTS[type(struct).__name__].items():
        value = getattr(struct, path[0], None)
        clean = changed(value, path[1:], erased)
        if clean is not value and rule(struct):
            found[path[0]] = repr(clean) if path[1:] else concealed(value)
    return found


def concealed(value: object) -> str:
    """Return the text that replaces a secret, such as ``<24 bytes, hidden>``."""
    return f"<{len(value)} byte{'s' * (len(value) != 1)}, hidden>" if isinstance(value, bytes) else HIDDEN


def hides_tags(cls: type[Any]) -> bool:
    """Return whether unknown tagged fields of a struct are hidden because a message in its module contains
    secrets."""
    import sys

    return any(rules and hasattr(sys.modules[cls.__module__], name) for name, rules in SECRETS.items())


__all__ = [
    "CONNECT_SECRETS",
    "CONNECT_STARTS",
    "HIDDEN",
    "METADATA_STARTS",
    "METADATA_TOPIC",
    "METADATA_TOPIC_ID",
    "SECRETS",
    "is_secret_record",
    "is_sensitive",
]
