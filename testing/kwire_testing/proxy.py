"""A proxy between clients and brokers, with filters on typed requests and responses.

::

    def deny(request: ProduceRequest, passage: Passage) -> ProduceResponse | None: ...

    async with Proxy("broker:9092", [deny]) as proxy:
        AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers)

Messages without a filter are forwarded as the original bytes. Clients never bypass the proxy, because it replaces
each broker address in a response with the address of one of its listeners.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import ssl
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from types import UnionType
from typing import Any, Union, get_args, get_origin

from kwire import Message
from kwire.client import parse_address
from kwire.connection import (
    CLIENT,
    SERVER,
    ConnectionDecoder,
    Direction,
    Event,
    RequestEvent,
    ResponseEvent,
    SaslToken,
    Unanswered,
    Undecodable,
)
from kwire.errors import DecodeError, EncodeError
from kwire.frames import MAX_FRAME
from kwire.schema import struct_class
from kwire.struct import Struct
from kwire_kafka import PROTOCOL, ApiVersionsRequest, ApiVersionsResponse, MetadataRequest, MetadataResponse
from kwire_kafka.api.api_versions import ApiVersion
from kwire_kafka.api.metadata import MetadataRequestTopic
from kwire_kafka.errors import ErrorCode
from kwire_rules import address_text
from kwire_testing.running import Listeners, Running, Stream

BROKERS = (
    *("ProduceResponse", "FetchResponse", "MetadataResponse", "FindCoordinatorResponse", "DescribeClusterResponse"),
    *("ShareFetchResponse", "ShareAcknowledgeResponse", "DescribeQuorumResponse", "FetchSnapshotResponse"),
    *("VoteResponse", "BeginQuorumEpochResponse", "EndQuorumEpochResponse", "UpdateRaftVoterResponse"),
)
"""Responses that contain broker addresses. StreamsGroup… responses contain addresses of clients instead."""
NEW_IDS = 12
"""First version of Metadata that can find topics by id [KIP-516]."""
MAX_WAITING = 100
"""Maximum number of requests per connection that wait for responses. Once a connection reaches it, the proxy
stops reading from the client.
"""
MAX_LISTENERS = 1000
"""Maximum number of listeners, one per broker address."""
CLOSING = 10.0
"""Time, in seconds, after which a peer that does not read is disconnected."""
_log = logging.getLogger("kwire_testing")

Address = tuple[str, int]
Filter = Callable[[Any, "Passage"], Message | Awaitable[Message | None] | None]
"""A function or method that receives a message and its ``Passage``.

The annotation of its first parameter selects the messages: a class, a union of classes, or ``Message`` for all. The
function returns the message to forward, which may be the same object after changes, or ``None`` to forward the
message unchanged. For a request, the function may also return a response of the same API instead of forwarding the
request.
"""
Watch = Callable[[Event, int], None]
"""A function that receives each event of a connection unchanged, and the connection's number."""


@dataclass(slots=True, eq=False)
class Passage:
    """A request that passes through a proxy.

    ``connection`` is the connection's number, and ``broker`` is the destination. For response filters, ``request`` is
    the request after all request filters.
    """

    connection: int
    client: Address
    broker: Address
    name: str
    version: int
    client_id: str | None
    request: Message | None
    topics: Mapping[bytes, str]
    """Topic names by id. They include every id in a filtered request that the broker knows."""

    def topic(self, name: str | None, topic_id: bytes = bytes(16)) -> str | None:
        """Return the name of the topic with this name or id, or ``None`` if no broker knows the id."""
        return name or self.topics.get(topic_id)


def addresses(response: Message) -> Iterator[Any]:
    """Yield all structs of a response that contain the ``host`` and ``port`` of a broker."""
    if type(response).__name__ in BROKERS:
        yield from structs(response, "host", "port")


def limit(response: ApiVersionsResponse, newest: Mapping[str, int] | None = None) -> ApiVersionsResponse:
    """Limit a response to APIs and versions that kwire knows, and to the maximum versions in ``newest``."""
    known = []
    for api in response.api_keys:
        if api.api_key in PROTOCOL.api_keys:
            versions = PROTOCOL.request(api.api_key).VALID_VERSIONS
            most = (newest or {}).get(PROTOCOL.api_name(api.api_key), versions[-1])
            api.min_version = max(api.min_version, versions[0])
            api.max_version = min(api.max_version, versions[-1], most)
            if api.min_version <= api.max_version:
                known.append(api)
    response.api_keys = known
    return response


