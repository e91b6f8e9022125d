"""The command line ``kwire``. It needs only the standard library and a generated package.

Exit codes: 0 fine; 1 bytes that cannot be decoded; 2 wrong usage; 3 bytes of an API or version newer than known, or a
broker that does not answer or refuses the login.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version
from io import TextIOWrapper

from kwire import is_native
from kwire.command import broker, call, decode, describe, encode


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="kwire", description="Look at the Kafka protocol: bytes, messages, brokers."
    )
    speed = "native" if is_native() else "interpreted"
    parser.add_argument("--version", action="version", version=f"kwire {version('kwire')} ({speed})")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    decode.add_to(commands)
    encode.add_to(commands)
    describe.add_to(commands)
    broker.add_to(commands)
    call.add_to(commands)
    try:
        options = parser.parse_args(arguments)
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # some terminals cannot show all characters
        code: int = options.run(options)
    except BrokenPipeError:  # the reader closed the pipe, as `head` does
        sys.stderr.close()
        return 0
    return code
