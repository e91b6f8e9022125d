"""What is no bytes of its own: which header belongs to which version, and the error codes."""

from __future__ import annotations

from kwire_kafka import PROTOCOL
from kwire_kafka.errors import ErrorCode
from kwirec.merge.history import release_key
from tests.conformance.jvm import Jvm
from tests.conformance.tally import Tally

HEADERS = "header versions of requests and responses"
ERRORS = "error codes with name and whether they are retriable"
FORMERLY = {
    6: ((2, 5), "NOT_LEADER_FOR_PARTITION", True),
    9: ((2, 5), "REPLICA_NOT_AVAILABLE", False),
    51: ((3, 2), "CONCURRENT_TRANSACTIONS", False),
}
"""The last line of releases in which an error had another name than today, or was not retriable; ours are today's."""


def check(jvm: Jvm, tally: Tally) -> None:
    """Compare both tables of a release with ours, which may have more."""
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
