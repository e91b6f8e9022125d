"""How tolerant decoding is. The default accepts what a correct peer writes and nothing else."""

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

    ``tags``: ``strict`` wants tagged fields in ascending order without duplicates, each as long as it says, and none
    below its ``taggedVersions``. ``kafka`` reads as Kafka's generated classes do: any order, the last of duplicates
    wins, the declared size of a known tag is not compared with what was read. ``preserve`` is ``strict``, but a
    known tag below its versions is kept as an unknown one instead of refused.

    ``utf8``: ``strict`` refuses strings that are not UTF-8, ``replace`` puts U+FFFD for what is wrong, as Java does.

    ``trailing``: bytes behind the message are an ``error``, or ignored as Kafka's servers do with requests.
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
"""Accept whatever Kafka's own Java classes accept."""
