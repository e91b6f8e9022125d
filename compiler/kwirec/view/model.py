"""The classes of the view. All values are plain and immutable, and objects with a name print as the name.

A schema has messages. The structs of a message reflect its definition, and its layouts reflect its bytes.
``Versions`` only contain versions that the message has, so that templates can loop over them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from kwirec.versions import VersionRange

Value = int | float | bool | str | bytes | tuple[()] | None
"""A default value, as described in :class:`Field`."""


@dataclass(frozen=True)
class Versions:
    """Versions of one message in ascending order. Prints as ranges such as ``0-3, 5``."""

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
        """The first and last version of each run of consecutive versions."""
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
    """Has a short ``repr``, which lists use, because a full ``repr`` could show the whole protocol."""

    def __repr__(self) -> str:
        return f"<{self}>"


class _Named(_Printed):
    """Prints as its name."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class EnumValue(_Named):
    """A named integer value."""

    name: str
    value: int
    description: str


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Enum(_Named):
    """Names for the values of an integer field. Peers may send other values."""

    name: str
    type: str
    values: tuple[EnumValue, ...]
    description: str


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ErrorCode(_Named):
    """One error code of the protocol. ``since`` is the first release with the code, if known."""

    name: str
    code: int
    retriable: bool
    since: str | None
    description: str


@dataclass(frozen=True, kw_only=True)
class Type:
    """The type of a field. Prints in the notation of definitions: ``[]FetchTopic``.

    ``kind`` is ``array``, ``struct`` or the name of a primitive type: ``bool``, ``int8``, ``int16``, ``uint16``,
    ``int32``, ``uint32``, ``int64``, ``float64``, ``uuid``, ``string``, ``bytes`` or ``records``. Only arrays have an
    ``element``. Only structs have a ``struct``, the name of a struct in the same message.
    """

    kind: str
    element: Type | None = None
    struct: str | None = None

    @property
    def base(self) -> Type:
        """The innermost element type of nested arrays, or the type itself."""
        return self if self.element is None else self.element.base

    def __str__(self) -> str:
        return f"[]{self.element}" if self.element else self.struct or self.kind


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Field(_Named):
    """One field of a struct.

    The field exists in ``versions``. ``classic`` and ``flexible`` divide these versions by the encoding of the
    message. ``compact`` contains the versions in which the length of the field is a ``uvarint``. These are the
    flexible versions, unless the definition makes an exception. The field can be null in ``nullable`` versions and is
    tagged in ``tagged`` versions. ``default`` is the value of an unset field, even if the definition does not state
    it (``explicit_default``). A default can be ``None``, a boolean, a number, a string, bytes, or ``()``. Uuids are
    bytes, and ``()`` is an empty array or a struct with default values. Print defaults through a literal filter. In
    versions without the field, an ``ignorable`` field is dropped. Other fields are refused in these versions if they
    are set. An array whose elements have a ``map_key`` is a map keyed by this field. ``aliases`` are former names.
    ``since`` is the release that added a tagged field to existing versions. ``python_name`` is the attribute of
    kwire's generated class.
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
    """Fields in wire order. The root struct of a message has the message's name.

    Fields refer to ``common`` structs by name. ``python_class`` is the class in kwire's generated module.
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
    """The encoding of a value in one version. Prints in the notation of layouts: ``cstr?``.

    ``kind`` is ``array``, ``struct`` or the name of a primitive type. ``width`` is the size of fixed-size values in
    bytes. Other values except structs begin with a length or count. The length is an ``int16`` or ``int32`` with -1
    for null, or a ``uvarint`` of the length plus one with 0 for null. A null marker precedes a nullable struct. The
    marker is an int8 with -1 for null and 1 otherwise, or in a tagged field a ``uvarint`` with 0 for null and 1
    otherwise. Only arrays have an ``element``. Only structs have ``fields`` and a ``struct``, which is their name. A
    ``flexible`` struct ends with a tagged section, even if it has no known tagged fields.
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
        """The innermost element kind of nested arrays, or the kind itself."""
        return self if self.element is None else self.element.base

    @property
    def untagged(self) -> tuple[LayoutField, ...]:
        """The fields of a struct before its tagged section."""
        return tuple(one for one in self.fields if one.tag is None)

    @property
    def tagged(self) -> tuple[LayoutField, ...]:
        """The known fields in the tagged section of a struct, in tag order."""
        return tuple(one for one in self.fields if one.tag is not None)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LayoutField(_Named):
    """One struct field in one layout, with its encoding and the ``field`` of the definition.

    ``path`` leads from the root to the field by the attribute names of kwire's generated classes:
    ``topics[].partitions[].index``.
    """

    name: str
    path: str
    kind: WireKind
    tag: int | None
    default: Value
    field: Field = field(metadata={"json": ""})


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Layout(_Printed):
    """The byte layout of a message in all ``versions`` with equal bytes and field names. Prints as its number.

    ``number`` is the index in the message's ``layouts``. ``fingerprint`` depends only on the bytes and is stable
    across runs and releases of kwire. ``text`` is the whole layout in a short notation.
    """

    number: int
    fingerprint: str
    versions: Versions
    flexible: bool
    text: str
    body: WireKind

    @property
    def fields(self) -> tuple[LayoutField, ...]:
        """The fields of the root, untagged fields first."""
        return self.body.fields

    def __str__(self) -> str:
        return str(self.number)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Version(_Printed):
    """One version of a message. Prints as its number.

    ``header`` is the header version, or ``None`` for messages without a header. ``status`` is ``stable``,
    ``deprecated``, ``unstable``, ``removed`` or ``not published`` in the newest release. If no release is known,
    ``status`` is the status in the definitions. ``releases`` contains the first and last release of each span of
    releases that have the version.
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
    ``coordinator-value``. ``api`` is the name without ``Request`` or ``Response``. ``newest`` is the last stable
    version, or the last version if none is stable. ``valid.high`` may be unstable. ``structs`` begins with the root.
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
    newest: int
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

    ``releases`` contains the first and last release of each span of releases, and the versions that its brokers
    accept.
    """

    name: str
    key: int
    request: Message | None = field(metadata={"json": "name"})
    response: Message | None = field(metadata={"json": "name"})
    releases: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Release(_Named):
    """A release with known facts."""

    name: str
    apis: int


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Schema(_Printed):
    """A whole protocol, or the part that ``--only`` selects.

    Messages without versions are left out. Releases are ordered from oldest to newest. There are none if the
    definition folder has no release history.
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
        """Return all messages of one kind, such as ``header``."""
        return tuple(one for one in self.messages if one.kind == kind)

    def __str__(self) -> str:
        return f"{len(self.messages)} messages"
