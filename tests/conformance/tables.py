"""What is no bytes of its own: which header belongs to which version, and the error codes."""

from __future__ import annotations

from kwire_kafka import PROTOCOL
from kwire_kafka.errors import ErrorCode
from tests.conformance.jvm import Jvm
from tests.conformance.tally import Tally

HEADERS = "header versions of requests and responses"
ERRORS = "error codes with name and whether they are retriable"


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
        if (error.name, error.retriable) == (name, retriable):
            tally.same(ERRORS)
        else:
            tally.differ(ERRORS, code, f"{error.name}, {error.retriable} is {name}, {retriable} in Java")
