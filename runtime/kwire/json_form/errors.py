"""Errors of values in Kafka's JSON form, with their paths."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kwire.errors import FieldError, quoted

if TYPE_CHECKING:
    from kwire.message import Message


class JsonFormError(FieldError):
    """A value that does not fit the message and version, in JSON or to be written as JSON.

    ``path`` locates it by the names of the JSON, such as ``topics[3].partitions[0].records``. It is empty for the
    message as a whole.
    """


class InvalidValueError(Exception):
    """A value that does not fit, to be quoted where ``reason`` has ``{}``. ``path`` has the steps to it, innermost
    first: each caller adds its own."""

    def __init__(self, reason: str, *quoted: object) -> None:
        super().__init__(reason)
        self.reason = reason
        self.quoted = quoted
        self.path: list[str | int] = []


def convert(function: Callable[[Any], Any], value: Any, cls: type[Message], version: int) -> Any:
    """Return ``function(value)``, and turn its ``InvalidValueError`` into a ``JsonFormError`` of ``cls``.

    The error does not quote values of messages with secrets.
    """
    try:
        return function(value)
    except InvalidValueError as problem:
        steps = [f"[{step}]" if type(step) is int else f".{step}" for step in reversed(problem.path)]
        path = "".join(steps).removeprefix(".")
        reason = problem.reason
        for given in problem.quoted:
            reason = reason.replace("{}", quoted(cls.__name__, given))
        raise JsonFormError(reason, message_name=cls.__name__, version=version, path=path) from None
