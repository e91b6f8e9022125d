"""Where inputs are, and their bytes: files of this machine, the standard input, members of archives.

Everything that reads an input opens it here, by its name.
"""

from __future__ import annotations

from kwire_inspect.storage.archives import BETWEEN, is_archive
from kwire_inspect.storage.decompression import CHUNK, DamagedStreamError
from kwire_inspect.storage.file_systems import S3
from kwire_inspect.storage.places import (
    MemberPlace,
    Place,
    Window,
    absolute,
    is_compressed,
    is_remote,
    map_inputs,
    opened,
    place,
    size_of,
    written,
)
from kwire_inspect.storage.remote import RemoteFile, refuse_secrets
from kwire_inspect.storage.standard_input import STDIN, standard_input

__all__ = [
    "BETWEEN",
    "CHUNK",
    "S3",
    "STDIN",
    "DamagedStreamError",
    "MemberPlace",
    "Place",
    "RemoteFile",
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
