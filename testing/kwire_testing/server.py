"""The connections of a broker: bytes in, requests to handlers, responses out in order."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from typing import Any, cast

from kwire import Message
from kwire.connection import ProtocolViolationError, RequestEvent, SaslToken, ServerConnection
from kwire_kafka import PROTOCOL
from kwire_testing import apis
from kwire_testing.apis.versions import API_VERSIONS, accepts, unsupported
from kwire_testing.call import HANDLERS, Call
from kwire_testing.cluster import Cluster, Node
from kwire_testing.control import Rule
from kwire_testing.login import Login
from kwire_testing.refusal import Refused
from kwire_testing.running import Listeners, awaited

assert apis.MODULES  # importing them fills HANDLERS
MAX_REQUEST = 100 << 20
"""Bytes of a request that a broker of Kafka accepts by default."""


class Server:
    """The listeners of all nodes, and their connections."""

    def __init__(
        self,
        cluster: Cluster,
        users: Mapping[str, str],
        tls: ssl.SSLContext | None,
        requests: deque[Call],
        problems: list[Exception],
    ) -> None:
        self._cluster = cluster
        self._users = users
        self._tls = tls
        self._requests = requests
        self._listeners = Listeners()
        self._number = count(1)
        self.problems = problems
        """What handlers raised."""

    async def listen(self, node: Node, host: str, port: int) -> None:
        """Accept connections of a node."""

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await _Connection(self, node.id, next(self._number), reader, writer).run()

        node.host, node.port = await self._listeners.open(serve, host, port, self._tls)

    async def close(self) -> None:
        """Close the listeners and connections of all nodes."""
        await self._listeners.close()

    async def answer(self, call: Call) -> Message | None:
        """Return the response to a request; ``None`` to close the connection instead."""
        cluster, rules = self._cluster, []
        entity = {"node": call.node, "client_id": call.client_id}
        for rule in [rule for rule in cluster.rules if rule.api in (call.name, "*")]:
            if rule.error is not None:
                call.faults.append(rule)
            elif rule.matches(entity) and rule.use():
                rules.append(rule)
        for rule in rules:
            if rule.delay:
                await cluster.clock.sleep(rule.delay)
            if rule.drop == "request":
                return None
        response: Any = await self._response(call, rules)
        for rule in rules:
            if rule.drop == "response":
                return None
            if rule.throttle:
                response.throttle_time_ms = int(rule.throttle * 1000)
        return cast("Message", response)

    async def _response(self, call: Call, rules: list[Rule]) -> Message | None:
        for rule in rules:
            if rule.handler is not None:
                found: Message | None = await awaited(rule.handler(call.message, call))
                if found is not None:
                    return found
        api = HANDLERS[call.event.api_key]
        response = api.response()
        try:
            await awaited(api.fill(call, call.message, response))
        except Refused as refusal:
            call.refuse(response, refusal.error)
        return response


class _Connection:
    def __init__(
        self, server: Server, node: int, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._server = server
        self._cluster = server._cluster
        self._node = node
        self._number = number
        self._reader = reader
        self._writer = writer
        self._wire = ServerConnection(PROTOCOL, max_frame=MAX_REQUEST)
        self._login = Login(server._users)
        self._software = ("", "")

    async def run(self) -> None:
        """Answer requests one after another, as Kafka does, until one side closes the connection."""
        while data := await self._reader.read(1 << 18):
            try:
                events, broken = self._wire.receive(data), False
            except ProtocolViolationError as violation:
                events, broken = violation.events, True
            for event in events:
                answer = await self._answer(event)
                if answer is None:
                    return
                self._writer.write(answer)
                if pause := self._pause:
                    await self._cluster.clock.sleep(pause)
            if broken:
                return
            await self._writer.drain()

    async def _answer(self, event: Any) -> bytes | None:
        """Return the bytes of the response; ``None`` to close the connection."""
        self._pause = 0.0
        if isinstance(event, SaslToken):
            with suppress(Refused):
                token = self._login.answer(event.data)
                self._wire.expects_tokens = self._login.user is None
                return self._wire.send_token(token)
            return None
        if not isinstance(event, RequestEvent) or not self._login.allows(event.name):
            return None
        release = self._cluster.release
        self._software = event.software if event.api_key == API_VERSIONS else self._software
        call = Call(
            self._cluster,
            self._node,
            self._number,
            event,
            self._login,
            self._cluster.clock.now,
            host=self._writer.get_extra_info("peername")[0],
            software=self._software,
        )
        if event.message is None or not accepts(release, event.api_key, event.version):
            old = event.api_key != API_VERSIONS or API_VERSIONS not in release.apis
            return None if old else self._wire.send(event, unsupported(release), 0)
        self._server._requests.append(call)
        try:
            response = await self._server.answer(call)
            if response is None:
                return None
            self._pause = getattr(response, "throttle_time_ms", 0) / 1000
            data = self._wire.send(event, response)
        except Exception as problem:
            logging.getLogger("kwire_testing").exception("%s was not answered", call.name)
            self._server.problems.append(problem)
            return None
        if event.name == "SaslHandshake" and event.version == 0:
            self._wire.expects_tokens = self._login.user is None
        return data
