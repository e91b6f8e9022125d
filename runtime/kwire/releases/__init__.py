"""The versions that releases support, negotiation between client and broker, and conversion between versions.

The data is part of generated packages, as ``Releases`` in ``kwire_kafka.releases`` and as ``Matrix`` in
``kwire_kafka.compat``. Version ranges are ``range`` objects, which may be empty.
"""

from __future__ import annotations

from kwire.releases.broker import ApiFit, BrokerAnswer, BrokerFit, Feature, Node
from kwire.releases.facts import Api, Release, TaggedField, format_range
from kwire.releases.matrix import Conversion, Matrix, MessageMatrix, VersionFacts
from kwire.releases.negotiation import Change, Choice, Negotiation
from kwire.releases.table import Releases

__all__ = [
    "Api",
    "ApiFit",
    "BrokerAnswer",
    "BrokerFit",
    "Change",
    "Choice",
    "Conversion",
    "Feature",
    "Matrix",
    "MessageMatrix",
    "Negotiation",
    "Node",
    "Release",
    "Releases",
    "TaggedField",
    "VersionFacts",
    "format_range",
]
