"""Message fields as data, for decoding, printing, describing and converting messages without emitted code.

``FIELDS`` of a generated class contains ``Field`` objects. ``present_fields`` resolves them for one version, and
``walk`` yields all fields of a message and the structs in it. Codecs import this module, so it has very few imports.
"""

from __future__ import annotations

import sys
from operator import index

from kwire.errors import UnknownVersionError
from kwire_rules import SIZES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, NoReturn

    from kwire.enums import ProtocolEnum
    from kwire.message import Message
    from kwire.struct import Struct

BLOBS = ("string", "bytes", "records")
"""The variable-size types."""

NEVER = range(0)

_set = object.__setattr__


class Field:
    """One field of a struct in all versions of its message. Fields are immutable."""

    name: str
    """The attribute name in the class, such as ``topic_id``."""
    defined_name: str
    """The name in the definition file, such as ``TopicId``."""
    type: str
    """The type in the notation of definitions, with class names for structs, such as ``[]FetchTopic``."""
    versions: range
    """The versions that contain the field."""
    nullable: range
    """The versions in which the field may be null."""
    tag: int | None
    """The tag [KIP-482], or ``None`` for a field that is never tagged."""
    tagged: range
    """The versions in which the field is tagged."""
    flexible: range | None
    """The versions with a compact length, or ``None`` for the message's flexible versions [KAFKA-WIRE 4]."""
    ignorable: bool
    """Whether encoding drops the value if the version lacks the field."""
    former_names: tuple[str, ...]
    """Names of the field in the JSON form of earlier releases."""
    enum: str
    """The name of the enum for the values (see ``enum_class``), or ``""``."""

    __slots__ = tuple(__annotations__)

    def __init__(
        self,
        name: str,
        defined_name: str,
        type: str,
        versions: range,
        *,
        nullable: range = NEVER,
        tag: int | None = None,
        tagged: range = NEVER,
        flexible: range | None = None,
        ignorable: bool = False,
        former_names: tuple[str, ...] = (),
        enum: str = "",
    ) -> None:
        set = _set
        set(self, "name", name)
        set(self, "defined_name", defined_name)
        set(self, "type", type)
        set(self, "versions", versions)
        set(self, "nullable", nullable)
        set(self, "tag", tag)
        set(self, "tagged", tagged)
        set(self, "flexible", flexible)
        set(self, "ignorable", ignorable)
        set(self, "former_names", former_names)
        set(self, "enum", enum)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Field is immutable: cannot set {name!r}")

    def __repr__(self) -> str:
        shown = [repr(self.name), repr(self.defined_name), repr(self.type), repr(self.versions)]
        for name, default in _DEFAULTS.items():
            value = getattr(self, name)
            if value != default:
                shown.append(f"{name}={value!r}")
        return f"Field({', '.join(shown)})"

    @property
    def json_name(self) -> str:
        """The name in Kafka's JSON form, with only the first letter in lower case: ``ISR`` → ``iSR``."""
        return self.defined_name[:1].lower() + self.defined_name[1:]

    @property
    def json_names(self) -> tuple[str, ...]:
        """``json_name`` and the former names, without duplicates."""
        return tuple(dict.fromkeys((self.json_name, *self.former_names)))

    @property
    def is_array(self) -> bool:
        """Whether the field is an array."""
        return self.type.startswith("[]")

    @property
    def element_type(self) -> str:
        """The element type of an array, or the type of any other field."""
        return self.type.removeprefix("[]")


_DEFAULTS = Field.__init__.__kwdefaults__ or {}


class PresentField(Field):
    """A field in a version that contains it."""

    __slots__ = ("default", "is_compact", "is_nullable", "is_tagged")

    is_nullable: bool
    """Whether the field may be null in this version."""
    is_tagged: bool
    """Whether the field is tagged in this version. Tagged fields with their default value are not written."""
    is_compact: bool
    """Whether the length is an unsigned varint of length + 1 instead of a fixed-size integer [KIP-482]."""
    default: Any
    """The field's value in a new object. Do not modify it, because lists and structs are shared."""

    def __init__(self, field: Field, default: Any, version: int, *, flexible: bool) -> None:
        _copy(field, self)
        _set(self, "is_nullable", version in field.nullable)
        _set(self, "is_tagged", version in field.tagged)
        _set(self, "is_compact", flexible and (field.flexible is None or version in field.flexible))
        _set(self, "default", default)


