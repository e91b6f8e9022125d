"""The handlers of all APIs that a broker has, a module for each subject."""

from kwire_testing.apis import fetch, login, produce, topics, versions

__all__ = ["fetch", "login", "produce", "topics", "versions"]
