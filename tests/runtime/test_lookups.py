"""Look-ups by name, key or version: mappings that know former names, and one family of errors with suggestions."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from operator import getitem
from typing import Any

import pytest

import kwire
from kwire.errors import KwireError, UnknownMessageError, UnknownNameError, suggestion
from kwire_inspect.tables.record_structs import record_kind
from kwire_kafka import ALIASES, MODULES, PROTOCOL, FetchRequest
from kwire_kafka.arrow import ARROW
from kwire_kafka.compat import MATRIX
from kwire_kafka.models import MODELS, FetchRequestModel
from kwire_kafka.releases import RELEASES, negotiate
from kwire_spark.typed import messages

BY_MESSAGE: dict[str, Mapping[str, Any]] = {"PROTOCOL": PROTOCOL, "MODELS": MODELS, "ARROW": ARROW, "MATRIX": MATRIX}
FETCH = FetchRequest()
COLUMNS = ARROW["FetchRequest"]
SUGGESTED = ", did you mean FetchRequest or FetchResponse?"
VERSIONS = "unknown version 99 of FetchRequest, valid versions are 0 to 18"

FAILURES: dict[str, tuple[Callable[[], object], str, object, str]] = {
    **{
        name: (partial(getitem, lookup, "Fetch"), "UnknownMessageError", "Fetch", f"message 'Fetch'{SUGGESTED}")
        for name, lookup in BY_MESSAGE.items()
    },
    "a misspelt message": (
        lambda: PROTOCOL["FetchRequst"],
        "UnknownMessageError",
        "FetchRequst",
        "did you mean FetchRequest",
    ),
    "nothing similar": (lambda: PROTOCOL["Xyz"], "UnknownMessageError", "Xyz", "unknown message 'Xyz'"),
    "api_name": (lambda: PROTOCOL.api_name(999), "UnknownApiError", 999, "unknown API 999"),
    "request": (lambda: PROTOCOL.request(999), "UnknownApiError", 999, "unknown API 999"),
    "response": (lambda: PROTOCOL.response(999), "UnknownApiError", 999, "unknown API 999"),
    "log": (lambda: PROTOCOL.record_types("groups"), "UnknownLogError", "groups", "did you mean group"),
    "record": (lambda: PROTOCOL.record("group", 99), "UnknownRecordTypeError", 99, "record type 99 of log 'group'"),
    "release": (lambda: RELEASES["4.9"], "UnknownReleaseError", "4.9", "expected one of 4.0.0, 4.0.1, 4.0.2, 4.1.0"),
    "negotiate": (lambda: negotiate("9.9", "4.1.1"), "UnknownReleaseError", "9.9", "unknown release '9.9', expected"),
    "API in a negotiation": (
        lambda: negotiate({"Fetsh": (0, 1)}, "4.1"),
        "UnknownApiError",
        "Fetsh",
        "unknown API 'Fetsh', did you mean Fetch",
    ),
    "choice": (lambda: negotiate("4.0", "4.1")[999], "UnknownApiError", 999, "unknown API 999"),
    "API of a release": (
        lambda: RELEASES["4.1"].api("fetch"),
        "UnknownApiError",
        "fetch",
        "unknown API 'fetch' of release 4.1.2, did you mean Fetch",
    ),
    "conversion": (lambda: MATRIX["FetchRequest"].convert(99, 4), "UnknownVersionError", 99, "version 99 of Fetch"),
    "model": (lambda: FetchRequestModel.for_version(99), "UnknownVersionError", 99, VERSIONS),
    "from_json": (lambda: FetchRequest.from_json({}, 99), "UnknownVersionError", 99, VERSIONS),
    "to_json": (lambda: FETCH.to_json(99), "UnknownVersionError", 99, VERSIONS),
    "columns": (lambda: COLUMNS.array([FETCH], 99), "UnknownVersionError", 99, VERSIONS),
    "kind of records": (lambda: record_kind("OfsetCommit"), "UnknownRecordTypeError", "OfsetCommit", "OffsetCommit"),
    "typed tables": (lambda: messages(None, "Fetsh"), "UnknownApiError", "Fetsh", "did you mean Fetch"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", FAILURES)
def test_a_look_up_without_result_names_what_it_looked_for_and_suggests(case: str) -> None:
    call, kind, name, text = FAILURES[case]
    with pytest.raises(UnknownNameError) as caught:
        call()
    error = caught.value
    assert type(error) is getattr(kwire, kind)
    assert isinstance(error, KwireError)
    assert isinstance(error, KeyError)
    assert error.name == name
    assert text in str(error)
    assert str(error).startswith("unknown ")
    for same in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (type(same), same.name, str(same)) == (type(error), error.name, str(error))


@pytest.mark.parametrize("name", BY_MESSAGE)
def test_look_ups_by_message_are_mappings_of_current_names(name: str) -> None:
    lookup = BY_MESSAGE[name]
    assert isinstance(lookup, Mapping)
    assert set(lookup) == set(lookup.keys()) == set(MODULES)
    assert len(lookup) == len(MODULES)
    assert "Fetch" not in lookup
    assert lookup.get("Fetch") is None
    assert repr(lookup) == f"<{type(lookup).__name__} of kwire_kafka: {len(MODULES)} messages>"
    for old, new in ALIASES.items():
        assert old in lookup
        assert old not in list(lookup)
        assert lookup[old] is lookup[new]
        assert lookup.get(old) is lookup.get(new)


def test_looking_whether_a_message_exists_imports_nothing() -> None:
    code = "import sys; from kwire_kafka import PROTOCOL as P; 'FetchRequest' in P, list(P), P == P, hash(P), repr(P)"
    code += "; print(any(name.startswith('kwire_kafka.api') for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    ("name", "release"), [("4.1.1", "4.1.1"), ("4.1", "4.1.2"), ("4.0", "4.0.2"), ("9.9", None), ("", None)]
)
def test_a_release_is_in_the_releases_if_it_can_be_looked_up(name: str, release: str | None) -> None:
    found = RELEASES.get(name)
    assert (name in RELEASES) == (found is not None) == (release is not None)
    assert (found.name if found else None) == release
    assert "4.1" not in list(RELEASES)


def test_small_protocols_list_their_messages() -> None:
    known = ("ClockRequest", "ClockResponse")
    assert (
        str(UnknownMessageError("Xyz", known)) == "unknown message 'Xyz', expected one of ClockRequest, ClockResponse"
    )
    assert str(UnknownMessageError("clock", known)).endswith("did you mean ClockRequest or ClockResponse?")


def test_numbers_of_releases_are_not_guessed_and_long_lists_left_out() -> None:
    assert suggestion("3.9.9", ["3.9.1", "3.9.0"]) == ", expected one of 3.9.1, 3.9.0"
    assert suggestion("?", ["x" * 199, "y" * 199]) == f", expected one of {'x' * 199}, {'y' * 199}"
    assert suggestion("?", ["x" * 199, "y" * 200]) == ""
    assert suggestion("configs", ["config", "Conf", "configz", "other"]) == ", did you mean config or configz?"
    assert suggestion("User", ["user", "UserRecord", "UserValue"]) == ", did you mean UserRecord or UserValue?"
    assert suggestion(5, ["a"]) == suggestion("a", []) == suggestion(1, range(0)) == ""
    assert suggestion(5, range(2, 4)) == ", valid versions are 2 to 3"
