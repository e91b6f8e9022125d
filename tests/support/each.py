"""One test for many cases: for thousands of items, and for releases whose data take their time."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

Test = Callable[..., None]


def each(cases: Callable[[], Iterable[tuple[str, tuple[Any, ...]]]]) -> Callable[[Test], Test]:
    """Call the test with the arguments of every case. A failure shows the case's name; the other cases still run."""

    def decorate(test: Test) -> Test:
        def run(subtests: pytest.Subtests) -> None:
            for name, arguments in cases():
                try:
                    test(*arguments)
                except Exception:
                    with subtests.test(name):  # for failures only: thousands of reports would take seconds
                        raise

        signature = inspect.signature(run)
        functools.update_wrapper(run, test)
        run.__signature__ = signature  # type: ignore[attr-defined]  # of `run`: pytest looks for fixtures in it
        return run

    return decorate


def each_release(*releases: str) -> pytest.MarkDecorator:
    """The test once per release, in ``make test`` with the newest alone, which is the last."""
    *older, newest = releases
    return pytest.mark.parametrize("release", [*(pytest.param(one, marks=pytest.mark.long) for one in older), newest])
