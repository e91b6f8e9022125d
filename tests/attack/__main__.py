"""``python -m tests.attack --inputs 1000000`` prints the outcomes of so many inputs, in proportion to the targets.

It ends with an error at the first input that raises or exceeds its limits, and keeps that input in ``build/attack``.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.attack.attack import attack, checked
from tests.attack.targets import targets

PORTION = 2000
"""Inputs of one task of a worker."""


def _portion(name: str, runs: int, seed: int) -> Counter[str]:
    target = next(target for target in targets() if target.name == name)
    with tempfile.TemporaryDirectory() as folder:
        return attack(target, runs, seed, Path(folder))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", choices=[target.name for target in targets()], help="this alone")
    parser.add_argument("--file", type=Path, help="check this input of the target alone")
    options = parser.parse_args()
    chosen = [target for target in targets() if options.target in (None, target.name)]
    if options.file:
        print(*(checked(target, options.file) for target in chosen))
        return
    whole = sum(target.share for target in chosen)
    started = time.perf_counter()
    with ProcessPoolExecutor() as workers:
        tasks = []
        for target in chosen:
            inputs = options.inputs * target.share // whole
            portions = [min(PORTION, inputs - done) for done in range(0, inputs, PORTION)]
            runs = [workers.submit(_portion, target.name, n, seed) for seed, n in enumerate(portions, options.seed)]
            tasks.append((target, runs))
        for target, runs in tasks:
            outcomes: Counter[str] = sum((run.result() for run in runs), Counter())
            print(f"{outcomes.total():>9,} {target.name}: {dict(outcomes.most_common())}", flush=True)
    print(f"{time.perf_counter() - started:.0f} seconds, seed {options.seed}")


if __name__ == "__main__":
    main()
