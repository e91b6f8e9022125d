"""Removes secrets from decoded messages, before these go into a table, a log or another process.

A message is returned without passwords, salts, keys and tokens: bytes become empty, strings ``[hidden]``, null stays
null. A message without secrets is returned unchanged, as the same object. ``kwire.secrets`` says what is secret.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from kwire.errors import KwireError
from kwire.policy import LIKE_KAFKA
from kwire.schema import walk
from kwire.secrets import STRUCTS, changed, erased

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire.connection import RequestEvent
    from kwire.message import Message
    from kwire.protocol import MessageRegistry, Request
    from kwire.secrets import Rule

    M = TypeVar("M", bound=Message)
    Erase = Callable[[Any], Any]
    Place = tuple[tuple[str, ...], tuple[str, ...], Rule]

_PLACES: dict[type[Message], list[Place]] = {}


def redacted(
    protocol: MessageRegistry, message: M, asked: Request | RequestEvent | None = None, *, erase: Erase = erased
) -> M:
    """A copy of ``message`` without its secrets, or ``message`` itself if it has none.

    What an Envelope contains is decoded with ``protocol``, and removed completely if that fails. ``asked`` is for an
    EnvelopeResponse: the request in the Envelope that it answers, without which its content cannot be decoded.
    ``erase`` replaces a secret; :func:`blanked` keeps its size.
    """
    if within := _WITHIN.get(type(message).__name__):
        name, clean = within
        return changed(message, (name,), lambda data: data and clean(protocol, data, asked, erase))  # type: ignore[no-any-return]
    for owner, path, rule in places(type(message)):
        message = changed(message, owner, partial(_cleared, path, rule, erase))
    return message


def redacted_bytes(
    protocol: MessageRegistry,
    data: bytes,
    start: int,
    message: Message | None,
    version: int | None,
    erase: Erase = erased,
) -> bytes:
    """``data`` without the secrets of the message that it has from ``start`` on; empty if that cannot be decoded."""
    if message is None or version is None:
        return b""
    clean = redacted(protocol, message, erase=erase)
    return data if clean is message else data[:start] + clean.encode(version)


def places(cls: type[Message]) -> list[Place]:
    """The places of secrets in a message: the path of a struct, the path from there to the secret, and the rule."""
    if cls not in _PLACES:
        _PLACES[cls] = [
            (tuple(path.split(".")[:-1]), secret, rule)
            for path, owner, field in walk(cls)
            for secret, rule in STRUCTS.get(owner.__name__, {}).items()
            if secret[0] == field.name
        ]
    return _PLACES[cls]


def blanked(secret: Any) -> Any:
    """Zeros or asterisks, as many as ``secret`` has bytes."""
    if isinstance(secret, str):
        return "*" * len(secret.encode(errors="replace"))
    return bytes(len(secret)) if isinstance(secret, bytes) else secret


def _cleared(path: tuple[str, ...], rule: Rule, erase: Erase, struct: Any) -> Any:
    return changed(struct, path, erase) if rule(struct) else struct


def _request_within(protocol: MessageRegistry, data: bytes, asked: object, erase: Erase) -> bytes:
    try:
        request = protocol.decode_request(data, LIKE_KAFKA)
        return redacted_bytes(protocol, data, request.body_offset, request.message, request.version, erase)
    except KwireError:
        return b""


def _response_within(
    protocol: MessageRegistry, data: bytes, asked: Request | RequestEvent | None, erase: Erase
) -> bytes:
    if asked is None:
        return b""
    try:
        response = protocol.decode_response(data, asked.header.api_key, asked.header.api_version, LIKE_KAFKA)
        return redacted_bytes(protocol, data, response.body_offset, response.message, response.version, erase)
    except KwireError:
        return b""


_WITHIN = {
    "EnvelopeRequest": ("request_data", _request_within),
    "EnvelopeResponse": ("response_data", _response_within),
}

__all__ = ["blanked", "redacted", "redacted_bytes"]
