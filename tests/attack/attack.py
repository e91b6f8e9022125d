"""Mutated definitions, archives, captures, segments and logs, each read under a limit of memory and time."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path
from random import Random

from tests.attack.limits import limited
from tests.attack.targets import Target

KEPT = Path("build/attack")


class BrokenError(AssertionError):
    """An input that did what no input may do."""


def attack(target: Target, runs: int, seed: int, folder: Path) -> Counter[str]:
    """Check so many inputs, which depend on the seed alone: the counts of what became of them."""
    random = Random(f"{target.name} {seed}")
    seeds = target.seeds(folder)
    path = folder / f"{target.name}{target.suffix}"
    outcomes: Counter[str] = Counter()
    for _ in range(runs):
        data = target.mutate(random.choice(seeds), random.choice(seeds), random)
        path.write_bytes(data)
        outcomes[checked(target, path)] += 1
    return outcomes


def checked(target: Target, path: Path) -> str:
    try:
        with limited(target.memory, target.seconds):
            return target.check(path)
    except BaseException as error:
        KEPT.mkdir(parents=True, exist_ok=True)
        kept = KEPT / f"{target.name}-{os.getpid()}{target.suffix}"
        shutil.copy(path, kept)
        raise BrokenError(f"{kept}: {error!r}") from error