class Proxy(Running):
    """A proxy in front of a cluster, with filters.

    ``async with`` and ``with`` run the proxy, as for ``FakeBroker``. Requests pass through the filters in order, and
    responses in reverse order.
    """

    def __init__(
        self,
        upstream: str,
        filters: Sequence[Filter] = (),
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        advertised_host: str | None = None,
        tls: ssl.SSLContext | None = None,
        upstream_tls: ssl.SSLContext | None = None,
        newest: Mapping[str, int] | None = None,
        watch: Watch | None = None,
        max_frame: int = MAX_FRAME,
    ) -> None:
        """Prepare a proxy for the broker at ``upstream``, an address such as ``broker:9092``.

        The proxy listens on ``port`` of ``host``, and on the following ports for further brokers. By default, the
        proxy listens on free ports. Clients see ``advertised_host`` instead of ``host``. ``newest`` limits the
        versions that clients can use, such as ``{"Produce": 12}`` for filters that need topic names. A frame of more
        than ``max_frame`` bytes closes its connection. Raises ``TypeError`` for a filter without an annotation.
        """
        super().__init__()
        self.max_frame, self.upstream_tls, self.newest, self.watch = max_frame, upstream_tls, newest or {}, watch
        self.topics: dict[bytes, str] = {}
        self._upstream = parse_address(upstream)
        self._host, self._port, self._tls = host, port, tls
        self._advertised = advertised_host
        self._filters = [(found, _classes(found)) for found in filters]
        self._listeners = Listeners()
        self._here: dict[Address, Address] = {}
        self._opening = asyncio.Lock()
        self._number = count(1)

    @property
    def bootstrap_servers(self) -> str:
        """Address of the proxy, to which clients connect."""
        host, port = self._here[self._upstream]
        return address_text(host, port)

    @property
    def bodies(self) -> bool | set[str]:
        """Class names of the messages that must be decoded, or true for all."""
        asked = {cls.__name__ for _, classes in self._filters for cls in classes}
        if "Message" in asked or self.watch:
            return True
        # a response filter needs the request in its passage
        return {*asked, *(name.replace("Response", "Request") for name in asked), *BROKERS, "ApiVersionsResponse"}

    @property
    def has_filters(self) -> bool:
        """Whether there are any filters."""
        return bool(self._filters)

    def filters(self, cls: type[Message]) -> list[Filter]:
        """Return the filters for a message class, in order."""
        return [found for found, classes in self._filters if issubclass(cls, classes)]

    async def here(self, broker: Address) -> Address:
        """Return the address that clients use for a broker. Open a listener if the broker is new."""
        async with self._opening:
            if broker not in self._here:
                if len(self._here) == MAX_LISTENERS:
                    raise ConnectionError(f"more than {MAX_LISTENERS} addresses of brokers")

                async def serve(stream: Stream) -> None:
                    await _Link(self, next(self._number), broker, stream).run()

                port = self._port + len(self._here) if self._port else 0
                host, port = await self._listeners.open(serve, self._host, port, self._tls)
                self._here[broker] = self._advertised or host, port
            return self._here[broker]

    async def _open(self) -> None:
        await self.here(self._upstream)

    async def _close(self) -> None:
        await self._listeners.close()
        self._here.clear()


@dataclass(slots=True, eq=False)
class _Waiting:
    """A request that waits for its response, and the response bytes once they are ready to be sent."""

    position: int
    correlation_id: int
    passage: Passage | None = None
    answer: bytes | None = None


