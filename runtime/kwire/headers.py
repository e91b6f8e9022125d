"""Request and response headers, which precede the bodies of requests and responses.

Headers are messages, so ``encode``, ``decode_from``, policies and errors work as usual. Headers are not generated,
because the runtime uses them before it knows a generated package. Packages re-export these classes. The API key and
version of a request are read first and determine its header version [KAFKA-WIRE 5]. ``Message.header_version``
returns the header version for each message version, including Kafka's exceptions.
"""

from __future__ import annotations

from librt.strings import BytesWriter, read_i16_be, read_i32_be, write_i16_be, write_i32_be

from kwire.message import Message
from kwire.native import i64, mypyc_attr
from kwire.schema import NEVER, Field, slots
from kwire.struct import FieldTags
from kwire.wire import give_up, read_tags, write_tags

__all__ = ["RequestHeader", "ResponseHeader"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar


@mypyc_attr(acyclic=True)
class RequestHeader(Message):
    """A request header of version 0 (without client id), 1 or 2 (with tagged fields).

    ``client_id`` keeps its classic length even in version 2 [KAFKA-WIRE 4]. Kafka's brokers treat ``None`` (null) as
    an empty client id.
    """

    VALID_VERSIONS: ClassVar[range] = range(3)
    FLEXIBLE_VERSIONS: ClassVar[range] = range(2, 3)
    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("api_key", "RequestApiKey", "int16", range(3)),
        Field("api_version", "RequestApiVersion", "int16", range(3)),
        Field("correlation_id", "CorrelationId", "int32", range(3)),
        Field("client_id", "ClientId", "string", range(1, 3), nullable=range(1, 3), flexible=NEVER, ignorable=True),
    )
    __slots__ = slots(FIELDS)

    def __init__(
        self,
        *,
        api_key: int = 0,
        api_version: int = 0,
        correlation_id: int = 0,
        client_id: str | None = "",
        unknown_tags: FieldTags = (),
    ) -> None:
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.unknown_tags = unknown_tags

    @staticmethod
    def _read(data: bytes, pos: i64, version: i64) -> tuple[RequestHeader, i64]:
        if version < 0 or version > 2:
            give_up()
        header = RequestHeader()
        header.api_key = read_i16_be(data, pos)
        header.api_version = read_i16_be(data, pos + 2)
        header.correlation_id = read_i32_be(data, pos + 4)
        pos += 8
        if version >= 1:
            size: int = read_i16_be(data, pos)
            pos += 2
            if size < 0:
                header.client_id = None
            else:
                header.client_id = data[pos : pos + size].decode()
                pos += size
        if version >= 2:
            header.unknown_tags, pos = read_tags(data, pos)
        return header, pos

    def _write(self, out: BytesWriter, version: i64) -> None:
        if version < 0 or version > 2:
            give_up()
        write_i16_be(out, self.api_key)
        write_i16_be(out, self.api_version)
        write_i32_be(out, self.correlation_id)
        if version >= 1:
            if self.client_id is None:
                write_i16_be(out, -1)
            else:
                raw = self.client_id.encode()
                write_i16_be(out, len(raw))
                out.write(raw)
        _write_tags(out, self.unknown_tags, version >= 2)


@mypyc_attr(acyclic=True)
class ResponseHeader(Message):
    """A response header of version 0 or 1 (with tagged fields)."""

    VALID_VERSIONS: ClassVar[range] = range(2)
    FLEXIBLE_VERSIONS: ClassVar[range] = range(1, 2)
    FIELDS: ClassVar[tuple[Field, ...]] = (Field("correlation_id", "CorrelationId", "int32", range(2)),)
    __slots__ = slots(FIELDS)

    def __init__(self, *, correlation_id: int = 0, unknown_tags: FieldTags = ()) -> None:
        self.correlation_id = correlation_id
        self.unknown_tags = unknown_tags

    @staticmethod
    def _read(data: bytes, pos: i64, version: i64) -> tuple[ResponseHeader, i64]:
        if version < 0 or version > 1:
            give_up()
        header = ResponseHeader()
        header.correlation_id = read_i32_be(data, pos)
        pos += 4
        if version == 1:
            header.unknown_tags, pos = read_tags(data, pos)
        return header, pos

    def _write(self, out: BytesWriter, version: i64) -> None:
        if version < 0 or version > 1:
            give_up()
        write_i32_be(out, self.correlation_id)
        _write_tags(out, self.unknown_tags, version == 1)


def _write_tags(out: BytesWriter, tags: FieldTags, flexible: bool) -> None:
    if flexible:
        write_tags(out, [], tags)
    elif tags:
        give_up()  # classic headers cannot contain tagged fields
