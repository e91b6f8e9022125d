"""Exceptions as one line for the terminal: those of Spark without the stack traces of Python and the JVM."""

from __future__ import annotations

import re

from kwire.errors import KwireError, UnknownReleaseError
from kwire_spark.options import BrokenInputError, OptionError

_OURS = re.compile(r"^(?:[\w.]+\.)?(BrokenInputError|OptionError|DecodeError|KwireError): (.+)$", re.M)
_ANY = re.compile(r"^(?:: )?(?:[A-Za-z_][\w.]*\.)?(\w*(?:Error|Exception|Interrupt)): (.+)$", re.M)


def one_line(error: Exception) -> tuple[str, bool]:
    """The message to print, and whether this is a usage error. The last error in a stack trace is the cause."""
    if isinstance(error, OptionError | UnknownReleaseError):
        return str(error), True
    if isinstance(error, KwireError | BrokenInputError):
        return str(error), False
    text = str(error).strip()
    if type(error).__module__.startswith(("pyspark", "py4j")):
        if ours := _OURS.findall(text):
            return ours[-1][1].strip(), ours[-1][0] == "OptionError"
        if others := _ANY.findall(text):
            return f"{others[-1][0]}: {others[-1][1].strip()}", False
    return ": ".join([type(error).__name__, *text.splitlines()[:1]]), False
