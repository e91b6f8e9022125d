"""A client's connection to a broker. Requests are passed to handlers, and responses are sent in order."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any

from kwire import Message
from kwire.connection import ProtocolViolationError, RequestEvent, SaslToken, ServerConnection
from kwire_kafka import PROTOCOL
from kwire_testing import apis
from kwire_testing.apis.cluster import API_VERSIONS, unsupported
from kwire_testing.call import HANDLERS, Call, served
from kwire_testing.cluster import Cluster
from kwire_testing.control import Rule
from kwire_testing.login import Login
from kwire_testing.refusal import Refused
from kwire_testing.running import Stream, awaited

assert apis.MODULES  # importing these modules fills HANDLERS
MAX_REQUEST = 100 << 20
"""Maximum request size in bytes, as in Kafka's default configuration."""


class Connection:
    """A connection to a node of a cluster."""

    def __init__(self, cluster: Cluster, node: int, stream: Stream) -> None:
        self._cluster, self._node, self._number = cluster, node, next(cluster.connections)
        self._stream, self._host = stream, stream.peer[0]
        self._wire = ServerConnection(PROTOCOL, max_frame=MAX_REQUEST)
        self._login = Login(cluster.users)
        self._software = ("", "")

    async def run(self) -> None:
        """Respond to one request after another, as Kafka does, until either side closes the connection."""
        while data := await self._stream.read():
            try:
                events, broken = self._wire.receive(data), False
            except ProtocolViolationError as violation:
                events, broken = violation.events, True
            for event in events:
                self._pause = 0.0
                answer = self._token(event) if isinstance(event, SaslToken) else await self._answer(event)
                if answer is None:
                    return
                self._stream.transport.write(answer)
                if pause := self._pause:
                    await self._cluster.clock.sleep(pause)
            if broken:
                return
            await self._stream.drain()

    def _token(self, event: SaslToken) -> bytes | None:
        """Return the response to a token without a header, or ``None`` to close the connection."""
        with suppress(Refused):
            token = self._login.answer(event.data)
            self._wire.expects_tokens = self._login.user is None
            return self._wire.send_token(token)
        return None

    async def _answer(self, event: object) -> bytes | None:
        """Return the response as bytes, or ``None`` to close the connection."""
        if not isinstance(event, RequestEvent) or not self._login.allows(event.name):
            return None
        cluster, release, key = self._cluster, self._cluster.release, event.api_key
        self._software = event.software if key == API_VERSIONS else self._software
        if event.message is None or event.version not in served(release, key, advertised=False):
            refused = key == API_VERSIONS and key in release.apis
            return self._wire.send(event, unsupported(release), 0) if refused else None
        login, now = self._login, cluster.clock.now
        where = (cluster, self._node, self._number, login, now, self._host, self._software, event.size)
        call = Call(event.name, event.version, event.client_id, event.message, *where)
        cluster.keep(call)
        try:
            response = await self._response(call)
            if response is None:
                return None
            self._pause = getattr(response, "throttle_time_ms", 0) / 1000
            data = self._wire.send(event, response)
        except Exception as problem:
            logging.getLogger("kwire_testing").exception("%s was not answered", call.name)
            cluster.problems.append(problem)
            return None
        if event.name == "SaslHandshake" and event.version == 0:
            self._wire.expects_tokens = self._login.user is None
        return data

    async def _response(self, call: Call) -> Message | None:
        """Return the response that rules and handlers produce, or ``None`` to close the connection."""
        entity, rules = {"node": call.node, "client_id": call.client_id}, list[Rule]()
        for rule in [rule for rule in self._cluster.rules if rule.api in (call.name, "*")]:
            if rule.error is not None:
                call.faults.append(rule)
            elif rule.matches(entity) and rule.use():
                rules.append(rule)
        for rule in rules:
            if rule.delay:
                await self._cluster.clock.sleep(rule.delay)
            if rule.drop == "request":
                return None
        handlers = (rule.handler for rule in rules if rule.handler is not None)
        response: Any = None
        while response is None and (handler := next(handlers, None)):
            response = await awaited(handler(call.message, call))
        if response is None:
            key = call.message.API_KEY
            response = PROTOCOL.response(key)()
            with call.refusing(response):
                await awaited(HANDLERS[key](call, call.message, response))
        for rule in rules:
            if rule.drop == "response":
                return None
            if rule.throttle:
                response.throttle_time_ms = int(rule.throttle * 1000)
        found: Message = response
        return found
