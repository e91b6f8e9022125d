"""Requests and responses of request logs as the bytes of their frames: through models, without secrets."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from kwire.errors import KwireError
from kwire.models.fields import SIZE_NAME
from kwire.request_log import Json, RequestLogLine
from kwire_kafka import PROTOCOL
from kwire_kafka.models import MODELS
from kwire_spark.secrets import redacted

if TYPE_CHECKING:
    from kwire.message import Message
    from kwire.protocol import Request, Response

ENVELOPE = 58
TEXT = "brokers before 2.8 log request and response as text, without their bytes"


def payloads(line: RequestLogLine) -> tuple[bytes | None, bytes | None, str | None]:
    """Request and response as payloads of frames, each ``None`` if there is none; and why, if one cannot be had.

    Records that the broker left out are missing: there are none.
    """
    if line.request_text is not None:
        return None, None, TEXT
    asked = _opened(line) if line.header.api_key == ENVELOPE else None
    request, wrong = _tried(line.request, lambda body: _request(line, body))
    response, other = _tried(line.response, lambda body: _response(line, body, asked))
    return request, response, wrong or other


def inner_payloads(request: Request, response: Response | None) -> tuple[bytes | None, bytes | None]:
    """The same of what was in an Envelope; ``None`` for what cannot be read, which may be anything."""
    asked = _clean(request, request.header.api_version)
    return asked, None if response is None else _clean(response, response.version)


def _clean(half: Request | Response, version: int) -> bytes | None:
    if half.message is None:
        return None
    clean = redacted(half.message)
    return half.payload if clean is half.message else half.payload[: half.body_offset] + clean.encode(version)


def _request(line: RequestLogLine, body: Json) -> bytes:
    message = redacted(_message(PROTOCOL.request(line.header.api_key).__name__, line.body_version, body))
    header = line.header
    return PROTOCOL.encode_request(
        message, line.body_version, correlation_id=header.correlation_id or 0, client_id=header.client_id
    )


def _response(line: RequestLogLine, body: Json, asked: Request | None) -> bytes:
    name = PROTOCOL.response(line.header.api_key).__name__
    message = redacted(_message(name, line.body_version, body), asked)
    return PROTOCOL.encode_response(message, line.body_version, correlation_id=line.header.correlation_id or 0)


def _message(name: str, version: int, body: Json) -> Message:
    message: Message = MODELS.message(name).for_version(version).model_validate(_emptied(body)).to_codec()
    return message


def _emptied(body: Any) -> Any:
    """The body with records of size 0, where there is only their size."""
    if type(body) is list:
        return [_emptied(element) for element in body]
    if type(body) is not dict:
        return body
    return {
        name: 0 if name.endswith(SIZE_NAME) and value else _emptied(value) if type(value) in (dict, list) else value
        for name, value in body.items()
    }


def _opened(line: RequestLogLine) -> Request | None:
    try:
        opened = line.enveloped(PROTOCOL)
    except KwireError:
        return None
    return opened[0] if opened else None


def _tried(body: Json | None, make: Callable[[Json], bytes]) -> tuple[bytes | None, str | None]:
    if body is None:
        return None, None
    try:
        return make(body), None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        return None, f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    except (KwireError, LookupError, ValueError) as error:
        return None, str(error)
