"""Compares franz-go's definitions with the union, which is in ``message_defs/kafka``: ``make crosscheck``.

The check fetches the definitions from franz-go's repository at :data:`COMMIT`, because this repository has no copy.
``REPOSITORY=`` selects a local clone instead, and ``COMMIT=`` another commit. Every message version that both sets
define must have the same bytes. :data:`KNOWN` lists the exceptions, each with the side that is right.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kwirec.diagnostics.diagnostic import Report, Severity
from kwirec.diagnostics.render import render
from kwirec.diff.layouts import LayoutComparison, Parting, compare_layouts
from kwirec.driver import load
from kwirec.ir import Schema
from kwirec.versions import VersionRange, in_words
from tools import ROOT

REPOSITORY = "https://github.com/twmb/franz-go.git"
COMMIT = "adb3a18abe14bdb230f1cd738d03623301013d42"
DEFINITIONS = "generate/definitions"

NAMES = {
    "TxnMetadataKey": "TransactionLogKey",
    "TxnMetadataValue": "TransactionLogValue",
    "ConsumerMemberMetadata": "ConsumerProtocolSubscription",
    "ConsumerMemberAssignment": "ConsumerProtocolAssignment",
    "ControlRecordKey": "ControlRecordTypeSchema",
}
"""Kafka's names of records that franz-go names differently. Requests and responses are paired by API key."""

EARLY = "in Kafka, the tag begins at a later version, which franz-go's notation cannot express"
KAFKA = "Kafka"
"""Kafka is right, because its own classes write the bytes of the union. ``make conformance`` proves this."""
CODE = "Kafka, as its own classes prove: make conformance-code"


@dataclass(frozen=True)
class Known:
    """An explained difference: its message, its versions, and the first field with different bytes."""

    message: str
    versions: str
    path: str
    reason: str
    right: str = KAFKA

    def explains(self, one: Parting) -> bool:
        return (self.message, self.path) == (one.message.name, one.path) and one.version in VersionRange.parse(
            self.versions
        )


KNOWN = (
    Known("ProduceResponse", "9", "Responses.PartitionResponses.CurrentLeader", EARLY),
    Known("FetchRequest", "12-16", "Topics.Partitions.ReplicaDirectoryID", EARLY),
    Known("FetchRequest", "17", "Topics.Partitions.HighWatermark", EARLY),
    Known("FetchResponse", "12-15", "Brokers", EARLY),
    Known("VoteResponse", "0", "NodeEndpoints", EARLY),
    Known("FetchSnapshotRequest", "0", "Topics.Partitions.ReplicaDirectoryID", EARLY),
    Known("FetchSnapshotResponse", "0", "NodeEndpoints", EARLY),
    Known("BrokerHeartbeatRequest", "0", "OfflineLogDirs", EARLY),
    Known(
        "StopReplicaRequest",
        "4",
        "isKRaftController",
        "the field is before ControllerEpoch in Kafka and after it in franz-go",
    ),
    Known("UpdateMetadataRequest", "8", "Type", "franz-go lacks the tag"),
    Known("ShareFetchResponse", "1-2", "Responses.Partitions.Records", "in franz-go, records can be null"),
    Known("ConnectMemberAssignment", "0", "Assignment.Tasks", "Kafka's ConnectProtocol uses int32 for tasks", CODE),
    Known(
        "ConnectMemberAssignment",
        "1",
        "Assignment",
        "Kafka's ConnectProtocol uses int32 for tasks, and null arrays",
        CODE,
    ),
    Known(
        "LeaderChangeMessage",
        "0-1",
        "Version",
        "the version is a field in Kafka's definition, but precedes the fields in franz-go",
        "both, because the bytes are equal",
    ),
)


def bring(folder: Path, commit: str, repository: str = REPOSITORY) -> Path:
    """Return a new folder with the definitions in ``commit`` of franz-go. ``repository`` is an address or path. Raise
    ``CalledProcessError`` if git fails.
    """
    git = ("git", "-C", str(folder))
    if not (folder / ".git").exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([*git, "init", "--quiet"], check=True)
    fetch = ("fetch", "--quiet", "--depth", "1", "--", repository, commit)
    subprocess.run([*git, *fetch], check=True)
    shutil.rmtree(folder / DEFINITIONS, ignore_errors=True)  # it may contain files that this commit lacks
    subprocess.run([*git, "checkout", "--quiet", "--force", "FETCH_HEAD", "--", DEFINITIONS], check=True)
    return folder / DEFINITIONS


def compare(folder: Path, union: Path) -> tuple[Schema, LayoutComparison]:
    """Return franz-go's schema and its differences from the union. If a side has errors, print them and exit."""
    report = Report()
    mine, theirs = (load([path], report).schema for path in (union, folder))
    if report.has_errors():
        errors = [one for one in report.diagnostics if one.severity is Severity.ERROR]
        sys.exit(render(errors, "text", color=False))
    renamed = tuple(replace(one, name=NAMES.get(one.name, one.name)) for one in theirs.messages)
    named = Schema(messages=renamed, enums=theirs.enums)
    return named, compare_layouts(mine, named)


def unexplained(found: LayoutComparison) -> Iterator[str]:
    """Yield the differences that :data:`KNOWN` does not explain, and the explanations that match no difference."""
    for one in found.parting:
        if not any(known.explains(one) for known in KNOWN):
            yield f"not explained: {one}"
    for known in KNOWN:
        there = {one.version for one in found.parting if known.explains(one)}
        if missing := set(VersionRange.parse(known.versions)) - there:
            yield f"explanation without a difference: {known.message} {in_words(missing)}, {known.path}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="make crosscheck", description="Compare franz-go's definitions with the union."
    )
    parser.add_argument(
        "--commit", default=COMMIT, help="commit of franz-go (default: the commit whose differences are explained)"
    )
    parser.add_argument("--repository", default=REPOSITORY, help="address or path of a clone (default: %(default)s)")
    parser.add_argument("--definitions", type=Path, help="folder that already contains the definitions")
    options = parser.parse_args(arguments)
    local = Path(options.repository)  # absolute below, because git runs in another folder
    repository = str(local.resolve()) if local.exists() else options.repository
    try:
        folder = options.definitions or bring(ROOT / "build" / "franz-go", options.commit, repository)
    except subprocess.CalledProcessError as failure:
        print(f"{repository} cannot be read: {failure}", file=sys.stderr)
        return 2
    theirs, found = compare(folder, ROOT / "message_defs" / "kafka")
    for known in KNOWN:
        print(f"{known.message} {known.versions}, {known.path}: {known.reason}; right: {known.right}")
    print(f"{len(theirs.messages)} messages of franz-go")
    for what, is_rpc in (("requests and responses", True), ("records", False)):
        equal = sum(message.is_rpc is is_rpc for message, _ in found.equal)
        parting = sum(one.message.is_rpc is is_rpc for one in found.parting)
        print(f"{what}: {equal} of {equal + parting} common versions are equal, {parting} differ as explained")
    problems = list(unexplained(found))
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
