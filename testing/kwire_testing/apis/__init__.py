"""The handlers of all APIs that a broker has, a module for each subject."""

from kwire_testing.apis import cluster, groups, logs, topics, transactions

MODULES = (cluster, groups, logs, topics, transactions)
