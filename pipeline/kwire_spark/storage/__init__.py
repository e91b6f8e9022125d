"""Where inputs are, and their bytes: files of this machine, the standard input, members of archives.

Everything that reads an input opens it here, by its name.
"""

from __future__ import annotations

from kwire_spark.storage.archives import BETWEEN, is_archive
from kwire_spark.storage.decompression import CHUNK, DamagedStreamError
from kwire_spark.storage.file_systems import S3
from kwire_spark.storage.opening import absolute, each, is_compressed, is_remote, opened, size_of, written
from kwire_spark.storage.places import MemberPlace, Place, place
from kwire_spark.storage.remote import RemoteFile, refuse_secrets
from kwire_spark.storage.standard_input import STDIN, standard_input
from kwire_spark.storage.window import Window

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
    "each",
    "is_archive",
    "is_compressed",
    "is_remote",
    "opened",
    "place",
    "refuse_secrets",
    "size_of",
    "standard_input",
    "written",
]
