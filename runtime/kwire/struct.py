"""The base class of all generated structs, which compares, prints and copies them."""

from __future__ import annotations

from kwire.native import mypyc_attr
from kwire.schema import attributes
from kwire.secrets import HIDDEN, STRUCTS, hides_tags, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Final, Self

    from kwire.schema import Field

FieldTags = tuple[tuple[int, bytes], ...]
"""Unknown tagged fields as pairs of tag and payload, in ascending order of tags."""

UNSET: Final[list[Any]] = []
"""The default of list parameters, which constructors replace with a new list. ``None`` would mean null."""

SHOWN_BYTES = 64
"""Maximum number of bytes that ``repr`` shows in full."""


@mypyc_attr(acyclic=True, allow_interpreted_subclasses=True)
class Struct:
    """A group of fields, stored as attributes. ``unknown_tags`` preserves unknown tagged fields. Structs are mutable
    and not hashable."""

    __slots__ = ()

    FIELDS: ClassVar[tuple[Field, ...]] = ()
    """The fields as data, in wire order."""

    FLEXIBLE_VERSIONS: ClassVar[range] = range(0)
    """The message versions in which structs end with tagged fields and lengths are compact [KIP-482]."""

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed.

        Lists and structs that are not replaced are shared with the original.
        """
        names = [*[field.name for field in self.FIELDS], "unknown_tags"]
        return type(self)(**{name: getattr(self, name) for name in names} | changes)

    def __replace__(self, /, **changes: Any) -> Self:
        """Support ``copy.replace`` in Python 3.13."""
        return self.replace(**changes)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        for slot in attributes(type(self)):
            mine, theirs = getattr(self, slot), getattr(other, slot)
            if mine is None and theirs is None:
                continue
            if slot[0] == "_":  # created on first access, and so far only on one side
                mine, theirs = getattr(self, slot[1:]), getattr(other, slot[1:])
            if mine != theirs:
                return False
        return True

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for copies. By default, a native base class omits attributes of an interpreted class."""
        return {slot: getattr(self, slot) for slot in attributes(type(self))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for slot, value in state.items():
            setattr(self, slot, value)

    def __repr__(self) -> str:
        """Return the fields as text, with secrets hidden as ``kwire.secrets`` defines them."""
        name = type(self).__name__
        hidden = shown(self) if name in STRUCTS else {}
        texts = []
        for field in self.FIELDS:
            value = getattr(self, field.name)
            text = hidden.get(field.name) or (_shown(value) if type(value) is bytes else repr(value))
            texts.append(f"{field.name}={text}")
        unknown = getattr(self, "unknown_tags", ())
        if unknown:
            texts.append(f"unknown_tags={HIDDEN if hides_tags(type(self)) else repr(unknown)}")
        return f"{name}({', '.join(texts)})"


def _shown(value: bytes) -> str:
    return repr(value) if len(value) <= SHOWN_BYTES else f"<{len(value):,} bytes: {value[:16].hex()}…>"


__all__ = ["FieldTags", "Struct"]
