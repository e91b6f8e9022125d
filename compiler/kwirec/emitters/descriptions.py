"""Messages → ``descriptions.json``, from which ``kwire.schema.description`` reads at run time."""

from __future__ import annotations

import json
from collections.abc import Sequence

from kwirec.emitters.artifact import Artifact
from kwirec.emitters.modules import ModuleGroup, class_names
from kwirec.naming import python_name


def emit_descriptions(groups: Sequence[ModuleGroup]) -> Artifact:
    """Module → class → attribute → description, a line for each field. That of the class has the name ``""``."""
    modules: dict[str, dict[str, dict[str, str]]] = {}
    for group in groups:
        names = class_names(group.messages)
        modules[group.path] = {
            names[message.name, struct.name]: {
                "": _line(struct.doc or (message.doc if struct is message.root else "")),
                **{python_name(field.name): _line(field.doc) for field in struct.fields if field.doc},
            }
            for message in group.messages
            for struct in message.structs
        }
    return Artifact(path="descriptions.json", text=json.dumps(modules, indent=1, ensure_ascii=False) + "\n")


def _line(text: str) -> str:
    return " ".join(text.split())
