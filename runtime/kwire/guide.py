"""Addresses in the protocol guide, the site that ``kwirec guide`` writes [docs/guide.md#links]."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire_rules.guide import message_place

if TYPE_CHECKING:
    from kwire.message import Message
    from kwire.protocol import MessageRegistry

_RUNTIME = {"kwire.headers": "headers"}
"""Modules of the runtime with messages of a protocol → the name that they have below its package."""


_RENAMED = {("headers", name): f"request_{name}" for name in ("api_key", "api_version")}
"""Attributes of headers of the runtime that are not named after their fields."""


@dataclass(frozen=True)
class Guide:
    """The guide of the messages of ``protocol``; ``base`` is its folder, from ``guide_base``, or empty for
    addresses that are relative to it."""

    base: str
    protocol: MessageRegistry

    def message(self, cls: type[Message], version: int | None = None, path: str = "") -> str:
        """Return the address of a message, in ``version`` and at a field, whose path may have indexes:
        ``topics[0].name``.

        A version that the message does not have is left out.
        """
        module = _RUNTIME.get(cls.__module__, cls.__module__.removeprefix(f"{self.protocol.package}."))
        known = version is not None and version in cls.VALID_VERSIONS
        field = re.sub(r"\[\d+\]", "", path)
        field = _RENAMED.get((module, field), field)
        return self.base + message_place(module, part_of(cls, module), version if known else None, field=field)

    def api(self, name: str, versions: Sequence[int]) -> str:
        """Return the address of the newest of these versions that the API has, else of the API, or empty if it is
        unknown.
        """
        if f"{name}Request" not in self.protocol:
            return ""
        request = self.protocol[f"{name}Request"]
        newest = max((version for version in versions if version in request.VALID_VERSIONS), default=None)
        return self.message(request, newest)

    def error(self, code: int) -> str:
        """Return the address of an error."""
        return f"{self.base}errors.html#{code}"


def part_of(cls: type[Message], module: str) -> str:
    """Return the start of a message's anchors.

    ``module`` is the module of its class, relative to the package.
    """
    if module == "headers":
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()
    endings = {"api": ("Request", "Response"), "coordinator": ("Key", "Value")}.get(module.partition(".")[0], ())
    return next((one.lower() for one in endings if cls.__name__.endswith(one)), "message")
