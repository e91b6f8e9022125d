"""Handlers for all APIs of a broker, with one module per subject."""

from kwire_testing.apis import cluster, groups, logs, topics, transactions

MODULES = (cluster, groups, logs, topics, transactions)
