"""Finds APIs by the names that users enter, and annotates codes in messages with their names."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from kwire.errors import UnknownApiError
from kwire.trace.batches import time_text
from kwire.trace.spans import Span

if TYPE_CHECKING:
    from kwire.protocol import MessageRegistry
    from kwire.trace.view import Note


def api_key(protocol: MessageRegistry, text: str) -> int:
    """Return the API key for a number or a name, such as `1`, `Fetch` or `fetchresponse`."""
    if text.lstrip("-").isdigit():
        return int(text)
    names = {name.lower(): key for key, name in protocol.api_names.items()}
    folded = text.lower().removesuffix("request").removesuffix("response")
    if folded not in names:
        raise UnknownApiError(text, protocol.api_names.values())
    return names[folded]


def notes(protocol: MessageRegistry, package: str) -> Note:
    """Return a function that annotates error codes and API keys with their names, and timestamps with their times."""
    try:
        errors: dict[int, str] = {int(code): code.name for code in import_module(f"{package}.errors").ErrorCode}
    except (ImportError, AttributeError):
        errors = {}

    def note(span: Span) -> str:
        value = span.value
        if type(value) is not int or span.text:
            return ""
        if span.kind == "int16" and span.name.endswith("error_code"):
            return errors.get(value, "")
        if span.kind == "int16" and span.name == "api_key":
            return protocol.api_names.get(value, "")
        if span.kind == "int64" and ("timestamp" in span.name or span.name.endswith("time_ms")):
            return time_text(value)
        return ""

    return note
