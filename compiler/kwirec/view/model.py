"""The classes of the view. All values are plain and immutable, and each class prints as its name.

A schema has messages. A message has structs, as authors think of it, and layouts, as the bytes are. ``Versions`` are
always versions that the message has, so that templates can loop over them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from kwirec.versions import VersionRange

Value = int | float | bool | str | bytes | tuple[()] | None
"""A default. ``bytes`` also for uuids. ``()`` is an empty array, or a struct of defaults."""


@dataclass(frozen=True)
class Versions:
    """Versions of one message in ascending order. Prints as ranges: ``0-3, 5``."""

    numbers: tuple[int, ...] = ()

    @property
    def low(self) -> int | None:
        """The first version, or ``None`` for an empty range."""
        return self.numbers[0] if self.numbers else None

    @property
    def high(self) -> int | None:
        """The last version, or ``None`` for an empty range."""
        return self.numbers[-1] if self.numbers else None

    @property
    def ranges(self) -> tuple[tuple[int, int], ...]:
        """The first and last version of each run of neighbours."""
        return tuple((run.low, run.high) for run in VersionRange.runs(self.numbers))

    def __iter__(self) -> Iterator[int]:
        return iter(self.numbers)

    def __contains__(self, version: object) -> bool:
        return version in self.numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def __str__(self) -> str:
        return ", ".join(map(str, VersionRange.runs(self.numbers)))


class _Printed:
    """Prints in short in lists, too: a view in full would be the whole protocol."""

    def __repr__(self) -> str:
        return f"<{self}>"


class _Named(_Printed):
    """Prints as its name."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class EnumValue(_Named):
    """A name for one value of an integer."""

    name: str
    value: int
    description: str


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Enum(_Named):
    """Names for values of integer fields. Peers may send values that it lacks."""

    name: str
    type: str
    values: tuple[EnumValue, ...]
    description: str


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ErrorCode(_Named):
    """One error code of the protocol. ``since`` is the first release that has it, if known."""

    name: str
    code: int
    retriable: bool
    since: str | None
    description: str


