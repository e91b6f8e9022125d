"""Shows progress on standard error, as live bars on a terminal or otherwise as one line per phase."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

PHASES = {"parse": "reading definitions", "check": "checking", "emit": "emitting", "format": "formatting"}


@contextmanager
def phases(*, quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Show progress in a ``with`` block, which receives a function of the phase, finished items and total items.

    Bars stay until the end, so that short phases can be seen, too.
    """
    console = Console(stderr=True, quiet=quiet)
    columns = TextColumn("{task.description:<20}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    tasks: dict[str, TaskID] = {}

    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:

        def show(phase: str, done: int, total: int) -> None:
            if phase not in tasks:
                tasks[phase] = progress.add_task(PHASES[phase], total=total)
            progress.update(tasks[phase], completed=done, total=total)
            if not console.is_terminal and done == total:
                console.print(f"{PHASES[phase]}: {total}", highlight=False)

        yield show
