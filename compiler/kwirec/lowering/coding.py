"""Describes how each field is coded in each version of a message. Layouts and emitted codecs are derived from these
descriptions.

A message has two halves, its classic and its flexible versions. A half is a tree of structs and fields. Each field
has runs of versions that code it in the same way. The layout of a version is this tree with one run selected for each
field. An emitted function follows the same tree, with ``if version >= n`` where a field has several runs.

::

    Topics     []Topic  versions=0+ nullable=1+        classic half, versions 0-2:
      Name     string   versions=0+             →        topics          0-2  nullable in 1-2
      Offset   int64    versions=2+                      topics[].name   0-2
                                                         topics[].offset 2
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kwirec.ir.schema import Field, Message, Struct

Versions = tuple[int, ...]


@dataclass(frozen=True)
class Coding:
    """The coding of a field in one version.

    A ``tagged`` field is in the tagged section of its struct, which follows all other fields. The length of a
    ``compact`` string, bytes or array is an unsigned varint.
    """

    tagged: bool
    compact: bool
    nullable: bool


def coding(field: Field, version: int, *, flexible: bool) -> Coding | None:
    """Return the coding of ``field`` in a flexible or classic ``version``, or ``None`` without the field."""
    if version not in field.versions:
        return None
    return Coding(
        tagged=flexible and field.tag is not None and version in field.tagged,
        # A field's own flexible versions only change how its length is coded [KAFKA-WIRE 4].
        compact=flexible and (field.flexible is None or version in field.flexible),
        nullable=version in field.nullable,
    )


@dataclass(frozen=True)
class Run:
    """Consecutive versions that code a field in the same way. The field can be null in ``nullable`` versions.

    ``struct`` is the coding of the struct that the field or its array elements hold in these versions.
    """

    versions: Versions
    tagged: bool
    compact: bool
    nullable: Versions
    struct: StructCoding | None = None


@dataclass(frozen=True)
class FieldCoding:
    """A field and the runs of versions that contain it. ``path`` is a path like ``topics[].partitions[].index``."""

    field: Field
    path: str
    runs: tuple[Run, ...]

    def at(self, version: int) -> Run | None:
        return next((run for run in self.runs if version in run.versions), None)

    @property
    def untagged(self) -> tuple[Run, ...]:
        return tuple(run for run in self.runs if not run.tagged)

    @property
    def tagged(self) -> tuple[Run, ...]:
        return tuple(run for run in self.runs if run.tagged)

    @property
    def tagged_versions(self) -> Versions:
        return tuple(version for run in self.tagged for version in run.versions)


@dataclass(frozen=True)
class StructCoding:
    """A struct at one place in a message. Its versions are either all classic, or all flexible, in which case the
    struct ends with tagged fields.

    ``path`` is a path like ``topics[].partitions[]``, or ``""`` for the root. ``fields`` contains the fields of all
    message versions.
    """

    struct: Struct
    path: str
    versions: Versions
    flexible: bool
    fields: tuple[FieldCoding, ...]

    def at(self, version: int) -> Iterator[tuple[FieldCoding, Run]]:
        """Yield the fields of ``version`` with their runs. Outer fields precede inner fields."""
        for one in self.fields:
            run = one.at(version)
            if run is not None:
                yield one, run
                if run.struct is not None:
                    yield from run.struct.at(version)


@dataclass(frozen=True)
class Half:
    """The classic or the flexible versions of a message.

    ``sections`` contains the structs with known tagged fields, in all versions in which the message uses these
    structs. Tagged sections are rare, so codecs read and write each of them in a separate function.
    """

    message: Message
    root: StructCoding
    sections: tuple[StructCoding, ...]

    @property
    def versions(self) -> Versions:
        return self.root.versions

    @property
    def flexible(self) -> bool:
        return self.root.flexible
