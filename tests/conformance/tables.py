"""What is no bytes of its own: which header belongs to which version, error codes, API keys, record types, enums."""

from __future__ import annotations

from collections.abc import Mapping

from kwire.logs.internal import FRAMED
from kwire.message import Message
from kwire_kafka import PROTOCOL
from kwire_kafka.api_keys import ApiKey
from kwire_kafka.errors import ErrorCode
from kwire_kafka.releases import RELEASES
from kwirec.diagnostics.diagnostic import Report
from kwirec.driver import load
from kwirec.merge.history import release_key
from tests.conformance.jvm import Jvm
from tests.conformance.tally import Tally
from tests.real_kafka.jars import fetch
from tools import UNION, enum_classes, enums

HEADERS = "header versions of requests and responses"
ERRORS = "error codes with name and whether they are retriable"
FORMERLY = {
    6: ((2, 5), "NOT_LEADER_FOR_PARTITION", True),
    9: ((2, 5), "REPLICA_NOT_AVAILABLE", False),
    51: ((3, 2), "CONCURRENT_TRANSACTIONS", False),
}
"""The last line of releases in which an error had another name than today, or was not retriable; ours are today's."""
RECORD_TYPES = {
    "group": ((4, 1), "group-coordinator", "CoordinatorRecordType"),
    "share": ((4, 1), "share-coordinator", "CoordinatorRecordType"),
    "transaction": ((4, 1), "transaction-coordinator", "CoordinatorRecordType"),
    "metadata": ((2, 8), "metadata", "MetadataRecordType"),
    "remote_storage": ((3, 0), "storage", "MetadataRecordType"),
}
"""The class with the record types of each log: the first line of releases that has it, its module and name."""


def check(jvm: Jvm, tally: Tally) -> None:
    """Compare the tables of a release with ours, which may have more."""
    line = release_key(jvm.release)[:2]
    _headers_and_errors(jvm, tally)
    _enums(jvm, tally)
    theirs = {key: _present(one, "Request") for key, one in jvm.numbers("clients", "ApiKeys").items()}
    _numbers(theirs, {key: PROTOCOL.request(key).__name__ for key in ApiKey}, "API keys", tally)
    for log, (since, module, name) in RECORD_TYPES.items():
        if line >= since:
            suffix = "" if log in FRAMED else "Key"
            theirs = {number: _present(one, suffix) for number, one in jvm.numbers(module, name).items()}
            ours = {number: _name(*PROTOCOL.record(log, number)) for number in PROTOCOL.record_types(log)}
            _numbers(theirs, ours, f"record types of the log {log}", tally)


def _present(constant: str, suffix: str) -> str:
    """The name that the message of a constant of Java has today: ``OFFSET_COMMIT`` is ``OffsetCommitKey``."""
    name = "".join(word.capitalize() for word in constant.split("_"))
    found = PROTOCOL.get(name + suffix)
    return constant if found is None else found.__name__


def _name(key: type[Message] | None, value: type[Message] | None) -> str:
    message = key or value
    assert message is not None
    return message.__name__


def _numbers(java: Mapping[int, str], ours: Mapping[int, str], what: str, tally: Tally) -> None:
    for number, name in java.items():
        if ours.get(number) == name:
            tally.same(what)
        else:
            tally.differ(what, number, f"{ours.get(number, 'nothing')} is {name} in Java")


def _enums(jvm: Jvm, tally: Tally) -> None:
    theirs = enum_classes.classes_of(fetch(jvm.release))
    ours = enums.numbers_in(load([UNION], Report()).schema)
    *_, newest = RELEASES
    found = list(enums.differences(ours, theirs, newest=jvm.release == newest))
    tally.same("enums", len(enum_classes.of_the_union(theirs)) - len({line.partition(".")[0] for line in found}))
    for line in found:
        tally.differ("enums", *line.split(" ", 1))


def _headers_and_errors(jvm: Jvm, tally: Tally) -> None:
    for key, version, request, response in jvm.headers():
        ours = PROTOCOL.request(key).header_version(version), PROTOCOL.response(key).header_version(version)
        if ours == (request, response):
            tally.same(HEADERS, 2)
        else:
            tally.differ(HEADERS, f"api key {key} v{version}", f"{ours} is {(request, response)} in Java")
    for code, name, retriable in jvm.errors():
        error = ErrorCode(code)
        last, *former = FORMERLY.get(code, ((0,),))
        expected = former if release_key(jvm.release)[:2] <= last else [error.name, error.retriable]
        if expected == [name, retriable]:
            tally.same(ERRORS)
        else:
            tally.differ(ERRORS, code, f"{expected} is {[name, retriable]} in Java")
