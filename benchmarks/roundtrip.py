"""Makes round trips of every message version, to prove that a compiled build behaves like its source.

Run this script in its own process, because interpreted and compiled modules have the same names:

    python benchmarks/roundtrip.py FOLDER PACKAGE MODULE...

The script imports the modules from ``FOLDER``, and prints a line of JSON with the numbers of messages and versions
and a digest of all encoded bytes.
"""

from __future__ import annotations

import copy
import hashlib
import json
import pickle
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

NUMBERS = {
    "bool": True,
    "int8": -2,
    "int16": 513,
    "uint16": 65000,
    "int32": -70000,
    "uint32": 4_000_000_000,
    "int64": 1 << 40,
    "float64": 1.5,
}
VALUES = NUMBERS | {"string": "höhe" * 40, "bytes": b"\0\1" * 100, "records": bytes(20_000)}


def messages(package: str, modules: Sequence[str]) -> Iterator[type[Any]]:
    """Yield the message classes of the codec modules, in a fixed order."""
    for name in sorted(modules):
        module = import_module(f"{package}.{name.replace('/', '.')}")
        for _, value in sorted(vars(module).items()):
            if (
                isinstance(value, type)
                and getattr(value, "VALID_VERSIONS", None)
                and value.__module__ == module.__name__
            ):
                yield value


def filled(cls: type[Any], owner: type[Any], version: int, uuid: type[Any]) -> Any:
    """Return an instance with a value in every field of the version."""
    values = {}
    for field in cls.FIELDS:
        if version in field.versions:
            values[field.name] = _value(field.type, owner, version, uuid)
    return cls(**values, unknown_tags=((9000, b"kept"),) if version in owner.FLEXIBLE_VERSIONS else ())


def _value(kind: str, owner: type[Any], version: int, uuid: type[Any]) -> Any:
    if kind.startswith("[]"):
        return [_value(kind[2:], owner, version, uuid)] * 2
    if kind == "uuid":
        return uuid(range(16))
    if kind in VALUES:
        return VALUES[kind]
    return filled(getattr(sys.modules[owner.__module__], kind), owner, version, uuid)


def round_trip(message: Any, version: int) -> bytes:
    """Check that ``message`` survives encoding and decoding, and return its bytes."""
    cls = type(message)
    data: bytes = message.encode(version)
    again = cls.decode(data, version)
    assert again == message, f"{cls.__name__} v{version} decodes to something else"
    assert again.encode(version) == data, f"{cls.__name__} v{version} encodes to something else"
    assert repr(again) == repr(message), f"{cls.__name__} v{version} prints as something else"
    return data


def run(package: str, modules: Sequence[str]) -> dict[str, object]:
    """Make round trips of default and filled instances of all messages, and return their numbers and a digest."""
    uuid = import_module("kwire.uuids").Uuid
    slow = _count_calls(import_module("kwire.interpreter"))
    digest = hashlib.sha256()
    names, pairs, files = set(), 0, set()
    for cls in messages(package, modules):
        names.add(cls.__name__)
        files.add(sys.modules[cls.__module__].__file__ or "")
        for version in cls.VALID_VERSIONS:
            for message in (cls(), filled(cls, cls, version, uuid)):
                digest.update(round_trip(message, version))
            pairs += 1
        assert copy.copy(message) == message == pickle.loads(pickle.dumps(message))
    return {
        "messages": len(names),
        "versions": pairs,
        "digest": digest.hexdigest()[:16],
        "compiled": sum(not file.endswith(".py") for file in files),
        "slow": slow,
    }


def _count_calls(interpreter: Any) -> list[str]:
    """Return a list that collects the names of messages that use the slow path. This list should stay empty."""
    called: list[str] = []

    def counting(original: Any) -> Any:
        def counted(first: Any, *rest: Any, **named: Any) -> Any:
            called.append(getattr(first, "__name__", type(first).__name__))
            return original(first, *rest, **named)

        return counted

    for name in ("encode", "decode"):
        setattr(interpreter, name, counting(getattr(interpreter, name)))
    return called


if __name__ == "__main__":
    folder, package, *modules = sys.argv[1:]
    sys.path[:0] = folder.split(":")
    sys.path[:] = [path for path in sys.path if Path(path).resolve() != Path(__file__).resolve().parent]
    print(json.dumps(run(package, modules)))
