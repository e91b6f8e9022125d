"""The tolerance of decoding. The default accepts only data that a correct peer writes."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Tags = Literal["strict", "kafka", "preserve"]
    Utf8 = Literal["strict", "replace"]
    Trailing = Literal["error", "ignore"]

_CHOICES = {"tags": ("strict", "kafka", "preserve"), "utf8": ("strict", "replace"), "trailing": ("error", "ignore")}


class Policy:
    """Three independent choices.

    ``tags``: ``strict`` requires tagged fields in ascending order without duplicates, each of its declared size, and
    none below its ``taggedVersions``. ``kafka`` reads like Kafka's generated classes: any order, the last duplicate
    wins, the declared size of a known tag is not checked. ``preserve`` is ``strict``, but keeps a known tag below its
    versions as an unknown one.

    ``utf8``: ``strict`` rejects strings that are not UTF-8, ``replace`` substitutes U+FFFD as Java does.

    ``trailing``: bytes after the message are an ``error``, or ignored (``ignore``) as Kafka's servers do with
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
"""The default: accept only what a correct peer writes."""

LIKE_KAFKA = Policy(tags="kafka", utf8="replace", trailing="ignore")
"""Accept everything that Kafka's own Java classes accept."""

__all__ = ["LIKE_KAFKA", "STRICT", "Policy"]
