"""Finds the classes of a Kafka release that define named numbers, and matches them with the enums in
``message_defs/kafka``, the union of all releases.

:data:`SOURCES` lists the classes of these enums. :data:`ELSEWHERE` lists classes whose numbers do not occur in
message fields. :func:`unknown` returns all other classes, which are new.
"""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile
from operator import itemgetter
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).with_name("Enums.java")
LINE = re.compile(r"([\w.$]+) (\w+) (byte|short|int|long) ([\w$]+) (-?[0-9]{1,19})", re.ASCII)

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
    "TopologyNodeType": [
        "clients.admin.internals.DescribeStreamsGroupsHandler#NODE_TYPE_(.*)",
        "coordinator.group.streams.StreamsGroupTopologyDescriptionConverter#NODE_TYPE_(.*)",
    ],
    "TransactionState": ["coordinator.transaction.TransactionState"],
    "ZkMigrationState": ["metadata.migration.ZkMigrationState"],
}
"""The classes of each enum, newest first. If a class is not a Java enum, its name is followed by ``#`` and a
pattern that matches its constants.

``Acks`` and ``ConsumerMemberType`` are not listed, because they are plain numbers in Kafka's code.
"""

ELSEWHERE: Mapping[str, str] = {
    r"common\.(protocol\.(ApiKeys|Errors)|message\.ApiMessageType)": "in the definitions and errors.json",
    r"(.*\.generated|common\.metadata)\.(Coordinator|Metadata)RecordType": "in the definitions",
    r"server\.common\.\w*Version(\$\w+)?": "feature levels, which have no name on the wire",
    r"(metadata|server\.common)\.(Bootstrap)?MetadataVersion": "feature levels, in releases before 3.3",
    r"common\.record\.(internal\.)?(RecordVersion|RecordBatch#MAGIC_VALUE_.*)": "the format of a record batch",
    r"common\.security\.scram\.internals\.ScramMechanism": "a part of clients.admin.ScramMechanism",
    r"common\.requests\.StreamsGroupDescribeResponse#.*": "the same as TopologyDescriptionStatus",
    r"clients\.consumer\.ConsumerPartitionAssignor\$RebalanceProtocol": "inside the consumer",
    r"clients\.consumer\.internals\.ShareConsumeRequestManager\$AcknowledgeRequestType": "inside the consumer",
    r"clients\.producer\.internals\.TransactionManager\$Priority": "inside the producer",
    r"streams\..*": "in and between Kafka Streams applications",
    r"common\.metrics\.Sensor\$RecordingLevel": "in metrics",
    r"common\.security\.kerberos\.KerberosError": "in Kerberos",
    r"controller\.metrics\.BrokerRegistrationState|metadata\.BrokerState": "in metrics",
    r"metadata\.properties\.MetaPropertiesVersion": "in the file meta.properties",
}
"""Patterns for classes whose numbers do not occur in message fields, each with the place where its numbers occur."""

TYPES = {"byte": "int8", "short": "int16", "int": "int32", "long": "int64"}
NAME, VALUE = re.compile("[A-Z][A-Za-z0-9]*"), re.compile("[A-Za-z][A-Za-z0-9_]*")
CONSTANTS = "static"
"""The word that ``Enums.java`` prints instead of a field name for constants of a class that is not an enum."""
ON_THE_WIRE = ("id", "code", "value", "type", CONSTANTS)
"""Java fields in which Kafka's classes store the number that is written to the wire."""
VAGUE = ("Type", "OpType", "Status", "State", "Kind", "Code")
"""Names of nested classes that are unclear without the name of the enclosing class."""


@dataclass(frozen=True)
class NumberedClass:
    """A class with named numbers. ``name`` omits ``org.apache.kafka.``, and ``keeps`` is the field with the number.

    If the class is not a Java enum, ``name`` ends with ``#`` and the pattern of its constants, as in :data:`SOURCES`.
    """

    name: str
    keeps: str
    value_type: str
    values: dict[str, int]

    @property
    def short_name(self) -> str:
        """The name that the enum would have in the union."""
        cls, _, pattern = self.name.partition("#")
        if pattern:
            return "".join(word.capitalize() for word in pattern.removesuffix("_(.*)").split("_"))
        outer, _, inner = cls.rpartition(".")[2].rpartition("$")
        return outer.replace("$", "") + inner if inner in VAGUE else inner


