"""Local variable names for emitted functions, derived from the names of the fields that the variables hold."""

from __future__ import annotations

import builtins
import re
from collections import Counter
from collections.abc import Iterable

OWN = frozenset(
    {"count", "data", "empty_list", "end", "give_up", "i64", "known", "message", "out", "pos", "previous", "raw"}
    | {"section", "self", "size", "step", "tag", "tag_end", "unknown", "version"}
)
"""Names of parameters, local variables and functions that the templates use themselves."""

_LENGTH = re.compile(r"n\d*")


def length_in(arrays: int) -> str:
    """Return the name of the local variable for lengths and counts at this depth of nested arrays.

    Each depth has its own variable, because an inner loop must not overwrite the bound of an outer loop.
    """
    return f"n{arrays + 1}" if arrays else "n"


class Locals:
    """Local variable names in the functions for one half of a message (its classic or its flexible versions), or for
    the tagged section of one struct.

    A field keeps its own name if it is unique among ``paths``. Otherwise, the names of enclosing fields are prefixed
    until the name is unique: ``throttle_time_ms``, ``partitions_error_code``.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        ends = {path: _ends(path) for path in paths}
        uses = Counter(end for own in ends.values() for end in own)
        self._names: dict[str, str] = {}
        self._items: dict[str, str] = {}
        self._taken: set[str] = set()
        for path, own in ends.items():
            self._names[path] = self._free(next((end for end in own if uses[end] == 1), own[-1]))

    def of(self, path: str) -> str:
        """Return the name of the local variable for the field at ``path``."""
        return self._names[path]

    def item(self, local: str) -> str:
        """Return the name of the loop variable for the elements of the array in ``local``."""
        name = f"{local}_item"
        if name not in self._items:
            self._items[name] = self._free(name)
        return self._items[name]

    def _free(self, name: str) -> str:
        if name in OWN or _LENGTH.fullmatch(name) or hasattr(builtins, name) or name.startswith(("read_", "write_")):
            name += "_"
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name


def _ends(path: str) -> list[str]:
    """Turn ``topics[].partitions[].index`` into ``index``, ``partitions_index`` and ``topics_partitions_index``."""
    names = path.replace("[]", "").split(".")
    return ["_".join(names[start:]) for start in reversed(range(len(names)))]
