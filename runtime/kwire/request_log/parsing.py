"""Parsing a request log line: first its layout, then its JSON (since 2.8) or text (before 2.8)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from kwire.request_log.layouts import located
from kwire.request_log.line import Json, LoggedHeader, RequestLogError, RequestLogLine, addresses
from kwire.request_log.text import MARK, NAMES, TIMES, is_text, text_values


def parse_line(text: str) -> RequestLogLine | None:
    """Return the contents of a request log line in any layout, or ``None`` for any other line.

    The message may be in a JSON string, as written by some layouts and log collectors. Before 2.8, logged values may
    contain line breaks. ``text`` must contain all lines of such a message. Raise ``RequestLogError`` if the line is
    invalid.
    """
    found = located(text, MARK)
    if found is None:
        return None
    prefix, text, start = found
    begin = start + len(MARK)
    while text[begin : begin + 1].isspace():
        begin += 1
    place = _Place(text)
    if is_text(text, begin):
        try:
            header, values = text_values(text, begin)
        except ValueError as error:
            raise place.wrong(str(error), begin) from None
    elif begin < len(text) and text[begin] != "{":
        if MARK in text[begin:]:
            raise place.wrong("the line is cut off, and another line follows it", begin)
        return None
    else:
        header, values = _json_values(place, _json(place, begin))
    for name, bits in _BITS.items():
        if not -1 << (bits - 1) <= (header.get(name) or 0) < 1 << (bits - 1):
            raise place.wrong(f"{name} is out of range: {header[name]}", begin)
    if ends := addresses(values.get("connection", "")):
        values |= {"local": ends[0], "remote": ends[1]}
    return RequestLogLine(prefix=prefix, header=LoggedHeader(**header), **values)


@dataclass(slots=True)
class _Place:
    """The location of a problem, for use in errors."""

    text: str
    path: str = ""

    def within(self, name: str) -> _Place:
        return _Place(self.text, f"{self.path}.{name}" if self.path else name)

    def wrong(self, reason: str, position: int | None = None) -> RequestLogError:
        """Return an error about the character at ``position`` in the line, or about the JSON of the line if
        ``position`` is ``None``."""
        at = self.text.find(MARK) + len(MARK) if position is None else position
        return RequestLogError(
            reason,
            message_name="request log",
            path=self.path,
            offset=len(_utf8(self.text[:at])),
            data=_utf8(self.text),
        )


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _json(place: _Place, begin: int) -> Json:
    try:
        found: Json = json.JSONDecoder().raw_decode(place.text, begin)[0]
    except json.JSONDecodeError as error:
        raise place.wrong(f"invalid JSON: {error.msg}", error.pos) from None
    except (ValueError, RecursionError) as error:
        raise place.wrong(
            f"the JSON is nested too deeply or contains a number that is too large: {error}", begin
        ) from None
    return found


_BITS = {"api_key": 16, "api_version": 16, "correlation_id": 32}
"""Sizes of the integers in a header, in bits."""

_Kind = type | tuple[type, ...]
_Keys = dict[str, tuple[str, _Kind]]
_NUMBER = (int, float)
_LONGEST = 1e18
"""Exclusive upper limit of times, in milliseconds."""
_KEYS: _Keys = {
    "isForwarded": ("is_forwarded", bool),
    "connection": ("connection", str),
    **{f"{name}Ms": (attribute, _NUMBER) for name, attribute in TIMES.items()},
    **{name: (attribute, str) for name, attribute in NAMES.items()},
}
_HEADER: _Keys = {
    "requestApiKey": ("api_key", int),
    "requestApiVersion": ("api_version", int),
    "requestApiKeyName": ("api_name", str),
    "correlationId": ("correlation_id", int),
    "clientId": ("client_id", str),
    "requestApiVersionDeprecated": ("deprecated", bool),
}
_CLIENT: _Keys = {
    "softwareName": ("software_name", str),
    "softwareVersion": ("software_version", str),
}


def _json_values(place: _Place, found: Json) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values of the header and the other values of the line, by attribute."""
    bodies = {name: _body(place.within(name), found.pop(name, None)) for name in ("request", "response")}
    header = _inner(place, found, "requestHeader", _HEADER)
    for name in ("requestApiKey", "requestApiVersion"):
        if _HEADER[name][0] not in header:
            raise place.within("requestHeader").within(name).wrong("the value is missing")
    values = _taken(place, found, _KEYS) | _inner(place, found, "clientInformation", _CLIENT)
    return header, bodies | values | {"more": found}


def _body(place: _Place, found: Any) -> Json | None:
    """Return the JSON object of a body, or ``None`` if the body is missing, for which Kafka logs an empty string."""
    return None if found is None or found == "" else _object(place, found)


def _inner(place: _Place, found: Json, name: str, keys: _Keys) -> dict[str, Any]:
    """Return the values of the object ``name`` in ``found``, by attribute. Only the unknown keys of the object remain
    in ``found``."""
    inside = place.within(name)
    inner = _object(inside, found.pop(name, {}))
    values = _taken(inside, inner, keys)
    if inner:
        found[name] = inner
    return values


def _taken(place: _Place, found: Json, keys: _Keys) -> dict[str, Any]:
    """Remove the values of ``keys`` from ``found``, and return them by attribute."""
    values: dict[str, Any] = {}
    for name, (attribute, kind) in keys.items():
        value = found.pop(name, None)
        if value is None:
            continue
        if not isinstance(value, kind) or (type(value) is bool and kind is not bool):
            raise place.within(name).wrong(f"unexpected type {type(value).__name__}")
        values[attribute] = value
        if kind is _NUMBER and not -_LONGEST < values[attribute] < _LONGEST:
            raise place.within(name).wrong(f"{value} ms is not a valid duration")
    return values


def _object(place: _Place, found: Any) -> Json:
    if type(found) is not dict:
        raise place.wrong("expected an object")
    return found
