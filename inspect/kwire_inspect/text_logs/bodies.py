"""Converts logged requests and responses to frame payloads, without secrets."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kwire.errors import KwireError
from kwire.redaction import redacted, redacted_bytes
from kwire.request_log import RequestLogLine
from kwire.secrets import SECRETS
from kwire_inspect.connections.request_context import Columns

if TYPE_CHECKING:
    from kwire.protocol import MessageRegistry, Request, Response

TEXT = "brokers before 2.8 log requests and responses as text, without their bytes"


def payloads(protocol: MessageRegistry, line: RequestLogLine) -> Columns:
    """Return columns with the payloads of the request and response, and with the reason if a payload cannot be
    encoded.

    A payload that is missing or cannot be encoded is ``None``. Records that the broker did not log are left out.
    """
    if line.request_text is not None:
        return {"reason": TEXT}
    key = line.header.api_key
    api = protocol.api_names.get(key, "")
    request, wrong = _tried(lambda: _request(protocol, line), f"{api}Request")
    response, other = _tried(lambda: _response(protocol, line), f"{api}Response")
    unknown = protocol.unknown(key, line.header.api_version)
    return {"request": request, "response": response, "reason": unknown or wrong or other}


def opened(protocol: MessageRegistry, line: RequestLogLine) -> tuple[Request, Response | None] | None:
    """Return the request inside an Envelope, and its response if the broker logged one. Return ``None`` for other
    lines and for requests that cannot be decoded.
    """
    try:
        return line.enveloped(protocol)
    except KwireError:
        return None


def inner_payloads(protocol: MessageRegistry, request: Request, response: Response | None) -> Columns:
    """Return columns with the payloads of the request inside an Envelope and its response. Payloads that cannot be
    encoded are ``None``."""
    return {
        "request": _clean(protocol, request),
        "response": None if response is None else _clean(protocol, response),
    }


def _clean(protocol: MessageRegistry, half: Request | Response) -> bytes | None:
    return redacted_bytes(protocol, half.payload, half.body_offset, half.message, half.version) or None


def _request(protocol: MessageRegistry, line: RequestLogLine) -> bytes | None:
    message = line.request_message(protocol, empty_records=True)
    if message is None:
        return None
    header = line.header
    return protocol.encode_request(
        redacted(protocol, message),
        line.body_version,
        correlation_id=header.correlation_id or 0,
        client_id=header.client_id,
    )


def _response(protocol: MessageRegistry, line: RequestLogLine) -> bytes | None:
    message = line.response_message(protocol, empty_records=True)
    if message is None:
        return None
    asked, _ = opened(protocol, line) or (None, None)
    return protocol.encode_response(
        redacted(protocol, message, asked), line.body_version, correlation_id=line.header.correlation_id or 0
    )


def _tried(make: Callable[[], bytes | None], name: str) -> tuple[bytes | None, str | None]:
    """Return the bytes, or ``None`` and the reason why they cannot be encoded. The reason quotes the invalid value,
    or only names the field if the message may contain secrets.
    """
    try:
        return make(), None
    except (KwireError, LookupError) as error:
        where, _, reason = str(error).partition(": ")
        return None, f"{where}: invalid value" if reason and name in SECRETS else str(error)