class _Link:
    """A client's connection, and the matching connection to the broker."""

    def __init__(self, proxy: Proxy, number: int, broker: Address, stream: Stream) -> None:
        self._proxy, self._number, self._broker = proxy, number, broker
        self._down, self._client = stream, stream.peer
        self._decoder = ConnectionDecoder(
            PROTOCOL, bodies=proxy.bodies, start="beginning", max_frame=proxy.max_frame, keep_requests=False
        )
        self._waiting: deque[_Waiting] = deque()
        self._to_broker: list[bytes] = []
        self._to_client: list[bytes] = []
        self._room = asyncio.Event()
        self._own: tuple[int, asyncio.Future[bytes]] | None = None

    async def run(self) -> None:
        """Forward data in both directions until either side closes the connection, or a frame must not be
        forwarded."""
        try:
            self._up = await Stream.open(*self._broker, self._proxy.upstream_tls)
        except OSError as problem:
            _log.warning("no connection to %s port %d: %s", *self._broker, problem)
            return
        pumps = [
            asyncio.ensure_future(self._pump(CLIENT, self._down, self._up)),
            asyncio.ensure_future(self._pump(SERVER, self._up, self._down)),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            async with asyncio.timeout(CLOSING):
                await asyncio.gather(self._up.close(), self._down.close())
        except TimeoutError:
            pass
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            self._up.transport.abort()

    async def _pump(self, direction: Direction, source: Stream, target: Stream) -> None:
        try:
            while data := await source.read():
                try:
                    for event in self._decoder.feed(direction, data, time.time()):
                        if self._proxy.watch:
                            self._proxy.watch(event, self._number)
                        await self._pass(event)
                finally:
                    self._send()
                await target.drain()
                await self._down.drain()  # responses from filters
        except OSError as problem:
            _log.info("connection %d: %s", self._number, problem)
        except Exception as problem:
            _log.exception("connection %d", self._number)
            self._proxy.problems.append(problem)

    def _send(self) -> None:
        """Send all pending data at once, because each write costs more than all other work on a request."""
        for stream, data in ((self._up, self._to_broker), (self._down, self._to_client)):
            if data:
                stream.transport.writelines(data)
                data.clear()

    async def _pass(self, event: Event) -> None:
        if isinstance(event, RequestEvent) or (isinstance(event, Undecodable) and event.direction == CLIENT):
            await self._request(event)
        elif isinstance(event, ResponseEvent) or (isinstance(event, Undecodable) and event.direction == SERVER):
            await self._response(event)
        elif isinstance(event, SaslToken):
            _put(self._to_broker if event.direction == CLIENT else self._to_client, event.data)
        elif not (isinstance(event, Unanswered) and self._answered(event.position)):
            raise ConnectionError(repr(event))

    def _answered(self, position: int) -> bool:
        """Return whether a filter answered the request at this position, so that the broker will not respond to
        it."""
        return all(one.answer is not None for one in self._waiting if one.position == position)

    async def _request(self, event: RequestEvent | Undecodable) -> None:
        while len(self._waiting) >= MAX_WAITING:
            self._room.clear()
            self._send()
            await self._room.wait()
        waiting, data = _Waiting(event.position, event.correlation_id or 0), event.data
        if not isinstance(event, RequestEvent) or event.message is None:
            waiting.answer = self._unread(event)
        elif self._proxy.filters(type(event.message)) or self._proxy.filters(PROTOCOL.response(event.api_key)):
            data = await self._filter_request(event, event.message, waiting)
        if not isinstance(event, RequestEvent) or event.expects_response:
            self._waiting.append(waiting)
        if waiting.answer is None:
            _put(self._to_broker, data)
        else:
            self._flush()

    async def _filter_request(self, event: RequestEvent, message: Message, waiting: _Waiting) -> bytes:
        """Apply the filters, and return the bytes to forward. If a filter returns a response, store the response in
        ``waiting.answer``.
        """
        await self._learn(message, event)
        who = self._number, self._client, self._broker
        passage = Passage(*who, event.name, event.version, event.client_id, message, self._proxy.topics)
        waiting.passage, data = passage, event.data
        for one in self._proxy.filters(type(message)):
            found = await self._filtered(one, message, passage)
            if found is not None and not isinstance(found, type(message)):
                waiting.answer = PROTOCOL.encode_response(found, event.version, correlation_id=event.correlation_id)
                break
            if found is not None:
                message, data = found, _encoded(event, found)
        passage.request = message
        return data

    def _unread(self, event: RequestEvent | Undecodable) -> bytes | None:
        """Return the response to a request that was not decoded, or ``None`` to forward the request.

        Raise ``ConnectionError`` if the request would evade a filter, or its response would contain broker addresses.
        """
        if isinstance(event, RequestEvent) and event.api_key in PROTOCOL.api_keys:
            request, response = PROTOCOL.request(event.api_key), PROTOCOL.response(event.api_key)
            known = event.version in request.VALID_VERSIONS
            if known and not self._proxy.filters(request) and not self._proxy.filters(response):
                return None
            if request is ApiVersionsRequest and not known:  # [KAFKA-WIRE 6]
                versions = request.VALID_VERSIONS
                own = ApiVersion(api_key=event.api_key, min_version=versions[0], max_version=versions[-1])
                refusal = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[own])
                return PROTOCOL.encode_response(refusal, 0, correlation_id=event.correlation_id)
        if self._proxy.has_filters or (isinstance(event, RequestEvent) and f"{event.name}Response" in BROKERS):
            raise ConnectionError(f"cannot be read: {event!r}")
        return None

    async def _learn(self, message: Message, event: RequestEvent) -> None:
        """Ask the broker, over the client's connection, for the names of topics whose ids occur in a message."""
        ids = {struct.topic_id for struct in structs(message, "topic_id")} - {bytes(16), *self._proxy.topics}
        if not ids:
            return
        taken = {event.correlation_id, *(one.correlation_id for one in self._waiting)}
        number = next(number for number in count(-1, -1) if number not in taken)
        request = MetadataRequest(topics=[MetadataRequestTopic(topic_id=one, name=None) for one in sorted(ids)])
        request.allow_auto_topic_creation = False
        self._own = number, asyncio.get_running_loop().create_future()
        asked = PROTOCOL.encode_request(request, NEW_IDS, correlation_id=number, client_id=event.client_id)
        _put(self._to_broker, asked)
        self._send()
        payload = await self._own[1]
        self._know(PROTOCOL.decode_response(payload, 3, NEW_IDS).expect(MetadataResponse))

    def _know(self, response: MetadataResponse) -> None:
        for topic in response.topics:
            if topic.name and topic.topic_id != bytes(16):
                self._proxy.topics[topic.topic_id] = topic.name

    async def _response(self, event: ResponseEvent | Undecodable) -> None:
        if self._own and event.correlation_id == self._own[0] and event.request is None:
            self._own[1].set_result(event.data)
            self._own = None
            return
        request = event.request
        waiting = next((one for one in self._waiting if request and one.position == request.position), None)
        if waiting is None or waiting.answer is not None:
            raise ConnectionError(f"not a response to a request: {event!r}")
        data, name, passage = event.data, f"{event.name}Response", waiting.passage
        if isinstance(event, ResponseEvent) and event.message is not None:
            message, changed = event.message, await self._rewritten(event.message)
            for one in reversed(self._proxy.filters(type(message))):
                found = await self._filtered(one, message, passage) if passage else None
                if found is not None:
                    message, changed = found, True
            if changed:
                data = _encoded(event, message)
        elif name in BROKERS or (name in PROTOCOL and self._proxy.filters(PROTOCOL[name])):
            raise ConnectionError(f"cannot be read: {event!r}")
        waiting.answer = data
        self._flush()

    async def _rewritten(self, message: Message) -> bool:
        """Replace broker addresses with listener addresses, and remove unknown versions. Return whether the message
        was changed."""
        if isinstance(message, ApiVersionsResponse):
            limit(message, self._proxy.newest)
            return True
        changed = False
        for struct in addresses(message):
            if struct.host and struct.port > 0:
                struct.host, struct.port = await self._proxy.here((struct.host, struct.port))
                changed = True
        if isinstance(message, MetadataResponse):
            self._know(message)
        return changed

    async def _filtered(self, found: Filter, message: Message, passage: Passage) -> Message | None:
        try:
            result = found(message, passage)
            if inspect.isawaitable(result):
                self._send()
                result = await result
        except Exception as problem:
            self._proxy.problems.append(problem)
            _log.exception("%s of connection %d", passage.name, self._number)
            raise ConnectionError("a filter failed") from problem
        if result is not None and result.API_KEY != message.API_KEY:
            raise TypeError(f"{found!r} returned a {type(result).__name__} for a {type(message).__name__}")
        return result

    def _flush(self) -> None:
        """Send the responses that are next in order."""
        while self._waiting and self._waiting[0].answer is not None:
            _put(self._to_client, self._waiting.popleft().answer or b"")
        self._room.set()


