"""What holds for all tests: how many examples Hypothesis tries, and which tests share a process.

- ``default``: a hundred examples of a usual property, chosen at random; where CI is set, they are always the same, so
  that what fails there is due to the change. ``deep``, for the night, tries twenty times as many.
- Tests with Spark share one JVM, and tests of whole Kafka releases share what was read of them: each group runs on
  one worker, before everything else because it takes longest. Other tests stay together by file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler.loadgroup import LoadGroupScheduling

EXAMPLES = 100
GROUPS = ("spark", "releases")

UNTIMED = settings(
    deadline=None,
    suppress_health_check=[
        HealthCheck.too_slow,  # no test measures time
        HealthCheck.data_too_large,
        HealthCheck.function_scoped_fixture,  # one folder serves all examples
    ],
)
settings.register_profile("default", UNTIMED, max_examples=EXAMPLES, derandomize="CI" in os.environ)
settings.register_profile("deep", UNTIMED, max_examples=20 * EXAMPLES, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


class Scheduling(LoadGroupScheduling):  # type: ignore[misc]  # xdist has no types
    """Tests of a group on one worker, the others file by file."""

    def _split_scope(self, nodeid: str) -> str:
        group: str = super()._split_scope(nodeid)
        return group.partition("::")[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling:
    return Scheduling(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
        for group in GROUPS:
            if item.get_closest_marker(group):
                item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=lambda item: next((n for n, group in enumerate(GROUPS) if item.get_closest_marker(group)), 9))


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for packages that tests generate: what is in it can be imported."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("packages")
        patch.syspath_prepend(folder)
        yield folder
