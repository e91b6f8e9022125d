"""Provides an in-process fake Kafka broker for tests, for any client and any release, and a proxy with filters.

::

    async with FakeBroker(release="3.9", topics={"orders": 3}) as broker:
        producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers)

``with`` runs the broker on a thread, for blocking clients.
"""

from kwire_testing.broker import FakeBroker
from kwire_testing.call import Call
from kwire_testing.clock import Clock
from kwire_testing.control import Handler, Rule
from kwire_testing.proxy import Filter, Passage, Proxy, addresses, limit

__all__ = [
    "Call",
    "Clock",
    "FakeBroker",
    "Filter",
    "Handler",
    "Passage",
    "Proxy",
    "Rule",
    "addresses",
    "limit",
]
