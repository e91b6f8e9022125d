"""What the tests of this folder share: small definitions, compared and judged."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable

import pytest

from kwirec.diagnostics.diagnostic import Report, Waiver
from kwirec.diagnostics.examples import ANOTHER_FILE
from kwirec.diagnostics.source import Source
from kwirec.diff import Judgement, Level, compare, judge
from kwirec.frontend import parse
from kwirec.ir import Schema, resolve
from tests.diff.support import Diff, Load


@pytest.fixture
def load() -> Load:
    """``load(example, folder)`` → the schema of its definitions, each in a file of its own."""

    def run(example: str, folder: str = "new") -> Schema:
        report = Report()
        documents = []
        for text in filter(None, example.split(ANOTHER_FILE)):
            name = re.search(r'"name": "(\w+)"', text)
            documents.append(parse(Source(f"{folder}/{name[1] if name else 'Example'}.json", text), report))
        schema = resolve(documents, report)
        assert report.diagnostics == []
        return schema

    return run


@pytest.fixture
def diff(load: Load) -> Diff:
    """``diff(before, after)`` → the judgement, of all levels unless one is given."""

    def run(
        before: str,
        after: str,
        level: Level = Level.POLICY,
        waivers: Iterable[Waiver] = (),
        today: datetime.date | None = None,
    ) -> Judgement:
        old, new = load(before, "old"), load(after)
        return judge(compare(old, new), level, old=old, waivers=waivers, today=today)

    return run
