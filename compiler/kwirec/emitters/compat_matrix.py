"""What becomes of a value of one version that is written in another, for every message and pair of versions.

Computed from the schema alone. A value of version a, written in version b:

- loses the fields that a has, b lacks, and that are ignorable;
- is refused if a field that a has, b lacks and that is not ignorable has another value than its default
  [KAFKA-WIRE 29], or if a field is null that b does not let be null;
- is refused if it reaches a field that b has and a lacks, whose default is null where b does not let it be.

A field goes with the struct around it: where b lacks ``topics``, nothing is said of ``topics[].name``. Unknown tagged
fields can be written in flexible versions only; that is so of all messages and not repeated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kwirec.emitters.fields import parent
from kwirec.ir.schema import IMPLICIT, ArrayType, Field, Message, PrimitiveType, StructType
from kwirec.lowering import Half, Layouts, MessageLayout
from kwirec.lowering.headers import header_versions
from kwirec.versions import runs_by

SAME, LOSSLESS, LOSSY, INCONVERTIBLE = "same", "lossless", "lossy", "inconvertible"


@dataclass(frozen=True, kw_only=True)
class Conversion:
    """What becomes of values of one version in another. All fields are paths.

    ``same``: the same bytes, nothing to convert. ``lossless``: another layout, and every value survives. ``lossy``:
    every value can be written, the fields in ``lost`` are gone. ``inconvertible``: values cannot be written that have
    a field in ``blocking`` set, one in ``null`` null, or that reach one in ``missing``; all others lose ``lost``.
    """

    same: bool
    lost: tuple[str, ...] = ()
    blocking: tuple[str, ...] = ()
    null: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def relation(self) -> str:
        if self.blocking or self.null or self.missing:
            return INCONVERTIBLE
        if self.lost:
            return LOSSY
        return SAME if self.same else LOSSLESS

    def to_json(self) -> dict[str, object]:
        lists = {"lost": self.lost, "blocking": self.blocking, "null": self.null, "missing": self.missing}
        return {"relation": self.relation} | {name: list(paths) for name, paths in lists.items() if paths}


@dataclass(frozen=True)
class Shape:
    """One version as conversions see it: its live fields by path, those that may be null, those that are tagged."""

    version: int
    layout: MessageLayout
    fields: Mapping[str, Field]
    nullable: frozenset[str]
    tagged: frozenset[str]

    def refuses_null(self, path: str) -> bool:
        unwritten = path in self.tagged and default_is_null(self.fields[path])
        return path not in self.nullable and not unwritten

    @property
    def facts(self) -> tuple[str, tuple[str, ...], frozenset[str]]:
        """Versions that agree in this convert alike."""
        return self.layout.fingerprint, tuple(self.fields), self.nullable


@dataclass(frozen=True)
class MessageMatrix:
    """The versions of a message in runs that convert alike, and what becomes of each run in each other."""

    message: Message
    layouts: Mapping[int, MessageLayout]
    headers: Mapping[int, int]
    shapes: Mapping[int, Shape]
    runs: tuple[tuple[int, ...], ...]

    def convert(self, source: int, target: int) -> Conversion:
        return convert(self.shapes[source], self.shapes[target])

    def conversions(self) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], Conversion]]:
        for source in self.runs:
            for target in self.runs:
                yield source, target, self.convert(source[0], target[0])

    def fields_of_some_versions(self) -> Iterator[tuple[str, Field, list[int]]]:
        """The fields that not every version of the struct around them has: all that conversions can lose."""
        fields = {path: one for shape in self.shapes.values() for path, one in shape.fields.items()}
        having = {path: [v for v, shape in self.shapes.items() if path in shape.fields] for path in fields}
        for path, one in fields.items():
            around = having[parent(path)] if parent(path) else list(self.shapes)
            if having[path] != around:
                yield path, one, having[path]


def message_matrix(message: Message, layouts: Layouts) -> MessageMatrix:
    by_version = layouts.by_message[message.name]
    shapes = {
        version: _shape(half, version, by_version[version])
        for half in layouts.halves[message.name]
        for version in half.versions
    }
    alike = tuple(runs_by(list(shapes), lambda version: shapes[version].facts))
    return MessageMatrix(message, by_version, header_versions(message), shapes, alike)


def convert(source: Shape, target: Shape) -> Conversion:
    """What becomes of a value of ``source`` in ``target``."""
    gone = [path for path in source.fields if path not in target.fields and _has(target, parent(path))]
    kept = [path for path in source.fields if path in target.fields]
    new = [path for path in target.fields if path not in source.fields and _is_reached(path, source, target)]
    return Conversion(
        same=source.layout == target.layout,
        lost=tuple(path for path in gone if source.fields[path].ignorable),
        blocking=tuple(path for path in gone if not source.fields[path].ignorable),
        null=tuple(path for path in kept if path in source.nullable and target.refuses_null(path)),
        missing=tuple(path for path in new if default_is_null(target.fields[path]) and target.refuses_null(path)),
    )


def default_is_null(one: Field) -> bool:
    """Whether a field that is not set is null: also records, whatever their definition says [KAFKA-WIRE 28]."""
    return one.default is None or (one.default is IMPLICIT and one.type == PrimitiveType("records"))


def _shape(half: Half, version: int, layout: MessageLayout) -> Shape:
    coded = {one.path: (one.field, run) for one, run in half.root.at(version)}
    return Shape(
        version,
        layout,
        fields={path: field for path, (field, _) in coded.items()},
        nullable=frozenset(path for path, (_, run) in coded.items() if version in run.nullable),
        tagged=frozenset(path for path, (_, run) in coded.items() if run.tagged),
    )


def _has(shape: Shape, path: str) -> bool:
    return not path or path in shape.fields


def _is_reached(path: str, source: Shape, target: Shape) -> bool:
    """Whether a value of ``source`` has a struct to which ``path`` belongs, be it one that is made from defaults."""
    around = parent(path)
    if _has(source, around):
        return True
    one = target.fields[around]
    made = isinstance(one.type, StructType) and not default_is_null(one) and around not in target.tagged
    return made and not isinstance(one.type, ArrayType) and _is_reached(around, source, target)
