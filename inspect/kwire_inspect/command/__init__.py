"""The ``kwire`` commands that produce tables and reports. Each command is imported when it is called.

Exit code 0 means success. Exit code 1 means that the report calls for action, for example because clients will break.
Exit code 2 means a usage error, and exit code 3 a failure. Exit code 4 means that the report calls for no action, but
covers less of the input than ``--min-coverage`` requires.
"""

from __future__ import annotations

import os
import re
import sys
from errno import EDQUOT, ENOSPC
from tempfile import gettempdir
from typing import IO, Any

import click

from kwire.errors import KwireError, UnknownReleaseError
from kwire.protocol import TAKE_IN
from kwire_inspect.options import BrokenInputError, OptionError
from kwire_inspect.reports.text import visible
from kwire_rules.commands import missing

USAGE, FAILED = 2, 3

FULL = "no space left on device|max_temp_directory_size|disk quota exceeded"
_OURS = re.compile(r"^(?:[\w.]+\.)?(BrokenInputError|OptionError|DecodeError|KwireError): (.+)$", re.M)
_ANY = re.compile(
    r"^(?:: |Caused by: )?(?:[A-Za-z_][\w.$]*[.$])?(\w*(?:Error|Exception|Interrupt))(?:: (.+))?$", re.M
)


class FailedError(click.ClickException):
    """The command failed. The message explains why, in one or a few lines."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code  # type: ignore[misc]  # click declares a class attribute

    def show(self, file: IO[Any] | None = None) -> None:
        print("kwire:", "\n".join(visible(line, 1000) for line in self.message.split("\n")), file=file or sys.stderr)


class Command(click.Command):
    """Click command that converts its exceptions to :class:`FailedError`, unless KWIRE_DEBUG is set."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.Abort, click.exceptions.Exit, BrokenPipeError):
            raise
        except Exception as error:
            if os.environ.get("KWIRE_DEBUG"):
                raise
            if isinstance(error, ModuleNotFoundError) and not (error.name or "kwire").startswith("kwire"):
                package = (self.callback.__module__ if self.callback else __name__).partition(".")[0]
                raise FailedError(missing(self.name or "", package, error.name), USAGE) from error
            message, is_usage = one_line(error)
            raise FailedError(message, USAGE if is_usage else FAILED) from error


def describe_os_error(error: OSError) -> str:
    """Return one line with the file and the reason that the operating system gave."""
    place = error.filename if isinstance(error.filename, str) and error.filename else ""
    reason = (error.strerror or str(error)).lower()
    if error.errno in (ENOSPC, EDQUOT):
        where = "" if place else f" there or in {gettempdir()}"
        reason += f": free some space{where}, or choose another folder with --out"
    return f"{place or 'the output folder'}: {reason}"


def one_line(error: Exception) -> tuple[str, bool]:
    """Return an exception's message as one line for the terminal, and whether the exception is a usage error.

    Spark's exceptions contain stack traces from Python and the JVM. The last error in these stack traces is the
    cause.
    """
    if isinstance(error, UnknownReleaseError):
        return f"{error}; {TAKE_IN}", True
    if isinstance(error, OptionError):
        return str(error), True
    if isinstance(error, KwireError | BrokenInputError):
        return str(error), False
    if isinstance(error, OSError) and error.strerror:
        return describe_os_error(error), False
    text = str(error).strip()
    if re.search(FULL, text, re.IGNORECASE):
        return describe_os_error(OSError(ENOSPC, "no space left on device")), False
    if type(error).__module__.startswith(("pyspark", "py4j")):
        if ours := _OURS.findall(text):
            return ours[-1][1].strip(), ours[-1][0] == "OptionError"
        if others := _ANY.findall(text):
            return ": ".join(filter(None, [others[-1][0], others[-1][1].strip()])), False
    return ": ".join([type(error).__name__, *text.splitlines()[:1]]), False
