"""The bytes of frames as they may be shown: without secrets, or not at all."""

from __future__ import annotations

from kwire.connection import RequestEvent, ResponseEvent, Undecodable
from kwire.connection.events import CLIENT, SERVER
from kwire.errors import KwireError
from kwire_kafka import PROTOCOL
from kwire_spark.secrets import SECRETS, may_have_secrets, redacted

APIS = frozenset({name.removesuffix("Request").removesuffix("Response") for name in SECRETS}) | {"Envelope"}
"""Apis whose bodies have to be decoded to know what may be shown."""

_KNOWN = frozenset(PROTOCOL.api_name(key) for key in PROTOCOL.api_keys)
_HARMLESS = {
    direction: frozenset(name for name in _KNOWN if not may_have_secrets(name + ending))
    for direction, ending in ((CLIENT, "Request"), (SERVER, "Response"))
}


def shown(event: RequestEvent | ResponseEvent | Undecodable) -> bytes | None:
    """Header and body of a frame without its secrets; ``None`` where nobody can tell what is one.

    That is so for apis that may have secrets if the frame cannot be decoded, and for frames of no known api or with
    bytes missing, which may be anything: the token of a connection that was joined in the middle, say.
    """
    if event.name in _HARMLESS[event.direction]:
        return event.data if not isinstance(event, Undecodable) or not event.missing else None
    if isinstance(event, Undecodable) or event.message is None:
        return None
    asked = None
    if isinstance(event, ResponseEvent) and isinstance(event.request, RequestEvent):
        if isinstance(event.request.inner, RequestEvent):
            asked = event.request.inner
    clean = redacted(event.message, asked)
    if clean is event.message:
        return event.data
    try:
        return event.data[: event.body_offset] + clean.encode(event.version)
    except KwireError:
        return None
