"""The typed errors of encoding and decoding. Bad input raises nothing else from ``decode`` and ``encode``."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kwire.message import Message
    from kwire.policy import Policy

    Origin = tuple[type[Message], int, Policy]


class KwireError(Exception):
    """Base of all errors that kwire raises for the data it is given."""


class DecodeError(KwireError):
    """Bytes that do not fit the message and version.

    ``path`` names the field (``topics[3].partitions[0].records``) and is empty for the message as a whole. ``offset``
    counts bytes from the start of ``data``, which is the whole input. ``origin`` is what it takes to read ``data``
    again: the class, the offset of the message, and the policy. For records, ``data`` is one batch, ``position`` the
    byte at which it starts in the input, and ``offset`` counts from the start of the input as well.
    ``kwire.trace.annotate`` shows the bytes before the error.
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
        super().__init__(reason)
        self.reason = reason
        self.message_name = message_name
        self.version = version
        self.path = path
        self.offset = offset
        self.data = data
        self.origin = origin
        self.position = position

    def __str__(self) -> str:
        version = "" if self.version is None else f" v{self.version}"
        field = f", field {self.path}" if self.path else ""
        if self.position is not None:
            return f"{self.message_name}{version} at byte {self.position}{field}, byte {self.offset}: {self.reason}"
        where = f"{self.message_name}{version}{field}, " if self.message_name else ""
        return f"{where}byte {self.offset} of {len(self.data)}: {self.reason}"

    def __reduce__(self) -> tuple[object, ...]:
        where = self.message_name, self.version, self.path, self.offset
        return _rebuild_decode_error, (type(self), self.reason, *where, self.data, self.origin, self.position)


class EncodeError(KwireError):
    """A value that the message cannot carry in this version: out of range, null where that is not allowed, or set for
    a field that the version lacks and that is not ignorable. ``path`` names the field."""

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

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_encode_error, (self.reason, self.message_name, self.version, self.path)


def _rebuild_decode_error(
    cls: type[DecodeError],
    reason: str,
    message_name: str,
    version: int | None,
    path: str,
    offset: int,
    data: bytes,
    origin: Origin | None,
    position: int | None,
) -> DecodeError:
    return cls(
        reason,
        message_name=message_name,
        version=version,
        path=path,
        offset=offset,
        data=data,
        origin=origin,
        position=position,
    )


def _rebuild_encode_error(reason: str, message_name: str, version: int | None, path: str) -> EncodeError:
    return EncodeError(reason, message_name=message_name, version=version, path=path)
