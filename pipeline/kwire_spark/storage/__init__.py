"""Where inputs are, and their bytes: files of this machine and the standard input. Everything that reads an input
opens it here, by its name."""

from __future__ import annotations

from kwire_spark.storage.decompression import CHUNK, DamagedStreamError
from kwire_spark.storage.opening import absolute, is_compressed, opened, size_of
from kwire_spark.storage.standard_input import STDIN, standard_input
from kwire_spark.storage.window import Window

__all__ = [
    "CHUNK",
    "STDIN",
    "DamagedStreamError",
    "Window",
    "absolute",
    "is_compressed",
    "opened",
    "size_of",
    "standard_input",
]
