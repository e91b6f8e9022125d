"""What the tests of this folder share: parsing of text with the findings as they print."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.render_text import render_text
from kwirec.diagnostics.source import Source
from kwirec.frontend import Document, parse

Parsed = tuple[Document, str]


@pytest.fixture
def parsed() -> Callable[..., Parsed]:
    """``parsed(text, name)`` → the document and its findings as text."""

    def run(text: str, name: str = "Clock.json") -> Parsed:
        report = Report()
        document = parse(Source(name, text), report)
        return document, render_text(report.diagnostics)

    return run
