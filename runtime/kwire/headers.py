"""Request and response headers: what stands before the body of every request and response.

They are written by hand because their version follows from the message behind them: a request header is parsed up
to api key and version first, which then tell how it goes on [KAFKA-WIRE 5]. ``Message.header_version`` knows the
version for every api key and version, with Kafka's exceptions.
"""

from __future__ import annotations

from librt.strings import BytesWriter, read_i16_be, read_i32_be, write_i16_be, write_i32_be

from kwire.errors import DecodeError, EncodeError
from kwire.wire import MAX_STRING, read_tags, write_tags

REQUEST_VERSIONS = range(3)
RESPONSE_VERSIONS = range(2)


class RequestHeader:
    """Versions 0 (no client id), 1 and 2 (with tagged fields).

    ``client_id`` keeps its classic length in version 2 too [KAFKA-WIRE 4]; ``None`` is null, which Kafka's brokers
    take for an empty name.
    """

    __slots__ = ("api_key", "api_version", "client_id", "correlation_id", "unknown_tags")

    def __init__(
        self,
        *,
        api_key: int = 0,
        api_version: int = 0,
        correlation_id: int = 0,
        client_id: str | None = "",
        unknown_tags: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.unknown_tags = unknown_tags

    def encode(self, version: int) -> bytes:
        """The bytes of the header in header version ``version``; ``EncodeError`` for what does not fit."""
        if version not in REQUEST_VERSIONS:
            raise EncodeError(f"there is no version {version}", message="RequestHeader", version=version)
        out = BytesWriter()
        try:
            write_i16_be(out, self.api_key)
            write_i16_be(out, self.api_version)
            write_i32_be(out, self.correlation_id)
            if version >= 1:
                _write_client_id(out, self.client_id)
            _write_header_tags(out, self.unknown_tags, flexible=version >= 2)
        except (TypeError, ValueError, AttributeError) as problem:
            raise EncodeError(str(problem), message="RequestHeader", version=version) from problem
        return out.getvalue()

    @staticmethod
    def decode_from(data: bytes, offset: int, version: int) -> tuple[RequestHeader, int]:
        """The header at ``offset`` and where it ends; ``DecodeError`` names field and offset."""
        if version not in REQUEST_VERSIONS:
            raise _unreadable("RequestHeader", version, "", offset, data, f"there is no version {version}")
        header = RequestHeader()
        pos, field = offset, "api_key"
        try:
            header.api_key = read_i16_be(data, pos)
            field = "api_version"
            header.api_version = read_i16_be(data, pos + 2)
            field = "correlation_id"
            header.correlation_id = read_i32_be(data, pos + 4)
            pos += 8
            if version >= 1:
                field = "client_id"
                header.client_id, pos = _read_client_id(data, pos)
            if version >= 2:
                field = "unknown_tags"
                header.unknown_tags, pos = read_tags(data, pos)
            if pos > len(data):
                raise IndexError("it reaches beyond the end")
        except (IndexError, ValueError) as problem:
            raise _unreadable("RequestHeader", version, field, pos, data, str(problem)) from problem
        return header, pos

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RequestHeader):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"RequestHeader(api_key={self.api_key}, api_version={self.api_version}, "
            f"correlation_id={self.correlation_id}, client_id={self.client_id!r}"
            + (f", unknown_tags={self.unknown_tags!r})" if self.unknown_tags else ")")
        )


class ResponseHeader:
    """Versions 0 and 1 (with tagged fields)."""

    __slots__ = ("correlation_id", "unknown_tags")

    def __init__(self, *, correlation_id: int = 0, unknown_tags: tuple[tuple[int, bytes], ...] = ()) -> None:
        self.correlation_id = correlation_id
        self.unknown_tags = unknown_tags

    def encode(self, version: int) -> bytes:
        """The bytes of the header in header version ``version``; ``EncodeError`` for what does not fit."""
        if version not in RESPONSE_VERSIONS:
            raise EncodeError(f"there is no version {version}", message="ResponseHeader", version=version)
        out = BytesWriter()
        try:
            write_i32_be(out, self.correlation_id)
            _write_header_tags(out, self.unknown_tags, flexible=version >= 1)
        except (TypeError, ValueError) as problem:
            raise EncodeError(str(problem), message="ResponseHeader", version=version) from problem
        return out.getvalue()

    @staticmethod
    def decode_from(data: bytes, offset: int, version: int) -> tuple[ResponseHeader, int]:
        """The header at ``offset`` and where it ends; ``DecodeError`` names field and offset."""
        if version not in RESPONSE_VERSIONS:
            raise _unreadable("ResponseHeader", version, "", offset, data, f"there is no version {version}")
        header = ResponseHeader()
        pos, field = offset, "correlation_id"
        try:
            header.correlation_id = read_i32_be(data, pos)
            pos += 4
            if version >= 1:
                field = "unknown_tags"
                header.unknown_tags, pos = read_tags(data, pos)
            if pos > len(data):
                raise IndexError("it reaches beyond the end")
        except (IndexError, ValueError) as problem:
            raise _unreadable("ResponseHeader", version, field, pos, data, str(problem)) from problem
        return header, pos

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ResponseHeader):
            return NotImplemented
        return (self.correlation_id, self.unknown_tags) == (other.correlation_id, other.unknown_tags)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        tags = f", unknown_tags={self.unknown_tags!r}" if self.unknown_tags else ""
        return f"ResponseHeader(correlation_id={self.correlation_id}{tags})"


def _unreadable(message: str, version: int, field: str, pos: int, data: bytes, reason: str) -> DecodeError:
    return DecodeError(reason, message=message, version=version, path=field, offset=min(pos, len(data)), data=data)


def _read_client_id(data: bytes, pos: int) -> tuple[str | None, int]:
    size = read_i16_be(data, pos)
    pos += 2
    if size < 0:
        return None, pos
    if size > len(data) - pos:
        raise IndexError(f"it has length {size}, {len(data) - pos} bytes are left")
    return data[pos : pos + size].decode(), pos + size


def _write_client_id(out: BytesWriter, client_id: str | None) -> None:
    if client_id is None:
        write_i16_be(out, -1)
        return
    raw = client_id.encode()
    if len(raw) > MAX_STRING:
        raise ValueError(f"a client id of {len(raw)} bytes, Kafka's longest string has {MAX_STRING}")
    write_i16_be(out, len(raw))
    out.write(raw)


def _write_header_tags(out: BytesWriter, tags: tuple[tuple[int, bytes], ...], *, flexible: bool) -> None:
    if flexible:
        write_tags(out, [], tags)
    elif tags:
        raise ValueError("this version of the header has no tagged fields")
