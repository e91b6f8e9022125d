"""Progress on standard error: a live bar on a terminal, a line for each phase elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

PHASES = {"parse": "reading definitions", "check": "checking", "emit": "emitting", "format": "formatting"}


class Phases:
    """Shows progress when called with phase, done and total. Bars stay until the end, so short phases are visible."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._tasks: dict[str, TaskID] = {}
        self._live = console.is_terminal
        self._progress = Progress(
            TextColumn("{task.description:<20}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            disable=not self._live,
        )

    def __enter__(self) -> Phases:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def __call__(self, phase: str, done: int, total: int) -> None:
        if phase not in self._tasks:
            self._tasks[phase] = self._progress.add_task(PHASES[phase], total=total)
        self._progress.update(self._tasks[phase], completed=done, total=total)
        if not self._live and done == total:
            self._console.print(f"{PHASES[phase]}: {total}", highlight=False)


@contextmanager
def phases(*, quiet: bool) -> Iterator[Phases]:
    """Show progress within a ``with`` block."""
    console = Console(stderr=True, quiet=quiet)
    with Phases(console) as shown:
        yield shown
