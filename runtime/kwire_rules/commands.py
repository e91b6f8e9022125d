"""Command-line commands that are imported when called. Other packages can add commands with entry points."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from functools import cached_property
from importlib import import_module
from typing import Any

import click


class Commands(click.Group):
    """A command group that imports its ``own`` commands, and entry points in the group ``others``, when they are
    called."""

    def __init__(self, *arguments: Any, own: Mapping[str, str], others: str, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.own = own
        self.others = others

    @cached_property
    def modules(self) -> Mapping[str, str]:
        """All commands as ``module:function``, by name. Look in ``own`` first, because finding entry points takes a
        fifth of the run time of ``kwire describe``."""
        from importlib.metadata import entry_points

        return {**self.own, **{point.name: point.value for point in entry_points(group=self.others)}}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        value = self.own.get(cmd_name) or self.modules.get(cmd_name)
        if value is None:
            return None
        module, _, function = value.partition(":")
        package = module.partition(".")[0]
        try:
            command: click.Command = getattr(import_module(module), function)
        except ModuleNotFoundError as error:
            if cmd_name in self.own or ((error.name or "").startswith("kwire") and error.name != package):
                raise
            return _refusal(cmd_name, missing(cmd_name, package, error.name))
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command in ``args``. An unknown name is a usage error that suggests a similar name."""
        known = args[0] in self.own or args[0] in self.modules
        if not known and (similar := get_close_matches(args[0], self.modules, 1)):
            ctx.fail(f"No such command {args[0]!r}. Did you mean {similar[0]!r}?")
        return super().resolve_command(ctx, args)


def missing(command: str, package: str, library: str | None) -> str:
    """Return an error message for a command that requires a missing library."""
    return f"{command} needs {library}: pip install 'kwire[{package.removeprefix('kwire_')}]'"


def _refusal(name: str, problem: str) -> click.Command:
    """Return a replacement for a command that cannot be imported. The replacement explains what to install."""

    def refuse() -> None:
        raise click.UsageError(problem)

    return click.Command(
        name,
        callback=refuse,
        short_help=problem,
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
        add_help_option=False,
    )
