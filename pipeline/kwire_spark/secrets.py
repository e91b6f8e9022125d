"""Removes secrets from decoded messages: everything that goes into a table passes through here first.

Takes a message of ``kwire_kafka`` and returns it without passwords, salts, keys and tokens: bytes become empty,
strings become ``[hidden]``, null stays null. A message without secrets is returned unchanged, as the same object.

Names of users, mechanisms, numbers of iterations and ids of tokens are not secrets; nor is what applications put into
records, offset metadata and subscriptions, which cannot be used to log in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from operator import is_
from typing import TYPE_CHECKING, Any, TypeVar

from kwire.errors import KwireError
from kwire.policy import LIKE_KAFKA
from kwire_kafka import PROTOCOL

if TYPE_CHECKING:
    from kwire.connection import RequestEvent
    from kwire.message import Message
    from kwire.protocol import Request

    M = TypeVar("M", bound=Message)

HIDDEN = "[hidden]"
"""The replacement for a secret string."""

METADATA_TOPIC = "__cluster_metadata"
METADATA_TOPIC_ID = (1).to_bytes(16, "big")
"""The id of this topic in every cluster. Its records contain salted passwords and configurations [KIP-631]."""

_SENSITIVE = re.compile(
    r"passw(?:or)?d(?!\.encoder)|passphrase|secret|credential|jaas|private|\bkeys?$|(?:api|access)[._-]?key|token$"
    r"|certificate\.chain$|truststore\.certificates$",
    re.IGNORECASE,
)

Change = Callable[[Any, Any], Any]
"""Takes a struct and the value of one of its fields, and returns the value without secrets."""


def redacted(message: M, asked: Request | RequestEvent | None = None) -> M:
    """A copy of ``message`` without its secrets, or ``message`` itself if it has none.

    ``asked`` is for an EnvelopeResponse: the request in the Envelope that it answers. Without it the content of the
    Envelope is unknown, and is removed completely.
    """
    for path, change in _PATHS.get(type(message).__name__, ()):
        message = _changed(message, path, change)
    inner = getattr(message, "response_data", None)
    if inner and type(message).__name__ == "EnvelopeResponse":
        return message.replace(response_data=_response_within(inner, asked))
    return message


def redacted_bytes(data: bytes, start: int, message: Message | None, version: int | None) -> bytes:
    """``data`` without the secrets of the message that it has from ``start`` on; empty if that cannot be decoded."""
    if message is None or version is None:
        return b""
    clean = redacted(message)
    return data if clean is message else data[:start] + clean.encode(version)


def may_have_secrets(name: str) -> bool:
    """Whether a message of this name, such as ``SaslAuthenticateRequest``, may contain secrets: then its bytes must
    not be shown if they cannot be decoded."""
    return name in SECRETS or name == "EnvelopeResponse"


@lru_cache(4096)
def is_sensitive(config: str) -> bool:
    """Whether the value of a configuration with this name is a secret, judging by the name.

    It is for configurations that Kafka defines as passwords, with any listener prefix, and for names that plugins and
    connectors are likely to use.
    """
    return _SENSITIVE.search(config) is not None


def _changed(struct: Any, path: Sequence[str], change: Change) -> Any:
    """A copy of ``struct`` with the field at ``path`` changed, in each element of any list along the path."""
    name, rest = path[0], path[1:]
    value = getattr(struct, name)
    if not rest:
        new = change(struct, value)
    elif isinstance(value, list):
        new = [_changed(element, rest, change) for element in value]
        if all(map(is_, new, value)):
            return struct
    elif value is None:
        return struct
    else:
        new = _changed(value, rest, change)
    return struct if new is value else struct.replace(**{name: new})


def _erased(struct: Any, value: bytes | None) -> bytes | None:
    return b"" if value else value


def _config(struct: Any, value: str | None) -> str | None:
    """The value of a configuration. Its struct has the name and, in descriptions by a broker, a flag."""
    if not value:
        return value
    return HIDDEN if getattr(struct, "is_sensitive", False) or is_sensitive(struct.name) else value


def _synonyms(config: Any, synonyms: list[Any]) -> list[Any]:
    if not config.is_sensitive:
        return synonyms
    return [synonym.replace(value=HIDDEN) if synonym.value else synonym for synonym in synonyms]


def _fetched(topic: Any, partitions: list[Any]) -> list[Any]:
    if topic.topic != METADATA_TOPIC and topic.topic_id != METADATA_TOPIC_ID:
        return partitions
    return [part.replace(records=b"") if part.records else part for part in partitions]


def _request_within(envelope: Any, data: bytes) -> bytes:
    """The request in an Envelope without its secrets; empty if it cannot be decoded."""
    try:
        request = PROTOCOL.decode_request(data, LIKE_KAFKA)
        return redacted_bytes(data, request.body_offset, request.message, request.version)
    except KwireError:
        return b""


def _response_within(data: bytes, asked: Request | RequestEvent | None) -> bytes:
    if asked is None:
        return b""
    try:
        response = PROTOCOL.decode_response(data, asked.header.api_key, asked.header.api_version, LIKE_KAFKA)
        return redacted_bytes(data, response.body_offset, response.message, response.version)
    except KwireError:
        return b""


SECRETS: Mapping[str, Mapping[str, Change]] = {
    "SaslAuthenticateRequest": {"auth_bytes": _erased},
    "SaslAuthenticateResponse": {"auth_bytes": _erased},
    "AlterUserScramCredentialsRequest": {"upsertions.salt": _erased, "upsertions.salted_password": _erased},
    "UserScramCredentialRecord": {"salt": _erased, "stored_key": _erased, "server_key": _erased},
    "CreateDelegationTokenResponse": {"hmac": _erased},
    "RenewDelegationTokenRequest": {"hmac": _erased},
    "ExpireDelegationTokenRequest": {"hmac": _erased},
    "DescribeDelegationTokenResponse": {"tokens.hmac": _erased},
    "AlterConfigsRequest": {"resources.configs.value": _config},
    "IncrementalAlterConfigsRequest": {"resources.configs.value": _config},
    "DescribeConfigsResponse": {
        "results.configs.synonyms": _synonyms,
        "results.configs.synonyms.value": _config,
        "results.configs.value": _config,
    },
    "CreateTopicsRequest": {"topics.configs.value": _config},
    "CreateTopicsResponse": {"topics.configs.value": _config},
    "ConfigRecord": {"value": _config},
    "FetchResponse": {"responses.partitions": _fetched},
    "FetchSnapshotResponse": {"topics.partitions.unaligned_records": _erased},
    "EnvelopeRequest": {"request_data": _request_within},
}
"""By message: the paths of fields that are or may be secrets, and how each is replaced. EnvelopeResponse is missing
because its content depends on the request."""

_PATHS = {name: [(path.split("."), change) for path, change in changes.items()] for name, changes in SECRETS.items()}
