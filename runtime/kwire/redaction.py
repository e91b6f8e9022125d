"""Removes secrets from decoded messages before they enter a table, a log or another process.

Passwords, salts, keys and tokens are removed. Bytes become empty, strings become ``[hidden]``, and null is unchanged.
If a message contains no secrets, the same object is returned. ``kwire.secrets`` defines what is secret.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from kwire.errors import KwireError
from kwire.frames import MAX_DECODED
from kwire.policy import LIKE_KAFKA
from kwire.schema import walk
from kwire.secrets import FETCHED, SECRETS, STRUCTS, TAGS, always, changed, erased

if TYPE_CHECKING:
    from kwire.connection import RequestEvent, ResponseEvent
    from kwire.message import Message
    from kwire.protocol import MessageRegistry, Request, Response
    from kwire.secrets import Rule

    M = TypeVar("M", bound=Message)
    Path = tuple[str, ...]
    Inner = Request | Response | RequestEvent | ResponseEvent
    Place = tuple[Path, list[tuple[Rule, set[Path]]]]

__all__ = ["redacted"]

_WITHIN = {"EnvelopeRequest": "request_data", "EnvelopeResponse": "response_data"}
"""The fields of an Envelope that contain another message."""

_PLACES: dict[type[Message], list[Place]] = {}


def redacted(
    protocol: MessageRegistry,
    message: M,
    request: Request | RequestEvent | None = None,
    inner: Inner | None = None,
) -> M:
    """Return a copy of ``message`` without its secrets, or ``message`` itself if it contains no secrets.

    The contents of an Envelope are decoded with ``protocol``, or removed if that fails. To decode the contents of an
    EnvelopeResponse, ``request`` must be the request in the corresponding Envelope. If the contents are already
    decoded, they can be passed as ``inner``. Decoding them again would keep large messages in memory twice.
    """
    if name := _WITHIN.get(type(message).__name__):
        message = changed(message, (name,), lambda data: data and _within(protocol, name, data, request, inner))
        return changed(message, (TAGS,), erased)  # type: ignore[no-any-return]
    for owner, rules in places(type(message)):
        message = changed(message, owner, partial(_cleared, rules))
    return message


def redacted_bytes(
    protocol: MessageRegistry,
    data: bytes,
    start: int,
    message: Message | None,
    version: int | None,
    request: Request | RequestEvent | None = None,
    inner: Inner | None = None,
) -> bytes:
    """Return ``data`` without the secrets of the message that starts at ``start``, or ``b""`` if ``message`` is
    ``None``.

    If a message may contain secrets, the bytes after it may also be secret and are removed, except after a Fetch
    response without secrets. ``request`` and ``inner`` have the same meaning as for ``redacted``.
    """
    if message is None or version is None:
        return b""
    clean, cls = redacted(protocol, message, request, inner), type(message)
    if clean is not message:
        return data[:start] + clean.encode(version)
    if cls.__name__ not in SECRETS or cls.__name__ == FETCHED:
        return data
    return data[: cls.decode_from(data, version, LIKE_KAFKA, start=start)[1]]


def places(cls: type[Message]) -> list[Place]:
    """Return the places of secrets in a message. A place consists of the path of a struct and its rules. Each rule is
    paired with the paths from the struct to the secrets.
    """
    if cls not in _PLACES:
        found: dict[Path, dict[Rule, set[Path]]] = {}
        anywhere = SECRETS.get(cls.__name__) and cls.__name__ != FETCHED
        for path, owner, field in walk(cls):
            outer = tuple(path.split(".")[:-1])
            for secret, rule in STRUCTS.get(owner.__name__, {}).items():
                if secret[0] == field.name:
                    paths = found.setdefault(outer, {}).setdefault(rule, set())
                    paths.update((secret, (*secret[:-1], TAGS), (TAGS,)))
            if anywhere:
                found.setdefault(outer, {}).setdefault(always, set()).add((TAGS,))
        _PLACES[cls] = [(outer, [*rules.items()]) for outer, rules in found.items()]
    return _PLACES[cls]


def _cleared(rules: list[tuple[Rule, set[Path]]], struct: Any) -> Any:
    if struct is None:
        return None
    for rule, paths in rules:
        held = [path for path in paths if getattr(struct, path[0])]
        if held and rule(struct):
            for path in held:
                struct = changed(struct, path, erased)
    return struct


def _within(
    protocol: MessageRegistry,
    name: str,
    data: bytes,
    request: Request | RequestEvent | None,
    inner: Inner | None,
) -> bytes:
    """Return the ``data`` of an Envelope's field ``name`` without secrets, or ``b""`` if it cannot be decoded."""
    try:
        if inner is None or inner.message is None:
            if name == "request_data":
                inner = protocol.decode_request(data, LIKE_KAFKA, max_decoded=MAX_DECODED)
            elif request is not None:
                of = request.header.api_key, request.header.api_version
                inner = protocol.decode_response(data, *of, LIKE_KAFKA, max_decoded=MAX_DECODED)
            else:
                return b""
        return redacted_bytes(protocol, data, inner.body_offset, inner.message, inner.version)
    except KwireError:
        return b""


__all__ = ["redacted", "redacted_bytes"]
