"""The command ``kwire-spark``."""

from __future__ import annotations

import sys

from kwire_spark.command import run


def main() -> None:
    sys.exit(run())


if __name__ == "__main__":
    main()
