"""Proves agreement with Kafka's own generated classes: ``make conformance``, for any release since 2.5.

Takes java, javac and mvn on the path, and about a minute for each release. The exit code is 1 if anything differs,
and 2 without the tools or the jars.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from kwire_kafka.releases import RELEASES
from kwirec.merge.history import release_key
from tests.conformance.jvm import BUILD
from tests.conformance.leniency import Leniency
from tests.conformance.run import Effort, ReleaseReport, run
from tests.conformance.tally import Tally
from tests.conformance.vectors import keep_only
from tools.maven import MavenError

SHOWN = 20
DIFFERENCES = BUILD / "differences.txt"
FIRST = (2, 5)
"""Lines before this one have no readers and writers of messages, only structs."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    usual = newest(major=True)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--release", action="append", help=f"default: {', '.join(usual)}")
    which.add_argument("--all", action="store_true", help="the newest release of every line since 2.5")
    parser.add_argument(
        "--random", type=int, default=40, help="random instances of each message and version, each way"
    )
    parser.add_argument("--batches", type=int, default=40, help="record batches of each kind, each way")
    parser.add_argument("--mutations", type=int, default=150, help="broken instances of each message and version")
    parser.add_argument(
        "--update-vectors",
        action="store_true",
        help=f"write tests/data/conformance anew, which has only {' and '.join(usual)}",
    )
    options = parser.parse_args(arguments)
    kept = usual if options.update_vectors else []
    effort = Effort(options.random, options.batches, options.mutations, frozenset(kept))
    releases = newest(major=False) if options.all else options.release or usual
    started = time.monotonic()
    try:
        with ProcessPoolExecutor(2) as workers:
            reports = [_told(report) for report in workers.map(partial(run, effort=effort), releases)]
    except (FileNotFoundError, MavenError) as missing:
        print(missing, file=sys.stderr)
        return 2
    if kept:
        keep_only(kept)
    for line in lines(reports):
        print(line)
    print(f"\n{time.monotonic() - started:.0f} seconds")
    differences = [line for report in reports for line in (*report.tally.differences, *_open(report.leniency))]
    DIFFERENCES.write_text("".join(f"{line}\n" for line in differences))
    if differences:
        print(f"all {len(differences)} differences are in {DIFFERENCES}")
    return 1 if differences else 0


def _told(report: ReleaseReport) -> ReleaseReport:
    """The report, after a line of progress: all releases take half an hour."""
    found = f"{sum(report.tally.counts.values()):,} comparisons, {len(report.tally.differences):,} differences"
    print(f"Kafka {report.release}: {found}", file=sys.stderr, flush=True)
    return report


def newest(*, major: bool) -> list[str]:
    """The newest known release of every line since 2.5, as 3.9, or of the two newest ``major`` numbers."""
    known = [release for release in RELEASES if release_key(release)[:2] >= FIRST]
    found = {release_key(release)[: 1 if major else 2]: release for release in known}
    return list(found.values())[-2:] if major else list(found.values())


def lines(reports: Sequence[ReleaseReport]) -> Iterator[str]:
    """The report as text."""
    total, broken = Tally(), Leniency()
    for report in reports:
        yield f"Kafka {report.release}: {report.messages} messages, {report.pairs} (message, version) pairs"
        for skipped in report.skipped:
            yield f"  skipped {skipped.message} v{skipped.version}: {skipped.reason}"
        for pair, tags in report.newer.items():
            yield f"  {pair} is neither converted nor mutated: the release does not know the tagged {', '.join(tags)}"
        yield from _tally(report.tally)
        yield ""
        total.add(report.tally)
        broken.add(report.leniency)
    yield "All releases"
    yield f"  {sum(report.pairs for report in reports):9,} (message, version) pairs"
    yield from _tally(total)
    yield ""
    yield from _leniency(broken)
    yield ""
    yield "Broken record batches that Java reads and kwire refuses, and the choice that passes over it"
    for reason, number in sum((report.only_java for report in reports), Counter[str]()).most_common():
        yield f"  {number:9,} {reason}"


def _tally(tally: Tally) -> Iterator[str]:
    for what, number in sorted(tally.counts.items()):
        yield f"  {number:9,} {what}"
    yield f"  {len(tally.differences):9,} differences"
    for difference in tally.differences[:SHOWN]:
        yield f"    {difference[:600]}"


def _leniency(found: Leniency) -> Iterator[str]:
    yield "Broken messages: Java's reader against LIKE_KAFKA"
    for outcome, number in found.outcomes.most_common():
        yield f"  {number:9,} {outcome}"
    yield "What Java accepts and the strict default refuses, by the knob of the policy that accepts it"
    single = {reason for knobs, reason in found.knobs if "," not in knobs}
    several = 0
    for (knobs, reason), number in sorted(found.knobs.items()):
        if "," in knobs and reason in single:
            several += number
        else:
            yield f"  {number:9,} {knobs:<18} {reason}"
    yield f"  {several:9,} with several of these at once"
    yield f"  {len(found.open):9,} kinds of difference that no knob accounts for"
    for line in _open(found)[:SHOWN]:
        yield f"    {line[:600]}"


def _open(found: Leniency) -> list[str]:
    """One line for each kind of difference, with its shortest example."""
    return [f"{kind}: {len(all_)} times, {min(all_, key=len)}" for kind, all_ in sorted(found.open.items())]


if __name__ == "__main__":
    sys.exit(main())
