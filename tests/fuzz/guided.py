"""Running a check on many inputs: guided by the coverage that they reach, or by chance alone.

A check takes bytes and gives a word for what became of them, or raises. With atheris installed, ``main`` lets
libFuzzer look for inputs that reach new code; without it, inputs are mutations of the seeds, and depend on the number
of the run alone.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from hashlib import sha1
from importlib.util import find_spec
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any, NoReturn

from tests.fuzz.mutation import mutate

Check = Callable[[bytes], str]

MAX_LENGTH = 1500
"""Of inputs that are made up under guidance: long ones take long and show nothing new."""
STEPS, STEPS_PER_BYTE = 1_000_000, 50
"""Maximum lines of Python that one input may take, whatever it claims to hold. A long input may take more: 64 KiB of
the smallest records are read several times, with 16 lines for each byte."""
MEASURED = 50
"""The memory of one input in so many is measured, and the steps of another, because both are slow."""
TIMEOUT = 10
"""Seconds after which libFuzzer reports an input."""
FINDINGS = Path("build/fuzz")


def max_steps(data: bytes) -> int:
    """Return the maximum number of lines that an input may take if it is not compressed."""
    return max(STEPS, STEPS_PER_BYTE * len(data))


class Broken(AssertionError):
    """A promise that was not kept, with the input to see it again: ``python -m MODULE --input HEX``."""

    def __init__(self, what: str, data: bytes) -> None:
        super().__init__(f"{what}; input {data.hex()}")


def instrumented(script: str, *modules: str) -> AbstractContextManager[Any]:
    """Around the imports of what is to be covered, in a script that is run itself and finds atheris."""
    if script != "__main__" or not find_spec("atheris") or "--plain" in sys.argv:
        return nullcontext()
    import atheris

    manager: AbstractContextManager[Any] = atheris.instrument_imports(include=list(modules))
    return manager


def main(
    description: str | None,
    check: Check,
    seeds: Callable[[], Sequence[bytes]],
    memory: int,
    max_steps: Callable[[bytes], int] = max_steps,
) -> None:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plain", action="store_true", help="by chance alone, without atheris")
    parser.add_argument("--input", type=bytes.fromhex, help="check this input alone, in hex")
    options = parser.parse_args()
    if options.input is not None:
        print(guarded(check, memory, max_steps)(options.input))
    elif options.plain or not find_spec("atheris"):
        start = time.perf_counter()
        outcomes = run(check, seeds(), options.runs, options.seed, memory, max_steps)
        _report(outcomes, time.perf_counter() - start, f"seed {options.seed}, by chance")
    else:
        _explore(guarded(check, memory, max_steps), seeds(), options.runs, options.seed)


def run(
    check: Check,
    seeds: Sequence[bytes],
    runs: int,
    seed: int,
    memory: int,
    max_steps: Callable[[bytes], int] = max_steps,
) -> Counter[str]:
    """Check so many mutations of the seeds; the counts of what became of them."""
    random = Random(seed)
    guard = guarded(check, memory, max_steps)
    outcomes: Counter[str] = Counter()
    for number in range(runs):
        data = seeds[number % len(seeds)]
        if random.random() < 0.98:
            data = mutate(data, seeds[int(random.random() * len(seeds))], random)
        outcomes[guard(data)] += 1
    return outcomes


def guarded(check: Check, memory: int, max_steps: Callable[[bytes], int] = max_steps) -> Check:
    """Return a check that fails if an input takes more than ``memory`` bytes or more than ``max_steps(input)`` lines
    of Python. Only some inputs are measured.
    """
    number = 0

    def guard(data: bytes) -> str:
        nonlocal number
        number += 1
        try:
            match number % MEASURED:
                case 0:
                    tracemalloc.start()
                    outcome = check(data)
                    peak = tracemalloc.get_traced_memory()[1]
                    if peak > memory:
                        raise Broken(f"it took {peak:,} bytes of memory", data)
                case 1:
                    outcome, steps = counted(check, data)
                    if steps > max_steps(data):
                        raise Broken(f"it took {steps:,} steps", data)
                case _:
                    outcome = check(data)
        except Broken:
            raise
        except BaseException as error:
            raise Broken(f"it raised {error!r}", data) from error
        finally:
            tracemalloc.stop()
        return outcome

    return guard


def counted(check: Check, data: bytes) -> tuple[str, int]:
    """What became of the input, and how many lines of Python that took."""
    steps = 0

    def count(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal steps
        steps += 1
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        outcome = check(data)
    finally:
        sys.settrace(before)
    return outcome, steps


def _explore(check: Check, seeds: Sequence[bytes], runs: int, seed: int) -> NoReturn:
    """libFuzzer, which ends the process itself."""
    import atheris

    outcomes: Counter[str] = Counter()
    start = time.perf_counter()

    def one(data: bytes) -> None:
        outcomes[check(data)] += 1
        if outcomes.total() == runs:
            found = sum(1 for _ in corpus.iterdir()) - len(seeds)
            _report(outcomes, time.perf_counter() - start, f"seed {seed}, {found} of which reached something new")

    corpus = FINDINGS / Path(sys.argv[0]).stem
    shutil.rmtree(corpus, ignore_errors=True)
    corpus.mkdir(parents=True)
    for data in seeds:
        (corpus / sha1(data).hexdigest()).write_bytes(data)
    limits = [
        f"-runs={runs}",
        f"-seed={seed}",
        f"-max_len={MAX_LENGTH}",
        "-len_control=0",
        "-verbosity=0",
        "-rss_limit_mb=2048",
        f"-timeout={TIMEOUT}",
    ]
    atheris.Setup([sys.argv[0], *limits, f"-artifact_prefix={FINDINGS}/", str(corpus)], one)
    atheris.Fuzz()
    raise AssertionError("libFuzzer does not return")


def _report(outcomes: Counter[str], seconds: float, how: str) -> None:
    print(f"{outcomes.total()} inputs, {how}, {seconds:.0f} seconds")
    for outcome, number in outcomes.most_common():
        print(f"{number:>10}  {outcome}")
    sys.stdout.flush()
