"""Names for the values of integer fields."""

from __future__ import annotations

from enum import IntEnum

from kwire.schema import description
from kwire_rules import INTEGER_RANGES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Self


class ProtocolEnum(IntEnum):
    """The named values of an integer field. Members are integers.

    Values without a name, which newer peers may send, become members ``UNKNOWN_n``. Values outside the range of the
    integer type raise ``ValueError``. A subclass sets the type, as in ``class Phase(ProtocolEnum, type="int8")``.
    """

    _bounds: ClassVar[tuple[int, int]]

    def __init_subclass__(cls, *, type: str, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        cls._bounds = INTEGER_RANGES[type]

    @property
    def description(self) -> str:
        """The meaning of the value on one line, or ``""`` if the value has no name."""
        return description(type(self), self.name)

    @classmethod
    def name_of(cls, value: object) -> str:
        """Return the name of a value, or ``""`` if the value has no name."""
        member = cls._value2member_map_.get(value)
        return "" if member is None else member.name

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        low, high = cls._bounds
        if type(value) is not int or not low <= value <= high:
            return None
        member = int.__new__(cls, value)
        member._name_ = f"UNKNOWN_{value}"
        member._value_ = value
        return member


def as_dict(enum: type[ProtocolEnum]) -> dict[str, Any]:
    """Return an enum as plain data, with its ``name`` and its ``values`` by name."""
    return {"name": enum.__name__, "values": {member.name: member.value for member in enum}}


__all__ = ["ProtocolEnum"]
