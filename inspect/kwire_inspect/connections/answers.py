"""The outcome of a request according to its response: all error codes, at any depth, and the throttle time.

For each class of response, functions that visit only the fields with error codes are made once, from ``FIELDS``.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from kwire.schema import struct_class
from kwire_inspect.connections.error_code_scanner import MAX_CODES, NONE, Outcome, Scan, scanner

if TYPE_CHECKING:
    from kwire.message import Message
    from kwire.protocol import MessageRegistry
    from kwire.struct import Struct

Collect = Callable[[Any, set[int]], None]
"""Adds the error codes of a struct to a set."""

_KNOWN: dict[type[Struct], tuple[Collect, ...]] = {}


def error_codes(response: Message) -> tuple[int, ...]:
    """The distinct error codes in ``response`` in ascending order, except 0; no more than ``MAX_CODES``.

    A tuple, because the garbage collector does not track rows that only contain immutable values.
    """
    cls = type(response)
    codes: set[int] = set()
    for collect in _KNOWN.get(cls) or _collectors(cls):
        collect(response, codes)
    codes.discard(0)
    return tuple(sorted(codes)[:MAX_CODES]) if codes else ()


def throttle_ms(response: Message) -> int | None:
    """Milliseconds for which the response asks the client to pause; ``None`` if it has no such field."""
    return getattr(response, "throttle_time_ms", None)


def outcome_of(protocol: MessageRegistry, api_key: int, version: int) -> Scan:
    """The function that finds error codes and throttle time in responses of a version.

    It raises ``KwireError``, ``IndexError`` or ``ValueError`` for bytes that cannot be read.
    """
    cls = protocol.response(api_key)
    if version not in cls.VALID_VERSIONS:
        return lambda data, at: NONE
    scan = scanner(cls, version)
    if scan is not None:
        return scan

    def decoded(data: bytes, at: int) -> Outcome:
        message = cls.decode(data, version, start=at)
        return error_codes(message), throttle_ms(message)

    return decoded


def _collectors(cls: type[Struct]) -> tuple[Collect, ...]:
    """For each field of a struct that is or contains an error code: how to collect the codes."""
    known = _KNOWN.get(cls)
    if known is not None:
        return known
    collectors = []
    for field in cls.FIELDS:
        struct = struct_class(cls, field)
        if field.type == "int16" and field.name.endswith("error_code"):
            collectors.append(_code(field.name))
        elif struct is not None and (within := _collectors(struct)):
            alone = _only_code(struct) if field.is_array and len(within) == 1 else None
            collectors.append(_codes(field.name, alone) if alone else _nested(field.name, within, field.is_array))
    _KNOWN[cls] = tuple(collectors)
    return _KNOWN[cls]


def _only_code(struct: type[Struct]) -> str | None:
    return next((field.name for field in struct.FIELDS if field.name.endswith("error_code")), None)


def _code(name: str) -> Collect:
    get = attrgetter(name)

    def collect(struct: Any, found: set[int]) -> None:
        found.add(get(struct))

    return collect


def _codes(name: str, code: str) -> Collect:
    """For a list of structs that have one code each and no nested ones, such as thousands of partitions."""
    get, get_code = attrgetter(name), attrgetter(code)

    def collect(struct: Any, found: set[int]) -> None:
        if elements := get(struct):
            found.update(map(get_code, elements))

    return collect


def _nested(name: str, within: tuple[Collect, ...], is_array: bool) -> Collect:
    get = attrgetter(name)

    def collect(struct: Any, found: set[int]) -> None:
        if value := get(struct):
            for element in value if is_array else (value,):
                for inner in within:
                    inner(element, found)

    return collect
