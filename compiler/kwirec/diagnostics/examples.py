"""Builds the example definitions that explain finding codes. Callers pass only the relevant attributes.

``clock(field("Zone", "string", nullableVersions="1+"))`` returns the text of a complete definition. Attributes have
their JSON names. The value ``ABSENT`` omits an attribute.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kwirec.json_text import object_lines
from kwirec.naming import snake_case

ABSENT: Final = object()
"""An attribute value that leaves the attribute out of the definition."""

ANOTHER_FILE: Final = "\n--- another file ---\n"
"""The separator between the files of an example."""

WIDTH = 100

_MESSAGE_HEAD = ("apiKey", "type", "listeners", "name", "validVersions", "deprecatedVersions", "flexibleVersions")
_FIELD_HEAD = ("name", "type", "versions")
_TAIL = ("about", "structAbout", "fields", "commonStructs")

Node = Mapping[str, object]


def clock(*fields: Node, **attributes: object) -> str:
    """Return a message of type ``data`` with versions 0-2, which is flexible from version 1."""
    head = {
        "type": "data",
        "name": "Clock",
        "about": "A clock.",
        "validVersions": "0-2",
        "flexibleVersions": "1+",
    }
    message = _present({**head, "fields": list(fields), **attributes}, _MESSAGE_HEAD)
    return "\n".join(object_lines(message, width=WIDTH))


def request(*fields: Node, **attributes: object) -> str:
    """Return a request with versions 0-2, which is flexible from version 1."""
    head = {"type": "request", "apiKey": 900, "name": "ClockRequest", "about": "Asks for the time."}
    return clock(*fields, **{**head, **attributes})


def response(*fields: Node, **attributes: object) -> str:
    """Return the response to :func:`request`."""
    head = {"type": "response", "apiKey": 900, "name": "ClockResponse", "about": "Returns the time."}
    return clock(*fields, **{**head, **attributes})


def field(name: str, type: str = "string", **attributes: object) -> Node:
    """Return a field that exists in all versions. ``fields`` defines its struct inline."""
    about = f"The {snake_case(name).replace('_', ' ')}."
    node = {"name": name, "type": type, "versions": "0+", "about": about}
    if "fields" in attributes and type.strip("[]")[:1].isupper():
        node["structAbout"] = f"One {snake_case(type.strip('[]')).replace('_', ' ')}."
    return _present({**node, **attributes})


def tagged(name: str, tag: int, type: str = "string", **attributes: object) -> Node:
    """Return a field that exists in all flexible versions and is tagged there."""
    return field(name, type, **{"versions": "1+", "taggedVersions": "1+", "tag": tag, **attributes})


def struct(name: str, *fields: Node, **attributes: object) -> Node:
    """Return a common struct that exists in all versions."""
    about = f"One {snake_case(name).replace('_', ' ')}."
    return _present({"name": name, "versions": "0+", "about": about, **attributes, "fields": list(fields)})


def enum(*values: Node, **attributes: object) -> str:
    """Return the enum ``Phase``, whose values are int8."""
    head = {"type": "enum", "name": "Phase", "valueType": "int8", "about": "A phase of the moon."}
    return "\n".join(object_lines({**head, **attributes, "values": list(values)}, width=WIDTH))


def value(name: str, number: int, **attributes: object) -> Node:
    """Return a value of an enum."""
    about = f"It is {snake_case(name).replace('_', ' ')}."
    return _present({"name": name, "value": number, "about": about, **attributes})


HOUR: Final = "// One hour.\nHour => not top level, no encoding, flexible v1+\n  // Its number.\n  Number: int8"
"""A named struct in the indentation notation."""


def krammar(
    asked: str = "  Hour: int8",
    returned: str = "  Millis: int64",
    *,
    name: str = "Clock.krm",
    order: tuple[int, int] = (0, 1),
    structs: tuple[str, str] = ("", ""),
) -> str:
    """Return a request and its response in the indentation notation, with one field each. The two ``structs`` come
    before and after the messages.
    """
    head = "ClockRequest => key 900, max version 2, flexible v1+"
    pair = (
        f"// Asks for the time.\n{head}\n  // What is asked for.\n{asked}",
        f"// Returns the time.\nClockResponse =>\n  // What is returned.\n{returned}",
    )
    blocks = (f"// {name}", structs[0], *(pair[number] for number in order), structs[1])
    return "\n\n".join(block for block in blocks if block)


def files(*definitions: str) -> str:
    """Return several definitions as one example."""
    return ANOTHER_FILE.join(definitions)


def _present(node: Node, first: tuple[str, ...] = _FIELD_HEAD) -> Node:
    """Return the attributes that are not ``ABSENT``, in the order in which Kafka's files list them."""
    head = [name for name in first if name in node]
    tail = [name for name in _TAIL if name in node]
    between = [name for name in node if name not in (*head, *tail)]
    return {name: node[name] for name in (*head, *between, *tail) if node[name] is not ABSENT}
