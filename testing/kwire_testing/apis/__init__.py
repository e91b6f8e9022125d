"""The handlers of all APIs that a broker has, a module for each subject."""

from kwire_testing.apis import (
    configs,
    consumers,
    fetch,
    groups,
    login,
    offsets,
    produce,
    topics,
    transactions,
    versions,
)

MODULES = (configs, consumers, fetch, groups, login, offsets, produce, topics, transactions, versions)