@dataclass(frozen=True, kw_only=True)
class Type:
    """The type of a field. Prints as definitions write it: ``[]FetchTopic``.

    ``kind`` is ``array``, ``struct`` or the name of a primitive, such as ``int32``. Only arrays have an ``element``,
    and only structs a ``struct``, which is the name of a struct of the same message.
    """

    kind: str
    element: Type | None = None
    struct: str | None = None

    @property
    def base(self) -> Type:
        """The type below all arrays."""
        return self if self.element is None else self.element.base

    def __str__(self) -> str:
        return f"[]{self.element}" if self.element else self.struct or self.kind


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Field(_Named):
    """One field of a struct.

    ``versions`` have the field. They are split into ``classic`` and ``flexible`` ones, in which the encoding of the
    message is flexible. Its length is a ``uvarint`` in ``compact``, which are all flexible ones unless the definition
    has an exception. Null is allowed in ``nullable``, and the field is tagged in ``tagged``. ``default`` is the
    value if nothing is set, also if the definition gives none (``explicit_default``). An ``ignorable`` field is lost
    in versions without it, others are refused if they are set. Arrays with a ``map_key`` are maps by this field.
    ``aliases`` are former names. ``since`` is the release that added a tagged field to existing versions.
    ``python_name`` is the attribute in kwire's generated class.
    """

    name: str
    type: Type
    versions: Versions
    classic: Versions
    flexible: Versions
    compact: Versions
    nullable: Versions
    tagged: Versions
    tag: int | None
    default: Value
    explicit_default: bool
    ignorable: bool
    map_key: bool
    zero_copy: bool
    entity_type: str | None
    enum: Enum | None = field(metadata={"json": "name"})
    aliases: tuple[str, ...]
    since: str | None
    description: str
    python_name: str


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Struct(_Named):
    """Fields in the order of the wire. The root of a message has the message's name.

    ``common`` structs are used by name. ``python_class`` is the class in kwire's generated module.
    """

    name: str
    root: bool
    common: bool
    versions: Versions
    fields: tuple[Field, ...]
    description: str
    python_class: str

    def field(self, name: str) -> Field | None:
        """Return the field of this name, or ``None``."""
        return next((one for one in self.fields if one.name == name), None)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class WireKind(_Printed):
    """The coding of a value in one version. Prints as layouts write it: ``cstr?``.

    ``kind`` is ``array``, ``struct`` or the name of a primitive. ``width`` is the number of bytes of values of fixed
    size. Other values except structs have a length or count, ``int16``, ``int32`` or ``uvarint`` of it plus one, with
    -1 or 0 for null. A nullable struct follows a mark: an int8, -1 for null and else 1, or within a tagged field a
    ``uvarint``, 0 for null and else 1. Only arrays have an ``element``, and only structs ``fields`` and a ``struct``,
    its name. A ``flexible`` struct ends with a section of tagged fields, whether it knows any or not.
    """

    kind: str
    nullable: bool
    width: int | None
    length: str | None
    element: WireKind | None
    struct: str | None
    flexible: bool
    fields: tuple[LayoutField, ...]
    text: str

    @property
    def base(self) -> WireKind:
        """The kind below all arrays."""
        return self if self.element is None else self.element.base

    @property
    def untagged(self) -> tuple[LayoutField, ...]:
        """The fields of a struct before its tagged section."""
        return tuple(one for one in self.fields if one.tag is None)

    @property
    def tagged(self) -> tuple[LayoutField, ...]:
        """The known fields of the tagged section of a struct, by tag."""
        return tuple(one for one in self.fields if one.tag is not None)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LayoutField(_Named):
    """One field of a struct in one layout, with its coding and the definition's ``field``.

    ``path`` leads to it from the root, in the names of kwire's generated classes: ``topics[].partitions[].index``.
    """

    name: str
    path: str
    kind: WireKind
    tag: int | None
    default: Value
    field: Field = field(metadata={"json": ""})


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Layout(_Printed):
    """The bytes of a message in all ``versions`` with equal bytes and equal names of fields. Prints as its number.

    ``number`` is its place in ``layouts`` of the message. ``fingerprint`` stands for the bytes only, and does not
    change between runs and releases of kwire. ``text`` is the whole layout in short.
    """

    number: int
    fingerprint: str
    versions: Versions
    flexible: bool
    text: str
    body: WireKind

    @property
    def fields(self) -> tuple[LayoutField, ...]:
        """The fields of the root, untagged ones first."""
        return self.body.fields

    def __str__(self) -> str:
        return str(self.number)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Version(_Printed):
    """One version of a message. Prints as its number.

    ``header`` is the version of the header before it, or ``None`` for messages without a header. ``status`` is
    ``stable``, ``deprecated``, ``unstable``, ``removed`` or ``not published`` in the newest release, and if none is
    known, in the definitions. ``releases`` are first and last releases of the spans that have the version.
    """

    number: int
    flexible: bool
    header: int | None
    status: str
    releases: tuple[tuple[str, str], ...]
    layout: Layout = field(metadata={"json": "number"})

    def __str__(self) -> str:
        return str(self.number)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Message(_Named):
    """One message with all its versions, or with the versions that ``--only`` selects.

    ``kind`` is ``request``, ``response``, ``header``, ``data``, ``metadata``, ``coordinator-key`` or
    ``coordinator-value``. ``api`` is the name without ``Request`` and ``Response``. ``structs`` has the root first.
    ``python_module`` is the module in kwire's generated package, such as ``api.fetch``.
    """

    name: str
    kind: str
    api: str
    api_key: int | None
    listeners: tuple[str, ...]
    valid: Versions
    classic: Versions
    flexible: Versions
    deprecated: Versions
    unstable: Versions
    structs: tuple[Struct, ...]
    versions: tuple[Version, ...]
    layouts: tuple[Layout, ...]
    aliases: tuple[str, ...]
    description: str
    python_module: str

    @property
    def root(self) -> Struct:
        """The struct of the message itself."""
        return self.structs[0]

    def struct(self, name: str) -> Struct | None:
        """Return the struct of this name, or ``None``."""
        return next((one for one in self.structs if one.name == name), None)

    def version(self, number: int) -> Version | None:
        """Return the version of this number, or ``None``."""
        return next((one for one in self.versions if one.number == number), None)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Api(_Named):
    """A request and its response. Either may be missing.

    ``releases`` has, for each span of releases, the first and last of them and the versions that brokers accept.
    """

    name: str
    key: int
    request: Message | None = field(metadata={"json": "name"})
    response: Message | None = field(metadata={"json": "name"})
    releases: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Release(_Named):
    """A release whose facts are known."""

    name: str
    apis: int


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Schema(_Printed):
    """A whole protocol, or what ``--only`` selects of it.

    Messages without versions are left out. Releases are in their order, oldest first, and empty if the folder of
    definitions does not have their history.
    """

    messages: tuple[Message, ...]
    apis: tuple[Api, ...]
    enums: tuple[Enum, ...]
    errors: tuple[ErrorCode, ...]
    releases: tuple[Release, ...]

    @cached_property
    def _by_name(self) -> dict[str, Message]:
        return {message.name: message for message in self.messages}

    def message(self, name: str) -> Message | None:
        """Return the message of this name, or ``None``."""
        return self._by_name.get(name)

    def of_kind(self, kind: str) -> tuple[Message, ...]:
        """Return the messages of one kind, such as ``header``."""
        return tuple(one for one in self.messages if one.kind == kind)

    def __str__(self) -> str:
        return f"{len(self.messages)} messages"
