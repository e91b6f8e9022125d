"""The version that a client and a broker agree on."""

from __future__ import annotations

from itertools import product

from kwire_rules import REFUSED, choose

RANGES = [range(first, stop) for first in range(4) for stop in range(first, 5)]


def test_the_highest_version_that_both_have_is_chosen_and_refused_if_the_broker_only_advertises_it() -> None:
    for client, advertised, accepted in product(RANGES, repeat=3):
        shared = max(set(client) & set(advertised), default=None)
        expected = shared if shared is None or shared in accepted else REFUSED
        assert choose(client, advertised, accepted) == expected, (client, advertised, accepted)
