"""Notes on values in a tree: names of error codes and APIs, times."""

from __future__ import annotations

from importlib import import_module

from kwire.protocol import MessageRegistry
from kwire.trace.batches import time_text
from kwire.trace.spans import Span
from kwire.trace.view import Note


def notes(protocol: MessageRegistry, package: str) -> Note:
    """A function from spans to notes on their values. Error codes are those of the module ``errors`` of
    ``package``."""
    errors = _error_names(package)

    def note(span: Span) -> str:
        value = span.value
        if type(value) is not int or span.text:
            return ""
        if span.kind == "int16" and span.name.endswith("error_code"):
            return errors.get(value, "")
        if span.kind == "int16" and span.name == "api_key" and value in protocol.api_keys:
            return protocol.api_name(value)
        if span.kind == "int64" and ("timestamp" in span.name or span.name.endswith("time_ms")):
            return time_text(value)
        return ""

    return note


def _error_names(package: str) -> dict[int, str]:
    try:
        codes = import_module(f"{package}.errors").ErrorCode
    except (ImportError, AttributeError):
        return {}
    return {int(code): code.name for code in codes}
