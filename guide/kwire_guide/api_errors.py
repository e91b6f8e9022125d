"""The errors of each API, from ``api_errors.json`` in a folder of definitions.

::

    {"Fetch": [{"error": "OFFSET_OUT_OF_RANGE", "when": "The offset is after the end of the log."},
               {"error": "UNKNOWN_TOPIC_ID", "versions": "13+", "when": "The broker knows no such topic."}]}

The errors page explains how a client should react to each error.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kwirec.files import read_regular
from kwirec.frontend import ErrorDecl
from kwirec.versions import VersionRange

API_ERRORS = "api_errors.json"


@dataclass(frozen=True)
class ApiError:
    """An error that an API returns. ``versions`` is ``None`` if every version of the API can return the error."""

    code: int
    name: str
    retriable: bool
    versions: VersionRange | None
    when: str


ApiErrors = Mapping[str, Sequence[ApiError]]
"""The errors of each API, sorted by code."""


def read_api_errors(paths: Iterable[Path], errors: Iterable[ErrorDecl]) -> ApiErrors:
    """Return the API errors of all folders. Raise ``ValueError`` with the name of an invalid file."""
    known = {error.name.value: error for error in errors}
    found: dict[str, Sequence[ApiError]] = {}
    for file in (path / API_ERRORS for path in paths if (path / API_ERRORS).is_file()):
        try:
            for api, entries in json.loads(read_regular(file)).items():
                listed = [_error(known, **entry) for entry in entries]
                found[api] = sorted(listed, key=lambda one: one.code)
        except KeyError as problem:
            raise ValueError(f"{file.as_posix()}: there is no error {problem}") from problem
        except (AttributeError, TypeError, ValueError, RecursionError) as problem:
            raise ValueError(f"{file.as_posix()}: {problem}") from problem
    return found


def _error(known: Mapping[str, ErrorDecl], *, error: str, when: str, versions: str = "") -> ApiError:
    decl = known[error]
    accepted = VersionRange.parse(versions) if versions else None
    return ApiError(decl.code.value, error, decl.retriable.value, accepted, when)
