"""The command line ``kwire``. Commands are imported when they are called.

Other packages add commands by entry points in the group ``kwire.commands``. Those of ``kwire_inspect`` need the extra
``inspect``, and so on.

Exit codes of the commands here: 0 fine; 1 bytes that cannot be decoded; 2 wrong usage; 3 bytes of an API or version
newer than known, or a broker that does not answer or refuses the login.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cached_property
from importlib import import_module
from io import TextIOWrapper
from typing import Any

import click

from kwire import is_native

OWN = {name: f"kwire.command.{name}:{name}" for name in ("decode", "encode", "describe", "broker", "call")}
GROUP = "kwire.commands"
"""The group of entry points of commands in other packages."""
INTERRUPTED = 130


class Commands(click.Group):
    """Imports a command when it is called."""

    @cached_property
    def modules(self) -> dict[str, str]:
        """All commands, each as ``module:function``. To find those of other packages takes a fifth of the time that
        ``kwire describe`` needs, so look into :data:`OWN` first."""
        from importlib.metadata import entry_points

        return OWN | {point.name: point.value for point in entry_points(group=GROUP)}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        value = OWN.get(cmd_name) or self.modules.get(cmd_name)
        if value is None:
            return None
        module, _, function = value.partition(":")
        try:
            command: click.Command = getattr(import_module(module), function)
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("kwire"):
                raise
            return _refusal(cmd_name, missing(cmd_name, module.partition(".")[0], error.name))
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # the reader closed the pipe, as `head` does
            sys.stderr.close()
            return 0

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command in ``args``. An unknown name is a usage error, which suggests a similar one."""
        known = args[0] in OWN or args[0] in self.modules
        if not known and (similar := get_close_matches(args[0], self.modules, 1)):
            ctx.fail(f"No such command {args[0]!r}. Did you mean {similar[0]!r}?")
        return super().resolve_command(ctx, args)


def missing(command: str, package: str, library: str | None) -> str:
    """Return what to say about a command whose package lacks a library."""
    return f"{command} needs {library}: pip install 'kwire[{package.removeprefix('kwire_')}]'"


def _refusal(name: str, problem: str) -> click.Command:
    """Return a command in place of one that cannot be imported, which says what to install."""

    def refuse() -> None:
        raise click.UsageError(problem)

    return click.Command(
        name,
        callback=refuse,
        short_help=problem,
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
        add_help_option=False,
    )


def _print_version(context: click.Context, parameter: click.Parameter, asked: bool) -> None:
    if asked and not context.resilient_parsing:
        from importlib.metadata import version

        click.echo(f"kwire {version('kwire')} ({'native' if is_native() else 'interpreted'})")
        context.exit()


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Print the version."
)
def group() -> None:
    """Look at the Kafka protocol: bytes, messages, brokers, captures and logs."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return its exit code."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # some terminals cannot show all characters
    try:
        code: Any = group.main(arguments, prog_name="kwire", standalone_mode=False)
    except click.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    return code if isinstance(code, int) else 0
