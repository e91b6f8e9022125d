"""The part that the commands share: how they are declared, and the package whose messages they show."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, TextIO

from kwire.errors import printable

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add_command(
    commands: Commands,
    name: str,
    run: Callable[[argparse.Namespace], int],
    *,
    formats: Sequence[str] = ("text", "json"),
    **texts: Any,
) -> argparse.ArgumentParser:
    """The parser of a new command, with ``--protocol`` and, if it has ``formats``, ``--format``; ``texts`` are those
    of its help."""
    parser = commands.add_parser(name, formatter_class=argparse.RawDescriptionHelpFormatter, **texts)
    if formats:
        parser.add_argument("--format", choices=formats, default="text", help="output format (default: text)")
    parser.add_argument(
        "--protocol",
        metavar="PACKAGE",
        default="kwire_kafka",
        help="generated package that defines the messages (default: kwire_kafka)",
    )
    parser.set_defaults(run=run, error=parser.error)
    return parser


def add_secrets(parser: argparse.ArgumentParser) -> None:
    """Add ``--secrets`` to a command that prints messages."""
    parser.add_argument(
        "--secrets",
        choices=("hide", "show"),
        default="hide",
        help="passwords, keys, tokens, and values that may be such (default: hide)",
    )


def put(text: str, file: TextIO | None = None) -> None:
    """Print lines, or JSON that is not yet escaped."""
    print("\n".join(map(printable, text.split("\n"))), file=file)


def put_json(value: object) -> None:
    """Print a value as JSON, part by part: the text of a large one would take more memory than the value."""
    parts = json.JSONEncoder(indent=1, ensure_ascii=False).iterencode(value)
    while text := "".join(islice(parts, 1000)):
        sys.stdout.write("\n".join(map(printable, text.split("\n"))))
    sys.stdout.write("\n")
