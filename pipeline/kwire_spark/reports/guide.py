"""Links from pages of reports to the protocol guide, the site that ``kwirec guide`` writes [docs/guide.md]."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from kwire.protocol import MessageRegistry

_URL = re.compile(r"[\w.~:/@!$&'()*+,;=%-]*", re.ASCII)


@dataclass(frozen=True)
class Guide:
    """The guide of the messages of ``protocol``; ``base`` is its folder, from :func:`guide_base`."""

    base: str
    protocol: MessageRegistry

    def link(self, api: str, versions: Sequence[int]) -> str:
        """The address of the newest of these versions that the API has, else of the API; empty if it is unknown."""
        if f"{api}Request" not in self.protocol:
            return ""
        request = self.protocol[f"{api}Request"]
        page = request.__module__.removeprefix(f"{self.protocol.package}.").replace(".", "/")
        newest = max((version for version in versions if version in request.VALID_VERSIONS), default=None)
        return f"{self.base}{page}.html#request{'' if newest is None else f'-v{newest}'}"


def guide_base(url: str) -> str:
    """The address of a guide, with a ``/`` at its end. Raises ``ValueError`` unless links may lead there."""
    parts = urlsplit(url)
    leads = {"http": bool(parts.netloc), "https": bool(parts.netloc), "file": True, "": not url.startswith("//")}
    if not url or not _URL.fullmatch(url) or not leads.get(parts.scheme, False):
        raise ValueError(
            f"`{url}` is not the address of a folder: use http, https, file or a relative path, "
            "with other characters as %XX and nothing after the path"
        )
    return f"{url.rstrip('/')}/"
