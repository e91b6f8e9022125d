"""Rewords findings about definitions in the indentation notation, because rules use the JSON names of attributes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from kwirec.diagnostics.diagnostic import Finding, Label

_WORDS: Mapping[str, str] = {
    "aliases": "was",
    "apiKey": "key",
    "commonStructs": "not top level",
    "deprecatedVersions": "deprecated",
    "entityType": "entity",
    "flexibleVersions": "flexible",
    "headerVersions": "header",
    "latestVersionUnstable": "unstable",
    "mapKey": "map key",
    "nullableVersions": "nullable",
    "sentTo": "coordinator",
    "taggedVersions": "tagged",
    "validVersions": "max version",
    "zeroCopy": "zero copy",
}
_QUOTED = re.compile("`([^`]+)`")
_RANGE = re.compile(r"([0-9]+)(?:\+|-([0-9]+|N))")
_ARRAY = re.compile(r"((?:\[\])+)(\w+)")


def in_krammar(finding: Finding) -> Finding:
    """Return the finding with attributes, arrays and version ranges written in the indentation notation. Keep the
    names of messages and fields.
    """
    names = {finding.message_name, *(finding.field_path or "").split(".")}

    def reworded(text: str) -> str:
        return _QUOTED.sub(lambda quoted: quoted[0] if quoted[1] in names else f"`{_word(quoted[1])}`", text)

    def label(label: Label) -> Label:
        return Label(label.span, reworded(label.text))

    return replace(
        finding,
        message=reworded(finding.message),
        primary=label(finding.primary),
        others=tuple(map(label, finding.others)),
        notes=tuple(map(reworded, finding.notes)),
        helps=tuple(map(reworded, finding.helps)),
    )


def _word(word: str) -> str:
    if (versions := _RANGE.fullmatch(word)) is not None:
        return f"v{versions[1]}-v{versions[2]}" if versions[2] else f"v{word}"
    if (array := _ARRAY.fullmatch(word)) is not None:
        depth = len(array[1]) // 2
        return f"{'[' * depth}{array[2]}{']' * depth}"
    return _WORDS.get(word, word)
