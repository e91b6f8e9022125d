"""The answers of every API with a handler, in every version, to requests whose fields all have an unusual value."""

from __future__ import annotations

import asyncio
import re
from itertools import groupby

import pytest
from syrupy.assertion import SnapshotAssertion

from kwire.schema import present_fields, struct_class
from kwire.struct import Struct
from kwire_kafka import PROTOCOL
from kwire_kafka.releases import RELEASES
from kwire_testing import FakeBroker
from kwire_testing.call import HANDLERS
from tests.testing.transcripts import Speaker, speakers

MESSAGE = re.compile(r"error_message=(['\"]).*?\1…?")
NUMBERS = ("int8", "int16", "int32", "int64")


def filled(cls: type[Struct], version: int, number: int, text: str) -> dict[str, object]:
    """The fields of a request: all numbers and texts are these, and each list has one element."""
    made: dict[str, object] = {}
    for field in present_fields(cls, version):
        kind, inner = field.type.removeprefix("[]"), struct_class(cls, field)
        plain = {"string": text, **dict.fromkeys(NUMBERS, number)}.get(kind)
        one = filled(inner, version, number, text) if inner else plain
        if one is not None and (field.type != kind or inner is None):
            made[field.name] = [one] if field.type != kind else one
    return made


@pytest.mark.parametrize(
    ("release", "number", "text"),
    [("2.8", 0, "t"), ("4.1", 0, "t"), ("4.1", 1, "t"), ("4.1", -1, ""), ("4.1", 2, "no/name")],
)
def test_every_version_of_every_api(release: str, number: int, text: str, snapshot: SnapshotAssertion) -> None:
    """Versions that are answered in the same way are in one line. The newest is asked first."""

    async def answer(a: Speaker, name: str, version: int) -> str:
        fields = filled(PROTOCOL[f"{name}Request"], version, number, text)
        if name == "Produce":
            fields["acks"] = number or -1  # with 0, there is no answer
        waiting = await a.begin(name, version, **fields)
        for _ in range(50):
            await asyncio.sleep(0)
        if not waiting.task.done():
            waiting.task.cancel()
            await a.open()
            return "waits"
        await waiting.answer()
        return MESSAGE.sub("error_message", a.page.lines[-1].partition(":")[2])

    async def run() -> list[str]:
        lines = []
        for key in sorted(HANDLERS):
            name, api = PROTOCOL.api_name(key), RELEASES[release].apis.get(key)
            async with speakers(FakeBroker(release, {"t": 2}, auto_create=False), 1) as (a,):
                told = [
                    (version, await answer(a, name, version)) for version in reversed(api.accepted if api else ())
                ]
            for text, same in groupby(told, lambda row: row[1]):
                versions = [version for version, _ in same]
                lines.append(f"{name} {versions[-1]}-{versions[0]}:{text}")
        return lines

    assert asyncio.run(run()) == snapshot
