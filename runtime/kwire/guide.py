"""Links to the protocol guide, the site that ``kwirec guide`` writes [docs/guide.md#links]."""

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
"""Runtime modules that contain protocol messages, with their names in a generated package."""


_RENAMED = {("headers", name): f"request_{name}" for name in ("api_key", "api_version")}
"""Field names of runtime headers that differ from their attribute names, by module and attribute name."""


@dataclass(frozen=True)
class Guide:
    """The guide to the messages of ``protocol``. ``base`` is the address of the guide's folder, as returned by
    ``guide_base``, or empty for links relative to that folder."""

    base: str
    protocol: MessageRegistry

    def message(self, cls: type[Message], version: int | None = None, path: str = "") -> str:
        """Return the link to a message, or to the field at ``path``, which may have indexes as in ``topics[0].name``.

        The link leads to ``version`` if the message has this version.
        """
        module = _RUNTIME.get(cls.__module__, cls.__module__.removeprefix(f"{self.protocol.package}."))
        known = version is not None and version in cls.VALID_VERSIONS
        field = re.sub(r"\[\d+\]", "", path)
        field = _RENAMED.get((module, field), field)
        return self.base + message_place(module, part_of(cls, module), version if known else None, field=field)

    def api(self, name: str, versions: Sequence[int]) -> str:
        """Return the link to an API in the newest of ``versions`` that the API has, or ``""`` for an unknown API.

        If the API has none of the versions, the link leads to the API.
        """
        if f"{name}Request" not in self.protocol:
            return ""
        request = self.protocol[f"{name}Request"]
        newest = max((version for version in versions if version in request.VALID_VERSIONS), default=None)
        return self.message(request, newest)

    def error(self, code: int) -> str:
        """Return the link to an error code."""
        return f"{self.base}errors.html#{code}"


def part_of(cls: type[Message], module: str) -> str:
    """Return the prefix of a message's anchors.

    ``module`` is the module of the message class within the package.
    """
    if module == "headers":
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()
    endings = {"api": ("Request", "Response"), "coordinator": ("Key", "Value")}.get(module.partition(".")[0], ())
    return next((one.lower() for one in endings if cls.__name__.endswith(one)), "message")