def _put(out: list[bytes], payload: bytes) -> None:
    """Append a frame."""
    out += len(payload).to_bytes(4, "big"), payload


@cache
def _ways(cls: Any, names: tuple[str, ...]) -> tuple[bool, list[str]]:
    """Return whether a class has these fields, and the names of the fields whose structs have them at any depth."""
    inner: dict[str, Any] = {field.name: struct_class(cls, field) for field in cls.FIELDS}
    return {*names} <= inner.keys(), [name for name, found in inner.items() if found and any(_ways(found, names))]


def structs(struct: Struct, *names: str) -> Iterator[Any]:
    """Yield all structs that have fields with these names, among ``struct`` and the structs inside it."""
    kind: Any = type(struct)
    has, leading = _ways(kind, names)
    if has:
        yield struct
    for name in leading:
        value = getattr(struct, name)
        for inner in value if isinstance(value, list) else [] if value is None else [value]:
            yield from structs(inner, *names)


def _encoded(event: RequestEvent | ResponseEvent, message: Message) -> bytes:
    """Return an event's frame payload with its message replaced.

    Raise ``ConnectionError`` if the peer's own message is invalid and only a tolerant decoder accepts it.
    """
    header, body = event.data[: event.body_offset], event.data[event.body_offset :]
    try:
        return header + message.encode(event.version)
    except EncodeError:
        try:
            type(message).decode(body, event.version)
        except DecodeError as problem:
            raise ConnectionError(f"cannot be encoded: {problem}") from None
        raise


def _classes(found: Filter) -> tuple[type[Message], ...]:
    """Return the message classes that a filter accepts, from the annotation of its first parameter."""
    parameters = [*inspect.signature(found, eval_str=True).parameters.values()]
    kind = parameters[0].annotation if parameters else None
    classes = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    if not all(isinstance(cls, type) and issubclass(cls, Message) for cls in classes):
        raise TypeError(f"{found!r}: annotate its first parameter with a message class")
    return classes
