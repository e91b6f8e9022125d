"""The command line ``kwire-spark``, whose commands are imported when they are called.

Exit codes: 0 success; 1 the report needs action, such as clients that will break; 2 usage error; 3 failure; 4 the
report needs no action, but less than ``--min-coverage`` was read.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from errno import EDQUOT, ENOSPC
from importlib import import_module
from tempfile import gettempdir

import click

from kwire.errors import KwireError, UnknownReleaseError
from kwire.protocol import TAKE_IN
from kwire_spark.options import BrokenInputError, OptionError
from kwire_spark.reports.text import visible

REPORTS = ("clients", "readiness", "census", "latency", "offsets")
COMMANDS = {"decode": "decode", **dict.fromkeys(REPORTS, "reports"), "watch": "watch"}
"""The module of each command, which is a function of the same name."""
USAGE, FAILED, INTERRUPTED = 2, 3, 130

FULL = "no space left on device|database or disk is full|disk quota exceeded"
_OURS = re.compile(r"^(?:[\w.]+\.)?(BrokenInputError|OptionError|DecodeError|KwireError): (.+)$", re.M)
_ANY = re.compile(r"^(?:: )?(?:[A-Za-z_][\w.]*\.)?(\w*(?:Error|Exception|Interrupt)): (.+)$", re.M)


class Commands(click.Group):
    """Imports a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"{__name__}.{COMMANDS[cmd_name]}"), cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command in ``args``; a usage error that suggests a similar one if there is no such command."""
        from difflib import get_close_matches

        if args[0] not in COMMANDS and (similar := get_close_matches(args[0], COMMANDS, 1)):
            ctx.fail(f"No such command {args[0]!r}. Did you mean {similar[0]!r}?")
        return super().resolve_command(ctx, args)


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="kwire", message="%(prog)s %(version)s")
def group() -> None:
    """Tables and reports from captures, logs and metrics of a Kafka cluster.

    INPUTs are packet captures, data directories and log segments of brokers, their request logs, server logs and
    dumps of their metrics: files, folders and patterns, in any mix. File types are detected from their contents.
    """


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command in ``arguments`` (default: those of the process) and return its exit code."""
    try:
        code = group.main(arguments, prog_name="kwire-spark", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return USAGE
    except Exception as error:
        if os.environ.get("KWIRE_DEBUG"):
            raise
        message, is_usage = one_line(error)
        lines = (visible(line, 1000) for line in message.split("\n"))
        print("kwire-spark:", "\n".join(lines), file=sys.stderr)
        return USAGE if is_usage else FAILED


def told_by_system(error: OSError) -> str:
    """What the operating system refused, and where, in one line."""
    place = error.filename if isinstance(error.filename, str) and error.filename else ""
    reason = (error.strerror or str(error)).lower()
    if error.errno in (ENOSPC, EDQUOT):
        reason += f": free some{'' if place else ' there or in ' + gettempdir()}, or choose another folder with --out"
    return f"{place or 'the output folder'}: {reason}"


def one_line(error: Exception) -> tuple[str, bool]:
    """An exception as one line for the terminal, and whether it is a usage error.

    An exception of Spark has the stack traces of Python and the JVM: the last error in them is the cause.
    """
    if isinstance(error, UnknownReleaseError):
        return f"{error}; {TAKE_IN}", True
    if isinstance(error, OptionError):
        return str(error), True
    if isinstance(error, KwireError | BrokenInputError):
        return str(error), False
    if isinstance(error, OSError) and error.strerror:
        return told_by_system(error), False
    text = str(error).strip()
    if re.search(FULL, text, re.IGNORECASE):
        return told_by_system(OSError(ENOSPC, "no space left on device")), False
    if type(error).__module__.startswith(("pyspark", "py4j")):
        if ours := _OURS.findall(text):
            return ours[-1][1].strip(), ours[-1][0] == "OptionError"
        if others := _ANY.findall(text):
            return f"{others[-1][0]}: {others[-1][1].strip()}", False
    return ": ".join([type(error).__name__, *text.splitlines()[:1]]), False