class AbsentField(Field):
    """A non-ignorable field that a version lacks. Encoding accepts only its default value."""

    __slots__ = ("default",)

    default: Any

    def __init__(self, field: Field, default: Any) -> None:
        _copy(field, self)
        _set(self, "default", default)


def _copy(field: Field, copy: Field) -> None:
    for name in Field.__slots__:
        _set(copy, name, getattr(field, name))


def slots(fields: Sequence[Field], lazy: Sequence[str] = ()) -> tuple[str, ...]:
    """Return ``__slots__`` for a class with these fields.

    The slots of ``lazy`` fields, which are structs created on first access, begin with an underscore.
    """
    return (*[f"_{field.name}" if field.name in lazy else field.name for field in fields], "unknown_tags")


_ATTRIBUTES: dict[type[Struct], tuple[str, ...]] = {}


def attributes(cls: type[Struct]) -> tuple[str, ...]:
    """Return the names of the attributes that store values. These names equal ``__slots__``, which native classes
    lack."""
    known = _ATTRIBUTES.get(cls)
    if known is None:
        lazy = [field.name for field in cls.FIELDS if hasattr(cls, f"_{field.name}")]
        known = _ATTRIBUTES[cls] = slots(cls.FIELDS, lazy)
    return known


def fields(cls: type[Struct], version: int | None = None) -> tuple[Field, ...]:
    """Return the fields of a class in wire order, for all versions or only for ``version``."""
    return cls.FIELDS if version is None else present_fields(cls, version)


def valid_version(cls: type[Message], version: int) -> int:
    """Return ``version`` as an ``int``.

    Raise ``kwire.errors.UnknownVersionError`` if the message does not have this version.
    """
    version = index(version)
    if version not in cls.VALID_VERSIONS:
        raise UnknownVersionError(version, cls.VALID_VERSIONS, of=cls.__name__)
    return version


def present_fields(cls: type[Struct], version: int) -> tuple[PresentField, ...]:
    """Return the fields of ``version`` in wire order."""
    return _fields(cls, version)[0]


def absent_fields(cls: type[Struct], version: int) -> tuple[AbsentField, ...]:
    """Return the non-ignorable fields that ``version`` lacks."""
    return _fields(cls, version)[1]


_FIELDS: dict[tuple[type[Struct], int], tuple[tuple[PresentField, ...], tuple[AbsentField, ...]]] = {}


def _fields(cls: type[Struct], version: int) -> tuple[tuple[PresentField, ...], tuple[AbsentField, ...]]:
    known = _FIELDS.get((cls, version))
    if known is None:
        defaults = cls()
        flexible = version in cls.FLEXIBLE_VERSIONS
        present, absent = [], []
        for field in cls.FIELDS:
            default = getattr(defaults, field.name)
            if version in field.versions:
                present.append(PresentField(field, default, version, flexible=flexible))
            elif not field.ignorable:
                absent.append(AbsentField(field, default))
        known = _FIELDS[cls, version] = tuple(present), tuple(absent)
    return known


def struct_class(owner: type[Struct], field: Field) -> type[Struct] | None:
    """Return the struct class of a field of ``owner`` or of its array elements, or ``None`` for other types."""
    name = field.type.removeprefix("[]")
    if name in SIZES or name in BLOBS:
        return None
    found: type[Struct] = getattr(sys.modules[owner.__module__], name)
    return found


