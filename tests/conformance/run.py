"""One release, from its jars to a report: all messages and versions, all kinds of record batches, broken bytes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter

from tests.conformance import broken_batches, leniency, messages, records, tables, vectors
from tests.conformance.jvm import Jvm
from tests.conformance.leniency import BrokenVector, Leniency
from tests.conformance.messages import Vector
from tests.conformance.pairs import Pair, Skipped, in_jars, pair_up
from tests.conformance.records import BatchVector
from tests.conformance.tally import Tally

CONVERSIONS = 3
"""How many instances are written in every other version."""
SMALL = 1500
"""Vectors of batches and of broken messages are kept up to this size."""


@dataclass(frozen=True)
class Effort:
    """How much is compared: random instances of each message and version, batches of each kind, mutations.

    ``keep_vectors`` are the releases whose vectors are written.
    """

    randoms: int
    batches: int
    mutations: int
    keep_vectors: frozenset[str]


@dataclass
class ReleaseReport:
    """``newer`` are the tagged fields that the release does not know, by message and version; ``only_java`` counts
    what keeps us from reading broken batches that Java reads."""

    release: str
    messages: int
    pairs: int
    skipped: list[Skipped]
    newer: dict[str, list[str]]
    tally: Tally = field(default_factory=Tally)
    leniency: Leniency = field(default_factory=Leniency)
    only_java: Counter[str] = field(default_factory=Counter)


def run(release: str, effort: Effort) -> ReleaseReport:
    """Compare everything. The vectors of releases in ``keep_vectors`` are written anew."""
    with Jvm(release) as jvm:
        pairing = pair_up(release, in_jars(release), jvm.classes())
        pairs = pairing.pairs
        newer = {str(pair): tags for pair in pairs if (tags := leniency.newer_tags(pair))}
        report = ReleaseReport(release, len({pair.message for pair in pairs}), len(pairs), pairing.skipped, newer)
        report.tally.differences += [f"unmatched: {problem}" for problem in pairing.unmatched]
        tables.check(jvm, report.tally)
        kept, broken = _messages(jvm, pairs, effort, report)
        batches = list(_few_batches(records.from_java(jvm, effort.batches, report.tally)))
        records.to_java(jvm, effort.batches, report.tally)
        report.only_java = broken_batches.check(jvm, effort.mutations, report.tally)
    if release in effort.keep_vectors:
        vectors.write(release, kept, batches, broken)
    return report


def _messages(
    jvm: Jvm, pairs: list[Pair], effort: Effort, report: ReleaseReport
) -> tuple[list[Vector], list[BrokenVector]]:
    """Every message and version; gives the vectors to keep."""
    versions: defaultdict[object, list[Pair]] = defaultdict(list)
    for pair in pairs:
        versions[pair.message].append(pair)
    kept: list[Vector] = []
    broken: list[BrokenVector] = []
    for pair in pairs:
        kept += _few(messages.from_java(jvm, pair, effort.randoms, report.tally))
        messages.to_java(jvm, pair, effort.randoms, report.tally)
        if str(pair) not in report.newer:
            messages.convert(jvm, pair, versions[pair.message], CONVERSIONS, report.tally)
            mutations = list(leniency.check(jvm, pair, effort.mutations, report.leniency))
            broken += [vector for vector in mutations if len(vector.data) < SMALL][: vectors.BROKEN]
    return kept, broken


def _few(found: Iterable[Vector]) -> Iterator[Vector]:
    """The fixed shapes and the first random ones."""
    for shape, group in groupby(found, attrgetter("shape")):
        for number, vector in enumerate(group):
            if shape != "random" or number < vectors.RANDOMS:
                yield vector


def _few_batches(found: Iterable[BatchVector]) -> Iterator[BatchVector]:
    """The first small ones of each kind."""
    for _, group in groupby(found, str):
        small = (vector for vector in group if len(vector.data) < SMALL)
        for _, vector in zip(range(vectors.RANDOMS), small, strict=False):
            yield vector
