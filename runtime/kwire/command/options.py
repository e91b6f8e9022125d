"""Options and output functions shared by the commands."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from itertools import islice
from types import SimpleNamespace
from typing import Any, NoReturn, TextIO, TypeVar

import click

from kwire_rules import printable

Function = TypeVar("Function", bound=Callable[..., Any])
PROTOCOL = click.option(
    "--protocol",
    metavar="PACKAGE",
    default="kwire_kafka",
    show_default=True,
    help="Generated package that defines the messages.",
)
SECRETS = click.option(
    "--secrets",
    type=click.Choice(("hide", "show")),
    default="hide",
    show_default=True,
    help="Print or hide passwords, keys, tokens, and values that may be secret.",
)


class Options(SimpleNamespace):
    """A command's option values as attributes."""

    def error(self, problem: str) -> NoReturn:
        """Raise a ``UsageError`` with ``problem`` as its message."""
        raise click.UsageError(problem, click.get_current_context(silent=True))


def format_option(*formats: str) -> Callable[[Function], Function]:
    """Return the option ``--format``, whose default is the first of ``formats``."""
    return click.option(
        "--format", type=click.Choice(formats), default=formats[0], show_default=True, help="Output format."
    )


def number_option(
    name: str, metavar: str, default: int, most: int, kind: type[float], help: str, unit: int = 1
) -> Callable[[Function], Function]:
    """Return an option for a number above 0 and at most ``most``. The number is multiplied by ``unit``."""

    def parsed(context: click.Context, parameter: click.Parameter, text: str) -> float:
        try:
            number = kind(text)
        except ValueError:
            number = 0
        if not 0 < number <= most:
            raise click.BadParameter(f"expected a number above 0 and at most {most}, got {printable(text)!r}")
        return number * unit

    return click.option(name, metavar=metavar, default=str(default), show_default=True, callback=parsed, help=help)


def epilog(text: str) -> str:
    """Return the epilog of a help text, marked so that click keeps its line breaks."""
    return "\n\n".join(f"\b\n{part}" for part in text.strip().split("\n\n"))


def put(text: str, file: TextIO | None = None) -> None:
    """Print text line by line, with unprintable characters escaped."""
    print("\n".join(map(printable, text.split("\n"))), file=file)


def put_json(value: object) -> None:
    """Print a value as JSON."""
    put_members([("", value)])


def put_members(members: Iterable[tuple[str, object]]) -> None:
    """Print named values as members of one JSON object, or a single unnamed value by itself.

    Values are printed in parts as they arrive, because the text of a large value would use more memory than the
    value itself.
    """
    before, end = "{", "{}\n"
    for name, value in members:
        line = "\n " if name else "\n"
        if name:
            sys.stdout.write(f"{before}{line}{json.dumps(name)}: ")
        parts = json.JSONEncoder(indent=1, ensure_ascii=False).iterencode(value)
        while text := "".join(islice(parts, 1000)):
            sys.stdout.write(line.join(map(printable, text.split("\n"))))
        before, end = ",", "\n}\n" if name else "\n"
    sys.stdout.write(end)
