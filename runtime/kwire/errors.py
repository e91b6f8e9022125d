"""The typed errors of encoding and decoding. Nothing else leaves ``decode`` and ``encode`` for bad input."""

from __future__ import annotations


class KwireError(Exception):
    """Base of all errors that kwire raises for data it was given."""


class DecodeError(KwireError):
    """Bytes that are not what message and version say they are.

    ``path`` names the field, as ``topics[3].partitions[0].records``; empty for the message as a whole. ``offset``
    counts bytes from the start of ``data``, which is all of the input: nothing is lost.
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
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.message = message
        self.version = version
        self.path = path
        self.offset = offset
        self.data = data

    def __str__(self) -> str:
        version = "" if self.version is None else f" v{self.version}"
        field = f", field {self.path}" if self.path else ""
        where = f"{self.message}{version}{field}, " if self.message else ""
        return f"{where}byte {self.offset} of {len(self.data)}: {self.reason}"

    def __reduce__(self) -> tuple[object, ...]:
        state = (self.reason, self.message, self.version, self.path, self.offset, self.data)
        return _rebuild_decode_error, state


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
    reason: str, message: str, version: int | None, path: str, offset: int, data: bytes
) -> DecodeError:
    return DecodeError(reason, message=message, version=version, path=path, offset=offset, data=data)


def _rebuild_encode_error(reason: str, message: str, version: int | None, path: str) -> EncodeError:
    return EncodeError(reason, message=message, version=version, path=path)
