"""How every field is coded in every version of a message, for both layouts and emitted codecs.

A message has two halves, its classic and its flexible versions. A half is a tree: structs, their fields, and for each
field the runs of versions in which it is coded alike. The layout of one version is that tree with one run picked for
each field; an emitted function is that tree with ``if version >= n`` where there are several.

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
    """How a field is coded in one version.

    A ``tagged`` field is in the tagged section of its struct, which follows all other fields. The length of a
    ``compact`` string, bytes or array is an unsigned varint.
    """

    tagged: bool
    compact: bool
    nullable: bool


def coding(field: Field, version: int, *, flexible: bool) -> Coding | None:
    """Return the coding of ``field`` in ``version``, flexible or classic, or ``None`` if the version lacks the
    field.
    """
    if version not in field.versions:
        return None
    return Coding(
        tagged=flexible and field.tag is not None and version in field.tagged,
        # A field's own flexible versions change how its length is coded and nothing else [KAFKA-WIRE 4].
        compact=flexible and (field.flexible is None or version in field.flexible),
        nullable=version in field.nullable,
    )


@dataclass(frozen=True)
class Run:
    """Neighbouring versions in which a field is coded alike. Null is allowed in the versions in ``nullable``.

    ``struct`` is the struct that the field holds, itself or as elements of its arrays, in these versions.
    """

    versions: Versions
    tagged: bool
    compact: bool
    nullable: Versions
    struct: StructCoding | None = None


@dataclass(frozen=True)
class FieldCoding:
    """A field with its runs; it is absent from all other versions. ``path`` is ``topics[].partitions[].index``."""

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
    """A struct at one place in a message. Its versions are all flexible, and end it with tags, or they are all
    classic.

    ``path`` is ``topics[].partitions[]``, empty for the root. ``fields`` are the fields of any version of the
    message.
    """

    struct: Struct
    path: str
    versions: Versions
    flexible: bool
    fields: tuple[FieldCoding, ...]

    def at(self, version: int) -> Iterator[tuple[FieldCoding, Run]]:
        """Yield the fields of ``version``, from the outside in, each with its run."""
        for one in self.fields:
            run = one.at(version)
            if run is not None:
                yield one, run
                if run.struct is not None:
                    yield from run.struct.at(version)


@dataclass(frozen=True)
class Half:
    """The classic or the flexible versions of a message.

    ``sections`` are the structs with known tagged fields, each by itself and in all versions that the message uses it
    in: a tagged section is rare, so codecs read and write it in a function of its own.
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
