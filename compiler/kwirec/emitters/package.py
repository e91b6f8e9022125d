"""Emits the files of a package that do not depend on a single message, such as the index, enums, error codes and
descriptions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from kwirec.emitters.environment import Artifact, render
from kwirec.emitters.modules import RUNTIME_HEADERS, ModuleGroup
from kwirec.frontend import ErrorDecl
from kwirec.ir.schema import ENTITY_TYPES, Enum, Message, MessageKind
from kwirec.json_text import json_text
from kwirec.naming import constant_name, python_name, snake_case

RECORDS = (MessageKind.METADATA, MessageKind.COORDINATOR_KEY, MessageKind.COORDINATOR_VALUE)

PATHS = {"init": "__init__.py", "models": "models/__init__.py"}
"""Paths of output files that differ from the names of their templates, by template."""


def emit_package(
    groups: Sequence[ModuleGroup], *, name: str, errors: Sequence[ErrorDecl], enums: Sequence[Enum] = ()
) -> list[Artifact]:
    """Return all files of the package except codec and model modules."""
    enums = sorted(enums, key=lambda enum: enum.name)
    messages = [message for group in groups for message in group.messages]
    names = [message.name for message in messages]
    requests = _by_key(messages, MessageKind.REQUEST)
    package = {
        "name": name,
        "title": f"{name}: typed codecs for {len(messages)} messages in all their versions.",
        "messages": [
            {"name": message.name, "aliases": message.aliases, "module": group.path}
            for group in groups
            for message in group.messages
        ],
        "example": next((name for name in ("ApiVersionsResponse", *names) if name in names), "Message"),
        "aliases": sorted((alias, message.name) for message in messages for alias in message.aliases),
        "requests": requests,
        "responses": _by_key(messages, MessageKind.RESPONSE),
        "api_keys": [(key, snake_case(request.removesuffix("Request")).upper()) for key, request in requests],
        "logs": (logs := _logs(messages)),
        "record_types": _record_types(logs),
        "entity_types": sorted(ENTITY_TYPES.items()),
        "entity_fields": _entity_fields(groups),
        "errors": errors,
        "enums": [_enum_view(enum) for enum in enums],
    }
    templates = ["init", "index", "arrow", "entity_types", "models"]
    templates += (optional for optional in ("api_keys", "enums", "errors", "record_types") if package[optional])
    folders = sorted({folder for group in groups if (folder := group.file.rpartition("/")[0])})
    empty = ["py.typed", *(f"{parent}{folder}/__init__.py" for parent in ("", "models/") for folder in folders)]
    return [
        *(
            Artifact(path=PATHS.get(each, f"{each}.py"), text=render(f"package/{each}.jinja", package=package))
            for each in templates
        ),
        *(Artifact(path=path, text="") for path in empty),
        emit_descriptions(groups, enums),
    ]


def _enum_view(enum: Enum) -> dict[str, object]:
    """Return the template variables for an enum: its name, type, description and members. A member has a name, a
    value and a description.
    """
    members = [(constant_name(one.name), one.value, one.doc) for one in enum.values]
    return {"name": enum.name, "type": enum.type.name, "doc": enum.doc, "members": members}


def emit_descriptions(groups: Iterable[ModuleGroup], enums: Iterable[Enum] = ()) -> Artifact:
    """Return ``descriptions.json``, which ``kwire.schema.description`` reads at run time.

    The file maps module → class → attribute or member → description, with one class per line. The key ``""`` holds
    the description of the class itself.
    """
    modules = {
        group.path: {
            source.name: {"": _line(source.struct.doc or (source.message.doc if source.is_message else ""))}
            | {python_name(field.name): _line(field.doc) for field in source.fields if field.doc}
            for source in group.classes()
            if source.message.name not in RUNTIME_HEADERS
        }
        for group in groups
    }
    if named := {
        enum.name: {"": _line(enum.doc)} | {constant_name(one.name): _line(one.doc) for one in enum.values if one.doc}
        for enum in enums
    }:
        modules["enums"] = named
    return Artifact(path="descriptions.json", text=json_text(modules, levels=2, indent=1) + "\n")


def _line(text: str) -> str:
    return " ".join(text.split())


def _by_key(messages: Iterable[Message], kind: MessageKind) -> list[tuple[int, str]]:
    return sorted((m.api_key, m.name) for m in messages if m.kind is kind and m.api_key is not None)


Logs = list[tuple[str, list[tuple[int, str | None, str | None]]]]
"""The name of each log and its record types. A record type consists of a number, the key's message name and the
value's message name.
"""


def _record_types(logs: Logs) -> list[tuple[str, str, dict[str, int]]]:
    """Return the enum of record types for each log, as a tuple of the enum name, the log name and the members.

    Members are named after messages.
    """
    found: dict[str, tuple[str, dict[str, int]]] = {}
    for log, types in logs:
        name = "".join(word.capitalize() for word in re.findall("[A-Za-z0-9]+", log)) + "RecordType"
        name = name if name[0].isalpha() else f"Log{name}"
        while name in found:
            name += "X"
        keyed = {
            key: (of_value or of_key or "").removesuffix("Value").removesuffix("Key")
            for key, of_key, of_value in types
        }
        found[name] = log, {constant_name(record): key for key, record in keyed.items()}
    return [(name, log, members) for name, (log, members) in found.items()]


def _logs(messages: Iterable[Message]) -> Logs:
    """Return the record types of each log with the names of their keys and values."""
    logs: dict[str, dict[int, list[str | None]]] = {}
    for message in messages:
        if message.kind in RECORDS and message.api_key is not None:
            pair = logs.setdefault(message.log, {}).setdefault(message.api_key, [None, None])
            pair[message.kind is not MessageKind.COORDINATOR_KEY] = message.name
    return sorted(
        (_short(log, logs), sorted((key, of_key, of_value) for key, (of_key, of_value) in types.items()))
        for log, types in logs.items()
    )


def _short(log: str, logs: Iterable[str]) -> str:
    """Return the shortest unique suffix of a log's path."""
    parts = PurePosixPath(log).parts
    others = [PurePosixPath(other).parts for other in logs if other != log]
    ends = (parts[start:] for start in reversed(range(len(parts))))
    return next(("/".join(end) for end in ends if all(other[-len(end) :] != end for other in others)), log)


def _entity_fields(groups: Iterable[ModuleGroup]) -> list[tuple[str, list[tuple[str, str, str]]]]:
    found: dict[str, list[tuple[str, str, str]]] = {}
    for group in groups:
        for source in group.classes():
            for one in source.fields:
                if one.entity_type is not None:
                    place = (source.message.name, source.name, python_name(one.name))
                    found.setdefault(one.entity_type, []).append(place)
    return [(entity, sorted(fields)) for entity, fields in sorted(found.items())]
