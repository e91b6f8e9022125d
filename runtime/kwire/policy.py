"""Policies for tolerant decoding. By default, only data that a correct peer would write is accepted."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Tags = Literal["strict", "kafka", "preserve"]
    Utf8 = Literal["strict", "replace"]
    Trailing = Literal["error", "ignore"]

_CHOICES = {"tags": ("strict", "kafka", "preserve"), "utf8": ("strict", "replace"), "trailing": ("error", "ignore")}


class Policy:
    """Three independent options for decoding.

    ``tags``: ``strict`` requires tagged fields in ascending order without duplicates, with their declared sizes, and
    only in their ``taggedVersions``. ``kafka`` reads like Kafka's generated classes, which allow any order, use the
    last duplicate, and do not check the declared size of a known tag. ``preserve`` is like ``strict``, but
    outside the ``taggedVersions`` of a known tag, it keeps the field as an unknown tagged field.

    ``utf8``: ``strict`` rejects strings that are not UTF-8, and ``replace`` inserts U+FFFD as Java does.

    ``trailing``: ``error`` rejects bytes after the message, and ``ignore`` ignores them, as Kafka's servers do for
    requests.
    """

    __slots__ = ("tags", "trailing", "utf8")

    def __init__(self, *, tags: Tags = "strict", utf8: Utf8 = "strict", trailing: Trailing = "error") -> None:
        for name, value in (("tags", tags), ("utf8", utf8), ("trailing", trailing)):
            if value not in _CHOICES[name]:
                raise ValueError(f"{name} must be one of {', '.join(_CHOICES[name])}, not {value!r}")
        self.tags: Tags = tags
        self.utf8: Utf8 = utf8
        self.trailing: Trailing = trailing

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Policy):
            return NotImplemented
        return (self.tags, self.utf8, self.trailing) == (other.tags, other.utf8, other.trailing)

    def __hash__(self) -> int:
        return hash((self.tags, self.utf8, self.trailing))

    def __repr__(self) -> str:
        return f"Policy(tags={self.tags!r}, utf8={self.utf8!r}, trailing={self.trailing!r})"


STRICT = Policy()
"""The default policy, which only accepts data that a correct peer would write."""

LIKE_KAFKA = Policy(tags="kafka", utf8="replace", trailing="ignore")
"""The policy that accepts the same data as Kafka's own Java classes."""

__all__ = ["LIKE_KAFKA", "STRICT", "Policy"]
