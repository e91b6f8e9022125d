"""The bytes of frames that may be shown, with secrets removed."""

from __future__ import annotations

from kwire.connection import RequestEvent, ResponseEvent, Undecodable
from kwire.connection.events import CLIENT, SERVER
from kwire.errors import KwireError
from kwire.redaction import redacted
from kwire.secrets import SECRETS
from kwire_kafka import PROTOCOL

APIS = frozenset({name.removesuffix("Request").removesuffix("Response") for name in SECRETS})
"""APIs whose bodies must be decoded to find their secrets."""

_KNOWN = frozenset(PROTOCOL.api_name(key) for key in PROTOCOL.api_keys)
_HARMLESS = {
    direction: frozenset(name for name in _KNOWN if name + ending not in SECRETS)
    for direction, ending in ((CLIENT, "Request"), (SERVER, "Response"))
}


def shown(event: RequestEvent | ResponseEvent | Undecodable) -> bytes | None:
    """Header and body of a frame without its secrets; ``None`` if the secrets cannot be located.

    This is so for frames of APIs with secrets that cannot be decoded, and for frames with an unknown API or missing
    bytes, which may be anything, such as a token on a connection whose beginning was not captured.
    """
    if event.name in _HARMLESS[event.direction]:
        return event.data if not isinstance(event, Undecodable) or not event.missing else None
    if isinstance(event, Undecodable) or event.message is None:
        return None
    asked = None
    if isinstance(event, ResponseEvent) and isinstance(event.request, RequestEvent):
        if isinstance(event.request.inner, RequestEvent):
            asked = event.request.inner
    clean = redacted(PROTOCOL, event.message, asked)
    if clean is event.message:
        return event.data
    try:
        return event.data[: event.body_offset] + clean.encode(event.version)
    except KwireError:
        return None
