"""Try all commands of kwirec on a folder: ``python -m tests.strangers FOLDER``."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.strangers.suite import steps, table

parser = ArgumentParser(prog="python -m tests.strangers", description=__doc__)
parser.add_argument("folder", type=Path)
failed = 0
with TemporaryDirectory() as out:
    for step in steps(parser.parse_args().folder, Path(out)):
        print(f"{step.seconds:6.1f} s  {table([step])}", end="", flush=True)
        failed += step.failed
sys.exit(1 if failed else 0)
