"""Which releases speak which versions of which API, and what a client and a broker agree on.

The facts are those of a generated package, which makes :class:`Releases` and a :class:`Matrix` of them:
``kwire_kafka.releases`` and ``kwire_kafka.compat``. Ranges of versions are ``range`` objects, empty where there is
nothing.
"""

from __future__ import annotations

from kwire.releases.facts import Api, Release, TaggedField, format_range
from kwire.releases.negotiation import Change, Choice, Negotiation
from kwire.releases.table import Releases, UnknownReleaseError

__all__ = [
    "Api",
    "Change",
    "Choice",
    "Negotiation",
    "Release",
    "Releases",
    "TaggedField",
    "UnknownReleaseError",
    "format_range",
]
