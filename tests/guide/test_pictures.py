"""Pictures of a page of each kind, for people to look at: light and dark, from phones to wide screens, and printed.

They are kept in the folder that ``KWIRE_PICTURES`` names (``make guide-check``, and CI, which uploads it).
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.guide.test_browser import PAGES, folder, printed  # noqa: F401
from tests.support.browser import BROWSER, picture

pytestmark = [
    pytest.mark.skipif(not BROWSER, reason="no browser is installed"),
    pytest.mark.skipif("KWIRE_PICTURES" not in os.environ, reason="KWIRE_PICTURES names no folder: make guide-check"),
    pytest.mark.slow,
]

DARK = "--blink-settings=preferredColorScheme=0"
VIEWS = {
    **{f"light-{width}": (f"{width},4000",) for width in (390, 820, 1280, 1920)},
    **{f"dark-{width}": (f"{width},4000", DARK) for width in (390, 820, 1280, 1920)},
    "print": ("794,4492",),  # four sheets of A4 at 96 dots an inch
}
"""The size of the window, and options of the browser."""


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("path", [*PAGES, "api/fetch.html#response-v16-vs-11"])
def test_a_picture_is_taken(folder: Path, path: str, view: str) -> None:  # noqa: F811
    kept = Path(os.environ["KWIRE_PICTURES"]).resolve()
    kept.mkdir(parents=True, exist_ok=True)
    file, _, anchor = path.partition("#")
    site = folder if view != "print" else printed(folder)
    name = f"{file.removesuffix('.html')}{anchor and '-'}{anchor}".replace("/", "-")
    size, *options = VIEWS[view]
    options.append("--hide-scrollbars")
    picture(f"{(site / file).as_uri()}{anchor and '#'}{anchor}", kept / f"{name}-{view}.png", size, *options)
    assert (kept / f"{name}-{view}.png").stat().st_size > 20_000  # a page without anything in it is smaller
