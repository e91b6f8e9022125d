"""What went wrong, in one line: errors of ours as they are, of Spark without the traces of two languages."""

from __future__ import annotations

import re

from kwire.errors import KwireError, UnknownReleaseError
from kwire_spark.options import BrokenInputError, OptionError

_OURS = re.compile(r"^(?:[\w.]+\.)?(BrokenInputError|OptionError|DecodeError|KwireError): (.+)$", re.M)
_LAST = re.compile(r"^(?:: )?(?:[A-Za-z_][\w.]*\.)?(\w*(?:Error|Exception|Interrupt)): (.+)$", re.M)


def one_line(error: Exception) -> tuple[str, bool]:
    """What to print, and whether this is a usage error."""
    if isinstance(error, OptionError | UnknownReleaseError):
        return str(error), True
    if isinstance(error, KwireError | BrokenInputError):
        return str(error), False
    text = str(error)
    if type(error).__module__.startswith(("pyspark", "py4j")):
        if ours := _OURS.findall(text):
            return ours[-1][1].strip(), ours[-1][0] == "OptionError"
        if last := _LAST.findall(text):
            return f"{last[-1][0]}: {last[-1][1].strip()}", False
    first = text.strip().splitlines()[0] if text.strip() else ""
    return f"{type(error).__name__}: {first}" if first else type(error).__name__, False
