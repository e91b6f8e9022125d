"""The typed errors of encoding and decoding. Nothing else leaves ``decode`` and ``encode`` for bad input."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kwire.message import Message
    from kwire.policy import Policy

    Origin = tuple[type[Message], int, Policy]


class KwireError(Exception):
    """Base of all errors that kwire raises for data it was given."""


class DecodeError(KwireError):
    """Bytes that are not what message and version say they are.

    ``path`` names the field, as ``topics[3].partitions[0].records``; empty for the message as a whole. ``offset``
    counts bytes from the start of ``data``, which is all of the input: nothing is lost. ``origin`` is how ``data``
    was being read, where that can be done again: the class, the offset of the message, and the policy.
    """

    def __init__(
        self,
        reason: str,
        *,
        message: str = "",
        version: int | None = None,
        path: str = "",
        offset: int = 0,
        data: bytes = b"",
        origin: Origin | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.message = message
        self.version = version
        self.path = path
        self.offset = offset
        self.data = data
        self.origin = origin

    def __str__(self) -> str:
        version = "" if self.version is None else f" v{self.version}"
        field = f", field {self.path}" if self.path else ""
        where = f"{self.message}{version}{field}, " if self.message else ""
        return f"{where}byte {self.offset} of {len(self.data)}: {self.reason}"

    def annotated(self, lines: int = 20) -> str:
        """The last ``lines`` that were read before the failure, with offset, bytes, field, type and value, and a mark
        below the byte that is wrong."""
        from kwire.explain.view import show_error

        return show_error(self, lines)

    def __reduce__(self) -> tuple[object, ...]:
        state = (self.reason, self.message, self.version, self.path, self.offset, self.data, self.origin)
        return _rebuild_decode_error, (type(self), *state)


class EncodeError(KwireError):
    """A value that message and version cannot carry: out of range, null where it may not be, or a field that the
    version lacks and may not ignore."""

    def __init__(self, reason: str, *, message: str = "", version: int | None = None, path: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.message = message
        self.version = version
        self.path = path

    def __str__(self) -> str:
        version = "" if self.version is None else f" v{self.version}"
        field = f", field {self.path}" if self.path else ""
        return f"{self.message}{version}{field}: {self.reason}" if self.message else self.reason

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_encode_error, (self.reason, self.message, self.version, self.path)


def _rebuild_decode_error(
    cls: type[DecodeError],
    reason: str,
    message: str,
    version: int | None,
    path: str,
    offset: int,
    data: bytes,
    origin: Origin | None,
) -> DecodeError:
    return cls(reason, message=message, version=version, path=path, offset=offset, data=data, origin=origin)


def _rebuild_encode_error(reason: str, message: str, version: int | None, path: str) -> EncodeError:
    return EncodeError(reason, message=message, version=version, path=path)
