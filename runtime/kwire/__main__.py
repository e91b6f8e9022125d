"""``python -m kwire`` and the command ``kwire``."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code: 0 fine, 1 undecodable bytes, 2 wrong usage."""
    from kwire.command import run

    try:
        return run(arguments)
    except BrokenPipeError:  # the reader closed the pipe, as `head` does
        sys.stderr.close()
        return 0


if __name__ == "__main__":
    sys.exit(main())
