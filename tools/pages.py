"""Updates the name of the newest Kafka release in the README and the pages, for ``make docs`` and ``make update``.

The name follows ``from 0.8.0 to``, ``from 2.2.0 to`` and ``newer than Kafka``. The newest release is also the target
of ``readiness`` in examples.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from kwirec.merge.history import read_history
from tools import ROOT

NEWEST = re.compile(
    r"(from (?:0\.8\.0|2\.2\.0) to |newer than Kafka |--target |submit_readiness\.py |readiness\([^\n]*, \")"
    r"[0-9]+\.[0-9]+\.[0-9]+"
)


def pages() -> Iterator[Path]:
    """Yield the README and all pages in ``docs``."""
    yield ROOT / "README.md"
    yield from sorted((ROOT / "docs").glob("*.md"))


def naming(newest: str, page: str) -> str:
    """Return the text of a page with ``newest`` as the newest release."""
    return NEWEST.sub(rf"\g<1>{newest}", page)


def main() -> None:
    newest = read_history(ROOT / "message_defs" / "kafka").names[-1]
    for path in pages():
        text = path.read_text()
        if (fresh := naming(newest, text)) != text:
            path.write_text(fresh)


if __name__ == "__main__":
    main()
