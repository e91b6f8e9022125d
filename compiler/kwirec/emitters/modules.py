"""The modules of messages, and the names of their classes.

The request and response of an API are one module, as are key and value of a coordinator record and all headers.
"""

from __future__ import annotations

import keyword
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from kwirec.emitters.artifact import Artifact
from kwirec.ir.schema import Field, Message, MessageKind, Schema, Struct
from kwirec.naming import RESERVED_CLASSES, python_name, snake_case

RUNTIME_HEADERS: Mapping[str, Mapping[str, str]] = {
    "RequestHeader": {"RequestApiKey": "api_key", "RequestApiVersion": "api_version"},
    "ResponseHeader": {},
}
"""Messages whose classes are those of ``kwire.headers`` → field → attribute, unless it is the snake-case name."""


@dataclass(frozen=True, kw_only=True)
class ModuleGroup:
    """The messages of one module. ``path`` is dotted, below the package."""

    path: str
    messages: tuple[Message, ...]

    @property
    def file(self) -> str:
        return self.path.replace(".", "/") + ".py"

    def classes(self) -> Iterator[ClassSource]:
        """The classes of the module: the structs that each message uses, its own class first."""
        names = class_names(self.messages)
        for message in self.messages:
            own = {struct.name: names[message.name, struct.name] for struct in message.structs}
            for struct in message.structs:
                used = message.usage[struct.name]
                if used or struct is message.root:
                    fields = tuple(one for one in struct.fields if any(version in one.versions for version in used))
                    yield ClassSource(message=message, struct=struct, versions=used, fields=fields, names=own)


@dataclass(frozen=True, kw_only=True)
class ClassSource:
    """A struct that becomes a class.

    ``versions`` are those in which the message uses it, ``fields`` those that it has in any of them, ``names`` the
    classes of all structs of the message.
    """

    message: Message
    struct: Struct
    versions: frozenset[int]
    fields: tuple[Field, ...]
    names: Mapping[str, str]

    @property
    def name(self) -> str:
        return self.names[self.struct.name]

    @property
    def is_message(self) -> bool:
        return self.struct is self.message.root

    def attribute(self, field: Field) -> str:
        """The attribute that holds ``field``."""
        return RUNTIME_HEADERS.get(self.message.name, {}).get(field.name) or python_name(field.name)

    @property
    def doc(self) -> str:
        return self.struct.doc or (self.message.doc if self.is_message else f"One entry of {self.message.name}.")


def group_modules(schema: Schema) -> list[ModuleGroup]:
    """The messages that share a module, and its name."""
    groups: dict[str, list[Message]] = {}
    for message in schema.messages:
        if message.valid:
            groups.setdefault(_module_path(message), []).append(message)
    order = {kind: index for index, kind in enumerate(MessageKind)}
    return [
        ModuleGroup(path=path, messages=tuple(sorted(messages, key=lambda m: (order[m.kind], m.name))))
        for path, messages in sorted(groups.items())
    ]


def empty_packages(groups: Iterable[ModuleGroup], prefix: str) -> list[Artifact]:
    """The empty ``__init__.py`` of every folder with modules."""
    folders = sorted({folder for group in groups if (folder := group.file.rpartition("/")[0])})
    return [Artifact(path=f"{prefix}{folder}/__init__.py", text="") for folder in folders]


def _module_path(message: Message) -> str:
    path = _place(message)
    return f"{path}_" if keyword.iskeyword(path.rpartition(".")[2]) else path


def _place(message: Message) -> str:
    name = snake_case(message.name)
    match message.kind:
        case MessageKind.REQUEST | MessageKind.RESPONSE:
            return f"api.{name.removesuffix('_request').removesuffix('_response')}"
        case MessageKind.HEADER:
            return "headers"
        case MessageKind.METADATA:
            return f"metadata.{name}"
        case MessageKind.COORDINATOR_KEY | MessageKind.COORDINATOR_VALUE:
            return f"coordinator.{name.removesuffix('_key').removesuffix('_value')}"
        case MessageKind.DATA:
            return f"data.{name}"


def class_names(messages: Iterable[Message]) -> dict[tuple[str, str], str]:
    """The class of every struct of the messages of one module.

    A struct keeps its name, unless another message of the module has a struct of that name or the module needs the
    name itself: then it is prefixed with the name of its message.
    """
    messages = tuple(messages)
    names = {(message.name, message.name): message.name for message in messages}
    nested = [(m.name, struct.name) for m in messages for struct in m.structs if struct is not m.root]
    uses = Counter(name for _, name in [*names, *nested])
    unique = {(m, struct): struct for m, struct in nested if uses[struct] == 1 and struct not in RESERVED_CLASSES}
    names |= unique
    for message, struct in nested:
        if (message, struct) not in unique:
            name = f"{message}{struct}"
            while name in names.values():
                name += "Struct"
            names[message, struct] = name
    return names


def origin_of(files: Iterable[str]) -> str:
    """The line that says where a generated file comes from."""
    names = sorted({PurePosixPath(name.replace("\\", "/")).name for name in files})
    return f"Generated by kwirec from {' and '.join(names)}. Do not edit.".replace('"', "'")
