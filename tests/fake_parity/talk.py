"""Conversations with a broker, written down line by line without ids, times and addresses."""

from __future__ import annotations

import asyncio
import re
from contextlib import AsyncExitStack
from typing import Any

from kwire import Uuid
from kwire.client import BrokerError, Client, connect
from kwire.records import read_batches
from kwire.schema import present_fields, struct_class
from kwire.struct import Struct
from kwire_kafka import PROTOCOL
from kwire_kafka.errors import ErrorCode

MASKED = {
    **dict.fromkeys(("host", "port", "cluster_id", "client_host", "error_message", "throttle_time_ms"), "its own"),
    **dict.fromkeys(("timestamp", "log_append_time_ms", "session_id", "heartbeat_interval_ms"), "its own"),
}
"""Fields that are not compared: addresses, times, ids and texts."""
NUMBERED = ("producer_id", "member_epoch", "group_epoch", "assignment_epoch")
"""Ids, and epochs of groups, that get a number in order."""
MEMBER = re.compile(r"[\w.]*-?\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
TOLD = (
    *("acks", "by", "validate_only", "isolation_level", "session_epoch", "committed", "mechanism", "producer_epoch"),
    *("group_id", "member_id", "generation_id", "endpoint_type", "require_stable", "max_bytes"),
)
"""What is written down of a request, so that its line can be found."""
PARTS = (0.0, 0.35, 0.7, 1.0)
"""Where in the range of versions a conversation takes place: at the oldest, between, or at the newest."""


class Talk:
    """Connections to one broker, by name, and what was said."""

    def __init__(
        self, address: tuple[str, int], part: float, stack: AsyncExitStack, shared: dict[int, range]
    ) -> None:
        self.lines: list[str] = []
        self.old = shared[3][-1] < 12
        """Whether the release has a ZooKeeper."""
        self._address, self._part, self._stack, self._shared = address, part, stack, shared
        self._clients: dict[str, Client] = {}
        self._names: dict[str, str] = {}

    def version(self, api: str) -> int | None:
        """Return the version of an API here; ``None`` if the brokers have none in common."""
        versions = self._shared.get(PROTOCOL[f"{api}Request"].API_KEY or 0)
        return versions[round((len(versions) - 1) * self._part)] if versions else None

    async def __call__(
        self, api: str, by: str = "a", version: int | None = None, edit: Any = None, **values: Any
    ) -> Any:
        """Ask, write the answer down, after an edit, and return it. Fields that the version lacks are left out."""
        version = self.version(api) if version is None else version
        if version is None:
            return None
        if by not in self._clients:
            client = await connect(*self._address, PROTOCOL, client_id=by, timeout=30)
            self._clients[by] = await self._stack.enter_async_context(client)
        request = made(PROTOCOL[f"{api}Request"], values, version)
        try:
            answer: Any = (await self._clients[by].call(request, version)).message
        except BrokerError as error:
            if "closed the connection" not in str(error):
                raise
            del self._clients[by]
            self.lines.append(f"{by} {api} {version} {asked(values)}: closed")
            return None
        if edit is not None:
            edit(answer)
        self.lines.append(f"{by} {api} {version} {asked(values)}: {self._fields(answer, version)}")
        return answer

    def begin(self, api: str, by: str, **values: Any) -> asyncio.Task[Any]:
        """Ask, without a wait for the answer."""
        return asyncio.ensure_future(self(api, by, **values))

    def _fields(self, struct: Struct, version: int) -> str:
        found = []
        for field in present_fields(type(struct), version):
            value = getattr(struct, field.name)
            if field.name == "aborted_transactions" and getattr(struct, "error_code", False):
                continue  # null or empty, by release
            shown = MASKED.get(field.name) or self._show(value, version, field.name)
            if field.name in NUMBERED and value >= 0:
                shown = self._numbered(f"{field.name.partition('_')[2]} {value}")
            if not (field.name in MASKED or (field.is_tagged and value == field.default)):
                found.append(f"{field.name}={shown}")
        return " ".join(found)

    def _show(self, value: Any, version: int, name: str) -> str:
        if isinstance(value, Struct):
            return f"{{{self._fields(value, version)}}}"
        if isinstance(value, list):
            shown = [self._show(one, version, name) for one in value]
            return f"[{', '.join(sorted(shown))}]"  # Kafka has no order there
        if isinstance(value, Uuid):
            return self._numbered(str(value)) if any(value) else "no id"
        if name.endswith("error_code"):
            return ErrorCode(value).name
        if name == "records":
            return " ".join(self._batch(batch) for batch in read_batches(value or b"")) or "no records"
        return MEMBER.sub(lambda found: self._numbered(found[0]), repr(value))

    def _batch(self, batch: Any) -> str:
        kind = f"m{batch.magic} {batch.codec.label}"
        if batch.magic == 2:
            kind += f" e{batch.leader_epoch} {self._numbered(str(batch.producer_id))}/{batch.producer_epoch}"
            kind += f"/{batch.base_sequence} {'txn' * batch.transactional} {'marker' * batch.control}"
        rows = [f"{row.offset} {row.key!r}:{'' if batch.control else repr(row.value)}" for row in batch.records()]
        return f"({kind}: {', '.join(rows)})"

    def _numbered(self, text: str) -> str:
        return text if text == "-1" else self._names.setdefault(text, f"<{len(self._names) + 1}>")


def asked(values: dict[str, Any]) -> str:
    """Return what distinguishes a request among others."""
    return " ".join(f"{key}={MEMBER.sub('…', str(value))}" for key, value in values.items() if key in TOLD)


def made(cls: Any, values: dict[str, Any], version: int) -> Any:
    """A message or element with those values that the version has. Elements are dictionaries."""
    built, known = {}, {field.name: field for field in present_fields(cls, version)}
    for name, value in values.items():
        if name not in known:
            continue
        inner = struct_class(cls, known[name])
        if isinstance(value, list) and inner is not None:
            value = [made(inner, row, version) for row in value]
        built[name] = value
    return cls(**built)
