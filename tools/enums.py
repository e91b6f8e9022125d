"""The enums of a release, as its own classes say, compared with those of the union.

``python -m tools.enums [RELEASE]`` brings the jars of a release, by default of the newest that the union has, and
prints what differs; the exit code is 1 if anything does.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

from kwirec.diagnostics.diagnostic import Report
from kwirec.driver import load
from kwirec.ir import Schema
from kwirec.json_text import definition_text
from kwirec.merge.history import read_history
from tools.maven import Jars, bring

UNION = Path(__file__).resolve().parents[1] / "message_defs" / "kafka"
PROGRAM = Path(__file__).with_name("Enums.java")
LINE = re.compile(r"(\w+) (\w+) (-?[0-9]{1,19})")

Numbers = Mapping[str, Mapping[str, int]]
"""Enum → name → number."""

KAFKA = "org.apache.kafka."
SOURCES: Mapping[str, Sequence[str]] = {
    "AclOperation": ["common.acl.AclOperation"],
    "AclPatternType": ["common.resource.PatternType"],
    "AclPermissionType": ["common.acl.AclPermissionType"],
    "AclResourceType": ["common.resource.ResourceType"],
    "AcknowledgeType": ["clients.consumer.AcknowledgeType"],
    "AlterConfigOp": ["clients.admin.AlterConfigOp$OpType"],
    "BrokerFencingChange": ["metadata.BrokerRegistrationFencingChange"],
    "BrokerShutdownChange": ["metadata.BrokerRegistrationInControlledShutdownChange"],
    "CompressionType": ["common.record.internal.CompressionType", "common.record.CompressionType"],
    "ConfigResourceType": ["common.config.ConfigResource$Type"],
    "ConfigSource": ["common.requests.DescribeConfigsResponse$ConfigSource"],
    "ConfigType": ["common.requests.DescribeConfigsResponse$ConfigType"],
    "ConsumerMemberState": [
        "coordinator.group.modern.MemberState",
        "coordinator.group.consumer.ConsumerGroupMember$MemberState",
    ],
    "ControlRecordType": ["common.record.internal.ControlRecordType", "common.record.ControlRecordType"],
    "ControlRequestType": ["common.requests.AbstractControlRequest$Type"],
    "CoordinatorType": ["common.requests.FindCoordinatorRequest$CoordinatorType"],
    "DeliveryState": ["server.share.fetch.RecordState"],
    "ElectionType": ["common.ElectionType"],
    "EndpointType": ["clients.admin.EndpointType"],
    "FeatureUpgradeType": ["clients.admin.FeatureUpdate$UpgradeType"],
    "IsolationLevel": ["common.IsolationLevel", "common.requests.IsolationLevel"],
    "LeaderRecoveryState": ["metadata.LeaderRecoveryState"],
    "ListOffsetsTimestamp": ["common.requests.ListOffsetsRequest#(.*)_TIMESTAMP"],
    "QuotaMatchType": ["common.requests.DescribeClientQuotasRequest#MATCH_TYPE_(.*)"],
    "RemoteLogSegmentState": ["server.log.remote.storage.RemoteLogSegmentState"],
    "RemotePartitionDeleteState": ["server.log.remote.storage.RemotePartitionDeleteState"],
    "ScramMechanism": ["clients.admin.ScramMechanism"],
    "SecurityProtocol": ["common.security.auth.SecurityProtocol"],
    "ShareAcquireMode": ["clients.consumer.internals.ShareAcquireMode"],
    "StreamsGroupStatus": ["common.requests.StreamsGroupHeartbeatResponse$Status"],
    "StreamsMemberState": ["coordinator.group.streams.MemberState"],
    "TimestampType": ["common.record.TimestampType"],
    "TopologyDescriptionStatus": ["clients.admin.StreamsGroupTopologyDescriptionStatus"],
    "TransactionState": ["coordinator.transaction.TransactionState"],
    "ZkMigrationState": ["metadata.migration.ZkMigrationState"],
}
"""The classes of each enum, newest first; after ``#`` the pattern of the names of constants of a class that is none.

