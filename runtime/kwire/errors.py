"""Decoding, encoding and look-up errors. ``decode`` and ``encode`` raise no other errors for invalid input."""

from __future__ import annotations

import copyreg

from kwire.secrets import CONNECT_STARTS, HIDDEN, METADATA_STARTS, SECRETS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire.message import Message
    from kwire.policy import Policy

    Origin = tuple[type[Message], int, Policy]


class KwireError(Exception):
    """Base class of all errors that kwire raises for invalid input and unknown names."""

    def __reduce__(self) -> tuple[object, ...]:
        """Copy and pickle the attributes instead of calling the class, which may require keywords."""
        return copyreg.__newobj__, (type(self), *self.args), self.__getstate__()  # type: ignore[attr-defined]


class FieldError(KwireError):
    """Base class of errors in a field of a message. ``path`` is the path of the field, such as
    ``topics[3].partitions[0].records``. The path is empty for the whole message."""

    def __init__(self, reason: str, *, message_name: str = "", version: int | None = None, path: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.message_name = message_name
        self.version = version
        self.path = path

    def __str__(self) -> str:
        version = "" if self.version is None else f" v{self.version}"
        field = f", field {self.path}" if self.path else ""
        return f"{self.message_name}{version}{field}: {self.reason}" if self.message_name else self.reason


class DecodeError(FieldError):
    """Raised for bytes that are invalid for the message and version.

    ``path`` is the path of the field. ``offset`` is the offset of the problem in ``data``, which is the whole input.
    ``origin`` contains the class, the message's offset and the policy, so that ``data`` can be read again. For
    records, ``data`` is one batch, and ``position`` and ``offset`` are the offsets of the batch and of the problem in
    the input. ``kwire.trace.annotate`` shows the bytes before the error. In a copy or another process, ``data``
    consists of zeros unless it is a message or batch without secrets (see ``kwire.secrets``).
    """

    def __init__(
        self,
        reason: str,
        *,
        message_name: str = "",
        version: int | None = None,
        path: str = "",
        offset: int = 0,
        data: bytes = b"",
        origin: Origin | None = None,
        position: int | None = None,
    ) -> None:
        super().__init__(reason, message_name=message_name, version=version, path=path)
        self.offset = offset
        self.data = data
        self.origin = origin
        self.position = position

    def __getstate__(self) -> dict[str, object]:
        if self.origin is not None:
            secret = self.origin[0].__name__ in SECRETS
        else:
            secret = self.position is None or any(
                start in self.data[61:] for start in (*METADATA_STARTS, *CONNECT_STARTS)
            )
        return vars(self) | {"data": bytes(len(self.data)), "origin": None} if secret else vars(self)

    def __str__(self) -> str:
        version = "" if self.version is None else f" v{self.version}"
        field = f", field {self.path}" if self.path else ""
        if self.position is not None:
            return f"{self.message_name}{version} at byte {self.position}{field}, byte {self.offset}: {self.reason}"
        where = f"{self.message_name}{version}{field}, " if self.message_name else ""
        return f"{where}byte {self.offset} of {len(self.data)}: {self.reason}"


class EncodeError(FieldError):
    """Raised for a value that cannot be encoded in this version. The value is out of range, an invalid null, or the
    non-default value of a non-ignorable field that the version lacks. ``path`` is the path of the field."""


class UnexpectedMessageError(KwireError):
    """Raised for a message of an unexpected class, or of an unknown API or version."""


class UnknownNameError(KwireError, KeyError):
    """Raised if a look-up fails. ``name`` is the name, API key or version that was looked up.

    All look-ups by name, key or version raise a subclass of this error, except that ``Message.decode`` and ``encode``
    raise ``DecodeError`` and ``EncodeError`` for an unknown version. The error text suggests similar names. The class
    is a ``KeyError``, because look-ups behave like mappings.
    """

    _kind = "name"
    """The kind of name that the error text mentions. Subclasses set it with a keyword."""

    def __init__(self, name: object, known: Iterable[object] = (), *, of: str = "") -> None:
        super().__init__(name)
        self.name = name
        self._known = known if isinstance(known, range) else tuple(known)
        self._of = of

    def __init_subclass__(cls, kind: str) -> None:
        cls._kind = kind

    def __str__(self) -> str:
        owner = f" of {self._of}" if self._of else ""
        return f"unknown {self._kind} {self.name!r}{owner}{suggestion(self.name, self._known)}"


class UnknownMessageError(UnknownNameError, kind="message"):
    """Raised for an unknown message name."""


class UnknownApiError(UnknownNameError, kind="API"):
    """Raised for an unknown API. ``name`` is its key or name, such as ``Fetch``."""


class UnknownVersionError(UnknownNameError, kind="version"):
    """Raised for a version that does not exist for a message."""


class UnknownColumnError(UnknownNameError, kind="column"):
    """Raised for an unknown column of a message, of a struct in it, or of the records table. ``name`` is the column's
    name."""


class UnknownReleaseError(UnknownNameError, kind="release"):
    """Raised for an unknown release."""


class UnknownLogError(UnknownNameError, kind="log"):
    """Raised for a log whose records the protocol does not define."""


class UnknownRecordTypeError(UnknownNameError, kind="record type"):
    """Raised for an unknown record type of a log. ``name`` is its number or name."""


_SUFFIXES = ("request", "response", "record", "key", "value")
_LONGEST_LIST = 400


def suggestion(name: object, known: Iterable[object]) -> str:
    """Return ``, did you mean X or Y?`` with similar names, or else all known names if there are only a few."""
    if isinstance(known, range):
        return f", valid versions are {known.start} to {known.stop - 1}" if known else ""
    if not isinstance(name, str):
        return ""
    names = {str(other).lower(): str(other) for other in known}
    if name.strip("0123456789."):  # a word, not a release number
        from difflib import get_close_matches

        folded = name.lower()
        similar = [folded + suffix for suffix in _SUFFIXES if folded + suffix in names]
        similar = similar or get_close_matches(folded, names, n=2)
        if similar:
            return f", did you mean {' or '.join(names[other] for other in similar)}?"
    expected = ", ".join(names.values())
    return f", expected one of {expected}" if 0 < len(expected) <= _LONGEST_LIST else ""


def to_keep(error: DecodeError) -> DecodeError:
    """Return ``error`` without its traceback.

    The traceback would keep the local variables of all its functions alive until reference cycles are collected.
    """
    error.__traceback__ = error.__context__ = error.__cause__ = None
    return error


def counted(number: object, noun: str) -> str:
    """Return a number with a noun, such as ``1 byte`` or ``2 bytes``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def cut(text: str, longest: int = 40) -> str:
    """Return ``text``, truncated with an ellipsis if it is too long."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def quoted(message: str, value: object, longest: int = 40) -> str:
    """Return the beginning of a value as text, or ``HIDDEN`` if the message may contain secrets."""
    return HIDDEN if message in SECRETS else cut(repr(value), longest)


__all__ = [
    "DecodeError",
    "EncodeError",
    "KwireError",
    "UnexpectedMessageError",
    "UnknownApiError",
    "UnknownColumnError",
    "UnknownLogError",
    "UnknownMessageError",
    "UnknownNameError",
    "UnknownRecordTypeError",
    "UnknownReleaseError",
    "UnknownVersionError",
]
