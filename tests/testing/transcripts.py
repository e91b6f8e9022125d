"""Conversations with a fake broker, written down line by line: each request with the whole answer to it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from kwire import Uuid
from kwire.client import BrokerError, Client
from kwire.compression import CompressionError
from kwire.records import Batch, RecordsError, read_batches
from kwire.schema import fields, present_fields, struct_class
from kwire.struct import Struct
from kwire_kafka import PROTOCOL
from kwire_kafka.errors import ErrorCode
from kwire_testing import FakeBroker
from tests.testing.talking import connected, quiet

_CHANGES = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TURNS = 12
LONG = 40
PATIENCE = 8.0
"""Seconds in which an answer must come: what the broker's own clock ends takes longer without ``advance``."""


class Page:
    """The lines of a conversation. What differs from run to run gets a name: ids of members, ports, times."""

    def __init__(self, broker: FakeBroker) -> None:
        self.broker, self.lines, self._start = broker, list[str](), broker.clock.ms
        self._names: dict[str, str] = {}

    def note(self, *values: object) -> None:
        self.lines.append(" ".join(self.show(value) if not isinstance(value, str) else value for value in values))

    def show(self, value: Any, version: int = 0, name: str = "") -> str:
        if isinstance(value, Struct):
            return "{" + self.fields(value, version) + "}"
        if isinstance(value, list):
            return f"[{', '.join(self.show(one, version, name) for one in value)}]"
        if name.endswith("error_code"):
            return ErrorCode(value).name
        if isinstance(value, Uuid):
            return f"#{str(value)[:4]}"
        if name == "records" and value:
            try:
                return f"[{', '.join(map(self._batch, read_batches(value)))}]"
            except (RecordsError, CompressionError):
                return f"{len(value)} damaged bytes"
        if name == "port" and (ports := [p.rpartition(":")[2] for p in self.broker.bootstrap_servers.split(",")]):
            return f"port {ports.index(str(value)) + 1}" if str(value) in ports else str(value)
        if name == "timestamp" and value > 1 << 40:
            return f"start+{(value - self._start + 1) // 10_000 * 10}s"
        if isinstance(value, str) and len(value) > LONG:
            return f"{value[:LONG]!r}…"
        return self._named(repr(value))

    def fields(self, struct: Any, version: int) -> str:
        """The fields of this version that have another value than the default."""
        cls = type(struct)
        empty = cls()
        rows = [(field.name, getattr(struct, field.name)) for field in present_fields(cls, version)]
        chosen = [(name, value) for name, value in rows if value != getattr(empty, name)]
        return " ".join(f"{name}={self.show(value, version, name)}" for name, value in chosen)

    def _named(self, text: str) -> str:
        return _CHANGES.sub(lambda found: self._names.setdefault(found[0], f"<{len(self._names) + 1}>"), text)

    def _batch(self, batch: Batch) -> str:
        kind = f"m{batch.magic}" + (f" {batch.codec.label}" if batch.codec else "")
        if batch.magic == 2:
            kind += f" epoch {batch.leader_epoch}"
        if batch.magic == 2 and batch.producer_id >= 0:
            kind += f" by {batch.producer_id}/{batch.producer_epoch}" + f"/{batch.base_sequence}" * (
                not batch.control
            )
        kind += " txn" * batch.transactional
        rows = []
        for record in batch.records():
            what = repr(record.value)
            if batch.control:
                what = {b"\0\0\0\0": "abort", b"\0\0\0\1": "commit"}[bytes(record.key or b"")]
            elif record.key is not None:
                what = f"{record.key!r}:{what}"
            rows.append(f"{record.offset} {what} @{self.show(record.timestamp, 0, 'timestamp')}")
        return f"({kind}: {', '.join(rows)})"


class Speaker:
    """A client whose requests and answers are written down."""

    def __init__(self, page: Page, name: str, node: int, options: dict[str, Any], stack: AsyncExitStack) -> None:
        self.page, self.name, self.node, self._options, self._stack = page, name, node, options, stack
        self.client: Client

    async def open(self) -> None:
        """Open a connection, a new one if there was one."""
        options = {"client_id": self.name} | self._options
        self.client = await self._stack.enter_async_context(connected(self.page.broker, self.node, **options))

    async def __call__(self, api: str, version: int, **fields: Any) -> Any:
        """Ask and wait for the answer."""
        return await (await self.begin(api, version, **fields)).answer()

    async def begin(self, api: str, version: int, **fields: Any) -> Waiting:
        """Ask, and return what waits for the answer."""
        request = made(PROTOCOL[f"{api}Request"], fields)
        before = len(self.page.broker.requests)
        task = asyncio.ensure_future(self.client.call(request, version))
        while len(self.page.broker.requests) == before and not task.done():
            await asyncio.sleep(0)
        return Waiting(self, f"{self.name} {api} {version}", task, version)


@dataclass
class Waiting:
    """A request without an answer so far."""

    speaker: Speaker
    name: str
    task: asyncio.Task[Any]
    version: int

    async def waits(self) -> None:
        """Look that no answer has come."""
        for _ in range(TURNS):
            await asyncio.sleep(0)
        assert not self.task.done()
        self.speaker.page.lines.append(f"{self.name} waits")

    async def answer(self) -> Any:
        """Wait for the answer, write it down and return it."""
        page = self.speaker.page
        try:
            found: Any = (await asyncio.wait_for(self.task, PATIENCE)).message
        except BrokerError as error:
            if "closed the connection" not in str(error):
                raise
            page.lines.append(f"{self.name}: closed")
            await self.speaker.open()
            return None
        page.lines.append(f"{self.name}: {page.fields(found, self.version)}".rstrip())
        return found


def made(cls: Any, values: dict[str, Any]) -> Any:
    """A message or element, of which elements are dictionaries."""
    types, built = {field.name: field for field in fields(cls)}, dict(values)
    for name, value in values.items():
        inner = struct_class(cls, types[name])
        if isinstance(value, list) and inner is not None:
            built[name] = [made(inner, row) for row in value]
    return cls(**built)


@asynccontextmanager
async def speakers(broker: FakeBroker, *nodes: int, **options: Any) -> AsyncIterator[list[Speaker]]:
    """Clients ``a``, ``b`` and so on of these nodes, and the broker, for as long as they talk."""
    async with quiet(), broker, AsyncExitStack() as stack:
        page = Page(broker)
        found = [Speaker(page, "abcdefgh"[at], node, options, stack) for at, node in enumerate(nodes)]
        for one in found:
            await one.open()
        yield found


def transcript(broker: FakeBroker, what: Callable[..., Awaitable[None]], *nodes: int, **options: Any) -> list[str]:
    """The lines of a conversation of clients, one for each of the nodes."""

    async def run() -> list[str]:
        async with speakers(broker, *nodes or (1,), **options) as found:
            await what(*found)
            return found[0].page.lines

    return asyncio.run(run())
