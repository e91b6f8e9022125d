"""Options that the commands share."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import TYPE_CHECKING

from kwire.protocol import MessageRegistry

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add_shared(parser: argparse.ArgumentParser) -> None:
    """Declare ``--format`` and ``--protocol``."""
    parser.add_argument("--format", choices=("text", "json"), default="text", help="output format (default: text)")
    parser.add_argument(
        "--protocol",
        metavar="PACKAGE",
        default="kwire_kafka",
        help="generated package that defines the messages (default: kwire_kafka)",
    )


def registry(package: str) -> MessageRegistry:
    """The messages of a generated package; ``ImportError`` or ``ValueError`` if it is not one."""
    protocol = getattr(import_module(package), "PROTOCOL", None)
    if not isinstance(protocol, MessageRegistry):
        raise ValueError(f"{package} is not a generated package: it has no PROTOCOL")
    return protocol
