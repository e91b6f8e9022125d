"""Differences between the versions of a message in past releases and in the current definitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kwire_guide.releases import in_words
from kwirec.ir.schema import Message
from kwirec.lowering.layout import MessageLayout
from kwirec.merge.history import History, release_key, release_runs, span_text
from kwirec.merge.proof import as_of, late_tags
from kwirec.naming import python_path


def former(message: Message, layouts: Mapping[int, MessageLayout], history: History) -> Iterator[str]:
    """Yield a sentence for each tagged field that is newer than its version, for each range of releases in which a
    version had other bytes, and for the releases that lack the message's module.

    Kafka can add a tagged field to an existing version, because an unset field does not change the bytes.
    """
    names = history.names
    away = {release for version in layouts for release in history.unpublished_in(message.name, version)}
    for span, _ in release_runs(names, lambda name: name in away or None):
        yield f"Not published with {in_words(span_text(span))}: the module of this message was left out."
    for version, layout in layouts.items():
        prints, late = history.prints(message.name, version), list(late_tags(layout))
        otherwise = {
            release: f": {entry.reason}" if (entry := history.excepted(message.name, version, release)) else "."
            for release, fingerprint in prints.items()
            if (as_of(layout, release) if late else layout).fingerprint != fingerprint
        }
        for span, reason in release_runs(names, otherwise.get):
            yield f"Version {version} had other bytes in {in_words(span_text(span))}{reason}"
        oldest = min(prints.keys() - otherwise.keys(), key=release_key, default="")
        for path, tag, since in late:
            if oldest and release_key(oldest) < release_key(since):
                yield f"Version {version} had no {python_path(path)} (tag {tag.tag}) before {since}."
