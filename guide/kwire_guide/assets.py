"""The files that all pages load: style, scripts, and MiniSearch, which is vendored unchanged."""

from __future__ import annotations

from collections.abc import Iterator

from kwirec.emitters.environment import FOLDERS, Artifact

FILES = {
    "icon.svg": "icon.svg",
    "page.css": "page.css",
    "theme.js": "theme.js",
    "page.js": "page.js",
    "find.js": "find.js",
    "minisearch.js": "vendor/minisearch.js",
}


def assets() -> Iterator[Artifact]:
    """Yield the files below ``assets/``."""
    folder = next(folder for folder in FOLDERS if folder.is_dir()) / "guide"
    for name, source in FILES.items():
        text = (folder / source).read_text("utf-8")
        # A browser would look for the map, which is not there.
        yield Artifact(
            path=f"assets/{name}", text=text.replace("//# sourceMappingURL=index.js.map", "").rstrip() + "\n"
        )