``Acks``, ``ConsumerMemberType`` and ``TopologyNodeType`` are plain numbers in Kafka's code.
"""

REMOVED = ("ControlRequestType", "ZkMigrationState")
"""Enums whose classes went with ZooKeeper, in 4.0."""

BESIDE = {"AcknowledgeType": {"GAP": 0}, "LeaderRecoveryState": {"NO_CHANGE": -1}}
"""Values that Kafka's code keeps beside the class."""

FORMERLY = {
    "ControlRecordType": {"QUORUM_REASSIGNMENT": 2, "LEADER_CHANGE": 3},
    "ConfigSource": {"UNKNOWN_CONFIG": 0},
}
"""What releases up to 2.8 and up to 2.5 said otherwise."""


def numbers_of(classpath: str) -> Numbers:
    """The enums of the release on this classpath, without those that it lacks. Runs ``java``, a JDK."""
    arguments = []
    for name, classes in SOURCES.items():
        for one in classes:
            cls, _, pattern = one.partition("#")
            arguments += [name, KAFKA + cls, pattern]
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", classpath, str(PROGRAM), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    found: dict[str, dict[str, int]] = {}
    for line in done.stdout.splitlines():
        if (match := LINE.fullmatch(line)) is None:
            raise ValueError(f"Java printed a number of an unexpected form: {line[:100]!r}")
        found.setdefault(match[1], {})[match[2]] = int(match[3])
    return found


def classpath_of(jars: Jars) -> str:
    """All jars of a release."""
    return os.pathsep.join(map(str, (*jars.modules.values(), jars.logging)))


def numbers_in(schema: Schema) -> Numbers:
    """The enums of definitions."""
    return {enum.name: {value.name: value.value for value in enum.values} for enum in schema.enums}


def differences(ours: Numbers, theirs: Numbers, *, newest: bool) -> Iterator[str]:
    """What a release says otherwise than the union, and has more; if it is the newest, also what it lacks."""
    for name, values in theirs.items():
        known = ours.get(name, {})
        for value, number in values.items():
            if number not in (known.get(value), FORMERLY.get(name, {}).get(value)):
                yield f"{name}.{value} is {number} in Java, {known.get(value, 'missing')} here"
    for name in SOURCES if newest else ():
        if name not in REMOVED:
            expected = {*theirs.get(name, {}), *BESIDE.get(name, {})}
            yield from (f"{name}.{value} is not in Java" for value in ours.get(name, {}) if value not in expected)


def take(union: Path, theirs: Numbers) -> list[str]:
    """Add the values that enums of the union lack, and return their names. They have no description yet.

    A number that has another name in the union stays as it is: :func:`differences` tells it.
    """
    added = []
    for path, enum in _files(union):
        known = {value["name"] for value in enum["values"]} | {value["value"] for value in enum["values"]}
        new = [
            {"name": name, "value": number, "about": ""}
            for name, number in theirs.get(enum["name"], {}).items()
            if not known & {name, number}
        ]
        ascending = enum["values"] == sorted(enum["values"], key=itemgetter("value"))
        enum["values"] += new
        if ascending:
            enum["values"].sort(key=itemgetter("value"))
        if new:
            path.write_text(definition_text(enum))
            added += [f"{enum['name']}.{value['name']}" for value in new]
    return added


def drop(union: Path, names: Collection[str]) -> None:
    """Remove values from the union; ``names`` are such as :func:`take` returns."""
    for path, enum in _files(union):
        enum["values"] = [value for value in enum["values"] if f"{enum['name']}.{value['name']}" not in names]
        path.write_text(definition_text(enum))


def describe(union: Path, described: Path) -> None:
    """Give the values in ``union`` the descriptions that they have in ``described``."""
    about = {(enum["name"], one["name"]): one["about"] for _, enum in _files(described) for one in enum["values"]}
    for path, enum in _files(union):
        for value in enum["values"]:
            value["about"] = about.get((enum["name"], value["name"]), "")
        path.write_text(definition_text(enum))


def _files(union: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The files of a union that define enums, with their content."""
    for path in sorted((union / "enums").glob("*.json")):
        yield path, json.loads(path.read_text())


def main(arguments: Sequence[str]) -> int:
    newest = read_history(UNION).merged[-1]
    [jars] = bring(arguments or [newest])
    ours = numbers_in(load([UNION], Report()).schema)
    found = list(differences(ours, numbers_of(classpath_of(jars)), newest=jars.release == newest))
    print("\n".join(found) or f"the enums are those of {jars.release}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
