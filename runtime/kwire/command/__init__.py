"""The ``kwire`` command line. Each command is imported when it is called.

Other packages add commands through entry points in the group ``kwire.commands``. For example, the commands of
``kwire_inspect`` require the extra ``inspect``.

The commands in this package exit with 0 on success, 1 if the bytes cannot be decoded, and 2 for usage errors. The
exit code is 3 if an API or version is too new, or if a broker does not answer or refuses the login.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Any

import click

from kwire import is_native
from kwire_rules.commands import Commands

OWN = {name: f"kwire.command.{name}:{name}" for name in ("decode", "encode", "describe", "broker", "call")}
INTERRUPTED = 130


class _Commands(Commands):
    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # the reader closed the pipe, as `head` does
            sys.stderr.close()
            return 0


def _print_version(context: click.Context, parameter: click.Parameter, asked: bool) -> None:
    if asked and not context.resilient_parsing:
        from importlib.metadata import version

        click.echo(f"kwire {version('kwire')} ({'native' if is_native() else 'interpreted'})")
        context.exit()


@click.command(
    cls=_Commands, own=OWN, others="kwire.commands", context_settings={"help_option_names": ["-h", "--help"]}
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Print the version."
)
def group() -> None:
    """Inspect the Kafka protocol: bytes, messages, brokers, captures and logs."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return its exit code."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # some terminals cannot display all characters
    try:
        code: Any = group.main(arguments, prog_name="kwire", standalone_mode=False)
    except click.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    return code if isinstance(code, int) else 0