def enum_class(owner: type[Struct], field: Field) -> type[ProtocolEnum] | None:
    """Return the enum for the values or elements of a field of ``owner``, or ``None`` if there is no enum.

    Enums are in the ``enums`` module of the generated package, which is imported by this call.
    """
    if not field.enum:
        return None
    if (owner, field.enum) not in _ENUMS:
        found = None
        for package in _packages(owner):
            try:
                __import__(f"{package}.enums")
            except ModuleNotFoundError:
                continue
            found = getattr(sys.modules[f"{package}.enums"], field.enum, None)
            if found is not None:  # the module of a message may also be called enums
                break
        _ENUMS[owner, field.enum] = found
    return _ENUMS[owner, field.enum]


_ENUMS: dict[tuple[type[Struct], str], type[ProtocolEnum] | None] = {}


def _packages(cls: type) -> Iterator[str]:
    """Yield the packages that contain a class, innermost first. One of these packages is the generated package."""
    package = cls.__module__.rpartition(".")[0]
    while package:
        yield package
        package = package.rpartition(".")[0]


def walk(cls: type[Struct], version: int | None = None, path: str = "") -> Iterator[tuple[str, type[Struct], Field]]:
    """Yield the path, owner and field of each field in ``cls`` and its structs, in all versions or in one version.

    Outer fields precede inner fields. An example of a path is ``topics.partitions.leader_epoch``.
    """
    for field in cls.FIELDS:
        if version is None or version in field.versions:
            place = f"{path}{field.name}"
            yield place, cls, field
            inner = struct_class(cls, field)
            if inner is not None:
                yield from walk(inner, version, f"{place}.")


def description(cls: type[Struct] | type[ProtocolEnum], name: str = "") -> str:
    """Return the description of a class, its field ``name`` or its member ``name``, or ``""`` if there is none.

    The descriptions are in the generated package's ``descriptions.json``.
    """
    for package in _packages(cls):
        if package not in _DESCRIPTIONS:
            _DESCRIPTIONS[package] = _read_descriptions(package)
        modules = _DESCRIPTIONS[package]
        if modules:
            module = cls.__module__.removeprefix(f"{package}.")
            return modules.get(module, {}).get(cls.__name__, {}).get(name, "")
    return ""


_DESCRIPTIONS: dict[str, dict[str, dict[str, dict[str, str]]]] = {}


def _read_descriptions(package: str) -> dict[str, dict[str, dict[str, str]]]:
    import json
    from pkgutil import get_data  # also reads from zip files

    try:
        found: dict[str, dict[str, dict[str, str]]] = json.loads(get_data(package, "descriptions.json") or b"{}")
    except OSError:
        return {}
    return found


def format_versions(versions: range, valid: range) -> str:
    """Return ``versions`` as text, such as ``0-12``, ``4`` or ``none``.

    The text is open-ended, such as ``13+``, if the range ends with the last ``valid`` version.
    """
    if not versions:
        return "none"
    if versions.stop == valid.stop:
        return f"{versions.start}+"
    return f"{versions.start}-{versions.stop - 1}" if len(versions) > 1 else f"{versions.start}"


def document(cls: type[Struct]) -> str:
    """Return a docstring for ``cls``, with its description and versions, and the name, type, versions and description
    of each field."""
    from textwrap import fill

    lines = [description(cls)]
    valid: range | None = getattr(cls, "VALID_VERSIONS", None)
    if valid:
        flexible = format_versions(cls.FLEXIBLE_VERSIONS, valid)
        lines += ["", f"Versions {format_versions(valid, NEVER)}, flexible {flexible}."]
    if cls.FIELDS:
        lines += ["", "Fields:"]
    for field in cls.FIELDS:
        first, last = field.versions.start, field.versions.stop - 1
        versions = f"version {first}" if first == last else f"versions {first}-{last}"
        shown = f"{field.name} ({field.type}, {versions}): {description(cls, field.name)}".rstrip(" :")
        lines.append(fill(shown, 100, initial_indent="    ", subsequent_indent="        "))
    return "\n".join(lines)


__all__ = [
    "AbsentField",
    "Field",
    "PresentField",
    "absent_fields",
    "description",
    "enum_class",
    "fields",
    "format_versions",
    "present_fields",
    "struct_class",
    "valid_version",
    "walk",
]
