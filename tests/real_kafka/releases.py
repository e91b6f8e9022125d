"""The releases whose brokers `make e2e` and `make e2e-traffic` start, of those that kwire knows."""

from __future__ import annotations

from kwire_kafka.releases import RELEASES

BEFORE = RELEASES["3.9"].name
"""The newest of the last line that accepts what 4.0 removed: every client of the tests is at home here."""

STRICT = "4.0.0"
"""It refuses JoinGroup 0 and 1, which its successors accept again [KAFKA-19444]."""

NEWEST = RELEASES.newest.name

COMPLETE = "4.3.1"
"""The newest release with all modules in Maven: 4.4.0 was published without Kafka Streams and the console tools."""

BROKERS = (BEFORE, STRICT, NEWEST)
