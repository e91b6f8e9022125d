"""Agreement with Kafka's own classes: ``make conformance`` asks them, the tests know what they said."""
