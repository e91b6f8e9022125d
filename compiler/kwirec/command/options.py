"""Options and arguments that several commands share."""

from __future__ import annotations

import keyword
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from kwirec.config import ConfigError, load_report
from kwirec.diagnostics.columns import printable
from kwirec.diagnostics.render import FORMATS

F = TypeVar("F", bound=Callable[..., Any])

paths = click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
notation = click.option(
    "--notation", type=click.Choice(["json", "krammar"]), help="Notation of files without a known suffix."
)
dialect = click.option(
    "--dialect",
    type=click.Choice(["kwire", "franz-go"]),
    help="Dialect of files in the indentation notation " "(krammar).  [default: by suffix]",
)
only_check = click.option(
    "--check", "only_check", is_flag=True, help="Write nothing and exit with 1 if a file would change."
)
quiet = click.option("--quiet", "-q", is_flag=True, help="Do not print progress or the number of warnings.")


def format(*choices: str) -> Callable[[F], F]:
    """Return the option ``--format``, whose default is text."""
    return click.option("--format", "form", type=click.Choice(choices), default="text", show_default=True)


def config(name: str, section: str, load: Callable[[Path | None], object]) -> Callable[[F], F]:
    """Return the option ``--config``. The command receives the result of ``load`` for the file as the parameter
    ``name``.
    """

    def read(context: click.Context, parameter: click.Parameter, path: Path | None) -> object:
        folders = (here := Path.cwd(), *here.parents)
        nearest = (file for folder in folders if (file := folder / "pyproject.toml").exists())
        try:
            return load(path or next(nearest, None))
        except ConfigError as problem:
            raise click.UsageError(str(problem)) from problem

    return click.option(
        "--config",
        name,
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        callback=read,
        help=f"A pyproject.toml with [{section}].  [default: the nearest file in this or a parent folder]",
    )


def _guide_base(context: click.Context, parameter: click.Parameter, url: str) -> str:
    from kwire_rules.guide import guide_base

    try:
        return guide_base(url) if url else ""
    except ValueError as problem:
        raise click.BadParameter(printable(str(problem))) from problem


guide_url = click.option(
    "--guide-url",
    metavar="URL",
    default="",
    callback=_guide_base,
    help="Link findings to the guide of the (new) definitions at this address.",
)


def reporting(function: F) -> F:
    """Add the options ``--format`` and ``--config`` to a command that reports findings."""
    return format(*FORMATS)(config("report", "tool.kwirec", load_report)(function))


def check_package_name(package: str) -> None:
    """Raise ``UsageError`` if ``package`` is not a valid name for a generated package."""
    is_special = package.startswith("__") and package.endswith("__")  # reserved by Python, such as __init__
    if not package.isidentifier() or keyword.iskeyword(package) or is_special:
        raise click.UsageError(f"{package!r} is not a valid package name")
    if package in ("kwire", "kwirec") or package in sys.stdlib_module_names:
        raise click.UsageError(f"{package!r} would shadow an existing package: choose another name")
