"""The owners of clients. A list maintained by the user maps patterns to the team or person that owns the matching
clients.

The list is a CSV file with a header line. The columns are ``owner``, and any of ``client_id``, ``address``,
``software`` and ``principal``. The first line whose cells all match a client names the client's owner. An empty cell
matches any client. ``*`` matches any text, and ``?`` matches one character. Addresses may be networks, such as
``10.1.0.0/16``.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fnmatch import translate
from functools import cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import TYPE_CHECKING

from kwire_inspect.options import OptionError
from kwire_inspect.storage.places import regular

if TYPE_CHECKING:
    from kwire_inspect.reports.client_usage import Client, Use

OWNER = "owner"
COLUMNS = {"client_id": "client_id", "address": "host", "software": "software", "principal": "principal"}
"""Maps each column of the list to a field of a client."""
MAX_FILE = 16 << 20

Fits = Callable[[str | None], bool]


@dataclass(frozen=True, slots=True)
class Owners:
    """The lines of the list. Each line contains patterns for the fields of a client, and the owner."""

    lines: tuple[tuple[tuple[tuple[str, Fits], ...], str], ...]

    @classmethod
    def read(cls, path: str | Path) -> Owners:
        """Return the owners in a file. Raises :class:`OptionError`, which names the line, if the list is invalid."""
        try:
            with regular(path).open(encoding="utf-8-sig", newline="") as file:
                text = file.read(MAX_FILE + 1)
        except (OSError, UnicodeDecodeError) as error:
            raise OptionError(f"owners {path}: {getattr(error, 'strerror', None) or error}") from None
        if len(text) > MAX_FILE:
            raise OptionError(f"owners {path}: the file is larger than {MAX_FILE >> 20} MB")
        try:
            return cls(tuple(_lines(text)))
        except (ValueError, csv.Error) as mistake:
            raise OptionError(f"owners {path}: {mistake}") from None

    def named(self, uses: Iterable[Use]) -> list[Use]:
        """Return the uses, with the owner of each client filled in."""
        of = cache(self.of)
        return [replace(use, client=use.client._replace(owner=of(use.client))) for use in uses]

    def of(self, client: Client) -> str | None:
        """Return the owner of a client, or ``None`` if no line matches."""
        for parts, owner in self.lines:
            if all(fits(getattr(client, part)) for part, fits in parts):
                return owner
        return None


def _lines(text: str) -> list[tuple[tuple[tuple[str, Fits], ...], str]]:
    rows = csv.reader(text.splitlines(), strict=True)
    heading = [cell.strip().lower() for cell in next(rows, [])]
    wrong = [name for name in heading if name not in (OWNER, *COLUMNS)]
    if wrong or OWNER not in heading or len(heading) != len(set(heading)):
        known = f"`{OWNER}` and any of {', '.join(f'`{name}`' for name in COLUMNS)}"
        raise ValueError(f"the first line must name the columns: {known}")
    found = []
    for cells in rows:
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(heading):
            raise ValueError(f"line {rows.line_num} has {len(cells)} cells instead of {len(heading)}")
        line = dict(zip(heading, (cell.strip() for cell in cells), strict=True))
        if not line[OWNER]:
            raise ValueError(f"line {rows.line_num} has no owner")
        try:
            parts = [(COLUMNS[name], _fits(name, text)) for name, text in line.items() if name != OWNER and text]
        except ValueError as mistake:
            raise ValueError(f"line {rows.line_num}: {mistake}") from None
        found.append((tuple(parts), line[OWNER]))
    return found


def _fits(column: str, pattern: str) -> Fits:
    if column == "address" and "/" in pattern:
        return _within(ip_network(pattern, strict=False))
    matches = re.compile(translate(pattern.replace("[", "[[]"))).match
    return lambda text: text is not None and matches(text) is not None


def _within(network: IPv4Network | IPv6Network) -> Fits:
    @cache
    def fits(text: str | None) -> bool:
        try:
            return text is not None and ip_address(text) in network
        except ValueError:
            return False

    return fits
