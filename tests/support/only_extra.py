"""``python -m tests.support.only_extra EXTRA COMMAND ARGUMENT...``: ``kwire`` or ``kwirec`` with nothing but what an
extra brings. Everything else cannot be imported: with the extra ``compiler``, that is all packages of kwire but the
compiler and the rules."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from importlib import import_module, metadata
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import ClassVar

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def installed_with(extra: str) -> set[str]:
    """Return the names of the distributions that ``kwire`` with this extra needs, directly or not."""
    found: set[tuple[str, str]] = set()
    waiting = [("kwire", extra), ("kwire", "")]
    while waiting:
        if (wanted := waiting.pop()) not in found:
            found.add(wanted)
            waiting += _needed(*wanted)
    return {name for name, _ in found}


def _needed(name: str, extra: str) -> Iterator[tuple[str, str]]:
    try:
        texts = metadata.requires(name) or ()
    except metadata.PackageNotFoundError:  # it is for another system
        return
    for needed in map(Requirement, texts):
        if needed.marker is None or needed.marker.evaluate({"extra": extra}):
            yield from ((canonicalize_name(needed.name), part) for part in ("", *needed.extras))


class Finder(PathFinder):
    """Finds no module of other distributions."""

    hidden: ClassVar[set[str]] = set()

    @classmethod
    def hide_all_but(cls, extra: str) -> None:
        names = installed_with(extra)
        owners = metadata.packages_distributions()
        cls.hidden = {top for top, by in owners.items() if not names.intersection(map(canonicalize_name, by))}
        if extra == "compiler":
            cls.hidden |= {"kwire", "kwire_guide", "kwire_inspect", "kwire_kafka", "kwire_spark"}

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return None if fullname.partition(".")[0] in cls.hidden else super().find_spec(fullname, path, target)


if __name__ == "__main__":
    Finder.hide_all_but(sys.argv[1])
    sys.meta_path[sys.meta_path.index(PathFinder)] = Finder
    sys.argv[:] = sys.argv[2:]
    try:
        sys.exit(import_module(f"{sys.argv[0]}.__main__").main())
    finally:
        assert not {"pyspark", "pandas"} & {*sys.modules}
