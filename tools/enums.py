"""Compares the enums in a Kafka release's own classes with the enums in ``message_defs/kafka``, the union.

``python -m tools.enums [RELEASE]`` fetches the jars of a release, by default the newest in the union, and prints the
differences. The exit code is 1 if there are differences.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

from kwirec.diagnostics.diagnostic import Report
from kwirec.driver import load
from kwirec.ir import Schema
from kwirec.json_text import definition_text
from kwirec.merge.history import read_history
from tools import UNION, enum_classes
from tools.enum_classes import NumberedClass, classes_of, draft, of_the_union, unknown
from tools.maven import bring

Numbers = Mapping[str, Mapping[str, int]]
"""The number of each value, by enum name and value name."""

REMOVED = ("ControlRequestType", "ZkMigrationState")
"""Enums whose classes were removed with ZooKeeper in 4.0."""

BESIDE = {"AcknowledgeType": {"GAP": 0}, "LeaderRecoveryState": {"NO_CHANGE": -1}}
"""Values that Kafka's code defines outside the class of the enum."""

FORMERLY = {
    "ControlRecordType": {"QUORUM_REASSIGNMENT": 2, "LEADER_CHANGE": 3},
    "ConfigSource": {"UNKNOWN_CONFIG": 0},
    "ZkMigrationState": {"PRE_MIGRATION": 1, "MIGRATION": 2},
}
"""Numbers that differed in earlier releases: up to 2.8, up to 2.5, and in 3.4, respectively."""


def numbers_of(folder: Path) -> Numbers:
    """Return the enums of the release whose jars are in a folder. Run ``java``, which requires a JDK."""
    return of_the_union(classes_of(folder))


def numbers_in(schema: Schema) -> Numbers:
    """Return the enums of a schema."""
    return {enum.name: {value.name: value.value for value in enum.values} for enum in schema.enums}


def differences(ours: Numbers, classes: Sequence[NumberedClass], *, newest: bool) -> Iterator[str]:
    """Yield the values of a release that are missing or have other numbers in the union.

    For the newest release, also yield the values that the release lacks, and the classes that neither
    :data:`~tools.enum_classes.SOURCES` nor :data:`~tools.enum_classes.ELSEWHERE` lists.
    """
    theirs = of_the_union(classes)
    for name, values in theirs.items():
        known = ours.get(name, {})
        for value, number in values.items():
            if number not in (known.get(value), FORMERLY.get(name, {}).get(value)):
                yield f"{name}.{value} is {number} in Java, {known.get(value, 'missing')} here"
    for name in enum_classes.SOURCES if newest else ():
        if name not in REMOVED:
            expected = {*theirs.get(name, {}), *BESIDE.get(name, {})}
            yield from (f"{name}.{value} is not in Java" for value in ours.get(name, {}) if value not in expected)
    for one in unknown(classes) if newest else ():
        yield f"{one.name} contains numbers, but is neither in SOURCES nor in ELSEWHERE of tools/enum_classes.py"


def take(union: Path, theirs: Numbers) -> list[str]:
    """Add the values that the union's enums lack, without descriptions, and return their names.

    A number that has another name in the union is unchanged, and :func:`differences` reports the number.
    """
    added = []
    for path, enum in _files(union):
        known = {value["name"] for value in enum["values"]} | {value["value"] for value in enum["values"]}
        new = [
            {"name": name, "value": number, "about": ""}
            for name, number in theirs.get(enum["name"], {}).items()
            if not known & {name, number}
        ]
        ascending = enum["values"] == sorted(enum["values"], key=itemgetter("value"))
        enum["values"] += new
        if ascending:
            enum["values"].sort(key=itemgetter("value"))
        if new:
            path.write_text(definition_text(enum))
            added += [f"{enum['name']}.{value['name']}" for value in new]
    return added


@dataclass(frozen=True)
class NewEnum:
    """A class that :mod:`tools.enum_classes` does not list, and whether a definition has been drafted from it."""

    origin: NumberedClass
    drafted: bool

    def __str__(self) -> str:
        """Return a description of the remaining work."""
        name, lists = self.origin.short_name, "`tools/enum_classes.py`"
        if self.drafted:
            return (
                f"`enums/{name}.json` is a draft from `{self.origin.name}`. Describe the enum, name it in the fields "
                f"that hold its values, and add the class to SOURCES in {lists}. Otherwise, remove the "
                "enum and add the class to ELSEWHERE with the reason"
            )
        values = ", ".join(f"{value} {number}" for value, number in self.origin.values.items())
        return (
            f"`{self.origin.name}` contains numbers ({values}). Define an enum and add the class to SOURCES in "
            f"{lists}, or add the class to ELSEWHERE with the reason"
        )


def take_new(union: Path, classes: Sequence[NumberedClass]) -> list[NewEnum]:
    """Return the classes that :mod:`tools.enum_classes` does not list. Draft an enum from each class that has the
    necessary facts.

    New values are added to the draft of an earlier release. Classes with the name of another enum are not drafted.
    """
    found = []
    for one in unknown(classes):
        path = union / "enums" / f"{one.short_name}.json"
        definition = draft(one) if one.short_name not in enum_classes.SOURCES else None
        if definition and path.exists():
            known = {value["name"]: value["value"] for value in json.loads(path.read_text())["values"]}
            if known.items() <= one.values.items():
                take(union, {one.short_name: one.values})
            else:
                definition = None
        elif definition:
            path.parent.mkdir(exist_ok=True)
            path.write_text(definition_text(definition))
        found.append(NewEnum(one, definition is not None))
    return found


def drop(union: Path, names: Collection[str]) -> None:
    """Remove values from the union's enums. ``names`` are names as returned by :func:`take`."""
    for path, enum in _files(union):
        enum["values"] = [value for value in enum["values"] if f"{enum['name']}.{value['name']}" not in names]
        path.write_text(definition_text(enum))


def describe(union: Path, described: Path) -> None:
    """Copy the descriptions of values from ``described`` to ``union``."""
    about = {(enum["name"], one["name"]): one["about"] for _, enum in _files(described) for one in enum["values"]}
    for path, enum in _files(union):
        for value in enum["values"]:
            value["about"] = about.get((enum["name"], value["name"]), "")
        path.write_text(definition_text(enum))


def _files(union: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the union's files that define enums, with their contents."""
    for path in sorted((union / "enums").glob("*.json")):
        yield path, json.loads(path.read_text())


def main(arguments: Sequence[str]) -> int:
    newest = read_history(UNION).merged[-1]
    [jars] = bring(arguments or [newest])
    ours = numbers_in(load([UNION], Report()).schema)
    found = list(differences(ours, classes_of(jars.folder), newest=jars.release == newest))
    print("\n".join(found) or f"the enums match those of {jars.release}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
