"""What holds for all tests: how many examples Hypothesis tries, when garbage is collected, which process runs what.

- ``default``: fifty examples of a usual property, chosen at random. Where CI is set, they are always the same, so
  that what fails there is due to the change. ``quick``, of ``make test-fast``, tries half as many, and ``deep``, for
  the night, forty times as many.
- Python looks for garbage among what tests make, and rarely; not among the thousands of tests and generated classes.
  That takes a sixth off the time.
- Libraries of ``make native`` that differ from their sources are refused: Python would import them all the same.
- The tests in ``tests/spark`` share one JVM, and those of whole Kafka releases what was read of them. Each group runs
  on one worker, before everything else because it takes longest. Other tests stay together by file. This looks at
  files, because the groups of xdist 3.8 (``xdist_group``) have no effect in pytest 9.2.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from kwire import is_native
from kwire.command import main
from tools.native import stale

EXAMPLES = 50
SPARK, RELEASES = "spark", "releases"

UNTIMED = settings(
    deadline=None,
    suppress_health_check=[
        HealthCheck.too_slow,  # no test measures time
        HealthCheck.data_too_large,
        HealthCheck.function_scoped_fixture,  # one folder serves all examples
    ],
)
settings.register_profile("default", UNTIMED, max_examples=EXAMPLES, derandomize="CI" in os.environ)
settings.register_profile("quick", UNTIMED, max_examples=EXAMPLES // 2, derandomize="CI" in os.environ)
settings.register_profile("deep", UNTIMED, max_examples=40 * EXAMPLES, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


gc.disable()  # until the tests have been collected


def pytest_sessionstart() -> None:
    if os.environ.get("KWIRE_NATIVE") == "1" and not is_native():
        pytest.exit("kwire is not native: make native", returncode=2)
    if reason := stale():
        pytest.exit(reason, returncode=2)


class Scheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Files of a group on one worker, the others one by one."""

    def _split_scope(self, nodeid: str) -> str:
        return group(self.config.rootpath / nodeid.partition("::")[0])


@cache
def group(path: Path) -> str:
    """Return the group of a file of tests, or the file itself if it is in none."""
    if path.parent.name == SPARK:
        return SPARK
    return RELEASES if "pytest.mark.releases" in path.read_text("utf-8") else str(path)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling:
    return Scheduling(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    order = (SPARK, RELEASES)
    for item in items:
        if group(item.path) == SPARK:
            item.add_marker(SPARK)
    items.sort(key=lambda item: order.index(name) if (name := group(item.path)) in order else len(order))


def pytest_collection_finish() -> None:
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for packages that tests generate: what is in it can be imported."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("packages")
        patch.syspath_prepend(folder)
        yield folder


class Result(NamedTuple):
    """Of a command: its exit code, and what it printed."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs the command ``kwire`` with these arguments and, for this once, variables of the environment."""
    for name in ("KWIRE_PASSWORD", "KWIRE_TOKEN", "KWIRE_KEY_PASSWORD"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: object, **environment: str) -> Result:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            try:
                code = main([str(argument) for argument in arguments])
            except SystemExit as stopped:
                code = int(stopped.code or 0)
        return Result(code, *capsys.readouterr())

    return call
