"""Messages → ``descriptions.json``, from which ``kwire.schema.description`` reads at run time."""

from __future__ import annotations

from collections.abc import Sequence

from kwirec.emitters.artifact import Artifact
from kwirec.emitters.modules import RUNTIME_HEADERS, ModuleGroup, class_names
from kwirec.json_text import json_text
from kwirec.naming import python_name


def emit_descriptions(groups: Sequence[ModuleGroup]) -> Artifact:
    """Module → class → attribute → description, a line per class; ``""`` is the name of its own one."""
    modules: dict[str, dict[str, dict[str, str]]] = {}
    for group in groups:
        names = class_names(group.messages)
        modules[group.path] = {
            names[message.name, struct.name]: {
                "": _line(struct.doc or (message.doc if struct is message.root else "")),
                **{python_name(field.name): _line(field.doc) for field in struct.fields if field.doc},
            }
            for message in group.messages
            if message.name not in RUNTIME_HEADERS
            for struct in message.structs
        }
    return Artifact(path="descriptions.json", text=json_text(modules, levels=2, indent=1) + "\n")


def _line(text: str) -> str:
    return " ".join(text.split())
