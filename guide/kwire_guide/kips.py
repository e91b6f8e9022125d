"""The improvement proposals (KIPs) of versions, from ``kips.json`` in a folder of definitions and from remarks.

::

    {"FetchRequest": {"9": [320], "13": [516]}}
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from kwirec.files import read_regular

KIPS = "kips.json"

Kips = Mapping[str, Mapping[int, tuple[int, ...]]]
"""The proposal numbers of each version of each message."""


ADDRESS = "https://cwiki.apache.org/confluence/dosearchsite.action?queryString=%22KIP-{}%22"
"""The address of a proposal in Kafka's wiki. It is a search, because page addresses contain titles."""


_NAMED = re.compile(r"\bKIP-(\d{1,5})\b")


def split_at_kips(text: str) -> list[str]:
    """Return an alternating list of the texts between proposal names and the proposal numbers."""
    return _NAMED.split(text)


def kips_of(texts: Iterable[str]) -> set[int]:
    """Return the numbers of the proposals that are named in the texts."""
    return {int(number) for text in texts for number in _NAMED.findall(text)}


def kip_address(number: int) -> str:
    """Return the address of a proposal."""
    return ADDRESS.format(number)


def read_kips(paths: Iterable[Path]) -> Kips:
    """Return the proposals of all folders. Raise ``ValueError``, which names the file."""
    found: dict[str, Mapping[int, tuple[int, ...]]] = {}
    for file in (path / KIPS for path in paths if (path / KIPS).is_file()):
        try:
            for message, versions in json.loads(read_regular(file)).items():
                found[message] = {int(version): tuple(map(_number, kips)) for version, kips in versions.items()}
        except (AttributeError, TypeError, ValueError, RecursionError) as problem:
            raise ValueError(f"{file.as_posix()}: {problem}") from problem
    return found


def _number(kip: object) -> int:
    if type(kip) is not int or kip < 1:
        raise ValueError(f"{kip!r} is not the number of a KIP")
    return kip
