"""Protocol types as annotations for the models that ``kwirec emit pydantic`` writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.models import kinds
from kwire.uuids import Uuid as Uuid

if TYPE_CHECKING:
    Bool = bool
    Int8 = int
    Int16 = int
    Int32 = int
    Int64 = int
    Uint16 = int
    Uint32 = int
    Size = int
    Float64 = float
    String = str
    Bytes = bytes
    Records = bytes
else:
    Size = kinds.SIZE
    globals().update((kind.capitalize(), annotation) for kind, annotation in kinds.KINDS.items())
