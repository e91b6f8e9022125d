"""What the tests of this folder share: layouts of a message given as text."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.source import Source
from kwirec.dump import dump_layouts
from kwirec.frontend import parse
from kwirec.ir import resolve
from kwirec.lowering import Layouts, lower


class Lowered:
    """The layouts of one message: by version, and as text."""

    def __init__(self, text: str) -> None:
        report = Report()
        schema = resolve([parse(Source("Clock.json", text), report)], report)
        assert report.diagnostics == []
        self.layouts: Layouts = lower(schema)
        [self.by_version] = self.layouts.by_message.values()
        self.text = dump_layouts(schema, self.layouts)

    def fingerprints(self) -> list[str]:
        return [layout.fingerprint for _, layout in sorted(self.by_version.items())]

    def spelled(self, version: int) -> str:
        return self.by_version[version].body.text


@pytest.fixture
def lowered() -> Callable[..., Lowered]:
    """``lowered(fields, common)``: versions 0 and 1 are classic, 2 and 3 flexible."""

    def run(fields: str, common: str = "") -> Lowered:
        return Lowered(
            '{ "type": "data", "name": "Clock", "validVersions": "0-3", "flexibleVersions": "2+",'
            f' "fields": [ {fields} ], "commonStructs": [ {common} ] }}'
        )

    return run