def classes_of(folder: Path) -> list[NumberedClass]:
    """Return all classes with named numbers in the jars of a release. ``folder`` also contains their
    dependencies.

    Run ``java``, which requires a JDK. Raise ``ValueError`` if ``java`` fails.
    """
    jars = [str(path) for path in sorted(folder.glob("kafka*.jar"))]
    if not jars:
        raise ValueError(f"{folder} has no jars of Kafka")
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{folder}/*", str(PROGRAM), *jars]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        raise ValueError(f"the enums in {folder.name} cannot be read: {done.stderr[-2000:]}")
    return classes_in(done.stdout)


def classes_in(said: str) -> list[NumberedClass]:
    """Return the classes in the output of ``Enums.java``. Raise ``ValueError`` for malformed output."""
    found: dict[str, NumberedClass] = {}
    constants: defaultdict[str, dict[str, tuple[str, int]]] = defaultdict(dict)
    for line in said.splitlines():
        if (match := LINE.fullmatch(line)) is None:
            raise ValueError(f"Java printed a number of an unexpected form: {line[:100]!r}")
        name, keeps, kind, value, number = match.groups()
        if keeps == CONSTANTS:
            constants[name][value] = TYPES[kind], int(number)
        else:
            found.setdefault(name, NumberedClass(name, keeps, TYPES[kind], {})).values[value] = int(number)
    return [*found.values(), *(one for name in constants for one in _groups(name, constants[name]))]


def _groups(cls: str, constants: Mapping[str, tuple[str, int]]) -> Iterator[NumberedClass]:
    """Yield each group of constants that match a pattern in :data:`SOURCES` or are bytes with a common prefix."""
    patterns = [one.partition("#")[2] for classes in SOURCES.values() for one in classes if one.startswith(f"{cls}#")]
    names = sorted(name for name, (value_type, _) in constants.items() if value_type == TYPES["byte"])
    for _, group in groupby(names, lambda name: name.partition("_")[0]):
        columns = zip(*(name.split("_")[:-1] for name in group), strict=False)
        prefix = [column[0] for column in takewhile(lambda column: len(set(column)) == 1, columns)]
        patterns += ["_".join([*prefix, "(.*)"])] if prefix else []
    for pattern in dict.fromkeys(patterns):
        found = {match[1]: constants[name] for name in constants if (match := re.fullmatch(pattern, name))}
        if len(set(found.values())) > 1:
            value_type = next(iter(found.values()))[0]
            values = {name: number for name, (_, number) in found.items()}
            yield NumberedClass(f"{cls}#{pattern}", CONSTANTS, value_type, values)


def of_the_union(classes: Sequence[NumberedClass]) -> dict[str, dict[str, int]]:
    """Return the enums of :data:`SOURCES` in the release, each from its newest class."""
    by_name = {one.name: one.values for one in classes}
    found: dict[str, dict[str, int]] = {}
    for name, candidates in SOURCES.items():
        if present := [by_name[one] for one in candidates if one in by_name]:
            found[name] = present[0]
    return found


def unknown(classes: Sequence[NumberedClass]) -> list[NumberedClass]:
    """Return the classes that neither :data:`SOURCES` nor :data:`ELSEWHERE` lists, sorted by name."""
    known = {one for candidates in SOURCES.values() for one in candidates}
    return sorted(
        (
            one
            for one in classes
            if one.name not in known and not any(re.fullmatch(pattern, one.name) for pattern in ELSEWHERE)
        ),
        key=lambda one: one.name,
    )


def draft(one: NumberedClass) -> dict[str, Any] | None:
    """Return the definition of an enum, without descriptions, or ``None`` if the class lacks the necessary facts."""
    distinct = len(set(one.values.values())) == len(one.values)
    if one.keeps not in ON_THE_WIRE or not distinct or not NAME.fullmatch(one.short_name):
        return None
    if not all(VALUE.fullmatch(name) for name in one.values):
        return None
    values = sorted(one.values.items(), key=itemgetter(1))
    return {
        "type": "enum",
        "name": one.short_name,
        "valueType": one.value_type,
        "about": "",
        "values": [{"name": name, "value": number, "about": ""} for name, number in values],
    }
