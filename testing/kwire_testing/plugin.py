"""pytest fixtures that run a fake broker or cluster on a thread for each test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kwire_testing import FakeBroker

MARKER = "kafka(release=None, topics=None, nodes=1, ...): FakeBroker arguments for kafka_broker and kafka_cluster"


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker ``kafka``."""
    config.addinivalue_line("markers", MARKER)


@pytest.fixture
def kafka_broker(request: pytest.FixtureRequest) -> Iterator[FakeBroker]:
    """Run a fake broker, with the arguments of ``@pytest.mark.kafka``, such as ``release="3.9"``."""
    yield from _running(request)


@pytest.fixture
def kafka_cluster(request: pytest.FixtureRequest) -> Iterator[FakeBroker]:
    """Run a fake cluster of three nodes, unless the marker sets another number."""
    yield from _running(request, nodes=3)


def _running(request: pytest.FixtureRequest, **settings: Any) -> Iterator[FakeBroker]:
    from kwire_testing import FakeBroker  # imported here because every run of pytest imports this module

    for marker in reversed([*request.node.iter_markers("kafka")]):
        settings |= marker.kwargs
        if marker.args:
            raise pytest.UsageError("the marker kafka accepts only named arguments: @pytest.mark.kafka(release=...)")
    with FakeBroker(**settings) as broker:
        yield broker
