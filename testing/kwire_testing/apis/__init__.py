"""The handlers of all APIs that a broker has, a module for each subject."""

from kwire_testing.apis import fetch, groups, login, offsets, produce, topics, transactions, versions

__all__ = ["fetch", "groups", "login", "offsets", "produce", "topics", "transactions", "versions"]
