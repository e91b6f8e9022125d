"""The improvement proposals (KIPs) of versions and releases.

Remarks in definitions name proposals, and two files in a folder of definitions list further proposals. ``kips.json``
lists the proposals of versions::

    {"FetchRequest": {"9": [320], "13": [516]}}

``release_kips.json`` lists proposals that changed a release without adding versions::

    {"4.0.0": {"896": "Removes old versions."}}
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from kwirec.files import read_regular

KIPS, RELEASE_KIPS = "kips.json", "release_kips.json"

Kips = Mapping[str, Mapping[int, tuple[int, ...]]]
"""The numbers of proposals, by message and version."""

ReleaseKips = Mapping[str, Mapping[int, str]]
"""Descriptions of changes, by release and proposal number."""

T = TypeVar("T")


ADDRESS = "https://cwiki.apache.org/confluence/dosearchsite.action?queryString=%22KIP-{}%22"
"""The address of a search for a proposal in Kafka's wiki, where the addresses of pages contain their titles."""


_NAMED = re.compile(r"\bKIP-(\d{1,5})\b")


def split_at_kips(text: str) -> list[str]:
    """Return a list in which texts alternate with the numbers of the proposals named between them."""
    return _NAMED.split(text)


def kips_of(texts: Iterable[str]) -> set[int]:
    """Return the numbers of the proposals that are named in the texts."""
    return {int(number) for text in texts for number in _NAMED.findall(text)}


def kip_address(number: int) -> str:
    """Return the address of a proposal."""
    return ADDRESS.format(number)


def read_kips(paths: Iterable[Path]) -> Kips:
    """Return the KIPs of all message versions that the folders record.

    Raise ``ValueError`` with the name of an invalid file.
    """
    return _read(paths, KIPS, lambda kips: tuple(map(_number, kips)))


def read_release_kips(paths: Iterable[Path]) -> ReleaseKips:
    """Return the proposals of releases in all folders. Raise ``ValueError`` with the name of an invalid file."""
    return _read(paths, RELEASE_KIPS, _text)


def _read(paths: Iterable[Path], name: str, value: Callable[[Any], T]) -> dict[str, Mapping[int, T]]:
    found: dict[str, Mapping[int, T]] = {}
    for file in (path / name for path in paths if (path / name).is_file()):
        try:
            for key, entries in json.loads(read_regular(file)).items():
                found[key] = {int(number): value(one) for number, one in entries.items()}
        except (AttributeError, TypeError, ValueError, RecursionError) as problem:
            raise ValueError(f"{file.as_posix()}: {problem}") from problem
    return found


def _number(kip: object) -> int:
    if type(kip) is not int or kip < 1:
        raise ValueError(f"{kip!r} is not a KIP number")
    return kip


def _text(about: object) -> str:
    if not isinstance(about, str):
        raise ValueError(f"{about!r} is not a text")
    return about
