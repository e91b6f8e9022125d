"""Removes secrets from the bytes of frames before they are shown."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from kwire.connection import RequestEvent, ResponseEvent, Undecodable
from kwire.connection.events import CLIENT, SERVER
from kwire.errors import KwireError
from kwire.redaction import redacted_bytes
from kwire.secrets import SECRETS

if TYPE_CHECKING:
    from kwire.protocol import MessageRegistry

APIS = frozenset({name.removesuffix("Request").removesuffix("Response") for name in SECRETS})
"""APIs whose bodies must be decoded to locate their secrets."""


@cache
def _harmless(protocol: MessageRegistry) -> dict[str, frozenset[str]]:
    """Return the names of the APIs without secrets, for each direction."""
    return {
        direction: frozenset(name for name in protocol.api_names.values() if name + ending not in SECRETS)
        for direction, ending in ((CLIENT, "Request"), (SERVER, "Response"))
    }


def shown(protocol: MessageRegistry, event: RequestEvent | ResponseEvent | Undecodable) -> bytes | None:
    """Return the header and body of a frame without secrets, or ``None`` if its secrets cannot be removed.

    Secrets cannot be located in undecodable frames of APIs with secrets. Frames with an unknown API or with missing
    bytes may also contain secrets, such as a token on a connection whose beginning was not captured.
    """
    if event.name in _harmless(protocol)[event.direction]:
        return event.data if not isinstance(event, Undecodable) or not event.missing else None
    if isinstance(event, Undecodable) or event.message is None:
        return None
    asked = None
    if isinstance(event, ResponseEvent) and isinstance(event.request, RequestEvent):
        if isinstance(event.request.inner, RequestEvent):
            asked = event.request.inner
    inner = event.inner if isinstance(event.inner, RequestEvent | ResponseEvent) else None
    try:
        return redacted_bytes(protocol, event.data, event.body_offset, event.message, event.version, asked, inner)
    except KwireError:
        return None
