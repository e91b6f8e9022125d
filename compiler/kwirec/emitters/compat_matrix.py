"""Computes the effect of writing a value of one version in another, for each message and pair of versions.

The computation uses only the schema. A value of version a, written in version b:

- loses the ignorable fields that b lacks;
- is refused if a field that b lacks is not ignorable and differs from its default [KAFKA-WIRE 29];
- is refused if a field is null and b does not allow null;
- is refused if b needs a field that a lacks and whose default is null, but b does not allow null.

Fields of a missing struct are not listed separately. If b lacks ``topics``, ``topics[].name`` is omitted. Unknown
tagged fields are not listed, because the same rule applies to all messages: only flexible versions can contain them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, product

from kwirec.emitters.views import default_is_null
from kwirec.ir.schema import Field, Message, StructType
from kwirec.lowering import Layouts, MessageLayout, StructCoding
from kwirec.versions import VersionRange, runs_by

SIGNS = {"same": "=", "lossless": "≈", "lossy": "−", "inconvertible": "✗"}
"""Symbols for relations in tables."""


@dataclass(frozen=True, kw_only=True)
class Conversion:
    """The effect of writing values of one version in another. All attributes except ``same`` contain field paths.

    The relation is ``same`` if the bytes are equal, and ``lossless`` if the layout differs but every value survives.
    It is ``lossy`` if every value can be written, but without the fields in ``lost``. It is ``inconvertible`` if some
    values cannot be written, because they set a field in ``blocking``, have null in a field in ``null``, or need a
    field in ``missing``. All other values lose the fields in ``lost``.
    """

    same: bool
    lost: tuple[str, ...] = ()
    blocking: tuple[str, ...] = ()
    null: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def relation(self) -> str:
        if self.blocking or self.null or self.missing:
            return "inconvertible"
        if self.lost:
            return "lossy"
        return "same" if self.same else "lossless"

    def to_json(self) -> dict[str, object]:
        lists = {"lost": self.lost, "blocking": self.blocking, "null": self.null, "missing": self.missing}
        return {"relation": self.relation} | {name: list(paths) for name, paths in lists.items() if paths}


@dataclass(frozen=True)
class Shape:
    """The fields of a version, and the paths of the nullable and tagged fields, which determine conversions."""

    layout: MessageLayout
    fields: Mapping[str, Field]
    nullable: frozenset[str]
    tagged: frozenset[str]

    def refuses_null(self, path: str) -> bool:
        unwritten = path in self.tagged and default_is_null(self.fields[path])
        return path not in self.nullable and not unwritten

    def has(self, path: str) -> bool:
        return not path or path in self.fields


@dataclass(frozen=True)
class MessageMatrix:
    """The versions of a message, grouped into runs that convert alike, and the conversions between these runs."""

    message: Message
    shapes: Mapping[int, Shape]
    runs: tuple[VersionRange, ...]

    @property
    def layouts(self) -> dict[int, MessageLayout]:
        return {version: shape.layout for version, shape in self.shapes.items()}

    @property
    def fields(self) -> dict[str, Field]:
        """The fields of all versions, by path."""
        return {path: field for shape in self.shapes.values() for path, field in shape.fields.items()}

    def conversions(self) -> Iterator[tuple[VersionRange, VersionRange, Conversion]]:
        for source, target in product(self.runs, repeat=2):
            yield source, target, convert(self.shapes[source.low], self.shapes[target.low])

    def signs(self) -> Iterator[tuple[VersionRange, list[str]]]:
        """Yield each run of versions with the symbols for conversions from this run to all runs."""
        for source, row in groupby(self.conversions(), key=lambda conversion: conversion[0]):
            yield source, [SIGNS[to.relation] for _, _, to in row]

    def fields_of_some_versions(self) -> Iterator[tuple[str, VersionRange, str]]:
        """Yield each field that some versions of its struct lack, the versions that have it, and ``dropped`` or
        ``refused if set`` for a conversion to other versions.
        """
        for path, field in self.fields.items():
            having = [version for version, shape in self.shapes.items() if shape.has(path)]
            if having != [version for version, shape in self.shapes.items() if shape.has(parent(path))]:
                yield path, VersionRange.covering(having), "dropped" if field.ignorable else "refused if set"


def message_matrix(message: Message, layouts: Layouts) -> MessageMatrix:
    shapes = {
        version: _shape(half.root, version, layouts.by_message[message.name][version])
        for half in layouts.halves[message.name]
        for version in half.versions
    }

    def alike(version: int) -> object:
        shape = shapes[version]
        return shape.layout, tuple(shape.fields), shape.nullable

    return MessageMatrix(message, shapes, tuple(map(VersionRange.covering, runs_by(list(shapes), alike))))


def convert(source: Shape, target: Shape) -> Conversion:
    """Return the effect of writing a value of ``source`` in ``target``."""
    gone = [path for path in source.fields if path not in target.fields and target.has(parent(path))]
    shared = [path for path in source.fields if path in target.fields]
    new = [path for path in target.fields if path not in source.fields and _is_reached(path, source, target)]
    return Conversion(
        same=source.layout == target.layout,
        lost=tuple(path for path in gone if source.fields[path].ignorable),
        blocking=tuple(path for path in gone if not source.fields[path].ignorable),
        null=tuple(path for path in shared if path in source.nullable and target.refuses_null(path)),
        missing=tuple(path for path in new if default_is_null(target.fields[path]) and target.refuses_null(path)),
    )


def _shape(root: StructCoding, version: int, layout: MessageLayout) -> Shape:
    coded = {one.path: (one.field, run) for one, run in root.at(version)}
    return Shape(
        layout,
        fields={path: field for path, (field, _) in coded.items()},
        nullable=frozenset(path for path, (_, run) in coded.items() if version in run.nullable),
        tagged=frozenset(path for path, (_, run) in coded.items() if run.tagged),
    )


def parent(path: str) -> str:
    """Return the path of the field that contains ``path``, or ``""`` at the top level."""
    return path.rpartition(".")[0].removesuffix("[]")


def _is_reached(path: str, source: Shape, target: Shape) -> bool:
    """Return whether a value of ``source`` has the struct that contains ``path``, possibly built from defaults."""
    around = parent(path)
    if source.has(around):
        return True
    one = target.fields[around]
    has_default = isinstance(one.type, StructType) and not default_is_null(one) and around not in target.tagged
    return has_default and _is_reached(around, source, target)
