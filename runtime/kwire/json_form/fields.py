"""Which fields a struct has in one version, as its JSON form needs to know them: read off the codec class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kwire.message import Struct

if TYPE_CHECKING:
    from kwire.message import FieldSpec

SIZE_NAME = "SizeInBytes"
"""What follows the name of records where only their size is given."""


@dataclass(frozen=True, kw_only=True)
class LiveField:
    """A field that the version has.

    ``codec_name`` is its attribute in the codec class, ``json_names`` its name in Kafka's JSON form followed by the
    ones it had in earlier releases. ``default`` is that of the codec class; only ``tagged`` fields may be left out.
    """

    codec_name: str
    json_names: tuple[str, ...]
    kind: str
    nullable: bool
    tagged: bool
    default: Any

    @property
    def json_name(self) -> str:
        return self.json_names[0]

    @property
    def is_records(self) -> bool:
        return self.kind == "records"


@dataclass(frozen=True, kw_only=True)
class LackedField:
    """A field that the version lacks and that may not be ignored: it must have its default."""

    codec_name: str
    json_name: str
    default: Any


def live_fields(struct: type[Struct], version: int, *, flexible: bool) -> tuple[LiveField, ...]:
    """The fields that ``version`` has, in wire order."""
    defaults = struct()
    return tuple(
        LiveField(
            codec_name=spec[0],
            json_names=tuple(dict.fromkeys([json_name(spec), *struct.FORMER.get(spec[0], ())])),
            kind=spec[2],
            nullable=_within(version, spec[4]),
            tagged=flexible and _within(version, spec[6]),
            default=getattr(defaults, spec[0]),
        )
        for spec in struct.FIELDS
        if _within(version, spec[3])
    )


def lacked_fields(struct: type[Struct], version: int) -> tuple[LackedField, ...]:
    """The fields that ``version`` lacks and may not ignore."""
    defaults = struct()
    return tuple(
        LackedField(codec_name=spec[0], json_name=json_name(spec), default=getattr(defaults, spec[0]))
        for spec in struct.FIELDS
        if not spec[8] and not _within(version, spec[3])
    )


def json_name(spec: FieldSpec) -> str:
    """``ISR`` → ``iSR``: Kafka lowers the first letter and no other."""
    return spec[1][0].lower() + spec[1][1:]


def _within(version: int, versions: tuple[int, int] | None) -> bool:
    return versions is not None and versions[0] <= version <= versions[1]
