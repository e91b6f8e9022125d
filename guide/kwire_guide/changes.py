"""The changes in each version of a message, found by comparing the layouts of consecutive versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kwire_guide.rows import Row, RowsOf, all_rows
from kwirec.lowering.layout import MessageLayout


@dataclass(frozen=True)
class VersionChange:
    """A version and its changes since ``before``, which is ``None`` for the first version.

    ``same`` is true if both versions have the same bytes. Each field is identified by its place, such as
    ``topics.name``. ``nullable`` and ``required`` list fields that became nullable or non-nullable. ``tagged`` lists
    fields that became tagged. Fields of added or removed structs are not listed separately, and changes of length
    encodings are not listed. ``flexible`` is true if the message became flexible. ``compact`` is true if the version
    uses compact lengths.
    """

    version: int
    before: int | None
    same: bool = False
    flexible: bool = False
    compact: bool = False
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    nullable: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    tagged: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def sentences(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield each change as a phrase with the affected fields."""
        if self.before is None:
            yield "is the first version known", ()
        elif self.same:
            yield f"has the same bytes as version {self.before}", ()
        if self.flexible:
            lengths = "lengths are compact, and " if self.compact else ""
            yield f"is the first flexible version: {lengths}tagged fields end every struct", ()
        yield from (
            (text, places)
            for text, places in (
                ("adds", self.added),
                ("removes", self.removed),
                ("allows null for", self.nullable),
                ("no longer allows null for", self.required),
                ("makes tagged fields of", self.tagged),
                ("changes the type of", self.changed),
            )
            if places
        )


def changes(layouts: Mapping[int, MessageLayout], rows_of: RowsOf | None = None) -> list[VersionChange]:
    """Return the changes in each version of a message, oldest first. Pass ``rows_of`` if the
    rows of the layouts exist already.
    """
    rows_of = rows_of or all_rows(layouts)
    found = [VersionChange(version, None) for version in list(layouts)[:1]]
    for (before, old), (version, new) in pairwise(layouts.items()):
        found.append(_change(version, before, rows_of[old], rows_of[new], new.is_flexible and not old.is_flexible))
    return found


def _change(
    version: int, before: int, old_rows: Sequence[Row], new_rows: Sequence[Row], flexible: bool
) -> VersionChange:
    old = {row.place: row for row in old_rows}
    new = {row.place: row for row in new_rows}
    both = [(old[place], row) for place, row in new.items() if place in old]
    return VersionChange(
        version,
        before,
        same=tuple(old_rows) == tuple(new_rows) and not flexible,
        flexible=flexible,
        compact=any("COMPACT_" in row.type for row in new_rows),
        added=_tops(new, old),
        removed=_tops(old, new),
        nullable=tuple(b.place for a, b in both if _is_nullable(b) and not _is_nullable(a)),
        required=tuple(b.place for a, b in both if _is_nullable(a) and not _is_nullable(b)),
        tagged=tuple(b.place for a, b in both if b.tag is not None and a.tag is None),
        changed=tuple(b.place for a, b in both if _plain(a) != _plain(b)),
    )


def _tops(some: Mapping[str, Row], others: Mapping[str, Row]) -> tuple[str, ...]:
    """Return the places that are not in ``others``. Of nested places, return only the outermost."""
    return tuple(
        place for place in some if place not in others and (parent(place) in others or parent(place) not in some)
    )


def parent(place: str) -> str:
    """Return the place of the field that contains this place, or an empty string at the top level."""
    return place.rpartition(".")[0]


def _is_nullable(row: Row) -> bool:
    return "NULLABLE_" in row.type


def _plain(row: Row) -> str:
    """Return the type without nullability and length encoding."""
    return row.type.replace("COMPACT_", "").replace("NULLABLE_", "")
