"""The command line ``kwire``. It needs only the standard library and a generated package."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version
from io import TextIOWrapper

from kwire.command import decode, describe


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code: 0 fine, 1 undecodable bytes, 2 wrong usage, 3 unknown."""
    parser = argparse.ArgumentParser(prog="kwire", description="Decode the bytes of the Kafka protocol.")
    parser.add_argument("--version", action="version", version=f"kwire {version('kwire')}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    decode.add_to(commands)
    describe.add_to(commands)
    try:
        options = parser.parse_args(arguments)
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # some terminals cannot show all characters
        code: int = options.run(options)
    except BrokenPipeError:  # the reader closed the pipe, as `head` does
        sys.stderr.close()
        return 0
    return code
