"""Opens inputs by name: local files, standard input, archive members and objects in object stores.

Every input is opened through this package.
"""

from __future__ import annotations

from kwire_inspect.storage.archives import BETWEEN, is_archive
from kwire_inspect.storage.decompression import CHUNK, DamagedStreamError
from kwire_inspect.storage.places import (
    STDIN,
    MemberPlace,
    Window,
    absolute,
    is_compressed,
    is_remote,
    map_inputs,
    opened,
    place,
    size_of,
    standard_input,
    written,
)
from kwire_inspect.storage.stores import S3, RemotePlace, refuse_secrets

__all__ = [
    "BETWEEN",
    "CHUNK",
    "S3",
    "STDIN",
    "DamagedStreamError",
    "MemberPlace",
    "RemotePlace",
    "Window",
    "absolute",
    "is_archive",
    "is_compressed",
    "is_remote",
    "map_inputs",
    "opened",
    "place",
    "refuse_secrets",
    "size_of",
    "standard_input",
    "written",
]
