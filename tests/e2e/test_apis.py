"""Every API of a listener, in every version that it lists, with requests that it must accept."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.e2e.apis import (
    cluster,
    configs,
    controller,
    data,
    groups,
    new_groups,
    security,
    share,
    topics,
    transactions,
)
from tests.e2e.brokers import ALL, each_of
from tests.e2e.walk import Walk

Area = Callable[[Walk], None]
broker = each_of(*ALL)

BOTH: tuple[Area, ...] = (
    cluster.api_versions,
    topics.made_and_deleted,
    topics.widened,
    configs.configs,
    configs.quotas,
    configs.features,
    security.acls,
    cluster.voters,
)
BROKER: tuple[Area, ...] = (
    *BOTH,
    topics.described,
    topics.moved,
    data.produced_and_fetched,
    data.fetch_sessions,
    data.offsets_looked_up_and_deleted,
    groups.classic_groups,
    new_groups.consumer_groups,
    new_groups.mixed_groups,
    new_groups.streams_groups,
    share.share_groups,
    share.share_state,
    transactions.producer_ids,
    transactions.transactions,
    transactions.markers,
    configs.client_metrics,
    configs.telemetry,
    security.scram_credentials,
    cluster.cluster,
)
CONTROLLER: tuple[Area, ...] = (
    *BOTH,
    controller.raft,
    controller.brokers,
    controller.nodes,
    controller.envelopes,
    controller.credentials,
)


def areas(of_listener: tuple[Area, ...]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("area", [pytest.param(area, id=area.__name__) for area in of_listener])


@areas(BROKER)
def test_brokers_answer_every_version(area: Area, walk: Walk) -> None:
    area(walk)


@areas(CONTROLLER)
def test_controllers_answer_every_version(area: Area, at_controller: Walk) -> None:
    area(at_controller)
